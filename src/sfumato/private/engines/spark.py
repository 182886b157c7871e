"""Rows on Spark: in a session that is there already, or in one of this machine."""

from typing import Any

from sfumato.errors import EngineError
from sfumato.private.engines.engine import Rows
from sfumato.private.intake.sensitive import Sensitive
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema


class Spark:
    """A session by its master, or one that is open."""

    def __init__(self, master: str | None = None, *, session: Any = None) -> None:
        """Nothing is started yet."""
        self._master, self._session = master, session

    def open(self, data: Sensitive, *, schema: Schema, plan: Plan, primitives: Primitives) -> Rows:
        """Rows in the executors."""
        raise EngineError("engine 'spark' is not built yet.")
