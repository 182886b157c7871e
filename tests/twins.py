"""Broken twins: doors and mechanisms that each break one clause of the contract, and must be caught at it."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato import IndependentHistograms, ThreeAImage, ThreeATable
from sfumato.private.kernel.view import View


class HalfNoise(View):
    def _noise(self, shape):
        return super()._noise(shape) // 2


class EighthNoise(View):
    def _noise(self, shape):
        return super()._noise(shape) // 8


class TooMuchNoise(View):
    """Not a leak, but a plan that is not kept."""

    def _noise(self, shape):
        return super()._noise(shape) * 2


class SameNoiseInEveryRow(View):
    def _noise(self, shape):
        return np.broadcast_to(super()._noise(shape[-1:]), shape)


class ConstantSeedNoise(View):
    def _noise(self, shape):
        return (np.random.default_rng(0).normal(size=shape) * 2**20).astype(np.int64)


class NoClip(View):
    def _clip(self, values, *, block, noise_multiplier):
        from sfumato.public import grid

        units = grid.units_per_one(block, noise_multiplier=noise_multiplier)
        return np.trunc(np.nan_to_num(values, posinf=1e3, neginf=-1e3) * units).astype(np.int32)


class NoCharge(View):
    def _charge(self, step_name):
        step = super()._charge(step_name)
        self._View__used[step_name] = 0
        return step


class SameCoinsForEveryMixture(View):
    """The class-wise generator as published: one subset, noised again and again."""

    def _members_by_row(self, step):
        members = super()._members_by_row(step)

        def repeated(first, n_rows):
            rows, mixtures = members(first, n_rows)
            chosen = np.unique(rows[mixtures == 0])
            return np.repeat(chosen, step.mixtures), np.tile(np.arange(step.mixtures), chosen.size)

        return repeated


class ShuffledBatches(View):
    """Every row once per epoch in batches of a fixed size, accounted as coins."""

    def _coins(self, n_coins, rate):
        n_mixtures = 60
        n_rows = n_coins // n_mixtures
        order = np.random.default_rng(n_coins).permutation(n_rows)
        size = max(1, round(n_rows * rate))
        return np.sort(
            np.concatenate([order[(np.arange(size) + m * size) % n_rows] * n_mixtures + m for m in range(n_mixtures)])
        )


class TwiceTheRate(View):
    def _coins(self, n_coins, rate):
        return super()._coins(n_coins, min(1.0, 2 * rate))


class SubsetsOfTheFirstRows(View):
    def _subsets(self, n_mixtures, degree, population):
        return super()._subsets(n_mixtures, degree, max(degree, population // 2))


# Mechanisms that misuse honest doors.


@dataclass(frozen=True, kw_only=True)
class KeepsRows(IndependentHistograms):
    """Raw data in the model: what the per_record map sees is stashed away."""

    name: ClassVar[str] = "keeps-rows"

    def measure(self, view, schema):
        stash = []

        class Spy:
            def noisy_sum(self, step, per_record):
                def spying(batch):
                    stash.append({name: values.copy() for name, values in batch.items()})
                    return per_record(batch)

                return view.noisy_sum(step, spying)

        measured = dict(super().measure(Spy(), schema))
        measured["memory"] = np.concatenate([batch[schema.columns[1].name] for batch in stash[-1:]])
        measured["memory"] = np.resize(np.nan_to_num(measured["memory"]), 400)
        return measured


@dataclass(frozen=True, kw_only=True)
class MixesRows(IndependentHistograms):
    """Ranks instead of values: every row's code depends on all the others in its batch."""

    name: ClassVar[str] = "mixes-rows"

    def measure(self, view, schema):
        class Ranker:
            def noisy_sum(self, step, per_record):
                def ranked(batch):
                    rank = np.argsort(np.argsort(batch["age"])).astype(float)
                    return per_record({**batch, "age": 18 + 72 * rank / max(1, len(rank) - 1)})

                return view.noisy_sum(step, ranked)

        return super().measure(Ranker(), schema)


@dataclass(frozen=True, kw_only=True)
class ShapeTellsSize(IndependentHistograms):
    """One number for every row that was read."""

    name: ClassVar[str] = "shape-tells-size"

    def measure(self, view, schema):
        seen = []

        class Counter:
            def noisy_sum(self, step, per_record):
                def counting(batch):
                    seen.append(len(batch["age"]))
                    return per_record(batch)

                return view.noisy_sum(step, counting)

        measured = dict(super().measure(Counter(), schema))
        measured["sizes"] = np.zeros(1 + sum(seen))
        return measured


@dataclass(frozen=True, kw_only=True)
class StumblesOverRows(IndependentHistograms):
    """Lets what is missing through as it is."""

    name: ClassVar[str] = "stumbles"

    def measure(self, view, schema):
        worst = [0.0]

        class Peek:
            def noisy_sum(self, step, per_record):
                def peeking(batch):
                    worst[0] = float(np.min(batch["pressure"] - 100)) if len(batch["pressure"]) else 0.0
                    return per_record(batch)

                return view.noisy_sum(step, peeking)

        measured = dict(super().measure(Peek(), schema))
        measured["worst"] = np.array([worst[0]])
        return measured


@dataclass(frozen=True, kw_only=True)
class StepsFollowData(IndependentHistograms):
    name: ClassVar[str] = "steps-follow-data"
    seen: ClassVar[list] = []

    def steps(self, schema):
        steps = super().steps(schema)
        from dataclasses import replace

        return tuple(replace(step, share=1.0 + len(self.seen)) for step in steps)

    def measure(self, view, schema):
        measured = super().measure(view, schema)
        self.seen.append(1)
        return measured


@dataclass(frozen=True, kw_only=True)
class UsesNoDoor(IndependentHistograms):
    name: ClassVar[str] = "uses-no-door"

    def measure(self, view, schema):
        width = self.steps(schema)[0].blocks[0].width
        return {"counts": np.ones((2, width // 2))}


@dataclass
class NotFrozen:
    name: ClassVar[str] = "not-frozen"
    bins: int = 32

    def steps(self, schema):
        return IndependentHistograms(bins=self.bins).steps(schema)

    def measure(self, view, schema):
        return IndependentHistograms(bins=self.bins).measure(view, schema)

    def build(self, measurements, schema, *, seed):
        return IndependentHistograms(bins=self.bins).build(measurements, schema, seed=seed)


@dataclass(frozen=True, kw_only=True)
class UnseededModel(IndependentHistograms):
    """Rows that nobody can make again, so nobody can check where they come from."""

    name: ClassVar[str] = "unseeded-model"

    def build(self, measurements, schema, *, seed):
        jitter = np.random.default_rng().uniform(0.5, 1.5, size=measurements["counts"].shape)
        return super().build({"counts": measurements["counts"] * jitter}, schema, seed=seed)


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
                return {name: (first[name] + second[name]) / 2 for name in first}

        return super().measure(Twice(view), schema)


@dataclass(frozen=True, kw_only=True)
class TableBinsByRank(ThreeATable):
    """Bins that are exactly full, because they look at all rows of the batch."""

    name: ClassVar[str] = "table-bins-by-rank"

    def measure(self, view, schema):
        class Ranker(Through):
            def noisy_sum(self, step, per_record):
                def ranked(batch):
                    rank = np.argsort(np.argsort(batch["age"])).astype(float)
                    return per_record({**batch, "age": 18 + 72 * rank / max(1, len(rank) - 1)})

                return self.view.noisy_sum(step, ranked)

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


# Twins of the default for images.


class NoClipOfProducts(View):
    """Products of vectors as they come, for doors that clip them inside of their sum."""

    def _add_rows(self, private_sums, rows, *, step):
        from sfumato.private.kernel.clip import FINE_NORM

        for block in step.blocks:
            if block.outer:
                values = np.nan_to_num(rows[block.name].astype(float), posinf=1e3, neginf=-1e3)
                u, v = values[:, : block.outer[0]], values[:, block.outer[0] : sum(block.outer)]
                products = np.zeros((block.groups, *block.outer))
                np.add.at(
                    products,
                    values[:, -1].astype(int) if block.groups > 1 else np.zeros(len(u), dtype=int),
                    3 * u[:, :, None] * v[:, None, :],
                )
                private_sums[block.name] += (products.ravel() * FINE_NORM**2 / block.l2_bound).astype(np.int64)
            else:
                super()._add_rows(private_sums, {block.name: rows[block.name]}, step=replace(step, blocks=(block,)))


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
