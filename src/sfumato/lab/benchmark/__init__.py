"""The evaluation protocol: public datasets, learners, metrics, and runs that put them together.

Everything here reads the rows of public datasets WITHOUT privacy, to say how good a private release of them is. The
release itself goes through `sfumato.fit` like any other.
"""

from sfumato.lab.benchmark.datasets import Benchmark, BenchmarkError, load, names
from sfumato.lab.benchmark.protocol import run

__all__ = ["Benchmark", "BenchmarkError", "load", "names", "run"]
