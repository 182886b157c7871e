"""Reads rows WITHOUT privacy, and is never part of a release: benchmarks, assessment, studies, the demo."""
