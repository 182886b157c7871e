"""Pictures as a source: IDX pairs as MNIST uses them, and folders, with one subfolder for each class or without.

Recordings are pictures too: see `recordings`.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.errors import SourceError
from sfumato.private.intake import recordings
from sfumato.private.intake.quiet import silence
from sfumato.private.intake.tables import BROKEN, no_details, open_binary, read_block
from sfumato.private.intake.values import Values
from sfumato.public.spectrogram import Spectrogram

_IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".ppm")
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
#: What Pillow raises for a file that is no picture, or a broken one. Its many decoders share no base class.
#: An import that fails belongs to them: a decoder is loaded when a picture asks for it.
_UNREADABLE = (
    ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, ImportError, LookupError, MemoryError,
    OSError, RuntimeError, StopIteration, SyntaxError, TypeError, ValueError, struct.error, zlib.error,
    Image.DecompressionBombError,
)  # fmt: skip


class IdxSource:
    """A file of pictures and, beside it, one of labels."""

    def __init__(self, path: Path) -> None:
        """Read both headers. The labels are optional until somebody asks for them."""
        self._paths = {"image": path}
        self.shapes = {"image": _idx_header(path)[0]}
        labels = _labels_beside(path)
        if labels is not None and labels.exists():
            self._paths["label"] = labels
            self.shapes["label"] = _idx_header(labels)[0]
            if self.shapes["label"][:1] != self.shapes["image"][:1]:
                raise SourceError(f"{path} and {labels} do not hold the same number of rows. Use files of one set.")

    @property
    def names(self) -> tuple[str, ...]:
        """`image`, and `label` where there is a labels file."""
        return tuple(self._paths)

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """Slices of both files, read side by side."""
        parts = {name: self._slices(name, rows) for name in names}
        for _ in range(0, self.shapes["image"][0], rows):
            yield {name: next(parts[name]) for name in names}

    def _slices(self, name: str, rows: int) -> Iterator[Values]:
        path = self._paths[name]
        (n_rows, *inner), dtype = _idx_header(path)
        try:
            with open_binary(path) as stream:
                stream.read(4 * (len(inner) + 2))
                for start in range(0, n_rows, rows):
                    yield read_block(stream, (min(rows, n_rows - start), *inner), dtype)
        except BROKEN:
            raise SourceError(f"{path} is damaged: it is shorter than its header says.") from None


def _labels_beside(path: Path) -> Path | None:
    for mark in ("-", "."):
        if f"images{mark}idx3" in path.name:
            return path.with_name(path.name.replace(f"images{mark}idx3", f"labels{mark}idx1"))
    return None


def _idx_header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        with open_binary(path) as stream:
            magic = stream.read(4)
            if len(magic) == 4 and magic[:2] == b"\0\0" and magic[2] in _IDX_TYPES and 0 < magic[3] < 5:
                sides = stream.read(4 * magic[3])
                return struct.unpack(f">{magic[3]}I", sides), np.dtype(_IDX_TYPES[magic[2]])
    except BROKEN:
        pass
    raise SourceError(f"{path} is not an IDX file, whatever its name says. Use the files as MNIST has them.")


class FolderSource:
    """A folder of pictures, or of recordings where `sound` is given: one subfolder for each class, or none and no classes.

    Every picture is brought to the channels and the size of the schema; one that cannot be read is a
    blank one. So a picture changes its own row and nothing else. What folders there are is public structure; how
    many pictures lie in them is not, so a folder without any is a dataset like every other.
    """

    def __init__(self, path: Path, *, shape: tuple[int, ...], sound: Spectrogram | None = None) -> None:
        """Look at the subfolders; those whose names begin with a point are not meant."""
        self._shape, self._sound = shape, sound
        self._classes = _subfolders(path)
        self._folders = self._classes or [path]
        inner = next((folder for folder in self._classes if _subfolders(folder)), None)
        if inner is not None:
            raise SourceError(
                f"{inner} has subfolders of its own. Give the folder whose subfolders are the classes, "
                "such as the one of the training part."
            )
        if len(shape) == 3 and shape[2] not in _MODES:
            raise SourceError(f"pictures from files have 1 to 4 channels, and the schema declares {shape[2]}.")

    @property
    def names(self) -> tuple[str, ...]:
        """`image`, and `label` where there are subfolders."""
        return ("image", "label") if self._classes else ("image",)

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """Pictures as bytes, or as decibels of recordings, and the names of their subfolders."""
        suffixes = _SUFFIXES if self._sound is None else recordings.SUFFIXES
        private_pictures: list[NDArray[Any]] = []
        private_labels: list[str] = []
        for folder in self._folders:
            for file in _sorted(folder):
                if not file.name.lower().endswith(suffixes):
                    continue
                if "image" in names:
                    private_pictures.append(self._read(file))
                private_labels.append(folder.name)
                if len(private_labels) == rows:
                    yield self._stack(names, private_pictures, private_labels)
                    private_pictures, private_labels = [], []
        if private_labels:
            yield self._stack(names, private_pictures, private_labels)

    def _read(self, file: Path) -> NDArray[Any]:
        if self._sound is not None:
            return recordings.read_recording(file, self._sound)
        return _read_picture(file, self._shape)

    def _stack(self, names: Sequence[str], pictures: list[NDArray[Any]], labels: list[str]) -> dict[str, Values]:
        columns = {"image": np.stack(pictures) if pictures else None, "label": np.array(labels, dtype=object)}
        return {name: columns[name] for name in names}


def _subfolders(folder: Path) -> list[Path]:
    with no_details(folder, "a readable folder"), os.scandir(folder) as entries:
        return sorted(folder / entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _sorted(folder: Path) -> list[Path]:
    with no_details(folder, "a readable folder"):
        return [folder / name for name in sorted(os.listdir(folder))]


def _read_picture(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    height, width = shape[:2]
    mode = _MODES[shape[2] if len(shape) == 3 else 1]
    try:
        # What a decoder says about a picture is an output that depends on it.
        with silence(), Image.open(path) as private_picture:
            private_plain = _eight_bit(private_picture).convert(mode)
            if private_plain.size != (width, height):
                private_plain = private_plain.resize((width, height), Image.Resampling.BILINEAR)
            return np.asarray(private_plain, dtype=np.uint8).reshape(shape)
    except _UNREADABLE:
        return np.zeros(shape, dtype=np.uint8)


def _eight_bit(picture: Image.Image) -> Image.Image:
    # Pillow cuts 16-bit greys off at 255; the upper eight bits are what is meant.
    if picture.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    return picture
