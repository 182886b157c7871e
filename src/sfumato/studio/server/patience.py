"""A connection that sends no whole request in time is closed: a thousand slow ones would leave no room for the custodian."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0


class ImpatientProtocol(H11Protocol):
    """Waits for the head of a request so long, and not longer: on a new connection, and after any piece of a head."""

    head_seconds = HEAD_SECONDS
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The clock starts with the connection."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Each request has its own time; a byte of it buys no more."""
        self._watch()
        super().data_received(data)
        if self._in_request():
            self._unwatch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing left to wait for."""
        self._unwatch()
        super().connection_lost(exc)

    def _in_request(self) -> bool:
        cycle = cast(Any, self.cycle)
        return cycle is not None and not cycle.response_complete

    def _watch(self) -> None:
        if self._deadline is None and not self._in_request():
            self._deadline = self.loop.call_later(self.head_seconds, self._hang_up)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _hang_up(self) -> None:
        self._deadline = None
        if not self._in_request():
            self.transport.close()
