"""One pass over rows on a cluster, played through event by event: what the model of `scale_model.py` is checked against.

Parts wait in a line for workers that are free. Some take longer than others, some are lost and run again. What they give is
added up by the driver, part by part, as today; or by workers in a tree, of which the driver is the root.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Luck:
    """How the times of equal parts differ. Assumed, not measured.

    Attributes:
        spread: Standard deviation of the logarithm of a part's time.
        slow: The share of parts that land on a slow machine.
        times_as_long: How much longer these take.
        lost: The share of parts whose first run is lost on the way; the next begins on another worker.
    """

    spread: float = 0.1
    slow: float = 0.02
    times_as_long: float = 3.0
    lost: float = 0.005


@dataclass(frozen=True)
class Pass:
    """What a pass is made of.

    Attributes:
        workers: How many parts are worked on at once.
        parts: How many there are; a few for each worker.
        part_seconds: What a part takes, when nothing holds it up.
        task_bytes: What every worker is sent.
        sums_bytes: What comes back from every part.
        add_seconds: For reading and adding the sums of one part.
        dispatch: Seconds in which the scheduler hands out one part.
        latency: Seconds from a message's sending to its reading.
        bandwidth: Bytes a second into or out of one machine.
        luck: How parts differ.
    """

    workers: int
    parts: int
    part_seconds: float
    task_bytes: float
    sums_bytes: float
    add_seconds: float
    dispatch: float = 0.001
    latency: float = 0.01
    bandwidth: float = 1e9
    luck: Luck = field(default_factory=Luck)

    @property
    def one_answer(self) -> float:
        """Seconds in which the sums of one part are fetched, read and added."""
        return self.sums_bytes / self.bandwidth + self.add_seconds


def simulated(asked: Pass, *, fan_in: int | None, seed: int) -> float:
    """Seconds of one pass; with `fan_in` sums are added up in a tree, without it by the driver alone."""
    rng = np.random.default_rng(seed)
    finished = _parts_finished(asked, _told(asked, fan_in), rng)
    if fan_in is None:  # the driver begins when all are there, as it must to refuse a gap
        return max(finished) + asked.latency + _fetched(len(finished), asked, rng)
    while len(finished) > 1:
        groups = [finished[at : at + fan_in] for at in range(0, len(finished), fan_in)]
        free, ready = [0.0] * asked.workers, sorted((max(group), len(group)) for group in groups)
        finished = []
        for at, size in ready:
            start = max(at, heapq.heappop(free))
            finished.append(start + asked.latency + _fetched(size, asked, rng))
            heapq.heappush(free, finished[-1])
    return finished[0]


def _told(asked: Pass, fan_in: int | None) -> float:
    """When the last worker has the task: from one machine, one after the other; or passed on by those who have it."""
    one = asked.task_bytes / asked.bandwidth
    if fan_in is None:
        return asked.latency + asked.workers * one
    having, seconds = 1, 0.0
    while having < asked.workers:
        having, seconds = having * (fan_in + 1), seconds + asked.latency + fan_in * one
    return seconds


def _parts_finished(asked: Pass, told: float, rng: np.random.Generator) -> list[float]:
    """When each part has its sums: in the order of the line, on whichever worker is free, again where a run is lost."""
    line = [(told + at * asked.dispatch, at) for at in range(asked.parts)]
    free = [0.0] * asked.workers
    finished = [0.0] * asked.parts
    seconds = asked.part_seconds * rng.lognormal(0.0, asked.luck.spread, asked.parts)
    seconds[rng.random(asked.parts) < asked.luck.slow] *= asked.luck.times_as_long
    lost = set(np.flatnonzero(rng.random(asked.parts) < asked.luck.lost))
    while line:
        ready, at = heapq.heappop(line)
        start = max(ready, heapq.heappop(free))
        if at in lost:  # once: the next run comes through
            lost.remove(at)
            end = start + rng.random() * seconds[at]
            heapq.heappush(line, (end + asked.latency, at))
        else:
            end = finished[at] = start + seconds[at]
        heapq.heappush(free, end)
    return finished


def _fetched(answers: int, asked: Pass, rng: np.random.Generator) -> float:
    """Seconds in which one process fetches and adds so many answers."""
    return asked.one_answer * float(np.sum(rng.lognormal(0.0, asked.luck.spread, answers)))
