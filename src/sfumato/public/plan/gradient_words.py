"""What is said where a loss cannot be differentiated by the door `noisy_gradients`: of public rows alone."""

from sfumato.public.plan.step import Step


def not_of_one_example(step: Step, error: BaseException) -> str:
    """The loss fails on one example."""
    return (
        f"the loss of step {step.name!r} cannot be taken of one example at a time: {error} "
        "If it uses randomness (dropout) or keeps state (batch normalisation), use layers without."
    )


def does_not_fit(step: Step, device: str) -> str:
    """Memory does not suffice."""
    return f"step {step.name!r}: a single row does not fit into the memory of {device}. Use a smaller network."


def mixes_rows(step: Step) -> str:
    """A gradient sees more than its own row."""
    return (
        f"the loss of step {step.name!r} gives a row another gradient when other rows stand beside it, "
        "or when it is asked again. Compute from the one example and the parameters alone; what changes from step to "
        "step is a parameter, or makes a new function. If nothing does, the device is at fault: use device='cpu'."
    )


def fails_on_public_rows(step: Step) -> str:
    """The loss is another one than was tried."""
    return (
        f"the loss of step {step.name!r} fails on public rows, too, after it had worked on them (or "
        "memory ran out). Its message is withheld, because it may hold private values."
    )
