"""What is still to be done, and how long that may take: by public names and by the clock, never by rows."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sfumato.outlook.stages import in_words

#: Nothing is said of the time that is left before so many seconds have passed, nor if it is less than this.
_SECONDS_TO_JUDGE = 3.0


@dataclass
class Agenda:
    """Stages in their order, each with the number of times that it is planned for; `begin` tells of one as it begins.

    >>> seconds = iter([0.0, 4.0, 6.0])
    >>> agenda = Agenda({"pairs": 1, "teacher": 3}, clock=lambda: next(seconds))
    >>> agenda.begin("pairs")
    '1 of 2, counting pairs of columns'
    >>> agenda.begin("teacher")
    '2 of 2, correcting the labels, 1 of 3, about 10 s left'
    >>> agenda.begin("teacher")
    '2 of 2, correcting the labels, 2 of 3, about 4 s left'
    """

    stages: Mapping[str, int]
    clock: Callable[[], float] = time.monotonic
    _spent: dict[str, list[float]] = field(default_factory=dict, init=False)
    _running: tuple[str, float] | None = field(default=None, init=False)

    def begin(self, stage: str) -> str:
        """Note that a stage begins, and say where it stands. One that is not planned is told by its name alone."""
        now = self.clock()
        if self._running is not None:
            last, since = self._running
            self._spent.setdefault(last, []).append(now - since)
        self._running = (stage, now)
        if stage not in self.stages:
            return in_words(stage)
        said = [self.place_of(stage), in_words(stage)]
        if self.stages[stage] > 1:
            said.append(f"{len(self._spent.get(stage, ())) + 1} of {self.stages[stage]}")
        return ", ".join([*said, *self._left()])

    def place_of(self, stage: str) -> str:
        """A stage's number among all."""
        return f"{list(self.stages).index(stage) + 1} of {len(self.stages)}"

    def _left(self) -> list[str]:
        """The rest at the pace of the same stage, and of all stages where that is not known yet."""
        done = [seconds for spent in self._spent.values() for seconds in spent]
        if sum(done) < _SECONDS_TO_JUDGE:
            return []
        left = 0.0
        for stage, times in self.stages.items():
            spent = self._spent.get(stage, [])
            pace = sum(spent) / len(spent) if spent else sum(done) / len(done)
            left += max(0, times - len(spent)) * pace
        return [f"about {_rough(left)} left"] if left >= _SECONDS_TO_JUDGE else []


def _rough(seconds: float) -> str:
    """As exact as such a guess can be.

    >>> _rough(7.2), _rough(48), _rough(200), _rough(9_000)
    ('7 s', '50 s', '3 min', '2.5 h')
    """
    if seconds < 10:
        return f"{seconds:.0f} s"
    if seconds < 90:
        return f"{round(seconds, -1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
