"""Two views of each image, for clustering that shall not see the difference: crops, turns and other light.

Whole batches are seen at once, by one affine grid for each image, on whatever device they lie. The sizes are those of Ji,
Henriques and Vedaldi (2019) for digits of 28 pixels, as parts of the side.
"""

import math

from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Tensor

_WHAT = "invariant information clustering"
#: Of the side: what is seen of an image, what of its copy (one of three), and how many pixels a view has.
_PLAIN, _OTHERS, _VIEW = 20 / 28, (16 / 28, 20 / 28, 24 / 28), 24 / 28
_TURN = math.radians(25)
_LIGHT = 0.4


def middle(images: Tensor) -> Tensor:
    """The middle of every image: what is named once all is learned."""
    torch = need_torch(_WHAT)
    still = torch.zeros(len(images), device=images.device)
    return _seen(images, size=torch.full_like(still, _PLAIN), turn=still, across=still, down=still)


def plain_view(images: Tensor, dice: object) -> Tensor:
    """A crop of one size: of half of the images the middle, of the others any place."""
    torch = need_torch(_WHAT)
    across, down, coin = _between(3, images, dice)
    anywhere = (1 - _PLAIN) * (coin > 0)
    size = torch.full_like(coin, _PLAIN)
    return _seen(images, size=size, turn=torch.zeros_like(coin), across=anywhere * across, down=anywhere * down)


def other_view(images: Tensor, dice: object) -> Tensor:
    """A crop of one of three sizes at any place, half of them turned, with other brightness and contrast."""
    torch = need_torch(_WHAT)
    across, down, turn, coin, which, *light = _between(7, images, dice)
    sizes = torch.tensor(_OTHERS, device=images.device)
    size = sizes[((which + 1) / 2 * len(_OTHERS)).long().clamp(max=len(_OTHERS) - 1)]
    seen = _seen(images, size=size, turn=_TURN * turn * (coin > 0), across=(1 - size) * across, down=(1 - size) * down)
    brightness, contrast = (1 + _LIGHT * part[:, None, None, None] for part in light)
    low, high = images.aminmax()
    bright = (seen * brightness).clamp(low, high)
    mean = bright.mean(dim=(1, 2, 3), keepdim=True)
    return (mean + contrast * (bright - mean)).clamp(low, high)


def _between(count: int, images: Tensor, dice: object) -> Tensor:
    """Numbers in [-1, 1), `count` for each image."""
    torch = need_torch(_WHAT)
    return 2 * torch.rand(count, len(images), generator=dice, device=images.device) - 1


def _seen(images: Tensor, *, size: Tensor, turn: Tensor, across: Tensor, down: Tensor) -> Tensor:
    """A turned square of each image, by linear interpolation; black outside. Places are those of torch: -1 to 1."""
    torch = need_torch(_WHAT)
    cos, sin = torch.cos(turn), torch.sin(turn)
    to_column = torch.stack([size * cos, -size * sin, cos * across - sin * down], dim=1)
    to_row = torch.stack([size * sin, size * cos, sin * across + cos * down], dim=1)
    shape = [*images.shape[:2], *(max(8, round(_VIEW * side)) for side in images.shape[2:])]
    grid = torch.nn.functional.affine_grid(torch.stack([to_column, to_row], dim=1), shape, align_corners=False)
    return torch.nn.functional.grid_sample(images, grid, align_corners=False)
