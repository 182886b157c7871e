"""The inside of the door `noisy_gradients`: clipped gradients of one example each, summed in integers.

The loss is written for one example and mapped over a microbatch, so a gradient can see its own row and the public
parameters and nothing else. Its code runs on public rows alone, where its operations are written down (`program.py`); these
are what private rows go through. Every microbatch has the same shape, whoever takes part: places that are left over hold
public rows, whose gradients are dropped. Proof: docs/proofs/noisy-gradients.md.
"""

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from sfumato.errors import ContractError, PlanError
from sfumato.private.doors.program import Program, repeatable
from sfumato.private.kernel.arrays import Integers
from sfumato.private.rows.batches import regrouped
from sfumato.public.machine.torch_extra import is_out_of_memory, need_torch
from sfumato.public.plan import gradient_words as words
from sfumato.public.plan.doors import Loss, Tensor, Tensors
from sfumato.public.plan.gradient_step import as_tensors, gradient_block
from sfumato.public.plan.probe import take
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch, n_rows_of

_CLOSE = 1e-3  # of a row's norm: what float arithmetic may change; more means that rows are mixed


class GradientSum:
    """Sums of one loss's clipped gradients, in microbatches of `rows` rows."""

    def __init__(
        self, step: Step, loss: Loss, clip: Callable[[Tensor], Tensor], *, public_rows: Batch, rows: int, device: str
    ) -> None:
        """Nothing is computed yet. There are public rows for two microbatches."""
        self._torch = need_torch("noisy_gradients")
        self._step, self._width = step, gradient_block(step).width
        self.loss, self._clip = loss, clip
        self._public, self.rows, self._device = public_rows, rows, device
        self._parameters: dict[str, Tensor] = {}
        self._passes = 0

    def at(self, parameters: Tensors) -> "GradientSum":
        """Take public parameters to differentiate at."""
        self._parameters = as_tensors(parameters, step=self._step, device=self._device)
        return self

    def check(self) -> None:
        """Write down what the loss does on public rows, in microbatches that fit and in which a row's integers stay the same.

        They must not change with the row's place and with the rows beside it. What float arithmetic changes is met by
        smaller microbatches, down to a single row; what changes more than that, or when it is asked again, is refused.
        """
        while True:
            try:
                change = self._change()
            except (RuntimeError, ValueError, IndexError, ArithmeticError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise ContractError(words.NOT_OF_ONE_EXAMPLE.format(step=self._step.name, error=error)) from error
                if self.rows == 1:
                    raise PlanError(words.DOES_NOT_FIT.format(step=self._step.name, device=self._device)) from None
                change = math.nan
            if change > _CLOSE or (change > 0 and self.rows == 1):  # a single row that is asked again
                raise ContractError(words.MIXES_ROWS.format(step=self._step.name))
            if change == 0:
                return
            self.rows //= 2
            self._torch.cuda.empty_cache()  # does nothing where no GPU is in use

    def _change(self) -> float:
        """How much a row's integers change, relative to its norm, when it is moved and its neighbours are replaced."""
        n = self.rows
        kept = np.random.default_rng(21).permutation(n)[: max(1, n // 2)]
        moved = np.concatenate([kept, np.arange(n, 2 * n)])[:n]
        self._program, first = self._written_down()
        # Copies: an optimiser writes into its parameters.
        self._settled = ({name: values.clone() for name, values in self._parameters.items()}, first)
        two = self._integers(take(self._public, moved))[: len(kept)].double()
        if not self._is_as_at_first(self._written_down()[1]):
            raise ContractError(words.MIXES_ROWS.format(step=self._step.name))
        one = self._clip(first)[kept].double()
        size = self._torch.maximum(one.norm(dim=1), two.norm(dim=1)) + math.sqrt(self._width)
        return float(((one - two).norm(dim=1) / size).max())

    def _written_down(self) -> tuple[Program, Tensor]:
        """The operations of the loss over a microbatch, and the gradients that it gave for public rows meanwhile."""
        gradient_of = self._torch.func.vmap(self._torch.func.grad(self.loss), in_dims=(None, 0), randomness="error")
        names, columns = list(self._parameters), list(self._public)

        def function(*inputs: Tensor) -> list[Tensor]:
            parameters, example = inputs[: len(names)], inputs[len(names) :]
            found = gradient_of(dict(zip(names, parameters, strict=True)), dict(zip(columns, example, strict=True)))
            return [found[name] for name in names]

        with repeatable(self._torch):
            program = Program(function, self._inputs(take(self._public, np.arange(self.rows))))
            return program, self._flat(program.result)

    def _is_as_at_first(self, gradients: Tensor) -> bool:
        """Bit by bit."""
        one, two = (values.view(self._torch.uint8) for values in (self._settled[1], gradients))
        return bool(self._torch.equal(one, two))

    def _stays_the_same(self) -> None:
        """Ask once more after a pass over private rows, from the second one on the loss itself. What it raises stays inside."""
        now, self._parameters = self._parameters, self._settled[0]
        try:
            same: bool | None = self._is_as_at_first(self._gradients(take(self._public, np.arange(self.rows))))
            same = same and (self._passes == 1 or self._is_as_at_first(self._written_down()[1]))
        except (Exception, SystemExit):  # noqa: BLE001 - its message may hold private values, if others have met them
            same = None
        if not same:
            said = words.FAILS_ON_PUBLIC_ROWS if same is None else words.MIXES_ROWS
            raise ContractError(said.format(step=self._step.name))
        self._parameters = now

    def over(self, private_batches: Iterable[Batch]) -> Integers:
        """The exact sum over all rows of their clipped gradients. Whatever the rows hold, it gives one."""
        private_total = self._torch.zeros(self._width, dtype=self._torch.int64, device=self._device)
        for private_rows in regrouped(private_batches, rows=self.rows):
            private_sum = self._attempt(private_rows)
            for private_part in self._one_by_one(private_rows) if private_sum is None else (private_sum,):
                private_total += private_part
        self._passes += 1
        if self._passes.bit_count() == 1:  # after pass 1, 2, 4, 8, ...: a loss that has changed shows, nearly for free
            self._stays_the_same()
        return np.asarray(private_total.cpu())

    def _attempt(self, private_rows: Batch) -> Tensor | None:
        """The sum over up to a microbatch of rows; None where some row's values make the loss fail."""
        n_rows = n_rows_of(private_rows)
        filled = {n: np.concatenate([v, self._public[n][: self.rows - n_rows]]) for n, v in private_rows.items()}
        try:
            return self._integers(filled)[:n_rows].sum(dim=0)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a loss raises over private rows would be an output
            return None

    def _one_by_one(self, private_rows: Batch) -> Iterator[Tensor]:
        """Each row among public ones: a row that fails there, too, counts as 0, and no other row with it."""
        for at in range(n_rows_of(private_rows)):
            private_sum = self._attempt(take(private_rows, np.array([at])))
            if private_sum is not None:
                yield private_sum
            elif self._attempt(take(self._public, np.arange(1))) is None:
                raise ContractError(words.FAILS_ON_PUBLIC_ROWS.format(step=self._step.name))

    def _integers(self, rows: Batch) -> Tensor:
        """Clipped gradients of a full microbatch, one a row."""
        return self._clip(self._gradients(rows))

    def _gradients(self, rows: Batch) -> Tensor:
        with repeatable(self._torch), self._torch.no_grad():
            return self._flat(self._program(self._inputs(rows)))

    def _flat(self, gradients: list[Tensor]) -> Tensor:
        return self._torch.cat([values.reshape(self.rows, -1) for values in gradients], dim=1).detach()

    def _inputs(self, rows: Batch) -> list[Tensor]:
        kind = next(iter(self._parameters.values())).dtype
        columns = (self._torch.tensor(rows[name]) for name in self._public)  # copies: rows may not be written into
        kinds = ((column, kind if column.is_floating_point() else self._torch.int64) for column in columns)
        return [*self._parameters.values(), *(column.to(self._device, to) for column, to in kinds)]
