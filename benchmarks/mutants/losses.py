"""Faults of the door for gradients: a loss that meets private rows, or remembers."""

from mutants.mutant import Mutant

_DOOR, _PROGRAM = "private/doors/gradients.py", "private/doors/program.py"


def _mutant(name: str, why: str, *edits: tuple[str, str, str], test: str):
    tests = ("tests/private/test_gradients.py", "-k", test)
    return Mutant(name=name, room="kernel", why=why, edits=edits, tests=tests)


LOSSES = (
    _mutant(
        "the code of a loss meets private rows",
        "what it keeps of one row moves all others",
        (
            _DOOR,
            "            program = Program(function,",
            "            self._function = function\n            program = Program(function,",
        ),
        (_DOOR, "self._flat(self._program(self._inputs(rows)))", "self._flat(self._function(*self._inputs(rows)))"),
        test="never_meets",
    ),
    _mutant(
        "a loss that drifts passes for rounding",
        "a memory of a thousandth moves a sum by several clips",
        (
            _DOOR,
            "return bool(self._torch.equal(one, two))",
            "return bool(self._torch.allclose(self._settled[1], gradients, rtol=1e-3))",
        ),
        test="refused_at_any_size",
    ),
    _mutant(
        "a loss is not asked again",
        "one that changes later is used as it was at first",
        (_DOOR, "if self._passes.bit_count() == 1:", "if False:"),
        test="changes_later or keeps_something",
    ),
    _mutant(
        "a single row may change",
        "a kernel with a memory passes for one that rounds",
        (_DOOR, "if change > _CLOSE or (change > 0 and self.rows == 1):", "if change > _CLOSE:"),
        (_DOOR, "            if change == 0:\n", "            if change == 0 or self.rows == 1:\n"),
        test="never_the_same",
    ),
    _mutant(
        "operations of anybody",
        "code that is none of torch's sees private rows",
        (_PROGRAM, 'if operation.namespace != "aten":', "if False:"),
        test="refused_at_any_size and operation_of_its_own",
    ),
    _mutant(
        "a loss reads values",
        "a branch is taken as public rows say",
        (_PROGRAM, "if torch.Tag.data_dependent_output in operation.tags:", "if False:"),
        test="refused_at_any_size and asks_for_a_value",
    ),
    _mutant(
        "constants are not copied",
        "who holds the tensor changes the gradients of all rows",
        (_PROGRAM, "tensor.detach().clone() for number", "tensor.detach() for number"),
        test="constants_are",
    ),
    _mutant(
        "memory as it was found",
        "rows of the microbatch before are read from it",
        (
            _PROGRAM,
            "torch.use_deterministic_algorithms(True, warn_only=True)",
            "torch.use_deterministic_algorithms(False)",
        ),
        test="nobody_wrote_to",
    ),
    _mutant(
        "an error behind an error",
        "what a loss says after the private rows stands in the context of the refusal",
        (
            _DOOR,
            "            same = None\n",
            "            raise ContractError(words.FAILS_ON_PUBLIC_ROWS.format(step=self._step.name)) from None\n",
        ),
        test="after_the_private_rows",
    ),
)
