"""Faults around the kernel: how rows are read, what mechanisms keep, what verify believes."""
# ruff: noqa: E501 - patches stand here as they stand in the source

from mutants.mutant import Mutant

_HISTOGRAMS, _MIX = "mechanisms/marginals/histograms.py", "mechanisms/mixing/dpmix.py"
_FORGERIES = ("tests/verification/test_forgeries.py", "-k")
_COUNTED = '        noisy = view.noisy_sum("histograms", codes)\n'
_MIXED = '        noisy = view.noisy_mixtures("mixtures", centred, group_of=group_of)\n'


def _mutant(
    room: str,
    name: str,
    why: str,
    *edits: tuple[str, str, str],
    tests: tuple[str, ...] = (),
    probes: tuple[str, ...] = (),
):
    return Mutant(name=name, room=room, why=why, edits=edits, tests=tests, probes=probes)


INTAKE = (
    _mutant(
        "intake",
        "twice the rows of a person",
        "a person counts more often than accounted",
        (
            "private/intake/persons.py",
            "kept = (place < max_rows) & ordered.any(axis=1)",
            "kept = (place < 2 * max_rows) & ordered.any(axis=1)",
        ),
        tests=("tests/private/test_sensitive.py", "-k", "limit"),
    ),
    _mutant(
        "intake",
        "rows of nobody are kept",
        "their number is bounded for nobody",
        (
            "private/intake/persons.py",
            "kept = (place < max_rows) & ordered.any(axis=1)",
            "kept = place < max_rows",
        ),
        tests=("tests/private/test_sensitive.py", "-k", "without_an_id"),
    ),
    _mutant(
        "intake",
        "a space makes another person",
        "one person counts as two",
        (
            "private/intake/ids.py",
            'return str.encode(value, "utf-8", "surrogatepass").strip(_BLANKS)',
            'return str.encode(value, "utf-8", "surrogatepass")',
        ),
        tests=("tests/private/test_sensitive.py", "-k", "ids_of_every_make"),
    ),
    _mutant(
        "intake",
        "persons are left apart",
        "their rows are not clipped together",
        ("private/intake/together.py", "if not (np.diff(numbers) < 0).any():", "if True:"),
        tests=("tests/private/test_persons.py", "-k", "lie_in_the_file or side_by_side"),
    ),
    _mutant(
        "intake",
        "an unknown category stops the run",
        "an error tells of a row",
        (
            "private/intake/conforming.py",
            "return next((table[spelling] for spelling in _spellings(text) if spelling in table), None)",
            "return next(table[spelling] for spelling in _spellings(text) if spelling in table)",
        ),
        tests=("tests/private/test_conform.py", "-k", "texts"),
        probes=("histograms",),
    ),
    _mutant(
        "intake",
        "a text among numbers stops the run",
        "an error tells of a row",
        (
            "private/intake/scalars.py",
            "        return float(text)\n    except ValueError:\n        return math.nan\n",
            "        return float(text)\n    except ZeroDivisionError:\n        return math.nan\n",
        ),
        tests=("tests/private/test_conform.py", "-k", "cannot_be_read"),
    ),
    _mutant(
        "intake",
        "numbers beyond their bounds",
        "a maximum shows",
        (
            "private/intake/conforming.py",
            "clipped = np.clip(np.where(absent, column.centre, numbers), low, high)",
            "clipped = np.where(absent, column.centre, numbers)",
        ),
        tests=("tests/private/test_conform.py", "-k", "clipped"),
    ),
    _mutant(
        "intake",
        "rows are counted where their number is private",
        "n shows",
        ("private/intake/sensitive.py", 'if schema.unit.relation != "replace_one":', "if False:"),
        tests=("tests/private/test_sensitive.py", "-k", "number_of_rows"),
    ),
    _mutant(
        "intake",
        "a raw count in the text of a dataset",
        "n shows in every notebook",
        (
            "private/intake/sensitive.py",
            'return "<Sensitive: rows withheld>"',
            'return f"<Sensitive: {sum(1 for _ in open_batches(self, rows=1))} rows>"',
        ),
        tests=("tests/private/test_sensitive.py", "-k", "texts_about"),
    ),
)

MECHANISMS = (
    _mutant(
        "mechanisms",
        "a raw count in a shape",
        "n shows in the length of an array",
        (
            _HISTOGRAMS,
            _COUNTED,
            '        seen: list[int] = []\n        noisy = view.noisy_sum("histograms", lambda batch: (seen.append(int(np.nan_to_num(batch[schema.features[0].name]).sum())), codes(batch))[1])\n        sizes = [*sizes]\n        starts = np.zeros(1 + seen[-1] % 7)\n',
        ),
        (
            _HISTOGRAMS,
            '"noise": np.array([noisy["counts"].stddev])}',
            '"noise": np.array([noisy["counts"].stddev]), "room": starts}',
        ),
        probes=("histograms",),
    ),
    _mutant(
        "mechanisms",
        "rows kept among the measurements",
        "raw rows are released",
        (
            _MIX,
            _MIXED,
            '        held: list[NDArray[np.float64]] = []\n        noisy = view.noisy_mixtures("mixtures", lambda batch: (held.append(encoder(batch)), centred(batch))[1], group_of=group_of)\n',
        ),
        (
            _MIX,
            "        return {name: _on_grid(sums.values / self._degree(schema)) for name, sums in noisy.items()}\n",
            '        return {**{name: _on_grid(sums.values / self._degree(schema)) for name, sums in noisy.items()}, "kept": held[-1]}\n',
        ),
        probes=("mixtures",),
    ),
    _mutant(
        "mechanisms",
        "the mean of the batch as the centre",
        "one row moves all rows",
        (_MIX, "features -= self.centre  # in place", "features -= features.mean(axis=0)  # in place"),
        probes=("mixtures",),
    ),
    _mutant(
        "mechanisms",
        "the realised sum as divisor",
        "an exact number scales all mixtures",
        (
            _MIX,
            _MIXED,
            '        held: list[float] = [1.0]\n        noisy = view.noisy_mixtures("mixtures", lambda batch: (held.append(float(encoder(batch).sum())), centred(batch))[1], group_of=group_of)\n',
        ),
        (
            _MIX,
            "        return {name: _on_grid(sums.values / self._degree(schema)) for name, sums in noisy.items()}\n",
            "        return {name: _on_grid(sums.values / held[-1]) for name, sums in noisy.items()}\n",
        ),
        probes=("mixtures",),
    ),
    _mutant(
        "mechanisms",
        "cells by rank",
        "cells follow the rows of the batch",
        (
            _HISTOGRAMS,
            "    position = (values.astype(np.float64) - column.low) / (column.high - column.low) * bins\n",
            "    position = np.argsort(np.argsort(values)) / max(1, len(values)) * bins\n",
        ),
        probes=("histograms",),
    ),
    _mutant(
        "mechanisms",
        "counting twice for the price of one",
        "the mean of two answers has less noise",
        (_HISTOGRAMS, _COUNTED, '        view.noisy_sum("histograms", codes)\n' + _COUNTED),
        probes=("histograms",),
    ),
    _mutant(
        "mechanisms",
        "plans that follow a global",
        "the plan is not public",
        (
            _HISTOGRAMS,
            "        width = n_classes(schema) * sum(_sizes(schema, self.bins))\n        return (Step(name",
            "        _SEEN.append(1)\n        width = n_classes(schema) * sum(_sizes(schema, self.bins)) + len(_SEEN)\n        return (Step(name",
        ),
        (_HISTOGRAMS, "@register\n", "_SEEN: list[int] = []\n\n\n@register\n"),
        probes=("histograms",),
    ),
    _mutant(
        "mechanisms",
        "the noise follows the public seed",
        "anyone can subtract it",
        (
            "fitting.py",
            "primitives = Primitives(source or NoiseSource())",
            "primitives = Primitives(source or NoiseSource(research_seed=seed or 0))",
        ),
        tests=("tests/test_fit.py", "-k", "seeds"),
        probes=("histograms",),
    ),
    _mutant(
        "mechanisms",
        "a model that remembers",
        "the rows are kept in the process",
        (
            _HISTOGRAMS,
            _COUNTED,
            '        noisy = view.noisy_sum("histograms", lambda batch: (_SEEN.append(batch[schema.features[0].name].copy()), codes(batch))[1])\n',
        ),
        (_HISTOGRAMS, "@register\n", "_SEEN: list[NDArray[np.generic]] = []\n\n\n@register\n"),
        probes=("histograms",),
    ),
)

VERIFICATION = (
    _mutant(
        "verification",
        "hashes are not compared",
        "any rows can stand in the place of the released ones",
        ("verification/file_checks.py", "if digest != listed[name]:", "if False:"),
        tests=("tests/test_release.py", "-k", "tampered"),
    ),
    _mutant(
        "verification",
        "files that are not listed",
        "a folder may hold raw rows beside the release",
        ("verification/file_checks.py", "extra = sorted(present - set(listed))", "extra: list[str] = []"),
        tests=(*_FORGERIES, "extra and file"),
    ),
    _mutant(
        "verification",
        "noise is not looked at",
        "exact sums pass",
        ("verification/noise_checks.py", "if not sum(block.integers.size for block in blocks):", "if True:"),
        tests=("tests/verification/test_noise_checks.py",),
    ),
    _mutant(
        "verification",
        "any status passes",
        "what says that it is not private is believed",
        ("verification/plan_checks.py", 'if certificate.status != "certified":', 'if certificate.status == "unknown":'),
        tests=(*_FORGERIES, "research"),
    ),
    _mutant(
        "verification",
        "any epsilon passes",
        "a claim may be smaller than its events",
        ("verification/account_checks.py", "if not epsilon <= claim.epsilon * (1 + tolerance):", "if False:"),
        tests=(*_FORGERIES, "understated and not sampling and not persons"),
    ),
    _mutant(
        "verification",
        "any rows pass",
        "rows need not follow from the answers",
        ("verification/rebuilt.py", "elif difference.far > (most", "elif difference.far > 10**9 + (most"),
        tests=(*_FORGERIES, "rows and of and another and seed"),
    ),
    _mutant(
        "verification",
        "assumptions may be left out",
        "the claim says less than it rests on",
        ("verification/plan_checks.py", "if certificate.assumptions != ASSUMPTIONS:", "if False:"),
        tests=(*_FORGERIES, "deleted and assumptions"),
    ),
    _mutant(
        "verification",
        "any shape passes",
        "an answer may hold more than was planned",
        (
            "verification/answer_checks.py",
            "elif answers.integers[key].shape != shape_of(step, block.width):",
            "elif False:",
        ),
        tests=(*_FORGERIES, "shorter"),
    ),
    _mutant(
        "verification",
        "answers beside the plan",
        "an unplanned measurement is released",
        ("verification/answer_checks.py", "extra = sorted(set(answers.integers) - expected)", "extra: list[str] = []"),
        tests=(*_FORGERIES, "planned"),
    ),
    _mutant(
        "verification",
        "the replay forgets failures",
        "delta is spent twice",
        ("verification/replay.py", "left = delta - total.failure", "left = delta"),
        tests=("tests/verification/test_replay.py",),
    ),
    _mutant(
        "verification",
        "the replay forgets uses",
        "many uses are booked as one",
        (
            "verification/replay.py",
            'self.add(event.get("inner"), count=count * uses, relation=relation)',
            'self.add(event.get("inner"), count=count, relation=relation)',
        ),
        tests=("tests/verification/test_replay.py", "-k", "agrees or never_below"),
    ),
)
