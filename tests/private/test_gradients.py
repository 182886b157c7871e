"""The door noisy_gradients: gradients of one example each, clipped, counted and noised like any other sum."""

import math
import random
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
from attack import epsilon_lower_bound
from sfumato import Budget, Column, Schema, Sensitive, Synthetic
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.rows import made_up, read
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, PlanError
from sfumato.extending import Dense, Everyone, Hot, Outer, Poisson, SecretBins, Step, register
from sfumato.model import FixedModel
from sfumato.private.doors import gradients as inside
from sfumato.private.doors.program import Program
from sfumato.private.kernel.clip import clip_tensor_to_grid, clip_to_grid
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.view import View
from sfumato.public.plan.grid import norm_in_units
from sfumato.public.plan.plan import make_plan

torch = pytest.importorskip("torch", reason="torch is not installed: tests of gradients are skipped")

SCHEMA = replace(schemas.IMAGES, rows=200)
WIDTH = 3 * 36 + 3
RATE = 0.2


def step(*, clip: float = 1.0, uses: int = 1, sampling=None, width: int = WIDTH) -> Step:
    block = Dense(name="gradient", width=width, l2_bound=clip)
    return Step(name="gradients", blocks=(block,), uses=uses, sampling=sampling or Poisson(RATE))


def parameters(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"weight": rng.normal(size=(3, 36)).astype(np.float32), "bias": rng.normal(size=3).astype(np.float32)}


def loss(parameters, example):
    """Softmax regression on pixels."""
    scores = parameters["weight"] @ example["image"].reshape(-1) + parameters["bias"]
    return torch.nn.functional.cross_entropy(scores, example["label"])


def per_record(batch):
    """The same gradients by hand."""
    at, pixels = parameters(), batch["image"].reshape(-1, 36)
    scores = torch.from_numpy(pixels @ at["weight"].T + at["bias"])
    error = torch.softmax(scores, dim=1).numpy() - np.eye(3, dtype=np.float32)[batch["label"]]
    return {"gradient": np.concatenate([(error[:, :, None] * pixels[:, None]).reshape(-1, 108), error], axis=1)}


class Silent(Primitives):
    """Doors without noise: for arithmetic only."""

    def noise(self, shape):
        return np.zeros(shape, dtype=np.int64)


def open_view(raw, *steps: Step, primitives: type[Primitives] = Silent, schema: Schema = SCHEMA, seed: int = 1):
    plan = make_plan(steps, budget=Budget(epsilon=1.0, delta=1e-6), unit=schema.unit, rows=schema.rows)
    made_of = primitives(NoiseSource(research_seed=seed))
    return View(read(raw, schema), plan=plan, primitives=made_of, schema=schema), plan


def rows(n_rows: int = 200, seed: int = 3):
    return made_up(SCHEMA, n_rows=n_rows, seed=seed)


def flat(noisy) -> np.ndarray:
    return np.concatenate([noisy["weight"].values.ravel(), noisy["bias"].values])


class TestSums:
    @pytest.mark.slow
    @pytest.mark.parametrize("clip", [0.5, 100.0])
    @pytest.mark.parametrize("sampling", [Poisson(RATE), Everyone()])
    def test_they_are_those_of_noisy_sum(self, clip: float, sampling) -> None:
        planned = step(clip=clip, sampling=sampling)
        (ours, plan), (other, _) = (open_view(rows(), planned) for _ in range(2))
        found = flat(ours.noisy_gradients("gradients", loss, parameters()))
        expected = other.noisy_sum("gradients", per_record)["gradient"].values
        unit = 1 / plan.units_per_one("gradients", "gradient")
        assert np.abs(expected).max() > 1000 * unit
        # float32 gradients: 200 rows, each with a relative error of 1e-6 and a unit of truncation
        assert np.allclose(found, expected, rtol=0, atol=200 * (unit + 1e-6 * min(clip, 10)))

    def test_they_come_on_the_grid_in_the_shapes_of_the_parameters(self) -> None:
        view, plan = open_view(rows(0), step(), primitives=Primitives)
        noisy = view.noisy_gradients("gradients", loss, parameters())  # nothing but noise
        assert {name: measured.values.shape for name, measured in noisy.items()} == {"weight": (3, 36), "bias": (3,)}
        units = flat(noisy) * plan.units_per_one("gradients", "gradient")
        assert np.allclose(units, np.round(units), rtol=0, atol=1e-4)
        assert units.std() == pytest.approx(2**20, rel=0.5)

    def test_the_microbatch_does_not_matter(self) -> None:
        found = []
        for microbatch in (1, 7, 64, None):
            view, plan = open_view(rows(), step())
            found.append(
                flat(view.noisy_gradients("gradients", loss, parameters(), device="cpu", microbatch=microbatch))
            )
        unit = 1 / plan.units_per_one("gradients", "gradient")
        assert all(np.allclose(found[0], other, rtol=0, atol=60 * (unit + 1e-6)) for other in found[1:])

    @pytest.mark.parametrize("n_rows", [0, 1])
    def test_no_rows_are_like_any_number_of_them(self, n_rows: int) -> None:
        view, _ = open_view(rows(n_rows), step())
        assert np.abs(flat(view.noisy_gradients("gradients", loss, parameters()))).max() <= n_rows

    def test_every_step_draws_anew_and_follows_the_parameters(self) -> None:
        view, _ = open_view(rows(), step(uses=3))
        one, two = (flat(view.noisy_gradients("gradients", loss, parameters())) for _ in range(2))
        assert not np.allclose(one, two, atol=0.1)
        three = flat(view.noisy_gradients("gradients", loss, parameters(9)))
        assert not np.allclose(two, three, atol=0.1)
        with pytest.raises(PlanError, match="planned for 3 uses"):
            view.noisy_gradients("gradients", loss, parameters())

    def test_prepared_columns_are_there(self) -> None:
        view, _ = open_view(rows(), step(width=2))
        view.prepare("bright", lambda batch: batch["image"].mean(axis=(1, 2)))
        noisy = view.noisy_gradients("gradients", lambda p, e: (p["w"] * e["bright"]).sum(), {"w": torch.ones(2)})
        assert 10 < noisy["w"].values[0] < 30  # 200 rows, a fifth of them, at brightness 1/2


class TestClip:
    @given(
        values=st.lists(
            st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=3, max_size=3), min_size=1, max_size=6
        ),
        bound=st.floats(1e-3, 1e6),
        share=st.floats(0.01, 1.0),
        noise=st.floats(2.0**-8, 1e4),
    )
    def test_integers_are_those_of_the_other_doors(self, values, bound, share, noise) -> None:
        block = Dense(name="gradient", width=3, l2_bound=bound, share=share)
        gradients = np.array(values)
        integers = clip_tensor_to_grid(torch.from_numpy(gradients), block=block, noise_multiplier=noise).numpy()
        finite = np.where(np.isfinite(gradients).all(axis=1, keepdims=True), gradients, 0.0)
        assert np.abs(integers - clip_to_grid(finite, block=block, noise_multiplier=noise)).max() <= 1
        limit = share * norm_in_units(noise) ** 2
        assert all(sum(int(v) ** 2 for v in row) <= limit for row in integers)

    def test_the_check_in_integers_holds_where_floats_break_down(self) -> None:
        """Squares that vanish hide a norm: the scale is then far too large, and only the last check is left."""
        with pytest.raises(PlanError, match="between 1e-100 and 1e100"):
            Dense(name="gradient", width=4, l2_bound=1e-250)
        block = Dense(name="gradient", width=4, l2_bound=1.0)
        object.__setattr__(block, "l2_bound", 1e-250)  # a plan cannot say this; the last check must hold all the same
        integers = clip_tensor_to_grid(torch.full((1, 4), 1e-200, dtype=torch.float64), block=block, noise_multiplier=1)
        assert not integers.any()

    def test_a_row_that_is_not_finite_counts_nothing_and_leaves_the_others_alone(self) -> None:
        def cracked(p, e):
            return torch.sqrt(e["image"].reshape(-1)[0] - 0.5) * p["w"].sum()

        raw = rows(40)
        raw["image"][:, 0, 0] = 0.75
        raw["image"][7, 0, 0] = 0.25  # the root of a negative number
        view, _ = open_view(raw, step(width=1, sampling=Everyone()))
        noisy = view.noisy_gradients("gradients", cracked, {"w": torch.ones(1)}, microbatch=16)
        assert noisy["w"].values[0] == pytest.approx(39 * 0.5, rel=1e-4)

    def test_a_row_that_makes_the_loss_fail_counts_nothing_and_leaves_the_others_alone(self) -> None:
        def factor(p, e):
            pixel = e["image"].reshape(-1)[0]
            return torch.linalg.cholesky((pixel - 1e-3) * torch.eye(2))[0, 0] * p["w"].sum()

        raw = rows(40)
        raw["image"][:, 0, 0] = 0.501 ** np.ones(40)
        raw["image"][[7, 20], 0, 0] = 0.0  # not positive definite: torch raises an error over the whole batch
        view, _ = open_view(raw, step(width=1, sampling=Everyone()))
        noisy = view.noisy_gradients("gradients", factor, {"w": torch.ones(1)}, microbatch=16)
        assert noisy["w"].values[0] == pytest.approx(38 * math.sqrt(0.5), rel=1e-3)


class TestMemory:
    def scarce(self, monkeypatch, room: int, error=None) -> list[int]:
        """A device that holds only so many rows."""
        whole, seen = inside.GradientSum._integers, []

        def integers(self, rows):
            seen.append(inside.n_rows_of(rows))
            if seen[-1] > room:
                raise error or torch.OutOfMemoryError("CUDA out of memory")
            return whole(self, rows)

        monkeypatch.setattr(inside.GradientSum, "_integers", integers)
        return seen

    @pytest.mark.parametrize(
        "error", [None, MemoryError(), RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")]
    )
    def test_too_little_of_it_halves_the_microbatch_and_loses_no_row(self, monkeypatch, error) -> None:
        view, _ = open_view(rows(), step())
        expected = flat(view.noisy_gradients("gradients", loss, parameters(), microbatch=4))
        self.scarce(monkeypatch, 4, error)
        view, _ = open_view(rows(), step())
        assert np.array_equal(flat(view.noisy_gradients("gradients", loss, parameters(), microbatch=32)), expected)

    def test_a_machine_that_runs_out_in_the_middle_of_the_rows_is_told_of_in_the_same_words_always(
        self, monkeypatch
    ) -> None:
        whole, calls = inside.GradientSum._integers, []

        def integers(self, rows):
            calls.append(inside.n_rows_of(rows))
            if len(calls) > 3:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return whole(self, rows)

        monkeypatch.setattr(inside.GradientSum, "_integers", integers)
        view, _ = open_view(rows(), step(sampling=Everyone()))
        with pytest.raises(ContractError, match="memory ran out"):
            view.noisy_gradients("gradients", loss, parameters(), microbatch=32)

    def test_what_never_fits_is_refused_before_a_private_row_is_read(self, monkeypatch) -> None:
        seen = self.scarce(monkeypatch, 0)
        view, _ = open_view(rows(), step())
        with pytest.raises(PlanError, match="a single row does not fit into the memory of cpu"):
            view.noisy_gradients("gradients", loss, parameters(), microbatch=16)
        assert seen == [16, 8, 4, 2, 1]  # public rows, in smaller and smaller microbatches

    def test_every_microbatch_has_the_same_shape(self, monkeypatch) -> None:
        seen = self.scarce(monkeypatch, 1000)
        for n_rows in (0, 1, 33, 200):
            view, _ = open_view(rows(n_rows), step())
            view.noisy_gradients("gradients", loss, parameters(), microbatch=16)
        assert set(seen) == {16}


class TestRefusals:
    @pytest.mark.parametrize(
        "planned",
        [
            step(sampling=SecretBins()),
            Step(name="gradients", blocks=(Hot(name="a", width=WIDTH),)),
            Step(name="gradients", blocks=(Dense(name="a", width=WIDTH, nonnegative=True, l2_bound=1.0),)),
            Step(name="gradients", blocks=(Outer(name="a", shape=(1, WIDTH), l2_bound=1.0),)),
            Step(
                name="gradients",
                blocks=tuple(Dense(name=n, width=WIDTH, l2_bound=1.0, share=0.5) for n in "ab"),
            ),
            replace(step(), mixtures=2),
            step(width=WIDTH + 1),
        ],
    )
    def test_a_step_that_is_planned_otherwise(self, planned: Step) -> None:
        view, _ = open_view(rows(), planned)
        with pytest.raises(PlanError):
            view.noisy_gradients("gradients", loss, parameters())

    def test_a_microbatch_of_no_rows_and_parameters_of_two_types(self) -> None:
        view, _ = open_view(rows(), step(uses=2))
        with pytest.raises(PlanError, match="at least 1"):
            view.noisy_gradients("gradients", loss, parameters(), microbatch=0)
        with pytest.raises(PlanError, match="same floating-point type"):
            view.noisy_gradients("gradients", loss, {**parameters(), "bias": np.zeros(3)})

    @pytest.mark.parametrize("layer", [torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(36)])
    def test_layers_with_randomness_or_state(self, layer) -> None:
        def shaky(p, e):
            return (p["w"] * layer(e["image"].reshape(1, -1).repeat(2, 1)).sum()).sum()

        view, _ = open_view(rows(), step(width=1))
        with pytest.raises(ContractError, match="one example at a time"):
            view.noisy_gradients("gradients", shaky, {"w": torch.ones(1)})

    def test_errors_of_shape_show_before_a_private_row_is_read(self) -> None:
        class Untouchable:
            def chunks(self, names, *, rows):
                raise AssertionError("a private row was read")

        planned = step()
        plan = make_plan((planned,), budget=Budget(epsilon=1.0, delta=1e-6), unit=SCHEMA.unit, rows=SCHEMA.rows)
        data = Sensitive(Untouchable(), schema=SCHEMA)
        view = View(data, plan=plan, primitives=Primitives(NoiseSource()), schema=SCHEMA)
        with pytest.raises(ContractError, match=r"size mismatch|shape"):
            view.noisy_gradients("gradients", loss, {"weight": torch.ones(3, 35), "bias": torch.ones(6)})

    def test_an_error_of_the_loss_after_the_private_rows_is_not_passed_on(self) -> None:
        """A loss that works while it is tried and then never again: the message of its error stays inside."""
        calls = []

        def breaking(p, e):
            calls.append(1)
            if len(calls) > 2:
                raise RuntimeError("secret")
            return p["w"].sum() * e["image"].mean()

        view, _ = open_view(rows(), step(width=1, uses=2))
        view.noisy_gradients("gradients", breaking, {"w": torch.ones(1)})
        with pytest.raises(ContractError, match="withheld") as refusal:
            view.noisy_gradients("gradients", breaking, {"w": torch.ones(1)})
        assert "secret" not in str(refusal.value)
        assert refusal.value.__context__ is None
        assert refusal.value.__cause__ is None

    @pytest.mark.parametrize("ending", [SystemExit("secret"), KeyError("secret")])
    def test_a_loss_that_ends_the_program_after_the_private_rows_is_told_nothing_of_either(self, ending) -> None:
        calls = []

        def leaving(p, e):
            calls.append(1)
            if len(calls) > 2:
                raise ending
            return p["w"].sum() * e["image"].mean()

        view, _ = open_view(rows(), step(width=1, uses=2))
        view.noisy_gradients("gradients", leaving, {"w": torch.ones(1)})
        with pytest.raises(ContractError, match="withheld") as refusal:
            view.noisy_gradients("gradients", leaving, {"w": torch.ones(1)})
        assert refusal.value.__context__ is refusal.value.__cause__ is None

    def test_after_a_refusal_the_next_sum_is_taken_at_its_own_parameters(self) -> None:
        """A loss that differs when it is asked the third time only: the parameters of the try are not left behind."""
        calls = []

        def slipping(p, e):
            calls.append(1)
            return (p["w"] ** 2).sum() * e["image"].mean() * (2 if len(calls) == 3 else 1)

        view, _ = open_view(rows(), step(width=1, uses=3))
        at_one = view.noisy_gradients("gradients", slipping, {"w": torch.ones(1)})["w"].values
        with pytest.raises(ContractError, match="asked again") as refusal:
            view.noisy_gradients("gradients", slipping, {"w": torch.ones(1)})
        assert refusal.value.__context__ is refusal.value.__cause__ is None
        at_zero = view.noisy_gradients("gradients", slipping, {"w": torch.zeros(1)})["w"].values
        assert abs(at_zero).max() < abs(at_one).max() / 100

    @pytest.mark.slow
    def test_torch_is_imported_only_when_it_is_needed(self) -> None:
        code = "import sys, sfumato; assert 'torch' not in sys.modules"
        assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0

    def test_without_torch_the_door_says_how_to_get_it(self, monkeypatch) -> None:
        view, _ = open_view(rows(), step())
        monkeypatch.setattr("sfumato.public.machine.torch_extra.importlib.util.find_spec", lambda name: None)
        with pytest.raises(PlanError, match=r"pip install 'sfumato\[deep\]'"):
            view.noisy_gradients("gradients", loss, parameters())


CALLS, CLOCK = [], iter(range(10**9))


def drifts(p, e):
    """Scaled by a slow function of how often it was called: 0.01 % a call."""
    CALLS.append(1)
    return p["w"].sum() * e["image"].mean() * (1 + 1e-4 * len(CALLS))


def drifts_in_a_default(p, e, calls=[0]):  # noqa: B006 - that is the point
    calls[0] += 1
    return p["w"].sum() * e["image"].mean() * (1 + 1e-6 * calls[0])


def reads_a_clock(p, e):
    return p["w"].sum() * e["image"].mean() * (1 + 1e-6 * next(CLOCK))


def draws_from_numpy(p, e):
    return p["w"].sum() * e["image"].mean() * (1 + 1e-4 * np.random.default_rng().random())


def draws_from_python(p, e):
    return p["w"].sum() * e["image"].mean() * (1 + 1e-4 * random.SystemRandom().random())


class CountsInAModule(torch.nn.Module):
    calls = 0

    def __call__(self, p, e):
        self.calls += 1
        return p["w"].sum() * e["image"].mean() * (1 + 1e-6 * self.calls)


class HasAHook(torch.nn.Module):
    """A hook of a module that counts."""

    def __init__(self):
        super().__init__()
        self.inner, self.calls = torch.nn.Identity(), 0
        self.inner.register_forward_hook(self.counted)

    def counted(self, module, given, found):
        self.calls += 1
        return found * (1 + 1e-6 * self.calls)

    def __call__(self, p, e):
        return p["w"].sum() * self.inner(e["image"]).mean()


def keeps_a_sum(p, e, seen=torch.zeros(1)):  # noqa: B008 - that is the point
    seen.add_(1)
    return p["w"].sum() * e["image"].mean() * seen.sum()


def asks_for_a_value(p, e):
    return p["w"].sum() * e["image"].mean() * float(p["w"].sum())


@torch.library.custom_op("sfumato_tests::remember", mutates_args=())
def remember(x: torch.Tensor) -> torch.Tensor:
    CALLS.append(float(x.sum()))
    return x.clone()


remember.register_vmap(lambda info, dims, x: (remember(x), dims[0]))


def calls_an_operation_of_its_own(p, e):
    return p["w"].sum() * remember(e["image"]).mean()


STATEFUL = [
    *(drifts, drifts_in_a_default, reads_a_clock, draws_from_numpy, draws_from_python, CountsInAModule(), HasAHook()),
    *(keeps_a_sum, asks_for_a_value, calls_an_operation_of_its_own),
]
ONE = {"w": torch.ones(1)}


def moved_by_one_row(loss_of) -> float:
    """How far one row more moves the sum, in clips: with the coins of everyone, and no noise."""
    found = []
    for n_rows in (4096, 4097):  # a microbatch more
        raw = {name: np.repeat(values[:1], n_rows, axis=0) for name, values in rows(1).items()}
        view, _ = open_view(raw, step(width=1, clip=1.0, sampling=Everyone()))
        found.append(view.noisy_gradients("gradients", loss_of(), ONE, device="cpu", microbatch=64)["w"].values[0])
    return abs(found[1] - found[0])


class TestState:
    @pytest.mark.parametrize("stateful", STATEFUL, ids=lambda loss: getattr(loss, "__name__", type(loss).__name__))
    def test_a_loss_with_a_memory_is_refused_at_any_size(self, stateful) -> None:
        view, _ = open_view(rows(), step(width=1, clip=1000.0))
        with pytest.raises(ContractError, match=r"asked again|one example at a time"):
            view.noisy_gradients("gradients", stateful, ONE)

    def test_a_loss_that_changes_later_is_refused_after_the_pass(self) -> None:
        """The mechanism changes a number between two steps: what was written down would not follow it."""
        pull = [1.0]

        def annealed(p, e):
            return p["w"].sum() * e["image"].mean() * pull[0]

        view, _ = open_view(rows(), step(width=1, uses=3))
        view.noisy_gradients("gradients", annealed, ONE)
        pull[0] = 0.5
        with pytest.raises(ContractError, match="what changes from step to step is a parameter"):
            view.noisy_gradients("gradients", annealed, ONE)

    def test_parameters_may_be_written_into_from_step_to_step(self) -> None:
        """As an optimiser does."""
        view, _ = open_view(rows(), step(uses=5))
        at = {name: torch.from_numpy(values) for name, values in parameters().items()}
        for _ in range(5):
            noisy = view.noisy_gradients("gradients", loss, at)
            for name, values in at.items():
                values -= 0.01 * torch.from_numpy(noisy[name].values).float()

    def test_its_code_never_meets_a_private_row(self) -> None:
        """So whatever it keeps, it keeps of public rows; and a bound holds for a loss that drifts, refused or not."""
        calls = []

        def counting(p, e):
            calls.append(1)
            return p["w"].sum() * e["image"].mean()

        asked = set()
        for n_rows in (0, 1, 200):
            calls.clear()
            view, _ = open_view(rows(n_rows), step(width=1, sampling=Everyone()))
            view.noisy_gradients("gradients", counting, ONE, microbatch=16)
            asked.add(len(calls))
        assert len(asked) == 1

    def test_one_row_moves_the_sum_by_one_clip_even_if_nobody_asks_again(self, monkeypatch) -> None:
        """The twin of a door that does not look: what was written down has no memory all the same."""
        monkeypatch.setattr(inside.GradientSum, "_is_as_at_first", lambda self, gradients: True)

        def drifting():
            calls = []

            def slow(p, e):
                calls.append(1)
                return p["w"].sum() * (0.1 + 0.2 * np.sin(len(calls) / 40)) * e["image"].reshape(-1)[:1].sum().sign()

            return slow

        assert moved_by_one_row(drifting) <= 1.0

    def test_a_door_that_asks_the_code_itself_is_moved_by_more(self, monkeypatch) -> None:
        """The twin as it was: private rows go through the code, and its memory moves all rows that follow."""

        def unchanged(self):
            self._program, first = self._written_down()
            self._settled = (self._parameters, first)
            return 0.0

        monkeypatch.setattr(inside.GradientSum, "_is_as_at_first", lambda self, gradients: True)
        monkeypatch.setattr(inside.GradientSum, "_change", unchanged)
        monkeypatch.setattr(inside.Program, "__call__", lambda self, _: [torch.full((64, 1), next(CLOCK) % 99 / 99)])
        assert moved_by_one_row(lambda: lambda p, e: p["w"].sum() * e["image"].mean()) > 1.0

    def test_a_single_row_that_is_never_the_same_is_refused(self, monkeypatch) -> None:
        monkeypatch.setattr(inside.GradientSum, "_is_as_at_first", lambda self, gradients: True)
        monkeypatch.setattr(inside.GradientSum, "_change", lambda self: 1e-6)
        view, _ = open_view(rows(), step())
        with pytest.raises(ContractError, match="asked again"):
            view.noisy_gradients("gradients", loss, parameters())

    def test_a_program_that_keeps_something_is_refused_after_the_pass(self, monkeypatch) -> None:
        """What no reading of operations can see: a kernel with a memory."""
        whole, calls = inside.Program.__call__, []

        def remembering(self, inputs):
            calls.append(1)
            return [found * (1 + 1e-6 * (len(calls) > 2)) for found in whole(self, inputs)]

        monkeypatch.setattr(inside.Program, "__call__", remembering)
        view, _ = open_view(rows(), step(width=1, clip=1000.0, sampling=Everyone()))
        with pytest.raises(ContractError, match="asked again"):
            view.noisy_gradients("gradients", lambda p, e: p["w"].sum() * e["image"].mean(), ONE, microbatch=16)

    def test_constants_are_those_of_the_time_when_it_was_written_down(self) -> None:
        known = torch.ones(2)
        program = Program(lambda x: [x * known, (x + torch.tensor([1.0, 2.0])).add_(1)], [torch.ones(2)])
        known.fill_(9)
        assert all(
            (found == wanted).all()
            for found, wanted in zip(
                program([torch.full((2,), 3.0)]), [torch.full((2,), 3.0), torch.tensor([5.0, 6.0])], strict=True
            )
        )

    def test_memory_that_nobody_wrote_to_holds_no_rows(self) -> None:
        """The last microbatch's rows may still stand in it."""

        def careless(p, e):
            torch.full((64,), 7.0)  # thrown away at once: what is taken next lies where it lay
            return p["w"].sum() * torch.empty(64).sum()

        view, _ = open_view(rows(), step(width=1, sampling=Everyone()))
        noisy = view.noisy_gradients("gradients", careless, ONE, device="cpu")
        assert noisy["w"].values[0] == 0

    def test_it_leaves_torch_as_it_was(self) -> None:
        before = torch.are_deterministic_algorithms_enabled(), torch.is_grad_enabled()
        view, _ = open_view(rows(), step())
        view.noisy_gradients("gradients", loss, parameters())
        assert (torch.are_deterministic_algorithms_enabled(), torch.is_grad_enabled()) == before


# A mechanism that uses the door, and twins of the door that the contract must catch.


@register
@dataclass(frozen=True, kw_only=True)
class NoisyDescent:
    """Softmax regression by noisy gradients; releases the rule as if it were pictures."""

    name: ClassVar[str] = "noisy-descent"
    uses: int = 10
    rate: float = 0.1
    clip: float = 0.5

    def steps(self, schema, budget):
        block = Dense(name="gradient", width=WIDTH, l2_bound=self.clip)
        return (Step(name="gradients", blocks=(block,), uses=self.uses, sampling=Poisson(self.rate)),)

    def measure(self, view, schema):
        at = parameters()
        for _ in range(self.uses):
            noisy = view.noisy_gradients("gradients", loss, at)
            at = {name: (values - 1e-4 * noisy[name].values).astype(np.float32) for name, values in at.items()}
        return at

    def build(self, measurements, schema, *, seed):
        pictures = measurements["weight"].reshape(3, 6, 6)
        return FixedModel(Synthetic(images=pictures, labels=np.arange(3), classes=("a", "b", "c")))


@pytest.mark.slow
def test_a_mechanism_with_gradients_keeps_the_contract() -> None:
    check_mechanism(NoisyDescent(uses=4), schemas.IMAGES)


@pytest.mark.slow
def test_it_keeps_the_contract_when_a_row_is_replaced() -> None:
    schema = replace(schemas.IMAGES, unit=schemas.REPLACE.unit)
    check_mechanism(NoisyDescent(uses=4), schema)


class NoClip(Primitives):
    def clip_gradients(self, gradients, *, block, noise_multiplier):
        return torch.trunc(gradients.double() * 2**20).to(torch.int64)


class ClipsTheAverage(Primitives):
    """The average gradient of a batch is clipped, and every row counts as that."""

    def clip_gradients(self, gradients, *, block, noise_multiplier):
        mean = gradients.mean(dim=0, keepdim=True).expand_as(gradients)
        return super().clip_gradients(mean, block=block, noise_multiplier=noise_multiplier)


class SameBatchEachStep(Primitives):
    def coins(self, step, *, key, first, n_rows, n_coins, rate):
        if not hasattr(self, "kept"):
            self.kept = super().coins(step, key=key, first=first, n_rows=n_rows, n_coins=n_coins, rate=rate)
        return self.kept


class NextBatchEachStep(Primitives):
    """Batches of a fixed size, one after the other, accounted as coins."""

    place = 0

    def coins(self, step, *, key, first, n_rows, n_coins, rate):
        size = round(n_rows * rate)
        chosen = (self.place + np.arange(size)) % n_rows
        self.place += size
        return chosen


class NoiseFollowsTheBatch(Primitives):
    """Noise for the batch that was drawn instead of for the plan."""

    def coins(self, step, *, key, first, n_rows, n_coins, rate):
        chosen = super().coins(step, key=key, first=first, n_rows=n_rows, n_coins=n_coins, rate=rate)
        self.factor = len(chosen) / (n_rows * rate)
        return chosen

    def noise(self, shape):
        return (super().noise(shape) * self.factor).astype(np.int64)


class HalfNoise(Primitives):
    def noise(self, shape):
        return super().noise(shape) // 2


BROKEN = [
    (NoClip, NoisyDescent(uses=4), "neighbouring data differ by at most the bound"),
    (ClipsTheAverage, NoisyDescent(), "steps are public and settled"),
    (SameBatchEachStep, NoisyDescent(), "sampling is what was accounted"),
    (NextBatchEachStep, NoisyDescent(), "sampling is what was accounted"),
    (NoiseFollowsTheBatch, NoisyDescent(rate=0.003, uses=40), "noise has the planned scale"),
    (HalfNoise, NoisyDescent(), "noise has the planned scale"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("primitives", "mechanism", "clause"), BROKEN)
def test_broken_doors_are_caught(primitives, mechanism, clause: str) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    with pytest.raises(ContractError):
        check.run(Setting(mechanism, schemas.IMAGES, Budget(epsilon=1.0, delta=1e-6), 300, primitives))


# Audit by attack: a canary whose gradient is as long as the clip, among rows whose gradients vanish.

AUDIT = Schema(columns=(Column(name="x", kind="numeric", bounds=(0, 1)),), rows=60)
AUDITED = Step(name="gradients", blocks=(Dense(name="gradient", width=4, l2_bound=1.0),), uses=4, sampling=Poisson(0.3))


def scores(primitives: type[Primitives], *, epsilon: float, canary: bool, releases: int) -> np.ndarray:
    plan = make_plan((AUDITED,), budget=Budget(epsilon=epsilon, delta=1e-3), unit=AUDIT.unit, rows=60)
    noise, rate = plan.noise_multiplier("gradients"), 0.3
    data = read({"x": np.append(np.zeros(59), np.ones(int(canary)))}, AUDIT)

    def pull(p, e):  # the canary pulls at every parameter far beyond the clip
        return 100 * e["x"] * p["w"].sum()

    found = []
    for release in range(releases):
        source = NoiseSource(research_seed=2 * release + canary)
        view = View(data, plan=plan, primitives=primitives(source), schema=AUDIT)
        at = np.array(
            [view.noisy_gradients("gradients", pull, {"w": torch.zeros(4)})["w"].values.sum() for _ in range(4)]
        )
        found.append(np.log(1 - rate + rate * np.exp(at / 2 / noise**2 - 1 / (2 * noise**2))).sum())
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(("primitives", "refuted"), [(Primitives, False), (NoClip, True)])
def test_the_attack_gets_no_further_than_the_claim(primitives, refuted: bool) -> None:
    worlds = [scores(primitives, epsilon=1.0, canary=canary, releases=80) for canary in (True, False)]
    assert (epsilon_lower_bound(*worlds, confidence=0.95) > 1.0) == refuted
