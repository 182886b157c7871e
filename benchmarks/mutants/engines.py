"""Faults of the engines: coins, places, parts, persons, scratch."""

from mutants.mutant import Mutant

_SAMPLING, _CLUSTER = "private/kernel/sampling.py", "private/engines/cluster.py"
_ENGINES, _SCRATCH = ("tests/private/test_engines.py",), ("tests/private/test_scratch.py",)


def _mutant(name: str, why: str, *edits: tuple[str, str, str], tests: tuple[str, ...]):
    return Mutant(name=name, room="engines", why=why, edits=edits, tests=tests, probes=())


ENGINES = (
    _mutant(
        "one stream for all stretches of rows",
        "every 1,024th row has the same coins",
        (
            _SAMPLING,
            "fallen = heads(_ROWS * n_coins, rate=rate, source=KeyStream(key, number=stretch))",
            "fallen = heads(_ROWS * n_coins, rate=rate, source=KeyStream(key))",
        ),
        tests=("tests/private/test_sampling.py", "-k", "streams_of_their_own"),
    ),
    _mutant(
        "every part begins at place 0",
        "rows of all parts share their coins",
        (
            _CLUSTER,
            "firsts = [0, *accumulate(n_rows for n_rows, _ in known)][: len(known)]",
            "firsts = [0 for _ in known]",
        ),
        tests=(*_ENGINES, "-k", "many_batches and rows"),
    ),
    _mutant(
        "a part that was read anew is not compared",
        "two datasets in one release",
        (_CLUSTER, "if private_answer[0] != digest:", "if False:"),
        tests=(*_ENGINES, "-k", "sentence"),
    ),
    _mutant(
        "a part without an answer counts as nothing",
        "persons are left out, and nobody is told",
        (
            _CLUSTER,
            "if private_answer is None:",
            "if private_answer is None:\n                continue\n            if False:",
        ),
        tests=(*_ENGINES, "-k", "sentence"),
    ),
    _mutant(
        "processors are not compared",
        "one table is read in two ways",
        ("private/engines/worker.py", "if row_map.digest != digest:", "if False:"),
        tests=(*_ENGINES, "-k", "sentence"),
    ),
    _mutant(
        "parts end where batches end",
        "a person is clipped twice, in two parts",
        (
            "private/engines/local.py",
            "if len(private_part) >= _PART and not goes_on:",
            "if len(private_part) >= _PART:",
        ),
        tests=(*_ENGINES, "-k", "processes and persons"),
    ),
    _mutant(
        "one key for all uses of a step",
        "the same rows take part again and again",
        (
            "private/view.py",
            'return self.__primitives.key() if step.draws else b""',
            'return bytes(32) if step.draws else b""',
        ),
        tests=("tests/private/test_gradients.py", "-k", "contract"),
    ),
    _mutant(
        "every array of scratch begins the key stream anew",
        "two arrays are encrypted by the same words",
        ("private/rows/scratch.py", 'counter = (offset // _BLOCK).to_bytes(16, "big")', "counter = bytes(16)"),
        tests=(*_SCRATCH, "-k", "disk"),
    ),
    _mutant(
        "scratch in the clear",
        "rows lie on a disk",
        (
            "private/rows/scratch.py",
            "return Cipher(algorithms.AES(self._key), modes.CTR(counter)).encryptor().update(content)",
            "return content",
        ),
        tests=(*_SCRATCH, "-k", "disk"),
    ),
    _mutant(
        "workers say what goes wrong",
        "values stand in tracebacks on the pages of a cluster",
        (
            "private/engines/part.py",
            "        except SfumatoError as error:",
            "        except ZeroDivisionError as error:",
        ),
        tests=(*_ENGINES, "-k", "sentence or nothing_of"),
    ),
    _mutant(
        "maps are tried aloud",
        "a map says at its next use what it has seen",
        (
            "private/view.py",
            "        with silence():\n            row_map =",
            "        if True:\n            row_map =",
        ),
        tests=(*_ENGINES, "-k", "tried_again"),
    ),
    _mutant(
        "a map may leave by what is no Exception",
        "a traceback quotes a row",
        ("private/rows/row_alone.py", "        except BaseException:  # noqa", "        except Exception:  # noqa"),
        tests=("tests/private/test_row_alone.py", "-k", "stumbles_counts"),
    ),
    _mutant(
        "an interrupt keeps what it was raised with",
        "a traceback quotes a row",
        ("private/rows/row_alone.py", "            is_interrupted = True\n", "            raise\n"),
        tests=("tests/private/test_row_alone.py", "-k", "interrupt"),
    ),
    _mutant(
        "what a frame of Dask raises comes through",
        "its message quotes a row",
        ("private/intake/dask_frame.py", "with withheld(_UNREADABLE, (Exception,)), silence():", "with silence():"),
        tests=("tests/private/test_dask.py", "-k", "fails_over and here"),
    ),
    _mutant(
        "objects of a bucket have no tags",
        "two datasets in one release",
        ("private/intake/remote.py", '"tag": self._tag()', '"tag": None'),
        tests=("tests/private/test_buckets.py", "-k", "tag"),
    ),
)
