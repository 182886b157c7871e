"""An autoencoder for each group, plain or variational, that learns by noisy gradients.

As in the report that the study `autoencoder` is about: one layer to a code, one layer back. A row's gradient is 0 in the weights of
every group but its own, so that all groups share one clip and one noise: the weights of ten groups cost what those of one do.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.prepared import VECTOR
from sfumato.mechanisms.latent.decoder import LinearDecoder
from sfumato.mechanisms.latent.groundwork import Groundwork, about_mean
from sfumato.mechanisms.latent.groups import GROUP, group_of
from sfumato.mechanisms.latent.network import Weights
from sfumato.mechanisms.latent.rows import LatentRows, TableRows, Vectors
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Doors, GroupOf, Loss, Tensor, Tensors
from sfumato.public.schema.schema import Batch

#: Where weights start, and the draws of a variational code: public, and the same for everyone.
_SEED = 23
#: Of log sigma^2, on either side of 0.
_WIDEST = 4.0
#: The prepared column of a row's draw from N(0, 1), one of so many.
DRAW, _DRAWS = " draw", 256
#: Entries of a vector are rounded to sixteenths before they say which.
_FINE, _LARGEST_WEIGHT = 16.0, 64
#: How many times as long as a typical draw a variational code may be.
_LONGEST = 3.0


@dataclass(frozen=True)
class Autoencoders:
    """Codes of so many entries; `variational` ones are drawn around mu with the deviation sigma, both said by the encoder."""

    rows: LatentRows
    latent: int
    variational: bool

    @property
    def shapes(self) -> dict[str, tuple[int, int, int]]:
        """Of the weights: (group, in, out)."""
        n, width = self.rows.mixed.n_classes, self.rows.width
        shapes = {"encoder": (n, width, self.latent), "decoder": (n, self.latent, width)}
        if self.variational:
            shapes |= {"spread": (n, width, self.latent), "spread at rest": (n, 1, self.latent)}
        return shapes

    @property
    def longest(self) -> float:
        """The length of no code, or of hardly any, lies above."""
        return (_LONGEST if self.variational else 1.0) * math.sqrt(self.latent)

    def start(self) -> Weights:
        """The encoder is drawn so that signals keep their size; all else is silent, so that groups decode to their means."""
        weights = {name: np.zeros(shape) for name, shape in self.shapes.items()}
        shape = self.shapes["encoder"]
        return {**weights, "encoder": np.random.default_rng(_SEED).normal(size=shape) / math.sqrt(shape[1])}

    def decoder(self, ground: Groundwork, weights: Weights) -> LinearDecoder:
        """The trained decoder."""
        return LinearDecoder(self.rows.scores_of(ground.means), weights["decoder"].transpose(0, 2, 1))

    def codes(self, ground: Groundwork, weights: Weights) -> GroupOf:
        """The trained encoder; a variational code is drawn."""
        about = about_mean(ground.means)

        def codes(batch: Batch) -> Vectors:
            rows, group = about(batch), group_of(batch)
            mu = _by_group(rows, group, weights["encoder"])
            if not self.variational:
                return np.asarray(np.tanh(mu))
            spread = _by_group(rows, group, weights["spread"]) + weights["spread at rest"][group, 0]
            return np.asarray(mu + np.exp(_WIDEST * np.tanh(spread / _WIDEST) / 2) * batch[DRAW])

        return codes

    def left_over(self, ground: Groundwork, weights: Weights, code: str) -> GroupOf:
        """What a row's own code, a prepared column, leaves of its vector; for rows whose scores are vectors."""
        about = about_mean(ground.means)
        return lambda batch: about(batch) - _by_group(batch[code], group_of(batch), weights["decoder"])

    def prepare(self, view: Doors) -> None:
        """The draw of each row: public numbers, and a public function of the row's own vector says which of them."""
        if not self.variational:
            return
        rng = np.random.default_rng(_SEED + 1)
        weigh = rng.integers(1, _LARGEST_WEIGHT, size=self.rows.width)
        draws = rng.normal(size=(_DRAWS, self.latent))
        # Whole numbers add up to the same in any order: a row has its draw wherever it stands.
        view.prepare(DRAW, lambda batch: draws[np.rint(batch[VECTOR] * _FINE).astype(np.int64) @ weigh % _DRAWS])

    def loss(self, ground: Groundwork) -> Loss:
        """Of one row: how unlikely it is after its code; of a variational one also how far its code departs from N(0, 1)."""
        torch = need_torch("training")
        first, means = (
            torch.from_numpy(values.astype(np.float32)) for values in (self.rows.scores_of(ground.means), ground.means)
        )
        n_groups, part = self.rows.mixed.n_classes, self._part_of_divergence(ground)

        def loss(weights: Tensors, example: Tensors) -> Tensor:
            vector = example[VECTOR]
            of_group = (torch.arange(n_groups, device=vector.device) == example[GROUP][0]).to(vector.dtype)
            mine = {name: torch.tensordot(of_group, values, 1) for name, values in weights.items()}
            about = vector - of_group @ means.to(vector.device)
            code, divergence = about @ mine["encoder"], 0.0
            if self.variational:
                log_square = _WIDEST * torch.tanh((about @ mine["spread"] + mine["spread at rest"][0]) / _WIDEST)
                divergence = part * 0.5 * (code.square() + log_square.exp() - 1 - log_square).sum()
                code = code + (log_square / 2).exp() * example[DRAW]
            else:
                code = torch.tanh(code)
            scores = of_group @ first.to(vector.device) + code @ mine["decoder"]
            return self.rows.loss(scores, vector) + divergence

        return loss

    def _part_of_divergence(self, ground: Groundwork) -> float:
        """Half a squared distance is a likelihood in units of the variance; it is left in its own, and the other part is not."""
        return 1.0 if isinstance(self.rows, TableRows) else ground.about_means.mean_square / self.rows.width


def _by_group(rows: NDArray[np.generic], group: NDArray[np.int64], matrices: Vectors) -> Vectors:
    """Every row times the matrix of its group."""
    out = np.zeros((len(rows), matrices.shape[2]))
    for at in np.unique(group):
        mine = np.flatnonzero(group == at)
        out[mine] = exact_products(rows[mine], matrices[at])
    return out
