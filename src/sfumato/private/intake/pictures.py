"""Pictures as a source: IDX pairs as MNIST uses them, and folders, with one subfolder for each class or without.

Recordings are pictures too: see `recordings`.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.errors import SourceError
from sfumato.private.intake.quiet import silence
from sfumato.private.intake.recordings import RECORDINGS, read_recording
from sfumato.private.intake.tables import no_details, open_binary, read_block
from sfumato.private.intake.values import Values
from sfumato.public.damaged import DAMAGED
from sfumato.public.schema.column import Column

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
        for mark in ("-", "."):
            labels = path.with_name(path.name.replace(f"images{mark}idx3", f"labels{mark}idx1"))
            if labels != path and labels.exists():
                self._paths["label"] = labels
        self.names = tuple(self._paths)
        self.shapes = {name: _idx_header(file)[0] for name, file in self._paths.items()}
        if len({shape[0] for shape in self.shapes.values()}) > 1:
            both = f"{path} and {self._paths['label']}"
            raise SourceError(f"{both} do not hold the same number of rows. Use files of one set.")

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """Slices of both files, read side by side."""
        for parts in zip(*(self._slices(name, rows) for name in names), strict=True):
            yield dict(zip(names, parts, strict=True))

    def _slices(self, name: str, rows: int) -> Iterator[Values]:
        path = self._paths[name]
        (n_rows, *inner), dtype = _idx_header(path)
        try:
            with open_binary(path) as stream:
                stream.read(4 * (len(inner) + 2))
                for start in range(0, n_rows, rows):
                    yield read_block(stream, (min(rows, n_rows - start), *inner), dtype)
        except DAMAGED:
            raise SourceError(f"{path} is damaged: it is shorter than its header says.") from None


def _idx_header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        with open_binary(path) as stream:
            magic = stream.read(4)
            if len(magic) == 4 and magic[:2] == b"\0\0" and magic[2] in _IDX_TYPES and 0 < magic[3] < 5:
                sides = stream.read(4 * magic[3])
                return struct.unpack(f">{magic[3]}I", sides), np.dtype(_IDX_TYPES[magic[2]])
    except DAMAGED:
        pass
    raise SourceError(f"{path} is not an IDX file, whatever its name says. Use the files as MNIST has them.")


class FolderSource:
    """A folder of pictures: one subfolder for each class, or no subfolders and no classes.

    Every picture is brought to the channels and the size of the schema; one that cannot be read is a
    blank one. So a picture changes its own row and nothing else. What folders there are is public structure; how
    many pictures lie in them is not, so a folder without any is a dataset like every other.
    """

    def __init__(self, path: Path, column: Column | None) -> None:
        """Look at the subfolders; those whose names begin with a point are not meant."""
        classes = _subfolders(path)
        shape = (1, 1) if column is None else column.shape
        self._shape, self._folders = shape, classes or [path]
        self._sound = None if column is None else column.spectrogram
        self.names = ("image", "label") if classes else ("image",)
        inner = next((folder for folder in classes if _subfolders(folder)), None)
        if inner is not None:
            raise SourceError(
                f"{inner} has subfolders of its own. Give the folder whose subfolders are the classes, "
                "such as the one of the training part."
            )
        if len(shape) == 3 and shape[2] not in _MODES:
            raise SourceError(f"pictures from files have 1 to 4 channels, and the schema declares {shape[2]}.")

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """Pictures as bytes, or recordings in decibels, and the names of their subfolders."""
        suffixes = _SUFFIXES if self._sound is None else RECORDINGS
        private_files = (file for folder in self._folders for file in _files_in(folder, suffixes))
        while private_some := list(islice(private_files, rows)):
            private_columns: dict[str, Values] = {}
            if "image" in names:
                private_columns["image"] = np.stack([self._read(file) for file in private_some])
            private_columns["label"] = np.array([file.parent.name for file in private_some], dtype=object)
            yield {name: private_columns[name] for name in names}

    def _read(self, file: Path) -> NDArray[Any]:
        return _read_picture(file, self._shape) if self._sound is None else read_recording(file, self._sound)


def _subfolders(folder: Path) -> list[Path]:
    with no_details(folder, "a readable folder"), os.scandir(folder) as entries:
        return sorted(folder / entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _files_in(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    with no_details(folder, "a readable folder"):
        return [folder / name for name in sorted(os.listdir(folder)) if name.lower().endswith(suffixes)]


def _read_picture(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    height, width = shape[:2]
    mode = _MODES[shape[2] if len(shape) == 3 else 1]
    try:
        # What a decoder says about a picture is an output that depends on it.
        with silence(), Image.open(path) as private_picture:
            private_plain: Image.Image = private_picture
            if private_picture.mode.startswith("I;16"):
                # Pillow cuts 16-bit greys off at 255; the upper eight bits are what is meant.
                private_plain = Image.fromarray((np.asarray(private_picture) >> 8).astype(np.uint8))
            private_plain = private_plain.convert(mode)
            if private_plain.size != (width, height):
                private_plain = private_plain.resize((width, height), Image.Resampling.BILINEAR)
            return np.asarray(private_plain, dtype=np.uint8).reshape(shape)
    except _UNREADABLE:
        return np.zeros(shape, dtype=np.uint8)
