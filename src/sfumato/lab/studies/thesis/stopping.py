"""An early end for each of several networks that are trained side by side."""

from typing import Any

from sfumato.lab.studies.thesis.networks import Weights


class Stopping:
    """Keeps each network's best weights, until it has waited too long. One that has stopped runs along, and nobody looks.

    Args:
        torch: The module.
        weights: Of all networks, changed in place while they learn.
        patience: Epochs without a better accuracy after which a network stops.
    """

    def __init__(self, torch: Any, weights: Weights, *, patience: int) -> None:
        """Nothing is known yet."""
        n_networks, device = len(weights[0]), weights[0].device
        self._torch, self._weights, self._patience = torch, weights, patience
        self._best = torch.full((n_networks,), -1.0, device=device)
        self._waited = torch.zeros(n_networks, dtype=torch.long, device=device)
        self._epochs = torch.zeros_like(self._waited)
        self.kept = [layer.detach().clone() for layer in weights]

    def note(self, accuracy: Any) -> None:
        """What an epoch reached on the pictures that were held back, one number for each network."""
        running = self._waited < self._patience
        better = running & (accuracy > self._best)
        self._epochs += running
        self._waited = self._torch.where(better, 0, self._waited + running)
        self._best = self._torch.where(better, accuracy, self._best)
        for kept, layer in zip(self.kept, self._weights, strict=True):
            kept[better] = layer.detach()[better]

    @property
    def all_stopped(self) -> bool:
        """Whether nobody learns any more."""
        return bool((self._waited >= self._patience).all())

    @property
    def epochs(self) -> list[int]:
        """How long each learned."""
        return [int(n) for n in self._epochs]
