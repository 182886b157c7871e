"""The promise for a reader who knows no differential privacy: a few sentences that the certificate's numbers give."""

import math

from sfumato.public.certificate.certificate import Certificate
from sfumato.public.schema.schema import Schema

#: Where an attacker may become surer than this, the promise says little by itself.
_LITTLE = 0.95


def plain_promise(certificate: Certificate, schema: Schema, *, what: str) -> list[str]:
    """What is promised and what is not, without a formula.

    Args:
        certificate: Its status, epsilon and delta are told.
        schema: Says whether rows or persons are hidden, and from what.
        what: A sentence on what the folder holds.
    """
    if certificate.status != "certified":
        return [what, "No promise of privacy holds for this folder: keep it as you would keep the private rows."]
    return [what, f"The promise: {_nearly_the_same(schema)} {_how_sure(certificate, schema)}", _not_hidden(schema)]


def _nearly_the_same(schema: Schema) -> str:
    where = "the private set of pictures" if schema.images else "the private table"
    if schema.unit.relation == "replace_one":
        whose = "row" if schema.unit.person is None else "person's rows"
        return f"whatever any one {whose} in {where} had said, this folder would look nearly the same."
    who = "row" if schema.unit.person is None else "person"
    was = "was" if schema.unit.person is None else "had rows"
    return f"whether or not any one {who} {was} in {where}, this folder would look nearly the same."


def _how_sure(certificate: Certificate, schema: Schema) -> str:
    sure = most_sure(certificate.epsilon)
    who = "a certain row" if schema.unit.person is None else "a certain person"
    if schema.unit.relation == "replace_one":
        guess = f"thinks two values of {who} equally likely may come to be {sure_text(sure)} sure of one of them"
    else:
        is_in = f"{who} {'is' if schema.unit.person is None else 'has rows'} in it"
        guess = f"gives even odds that {is_in} may come to be {sure_text(sure)} sure"
    said = (
        f"Somebody who knows all other rows and {guess} after seeing everything here, and no surer, but for an exception "
        f"with a probability of at most {odds_text(certificate.delta)}."
    )
    return said if sure <= _LITTLE else f"{said} That limit is so high that the promise says little by itself."


def _not_hidden(schema: Schema) -> str:
    whom = "row" if schema.unit.person is None else "person"
    return f"Not hidden: what many {whom}s have in common. That is what this release is for."


def most_sure(epsilon: float) -> float:
    """How sure one may become of what had even odds.

    >>> round(most_sure(1.0), 3), most_sure(1000.0)
    (0.731, 1.0)
    """
    return 1 / (1 + math.exp(-epsilon))


def sure_text(share: float) -> str:
    """In percent.

    >>> sure_text(0.731), sure_text(0.5), sure_text(0.99966), sure_text(1.0)
    ('73 %', '50 %', '99.97 %', 'more than 99.99 %')
    """
    percent = 100 * share
    if percent > 99.99:
        return "more than 99.99 %"
    return f"{percent:.0f} %" if percent < 99 else f"{percent:.2f} %"


def odds_text(delta: float) -> str:
    """A small probability as one in so many.

    >>> odds_text(1e-6), odds_text(3.3e-5)
    ('one in 1,000,000', 'one in 30,000')
    """
    many = 1 / delta
    digits = 10 ** (len(str(int(many))) - 2) if many >= 100 else 1
    return f"one in {int(many + 1e-6) // digits * digits:,}"
