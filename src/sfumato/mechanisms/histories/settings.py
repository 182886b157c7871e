"""Every number that the method for persons with histories is tuned by. Where they come from: docs/research/constants.md."""

from dataclasses import dataclass, field

from sfumato.mechanisms.table.settings.budget import BudgetSettings, StageShares
from sfumato.mechanisms.table.settings.table import TableSettings

#: In a table of persons with what is known of their events, what goes with what matters more than in others.
_STAGES = StageShares(
    classes=(0.65, 0.40, 0.17),
    moments=(0.10, 0.25, 0.14),
    pairs=(0.00, 0.08, 0.14),
    links=(0.00, 0.06, 0.11),
    teacher=(0.00, 0.00, 0.22),
)


@dataclass(frozen=True)
class HistoryShares:
    """Parts of the whole precision. The table of persons has what is left."""

    counts: float = 0.06  # how many events persons have
    levels: float = 0.12  # which values events have, by sort
    kinds: float = 0.07  # which sort follows which
    gaps: float = 0.11  # how long after each other
    changes: float = 0.06  # how far values go from one event to the next
    spreads: float = 0.04  # how far a person's values vary about their mean


@dataclass(frozen=True)
class HistorySettings:
    """All of them."""

    shares: HistoryShares = field(default_factory=HistoryShares)
    table: TableSettings = field(default_factory=lambda: TableSettings(budget=BudgetSettings(shares=_STAGES)))
    clip: float = 3.0  # the norm that all events of a person have together in a table of counts
    level_places: int = 256  # cells of a value
    level_bend: float = 100.0  # they are even up to one part in so many of the range, and logarithmic beyond
    gap_places: int = 48  # cells of the time between two events
    gap_classes: int = 12  # classes of persons by their mean gap, as even parts of these cells
    change_parts: int = 17  # cells of a change in normal ranks
    most_ranks: float = 3.0  # normal ranks are cut here
    most_slots: int = 8  # with more sorts of events than this, all share one history of values
    most_pairs: int = 4096  # of more pairs of sorts, which follows which is not asked
    spread_bound: float = 1.5  # the norm of a person's numbers about spread
    kept: float = 2.0  # differences between halves of a histogram below so many standard deviations are noise
    candidates: int = 8  # histories that are drawn for a person, of which the one that fits is kept
    persons_at_once: int = 20_000  # whose histories are drawn together
    persons_seen: int = 20_000  # synthetic ones on whom it is seen what the clip does
