"""Faults of `verify`: what it would believe. Each is one check left out or made lenient."""
# ruff: noqa: E501 - patches stand here as they stand in the source

from mutants.mutant import Mutant

_FORGERIES, _COMPARED = (
    ("tests/verification/test_more_forgeries.py", "-k"),
    ("tests/verification/test_compare.py", "-k"),
)
_REBUILT, _COMPARISON = "verification/rebuilt.py", "verification/comparison.py"
_PARQUET, _REPLAY = "verification/parquet_structure.py", "verification/discovery_replay.py"


def _mutant(name: str, why: str, edit: tuple[str, str, str], *, tests: tuple[str, ...]) -> Mutant:
    return Mutant(name=name, room="verify", why=why, edits=(edit,), tests=tests)


VERIFY = (
    _mutant(
        "what cannot be read is no problem",
        "a folder of which a part fails to be read passes",
        ("verification/findings.py", 'self.problems.append(f"{garbled or failing} ({type(error).__name__}).")', "pass"),
        tests=("tests/verification/test_findings.py",),
    ),
    _mutant(
        "one row in a thousand may be any",
        "real rows among many pass for rounding",
        (_REBUILT, "return min(int(poisson.isf(_FALSE_ALARM, expected)), difference", "return (difference"),
        tests=(*_COMPARED, "real_rows"),
    ),
    _mutant(
        "what is near is ticked",
        "a message in the middle digits gets a tick",
        (_REBUILT, "elif not difference.beyond_rounding:", "elif True:"),
        tests=(*_COMPARED, "only_rounding"),
    ),
    _mutant(
        "a rounding of a thousandth",
        "numbers may carry anything in all but their first digits",
        (_COMPARISON, "ROUNDING, ROUNDING_OF_SINGLE = 2.0**-30", "ROUNDING, ROUNDING_OF_SINGLE = 2.0**-10"),
        tests=(*_COMPARED, "billionth"),
    ),
    _mutant(
        "whole numbers are rounded",
        "ages and dates may be others",
        (_COMPARISON, "width = ranges.get(str(name), 1.0) if is_fraction else 0.0", "width = ranges.get(str(name), 1e9)"),
        tests=(*_COMPARED, "whole_number"),
    ),
    _mutant(
        "other versions are believed",
        "a file may hold anything if its certificate names another pyarrow",
        ("verification/product_checks.py", "        if more:\n", "        if more and not others:\n"),
        tests=(*_FORGERIES, "footer or writer"),
    ),
    _mutant(
        "arrays of other versions are believed",
        "an array of private pictures passes",
        ("verification/product_checks.py", "if not all(file.is_same for file in again.values()):", "if name == TABLE and not all(file.is_same for file in again.values()):"),
        tests=(*_FORGERIES, "array and private"),
    ),
    _mutant(
        "bytes between pages",
        "rows stand before the footer of a Parquet file",
        (_PARQUET, "    if at != start:\n", "    if at > start:\n"),
        tests=(*_FORGERIES, "bytes and footer"),
    ),
    _mutant(
        "unknown fields",
        "rows stand in a field that readers skip",
        (_PARQUET, "_MOST_FIELDS, _MOST_NUMBERS = 17, 8", "_MOST_FIELDS, _MOST_NUMBERS = 9999, 8"),
        tests=(*_FORGERIES, "unknown and field"),
    ),
    _mutant(
        "any writer",
        "a row stands in the name of the writer",
        (_PARQUET, "if found.creator != re.sub(", "if not re.sub("),
        tests=(*_FORGERIES, "name and writer"),
    ),
    _mutant(
        "any notes",
        "rows stand in the notes of a Parquet file",
        (_PARQUET, "if list(found.notes) != [_NOTE, _TYPES] or", "if False and"),
        tests=(*_FORGERIES, "note and own"),
    ),
    _mutant(
        "any statistics",
        "a message stands in the footer as the largest value of a column",
        (_PARQUET, "if not found.texts <= known.texts:", "if False:"),
        tests=(*_FORGERIES, "statistics_are"),
    ),
    _mutant(
        "any pixels",
        "a picture in the report is of a real row",
        ("verification/report_checks.py", "return np.array_equal(np.asarray(a), np.asarray(b))", "return True"),
        tests=(*_FORGERIES, "other and pixels"),
    ),
    _mutant(
        "any chunks of a picture",
        "a text stands in a picture of the report",
        ("verification/report_checks.py", "if [kind for kind, _ in theirs] != [kind for kind, _ in known] or theirs[0] != known[0]:", "if theirs[0] != known[0]:"),
        tests=(*_FORGERIES, "text and picture"),
    ),
    _mutant(
        "any page",
        "a script in the report prints another epsilon",
        ("verification/report_checks.py", "elif _PICTURE.sub(b\"\", page) == _PICTURE.sub(b\"\", again) and _same_pictures", "elif _same_pictures"),
        tests=(*_FORGERIES, "script"),
    ),
    _mutant(
        "rows are read before they are counted",
        "a megabyte fills the memory",
        ("verification/product_checks.py", "if sum(sizes) != n_rows:", "if False:"),
        tests=(*_FORGERIES, "counted_before"),
    ),
    _mutant(
        "any groups of rows",
        "the sizes of its groups are a message",
        ("verification/product_checks.py", "or sizes != piece_sizes(n_rows):", "or False:"),
        tests=(*_FORGERIES, "groups"),
    ),
    _mutant(
        "the first piece alone is looked at",
        "names stand in the last of many rows",
        ("verification/product_checks.py", "odd |= dict.fromkeys(strange)", "odd |= dict.fromkeys([] if number else strange)"),
        tests=("tests/test_pieces.py", "-k", "last_piece"),
    ),
    _mutant(
        "columns beside the schema",
        "names stand beside rows that are not built again",
        ("verification/shape_checks.py", 'return ["the released rows have other columns than the schema."]', "return []"),
        tests=(*_FORGERIES, "not_built_again"),
    ),
    _mutant(
        "values beyond their bounds",
        "a number says who somebody is",
        ("verification/shape_checks.py", "        if outside.any():\n", "        if outside.all():\n"),
        tests=(*_FORGERIES, "not_built_again"),
    ),
    _mutant(
        "the threshold is not asked for",
        "texts of one person pass",
        (_REPLAY, "if not passing <= math.log(of_texts[1][\"delta\"]) + 1e-12:", "if False:"),
        tests=("tests/verification/test_replay_discovery.py", "-k", "no_higher"),
    ),
    _mutant(
        "the grid of a discovery is not asked for",
        "a row counts more than is booked",
        (_REPLAY, "if not moved <= (1 + 1e-12) / booked[step]:", "if False:"),
        tests=("tests/verification/test_replay_discovery.py", "-k", "a_fault_differs"),
    ),
    _mutant(
        "minus zero",
        "a bit for every number of a certificate",
        ("public/strict_json.py", "case float() if tree == 0 and math.copysign(1, tree) < 0:", "case float() if tree is None:"),
        tests=(*_FORGERIES, "minus"),
    ),
)  # fmt: skip
