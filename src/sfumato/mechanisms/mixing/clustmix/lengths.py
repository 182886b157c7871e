"""How long rows are, by noisy histograms: of their places and of their vectors, in one step."""

from dataclasses import replace

from sfumato.mechanisms.common.clusters import length_block, length_cell, mean_square, typical_length
from sfumato.mechanisms.common.prepared import PLACE, VECTOR
from sfumato.mechanisms.mixing.clustmix.stages import Lengths
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Doors

#: Names of the histograms, and the columns whose lengths they count.
_COLUMNS = {"place": PLACE, "vector": VECTOR}


def length_blocks() -> tuple[Hot, ...]:
    """A histogram of either length, with half of the precision each."""
    return tuple(replace(length_block(name), share=0.5) for name in _COLUMNS)


def measure_lengths(view: Doors, step: str, *, longest: float) -> Lengths:
    """Of the prepared columns, on a scale that ends at the `longest` possible one."""
    noisy = view.noisy_sum(step, lambda batch: {name: length_cell(batch[at], longest) for name, at in _COLUMNS.items()})
    place, vector = (
        typical_length(noisy[name].values, stddev=noisy[name].stddev, longest=longest) for name in _COLUMNS
    )
    return Lengths(place, vector, mean_square(noisy["place"].values, place, longest=longest))
