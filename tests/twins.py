"""Broken twins: primitives and mechanisms that each break one clause of the contract, and must be caught at it.

A door is built of `Primitives`, so a broken door is a subclass of these: nothing else of the doors is touched. What a View does
itself (it charges) is broken by `forgets_to_charge`, the weight of a row's codes by `weighs_every_code_as_if_alone`, the codes
themselves by `leaves_codes_as_the_map_gave_them`, and who belongs together by `leaves_persons_apart` and
`tears_persons_at_the_ends_of_batches`, and of several tables by `counts_events_by_rows`, `gives_orphans_to_a_neighbour` and
`begins_windows_by_the_number`. More mechanisms that cheat are in
check/cheats.py.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.mechanisms import Moments, ThreeAImage, ThreeATable, ThreeATables
from sfumato.mechanisms.common.prepared import INPUTS
from sfumato.private.intake import histories
from sfumato.private.intake.histories import HistorySource
from sfumato.private.kernel import clip
from sfumato.private.kernel.clip import FINE_NORM
from sfumato.private.kernel.persons import Persons
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.view import View
from sfumato.public.plan import grid
from sfumato.public.plan.doors import Measured


class Silent(Primitives):
    """No noise: for arithmetic only."""

    def noise(self, shape):
        return np.zeros(shape, dtype=np.int64)


class HalfNoise(Primitives):
    def noise(self, shape):
        return super().noise(shape) // 2


class EighthNoise(Primitives):
    def noise(self, shape):
        return super().noise(shape) // 8


class TooMuchNoise(Primitives):
    """Not a leak, but a plan that is not kept."""

    def noise(self, shape):
        return super().noise(shape) * 2


class SameNoiseInEveryRow(Primitives):
    def noise(self, shape):
        return np.broadcast_to(super().noise(shape[-1:]), shape)


class ConstantSeedNoise(Primitives):
    def noise(self, shape):
        return (np.random.default_rng(0).normal(size=shape) * 2**20).astype(np.int64)


class NoClip(Primitives):
    def clip(self, values, *, block, noise_multiplier):
        units = grid.units_per_one(block, noise_multiplier=noise_multiplier)
        return np.trunc(np.nan_to_num(values, posinf=1e3, neginf=-1e3) * units).astype(np.int32)


class NoClipOfProducts(Primitives):
    """Products of vectors as they come, three times as long."""

    def clip_outer(self, values, *, block):
        values = np.nan_to_num(values.astype(float), posinf=1e3, neginf=-1e3)
        u, v = np.split(values[:, : sum(block.shape)], [block.shape[0]], axis=1)
        scale = FINE_NORM / block.l2_bound**0.5
        return np.trunc(3 * u * scale), np.trunc(v * scale)


class NoClipOfPersons(Primitives):
    """Every row of a person counts in full, though the accountant was told less."""

    def clip_persons(self, lengths, together):
        return lengths


class TwiceTheBoundOfPersons(Primitives):
    """Persons are clipped together, to twice what the accountant was told."""

    def clip_persons(self, lengths, together):
        return replace(together, limit=4 * together.limit).shortened(lengths)


class ShortensPersonsByTheFirst(Primitives):
    """One factor for all: what the first person of a batch needs, whoever the others are."""

    def clip_persons(self, lengths, together):
        shortened = together.shortened(lengths)
        factor = np.abs(shortened[0]).sum() / max(np.abs(lengths[0]).sum(), 1) if len(lengths) else 1
        return np.trunc(lengths * factor).astype(lengths.dtype)


class LouderGradients(Primitives):
    """Gradients that count four times, as if the clip were four times as wide."""

    def clip_gradients(self, gradients, *, block, noise_multiplier):
        return 4 * super().clip_gradients(gradients, block=block, noise_multiplier=noise_multiplier)


class SameCoinsForEveryMixture(Primitives):
    """The class-wise generator as published: one subset, noised again and again."""

    def coins(self, step, *, key, first, n_rows, n_coins, rate):
        chosen = super().coins(step, key=key, first=first, n_rows=n_rows, n_coins=1, rate=rate)
        return (chosen[:, None] * n_coins + np.arange(n_coins)).ravel()

    def subsets(self, step, *, key, n_subsets, size, population):
        one = super().subsets(step, key=key, n_subsets=1, size=size, population=population)
        return np.repeat(one, n_subsets, axis=0)


class ShuffledBatches(Primitives):
    """Every row once per epoch in batches of a fixed size, accounted as coins."""

    def coins(self, step, *, key, first, n_rows, n_coins, rate):
        order = np.random.default_rng(n_rows).permutation(n_rows)
        size = max(1, round(n_rows * rate))
        batches = [order[(np.arange(size) + m * size) % n_rows] * n_coins + m for m in range(n_coins)] if n_rows else []
        return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *batches]))


class TwiceTheRate(Primitives):
    def coins(self, step, *, key, first, n_rows, n_coins, rate):
        return super().coins(step, key=key, first=first, n_rows=n_rows, n_coins=n_coins, rate=min(1.0, 2 * rate))


class SubsetsOfTheFirstRows(Primitives):
    def subsets(self, step, *, key, n_subsets, size, population):
        half = max(size, population // 2)
        return super().subsets(step, key=key, n_subsets=n_subsets, size=size, population=half)


class LoadedDice(Primitives):
    def dice(self, step, *, key, first, n_rows, sides):
        return super().dice(step, key=key, first=first, n_rows=n_rows, sides=sides) // 2


class TwiceTheRateOfChoices(Primitives):
    """Choices that follow their scores twice as closely as was accounted."""

    def choose(self, private_scores, *, step, block, rate):
        return super().choose(private_scores, step=step, block=block, rate=2 * rate)


class ChoosesTheBest(Primitives):
    """The largest score, without any chance."""

    def choose(self, private_scores, *, step, block, rate):
        return int(np.argmax(private_scores))


class PersonsCountOnceInChoices(Primitives):
    """A rate for persons of one row, where the accountant was told of three."""

    def choose(self, private_scores, *, step, block, rate):
        return super().choose(private_scores, step=step, block=block, rate=3 * rate)


class KeepsLabels(Primitives):
    """Labels as they are, though half of the precision was for hiding them."""

    def respond(self, private_codes, *, step, block, categories, parts):
        return private_codes


class TwiceTheTruth(Primitives):
    """Responses that are true twice as often as was accounted."""

    def respond(self, private_codes, *, step, block, categories, parts):
        return super().respond(private_codes, step=step, block=block, categories=categories, parts=2 * parts)


class NeverThrowsTheLast(Primitives):
    """A die that never shows the last category: whoever names it holds it."""

    def respond(self, private_codes, *, step, block, categories, parts):
        given = super().respond(private_codes, step=step, block=block, categories=categories, parts=parts)
        return np.where((given == categories - 1) & ~(private_codes == given).any(axis=1, keepdims=True), 0, given)


def tosses_no_coins(monkeypatch):
    """Every row is in the first mixtures, as many as its coins would have given it: nothing is drawn."""

    def first_ones(step, primitives, *, key):
        each = max(1, round(step.sampling.rate * step.mixtures))
        return lambda first, n: (np.repeat(np.arange(n), each), np.tile(np.arange(each), n))

    monkeypatch.setattr("sfumato.private.engines.task.members_of", first_ones)


def counts_outside_its_table(monkeypatch):
    """A code past the end of its table counts in the next one, so that a row may count there twice."""

    def astray(private_counts, private_codes, *, tables):
        codes = np.nan_to_num(private_codes).astype(np.int64) + np.cumsum([0, *tables.widths[:-1]])
        np.add.at(private_counts, np.clip(codes, 0, private_counts.size - 1).ravel(), 1)

    monkeypatch.setattr("sfumato.private.kernel.choice.add_rows", astray)


def forgets_to_charge(monkeypatch):
    """A View that counts no uses: not a primitive, so it is broken where it stands."""
    honest = View._charge

    def forgetful(self, step_name):
        self._View__used.pop(step_name, None)
        return honest(self, step_name)

    monkeypatch.setattr(View, "_charge", forgetful)


def leaves_persons_apart(monkeypatch):
    """Rows are read in the order of the file, and each run of one person's rows is taken for a person."""

    def apart(read, numbers, *, person, rows):
        start = 0
        for batch in read():
            runs = np.cumsum(np.diff(batch[person], prepend=-1) != 0)
            yield {**batch, person: start + runs}
            start += runs[-1]

    monkeypatch.setattr("sfumato.private.intake.sensitive.brought_together", apart)


def tears_persons_at_the_ends_of_batches(monkeypatch):
    """Whoever has rows in two batches is clipped in each of them."""
    monkeypatch.setattr("sfumato.private.engines.task.of_whole_persons", lambda batches: batches)


def leaves_codes_as_the_map_gave_them(monkeypatch):
    """A person's norm truncates -0.5 to the code 0, and the sum leaves it out: one set of codes each."""
    honest = Persons.of_codes

    def raw(private_codes, *, block):
        codes = private_codes[:, : block.n_hot]
        return np.where(codes < block.width, codes, -1.0), (codes >= 0).sum(axis=1)

    def truncated(self, private_codes, *, block, units):
        return honest(self, private_codes.astype(np.int64), block=block, units=units)

    monkeypatch.setattr(clip, "distinct_codes", raw)
    monkeypatch.setattr(Persons, "of_codes", truncated)


def weighs_every_code_as_if_alone(monkeypatch):
    """A clip that lets a weight be as large as one code may have it, however many codes the row has."""

    def alone(values, codes, *, block, units):
        weights = np.nan_to_num(np.asarray(values, dtype=float)[:, -1], nan=0.0)
        most = block.n_hot**0.5
        return np.trunc(np.clip(weights, -most, most) * int(units)).astype(np.int64)

    monkeypatch.setattr(clip, "weights_in_units", alone)


# Twins of the default for tables.


class Through:
    """Passes everything on to honest doors; what inherits from it spoils one of them."""

    def __init__(self, view):
        self.view = view

    def __getattr__(self, name):
        return getattr(self.view, name)


@dataclass(frozen=True, kw_only=True)
class TableKeepsRows(ThreeATable):
    """A few rows that a map has seen stay among the measurements."""

    name: ClassVar[str] = "table-keeps-rows"

    def measure(self, view, schema):
        seen = []

        class Spy(Through):
            def noisy_sum(self, step, per_record):
                def spying(batch):
                    seen.append(np.nan_to_num(batch["pressure"].astype(float)))
                    return per_record(batch)

                return self.view.noisy_sum(step, spying)

        measured = dict(super().measure(Spy(view), schema))
        return measured | {"kept": np.resize(seen[-1], 400)}


@dataclass(frozen=True, kw_only=True)
class TableAsksAgain(ThreeATable):
    """The class tables twice for the price of one, to average the noise out. Honest doors refuse it."""

    name: ClassVar[str] = "table-asks-again"

    def measure(self, view, schema):
        class Twice(Through):
            def noisy_sum(self, step, per_record):
                first = self.view.noisy_sum(step, per_record)
                if step != "classes":
                    return first
                second = self.view.noisy_sum(step, per_record)
                means = {name: (first[name].values + second[name].values) / 2 for name in first}
                return {name: Measured(values, first[name].stddev) for name, values in means.items()}

        return super().measure(Twice(view), schema)


@dataclass(frozen=True, kw_only=True)
class TableBinsByRank(ThreeATable):
    """Bins that are exactly full, because they look at all rows of the batch."""

    name: ClassVar[str] = "table-bins-by-rank"

    def measure(self, view, schema):
        class Ranker(Through):
            def prepare(self, name, per_record):
                def ranked(batch):
                    rank = np.argsort(np.argsort(batch["age"])).astype(float)
                    return per_record({**batch, "age": 18 + 72 * rank / max(1, len(rank) - 1)})

                return self.view.prepare(name, ranked)

        return super().measure(Ranker(view), schema)


@dataclass(frozen=True, kw_only=True)
class TableCountsExactly(ThreeATable):
    """The exact number of rows, where a noisy one would do."""

    name: ClassVar[str] = "table-counts-exactly"

    def measure(self, view, schema):
        rows = []

        class Counter(Through):
            def noisy_sum(self, step, per_record):
                def counting(batch):
                    rows.append(len(batch["age"]))
                    return per_record(batch)

                return self.view.noisy_sum(step, counting)

        measured = dict(super().measure(Counter(view), schema))
        return measured | {"places": np.zeros(sum(rows))}


@dataclass(frozen=True, kw_only=True)
class TableChoosesItself(ThreeATable):
    """The group that departs most is taken from the rows, whatever the door has chosen."""

    name: ClassVar[str] = "table-chooses-itself"

    def measure(self, view, schema):
        class Greedy(Through):
            def noisy_choice(self, step, per_record, expected):
                far = {}

                def spying(batch):
                    codes = per_record(batch)["group"]
                    for i, of_table in expected.items():
                        counts = np.bincount(codes[:, i], minlength=len(of_table.counts))
                        far[i] = np.abs(counts - of_table.counts).sum() - of_table.offset
                    return {"group": codes}

                self.view.noisy_choice(step, spying, expected)
                return max(far, key=far.get)

        return super().measure(Greedy(view), schema)


@dataclass(frozen=True, kw_only=True)
class TableCountsOneStepExactly(ThreeATable):
    """One table without its noise: what follows from a column, or columns counted whole."""

    name: ClassVar[str] = "table-counts-one-step-exactly"
    step: str = "rules"

    def measure(self, view, schema):
        spoiled = self.step

        class Exact(Through):
            def noisy_sum(self, step, per_record):
                seen = {}

                def spying(batch):
                    rows = per_record(batch)
                    seen.update(rows)
                    return rows

                noisy = self.view.noisy_sum(step, spying)
                if step != spoiled:
                    return noisy
                return {name: Measured(exact(seen[name], len(one.values)), 1.0) for name, one in noisy.items()}

        def exact(rows, size):
            if (rows < 0).any():  # no codes
                return np.full(size, rows.sum())
            return np.bincount(rows.astype(np.int64).ravel(), minlength=size)[:size] * 1.0

        return super().measure(Exact(view), schema)


# Twins of the default for wide tables.


@dataclass(frozen=True, kw_only=True)
class MomentsKeepsVectors(Moments):
    """Some of the vectors that a map has made stay among the measurements."""

    name: ClassVar[str] = "moments-keeps-vectors"

    def measure(self, view, schema):
        seen = []

        class Spy(Through):
            def noisy_sum(self, step, per_record):
                def spying(batch):
                    blocks = per_record(batch)
                    seen.append(np.asarray(next(iter(blocks.values())), dtype=float).ravel())
                    return blocks

                return self.view.noisy_sum(step, spying)

        measured = dict(super().measure(Spy(view), schema))
        return measured | {"kept": np.resize(seen[-1], 400)}


@dataclass(frozen=True, kw_only=True)
class MomentsCentresByTheBatch(Moments):
    """What rows say of a step, about the mean of the batch: exact, and no function of a row alone."""

    name: ClassVar[str] = "moments-centres-by-the-batch"
    step: str = "mean"

    def measure(self, view, schema):
        spoiled = self.step

        class Centred(Through):
            def noisy_sum(self, step, per_record):
                def centred(batch):
                    blocks = per_record(batch)
                    return {name: x - x.mean(axis=0) if step == spoiled else x for name, x in blocks.items()}

                return self.view.noisy_sum(step, centred)

        return super().measure(Centred(view), schema)


@dataclass(frozen=True, kw_only=True)
class MomentsAsksAgain(Moments):
    """The squares twice for the price of one. Honest doors refuse it."""

    name: ClassVar[str] = "moments-asks-again"

    def measure(self, view, schema):
        class Twice(Through):
            def noisy_sum(self, step, per_record):
                if step == "squares":
                    self.view.noisy_sum(step, per_record)
                return self.view.noisy_sum(step, per_record)

        return super().measure(Twice(view), schema)


@dataclass(frozen=True, kw_only=True)
class MomentsComparesLengths(Moments):
    """Lengths in units of the longest of the batch: one row's cell follows another row."""

    name: ClassVar[str] = "moments-compares-lengths"

    def measure(self, view, schema):
        class Compared(Through):
            def noisy_sum(self, step, per_record):
                def compared(batch):
                    return {name: x - x.max() + 63 if step == "spreads" else x for name, x in per_record(batch).items()}

                return self.view.noisy_sum(step, compared)

        return super().measure(Compared(view), schema)


@dataclass(frozen=True, kw_only=True)
class MomentsKeepsEvidence(Moments):
    """What the rows themselves say of their classes stays among the measurements."""

    name: ClassVar[str] = "moments-keeps-evidence"

    def measure(self, view, schema):
        seen = []

        class Spy(Through):
            def noisy_sum(self, step, per_record):
                def spying(batch):
                    blocks = per_record(batch)
                    seen.extend(blocks[step].ravel().tolist() if step == "evidence" else [])
                    return blocks

                return self.view.noisy_sum(step, spying)

        measured = dict(super().measure(Spy(view), schema))
        return measured | {"kept": np.resize(seen, 400)}


# Twins of the default for images.


@dataclass(frozen=True, kw_only=True)
class KeepsAPicture(ThreeAImage):
    """The mean of a class is a picture of it: the raw rows that a prepared column saw."""

    name: ClassVar[str] = "keeps-a-picture"

    def measure(self, view, schema):
        seen = []

        class Spy(Through):
            def prepare(self, name, per_record):
                def spying(batch):
                    seen.append(batch[schema.images[0].name].copy())
                    return per_record(batch)

                return self.view.prepare(name, spying)

        return {**super().measure(Spy(view), schema), "pictures": np.concatenate([s.reshape(len(s), -1) for s in seen])}


@dataclass(frozen=True, kw_only=True)
class WhitensByTheRows(ThreeAImage):
    """The matrix of the teacher's inputs follows the rows of the batch: one row more turns the inputs of all."""

    name: ClassVar[str] = "whitens-by-the-rows"

    def measure(self, view, schema):
        class Turning(Through):
            def prepare(self, name, per_record):
                def turned(batch):
                    values = per_record(batch)
                    return values / np.abs(values).max(axis=0) if name == INPUTS else values

                return self.view.prepare(name, turned)

        return super().measure(Turning(view), schema)


# Persons with histories: intakes that break the row of a person, and mechanisms that look past it.


def counts_events_by_rows(monkeypatch) -> None:
    """A row for every event, each with the columns of its person: one person moves a sum by as many rows as it has."""
    honest = HistorySource.batches

    def batches(self, *, rows):
        for batch in honest(self, rows=rows):
            number = np.maximum(batch[self.schema.tables[0].count].astype(np.int64), 1)
            yield {name: np.repeat(values, number, axis=0) for name, values in batch.items()}

    monkeypatch.setattr(HistorySource, "batches", batches)


def gives_orphans_to_a_neighbour(monkeypatch) -> None:
    """Events that name nobody go to whoever comes first: who that is depends on who is there, and shows in its count."""
    honest = histories.hung

    def hung(keys, order, above, *, max_rows):
        known = histories.numbers_of(keys, histories.distinct(above)[0]) >= 0
        return honest(np.where(known[:, None], keys, above[:1]), order, above, max_rows=max_rows)

    monkeypatch.setattr(histories, "hung", hung)


def begins_windows_by_the_number(monkeypatch) -> None:
    """A window begins where the number of the person says, and that depends on who stands before it in the data."""
    honest = histories.windows
    monkeypatch.setattr(
        histories,
        "windows",
        lambda whose, order, again, starts, *, max_rows: honest(
            whose, order, again, np.arange(len(starts), dtype=np.uint64), max_rows=max_rows
        ),
    )


@dataclass(frozen=True, kw_only=True)
class KeepsTheOrderOfTheData(ThreeATables):
    """Keys of the release say in which order the persons lay in the data."""

    name: ClassVar[str] = "keeps-the-order-of-the-data"

    def measure(self, view, schema):
        seen = []

        class Spy(Through):
            def noisy_sum(self, step, per_record):
                def spying(batch):
                    seen.append(np.argsort(batch["visits.#"], kind="stable"))
                    return per_record(batch)

                return self.view.noisy_sum(step, spying)

        measured = dict(super().measure(Spy(view), schema))
        return measured | {"order": np.resize(seen[-1], 400)}


@dataclass(frozen=True, kw_only=True)
class ShowsTheLongestHistory(ThreeATables):
    """Children that leak through the parent's count: the release says how many events the person with the most has."""

    name: ClassVar[str] = "shows-the-longest-history"

    def measure(self, view, schema):
        seen = []

        class Spy(Through):
            def noisy_sum(self, step, per_record):
                def spying(batch):
                    seen.append(float(batch["visits.#"].sum()))
                    return per_record(batch)

                return self.view.noisy_sum(step, spying)

        measured = dict(super().measure(Spy(view), schema))
        return measured | {"longest": np.array([max(seen)])}
