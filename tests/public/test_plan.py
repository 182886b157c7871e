"""What `sfumato plan` says before any row is read: noise in the units of the columns, expectations, warnings."""

import importlib.resources
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import schemas
import sfumato as sf
from command_line import SCHEMA, answer_of, patients, release_it, run
from sfumato.extending import Dense, Hot, Learner, Step
from sfumato.mechanism import as_mechanism, registered, registered_names
from sfumato.mechanisms import DPMix, IndependentHistograms, ThreeAImage, ThreeATable
from sfumato.outlook import forecast as outlook_module
from sfumato.outlook.constants import constants_digest
from sfumato.outlook.expectations import load_expectations
from sfumato.outlook.forecast import HOPELESS, Outlook, outlook
from sfumato.outlook.sections import NUMBER_NOT_SIMULATED, in_units
from sfumato.public.plan.reading import ASSUMED_ROWS, column_noise, readings_of
from sfumato.public.schema.schema import Column, Schema

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
ROOT = Path(__file__).resolve().parents[2]
ADULT = Schema(
    columns=(
        *(Column(name=f"number{j}", kind="integer", bounds=(0, 100)) for j in range(6)),
        *(Column(name=f"category{j}", kind="categorical", categories=tuple("abcdefgh")) for j in range(8)),
        Column(name="income", kind="boolean"),
    ),
    target="income",
    rows=32_561,
)


def told(mechanism, schema, what, column, *, budget=BUDGET):
    planned = sf.plan(mechanism, schema, budget)
    return next(e for e in planned.noise if e["column"] == column and e["what"] == what), planned


# --------------------------------------------------------------------------------------- noise in the units of columns


@pytest.mark.slow
@pytest.mark.parametrize("name", registered_names())
def test_every_mechanism_tells_its_noise_for_every_column(name: str) -> None:
    mechanism = DPMix(mixtures=30, degree=20) if name == "dpmix" else registered(name)()
    ran = 0
    large = replace(schemas.IMAGES.columns[0], shape=(16, 16))
    larger = replace(schemas.IMAGES, columns=(large, *schemas.IMAGES.columns[1:]), rows=10_000)
    for schema in (
        schemas.TABLE,
        schemas.IMAGES,
        larger,
        replace(schemas.TABLE, rows=None),
        schemas.REPLACE,
        schemas.HOSPITAL,
    ):
        try:
            planned = sf.plan(mechanism, schema, BUDGET)
        except sf.SfumatoError:
            continue  # not for this kind of data
        entries = planned.noise
        whole = {schema.target} if isinstance(mechanism, Learner) else {c.name for c in schema.columns}
        assert {e["column"] for e in entries} in ({"*"}, whole)
        assert all(entry["noise"] > 0 and "±" in in_units(entry, schema) for entry in entries)
        ran += 1
    assert ran


def test_the_mean_of_a_number_has_the_noise_that_its_counts_give_it() -> None:
    """Against brute force: noise on every cell, and the mean of what the cells then say."""
    age = Column(name="age", kind="integer", bounds=(18, 90))
    gain = Column(name="gain", kind="numeric", bounds=(-50, 5000))
    schema = Schema(columns=(age, gain, Column(name="ill", kind="boolean")), target="ill", rows=4_000)
    rng = np.random.default_rng(0)
    for mechanism, column, values in (
        (ThreeATable(), "age", np.arange(18, 91)),
        (IndependentHistograms(bins=16), "gain", -50 + 5050 * (np.arange(16) + 0.5) / 16),
    ):
        entry, planned = told(mechanism, schema, "the mean", column)
        (step,) = [step for step in planned.steps if step.name in ("fine", "histograms")]
        stddev = planned.noise_stddev(step.name, step.blocks[0].name)
        copies = 1 if mechanism.name == "3a-table" else 2  # histograms count within each of two classes
        noise = rng.normal(0, stddev, size=(20_000, copies, len(values)))
        errors = (noise * (values - schema[column].centre)).sum(axis=(1, 2)) / 4_000
        assert errors.std() == pytest.approx(entry["noise"], rel=0.03)


def test_a_class_count_of_histograms_has_the_noise_of_their_weighted_totals() -> None:
    mechanism = IndependentHistograms(bins=8)
    entry, planned = told(mechanism, schemas.TABLE, "a count", "ill")
    stddev = planned.noise_stddev("histograms", "counts")
    sizes = np.array([8, 9, 4, 2, 8])
    rng = np.random.default_rng(1)
    totals = np.stack([rng.normal(0, stddev, size=(20_000, size)).sum(axis=1) for size in sizes])
    assert np.average(totals, axis=0, weights=1 / sizes).std() == pytest.approx(entry["noise"], rel=0.03)


def test_a_pixel_of_a_class_mean_has_at_most_the_noise_that_is_told() -> None:
    from sfumato.learn.dct import cosine_basis

    mechanism = ThreeAImage(coefficients=9)
    entry, planned = told(mechanism, schemas.IMAGES, "a pixel of a class mean", "image")
    stddev = planned.noise_stddev("classes", "sums")
    longest = 6.0  # of an image of 36 pixels in the unit box: the clip is measured, and never more
    coefficients = np.random.default_rng(2).normal(0, longest * stddev / 100, size=(5_000, 9))
    pixels = 255 * coefficients @ cosine_basis(6, 6, 9).T
    assert np.sqrt((pixels**2).mean()) == pytest.approx(entry["noise"], rel=0.03)
    assert entry["at_most"]


def test_a_mixture_is_as_noisy_as_dpmix_says() -> None:
    mechanism = DPMix(mixtures=30, degree=20)
    entry, planned = told(mechanism, schemas.TABLE, "a mixed value", "age")
    assert entry["noise"] == pytest.approx(planned.noise_stddev("mixtures", "features") / 20 * (90 - 18))


def test_means_are_told_for_a_thousand_rows_where_none_are_declared() -> None:
    mechanism = IndependentHistograms()  # its shares do not follow the number of rows
    known, _ = told(mechanism, replace(schemas.TABLE, rows=ASSUMED_ROWS), "the mean", "age")
    unknown, _ = told(mechanism, replace(schemas.TABLE, rows=None), "the mean", "age")
    assert unknown["noise"] == pytest.approx(known["noise"])
    assert unknown["rows_assumed"]
    assert not known["rows_assumed"]


@dataclass(frozen=True, kw_only=True)
class Silent:
    """Somebody else's mechanism, which says nothing of its blocks."""

    name: ClassVar[str] = "silent"

    def steps(self, schema: Schema, budget: sf.Budget) -> tuple[Step, ...]:
        counts, sums = (
            Hot(name="counts", width=4, n_hot=1, share=0.5),
            Dense(name="sums", width=3, l2_bound=5.0, share=0.5),
        )
        return (Step(name="both", blocks=(counts, sums)),)


def test_a_mechanism_that_says_nothing_is_told_of_in_rows() -> None:
    planned = sf.plan(Silent(), schemas.TABLE, BUDGET)
    counts, sums = column_noise(planned.plan, readings_of(Silent(), schemas.TABLE, planned.steps), rows=300)
    assert counts["noise"] == planned.noise_stddev("both", "counts")
    assert sums["noise"] == pytest.approx(planned.noise_stddev("both", "sums") / 5)
    assert {counts["column"], sums["column"]} == {"*"}
    assert in_units(counts, schemas.TABLE).endswith("rows")


# ------------------------------------------------------------------------------------------------------ expectations


def share(schema, *, epsilon=1.0, rate=0, **changes):
    schema = replace(schema, **changes)
    budget = sf.Budget(epsilon=epsilon, delta=1e-6)
    mechanism = sf.method("auto", schema)
    looked = sf.plan(mechanism, schema, budget).outlook
    return list(looked.shares(schema.rows).values())[rate], looked


def test_the_figures_load_cover_the_grid_and_are_small() -> None:
    path = importlib.resources.files("sfumato.outlook").joinpath("expectations.json")
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < 100_000
    figures = json.loads(text)
    assert figures["sfumato"] == sf.__version__
    for kind, expectations in load_expectations().items():
        assert len(expectations.digest) == 12
        assert expectations.runs >= 10
        law = expectations.share
        assert np.all(np.diff(law.x) > 0)
        assert all(0 <= a <= b <= c <= 1 for a, b, c in zip(law.low, law.middle, law.high, strict=True))
        assert [point["alpha"] for point in expectations.alpha] == [0, 0.25, 0.5, 0.75, 1], kind
    fields = figures["table"]["fields"]
    for name, least in (("rule", 4), ("epsilon", 5), ("rows", 3), ("columns", 2), ("rate", 3)):
        assert len({entry[fields.index(name)] for entry in figures["table"]["runs"]}) >= least


@pytest.mark.slow
def test_the_laws_follow_from_the_runs_that_are_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from fit_expectations import entry_of

    figures = json.loads((ROOT / "src/sfumato/outlook/expectations.json").read_text(encoding="utf-8"))
    table = figures["table"]
    runs = [{"alpha": None, **dict(zip(table["fields"], run, strict=True))} for run in table["runs"]]
    again = entry_of("table", runs, digest=table["digest"])
    for name, law in table["laws"].items():
        assert law["columns"] == again["laws"][name]["columns"]
        assert law["middle"] == pytest.approx(again["laws"][name]["middle"], abs=0.01)


def test_the_pages_quote_the_figures_that_are_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from expectation_pages import FIGURES, pages

    for path, text in pages(json.loads(FIGURES.read_text(encoding="utf-8"))).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is stale: simulate_expectations.py --fit"


@pytest.mark.parametrize("schema", [ADULT, schemas.IMAGES], ids=["table", "image"])
def test_more_rows_or_epsilon_never_promise_less(schema: Schema) -> None:
    by_rows = [share(schema, rows=rows)[0] for rows in (100, 1_000, 10_000, 100_000)]
    by_epsilon = [share(schema, rows=5_000, epsilon=epsilon)[0] for epsilon in (0.01, 0.1, 1.0, 10.0)]
    for found in (by_rows, by_epsilon):
        for name in ("low", "middle", "high"):
            values = [getattr(r, name) for r in found]
            assert values == sorted(values)
        assert found[0].middle < found[-1].middle
    far = [share(ADULT, rows=rows)[1].distances(rows)["two_way"].middle for rows in (100, 1_000, 10_000, 100_000)]
    assert far == sorted(far, reverse=True)


def test_a_rare_class_and_more_columns_promise_less() -> None:
    even, tenth, hundredth = (share(ADULT, rows=3_000, rate=at)[0].middle for at in range(3))
    assert even >= tenth >= hundredth
    assert even > hundredth
    fewer = share(ADULT, columns=(*ADULT.columns[:2], ADULT.columns[-1]), rows=3_000)[0].middle
    assert fewer >= even


def test_releases_that_cannot_work_are_advised_against() -> None:
    for changes in ({"rows": 100}, {"epsilon": 0.001}):
        found, looked = share(ADULT, **changes)
        assert found.middle < HOPELESS
        assert looked.warning is not None
        assert "What would help" in looked.warning
        assert "rows instead of" in looked.warning
    assert share(ADULT)[1].warning is None
    assert share(ADULT)[0].middle > 0.75


def test_advice_leads_to_a_release_that_is_not_advised_against() -> None:
    import re

    warning = share(ADULT, rows=100)[1].warning
    rows = int(re.search(r"about ([\d,]+) rows instead", warning)[1].replace(",", ""))
    assert share(ADULT, rows=rows)[1].warning is None


def test_what_the_doors_could_not_carry_out_is_refused_by_the_plan() -> None:
    with pytest.raises(sf.SfumatoError, match=r"drowns in its noise. Use fewer entries or a larger epsilon"):
        sf.plan("auto", schemas.TABLE, sf.Budget(epsilon=1e-9, delta=1e-6))


def test_persons_with_several_rows_expect_less() -> None:
    persons = replace(ADULT, unit=sf.PrivacyUnit(person="who", max_rows=4), rows=3_000)
    alone, together = share(ADULT, rows=3_000)[1], share(persons)[1]
    assert together.mu == pytest.approx(alone.mu / together.noise_growth, rel=1e-3)
    assert 2 < together.noise_growth < 3  # and not 4: the rows of a person are clipped together
    other = sf.plan("independent-histograms", persons, sf.Budget(epsilon=1.0, delta=1e-6)).outlook
    assert other.mu == pytest.approx(together.mu, rel=1e-3)


def test_other_constants_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlook_module, "constants_digest", lambda module: load_expectations()["table"].digest)
    assert share(ADULT)[1].current
    monkeypatch.setattr(outlook_module, "constants_digest", lambda module: "another")
    assert not share(ADULT)[1].current
    assert not share(ADULT)[1].to_json()["simulated_with_these_constants"]


def test_the_digest_sees_every_setting_of_tables() -> None:
    default, read = ThreeATable(), constants_digest
    sizes = replace(default.settings.sizes, cells=7)
    assert read(default) == read(ThreeATable())
    assert read(ThreeATable(settings=replace(default.settings, sizes=sizes))) != read(default)
    shares = replace(default.settings.budget.shares, pairs=(0.0, 0.0, 0.1))
    budget = replace(default.settings.budget, shares=shares)
    assert read(ThreeATable(settings=replace(default.settings, budget=budget))) != read(default)


def test_the_digest_of_sources_sees_constants_also_in_tuples_and_no_comment(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = sys.modules["sfumato.outlook.constants"]
    source = constants._source

    def read(mechanism: ThreeAImage) -> str:
        constants._constants_of.cache_clear()  # the sources, not what was read before
        return constants_digest(mechanism)

    before = read(ThreeAImage())
    monkeypatch.setattr(constants, "_source", lambda module: source(module) + "\n# a comment\n")
    assert read(ThreeAImage()) == before
    for text in ("\nROWS = 7\n", "\n_FEW, _MANY = 7, 8\n"):
        changed = {"sfumato.mechanisms.image.sizes": text}
        monkeypatch.setattr(constants, "_source", lambda module, c=changed: source(module) + c.get(module, ""))
        assert read(ThreeAImage()) != before
    constants._constants_of.cache_clear()


# -------------------------------------------------------------------------------------------------- the command line


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)
    return tmp_path


def test_plan_tells_noise_expectations_and_the_curve_within_80_columns(place: Path) -> None:
    result = run("plan", "schema.toml", "--epsilon", 1, "--curve", COLUMNS="80")
    assert result.exit_code == 0, result.output
    for said in ("units of each column", "a count ±", "Expect a learner to keep", "total", "alpha 0"):
        assert said in result.stdout, said
    assert max(map(len, result.stdout.splitlines())) <= 80
    answer = answer_of(run("plan", "schema.toml", "--epsilon", 1, "--json"))
    assert {e["column"] for e in answer["column_noise"]} == {"age", "weight", "town", "ill"}
    assert answer["expectation"]["expected"][0]["rows"] == 400
    assert len(answer["expectation"]["alpha"]) == 5


@pytest.mark.slow
def test_plan_and_release_warn_alike_and_go_on(place: Path) -> None:
    patients().to_csv("patients.csv", index=False)
    histograms = ("--method", "independent-histograms")
    planned = run("plan", "schema.toml", "--epsilon", 0.01, *histograms, COLUMNS="4000")
    assert planned.exit_code == 0
    warning = answer_of(run("plan", "schema.toml", "--epsilon", 0.01, *histograms, "--json"))["expectation"]["warning"]
    assert f"warning: {warning}" in planned.stdout
    released = release_it(*histograms, epsilon=0.01, COLUMNS="4000")
    assert released.exit_code == 0, released.output
    assert f"warning: {warning}" in released.stderr
    assert "warning" not in released.stdout
    Path("schema.toml").write_text(SCHEMA.replace("rows = 400", "rows = 40000"))
    assert "warning" not in run("plan", "schema.toml", "--epsilon", 1).stdout


def test_plan_tells_by_rows_where_none_are_declared_and_after_a_discovery(place: Path) -> None:
    text = SCHEMA.replace("rows = 400\n", "")
    Path("schema.toml").write_text(text)
    assert "100,000" in run("plan", "schema.toml", "--epsilon", 1).stdout
    Path("schema.toml").write_text(text.replace('categories = ["rome", "milan"]', "discover = true"))
    answer = answer_of(run("plan", "schema.toml", "--epsilon", 1, "--json"))
    assert answer["column_noise"] == []
    assert [e["rows"] for e in answer["expectation"]["expected"]] == [1_000, 10_000, 100_000]


def test_plan_without_a_target_tells_of_columns_and_pairs_alone(place: Path) -> None:
    Path("schema.toml").write_text(SCHEMA.replace('target = "ill"\n', ""))
    said = " ".join(run("plan", "schema.toml", "--epsilon", 1).stdout.split())
    assert "of a pair of columns by" in said
    assert "Expect a learner" not in said


@pytest.mark.parametrize("rows", ["rows = 400\n", ""])
def test_plan_of_a_number_says_that_learners_were_not_simulated(place: Path, rows: str) -> None:
    Path("schema.toml").write_text(SCHEMA.replace('target = "ill"', 'target = "weight"').replace("rows = 400\n", rows))
    said = " ".join(run("plan", "schema.toml", "--epsilon", 1).stdout.split())
    assert NUMBER_NOT_SIMULATED in said
    assert "Expect a learner" not in said
    assert answer_of(run("plan", "schema.toml", "--epsilon", 1, "--json"))["expectation"]["predicts_number"]
    Path("schema.toml").write_text(SCHEMA)
    assert "not simulated" not in run("plan", "schema.toml", "--epsilon", 1).stdout


def numbers(n: int, *, rows: int, target: str | None) -> sf.Schema:
    columns = tuple(sf.Column(name=f"x{at}", kind="numeric", bounds=(0, 1)) for at in range(n))
    return sf.Schema(columns=columns, rows=rows, target=target)


def test_a_number_of_a_wide_table_is_warned_of_before_it_is_released() -> None:
    wide = outlook_of(numbers(151, rows=3_000, target="x0"))
    assert wide.warning is not None
    assert "its target is a number, of which a learner would keep about" in wide.warning
    assert "rows instead of 3,000" in wide.warning
    assert outlook_of(numbers(151, rows=3_000, target=None)).warning is None  # pairs are well enough
    assert outlook_of(numbers(10, rows=5_000, target="x0")).warning is None


def outlook_of(schema: sf.Schema) -> Outlook:
    return outlook(as_mechanism("auto", schema), schema=schema, budget=sf.Budget(epsilon=1, delta=1e-6), planned=None)


def test_ten_thousand_columns_are_found_by_name_at_once() -> None:
    schema = numbers(10_000, rows=300, target=None)
    assert [schema[column.name] for column in schema.columns] == list(schema.columns)
    assert schema == sf.Schema(columns=schema.columns, rows=300)  # what is kept in mind is no part of it


def test_categories_that_drown_are_told_before() -> None:
    town = sf.Column(name="lecturer", kind="categorical", categories=tuple(map(str, range(2_000))))
    schema = sf.Schema(columns=(town, sf.Column(name="good", kind="boolean")), target="good", rows=20_000)
    (said,) = sf.plan("auto", schema, BUDGET).advice
    assert said.startswith("'lecturer' has 2,000 categories of 10 rows on average")
    assert sf.plan("auto", replace(schema, rows=900_000), sf.Budget(epsilon=1.0, delta=1e-7)).advice == []
