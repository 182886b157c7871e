"""Faults of reading: whose row it is, where a record ends, which codes count, whether a file is still the same."""
# ruff: noqa: E501 - patches stand here as they stand in the source

from mutants.mutant import Mutant

_IDS, _LINES = "private/intake/ids.py", "private/intake/csv_lines.py"
_CLIP, _UNCHANGED = "private/kernel/clip.py", "private/intake/unchanged.py"


def _mutant(name: str, why: str, edit: tuple[str, str, str], *tests: str, room: str = "intake"):
    return Mutant(name=name, room=room, why=why, edits=(edit,), tests=tests)


READING = (
    _mutant(
        "ids are repaired before they are compared",
        "two persons share one limit, and one of them moves a sum by twice what is booked",
        (
            _IDS,
            "return bytes.__getitem__(value, slice(None))",
            'return bytes.decode(value, "utf-8", "replace").encode()',
        ),
        *("tests/private/test_ids.py", "-k", "made_of or accounted"),
    ),
    _mutant(
        "ids of 28 digits",
        "persons whose decimals differ later are one",
        ("private/intake/scalars.py", "Context(prec=MAX_PREC,", "Context(prec=28,"),
        *("tests/private/test_ids.py", "-k", "two_persons or made_of"),
    ),
    _mutant(
        "a short hash of ids",
        "persons meet by chance",
        (
            "private/intake/persons.py",
            "else hashlib.blake2b(id, key=key, digest_size=16).digest()",
            "else hashlib.blake2b(id, key=key, digest_size=2).digest() * 8",
        ),
        *("tests/private/test_ids.py", "-k", "many_persons"),
    ),
    _mutant(
        "ids of several parts without their lengths",
        "two lists of parts are one id",
        (_IDS, 'b"%d:%b," % (len(part), part)', 'b"%b" % part'),
        *("tests/private/test_ids.py", "-k", "two_persons"),
    ),
    _mutant(
        "UUIDs are nobody's ids",
        "all rows are dropped in silence",
        (_IDS, "if kind is UUID:", "if kind is None:"),
        *("tests/private/test_ids.py", "-k", "made_of"),
    ),
    _mutant(
        "an odd line takes those behind it with it",
        "one record removes others",
        (
            _LINES,
            "closes = start, 0, end - start <= longest",
            "closes = start, 0, end - start <= longest and n_odd == 0",
        ),
        *("tests/private/test_csv_lines.py", "-k", "odd_files"),
    ),
    _mutant(
        "a quoted value goes on in the next line",
        "a quote that does not close removes the lines behind it",
        (
            _LINES,
            "        start = end + 1\n    return spans",
            "        start = end + 1 if closes else start\n    return spans",
        ),
        *("tests/private/test_csv_lines.py", "-k", "odd_files or anywhere"),
    ),
    _mutant(
        "lines are cut where a block ends",
        "what stands before a line decides whether it is read",
        (_LINES, "if len(private_rest) > LONGEST_LINE:", "if len(private_rest) > BLOCK_BYTES:"),
        *("tests/private/test_csv_lines.py", "-k", "longest"),
    ),
    _mutant(
        "bytes of a CSV file are repaired",
        "ids that are no UTF-8 meet",
        (_LINES, "np.frombuffer(private_lines,", 'np.frombuffer(private_lines.decode("utf-8", "replace").encode(),'),
        *("tests/private/test_csv_lines.py", "-k", "keep_their_bytes"),
    ),
    _mutant(
        "changed files are read on",
        "a person gets the rows of others, past max_rows",
        (_UNCHANGED, "if fingerprint(self.path) != self._seen:", "if not self._seen:"),
        *("tests/private/test_unchanged.py",),
    ),
    _mutant(
        "no look at a file after a pass",
        "half a pass reads another dataset",
        (
            _UNCHANGED,
            "rows=rows)\n        self.require_unchanged()\n",
            "rows=rows)\n",
        ),
        *("tests/private/test_unchanged.py", "-k", "within_a_pass"),
    ),
    _mutant(
        "a person's norm leaves out the first code",
        "a person's sum is longer than its bound",
        ("private/kernel/persons.py", "                if code >= 0:\n", "                if code > 0:\n"),
        *("tests/private/test_persons.py", "-k", "copies_of_one or whatever_codes"),
        room="kernel",
    ),
    _mutant(
        "a stray code of the first row counts",
        "the place of a row decides what it counts",
        (_CLIP, "np.int64(values[i, j]) if inside else -1", "np.int64(values[i, j]) if inside else -min(i, 1)"),
        *("tests/private/test_persons.py", "-k", "whatever_codes"),
        room="kernel",
    ),
    _mutant(
        "codes below 0 are truncated to 0 for a norm alone",
        "opposite weights hide the length of a person",
        (
            "private/kernel/sums.py",
            "persons.of_codes(codes, block=block, units=one)",
            "persons.of_codes(np.where(values[:, : block.n_hot] < block.width, values[:, : block.n_hot], -1).astype(np.int64), block=block, units=one)",
        ),
        *("tests/private/test_persons.py", "-k", "fractional"),
        room="kernel",
    ),
    _mutant(
        "threads share a cipher",
        "a release ends in an error of the cipher, or two draws are one",
        ("private/kernel/randomness.py", "with self._one_at_a_time:", "with threading.Lock():"),
        *("tests/private/test_noise.py", "-k", "threads"),
        room="kernel",
    ),
    _mutant(
        "a delta of one over the rows",
        "publishing a row at random would meet the claim",
        ("public/budget.py", "elif self.delta >= 1 / rows:", "elif self.delta > 1 / rows:"),
        *("tests/public/test_schema.py", "-k", "declared_size"),
        room="accounting",
    ),
)
