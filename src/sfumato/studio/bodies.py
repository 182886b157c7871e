"""Bodies of requests have an end: in bytes, and in time. What is larger or slower is refused before it is kept."""

import asyncio
import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.studio.guard import Refusal

#: A form with a schema of ten thousand columns; and a release that is handed in.
FORM_BYTES, UPLOAD_BYTES = 8 << 20, 1 << 30
#: No piece of a body may be longer on its way, nor a form as a whole.
PIECE_SECONDS, FORM_SECONDS, UPLOAD_SECONDS = 10.0, 30.0, 600.0
UPLOAD_PATH = "/receive/upload"


class BodyRefused(Exception):
    """A body was too large or too slow, with the status and the reason that are answered."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class BoundedBodies:
    """Around all pages: a body that goes on for ever is cut off."""

    def __init__(self, app: ASGIApp, *, refuse: Refusal, piece_seconds: float = PIECE_SECONDS) -> None:
        self._app, self._refuse, self._piece_seconds = app, refuse, piece_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with a `receive` that counts."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_upload = scope["path"] == UPLOAD_PATH
        most, seconds = (UPLOAD_BYTES, UPLOAD_SECONDS) if is_upload else (FORM_BYTES, FORM_SECONDS)
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdigit() or int(declared) > most:
            await (await self._refuse(scope, 413, "large"))(scope, receive, send)
            return
        taken, ends, is_over, has_begun = 0, time.monotonic() + seconds, False, False

        async def bounded() -> Message:
            nonlocal taken, is_over
            if is_over:  # what comes after a body is the end of the connection: that may take its time
                return await receive()
            try:
                wait = min(self._piece_seconds, max(0.0, ends - time.monotonic()))
                message = await asyncio.wait_for(receive(), wait)
            except TimeoutError:
                raise BodyRefused(408, "slow") from None
            taken += len(message.get("body", b""))
            is_over = not message.get("more_body", False)
            if taken > most:
                raise BodyRefused(413, "large")
            return message

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, bounded, noted)
        except BodyRefused as fault:
            if not has_begun:
                await (await self._refuse(scope, fault.status, fault.why))(scope, receive, send)
