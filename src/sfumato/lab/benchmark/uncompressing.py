"""Files of the old Unix `compress` (.Z): ISOLET is distributed so, and Python's library cannot read them."""

from sfumato.errors import SourceError

_CLEAR = 256


def uncompress(content: bytes) -> bytes:
    """The original bytes of a .Z file.

    Codes of 9 bits and more, lowest bit first, name strings of a table that grows as it is read. Codes are written
    in groups of eight, so whenever their width changes the rest of a group is padding.
    """
    if content[:2] != b"\x1f\x9d" or len(content) < 3:
        raise SourceError("this is no .Z file. Fetch it again.")
    widest, has_clear, body = content[2] & 31, bool(content[2] & 128), content[3:]
    fresh = [bytes([value]) for value in range(256)] + ([b""] if has_clear else [])
    table, previous, parts = list(fresh), b"", []
    width, at, group = 9, 0, 0  # `at` counts bits, `group` is where the codes of this width begin
    while at + width <= 8 * len(body):
        start, shift = divmod(at, 8)
        code = int.from_bytes(body[start : start + 4], "little") >> shift & ((1 << width) - 1)
        at += width
        if has_clear and code == _CLEAR:
            at = group = _end_of_group(at, group, width)
            table, previous, width = list(fresh), b"", 9
            continue
        if code > len(table) or (code == len(table) and not previous):
            raise SourceError("this .Z file is damaged. Fetch it again.")
        text = table[code] if code < len(table) else previous + previous[:1]
        parts.append(text)
        if previous and len(table) < 1 << widest:
            table.append(previous + text[:1])
        previous = text
        if len(table) == 1 << width and width < widest:
            at = group = _end_of_group(at, group, width)
            width += 1
    return b"".join(parts)


def _end_of_group(at: int, group: int, width: int) -> int:
    """The bit after the group of eight codes that holds the bit before `at`."""
    return group + -(-(at - group) // (8 * width)) * 8 * width
