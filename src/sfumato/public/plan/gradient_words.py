"""What is said where a loss cannot be differentiated by the door `noisy_gradients`: of public rows alone."""

NOT_OF_ONE_EXAMPLE = (
    "the loss of step {step!r} cannot be taken of one example at a time: {error} "
    "If it uses randomness (dropout) or keeps state (batch normalisation), use layers without."
)
DOES_NOT_FIT = "step {step!r}: a single row does not fit into the memory of {device}. Use a smaller network."
#: A gradient sees more than its own row.
MIXES_ROWS = (
    "the loss of step {step!r} gives a row another gradient when other rows stand beside it, "
    "or when it is asked again. Compute from the one example and the parameters alone; what changes from step to "
    "step is a parameter, or makes a new function. If nothing does, the device is at fault: use device='cpu'."
)
#: The loss is another one than was tried.
FAILS_ON_PUBLIC_ROWS = (
    "the loss of step {step!r} fails on public rows, too, after it had worked on them (or "
    "memory ran out). Its message is withheld, because it may hold private values."
)
