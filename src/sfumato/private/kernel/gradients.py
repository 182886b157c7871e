"""The inside of the door `noisy_gradients`: clipped gradients of one example each, summed in integers.

The loss is written for one example and mapped over a microbatch, so a gradient can see its own row and the public
parameters and nothing else. Every microbatch has the same shape, whoever takes part: places that are left over hold
public rows, whose gradients are dropped. Proof: docs/proofs/noisy-gradients.md.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ContractError, PlanError
from sfumato.private.prepared import regrouped
from sfumato.private.row_alone import n_rows_of
from sfumato.public.block import Dense
from sfumato.public.doors import Loss, Tensor
from sfumato.public.schema import Batch
from sfumato.public.step import Everyone, Poisson, Step
from sfumato.public.torch_extra import need_torch

#: What a loss may raise on public rows, to be told in our words.
_VALUE_ERRORS = (RuntimeError, ValueError, IndexError, ArithmeticError)
_CELLS = 1 << 23  # gradient entries held at once where nobody says: 64 MB of float64
_MOST_ROWS = 256
_CLOSE = 1e-3  # of a row's norm: what float arithmetic may change; more means that rows are mixed


def gradient_block(step: Step) -> Dense:
    """The one block of a step that the door can carry out."""
    block = step.blocks[0]
    if len(step.blocks) > 1 or not isinstance(block, Dense) or block.nonnegative or step.mixtures * step.groups > 1:
        raise PlanError(f"step {step.name!r}: gradients need one dense block, without mixtures or groups.")
    if not isinstance(step.sampling, Everyone | Poisson):
        raise PlanError(f"step {step.name!r}: gradients are summed over everyone or over a Poisson sample.")
    return block


def default_rows(width: int, *, expected: float | None) -> int:
    """How many rows a microbatch holds where nobody says: a power of 2, no more than are expected to take part.

    >>> default_rows(1000, expected=None), default_rows(10**6, expected=None), default_rows(1000, expected=30.0)
    (256, 8, 32)
    """
    most = max(1, min(_MOST_ROWS, _CELLS // width))
    rows = 1
    while 2 * rows <= most and (expected is None or rows < expected):
        rows *= 2
    return rows


class GradientSum:
    """Sums of one loss's clipped gradients, in microbatches of a public shape."""

    def __init__(
        self,
        step: Step,
        loss: Loss,
        *,
        clip: Callable[[Tensor, Dense], Tensor],
        public_rows: Callable[[int], Batch],
        device: str | None,
        microbatch: int | None,
        expected: float | None,
    ) -> None:
        """Nothing is computed yet. `public_rows` makes up as many rows as it is asked for.

        `expected` is the public number of rows that take part on average, where there is one.
        """
        if microbatch is not None and microbatch < 1:
            raise PlanError(f"microbatch = {microbatch} must be at least 1.")
        self._torch = need_torch("noisy_gradients")
        self._block = gradient_block(step)
        self._step = step.name
        self.loss = loss
        self._clip = clip
        self._device = device or ("cuda" if self._torch.cuda.is_available() else "cpu")
        self.asked = (device, microbatch)
        self.rows = microbatch or default_rows(self._block.width, expected=expected)
        self._public = public_rows(2 * self.rows)
        self._parameters: dict[str, Tensor] = {}

    def at(self, parameters: Mapping[str, Any]) -> "GradientSum":
        """Take public parameters to differentiate at."""
        self._parameters = {
            name: self._torch.as_tensor(value).detach().to(self._device) for name, value in parameters.items()
        }
        width = sum(value.numel() for value in self._parameters.values())
        if width != self._block.width:
            raise PlanError(
                f"step {self._step!r} plans {self._block.width} gradient entries, and the parameters have {width}."
            )
        if len({value.dtype for value in self._parameters.values()}) > 1 or not self._dtype.is_floating_point:
            raise PlanError(f"step {self._step!r}: the parameters must all be of the same floating-point type.")
        return self

    @property
    def _dtype(self) -> Any:
        return next(iter(self._parameters.values())).dtype

    def check(self) -> None:
        """Try the loss on public rows, and settle on microbatches in which a row's integers stay the same.

        They must not change with the row's place and with the rows beside it. What float arithmetic changes is met by
        smaller microbatches, down to a single row; what changes more than that is refused.
        """
        while True:
            try:
                change = self._with_room(self._change)
            except _VALUE_ERRORS as error:
                raise ContractError(
                    f"the loss of step {self._step!r} cannot be taken of one example at a time: {error} "
                    "If it uses randomness (dropout) or keeps state (batch normalisation), use layers without."
                ) from error
            if change > _CLOSE:
                raise ContractError(
                    f"the loss of step {self._step!r} gives a row another gradient when other rows stand beside it, or "
                    "when it is asked again. Compute from the one example and the parameters alone."
                )
            if change == 0 or self.rows == 1:
                return
            self._halve()

    def _change(self) -> float:
        """How much a row's integers change, relative to its norm, when it is moved and its neighbours are replaced."""
        n = self.rows
        order = np.random.default_rng(21).permutation(n)
        kept = order[: max(1, n // 2)]
        others = np.arange(n, 2 * n)
        moved = np.concatenate([kept, others])[:n]
        one = self._integers({name: values[:n] for name, values in self._public.items()})[kept]
        two = self._integers({name: values[moved] for name, values in self._public.items()})[: len(kept)]
        if bool((one == two).all()):
            return 0.0
        one, two = one.double(), two.double()
        size = self._torch.maximum(one.norm(dim=1), two.norm(dim=1)) + math.sqrt(self._block.width)
        return float(((one - two).norm(dim=1) / size).max())

    def over(self, private_batches: Iterable[Batch]) -> NDArray[np.int64]:
        """The exact sum over all rows of their clipped gradients. Whatever the rows hold, it gives one."""
        private_total = self._nothing()
        for private_rows in regrouped(private_batches, rows=self.rows):
            private_total += self._with_room(partial(self._sum_of, private_rows))
        summed: NDArray[np.int64] = private_total.cpu().numpy()
        return summed

    def _nothing(self) -> Tensor:
        return self._torch.zeros(self._block.width, dtype=self._torch.int64, device=self._device)

    def _sum_of(self, private_rows: Batch) -> Tensor:
        private_total = self._nothing()
        for start in range(0, n_rows_of(private_rows), self.rows):
            private_piece = {name: values[start : start + self.rows] for name, values in private_rows.items()}
            private_sum = self._attempt(private_piece)
            private_total += self._one_by_one(private_piece) if private_sum is None else private_sum
        return private_total

    def _attempt(self, private_rows: Batch) -> Tensor | None:
        """The sum over up to a microbatch of rows; None where some row's values make the loss fail."""
        n_rows = n_rows_of(private_rows)
        filled = {
            name: np.concatenate([values, self._public[name][: self.rows - n_rows]])
            for name, values in private_rows.items()
        }
        try:
            return self._integers(filled)[:n_rows].sum(dim=0)
        except (Exception, SystemExit) as error:
            if _is_memory(error):
                raise
            return None

    def _one_by_one(self, private_rows: Batch) -> Tensor:
        """Each row among public ones: a row that fails there, too, counts as 0, and no other row with it."""
        private_total = self._nothing()
        for at in range(n_rows_of(private_rows)):
            private_sum = self._attempt({name: values[at : at + 1] for name, values in private_rows.items()})
            if private_sum is not None:
                private_total += private_sum
            elif self._attempt({name: values[:1] for name, values in self._public.items()}) is None:
                raise ContractError(
                    f"the loss of step {self._step!r} fails on public rows, too, after it had worked on them. "
                    "Its message is withheld, because it may hold private values."
                )
        return private_total

    def _integers(self, rows: Batch) -> Tensor:
        """Clipped gradients of a full microbatch, one a row."""
        torch = self._torch
        example = {name: self._tensor(values) for name, values in rows.items()}
        gradient_of = torch.func.vmap(torch.func.grad(self.loss), in_dims=(None, 0), randomness="error")
        by_parameter = gradient_of(self._parameters, example)
        n_rows = n_rows_of(rows)
        flat = torch.cat([by_parameter[name].reshape(n_rows, -1) for name in self._parameters], dim=1)
        return self._clip(flat.detach(), self._block)

    def _tensor(self, values: NDArray[Any]) -> Tensor:
        tensor = self._torch.from_numpy(np.ascontiguousarray(values))
        return tensor.to(self._device, self._dtype if tensor.is_floating_point() else self._torch.int64)

    def _with_room(self, compute: Callable[[], Any]) -> Any:
        """Compute anew with smaller microbatches until memory suffices: no row is ever left out."""
        while True:
            try:
                return compute()
            except (RuntimeError, MemoryError) as error:
                if not _is_memory(error):
                    raise
            if self.rows == 1:
                raise PlanError(
                    f"step {self._step!r}: the gradient of a single row does not fit into the memory of {self._device}. "
                    "Use a smaller network, or another device."
                )
            self._halve()
            if self._torch.cuda.is_available():
                self._torch.cuda.empty_cache()

    def _halve(self) -> None:
        self.rows //= 2
        self._public = {name: values[: 2 * self.rows] for name, values in self._public.items()}


def _is_memory(error: BaseException) -> bool:
    """Whether memory ran out: by torch's own type on a GPU, by the name of the allocator on a CPU."""
    torch = need_torch("noisy_gradients")
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error)
