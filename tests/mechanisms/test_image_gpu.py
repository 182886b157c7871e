"""Labels of synthetic images by a GPU: what the processor says, up to rounding; and what happens where there is none."""

import ctypes

import numpy as np
import pytest

import sfumato.mechanisms.image.synthetic_inputs as looking
from sfumato.learn.oriented import n_features, oriented_features
from sfumato.learn.oriented_torch import torch_features
from sfumato.public.machine import torch_extra

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
IMAGES = RNG.random((40, 28, 28)).astype(np.float32)
MEAN = RNG.normal(0, 0.01, n_features(1)).astype(np.float32)
MATRIX = RNG.normal(size=(n_features(1), 6)).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(28, 28), (28, 28, 3), (17, 40)])
def test_features_by_torch_are_the_features(shape: tuple[int, ...]) -> None:
    images = RNG.random((30, *shape)).astype(np.float32)
    images[0] = 0.0
    found = torch_features(torch, images, device="cpu").numpy()
    assert found == pytest.approx(oriented_features(images), abs=1e-5)


def as_if_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The path of a GPU, walked on the processor. Returns the list of devices that are asked for."""
    asked, on_device = [], looking._on_device
    monkeypatch.setattr(looking, "torch_with_gpu", lambda: torch)
    monkeypatch.setattr(
        looking, "_on_device", lambda *given, device: asked.append(device) or on_device(*given, device="cpu")
    )
    return asked


def test_a_gpu_sees_what_the_processor_sees(monkeypatch) -> None:
    monkeypatch.setattr(looking, "torch_with_gpu", lambda: None)
    plain = looking.teacher_inputs(IMAGES, MEAN, MATRIX)
    asked = as_if_on_a_gpu(monkeypatch)
    assert looking.teacher_inputs(IMAGES, MEAN, MATRIX) == pytest.approx(plain, abs=1e-4)
    assert asked == ["cuda"]


def test_a_gpu_without_memory_is_said_and_another_failure_is_not_hidden(monkeypatch) -> None:
    monkeypatch.setattr(looking, "torch_with_gpu", lambda: None)
    plain = looking.teacher_inputs(IMAGES, MEAN, MATRIX)
    as_if_on_a_gpu(monkeypatch)

    def fails(error: Exception):
        def on_device(*_: object, device: str) -> None:
            raise error

        return on_device

    monkeypatch.setattr(looking, "_on_device", fails(torch.OutOfMemoryError("full")))
    with pytest.warns(UserWarning, match="no memory left"):
        found = looking.teacher_inputs(IMAGES, MEAN, MATRIX)
    assert np.array_equal(found, plain)
    monkeypatch.setattr(looking, "_on_device", fails(RuntimeError("broken")))
    with pytest.raises(RuntimeError, match="broken"):
        looking.teacher_inputs(IMAGES, MEAN, MATRIX)


def test_torch_is_not_even_imported_without_a_driver(monkeypatch) -> None:
    def no_library(name: str) -> None:
        raise OSError(name)

    def imported(name: str) -> None:
        raise AssertionError(f"{name} was imported")

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    monkeypatch.setattr(torch_extra.importlib, "import_module", imported)
    assert torch_extra.torch_with_gpu() is None
