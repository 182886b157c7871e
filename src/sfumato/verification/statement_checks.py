"""What the ledger says in a certificate: its arithmetic and its signature. That it holds all releases is beyond any check."""

from sfumato.errors import SfumatoError
from sfumato.folder.signing import fingerprint, key_of, vouches
from sfumato.public.accounting.charging import charge_for
from sfumato.public.accounting.spend import NOTHING, Spend
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.statement import Statement
from sfumato.scoring.step import events_of
from sfumato.verification.findings import Findings


def check_statement(certificate: Certificate, found: Findings) -> None:
    """Recompute what can be recomputed, and say what cannot."""
    told = certificate.ledger
    if told is None:
        return
    problems, by = _problems(certificate, told), ""
    if told.key is not None and told.signature is not None:
        if vouches(told.key, told.signature, told.signed_text()):
            by = f", signed with the key {fingerprint(key_of(told.key))}"
        else:
            problems.append("the signature of the ledger's statement does not fit it.")
    found.declared.append(
        f"that the ledger {told.ledger[:8]} holds every release of these rows, under the one name {told.dataset!r}"
    )
    if told.non_private:
        found.declared.append(
            "what the outputs without privacy show that the ledger has counted: nothing holds for them"
        )
    if told.periods:
        found.declared.append(f"that only rows of {', '.join(told.periods)} were read")
    found.settle(
        problems,
        checked=f"the ledger's statement{by}: it was charged at least what the events cost, and its sums are within its total",
    )


def _problems(certificate: Certificate, told: Statement) -> list[str]:
    spent, charged = Spend(*told.spent), Spend(*told.charged)
    try:
        unit, periods = certificate.claim.unit, len(told.periods)
        cost = NOTHING
        for event in events_of(certificate):
            own = charge_for(event, unit=unit, counted=told.unit, delta=told.delta, periods=periods)
            cost = cost.or_else(own)
        within = spent.fits(told.limit)
    except SfumatoError as error:
        return [f"the ledger's statement cannot be recomputed: {error}"]
    found = []
    if not cost.fits(charged):
        found.append(
            f"the ledger was charged mu {charged.mu:.6g}, and the events of the certificate cost mu {cost.mu:.6g}."
        )
    # Every release before this one was charged at least one unit, though perhaps for other periods.
    before = 0 if told.periods else told.release - 1
    if not charged.fits(spent) or spent.mu_squared < charged.mu_squared + before:
        found.append("the ledger's sums are smaller than what was added to them.")
    if not told.periods and told.release == 1 and spent != charged:
        found.append("the ledger's sums are not those of a first release.")
    if not within:
        found.append("the ledger's sums are above its own total.")
    return found
