"""Private rows as the doors read them: in batches of one public shape, read and encoded once, and kept for later passes."""

from collections.abc import Iterator
from dataclasses import replace

from sfumato.private.intake.sensitive import Sensitive, open_persons
from sfumato.private.rows.batches import Batches, Piece, regrouped, rows_at_once
from sfumato.private.rows.freed import give_back
from sfumato.private.rows.room import Room
from sfumato.private.rows.row_alone import RowMap
from sfumato.public.plan.doors import GroupOf
from sfumato.public.schema.schema import Schema


class KeptRows(Batches):
    """Batches that are kept here, each with the prepared columns beside its own."""

    def __init__(self, schema: Schema, *, room: Room | None = None) -> None:
        """Begin without rows."""
        super().__init__(schema)
        self._room = room or Room()
        self._private_kept = list[Piece]()

    def keep(self, piece: Piece) -> int:
        """Add a batch behind the others. Returns how many private rows it has."""
        self.keep_packed(self.packed(piece))
        return piece.n_rows

    def keep_packed(self, piece: Piece) -> None:
        """The same for one that is packed already."""
        self._private_kept.append(replace(piece, batch=self._room.keep(piece.batch)))

    def move(self, first: int) -> None:
        """Move all rows so many places on: those of another process lie before them."""
        self._private_kept = [replace(piece, first=piece.first + first) for piece in self._private_kept]

    def prepare(self, name: str, per_record: GroupOf) -> RowMap:
        """Add a column, or work on from one of that name. Rows that are kept get it at once."""
        row_map = super().prepare(name, per_record)
        for at, private_piece in enumerate(self._private_kept):
            private_column = self.packed_column(private_piece, name, row_map)
            joined = self._room.joined(private_piece.batch, name, private_column)
            self._private_kept[at] = replace(private_piece, batch=joined)
        give_back()
        return row_map

    def __iter__(self) -> Iterator[Piece]:
        """All batches, as they were."""
        yield from map(self.unpacked, self._private_kept)

    def close(self) -> None:
        """Forget the rows."""
        self._private_kept.clear()
        self._room.close()


class PreparedRows(KeptRows):
    """The rows of a dataset: read at the first pass, from memory or scratch at all later ones."""

    def __init__(self, data: Sensitive, *, schema: Schema, keep: bool) -> None:
        """Nothing is read yet. Without `keep`, every pass reads anew."""
        super().__init__(schema)
        self._data, self._keeps, self._is_read = data, keep, False

    def __iter__(self) -> Iterator[Piece]:
        """All batches."""
        if self._is_read:
            yield from super().__iter__()
            return
        self._private_kept.clear()  # what a pass left that did not come to its end
        for private_piece in pieces_of(self._data, self):
            if self._keeps:
                self.keep(private_piece)
            yield private_piece
        self._is_read = self._keeps
        give_back()


def pieces_of(data: Sensitive, batches: Batches) -> Iterator[Piece]:
    """The rows of a dataset in full batches, read and encoded anew."""
    first = 0
    for private_rows in regrouped(open_persons(data, rows=rows_at_once(batches.schema)), rows=batches.rows):
        private_piece = batches.completed(private_rows, first=first)
        first += private_piece.n_rows
        yield private_piece
