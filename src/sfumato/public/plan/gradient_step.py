"""What is public about a step of gradients: which steps the door can carry out, and how many rows it takes at once."""

from collections.abc import Mapping
from typing import Any

from sfumato.errors import PlanError
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.block import Dense
from sfumato.public.plan.doors import Tensor
from sfumato.public.plan.step import Everyone, Poisson, Step

#: Gradient entries held at once where nobody says: 64 MB of float64, and 1 GB on a GPU, which waits between small batches.
_CELLS, _CELLS_ON_GPU = 1 << 23, 1 << 27
_MOST_ROWS = 256


def gradient_block(step: Step) -> Dense:
    """The one block of a step that the door can carry out."""
    block = step.blocks[0]
    if len(step.blocks) > 1 or not isinstance(block, Dense) or block.nonnegative or step.mixtures * step.groups > 1:
        raise PlanError(f"step {step.name!r}: gradients need one dense block, without mixtures or groups.")
    if not isinstance(step.sampling, Everyone | Poisson):
        raise PlanError(f"step {step.name!r}: gradients are summed over everyone or over a Poisson sample.")
    if step.person_bound is not None:
        raise PlanError(f"step {step.name!r}: gradients are clipped row by row. Leave out person_bound.")
    return block


def microbatch_rows(step: Step, *, declared: int | None, asked: int | None, device: str = "cpu") -> int:
    """How many rows a microbatch holds: as asked for, or a power of 2, no more than are expected to take part."""
    if asked is not None and asked < 1:
        raise PlanError(f"microbatch = {asked} must be at least 1.")
    expected = declared * step.sampling.rate if declared is not None and isinstance(step.sampling, Poisson) else None
    cells = _CELLS if device == "cpu" else _CELLS_ON_GPU
    most = max(1, min(_MOST_ROWS, cells // gradient_block(step).width))
    rows = 1
    while 2 * rows <= most and (expected is None or rows < expected):
        rows *= 2
    return asked or rows


def as_tensors(parameters: Mapping[str, Any], *, step: Step, device: str) -> dict[str, Tensor]:
    """Public parameters on their device, refused where they are not what the step plans."""
    torch, width = need_torch("noisy_gradients"), gradient_block(step).width
    tensors = {name: torch.as_tensor(value).detach().to(device) for name, value in parameters.items()}
    entries = sum(tensor.numel() for tensor in tensors.values())
    if entries != width:
        raise PlanError(f"step {step.name!r} plans {width} gradient entries, and the parameters have {entries}.")
    types = {tensor.dtype for tensor in tensors.values()}
    if len(types) > 1 or not all(kind.is_floating_point for kind in types):
        raise PlanError(f"step {step.name!r}: the parameters must all be of the same floating-point type.")
    return tensors
