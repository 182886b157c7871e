"""The features of `oriented.py` by torch, for synthetic images on a GPU: the same up to rounding.

Not for private rows: a library's matrix product adds in an order that it chooses by the number of images. Filters are matrix
products of patches, not convolutions: with a single channel these left a GPU waiting, and cost more than the processor's own loops.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.dct import cosines
from sfumato.learn.gabor import ORIENTATIONS, STRIDE, Scale, filters
from sfumato.learn.oriented import AGAIN, COARSE, FINE, resized
from sfumato.learn.oriented_loops import SHORT, TINY


def torch_features(torch: Any, images: NDArray[Any], *, device: str) -> Any:
    """A tensor of features, one row for each image in the unit box."""
    pictures = resized(images[..., None] if images.ndim == 3 else images).astype(np.float32)
    planes = torch.from_numpy(np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))).to(device)
    average, n_images = torch.nn.functional.avg_pool2d, len(planes)
    with torch.no_grad():
        grey = planes.mean(dim=1, keepdim=True)
        fine, coarse = (_magnitudes(torch, grey[:, 0], scale) for scale in (FINE, COARSE))
        again = _magnitudes(torch, fine.flatten(0, 1), AGAIN)
        second = again.unflatten(0, (n_images, ORIENTATIONS)).transpose(1, 2).flatten(1, 2)
        across = torch.from_numpy(cosines(planes.shape[1]).astype(np.float32)).to(device)
        seen = average(torch.einsum("wc,nchv->nwhv", across, planes), 4, padding=2)
        groups = (
            seen[:, :1],
            *([seen[:, 1:]] if planes.shape[1] > 1 else []),
            average(fine, 2, padding=1),
            average(coarse, 2, padding=1),
            average(torch.nn.functional.pad(second, (0, 1, 0, 1)), 2),
        )
        flat = [group.flatten(1) for group in groups]
        return torch.cat([one / (one.norm(dim=1, keepdim=True) + SHORT) for one in flat], dim=1) / len(flat) ** 0.5


def _magnitudes(torch: Any, maps: Any, scale: Scale) -> Any:
    """How strongly each orientation answers at every second place of maps (n, height, width)."""
    weights = torch.from_numpy(filters(scale).reshape(2 * ORIENTATIONS, -1).T.copy()).to(maps.device)
    framed = torch.nn.functional.pad(maps, (scale.size // 2,) * 4)
    patches = framed.unfold(1, scale.size, STRIDE).unfold(2, scale.size, STRIDE).flatten(3)
    answers = (patches @ weights).permute(0, 3, 1, 2)
    even, odd = answers[:, :ORIENTATIONS], answers[:, ORIENTATIONS:]
    return (even**2 + odd**2 + TINY).sqrt()
