"""torch, where it is installed: an extra that nothing imports before it is needed."""

import ctypes
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sfumato.errors import PlanError


def need_torch(what: str) -> Any:
    """The module, or a refusal that says how to get it. `what` names what needs it."""
    if importlib.util.find_spec("torch") is None:
        raise PlanError(f"{what} needs torch, which is not installed. Install it with: pip install 'sfumato[deep]'")
    return importlib.import_module("torch")


def default_device() -> str:
    """A GPU where torch finds one."""
    return "cuda" if need_torch("a device").cuda.is_available() else "cpu"


def torch_with_gpu() -> Any | None:
    """The module where it is installed and finds a GPU. Without a driver it is not even imported, which takes seconds."""
    if importlib.util.find_spec("torch") is None:
        return None
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None
    torch = importlib.import_module("torch")
    return torch if torch.cuda.is_available() else None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out: by torch's own type on a GPU, by the name of the allocator on a CPU."""
    torch = need_torch("noisy_gradients")
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error)


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it torch computes in one thread: the order of sums, and so the last bits, would follow their number."""
    torch = need_torch("training")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
