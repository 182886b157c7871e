"""P3GM, made sound: private principal directions, a private mixture of codes, and a decoder by noisy gradients.

Takagi, Takahashi, Cao and Yoshikawa, "P3GM: private high-dimensional data release via privacy preserving phased generative
model" (2021), with Gaussian noise on second moments in place of the published Wishart noise. Proof: docs/proofs/latent.md.
"""

from dataclasses import asdict, dataclass
from typing import ClassVar

from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.settings import require_positive
from sfumato.mechanisms.latent.groundwork import groundwork_steps, measure_groundwork
from sfumato.mechanisms.latent.groups import Groups
from sfumato.mechanisms.latent.mixture import MixtureStage, mixture_stage
from sfumato.mechanisms.latent.model import LatentModel
from sfumato.mechanisms.latent.network import Network, Training
from sfumato.mechanisms.latent.principal import codes_along, directions_step, measure_directions
from sfumato.mechanisms.latent.rows import LatentRows, rows_of
from sfumato.public.budget import Budget
from sfumato.public.machine.hardware import GRADIENTS_ON_GPU
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

#: Of the precision: for classes, for directions, for the mixture of codes, and for the decoder.
_CLASSES, _DIRECTIONS, _CODES, _DECODER = 0.4, 0.15, 0.15, 0.3
#: Entries of a code of a picture, and Gaussians of each class.
_OF_PICTURES = 25, 6


@register
@dataclass(frozen=True, kw_only=True)
class P3GM:
    """Rows decoded by a network from a mixture of codes for each class.

    Args:
        latent: Entries of a code; None: as many as suit tables, or images.
        components: Gaussians of each class; None: as many as suit tables, or images.
        rounds: Of EM.
        coefficients: Cosine coefficients of each channel of an image.
        hidden: Units of the hidden layer of the decoder.
        n_steps: Noisy gradient steps.
        batch: Rows that take part in one, on average.
        clip: The norm to which a row's gradient is clipped.
        learning_rate: Of Adam at the first step.
    """

    name: ClassVar[str] = "p3gm"
    on_gpu: ClassVar[str] = GRADIENTS_ON_GPU
    latent: int | None = None
    components: int | None = None
    rounds: int = 3
    coefficients: int = 150
    hidden: int = 16
    n_steps: int = 300
    batch: int = 1000
    clip: float = 1.0
    learning_rate: float = 0.02

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Classes, directions and codes over everyone; then sampled gradients of the decoder."""
        schema.require_one_table(self.name)
        require_positive(**asdict(self))
        rows = rows_of(schema, coefficients=self.coefficients)
        # A sampled use costs about rate^2 of what it costs over everyone, at the same noise.
        scale = self._training.rate(schema) ** 2
        return (
            *groundwork_steps(Groups(rows), share=_CLASSES * scale),
            directions_step(rows, share=_DIRECTIONS * scale),
            *self._mixture(rows).steps(share=_CODES * scale),
            self._training.step(self._network(rows).shapes, schema, share=_DECODER),
        )

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Measure classes, directions and codes, and train the decoder on codes of sampled rows."""
        rows = rows_of(schema, coefficients=self.coefficients)
        ground, stage, network = measure_groundwork(view, Groups(rows)), self._mixture(rows), self._network(rows)
        principal = measure_directions(view, rows, ground, latent=stage.latent)
        mixture = stage.measure(view, codes_along(ground, principal.directions), longest=2 * rows.longest)
        loss, start = network.loss(ground, unit=mixture.size), network.start()
        if schema.images:  # what directions alone decode: of pictures, the best that is linear
            start["outer"][: stage.latent] = mixture.size * principal.directions.T
        weights = self._training.run(view, loss, start, schema=schema)
        return {"ground": ground, "mixture": mixture, "decoder": weights}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> LatentModel:
        """Draws from the mixture, decoded."""
        rows = rows_of(schema, coefficients=self.coefficients)
        ground, mixture = measurements["ground"], measurements["mixture"]
        decoder = self._network(rows).decoder(ground, measurements["decoder"], unit=mixture.size)
        return LatentModel(rows, ground.counts, ground.labels, mixture, decoder)

    @property
    def _training(self) -> Training:
        return Training(self.n_steps, self.batch, self.clip, self.learning_rate)

    def _network(self, rows: LatentRows) -> Network:
        return Network(rows, self._mixture(rows).latent, self.hidden)

    def _mixture(self, rows: LatentRows) -> MixtureStage:
        latent, components = (None, None) if rows.mixed.image is None else _OF_PICTURES
        return mixture_stage(
            rows, latent=self.latent or latent, components=self.components or components, rounds=self.rounds
        )
