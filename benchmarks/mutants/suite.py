"""Faults of the contract suite: what it would no longer notice."""

from mutants.mutant import Mutant

_FILES, _WATCH, _CANONICAL = (f"check/instruments/{name}.py" for name in ("files", "watch", "canonical"))


def _mutant(name: str, why: str, *edits: tuple[str, str, str], tests: tuple[str, ...]):
    return Mutant(name=name, room="suite", why=why, edits=edits, tests=tests)


def _by_files(test: str) -> tuple[str, ...]:
    return ("tests/check/test_files.py", "-k", test)


def _by_cheat(cheat: str) -> tuple[str, ...]:
    return ("tests/check/test_cheats.py", "-k", f"clause and {cheat}")


SUITE = (
    _mutant(
        "what was deleted again",
        "a file that another process has read meanwhile",
        (_FILES, "if new or folder.stat().st_mtime_ns:", "if new:"),
        tests=_by_files("own_folders"),
    ),
    _mutant(
        "the temporary folder of everybody",
        "temporary files of native code are not noticed",
        (_FILES, "        tempfile.tempdir = str(temporary)\n", ""),
        (_FILES, '        os.environ.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)))\n', ""),
        tests=_by_files("own_folders"),
    ),
    _mutant(
        "new files only",
        "rows at the end of an old file are not noticed",
        (_FILES, "if before.get(path) != facts and", "if path not in before and"),
        tests=_by_files("grows"),
    ),
    _mutant(
        "any file counts",
        "other programs' files are taken for a leak",
        (_FILES, "if any(needle in _content(path) for needle in needles)]", "]"),
        tests=_by_files("other_programs"),
    ),
    _mutant(
        "tries are not counted",
        "a mechanism that goes on after a failed write passes",
        (_FILES, "lambda number, frame: tries.append(number)", "lambda number, frame: None"),
        tests=_by_files("forbidden"),
    ),
    _mutant(
        "nothing is run for files",
        "rows written by native code stay on the disk",
        ("check/clauses/release.py", "    if written or tries:\n", "    if False:\n"),
        tests=_by_cheat("ForgottenParquet"),
    ),
    _mutant(
        "descriptors may stay open",
        "a pipe holds a value for whoever finds its number",
        (_WATCH, "if files.get(number) != target and not target", "if False and not target"),
        tests=_by_cheat("LeavesAPipeOpen"),
    ),
    _mutant(
        "threads may outlive",
        "a thread goes on with the rows",
        (_WATCH, "if _thread._count() > threads:", "if False:"),
        tests=_by_cheat("ThreadThatOutlives"),
    ),
    _mutant(
        "hooks may stay",
        "somebody is called later, with the rows at hand",
        (_WATCH, "if _hooks() != hooks and not imported:", "if False:"),
        tests=_by_cheat("CollectorCalls"),
    ),
    _mutant(
        "exits may be registered",
        "rows are written when the program ends",
        (_WATCH, "if atexit._ncallbacks() > at_exit and not imported:", "if False:"),
        tests=_by_cheat("LeftForTheEnd"),
    ),
    _mutant(
        "databases may be opened",
        "rows stay in a table",
        (_WATCH, '"sqlite3.connect", ', ""),
        tests=_by_files("databases"),
    ),
    _mutant(
        "generators may hold anything",
        "rows wait among the measurements",
        (_CANONICAL, "elif isinstance(value, (types.GeneratorType, types.TracebackType)):", "elif False:"),
        tests=_by_cheat("KeepsAGenerator"),
    ),
)
