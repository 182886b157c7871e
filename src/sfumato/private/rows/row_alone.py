"""A map acts on each row alone, to the last bit: the sensitivity of every door rests on it.

What a library computes for a row can depend on how many rows it is given and on the row's place among them, because
another number or another place means another order of additions. So a map is handed batches of one public number of rows
for as long as it is used, filled up with public rows where private ones run out, and before it sees any private row it is
tried on public ones: the same row at another place, among other rows, must give the same bits. Where it does not, batches
are halved until it does; a single row has one place and no neighbours.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ContractError
from sfumato.public.plan.doors import PerRecord
from sfumato.public.plan.probe import take
from sfumato.public.schema.schema import Batch

Values = dict[str, NDArray[Any]]
#: What arithmetic in another order may change; more means that a map mixes rows.
_CLOSE = {"rtol": 1e-3, "atol": 1e-5}


class RowMap:
    """A map with the one batch size that it is used with."""

    def __init__(self, per_record: PerRecord, *, public_rows: Batch, rows: int) -> None:
        """Try the map on public rows, at least twice as many as a batch holds."""
        self._per_record, self._public, self.rows = per_record, public_rows, rows
        self._tried = self._try()

    @property
    def widths(self) -> dict[str, int]:
        """How many columns the map gives, by name."""
        return {name: values.shape[1] for name, values in self._tried.items()}

    @property
    def digest(self) -> bytes:
        """Of what the map gives for public rows, to the last bit: a processor that rounds otherwise has another one."""
        digest = hashlib.sha256(repr((self.rows, sorted(self.widths.items()))).encode())
        for _, values in sorted(self._tried.items()):
            digest.update(values.dtype.str.encode() + np.ascontiguousarray(values).tobytes())
        return digest.digest()

    def __call__(self, private_batch: Batch, *, n_rows: int) -> tuple[Values, NDArray[np.bool_]]:
        """What the map gives for the first `n_rows` rows of a full batch, and which of them count.

        A row over which the map stumbles counts as nothing, and no other row with it.
        """
        private_pieces = []
        for start in range(0, max(n_rows, 1), self.rows):
            private_piece = _some_rows(private_batch, slice(start, start + self.rows))
            private_pieces.append(self._values_or_nothing(private_piece, n_rows=min(n_rows - start, self.rows)))
        if len(private_pieces) == 1:
            return private_pieces[0]
        joined = {name: np.concatenate([values[name] for values, _ in private_pieces]) for name in self._tried}
        return joined, np.concatenate([counts for _, counts in private_pieces])

    def _values_or_nothing(self, private_piece: Batch, *, n_rows: int) -> tuple[Values, NDArray[np.bool_]]:
        private_values = self._attempt(private_piece)
        if private_values is not None:
            return {name: values[:n_rows] for name, values in private_values.items()}, np.ones(n_rows, dtype=bool)
        counts = np.zeros(n_rows, dtype=bool)
        out = {name: np.zeros((n_rows, *v.shape[1:]), dtype=v.dtype) for name, v in self._tried.items()}
        for at in range(n_rows):
            # At its own place, among public rows.
            mixed = {name: self._public[name][: self.rows].copy() for name in private_piece}
            for name, column in mixed.items():
                column[at] = private_piece[name][at]
            private_values = self._attempt(frozen(mixed))
            if private_values is None:
                self._must_work_on_public_rows()
                continue
            counts[at] = True
            for name, values in private_values.items():
                out[name][at] = values[at]
        return out, counts

    def _attempt(self, batch: Batch) -> Values | None:
        """The values of a full batch; None if the map raises or gives something else than on public rows."""
        is_interrupted = False
        try:
            values = self._values(batch)
        except KeyboardInterrupt:
            is_interrupted = True
        except BaseException:  # noqa: BLE001 - whatever a map raises over private rows would be an output
            return None
        if is_interrupted:
            raise KeyboardInterrupt  # a new one, which holds nothing: a map may have raised the first
        fits = values.keys() == self._tried.keys() and all(
            v.shape == self._tried[name].shape and v.dtype == self._tried[name].dtype for name, v in values.items()
        )
        return values if fits else None

    def _values(self, batch: Batch) -> Values:
        # Of one type, whoever they are: a map must not be able to tell private rows from those that it is tried on.
        given = self._per_record(batch if isinstance(batch, Columns) else _some_rows(batch, slice(None)))
        values = {name: np.asarray(v) for name, v in given.items()}
        return {name: v[:, None] if v.ndim == 1 else v for name, v in values.items()}

    def _must_work_on_public_rows(self) -> None:
        if self._attempt(frozen(take(self._public, np.arange(self.rows)))) is None:
            raise ContractError(
                "a per_record map fails on public rows after it had worked on them. Its message is withheld, because it "
                "may hold private values."
            )

    def _try(self) -> Values:
        while True:
            n = self.rows
            rng = np.random.default_rng(n)
            kept, places = rng.permutation(n)[: (n + 1) // 2], rng.permutation(n)[: (n + 1) // 2]
            other = np.arange(n, 2 * n)
            other[places] = kept
            with np.errstate(all="ignore"):
                one, two = (self._values(frozen(take(self._public, rows))) for rows in (np.arange(n), other))
            if any(v.ndim != 2 or len(v) != n for v in (*one.values(), *two.values())):
                raise ContractError("a per_record map must give one row of values for each row of the batch.")
            if not all(_is_plain(v.dtype) for v in one.values()):
                raise ContractError(
                    "a per_record map must give truth values, whole numbers, float32 or float64. What a door made of other "
                    "types could fail over a private value."
                )
            if one.keys() == two.keys() and all(_same(one[name][kept], two[name][places]) for name in one):
                return one
            close = one.keys() == two.keys() and all(is_close(one[name][kept], two[name][places]) for name in one)
            if not close or n == 1:
                raise ContractError(
                    "a per_record map gives a row another value when other rows stand beside it, or when it is asked "
                    "again, so its sensitivity is unbounded. Compute from each row alone; take means, ranks or scales "
                    "from the schema or from a door."
                )
            self.rows = n // 2


class Columns(Mapping[str, NDArray[Any]]):
    """A batch whose columns are made when they are asked for: most maps read few of them."""

    def __init__(self, names: Batch, column: Callable[[str], NDArray[Any]]) -> None:
        self._names, self._column = names, column

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._column(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _some_rows(batch: Batch, rows: slice) -> Columns:
    return Columns(batch, lambda name: batch[name][rows])


def frozen(batch: Batch) -> Batch:
    """The same rows, which nobody may write into."""
    for values in batch.values():
        values.flags.writeable = False
    return batch


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def _is_plain(kind: np.dtype[Any]) -> bool:
    """Types that every value of can be clipped: an object that is no number would raise behind the map's back."""
    return kind.isnative and (kind.kind in "biu" or kind in (np.float32, np.float64))


def is_close(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two values differ by no more than arithmetic in another order explains."""
    numbers = a.dtype.kind in "biuf" and a.dtype == b.dtype and a.shape == b.shape
    return numbers and bool(np.allclose(a, b, equal_nan=True, **_CLOSE))
