"""Discovery's event and threshold, computed twice: every fault of the code that books them is noticed, by it and by `verify`."""

import itertools
import math
import sys
import types
from pathlib import Path

import pytest
from scipy import stats

import schemas
import sfumato as sf
from sfumato import fitting
from sfumato.mechanisms import IndependentHistograms
from sfumato.private import discovering
from sfumato.public.accounting import event_to_json
from sfumato.public.plan import discovery
from sfumato.verification import answer_checks, plan_checks
from sfumato.verification.discovery_replay import TEXTS, faults_of_discovery, replay_discovery

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from mutants.discovery import DISCOVERY

MUTANTS = {mutant.name: mutant.edits for mutant in DISCOVERY}
CASES = [
    (epsilon, delta, rows, numbers, texts)
    for (epsilon, delta), rows, numbers, texts in itertools.product(
        [(0.5, 1e-6), (1.0, 1e-9), (8.0, 1e-5)], [1, 3], [0, 1, 3], [0, 1, 4]
    )
    if numbers + texts
]


def planned(module, case):
    epsilon, delta, rows, numbers, texts = case
    columns = tuple(
        sf.Column(name=f"c{at}", kind="numeric" if at < numbers else "categorical", discover=True)
        for at in range(numbers + texts)
    )
    schema = sf.Schema(columns=columns, unit=sf.PrivacyUnit(person="p" if rows > 1 else None, max_rows=rows))
    return module.plan_discovery(schema, columns, budget=sf.Budget(epsilon=epsilon, delta=delta))


def faults(found, case):
    """What the independent code says of a planned discovery."""
    epsilon, delta, rows, numbers, texts = case
    event = replay_discovery(epsilon=epsilon, delta=delta, numbers=numbers, texts=texts)
    said = faults_of_discovery(event, **found.published, max_rows=rows)
    if not plan_checks._agree(event, event_to_json(found.event)):
        said.append("event")
    return said


def faulty(edits):
    """The module with a fault in it, under a name of its own."""
    source = Path(discovery.__file__).read_text(encoding="utf-8")
    for _, old, new in edits:
        assert source.count(old) == 1
        source = source.replace(old, new)
    module = types.ModuleType("faulty_discovery")
    sys.modules[module.__name__] = module
    exec(compile(source, "faulty_discovery", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_plan_is_what_first_principles_give(case) -> None:
    assert faults(planned(discovery, case), case) == []


def test_the_threshold_is_no_higher_than_it_must_be() -> None:
    """Two units less, and the texts of one unit pass more often than was booked."""
    for case in CASES:
        found = planned(discovery, case)
        if found.texts:
            event = event_to_json(found.event)
            lower = {**found.published, "threshold": found.threshold - 3}
            assert any("threshold" in said for said in faults_of_discovery(event, **lower, max_rows=case[2])), case


@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_differs_from_first_principles(name) -> None:
    module = faulty(MUTANTS[name])
    assert any(faults(planned(module, case), case) for case in CASES)


def test_the_probability_of_passing_is_that_of_the_definition() -> None:
    """k C texts with k rows each, noise of 2^20 units: the union bound of the proof, by another library function."""
    case = (1.0, 1e-6, 3, 1, 4)
    found = planned(discovery, case)
    k, n_texts, units = 3, 4, found.published["grid"][f"{TEXTS}/c1"]
    passing = k * n_texts * stats.norm.sf((found.threshold - k * units) / 2**20)
    assert 0.99 * 1e-7 < passing <= 1e-7
    moved = k * math.sqrt(n_texts) * units / 2**20
    (_, texts, failure) = event_to_json(found.event)["events"]
    assert 0.99 < moved * texts["noise_multiplier"] <= 1
    assert failure == {"event": "epsilon_delta", "epsilon": 0.0, "delta": pytest.approx(1e-7)}


@pytest.fixture(scope="module")
def rows():
    return schemas.open_rows()


def released(rows, to):
    data = sf.Sensitive.read(rows, schemas.OPEN)
    fitted = sf.fit(IndependentHistograms(bins=8), data, sf.Budget(epsilon=1.0, delta=1e-6), seed=3)
    return sf.release(fitted, to=to, rows=50).path


def test_an_honest_discovery_is_borne_out(rows, tmp_path) -> None:
    found = sf.verify(released(rows, tmp_path / "release"))
    assert found.ok, found.problems
    assert any("a second time" in sentence for sentence in found.checked)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_verify_refuses_a_folder_of_the_faulty_code_even_where_it_has_the_same_fault(name, rows, tmp_path, monkeypatch):
    module = faulty(MUTANTS[name])
    for user in (fitting, discovering, plan_checks, answer_checks):
        for known in ("plan_discovery", "discovered_bounds", "with_categories", "DiscoveryPlan"):
            if hasattr(user, known):
                monkeypatch.setattr(user, known, getattr(module, known))
    try:
        folder = released(rows, tmp_path / "release")
    except sf.SfumatoError:
        return  # the plan already adds up to more than the budget
    assert not sf.verify(folder).ok
