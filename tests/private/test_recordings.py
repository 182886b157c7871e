"""Recordings become spectrograms, each alone: any bytes are a row, and nothing else changes."""

import struct
import wave
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.mechanisms import DPMix
from sfumato.private.intake.recordings import read_recording
from sfumato.private.intake.sources import open_source
from sfumato.public.schema.spectrogram import Spectrogram

FACTS = Spectrogram(bands=12, frames=10, seconds=0.5, highest=4000.0)
RATE = 8_000


def tone(pitch: float, *, seconds: float = 0.5, rate: int = RATE, loudness: float = 0.5) -> NDArray[np.float64]:
    return loudness * np.sin(2 * np.pi * pitch * np.arange(round(seconds * rate)) / rate)


def save(path: Path, samples: NDArray[np.float64], *, width: int = 2, rate: int = RATE, channels: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    full = 2.0 ** (8 * width - 1) - 1
    whole = np.round(samples * full).astype(np.int64)
    packed = (
        (whole + 128).astype("u1").tobytes()
        if width == 1
        else b"".join(int(s).to_bytes(width, "little", signed=True) for s in whole)
    )
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(packed)
    return path


def floats(samples: NDArray[np.float64], *, extended: bool = False, rate: int = RATE) -> bytes:
    code = struct.pack("<HHIIHH", 0xFFFE if extended else 3, 1, rate, 4 * rate, 4, 32)
    if extended:
        code += struct.pack("<HHI", 22, 32, 0) + struct.pack("<H", 3) + bytes(14)
    data = samples.astype("<f4").tobytes()
    body = b"LIST" + struct.pack("<I", 3) + b"abc\0" + b"fmt " + struct.pack("<I", len(code)) + code
    body += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="call", kind="image", shape=(12, 10), sound=(0.5, 4000)),
        sf.Column(name="bird", kind="categorical", categories=("wren", "owl")),
    ),
    target="bird",
    rows=60,
)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_samples_of_every_width_are_the_same_sound(tmp_path: Path, width: int) -> None:
    picture = read_recording(save(tmp_path / "a.wav", tone(1000), width=width), FACTS)
    expected = FACTS.of(tone(1000), rate=RATE)
    assert picture.max() == pytest.approx(expected.max(), abs=0.1)
    assert picture[:, 5].argmax() == expected[:, 5].argmax()


@pytest.mark.parametrize("extended", [False, True])
def test_floats_behind_other_chunks_are_read(tmp_path: Path, *, extended: bool) -> None:
    (tmp_path / "a.wav").write_bytes(floats(tone(700), extended=extended))
    picture = read_recording(tmp_path / "a.wav", FACTS)
    assert np.allclose(picture.clip(-80), FACTS.of(tone(700), rate=RATE).clip(-80), atol=0.05)


def test_a_sound_looks_alike_at_every_rate(tmp_path: Path) -> None:
    pictures = [
        read_recording(save(tmp_path / f"{rate}.wav", tone(900, rate=rate), rate=rate), FACTS)
        for rate in (RATE, 16_000, 44_100, 96_000)
    ]
    loud = pictures[0] > -40
    assert loud.any()
    assert all(np.abs(picture - pictures[0])[loud].max() < 1.5 for picture in pictures)


def test_channels_are_averaged(tmp_path: Path) -> None:
    both = np.stack([tone(1000), np.zeros(RATE // 2)], axis=1).ravel()
    halved = read_recording(save(tmp_path / "a.wav", both, channels=2), FACTS)
    assert halved.max() == pytest.approx(FACTS.of(tone(1000), rate=RATE).max() - 6.02, abs=0.1)


def test_longer_recordings_are_cut_and_shorter_ones_end_in_silence(tmp_path: Path) -> None:
    long = read_recording(save(tmp_path / "long.wav", tone(1000, seconds=5)), FACTS)
    assert np.allclose(long, read_recording(save(tmp_path / "a.wav", tone(1000)), FACTS))
    short = read_recording(save(tmp_path / "short.wav", tone(1000, seconds=0.2)), FACTS)
    assert short[:, -1].max() < -100 < short[:, 1].max()


def test_a_folder_of_recordings_is_a_source(tmp_path: Path) -> None:
    for name, pitch in (("wren", 3000.0), ("owl", 300.0)):
        for at in range(3):
            save(tmp_path / name / f"{at}.WAV", tone(pitch))
    (tmp_path / "owl" / "notes.txt").write_text("no recording")
    (tmp_path / "owl" / "picture.png").write_bytes(b"no recording either")
    chunk = next(iter(open_source(tmp_path, SCHEMA).chunks(["call", "bird"], rows=10)))
    assert list(chunk["bird"]) == ["owl"] * 3 + ["wren"] * 3
    assert chunk["call"].shape == (6, 12, 10)
    assert (chunk["call"][:3, :6].max(axis=(1, 2)) > chunk["call"][:3, 6:].max(axis=(1, 2))).all()
    mixing = DPMix(mixtures=4, degree=8)
    fitted = sf.fit(mixing, sf.Sensitive.read(tmp_path, SCHEMA), sf.Budget(epsilon=10, delta=1e-5))
    assert fitted.sample(4).images.shape == (4, 12, 10)


def test_a_broken_recording_is_silence_and_changes_its_own_row_alone(tmp_path: Path) -> None:
    good = save(tmp_path / "owl" / "1.wav", tone(300)).read_bytes()
    rows = []
    for broken in (b"", b"RIFF", good[:20], good[:60], b"\0" * 100, good.replace(b"RIFF", b"RIFX")):
        (tmp_path / "owl" / "2.wav").write_bytes(broken)
        rows.append(next(iter(open_source(tmp_path, SCHEMA).chunks(["call"], rows=10)))["call"])
    assert all(len(row) == 2 and np.array_equal(row[0], rows[0][0]) for row in rows)
    assert all(np.isfinite(row).all() for row in rows)
    assert rows[0][1].max() < -100


HEAD = floats(tone(700))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60), st.integers(0, len(HEAD[:80])), st.integers(0, 80))
def test_any_bytes_are_a_row(tmp_path: Path, part: bytes, at: int, dropped: int) -> None:
    (tmp_path / "a.wav").write_bytes(HEAD[:at] + part + HEAD[at + dropped :])
    picture = read_recording(tmp_path / "a.wav", FACTS)
    assert picture.shape == (12, 10)
    assert np.isfinite(picture).all()


def test_samples_that_are_no_numbers_are_cut_off(tmp_path: Path) -> None:
    odd = tone(700)
    odd[::3], odd[1::3] = np.nan, np.inf
    (tmp_path / "a.wav").write_bytes(floats(odd))
    assert np.isfinite(read_recording(tmp_path / "a.wav", FACTS)).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"sound": (1.0,)},
        {"sound": (0.0, 4000)},
        {"sound": (61.0, 4000)},
        {"sound": (1.0, -1.0)},
        {"sound": (1.0, float("nan"))},
        {"sound": (1.0, 4000), "shape": (4, 4, 3)},
    ],
)
def test_a_sound_that_means_nothing_is_refused(wrong: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(SchemaError, match="seconds, highest pitch"):
        sf.Column(**{"name": "call", "kind": "image", "shape": (8, 8), **wrong})


def test_sound_belongs_to_images() -> None:
    with pytest.raises(SchemaError, match="sound"):
        sf.Column(name="age", kind="integer", bounds=(0, 9), sound=(1.0, 4000))


def test_a_schema_with_sound_is_read_as_it_was_written() -> None:
    assert sf.Schema.parse(SCHEMA.to_toml()) == SCHEMA
    assert SCHEMA["call"].bounds == (-80.0, 0.0)
    plain = sf.Column(name="call", kind="image", shape=(12, 10))
    assert "sound" not in plain.to_json()
