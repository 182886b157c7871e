"""Everything that sfumato refuses, as one small family.

A message names the thing, the rule it breaks and the remedy. It never holds a private value, a count of
private rows or a row number: an exception is an output like any other.
"""


class SfumatoError(Exception):
    """Base of all errors that are meant for a person to read."""


class SchemaError(SfumatoError):
    """The schema is incomplete, contradicts itself, or does not fit what was asked for."""


class SourceError(SfumatoError):
    """A data file is missing, is not what its name says, or lacks a declared column."""


class BudgetError(SfumatoError):
    """The requested budget is not a meaningful privacy guarantee."""


class AccountingError(SfumatoError):
    """The privacy cost cannot be computed for what was asked."""


class PlanError(SfumatoError):
    """A mechanism asked for an access to private rows that its plan does not hold."""


class PrivacyError(SfumatoError):
    """Something tried to take private rows past the boundary."""


class EngineError(SfumatoError):
    """The engine that adds up rows is not there, has stopped, or is not the same everywhere."""


class ModelError(SfumatoError):
    """A model was asked for something that its measurements do not support."""


class ReleaseError(SfumatoError):
    """A release folder cannot be written or read."""


class VerificationError(SfumatoError):
    """A release folder does not bear out its certificate."""


class MissingLibraryError(SfumatoError):
    """A library that was asked for is not installed, or cannot be loaded on this machine."""


class ContractError(SfumatoError):
    """A mechanism breaks the contract that every mechanism must keep."""


class LedgerError(SfumatoError):
    """A ledger is not there, cannot be written, or does not allow what was asked for."""


class BudgetExceeded(LedgerError):
    """A release would cost more than is left. `fits` is the largest epsilon that would fit, at the delta that was asked for."""

    def __init__(self, message: str, *, fits: float) -> None:
        super().__init__(message)
        self.fits = fits
