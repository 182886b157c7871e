"""Who may see the pages: whoever brings the one-time token, and after that the cookie that it was exchanged for."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

#: A working day. A cookie of yesterday is none.
SESSION_SECONDS = 12 * 3600.0


@dataclass
class Session:
    """One browser that was let in."""

    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    born: float = 0.0
    language: str | None = None


class Gate:
    """Exchanges the token for a cookie, once, and knows the cookies that it gave out. Only their digests are kept.

    `base` is the path below which all pages lie.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.token = secrets.token_urlsafe(32)
        # Browsers send a cookie to every port of a host, so another user's server on this machine would be sent ours. They
        # send it to its own path alone: below one that nobody can guess it reaches nobody but this studio.
        self.base = f"/{secrets.token_urlsafe(16)}"
        self._clock, self._is_used = clock, False
        self._sessions: dict[str, Session] = {}

    def enter(self, token: str) -> str | None:
        """A new cookie for the right token, the first time; None for any other."""
        if not hmac.compare_digest(token.encode(), self.token.encode()) or self._is_used:
            return None
        self._is_used = True
        cookie = secrets.token_urlsafe(32)
        self._sessions[_digest(cookie)] = Session(born=self._clock())
        return cookie

    def session(self, cookie: str | None) -> Session | None:
        """The session of a cookie, unless it is too old."""
        found = self._sessions.get(_digest(cookie or ""))
        if found is None or self._clock() - found.born > SESSION_SECONDS:
            return None
        return found


def is_csrf(session: Session, given: str) -> bool:
    """Whether a form was filled in on a page of this session."""
    return hmac.compare_digest(given.encode(), session.csrf.encode())


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()
