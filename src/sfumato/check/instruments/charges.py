"""An account that notes when it is charged, and with what, and stops the release there."""

from typing import Any

import dp_accounting as dpa

from sfumato.errors import SfumatoError
from sfumato.public.budget import PrivacyUnit
from sfumato.public.certificate.statement import Statement


class Charged(SfumatoError):
    """The charge was asked for: all that a check wants to see."""


class StopsAtTheCharge:
    """Notes the charge among what else is noted, and lets nothing follow."""

    def __init__(self, noted: list[str]) -> None:
        self._noted = noted
        self.event: Any = None

    def check(self, asked: dict[str, Any]) -> None:
        """Allows everything."""

    def charge(self, asked: dict[str, Any]) -> Statement:
        """Notes it, and stops."""
        self._noted.append("charge")
        self.event = asked["event"]
        raise Charged("the charge was asked for.")

    def covers(self, statement: Statement, event: dpa.DpEvent, *, unit: PrivacyUnit) -> bool:
        """Nothing gets here."""
        return False

    def written(self, statement: Statement, certificate: str) -> None:
        """Nothing gets here."""
