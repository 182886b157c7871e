"""The door noisy_votes: a unit has one teacher, a teacher one vote on each query, and nothing else comes out."""

import json
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import schemas
import sfumato as sf
import twins
import voting
from sfumato import Budget, PrivacyUnit
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.rows import made_up, read
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, PlanError
from sfumato.extending import Dense, NoiseSource, Poisson, Step, Votes, register
from sfumato.private.doors import votes
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.view import View
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.plan import make_plan
from sfumato.public.plan.step import step_from_json
from sfumato.verification.answer_checks import _answered, _unplanned
from sfumato.verification.noise_checks import implausible_noise

BUDGET = Budget(epsilon=1.0, delta=1e-6)
QUERIES = np.linspace(18, 90, 7)
SIDES = voting.Sides()


def step_of(*, teachers=20, queries=7, classes=2, **settings):
    block = Votes(name="votes", teachers=teachers, queries=queries, classes=classes)
    return Step(name="sides", blocks=(block,), **settings)


def view_of(step=None, *, schema=schemas.TABLE, rows=300, primitives=twins.Silent):
    plan = make_plan((step or step_of(),), budget=BUDGET, unit=schema.unit, rows=300)
    data = read(made_up(schema, n_rows=rows, seed=1), schema)
    return View(data, plan=plan, primitives=primitives(NoiseSource(research_seed=1)), schema=schema)


def counts(train, step=None, **settings):
    found = view_of(step, **settings).noisy_votes("sides", train, QUERIES)["votes"].values
    return found.reshape(7, -1)


def above(batch):
    mean = batch["age"].mean()
    return lambda queries: (queries > mean).astype(np.int64)


# Who learns from whom.


def parts_seen(schema, **settings):
    seen = []

    def spying(batch):
        seen.append(batch["pressure"].copy())
        return lambda queries: np.zeros(len(queries), dtype=np.int64)

    counts(spying, schema=schema, **settings)
    return seen[3:]  # after the public ones


def test_every_row_has_one_teacher() -> None:
    seen = parts_seen(schemas.TABLE)
    assert len(seen) == 20
    rows = made_up(schemas.TABLE, n_rows=300, seed=1)["pressure"].astype(float)
    assert np.sort(np.concatenate(seen)) == pytest.approx(np.sort(rows), nan_ok=True)
    assert min(len(part) for part in seen) < max(len(part) for part in seen)  # dice, and no dealing out


def test_all_rows_of_a_person_have_one_teacher() -> None:
    raw = made_up(schemas.PERSONS, n_rows=300, seed=1)
    raw["pressure"] = np.unique(raw["patient"], return_inverse=True)[1] / 2 + 60.0
    plan = make_plan((step_of(),), budget=BUDGET, unit=schemas.PERSONS.unit, rows=300)
    view = View(
        read(raw, schemas.PERSONS),
        plan=plan,
        primitives=Primitives(NoiseSource(research_seed=1)),
        schema=schemas.PERSONS,
    )
    seen = []

    def spying(batch):
        seen.append(set(batch["pressure"].tolist()))
        return lambda queries: np.zeros(len(queries), dtype=np.int64)

    view.noisy_votes("sides", spying, QUERIES)
    persons = [person for part in seen[3:] for person in part]
    assert len(persons) == len(set(persons)) == 100


def test_no_teacher_is_made_of_no_rows() -> None:
    assert all(len(part) for part in parts_seen(schemas.TABLE, step=step_of(teachers=1000)))
    assert not counts(above, rows=0).any()


# What comes out.


def test_votes_are_counted() -> None:
    found = counts(above)
    assert (found.sum(axis=1) == 20).all()
    assert found[0].tolist() == [20, 0]
    assert found[-1].tolist() == [0, 20]


@pytest.mark.parametrize("answer", [2, -1])
def test_a_vote_for_no_class_counts_nowhere(answer) -> None:
    assert not counts(lambda batch: lambda queries: np.full(len(queries), answer)).any()


def test_a_teacher_that_stumbles_over_private_rows_has_no_vote() -> None:
    public = 256

    def stumbling(batch):
        if len(batch["age"]) < public:
            raise ValueError(batch["age"])
        return lambda queries: np.zeros(len(queries), dtype=np.int64)

    assert not counts(stumbling).any()


@pytest.mark.parametrize("answer", [np.zeros(7), np.zeros((7, 1), dtype=np.int64), np.zeros(6, dtype=np.int64)])
def test_what_is_no_vote_is_refused_on_public_rows(answer) -> None:
    with pytest.raises(ContractError, match="one class for each query"):
        counts(lambda batch: lambda queries: answer)


def test_training_cannot_tell_private_rows_by_their_type() -> None:
    seen = []

    def telling(batch):
        column = batch["age"]
        seen.append((type(batch), list(batch), type(column), column.dtype, column.flags.writeable, column.base is None))
        return above(batch)

    counts(telling)
    assert len(seen) > 3  # three times on public rows, then on private ones
    assert len({repr(kind) for kind in seen}) == 1


def test_training_that_needs_a_dict_is_refused_on_public_rows() -> None:
    """On private rows alone it would stumble in silence, and no teacher would vote."""
    with pytest.raises(AttributeError):
        counts(lambda batch: above(batch.copy()))


def test_training_that_remembers_is_refused_before_a_row_is_read() -> None:
    seen = []

    def remembering(batch):
        seen.append(1)
        return lambda queries: np.full(len(queries), len(seen) % 2)

    def drawing(batch):
        return lambda queries: np.random.randint(1 << 30, size=len(queries))  # noqa: NPY002 - never twice the same

    counts(remembering)  # whoever counts by two is found by the contract suite alone
    for train in (drawing, lambda batch: seen.append(1) or (lambda queries: np.full(len(queries), len(seen)))):
        with pytest.raises(ContractError, match="another teacher when it is asked again"):
            counts(train)


def test_a_teacher_cannot_write_to_the_next() -> None:
    def writing(batch):
        def teacher(queries):
            queries[0] = 0
            return np.zeros(len(queries), dtype=np.int64)

        return teacher

    with pytest.raises(ValueError, match="read-only"):
        counts(writing)


def test_noise_has_the_planned_scale() -> None:
    step = step_of(teachers=10, queries=7, uses=200)
    view = view_of(step, rows=20, primitives=Primitives)
    found = [view.noisy_votes("sides", above, QUERIES)["votes"] for _ in range(200)]
    values = np.stack([one.values for one in found])
    assert (values - values.mean(axis=0)).std() == pytest.approx(found[0].stddev, rel=0.1)
    assert len(np.unique(values)) > 0.99 * values.size  # the grid is coarse here


def test_it_is_charged_and_keeps_to_its_steps() -> None:
    view = view_of()
    view.noisy_votes("sides", above, QUERIES)
    with pytest.raises(PlanError, match="planned for 1 uses"):
        view.noisy_votes("sides", above, QUERIES)
    with pytest.raises(PlanError, match="plans 7 queries, and 6"):
        view_of().noisy_votes("sides", above, QUERIES[:6])
    with pytest.raises(PlanError, match="Use the door noisy_votes"):
        view_of().noisy_sum("sides", lambda batch: {"votes": batch["age"]})
    sums = Step(name="sides", blocks=(Dense(name="x", width=1, l2_bound=1.0),))
    with pytest.raises(PlanError, match="noisy_sum"):
        view_of(sums).noisy_votes("sides", above, QUERIES)


# What it costs.


@pytest.mark.parametrize(
    "unit",
    [
        PrivacyUnit(),
        PrivacyUnit(relation="replace_one"),
        PrivacyUnit(person="patient", max_rows=5),
        PrivacyUnit(relation="replace_one", person="patient", max_rows=5),
    ],
)
def test_a_unit_costs_one_vote_on_each_query_whoever_it_is(unit) -> None:
    plan = make_plan((step_of(uses=3),), budget=BUDGET, unit=unit, rows=300)
    moved = math.sqrt(2 * 7) / plan.noise_stddev("sides", "votes")  # one vote from one class to another, seven times
    accounted = 1 / plan.event.event.noise_multiplier
    assert 0.999 * accounted < moved <= accounted * (1 + 1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: step_of(teachers=0), "a teacher, a query and two classes"),
        (lambda: step_of(classes=1), "a teacher, a query and two classes"),
        (lambda: step_of(sampling=Poisson(0.1)), "the only block of its step"),
        (lambda: step_of(person_bound=2.0), "the only block of its step|Leave out person_bound"),
        (
            lambda: Step(name="s", blocks=(*step_of().blocks, Dense(name="x", width=1, l2_bound=1.0, share=1e-12))),
            "the only block",
        ),
    ],
)
def test_what_cannot_be_voted_on_is_refused(make, message) -> None:
    with pytest.raises(PlanError, match=message):
        make()


def test_votes_that_drown_are_refused() -> None:
    with pytest.raises(PlanError, match="drown in their noise"):
        make_plan((step_of(queries=10**9, uses=1000),), budget=BUDGET, unit=PrivacyUnit(), rows=300)


def test_a_step_of_votes_survives_json() -> None:
    step = step_of(uses=2)
    assert step_from_json(json.loads(json.dumps(step.to_json()))) == step


# The contract, and its twins.


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema", [schemas.TABLE, schemas.PERSONS, schemas.REPLACE], ids=["rows", "persons", "replace"]
)
def test_a_mechanism_that_votes_keeps_the_contract(schema) -> None:
    check_mechanism(SIDES, schema)


def run_clause(clause, mechanism=SIDES, *, schema=schemas.TABLE, primitives=Primitives):
    (check,) = [check for check in CHECKS if check.name == clause]
    check.run(Setting(mechanism, schema, BUDGET, 300, primitives))


class DealsOut(Primitives):
    """Teachers by the places of rows, which everybody can count: one row more, and all behind it move."""

    def dice(self, step, *, key, first, n_rows, sides):
        return (first + np.arange(n_rows)) % sides


class KeyedByAConstant(Primitives):
    """Dice that are the same in every run."""

    def dice(self, step, *, key, first, n_rows, sides):
        return np.random.default_rng([1, first]).integers(sides, size=n_rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("primitives", "clause"),
    [
        (twins.Silent, "noise has the planned scale"),
        (twins.HalfNoise, "noise has the planned scale"),
        (twins.ConstantSeedNoise, "noise is drawn afresh"),
        (twins.LoadedDice, "sampling is what was accounted"),
        (DealsOut, "sampling is what was accounted"),
        (KeyedByAConstant, "sampling is what was accounted"),
    ],
)
def test_broken_doors_are_caught(primitives, clause) -> None:
    with pytest.raises(ContractError):
        run_clause(clause, primitives=primitives)


CLOSE = "neighbouring data differ by at most the bound"


def test_teachers_that_all_see_all_rows_are_caught(monkeypatch) -> None:
    honest = votes.parts

    def same_rows_for_all(rows, *, step, teachers, primitives, key):
        for _ in range(teachers):
            yield from honest(rows, step=step, teachers=1, primitives=primitives, key=key)

    monkeypatch.setattr(votes, "parts", same_rows_for_all)
    with pytest.raises(ContractError, match="moves a sum"):
        run_clause(CLOSE)


def test_half_the_sensitivity_is_caught(monkeypatch) -> None:
    monkeypatch.setattr(Votes, "l2_bound", property(lambda block: math.sqrt(block.queries / 2)))
    with pytest.raises(ContractError, match="moves a sum"):
        run_clause(CLOSE, Decided(rounds=1))


def test_rows_of_a_person_with_several_teachers_are_caught(monkeypatch) -> None:
    monkeypatch.setattr(votes.np, "unique", lambda units, **_: (units, np.arange(len(units)), np.arange(len(units))))
    with pytest.raises(ContractError, match="moves a sum"):
        run_clause(CLOSE, Decided(rounds=1), schema=schemas.PERSONS)


@register
@dataclass(frozen=True, kw_only=True)
class Decided(voting.Sides):
    """Teachers whose votes hang on a single row: whether one of their numbers lies at the upper bound."""

    name: ClassVar[str] = "sides-decided"

    def train(self, column):
        return lambda batch: lambda queries: np.full(len(queries), int((batch[column.name] == column.high).any()))


@register
@dataclass(frozen=True, kw_only=True)
class OneTeacherForAll(voting.Sides):
    """One object learns from part after part, and votes for all of them: as good as no parts."""

    name: ClassVar[str] = "sides-one-teacher"

    def train(self, column):
        kept = []

        def train(batch):
            kept.append(float(np.nanmean(batch[column.name])))
            return lambda queries: (queries > np.mean(kept)).astype(np.int64)

        return train


@register
@dataclass(frozen=True, kw_only=True)
class KeepsItsTeachers(voting.Sides):
    """Teachers leave the door in a list, and what they know is released."""

    name: ClassVar[str] = "sides-keeps-teachers"

    def measure(self, view, schema):
        kept = []

        class Spy(twins.Through):
            def noisy_votes(self, step_name, train, queries):
                return self.view.noisy_votes(
                    step_name, lambda batch: kept.append(batch["age"].sum()) or train(batch), queries
                )

        measured = super().measure(Spy(view), schema)
        return {**measured, "kept": np.array(kept)}


@register
@dataclass(frozen=True, kw_only=True)
class AsksForTheRows(voting.Sides):
    """The queries are what a map has seen: private rows, given out as if they were public."""

    name: ClassVar[str] = "sides-asks-for-rows"

    def measure(self, view, schema):
        seen = []
        view.prepare(" spy", lambda batch: seen.append(batch["age"][: self.queries]) or batch["age"])
        train = self.train(schema.columns[0])
        view.noisy_votes("sides", train, np.zeros(self.queries))
        found = view.noisy_votes("sides", train, np.array(seen[-1]))["votes"].values
        return {"votes": found}


CHEATS = [
    (OneTeacherForAll(), "differs"),
    (KeepsItsTeachers(), "measurements.* differs"),
    (AsksForTheRows(), "what comes out follows from the doors' answers"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "message"), CHEATS, ids=lambda given: getattr(given, "name", ""))
def test_cheats_are_caught(mechanism, message) -> None:
    with pytest.raises(ContractError, match=message):
        check_mechanism(mechanism, schemas.TABLE)


def test_training_that_keeps_something_is_found_on_public_rows() -> None:
    """One that the door's own try of two cannot see: it turns over at every fifth part."""

    @dataclass(frozen=True, kw_only=True)
    class LateTurner(voting.Sides):
        name: ClassVar[str] = "sides-late"

        def train(self, column):
            seen = []

            def train(batch):
                seen.append(1)
                return lambda queries: np.full(len(queries), int(len(seen) % 5 == 0))

            return train

    with pytest.raises(ContractError, match="gives a part another value"):
        run_clause("maps act on each row alone", LateTurner())


# What a release holds of it.


def test_a_release_verifies_and_a_forged_one_does_not(tmp_path) -> None:
    schema = replace(schemas.TABLE, rows=2_000)
    data = read(made_up(schema, n_rows=2_000, seed=2), schema)
    mechanism = voting.Sides(queries=400)
    fitted = sf.fit(mechanism, data, BUDGET)
    sf.release(fitted, to=tmp_path / "release")
    assert sf.verify(tmp_path / "release", rebuild=True).ok
    honest = fitted.answers.integers
    short = Answers({**honest, "sides/0/votes": honest["sides/0/votes"][:-1]})
    assert any("another shape" in said for said in _unplanned(short, [fitted.plan]))
    assert not implausible_noise(_answered(fitted.answers, fitted.plan))
    unit = int(fitted.plan.units_per_one("sides", "votes"))
    exact = Answers({key: np.round(values / unit).astype(np.int64) * unit for key, values in honest.items()})
    assert implausible_noise(_answered(exact, fitted.plan))
