"""What a function does with tensors, written down operation by operation, so that it can be done again without the function.

The function itself runs on public rows only. A counter, a cache, a clock, a hook or a random number that it uses has then
had its say: what is done to private rows is a list of torch's own operations and constants, and a list remembers nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Tensor


@dataclass(frozen=True)
class _Slot:
    """The place of a tensor."""

    number: int


@dataclass(frozen=True)
class _Operation:
    """One operation: of tensors in slots, and of what was there when it was written down."""

    do: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    results: Any
    done_with: list[int]  # slots that nothing after it needs


class Program:
    """The operations of a function of tensors. `result` is what the function gave when it was written down."""

    def __init__(self, function: Callable[..., Sequence[Tensor]], inputs: Sequence[Tensor]) -> None:
        """Run the function once, and write it down. RuntimeError: it draws, hands out a value, or is not of torch alone."""
        torch = need_torch("noisy_gradients")
        slots = _Slots(inputs)

        # torch is an extra, so this class cannot stand outside.
        base: Any = torch.utils._python_dispatch.TorchDispatchMode

        class Recorder(base):  # type: ignore[misc]
            def __torch_dispatch__(_, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                _refuse(torch, func)
                arguments, options = slots.of(args), slots.of(kwargs or {})
                found = func(*args, **(kwargs or {}))
                slots.operations.append(_Operation(func, arguments, options, slots.of(found, new=True), []))
                return found

        with torch.autograd.set_multithreading_enabled(False), Recorder():  # in this thread, where all of it is seen
            self.result = list(function(*inputs))
        self._outputs: list[_Slot] = slots.of(self.result)
        self._n_inputs, self._n_slots = len(inputs), len(slots.alive)
        self._constants = {number: tensor.detach().clone() for number, tensor in slots.constants.items()}
        self._operations = slots.operations
        # After which operation is a tensor needed no more? Then its memory is free for the next ones.
        needed = {slot.number for slot in self._outputs}
        for operation in reversed(self._operations):
            used = {slot.number for slot in _slots_in((operation.arguments, operation.options, operation.results))}
            operation.done_with.extend(used - needed)
            needed |= used

    def __call__(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The same operations on other tensors of the same shapes. Each time they start from the same constants."""
        values: list[Any] = [*inputs, *[None] * (self._n_slots - self._n_inputs)]
        for number, constant in self._constants.items():
            values[number] = constant.clone()
        for operation in self._operations:
            arguments, options = _filled(operation.arguments, values), _filled(operation.options, values)
            _put(operation.results, operation.do(*arguments, **options), values)
            for number in operation.done_with:
                values[number] = None
        return [values[slot.number] for slot in self._outputs]


class _Slots:
    """Slots for tensors in the order in which they appear. What no operation gave is a constant, or an input."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self._tensor = need_torch("noisy_gradients").Tensor
        self._numbers: dict[int, int] = {}
        self.alive: list[Tensor] = []  # so that no id is used twice
        self.constants: dict[int, Tensor] = {}
        self.operations: list[_Operation] = []
        for tensor in inputs:
            self._slot(tensor)

    def of(self, value: Any, *, new: bool = False) -> Any:
        """The value with a slot in the place of every tensor; `new` if an operation has just made it."""
        if isinstance(value, self._tensor):
            known = id(value) in self._numbers
            slot = self._slot(value)
            if not (known or new):
                self.constants[slot.number] = value
            return slot
        return _through(value, lambda part: self.of(part, new=new))

    def _slot(self, tensor: Tensor) -> _Slot:
        if id(tensor) not in self._numbers:
            self._numbers[id(tensor)] = len(self.alive)
            self.alive.append(tensor)
        return _Slot(self._numbers[id(tensor)])


def _refuse(torch: Any, operation: Any) -> None:
    if operation.namespace != "aten":
        raise RuntimeError(f"{operation} is not an operation of torch itself, so it may keep what it sees.")
    if torch.Tag.nondeterministic_seeded in operation.tags:
        raise RuntimeError(f"{operation} draws random numbers.")
    if torch.Tag.data_dependent_output in operation.tags:
        raise RuntimeError(f"{operation} hands a tensor's value to Python.")


def _through(value: Any, change: Callable[[Any], Any]) -> Any:
    """A container with changed contents; anything else as it is."""
    if isinstance(value, dict):
        return {key: change(part) for key, part in value.items()}
    return type(value)(map(change, value)) if type(value) in (list, tuple) else value


def _filled(value: Any, values: list[Any]) -> Any:
    return values[value.number] if isinstance(value, _Slot) else _through(value, lambda part: _filled(part, values))


def _put(results: Any, found: Any, values: list[Any]) -> None:
    if isinstance(results, _Slot):
        values[results.number] = found
    elif isinstance(results, list | tuple):
        for slot, part in zip(results, found, strict=True):
            _put(slot, part, values)


def _slots_in(value: Any) -> list[_Slot]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [slot for part in value for slot in _slots_in(part)]
    return [value] if isinstance(value, _Slot) else []


@contextmanager
def repeatable(torch: Any) -> Iterator[None]:
    """Kernels that give the same bits every time, where torch has them; memory that nobody has written to holds no rows."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
