"""The report, made again from what the folder holds: the same bytes, and the same pixels where a picture is packed otherwise.

The package draws every line of the page itself, so nothing in it depends on who installed what. Only a PNG is written by a
library, whose next version may pack the same pixels in other bytes.
"""

import base64
import io
import re
import struct
from collections.abc import Callable

import numpy as np
from PIL import Image

from sfumato.folder.releasing import REPORT
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.software import others_than_here
from sfumato.public.damaged import DAMAGED
from sfumato.verification.findings import Findings

_PICTURE = re.compile(rb"data:image/png;base64,([A-Za-z0-9+/]*=*)")
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def check_report(
    contents: dict[str, bytes], certificate: Certificate, make: Callable[[], bytes], found: Findings, *, given: str
) -> None:
    """`given` says what the page is made from. What the certificate says of versions changes no verdict."""
    page = contents.get(REPORT)
    again = None if page is None else found.attempt(make, f"{REPORT} cannot be made again")
    if page is None or again is None:
        return
    if again == page:
        found.checked.append(f"{REPORT} is, to the byte, the page that {given} give")
    elif _PICTURE.sub(b"", page) == _PICTURE.sub(b"", again) and _same_pictures(page, again):
        found.checked.append(f"{REPORT} is the page that {given} give, with the same pictures to the pixel")
        found.declared.append(f"how the pictures in {REPORT} are packed: other bytes than here, for the same pixels")
    else:
        others = others_than_here(certificate.software, ("sfumato",))
        made_by = f" It says that it was made by {others[0]}: verify it with that version as well." if others else ""
        found.problems.append(f"{REPORT} is not the page that {given} give: it was edited.{made_by}")


def _same_pictures(page: bytes, again: bytes) -> bool:
    pairs = zip(_PICTURE.findall(page), _PICTURE.findall(again), strict=True)
    return all(a == b or _same_pixels(base64.b64decode(a), base64.b64decode(b)) for a, b in pairs)


def _same_pixels(picture: bytes, ours: bytes) -> bool:
    """Whether a PNG that anybody may have written has the chunks, the size and the pixels of ours, and nothing else."""
    try:
        theirs, known = _chunks(picture), _chunks(ours)
        if [kind for kind, _ in theirs] != [kind for kind, _ in known] or theirs[0] != known[0]:
            return False
        with Image.open(io.BytesIO(picture)) as a, Image.open(io.BytesIO(ours)) as b:
            return np.array_equal(np.asarray(a), np.asarray(b))
    except DAMAGED:
        return False


def _chunks(picture: bytes) -> list[tuple[bytes, bytes]]:
    """The chunks of a PNG, those of pixels as one; what stands before, between or behind them is an error."""
    if not picture.startswith(_SIGNATURE):
        raise ValueError("no PNG")
    out: list[tuple[bytes, bytes]] = []
    at = len(_SIGNATURE)
    while at < len(picture):
        length, kind = struct.unpack_from(">I4s", picture, at)
        body = picture[at + 8 : at + 8 + length]
        if len(picture) < at + 12 + length or (out and out[-1][0] == b"IEND"):
            raise ValueError("a chunk that is cut, or one too many")
        if not (kind == b"IDAT" and out and out[-1][0] == b"IDAT"):
            out.append((kind, body))
        at += 12 + length
    return out
