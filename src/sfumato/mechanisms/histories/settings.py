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

    counts: float = 0.08  #: how many events persons have (one release each of .06 and .08, hospital of another seed)
    levels: float = 0.12  #: which values events have, by sort (prototype: .10 to .14)
    kinds: float = 0.17  #: which sort follows which (prototype: .07; .09 and .18 on draws that are not reported)
    gaps: float = 0.06  #: how long after each other (prototype: .11; .09 and .05 on those draws)
    changes: float = 0.03  #: how far values go from one event to the next (prototype: .06; .06 and .03 on those draws)
    spreads: float = (
        0.02  #: how far a person's values vary about their mean (prototype: .04; .04 and .02 on those draws)
    )


@dataclass(frozen=True)
class HistorySettings:
    """All of them."""

    shares: HistoryShares = field(default_factory=HistoryShares)  #: as above
    #: those of `3a-table`, with more for what goes with what
    table: TableSettings = field(default_factory=lambda: TableSettings(budget=BudgetSettings(shares=_STAGES)))
    clip: float = 3.0  #: the norm of all events of a person together in a table of counts (prototype: 2 to 4 alike)
    level_places: int = 256  #: cells of a value (judgement)
    level_bend: float = (
        100.0  #: they are even up to one part in so many of the range, and logarithmic beyond (judgement)
    )
    gap_places: int = 48  #: cells of the time between two events (judgement)
    gap_classes: int = 12  #: classes of persons by their mean gap, as even parts of these cells (judgement)
    change_parts: int = 17  #: cells of a change in normal ranks (judgement)
    most_ranks: float = 3.0  #: normal ranks are cut here (judgement)
    most_slots: int = 8  #: with more sorts of events than this, all share one history of values (judgement)
    most_pairs: int = 4096  #: of so many cells at most it is asked which sort follows which (judgement)
    #: events of usual sorts that are added to those a person is to have: where persons differ in their sorts, where not (300 30 alike)
    kind_freedom: tuple[float, float] = (3.0, 300.0)
    #: so much of that of sorts of which a person is to have none
    kind_unwanted: tuple[float, float] = (0.1, 1.0)
    #: parts of all events by which the sort before the last comes back too often: persons do not differ, persons differ (judgement)
    kind_differing: tuple[float, float] = (0.015, 0.04)
    kind_candidates: int = 4  #: lists of sorts that are drawn for a person where sorts are its own (judgement)
    kind_rounds: int = 8  #: in which weights of sorts are fitted to their counts (judgement)
    kind_doubt: float = 10.0  #: so many events are added to either count of a cell there (judgement)
    spread_bound: float = 1.5  #: the norm of a person's numbers about spread (judgement)
    kept: float = (
        2.0  #: differences between halves of a histogram below so many standard deviations are noise (judgement)
    )
    candidates: int = 8  #: lists of gaps that are drawn for a person, of which the one that fits is kept (prototype)
    #: rounds in which persons exchange a gap where both then come nearer to their spans of time (judgement)
    exchanges: int = 100
    #: so many more events is whoever taken to have of whom the table tells what only events tell (0 2, paired noise: liver)
    known: float = 2.0
    #: classes of persons are drawn by what their histories became, not before (paired noise: six hospitals, four of liver)
    labels_last: bool = True
    persons_at_once: int = 20_000  #: whose histories are drawn together (room)
    persons_seen: int = (
        20_000  #: synthetic ones on whom it is seen what the clip does, at most those drawn at once (time)
    )
