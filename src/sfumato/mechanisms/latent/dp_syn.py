"""DP-SyN, made sound: a private autoencoder, and a private mixture of its codes for each class.

After Abay, Zhou, Kantarcioglu, Thuraisingham and Sweeney, "Privacy preserving synthetic data release using deep learning"
(2018). Proof: docs/proofs/latent.md.
"""

from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.settings import require_positive
from sfumato.mechanisms.latent.decoder import linear_decoder
from sfumato.mechanisms.latent.groundwork import groundwork_steps, measure_groundwork
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

#: Of the precision: for classes, for the encoder, and for the mixture of codes.
_CLASSES, _ENCODER, _CODES = 0.5, 0.25, 0.25


@register
@dataclass(frozen=True, kw_only=True)
class DPSyn:
    """Rows decoded from a mixture of codes for each class.

    Args:
        encoder: `directions`: the linear autoencoder, by one noisy sum. `network`: one that learns by noisy gradients.
        latent: Entries of a code; None: as many as suit tables, or images.
        components: Gaussians of each class; None: as many as suit tables, or images.
        rounds: Of EM.
        coefficients: Cosine coefficients of each channel of an image.
        hidden: Units of the hidden layer of the decoder (`network`).
        n_steps: Noisy gradient steps (`network`).
        batch: Rows that take part in one, on average (`network`).
        clip: The norm to which a row's gradient is clipped (`network`).
        learning_rate: Of Adam at the first step (`network`).
    """

    name: ClassVar[str] = "dp-syn"
    on_gpu: ClassVar[str] = f"With encoder='network': {GRADIENTS_ON_GPU}"
    encoder: Literal["directions", "network"] = "directions"
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
        """Classes, the encoder, and the mixture of codes."""
        if self.encoder not in ("directions", "network"):
            raise PlanError(f"encoder = {self.encoder!r} must be directions or network.")
        require_positive(**{name: value for name, value in asdict(self).items() if name != "encoder"})
        rows = rows_of(schema, coefficients=self.coefficients)
        if self.encoder == "directions":
            scale, encoder = 1.0, directions_step(rows, share=_ENCODER)
        else:
            # A sampled use costs about rate^2 of what it costs over everyone, at the same noise.
            scale = self._training.rate(schema) ** 2
            encoder = self._training.step(self._network(rows), schema, share=_ENCODER)
        ground, codes = groundwork_steps(rows, share=_CLASSES * scale), self._mixture(rows).steps(share=_CODES * scale)
        return (*ground, encoder, *codes)

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Measure classes, find an encoder, and measure the codes that it gives."""
        rows = rows_of(schema, coefficients=self.coefficients)
        ground, stage = measure_groundwork(view, rows), self._mixture(rows)
        if self.encoder == "directions":
            principal = measure_directions(view, rows, ground, latent=stage.latent)
            codes = codes_along(rows, ground, principal.directions)
            mixture = stage.measure(view, codes, longest=2 * rows.longest)
            return {"ground": ground, "encoder": principal, "mixture": mixture}
        network = self._network(rows)
        weights = self._training.run(view, network.loss(ground, unit=1.0), network.start(), schema=schema)
        mixture = stage.measure(view, network.codes(ground, weights), longest=stage.latent**0.5)
        return {"ground": ground, "encoder": weights, "mixture": mixture}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> LatentModel:
        """The decoder that belongs to the encoder, after draws from the mixture."""
        rows = rows_of(schema, coefficients=self.coefficients)
        ground, encoder, mixture = (measurements[name] for name in ("ground", "encoder", "mixture"))
        if self.encoder == "directions":
            decoder = linear_decoder(rows, ground, encoder, mixture, seed=seed)
            return LatentModel(rows, ground.counts, mixture, decoder)
        return LatentModel(rows, ground.counts, mixture, self._network(rows).decoder(ground, encoder, unit=1.0))

    @property
    def _training(self) -> Training:
        return Training(self.n_steps, self.batch, self.clip, self.learning_rate)

    def _network(self, rows: LatentRows) -> Network:
        return Network(rows, self._mixture(rows).latent, self.hidden, encodes=True)

    def _mixture(self, rows: LatentRows) -> MixtureStage:
        return mixture_stage(rows, latent=self.latent, components=self.components, rounds=self.rounds)
