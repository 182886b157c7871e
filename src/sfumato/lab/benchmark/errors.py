"""What the benchmark refuses."""

from sfumato.errors import SfumatoError


class BenchmarkError(SfumatoError):
    """A benchmark cannot be run as asked: its learner, its dataset or its process fails."""
