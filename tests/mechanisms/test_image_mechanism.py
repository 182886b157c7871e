"""3A for images: keeps the contract, learns what is there to learn, and nothing at a tiny epsilon."""

from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage

import schemas
import sfumato as sf
import twins
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, PlanError, SchemaError
from sfumato.extending import NoiseSource, register
from sfumato.learn.augment import PHOTOGRAPHS, STROKES, Variety, moved, varied
from sfumato.learn.dct import cosine_basis
from sfumato.learn.gabor import Scale, filter_bank
from sfumato.learn.oriented import mirrored_places, n_features, oriented_features, resized
from sfumato.learn.oriented_loops import magnitudes
from sfumato.learn.waves import Waves
from sfumato.mechanisms.common.shrink import class_covariances, shrunk_means
from sfumato.mechanisms.image import drawing
from sfumato.mechanisms.image.class_rates import rows_with_rates
from sfumato.mechanisms.image.image_model import ImageModel
from sfumato.mechanisms.image.mechanism import ThreeAImage
from sfumato.mechanisms.image.sizes import density_for, signal_of
from sfumato.mechanisms.image.warm_start import fitted_rule
from sfumato.mechanisms.image.whitening import whitening_of, whitening_of_photographs
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.machine import threads
from sfumato.verification.comparison import rows_differ
from sfumato.verification.rebuilt import most_turned_over

SMALL = ThreeAImage(coefficients=9, clusters=2, rounds=2, teacher_steps=3, teacher_width=16, practice=60, rows=60)
COLOUR = replace(
    schemas.IMAGES,
    columns=(sf.Column(name="image", kind="image", shape=(6, 5, 3), bounds=(0, 1)), schemas.IMAGES["label"]),
)
BARS = sf.Schema(
    columns=(
        sf.Column(name="image", kind="image", shape=(28, 28)),
        sf.Column(name="label", kind="categorical", categories=("upright", "lying", "slanted")),
    ),
    target="label",
)


def bars(n_images: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Thick bars in three directions at random places: a toy that has the shape of the real thing."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n_images)
    rows, columns = np.mgrid[:28, :28]
    turn = np.array([0.0, np.pi / 2, np.pi / 4])[label] + rng.normal(0, 0.1, n_images)
    centre = 13.5 + rng.normal(0, 2.5, (2, n_images))
    across = (columns - centre[0][:, None, None]) * np.cos(turn)[:, None, None]
    across = across + (rows - centre[1][:, None, None]) * np.sin(turn)[:, None, None]
    return (255 * np.exp(-((across / 2.5) ** 2))).astype(np.uint8), label


def frame(images: np.ndarray, label: np.ndarray) -> dict[str, np.ndarray]:
    return {"image": images, "label": np.array(BARS["label"].categories, dtype=object)[label]}


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize(
    "schema", [replace(schemas.IMAGES, target=None, columns=schemas.IMAGES.columns[:1]), schemas.IMAGES, COLOUR]
)
def test_it_keeps_the_contract(schema: sf.Schema) -> None:
    check_mechanism(SMALL, schema, n_rows=60)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize(
    ("primitives", "clause"),
    [
        (twins.HalfNoise, "noise has the planned scale"),
        (twins.NoClipOfProducts, "neighbouring data differ by at most the bound"),
    ],
)
def test_broken_doors_are_caught(primitives: type[Primitives], clause: str) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    with pytest.raises(ContractError):
        check.run(Setting(SMALL, COLOUR, sf.Budget(epsilon=1.0, delta=1e-6), 60, primitives))


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
def test_a_model_that_keeps_pictures_is_caught() -> None:
    keeps = register(twins.KeepsAPicture)(**asdict(SMALL))
    with pytest.raises(ContractError):
        check_mechanism(keeps, COLOUR, n_rows=60)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
def test_a_matrix_that_follows_the_rows_is_caught() -> None:
    turns = register(twins.WhitensByTheRows)(**asdict(SMALL))
    with pytest.raises(ContractError, match="another value when other rows stand beside it"):
        check_mechanism(turns, COLOUR, n_rows=60)


def nearest_mean_accuracy(train: np.ndarray, labels: np.ndarray, test: np.ndarray, truth: np.ndarray) -> float:
    features, probes = (oriented_features(part.astype(np.float32) / 255) for part in (train, test))
    means = np.stack([features[labels == c].mean(axis=0) for c in range(3)])
    return float(((probes @ means.T - (means**2).sum(axis=1) / 2).argmax(axis=1) == truth).mean())


@pytest.mark.slow
def test_it_learns_at_epsilon_1_and_not_at_a_tiny_one() -> None:
    data = sf.Sensitive.read(frame(*bars(2000, seed=1)), BARS)
    test, truth = bars(600, seed=2)
    mechanism = ThreeAImage(practice=1000, rows=2000)
    scores = {}
    for epsilon in (1.0, 0.01):
        rows = sf.fit(mechanism, data, sf.Budget(epsilon, 1e-6)).model.sample(2000, seed=1)
        assert rows.images.dtype == np.uint8
        assert rows.soft_labels.shape == (2000, 3)
        if len(np.unique(rows.labels)) == 3:
            scores[epsilon] = nearest_mean_accuracy(rows.images, rows.labels, test, truth)
    assert scores[1.0] > 0.9
    assert scores.get(0.01, 0.0) < 0.85


@pytest.mark.slow
def test_class_rates_are_kept() -> None:
    images, label = bars(3000, seed=3)
    keep = (label > 0) | (np.arange(3000) % 3 == 0)
    data = sf.Sensitive.read(frame(images[keep], label[keep]), BARS)
    fitted = sf.fit(ThreeAImage(practice=1000), data, sf.Budget(4.0, 1e-6))
    rates = np.bincount(fitted.model.sample(3000, seed=0).labels, minlength=3) / 3000
    assert rates == pytest.approx(np.bincount(label[keep]) / keep.sum(), abs=0.05)


@pytest.mark.slow
def test_alpha_moves_from_plain_to_varied() -> None:
    data = sf.Sensitive.read(frame(*bars(600, seed=4)), BARS)
    source = NoiseSource(research_seed=1)
    plain = sf.fit(replace(SMALL, alpha=0.0), data, sf.Budget(8.0, 1e-6), source=source).model.sample(200, seed=0)
    varied = sf.fit(replace(SMALL, alpha=1.0), data, sf.Budget(8.0, 1e-6), source=source).model.sample(200, seed=0)
    assert set(np.unique(plain.soft_labels)) == {0.0, 1.0}
    assert len(np.unique(varied.soft_labels)) > 10


def test_rows_that_give_classes_their_rates_bring_their_labels_with_them() -> None:
    images, label = bars(900, seed=10)
    keep = (label > 0) | (np.arange(900) % 9 == 0)
    data = sf.Sensitive.read(frame(images[keep], label[keep]), BARS)
    model = sf.fit(replace(SMALL, alpha=1.0), data, sf.Budget(8.0, 1e-6), source=NoiseSource(research_seed=1)).model
    rows = model.sample(600, seed=0)
    assert rows.soft_labels == pytest.approx(model._teach(rows.images), abs=2 / 1024)
    assert 300 < len(np.unique(rows.images, axis=0)) < 600  # some were repeated, and none was lost to another's place


def likely_classes(n_rows: int, *, tilt: float) -> np.ndarray:
    """Soft labels as a teacher gives them, with as much more of the last class as the tilt says."""
    odds = np.exp(np.random.default_rng(1).normal(size=(n_rows, 3)) + tilt * np.arange(3))
    return (np.round(1024 * odds / odds.sum(axis=1, keepdims=True)) / 1024).astype(np.float32)


@pytest.mark.parametrize("tilt", [0.0, 0.1, 0.3])
def test_a_label_that_rounding_changes_leaves_the_other_rows_where_they_are(tilt: float) -> None:
    soft, rates = likely_classes(2600, tilt=tilt), np.full(3, 1 / 3)

    def chosen(soft: np.ndarray) -> np.ndarray:
        return rows_with_rates(soft, rates, n_rows=2000, rng=np.random.default_rng(0))

    before, (_, second, first) = chosen(soft), np.sort(soft, axis=1).T
    nearly_tied = np.flatnonzero((first > second) & (first < second + 3 / 1024))
    assert nearly_tied.min() < 2000 < nearly_tied.max()  # at places, and beyond them
    changed = []
    for row in nearly_tied:
        other = soft.copy()
        other[row, soft[row] == second[row]] = first[row] + 1 / 1024
        changed.append((chosen(other) != before).sum())
    assert max(changed) <= 4
    assert np.mean(changed) < 1


@pytest.mark.parametrize(("tilt", "distinct"), [(0.0, 0.99), (0.1, 0.97), (0.3, 0.85), (1.0, 0.5)])
def test_chosen_rows_have_the_rates_and_hardly_repeat(tilt: float, distinct: float) -> None:
    soft, rates = likely_classes(26_000, tilt=tilt), np.array([0.3, 0.4, 0.3])
    chosen = rows_with_rates(soft, rates, n_rows=20_000, rng=np.random.default_rng(0))
    assert np.bincount(soft[chosen].argmax(axis=1), minlength=3) / 20_000 == pytest.approx(rates, abs=0.01)
    assert len(np.unique(chosen)) >= distinct * 20_000


def test_classes_that_no_row_has_get_any_rows() -> None:
    soft = np.tile(np.array([1, 0, 0], dtype=np.float32), (13, 1))
    chosen = rows_with_rates(soft, np.array([0.0, 0.5, 0.5]), n_rows=10, rng=np.random.default_rng(0))
    assert len(chosen) == 10
    assert 0 <= chosen.min() <= chosen.max() < 13


def test_a_release_withstands_another_label(monkeypatch) -> None:
    """The teacher's most undecided image goes to the other class, as a rounding error may have it."""
    data, source = sf.Sensitive.read(frame(*bars(300, seed=7)), BARS), NoiseSource(research_seed=1)
    model = sf.fit(SMALL, data, sf.Budget(2.0, 1e-6), source=source).model
    before, teach, asked = model.sample(2000, seed=0), ImageModel._teach, []

    def undecided(self, images):
        soft = teach(self, images)
        asked.append(len(images))
        if len(asked) > 1:
            return soft
        _, second, first = np.sort(soft, axis=1).T
        row = np.where(first > second, first - second, 1.0).argmin()
        soft[row, soft[row] == second[row]] = first[row] + 1 / 1024
        return soft

    monkeypatch.setattr(ImageModel, "_teach", undecided)
    found = rows_differ(before, model.sample(2000, seed=0), BARS)
    assert 0 < found.far <= most_turned_over(found)


@pytest.mark.parametrize("setting", [{"clusters": 0}, {"alpha": 1.5}, {"teacher_share": 1.0}, {"teacher_clip": 0.0}])
def test_settings_that_make_no_sense_are_refused(setting: dict) -> None:
    with pytest.raises(PlanError):
        sf.plan(replace(SMALL, **setting), schemas.IMAGES, sf.Budget(1.0, 1e-6))


def test_tables_are_refused() -> None:
    with pytest.raises(SchemaError, match="is for images"):
        sf.plan(SMALL, schemas.TABLE, sf.Budget(1.0, 1e-6))


def test_features_have_norm_one_and_see_direction() -> None:
    images, label = bars(300, seed=5)
    features = oriented_features(images / 255)
    assert features.shape == (300, n_features(1))
    assert np.linalg.norm(features, axis=1) == pytest.approx(1.0, abs=0.05)
    assert nearest_mean_accuracy(images[:200], label[:200], images[200:], label[200:]) > 0.95
    assert oriented_features(np.zeros((2, 40, 33, 3))).shape == (2, n_features(3))


def test_features_do_not_depend_on_the_images_beside() -> None:
    images = bars(300, seed=6)[0] / 255
    together, order = oriented_features(images), np.random.default_rng(0).permutation(300)
    assert np.array_equal(oriented_features(images[order]), together[order])
    assert np.array_equal(np.concatenate([oriented_features(image[None]) for image in images[:40]]), together[:40])
    images[1::2] = np.nan  # stays where it is
    assert np.array_equal(oriented_features(images)[::2], together[::2])


def test_features_of_many_images_in_threads_are_those_of_few() -> None:
    images = np.random.default_rng(3).random((1100, 28, 28)).astype(np.float32)
    assert np.array_equal(oriented_features(images)[500:700], oriented_features(images[500:700]))


def test_pieces_are_the_same_in_one_thread_and_in_three(monkeypatch) -> None:
    images, label = bars(200, seed=9)
    model = sf.fit(SMALL, sf.Sensitive.read(frame(images, label), BARS), sf.Budget(1.0, 1e-6)).model
    monkeypatch.setattr(drawing, "_ROWS_AT_ONCE", 16)
    rows = []
    for n_threads in (1, 3):
        monkeypatch.setattr(threads.numba, "get_num_threads", lambda n_threads=n_threads: n_threads)
        rows.append(model.sample(300, seed=4))
    assert rows_differ(*rows, BARS).beyond_rounding == 0
    assert len(np.unique(rows[0].images, axis=0)) > 200  # pieces do not repeat each other


def test_filters_as_products_of_waves_are_the_filters() -> None:
    maps = np.random.default_rng(0).random((64, 12, 12)).astype(np.float32)
    scale = Scale(5, 1.1, 1.5)
    found = np.empty((8, 6, 6, 64), dtype=np.float32)
    between = (np.empty((n, 6, side, 64), dtype=np.float32) for n, side in ((2, 12), (5, 6)))
    magnitudes(np.ascontiguousarray(maps.transpose(1, 2, 0)), filter_bank(scale, 12), *between, found)
    x, y = np.meshgrid(np.arange(5) - 2, np.arange(5) - 2)
    bell = np.exp(-(x**2 + y**2) / (2 * scale.envelope**2))
    for turn in range(8):
        phase = scale.frequency * (x * np.cos(np.pi * turn / 8) + y * np.sin(np.pi * turn / 8))
        even = bell * (np.cos(phase) - (bell * np.cos(phase)).sum() / bell.sum())
        odd = bell * np.sin(phase)
        for i, one in enumerate(maps[:3]):
            answers = [ndimage.correlate(one, f / np.linalg.norm(f), mode="constant")[::2, ::2] for f in (even, odd)]
            assert np.hypot(*answers) == pytest.approx(found[turn, ..., i], abs=2e-4)


def test_moving_by_nothing_and_by_a_pixel() -> None:
    images = np.random.default_rng(1).random((2, 5, 6, 3)).astype(np.float32)
    still = np.tile(np.array([[1, 0, 0], [0, 1, 0]], dtype=np.float32), (2, 1, 1))
    assert np.array_equal(moved(images, still), images)
    still[:, 1, 2] = 1.0
    assert np.array_equal(moved(images, still)[:, :, :-1], images[:, :, 1:])
    assert not moved(images, still)[:, :, -1].any()


def photos(shape: tuple[int, ...], *, classes: int = 3, rows: int | None = None) -> sf.Schema:
    label = sf.Column(name="label", kind="categorical", categories=tuple(f"c{i}" for i in range(classes)))
    return sf.Schema(columns=(sf.Column(name="image", kind="image", shape=shape), label), target="label", rows=rows)


def test_sizes_grow_with_what_rows_can_tell_and_never_jump() -> None:
    budget = sf.Budget(1.0, 1e-7)
    found = [density_for(photos((64, 64), rows=round(1.1**i)), budget) for i in range(65, 146)]  # 500 to a million
    assert all(0 <= b.coefficients - a.coefficients <= 12 for a, b in pairwise(found))
    assert all(0 <= b.clusters - a.clusters <= 6 for a, b in pairwise(found))
    assert all(b.first_moments < a.first_moments < 2 for a, b in pairwise(found))
    assert (found[0].clusters, found[-1].coefficients) == (1, 376)


@pytest.mark.parametrize(
    ("schema", "coefficients"),
    [
        (photos((1, 1)), 1),
        (photos((8, 8), rows=10**6), 64),
        (photos((512, 512), rows=500), 58),
        (photos((32, 32, 3)), 84),
    ],
)
def test_an_image_has_no_more_coefficients_than_pixels_and_colours_share(schema: sf.Schema, coefficients: int) -> None:
    sizes = density_for(schema, sf.Budget(1.0, 1e-6))
    assert sizes.coefficients == coefficients
    steps = ThreeAImage().steps(schema, sf.Budget(1.0, 1e-6))
    assert sum(step.share for step in steps) == pytest.approx(1.0)
    assert ("clusters" in {step.name for step in steps}) == (sizes.clusters > 1)


def test_persons_and_replaced_rows_count_for_what_they_cost() -> None:
    schema, budget = photos((28, 28), rows=60_000), sf.Budget(1.0, 1e-6)
    assert signal_of(replace(schema, unit=sf.PrivacyUnit(person="who", max_rows=4)), budget) == pytest.approx(
        signal_of(schema, budget) / 4
    )
    assert signal_of(replace(schema, unit=sf.PrivacyUnit(relation="replace_one")), budget) == pytest.approx(
        signal_of(schema, budget) / 2
    )


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (40, 31, 3)])
@pytest.mark.parametrize("n_images", [1, 30])
def test_small_odd_and_few_images_are_released(shape: tuple[int, ...], n_images: int) -> None:
    images = np.random.default_rng(0).integers(0, 256, (n_images, *shape), dtype=np.uint8)
    data = sf.Sensitive.read({"image": images, "label": ["c1"] * n_images}, photos(shape))  # two classes are empty
    rows = sf.fit(replace(SMALL, coefficients=None, clusters=None), data, sf.Budget(1.0, 1e-6)).model.sample(40, seed=0)
    assert rows.images.shape == (40, *shape)
    assert np.isfinite(rows.soft_labels).all()


@pytest.mark.slow
def test_a_large_image_survives() -> None:
    schema = photos((512, 512))
    data = sf.Sensitive.read({"image": np.zeros((3, 512, 512), dtype=np.uint8), "label": ["c0"] * 3}, schema)
    rows = sf.fit(replace(SMALL, coefficients=None, clusters=None), data, sf.Budget(1.0, 1e-6)).model.sample(3, seed=0)
    assert rows.images.shape == (3, 512, 512)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "kind"),
    [
        ((0, 255), "uint8"),
        ((0, 16), "uint8"),
        ((0, 65535), "uint16"),
        ((-128, 127), "int8"),
        ((0, 1), "float32"),
        ((-1, 1), "float32"),
        ((0, 0.5), "float32"),
    ],
)
def test_pixels_have_the_bounds_and_the_type_of_the_schema(bounds: tuple[float, float], kind: str) -> None:
    column = replace(BARS["image"], bounds=bounds)
    schema = replace(BARS, columns=(column, BARS["label"]))
    images, label = bars(60, seed=8)
    scaled = bounds[0] + images / 255 * (bounds[1] - bounds[0])
    data = sf.Sensitive.read(frame(scaled, label), schema)
    rows = sf.fit(replace(SMALL, coefficients=25), data, sf.Budget(8.0, 1e-6)).model.sample(60, seed=0)
    assert rows.images.dtype == kind
    assert bounds[0] <= rows.images.min() < rows.images.max() <= bounds[1]
    assert float(rows.images.max()) - float(rows.images.min()) > 0.9 * (bounds[1] - bounds[0])


def test_whitened_features_vary_alike_and_do_not_follow_the_signs_of_a_library(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    features = (rng.normal(size=(3000, 40)) * 0.9 ** np.arange(40)).astype(np.float32)
    features -= features.mean(axis=0)
    found = whitening_of(features, width=12)
    seen = features @ found
    variances = np.linalg.eigvalsh(np.cov(seen.T))
    assert variances.min() > 0.8 * variances.max()
    qr, eigh = np.linalg.qr, np.linalg.eigh
    signs = np.where(np.arange(12) % 2, 1.0, -1.0)
    monkeypatch.setattr(np.linalg, "qr", lambda m: (qr(m)[0] * signs, qr(m)[1] * signs[:, None]))
    monkeypatch.setattr(np.linalg, "eigh", lambda m: (eigh(m)[0], eigh(m)[1] * signs))
    assert whitening_of(features, width=12) == pytest.approx(found, abs=1e-6)


def test_places_in_a_mirror_are_those_of_the_mirror_image() -> None:
    pictures = ndimage.gaussian_filter(np.random.default_rng(0).random((40, 28, 28, 3)), (0, 2, 2, 0)).astype(
        np.float32
    )
    places = mirrored_places(3)
    assert np.array_equal(places[places], np.arange(n_features(3)))
    seen, mirrored = (oriented_features(part) for part in (pictures, pictures[:, :, ::-1]))
    seen, mirrored = seen - seen.mean(axis=0), mirrored - mirrored.mean(axis=0)
    assert seen[:, :192] == pytest.approx(
        mirrored[:, places][:, :192], abs=1e-4
    )  # brightness and colours, by whole pixels
    assert np.corrcoef(seen.ravel(), mirrored[:, places].ravel())[0, 1] > 0.8
    assert np.corrcoef(seen.ravel(), mirrored.ravel())[0, 1] < 0.5


def test_directions_of_photographs_are_the_same_in_a_mirror_or_change_their_sign_and_count_less() -> None:
    features = np.random.default_rng(0).normal(size=(500, 12)).astype(np.float32)
    mirror = np.array([1, 0, 3, 2, 5, 4, 7, 6, 8, 9, 10, 11])
    found = whitening_of_photographs(features, mirror, width=8)
    assert found[mirror, :6] == pytest.approx(found[:, :6], abs=1e-9)
    assert found[mirror, 6:] == pytest.approx(-found[:, 6:], abs=1e-9)
    alike, sides = (np.std(features @ part) for part in (found[:, :6], found[:, 6:]))
    assert 0.5 * alike < sides < 0.9 * alike


@pytest.mark.parametrize(("rows", "shapes"), [(5_000, 1), (500_000, 10)])
def test_photographs_have_a_shape_for_each_class_where_rows_suffice(rows: int, shapes: int) -> None:
    schema, budget = photos((32, 32, 3), classes=10, rows=rows), sf.Budget(1.0, 1e-5)
    (products,) = [step.blocks[0] for step in ThreeAImage().steps(schema, budget) if step.name == "products"]
    assert products.groups == shapes
    grey = ThreeAImage().steps(photos((32, 32), classes=10, rows=rows), budget)
    assert {step.blocks[0].groups for step in grey if step.name == "products"} == {10}


def test_a_warm_start_tells_classes_apart() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=600)
    inputs = (np.eye(3)[label] + 0.3 * rng.normal(size=(600, 3))).astype(np.float32)
    rule = fitted_rule(inputs, label, classes=3)
    assert ((inputs @ rule.T).argmax(axis=1) == label).mean() > 0.95


@pytest.mark.parametrize("variety", [STROKES, PHOTOGRAPHS])
def test_variety_stays_in_the_unit_box_and_leaves_no_image_as_it_was(variety: Variety) -> None:
    images = np.random.default_rng(0).random((200, 12, 10, 3)).astype(np.float32)
    seen = varied(images, rng=np.random.default_rng(1), variety=variety)
    assert seen.dtype == np.float32
    assert 0 <= seen.min() < seen.max() <= 1
    assert (np.abs(seen - images).max(axis=(1, 2, 3)) > 0.01).all()


def test_pictures_of_another_size_are_brought_to_one_by_means_over_boxes() -> None:
    pictures = np.random.default_rng(0).random((4, 56, 84, 2))
    assert resized(pictures) == pytest.approx(pictures.reshape(4, 28, 2, 28, 3, 2).mean(axis=(2, 4)), abs=1e-6)
    small = np.random.default_rng(0).random((40, 5, 7, 1))
    assert resized(small).mean(axis=(1, 2)) == pytest.approx(small.mean(axis=(1, 2)), abs=1e-6)
    assert np.array_equal(np.concatenate([resized(one[None]) for one in small]), resized(small))


def test_a_class_without_rows_takes_the_covariance_of_all() -> None:
    rng = np.random.default_rng(0)
    truth = np.diag(0.5 ** np.arange(6.0))
    moments = np.stack([4000 * truth, np.zeros((6, 6))]) + 2 * rng.normal(size=(2, 6, 6))
    loadings = class_covariances(moments, np.array([4000.0, 3.0]), stddev=2.0)
    assert loadings[0] @ loadings[0].T == pytest.approx(truth, abs=0.02)
    assert np.isfinite(loadings).all()


@pytest.mark.slow
def test_large_images_are_released_in_smaller_numbers() -> None:
    photos = replace(COLOUR, columns=(replace(COLOUR["image"], shape=(200, 200, 3)), COLOUR["label"]), rows=40)
    data = sf.Sensitive.read({"image": np.zeros((4, 200, 200, 3)), "label": ["a"] * 4}, photos)
    fitted = sf.fit(SMALL, data, sf.Budget(1.0, 1e-6))
    assert fitted.model.default_rows <= 1_000
    assert len(fitted.sample("many")) == SMALL.rows == 60
    assert len(fitted.sample()) == 60  # 16 for each, were there no limit
    assert ThreeAImage().recommended_rows(photos, 4).rows == 2083
    assert ThreeAImage().recommended_rows(schemas.IMAGES, 300).rows == 300_000


def test_shrinking_takes_noise_out_and_leaves_signal() -> None:
    rng = np.random.default_rng(0)
    k, count, stddev = 48, 3000.0, 40.0
    direction = rng.normal(size=k)
    direction /= np.linalg.norm(direction)
    truth = 0.5 * np.outer(direction, direction) + 1e-4 * np.eye(k)
    moments = count * truth + stddev * rng.normal(size=(1, k, k))
    (loadings,) = class_covariances(moments, np.array([count]), stddev=stddev)
    assert direction @ loadings @ loadings.T @ direction == pytest.approx(0.5, rel=0.15)
    means = shrunk_means(
        np.stack([stddev * rng.normal(size=k), np.full(k, 900.0)]), np.array([count, count]), stddev=stddev
    )
    assert np.abs(means[0]).max() < 0.01
    assert means[1] == pytest.approx(0.3, rel=0.01)


def test_loadings_do_not_follow_the_signs_of_eigenvectors(monkeypatch) -> None:
    """Nor their directions where values are equal: both are left to the library of linear algebra."""
    rng = np.random.default_rng(0)
    moment = 900 * np.diag([9.0, 4.0, 4.0, 1.0]) + rng.normal(size=(4, 4))
    moment[1:3, 1:3] = 3600 * np.eye(2)
    moment[[[1], [2]], [0, 3]] = moment[[[0], [3]], [1, 2]] = 0
    before, eigh = class_covariances(moment[None], np.array([900.0]), stddev=1.0), np.linalg.eigh
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])

    def another_library(matrix):
        values, vectors = eigh(matrix)
        vectors[:, 1:3] = vectors[:, 1:3] @ turn
        return values, vectors * [-1, 1, 1, -1]

    monkeypatch.setattr(np.linalg, "eigh", another_library)
    assert class_covariances(moment[None], np.array([900.0]), stddev=1.0) == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("shape", [(9, 7), (8, 8, 3), (12, 12, 2)])
def test_waves_give_pictures_back_and_stand_alone(shape: tuple[int, ...]) -> None:
    waves, pictures = Waves.of(shape), np.random.default_rng(0).random((6, *shape)).astype(np.float32)
    found = waves.coefficients(pictures)
    assert waves.pictures(found.astype(np.float32)).reshape(pictures.shape) == pytest.approx(pictures, abs=1e-4)
    assert np.array_equal(waves.coefficients(pictures[2:4]), found[2:4])
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.linalg.norm(pictures.reshape(6, -1), axis=1), rel=1e-4)
    bands = waves.bands(10)
    assert len(bands) == len(waves) - 10
    assert set(bands.tolist()) == set(range(bands.max() + 1))


def test_brightness_is_described_more_finely_than_colour() -> None:
    across = np.indices((32, 32, 3))[2].ravel()[Waves.of((32, 32, 3)).order[:135]]
    brightness, *colours = np.bincount(across)
    assert all(2 * one < brightness for one in colours)


def test_grey_waves_are_the_cosine_basis() -> None:
    pictures = np.random.default_rng(0).random((3, 12, 10)).astype(np.float32)
    found = Waves.of((12, 10)).coefficients(pictures)[:, :30]
    assert found == pytest.approx(pictures.reshape(3, -1) @ cosine_basis(12, 10, 30), abs=1e-5)


def test_textures_are_drawn_as_strong_as_they_were_measured() -> None:
    schema = replace(COLOUR, columns=(replace(COLOUR["image"], shape=(16, 16, 3)), COLOUR["label"]))
    strengths = np.array([[0.02], [0.1], [0.3]], dtype=np.float32) * np.ones((1, 16 * 16 * 3 - 4), dtype=np.float32)
    density = {
        "class_counts": np.ones(3),
        "means": np.tile([8.0, 0.0, 0.0, 0.0], (3, 1)),
        "centres": np.zeros((3, 1, 4)),
        "weights": np.ones((3, 1)),
        "loadings": np.zeros((3, 4, 4), dtype=np.float32),
        "texture": strengths,
    }
    images, label = drawing.draw_images(density, schema, 300, rng=np.random.default_rng(0))
    spread = [float(images[label == c].std()) for c in range(2)]
    assert spread == pytest.approx([0.02, 0.1], rel=0.1)
    assert drawing.variety_of(density).contrast < drawing.variety_of({}).contrast


def test_the_basis_is_orthonormal_and_low_frequencies_come_first() -> None:
    basis = cosine_basis(12, 10, 30)
    assert basis.T @ basis == pytest.approx(np.eye(30), abs=1e-5)
    assert basis[:, 0] == pytest.approx(1 / np.sqrt(120), abs=1e-6)
