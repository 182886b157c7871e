"""A private score: rows on one side or the other, a value that follows from noisy counts, and forgeries that are refused."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score, roc_auc_score

import sfumato as sf
from sfumato.errors import PlanError, VerificationError
from sfumato.folder.releasing import CERTIFICATE
from sfumato.mechanisms import IndependentHistograms
from sfumato.private.intake import apart
from sfumato.private.intake.apart import OneSide, set_apart
from sfumato.private.intake.sensitive import open_batches
from sfumato.public.accounting import epsilon_of
from sfumato.public.plan.measured import Measured
from sfumato.public.schema.released import encoded
from sfumato.scoring.forecast import _usual_counts, expected_score
from sfumato.scoring.learner import learned
from sfumato.scoring.step import BINS, score_plan
from sfumato.scoring.values import score_of

BUDGET = sf.Budget(epsilon=2.0, delta=1e-5)
SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="x", kind="integer", bounds=(0, 100_000)),
        sf.Column(name="y", kind="numeric", bounds=(-5, 5)),
        sf.Column(name="ill", kind="boolean"),
    ),
    target="ill",
)


def patients(n_rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = np.clip(rng.normal(size=n_rows), -5, 5)
    return pd.DataFrame({"x": np.arange(n_rows), "y": y, "ill": rng.random(n_rows) < 1 / (1 + np.exp(1 - 2 * y))})


class KeepsTestRows(OneSide):
    """A twin that measures the rows that it tests on as well."""

    def _coins(self, private_chunk, *, first, n_rows):
        coins = super()._coins(private_chunk, first=first, n_rows=n_rows)
        return coins if self._is_apart else np.zeros(n_rows, dtype=bool)


def sides(data: sf.Sensitive) -> tuple[set[float], set[float]]:
    both = set_apart(data, key=bytes(range(32)), share=0.2)
    measured, tested = ({v for batch in open_batches(side, rows=700) for v in batch["x"].tolist()} for side in both)
    return measured, tested


def is_divided(data: sf.Sensitive, everyone: set[float]) -> bool:
    measured, tested = sides(data)
    return not measured & tested and measured | tested == everyone


def test_every_row_is_on_exactly_one_side(monkeypatch: pytest.MonkeyPatch) -> None:
    data = sf.Sensitive.read(patients(5000), SCHEMA)
    everyone = set(map(float, range(5000)))
    assert is_divided(data, everyone)
    assert sides(data) == sides(data)  # read again, the coins fall the same
    assert 800 < len(sides(data)[1]) < 1200
    monkeypatch.setattr(apart, "OneSide", KeepsTestRows)
    assert not is_divided(data, everyone)


def test_all_rows_of_a_person_are_on_one_side() -> None:
    rows = patients(3000).assign(who=[f"p{i % 500}" for i in range(3000)])
    schema = replace(SCHEMA, unit=sf.PrivacyUnit(person="who", max_rows=6))
    measured, tested = sides(sf.Sensitive.read(rows, schema))
    assert len(measured) + len(tested) == 3000
    assert not {int(x) % 500 for x in measured} & {int(x) % 500 for x in tested}
    assert 0.1 < len(tested) / 3000 < 0.3


def test_rows_set_apart_cost_the_budget_and_no_more() -> None:
    plan = score_plan(SCHEMA, BUDGET)
    spent = epsilon_of(plan.event, delta=BUDGET.delta, relation="add_or_remove").epsilon
    assert 0.99 * BUDGET.epsilon < spent <= BUDGET.epsilon


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("scored") / "release"
    fitted = sf.fit(IndependentHistograms(), patients(6000), BUDGET, schema=SCHEMA, seed=0, score=0.3)
    return folder, fitted, sf.release(fitted, to=folder)


def test_a_score_is_near_the_real_one_and_verified(scored) -> None:
    folder, fitted, _ = scored
    record = fitted.certificate.score
    assert record.low <= record.value <= record.high
    trained = learned(fitted.sample(record.rows).table, SCHEMA)
    other = encoded(patients(20_000, seed=9), SCHEMA)
    real = roc_auc_score(other["ill"], trained.trained.predict_proba(np.stack([other["x"], other["y"]], axis=1))[:, 1])
    assert abs(record.value - real) < 1.5 * (record.high - record.low)  # six standard errors
    assert record.high - record.low < 0.2
    found = sf.verify(folder)
    assert found.ok, found.problems
    assert any("noisy counts give" in line for line in found.checked)
    assert any("secret coin" in line for line in found.declared)
    assert record.in_words in (folder / "report.html").read_text(encoding="utf-8")
    assert any(record.in_words in section.before for section in fitted.certificate.sections())


def forged(folder, tmp_path, change):
    """The folder with another certificate, which names its files as they are."""
    target = tmp_path / "forged"
    shutil.copytree(folder, target)
    body = json.loads((target / CERTIFICATE).read_text(encoding="utf-8"))
    change(body)
    text = json.dumps(body, indent=2, ensure_ascii=False) + "\n"
    (target / CERTIFICATE).write_text(text, encoding="utf-8")
    return target


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("value", 0.99, "score"),
        ("high", 0.999, "not what its noisy counts give|holds what no score does"),
        ("scale", 0.5, "cost epsilon"),
        ("metric", "accuracy", "is called accuracy"),
        ("share", 0.9, "score = 0.9"),
        ("learner", "an oracle", "no score does"),
    ],
)
def test_a_forged_score_is_refused(scored, tmp_path, key: str, value: object, why: str) -> None:
    target = forged(scored[0], tmp_path, lambda body: body["score"].__setitem__(key, value))
    try:
        said = " ".join(sf.verify(target).problems)
    except VerificationError as error:
        said = str(error)
    assert re.search(why, said), said


def test_counts_without_a_score_and_a_score_without_counts_are_refused(scored, tmp_path) -> None:
    """Twins: what was measured and is not told, and what is told and was not measured through a door."""
    untold = sf.verify(forged(scored[0], tmp_path, lambda body: body.pop("score")))
    assert any("not planned" in problem for problem in untold.problems)
    _, fitted, _ = scored
    unmeasured = {name: values for name, values in fitted.answers.integers.items() if not name.startswith("score/")}
    without = replace(fitted, answers=replace(fitted.answers, integers=unmeasured))
    sf.release(without, to=tmp_path / "without")
    assert not sf.verify(tmp_path / "without").ok


def test_what_cannot_be_scored_is_refused_before_a_row_is_read() -> None:
    nobody = sf.Sensitive.read(patients(10), replace(SCHEMA, target=None))
    with pytest.raises(PlanError, match="learner of a target"):
        sf.fit("3a-table", nobody, BUDGET, score=True)
    data = sf.Sensitive.read(patients(10), SCHEMA)
    for share in (0.9, 0.001, float("nan")):
        with pytest.raises(PlanError, match="share of rows"):
            sf.fit(IndependentHistograms(), data, BUDGET, score=share)
    public = replace(SCHEMA, rows=400, unit=sf.PrivacyUnit(relation="replace_one"))
    with pytest.raises(PlanError, match="public number of rows"):
        sf.fit("local-reports", patients(400), BUDGET, schema=public, score=True)


def test_values_are_those_of_the_counts() -> None:
    rng = np.random.default_rng(0)
    label = rng.random(4000) < 0.3
    bins = np.clip(rng.normal(10 + 4 * label, 4, 4000), 0, BINS - 1).astype(int)
    counts = np.bincount(label * BINS + bins, minlength=2 * BINS).astype(float)
    value, low, high = score_of("AUC", Measured(counts, 1e-9), max_rows=1)
    assert np.isclose(value, roc_auc_score(label, bins))
    assert low < value < high
    assert np.isclose(score_of("accuracy", Measured(np.array([100.0, 300.0]), 1e-9), max_rows=1)[0], 0.75)
    y = np.clip(rng.normal(0, 0.3, 4000), -1, 1)
    e = rng.normal(0, 0.1, 4000)
    powers = np.stack([np.ones(4000), y, y**2, e**2, e**4, e**2 * y, e**2 * y**2, y**3, y**4]).sum(axis=1)
    value, low, high = score_of("R2", Measured(powers, 1e-9), max_rows=1)
    assert np.isclose(value, r2_score(y, y - e))
    drawn = [r2_score(y[at], (y - e)[at]) for at in (rng.integers(4000, size=4000) for _ in range(300))]
    assert np.isclose((high - low) / 3.92, np.std(drawn), rtol=0.2)
    assert score_of("AUC", Measured(np.ones(2 * BINS), 100.0), max_rows=1) == (0.5, 0.0, 1.0)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    shares = np.concatenate([0.7 * np.exp(-np.arange(BINS) / 6), 0.3 * np.exp((np.arange(BINS) - BINS) / 8)])
    shares /= shares.sum()
    truth, held = score_of("AUC", Measured(1e9 * shares, 1e-9), max_rows=1)[0], 0
    for _ in range(600):
        noisy = rng.multinomial(2500, shares) + rng.normal(0, 4.0, 2 * BINS)
        _, low, high = score_of("AUC", Measured(noisy, 4.0), max_rows=1)
        held += low <= truth <= high
    assert 0.93 <= held / 600 <= 0.97


def test_a_plan_foresees_the_interval_of_a_score(scored) -> None:
    _, fitted, _ = scored
    expected = expected_score(IndependentHistograms(), replace(SCHEMA, rows=6000), BUDGET, share=0.3)
    record, (even, rare) = fitted.certificate.score, expected.half_widths(6000).values()
    assert np.isclose(even, (record.high - record.low) / 2, rtol=0.3)
    assert rare > even
    assert any("about 4,200" in sentence for sentence in expected.section.before)
    untold = expected_score(IndependentHistograms(), SCHEMA, sf.Budget(epsilon=0.1, delta=1e-5))
    assert untold.half_width(1000) is None
    assert untold.half_width(10**6) < untold.half_width(10**5)
    assert ("1,000", "noise leaves nothing", "noise leaves nothing") in untold.section.grid.rows
    with pytest.raises(PlanError, match="learner of a target"):
        expected_score(IndependentHistograms(), replace(SCHEMA, target=None), BUDGET)


def test_usual_counts_are_those_of_a_learner_of_usual_worth() -> None:
    for metric, worth in (("AUC", 5 / 6), ("accuracy", 0.8), ("R2", 0.5)):
        counts = _usual_counts(metric, 0.1)
        assert np.isclose(score_of(metric, Measured(1e6 * counts, 1e-9), max_rows=1)[0], worth, atol=1e-3)
