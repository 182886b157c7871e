"""What a verification makes of content that nobody vouches for: whatever fails is a problem, and nothing that fails is a pass."""

import pytest

from sfumato.errors import ReleaseError
from sfumato.folder.releasing import GARBLED
from sfumato.verification.findings import Findings


def fail(error: BaseException):
    def make():
        raise error

    return make


def test_what_works_is_given_back_and_says_nothing() -> None:
    found = Findings()
    assert found.attempt(lambda: {}, "it fails") == {}
    assert not found.problems
    assert not found.checked


@pytest.mark.parametrize("kind", [*GARBLED, KeyError, RecursionError, OverflowError, UnicodeDecodeError])
def test_every_failure_is_a_problem_without_its_message(kind) -> None:
    found = Findings()
    error = UnicodeDecodeError("utf-8", b"secret", 0, 1, "secret") if kind is UnicodeDecodeError else kind("secret")
    assert found.attempt(fail(error), "it fails", garbled="it is garbled") is None
    assert found.problems == [f"it is garbled ({kind.__name__})."]
    assert not found.checked
    assert found.attempt(fail(error), "it fails") is None
    assert found.problems[1:] == [f"it fails ({kind.__name__})."]


def test_a_refusal_is_a_problem_in_its_own_words() -> None:
    found = Findings()
    assert found.attempt(fail(ReleaseError("no rows.")), "it fails", garbled="it is garbled") is None
    assert found.attempt(fail(ReleaseError("no rows."))) is None
    assert found.problems == ["it fails: no rows.", "no rows."]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, AssertionError, ImportError])
def test_a_stop_and_a_fault_of_ours_are_no_finding(kind) -> None:
    found = Findings()
    with pytest.raises(kind):
        found.attempt(fail(kind("stop")), "it fails")
    assert not found.problems
