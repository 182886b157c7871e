"""A mutant: a small patch that breaks privacy, and who ought to notice."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One injected fault.

    Attributes:
        name: In a few words.
        room: Which part of the package it is in.
        why: What it lets out.
        edits: (file under src/sfumato, text that stands there once, text in its place).
        tests: What pytest is asked to run: files under tests, and -k with an expression.
        probes: Mechanisms that are put to the contract, to the audit and to verify.
    """

    name: str
    room: str
    why: str
    edits: tuple[tuple[str, str, str], ...]
    tests: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
