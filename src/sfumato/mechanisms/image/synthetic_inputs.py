"""What the teacher sees of synthetic images: nothing private is in them, so a GPU may look, where torch finds one.

Private rows never come here: what is seen of them has to be the same bits whatever rows stand beside them
(`exact_inputs`), which no library for a GPU promises.
"""

import threading
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.oriented import oriented_features
from sfumato.learn.oriented_torch import torch_features
from sfumato.mechanisms.common.arrays import Singles
from sfumato.public.machine.torch_extra import is_out_of_memory, torch_with_gpu

#: One piece at a time: threads would wait for each other on the GPU, each holding memory there.
_GPU = threading.Lock()
_BIAS = 0.1  # the teacher's constant input, next to features of norm 1: so small that long steps do not swing


def teacher_inputs(images: Singles, mean: Singles, matrix: Singles) -> Singles:
    """Directions of norm 1 and a constant for synthetic images in the unit box, up to rounding."""
    torch = torch_with_gpu()
    if torch is not None:
        try:
            return of_norm_one(_on_device(torch, images, mean, matrix, device="cuda"))
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            warnings.warn("the GPU has no memory left for labelling images: the processor labels them.", stacklevel=2)
    features = oriented_features(images)
    features -= mean
    return of_norm_one(features @ matrix)


def of_norm_one(directions: NDArray[Any]) -> Singles:
    """Each row scaled to norm 1, and a constant beside it."""
    inputs = np.empty((len(directions), directions.shape[1] + 1), dtype=np.float32)
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    np.divide(directions, lengths + 1e-6, out=inputs[:, :-1], casting="same_kind")
    inputs[:, -1] = _BIAS
    return inputs


def _on_device(torch: Any, images: Singles, mean: Singles, matrix: Singles, *, device: str) -> Singles:
    with _GPU:
        features = torch_features(torch, images, device=device) - torch.from_numpy(mean).to(device)
        directions: Singles = (features @ torch.from_numpy(matrix).to(device)).cpu().numpy()
    return directions
