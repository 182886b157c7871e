"""What a mechanism may say about the machine that it runs on, before any row is read."""

from typing import ClassVar, Protocol, runtime_checkable

#: Of mechanisms that ask for gradients of a loss.
GRADIENTS_ON_GPU = "Gradients are computed on a GPU where torch finds one."


@runtime_checkable
class OnGpu(Protocol):
    """A mechanism that makes use of a GPU."""

    #: What runs there, in a sentence.
    on_gpu: ClassVar[str]
