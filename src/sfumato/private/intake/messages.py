"""What a library raises may quote rows or passwords: a sentence of ours takes its place, and nothing keeps the first."""

from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.errors import SfumatoError, SourceError
from sfumato.public.damaged import DAMAGED


@contextmanager
def withheld(
    sentence: str, kinds: tuple[type[Exception], ...] = DAMAGED, refusal: type[SfumatoError] = SourceError
) -> Iterator[None]:
    """Raise the sentence in the place of whatever is raised inside; what sfumato itself refuses passes as it is."""
    try:
        yield
    except SfumatoError:
        raise
    except kinds:
        error = refusal(sentence)
        try:
            raise error from None
        finally:
            error.__context__ = None  # `from None` hides the first exception, and still keeps it
