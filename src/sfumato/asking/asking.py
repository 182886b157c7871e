"""Ask a release: an estimate from its noisy measurements with an honest interval. No data, no budget."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from sfumato.asking.answer import POPULATION, ROWS, Answer, Estimate
from sfumato.asking.encoded_rows import StandIns, stand_ins
from sfumato.asking.hidden_rows import with_hidden_rows
from sfumato.asking.insides import least_and_most, moved_about
from sfumato.asking.intervals import Uncertain
from sfumato.asking.kinds import Ends, Kind, Members, kind_of
from sfumato.asking.noted_sums import EnoughNoted, NotedSum, NotingDoors
from sfumato.asking.questions import Question, read_question
from sfumato.asking.totals import DISCREPANCIES, DISCREPANCY, Measurements, Totals
from sfumato.errors import ModelError
from sfumato.mechanism import Mechanism
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.released import encoded
from sfumato.public.schema.schema import Batch, Schema

#: Below this share of its square, what was not measured of a function does not matter.
_SEEN = 0.05
#: So many times fewer rows stand for the private ones where only single columns are looked at.
_FEWER = 3
#: Where persons with many rows are clipped together, sums lack an unknown part of what they had.
_SHORTENED = "persons with many rows were shortened in its measurements, so noise is not all that moves them"
_NONE_LIKE_IT = "no synthetic row, and no made-up one, is like that"
#: Less than this part of the rows that may be asked for surely are: then they are not known well enough to be described.
_SURE = 0.5
_CUT = "its bounds lie inside cells that were counted as one, which may hold most of the rows that are asked for"
_IN_FULL = " in full: persons with many rows were shortened where it was"
#: Questions about the rows themselves, unless the population is asked for: a count is a count of rows.
_OF_ROWS = ("count", "sum")


@dataclass(frozen=True)
class Asker:
    """A release that can be asked.

    Args:
        schema: Of its rows.
        mechanism: What made it.
        plan: Under which it was measured.
        answers: The doors' integers.
        table: Its synthetic rows.
        measured_share: The share of the private rows that was measured, where others were set apart for a score.
        brief: Look at the first measurements only, until every column is counted and some are counted together.
    """

    schema: Schema
    mechanism: Mechanism
    plan: Plan
    answers: Answers
    table: pd.DataFrame
    measured_share: float = 1.0
    brief: bool = False

    @cached_property
    def synthetic(self) -> Batch:
        """The synthetic rows, encoded."""
        missing = [column.name for column in self.schema.columns if column.name not in self.table.columns]
        if missing:
            raise ModelError(
                f"the release has no column {missing[0]!r}: it holds no rows of the schema, so it cannot be asked."
            )
        return encoded(self.table, self.schema)

    @cached_property
    def measurements(self) -> Measurements | str:
        """The noisy sums; or a sentence that says why there are none."""
        rows = stand_ins(self.synthetic, self.schema, fewer=_FEWER if self.brief else 1)
        trust = DISCREPANCIES.get(self.mechanism.name, DISCREPANCY)
        doors = NotingDoors(self.plan, self.answers, is_enough=partial(self._is_enough, rows) if self.brief else None)
        with contextlib.suppress(EnoughNoted):
            self.mechanism.measure(doors, self.schema)
        if not doors.sums:
            return _SHORTENED if doors.shortened else f"{self.mechanism.name} keeps no noisy sums over all rows"
        rough = Measurements(self.schema, doors.sums, rows, float(len(self.table)), trust)
        columns = rough.with_references(rough.some_columns)
        if doors.shortened and not len(rough.numbers(columns).values):
            return _SHORTENED  # nothing that counts every row in full says how many there are
        everyone = rough.totals(np.ones((len(rough.rows.weights), 1)), columns)
        n_rows, error = float(everyone.values[0]), math.sqrt(float(everyone.noise[0, 0] + everyone.model[0, 0]))
        if n_rows < 4 * error:
            return "the noise is as large as the number of rows"
        return replace(rough, n_rows=n_rows, shortened=bool(doors.shortened), _systems={})

    def _is_enough(self, rows: StandIns, sums: list[NotedSum]) -> bool:
        """Whether every column that was measured is counted, and some of them together: what follows is about several."""
        counted = Measurements(self.schema, sums, rows, float(len(self.table))).tables
        columns = {column.name for column in self.schema.columns}
        return any(len(group) > 1 for group in counted) and columns <= set().union(*counted)

    def ask(self, text: str, *, confidence: float = 0.95, of: str | None = None) -> Answer:
        """Answer a question; `of` is `rows` or `population`."""
        if not 0.5 <= confidence < 1:
            raise ModelError(f"confidence = {confidence} must be at least 0.5 and below 1. 0.95 is usual.")
        if of not in (None, "rows", "population"):
            raise ModelError(f"of = {of!r} must be rows or population.")
        question = read_question(text, self.schema)
        of_population = of == "population" if of else question.function not in _OF_ROWS
        z = float(-ndtri((1 - confidence) / 2))
        found = self._estimates(question, z=z, of_population=of_population)
        target = POPULATION if of_population else ROWS
        return Answer(question.text, confidence, target, question.by, found, question.of_dates)

    def _estimates(self, question: Question, *, z: float, of_population: bool) -> tuple[Estimate, ...]:
        kind, measured = kind_of(question, self.synthetic), self.measurements
        inside, names = question.members(self.synthetic), question.groups()
        naive = [kind.naive(kind.functions(self.synthetic) * own[:, None]) for own in inside.T]
        if isinstance(measured, str):
            return tuple(Estimate(name, None, None, None, n, measured) for name, n in zip(names, naive, strict=True))
        columns = measured.with_references(question.columns or measured.some_columns)
        if kind.is_count:
            measured = with_hidden_rows(measured, question.columns, columns)
        functions, inside = kind.functions(measured.rows.batch), question.members(measured.rows.batch)
        lacking, moved = self.lacking(measured, question, columns), self._moved(measured, question, columns)
        of_group = replace(question, where=None).members(measured.rows.batch)
        out = []
        for at, (name, said) in enumerate(zip(names, naive, strict=True)):
            ends = self._ends(measured, kind, partial(_members, question, of_group[:, at]), moved)
            counted = [functions * inside[:, [at]], *(() if isinstance(ends, str) else ends)]
            if isinstance(ends, str) or not any(some.any() for some in counted):
                out.append(Estimate(name, None, None, None, said, ends if isinstance(ends, str) else _NONE_LIKE_IT))
                continue
            totals, *bounding = (
                measured.totals(some, columns, n_asked=len(question.columns), counts=kind.counts) for some in counted
            )
            found = self.found(kind, totals, lacking, z=z, of_population=of_population, bounding=bounding)
            out.append(
                Estimate(name, None, None, None, said, found)
                if isinstance(found, str)
                else replace(found, group=name, naive=said)
            )
        return tuple(out)

    def _moved(self, measured: Measurements, question: Question, columns: tuple[str, ...]) -> list[list[Batch]]:
        """Copies of the rows with numbers elsewhere in the cells that they were counted in, where the question may cut some."""
        conditions = [
            part for part in (*question.arguments, question.where) if part is not None and part.kind == "truth"
        ]
        cutting = conditions if question.level is None else [*conditions, question.arguments[0]]
        names = {name for part in cutting for name in part.columns if self.schema[name].is_number}
        cells = {name: own for name in sorted(names) if (own := measured.cells(name, columns)) is not None}
        return moved_about(measured.rows.batch, cells) if cells else []

    def _ends(
        self, measured: Measurements, kind: Kind, members: Members, moved: list[list[Batch]]
    ) -> Ends | tuple[()] | str:
        """Totals that bound the answer wherever rows are in their cells; or why it cannot be bounded."""
        if not moved:
            return ()
        rows = measured.rows
        ends = kind.ends(rows.batch, members, moved)
        if ends is None:
            for at in range(len(kind.denominators(rows.batch, members))):
                sure, most = least_and_most(lambda some, at=at: kind.denominators(some, members)[at], moved)  # type: ignore[misc]
                if sure[: rows.n_synthetic].sum() < _SURE * most[: rows.n_synthetic].sum():
                    return _CUT
        return ends or ()

    def found(
        self,
        kind: Kind,
        totals: Totals,
        lacking: str,
        *,
        z: float,
        of_population: bool,
        bounding: Sequence[Totals] = (),
    ) -> Estimate | str:
        """An estimate with its interval from the totals of a kind, or why there is none.

        The interval holds those of `bounding` totals, too.
        """
        if lacking and max(some.unseen.max() for some in (totals, *bounding)) > _SEEN:
            return lacking
        uncertain, parts = self._uncertain(totals, of_population=of_population)
        spans = [
            kind.interval(some, z)
            for some in (uncertain, *(self._uncertain(b, of_population=of_population)[0] for b in bounding))
        ]
        if spans[0] is None:
            return "the noise is as large as the number of rows that are asked for"
        if None in spans:
            return _CUT
        slopes = uncertain.slopes(kind.value)
        squares = [max(float(slopes @ part @ slopes), 0.0) for part in parts]
        ends = spans[0][0], min(span[1] for span in spans if span), max(span[2] for span in spans if span)
        value, low, high = (min(max(number, kind.least), kind.most) for number in ends)
        return Estimate((), value, low, high, None, "", *(square / max(sum(squares), 1e-300) for square in squares))

    def _uncertain(self, totals: Totals, *, of_population: bool) -> tuple[Uncertain, list[NDArray[np.float64]]]:
        """Totals with the covariance of their errors, and the parts of it: noise, model and sampling."""
        share = self.measured_share
        # Rows of a person may be alike, so that there are as few of them as there are persons.
        sampled = totals.sampling * self.schema.unit.max_rows * (1.0 if of_population else 1 - share)
        parts = [part / share**2 for part in (totals.noise, totals.model, sampled)]
        return Uncertain(totals.values / share, parts[0] + parts[1] + parts[2]), parts

    def lacking(self, measured: Measurements, question: Question, columns: tuple[str, ...]) -> str:
        """What the measurements lack for a question; nothing if they bear it."""
        together, names = measured.together(columns), question.columns
        alone = [name for name in names if not any(name in group for group in together)]
        apart = [pair for pair in combinations(names, 2) if not any(set(pair) <= group for group in together)]
        full = _IN_FULL if measured.shortened else ""
        if alone or not apart:
            return f"column {alone[0]!r} was not measured{full}" if alone else ""
        return f"columns {apart[0][0]!r} and {apart[0][1]!r} were not measured together{full}"


def _members(question: Question, of_group: NDArray[np.bool_], rows: Batch) -> NDArray[np.bool_]:
    """The rows of a group of which the condition holds."""
    return of_group if question.where is None else of_group & question.where.holds(rows)
