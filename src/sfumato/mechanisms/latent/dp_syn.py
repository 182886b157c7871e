"""DP-SyN, made sound: a private autoencoder for each group, and a private mixture of its codes.

After Abay, Zhou, Kantarcioglu, Thuraisingham and Sweeney, "Privacy preserving synthetic data release using deep learning"
(2018). Proof: docs/proofs/latent.md.
"""

from dataclasses import asdict, dataclass
from typing import ClassVar, Literal, get_args

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.pictures import n_channels
from sfumato.mechanisms.common.prepared import PLACE
from sfumato.mechanisms.common.settings import require_positive
from sfumato.mechanisms.latent.autoencoder import Autoencoders
from sfumato.mechanisms.latent.decoder import linear_decoder
from sfumato.mechanisms.latent.groundwork import groundwork_steps, measure_groundwork
from sfumato.mechanisms.latent.groups import Groups, Kind
from sfumato.mechanisms.latent.mixture import MixtureStage, mixture_stage
from sfumato.mechanisms.latent.model import LatentModel, keeping_means
from sfumato.mechanisms.latent.network import Training
from sfumato.mechanisms.latent.principal import codes_along, directions_step, measure_directions
from sfumato.mechanisms.latent.rest import measure_products, products_step, rest_of
from sfumato.mechanisms.latent.rows import LatentRows, PictureRows, rows_of
from sfumato.mechanisms.latent.sizes import coefficients_for
from sfumato.public.budget import Budget
from sfumato.public.machine.hardware import GRADIENTS_ON_GPU
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

Encoder = Literal["pca", "network", "variational"]
#: Of the precision: for groups, for the encoder, and for the mixture of codes. Bins of tables are many, and lean on their means.
_OF_TABLES, _OF_PICTURES = (0.5, 0.25, 0.25), (0.25, 0.4, 0.35)
#: What clusters get beside it, where they are the groups; and of an encoder's part, what the rest of pictures gets.
_CLUSTERS, _REST = 0.25, 0.5
_SETTLED = ("encoder", "groups")


@register
@dataclass(frozen=True, kw_only=True)
class DPSyn:
    """Rows decoded from a mixture of codes for each class.

    Args:
        encoder: `pca`: the linear autoencoder, by one noisy sum. `network`: an autoencoder for each group that learns by noisy
            gradients. `variational`: the same with codes that are drawn, and their divergence from N(0, 1) in the loss.
        groups: `classes`, or `clusters`: as many as there are classes, by k-means with noisy sums.
        latent: Entries of a code; None: as many as suit tables, or images.
        components: Gaussians of each group; None: as many as suit tables, or images.
        rounds: Of EM.
        coefficients: Cosine coefficients of each channel of an image; None: as many as the rows and the budget bear.
        n_steps: Noisy gradient steps (`network`, `variational`).
        batch: Rows that take part in one, on average (the same).
        clip: The norm to which a row's gradient is clipped (the same).
        learning_rate: Of Adam at the first step (the same).
    """

    name: ClassVar[str] = "dp-syn"
    on_gpu: ClassVar[str] = f"With encoder='network' or 'variational': {GRADIENTS_ON_GPU}"
    encoder: Encoder = "pca"
    groups: Kind = "classes"
    latent: int | None = None
    components: int | None = None
    rounds: int = 3
    coefficients: int | None = None
    n_steps: int = 300
    batch: int = 1000
    clip: float = 1.0
    learning_rate: float = 0.02

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Groups, the encoder, and the mixture of codes."""
        schema.require_one_table(self.name)
        for name, known in (("encoder", get_args(Encoder)), ("groups", get_args(Kind))):
            if getattr(self, name) not in known:
                raise PlanError(f"{name} = {getattr(self, name)!r} must be one of {', '.join(known)}.")
        require_positive(**{name: value for name, value in asdict(self).items() if name not in _SETTLED})
        rows = self._rows(schema, budget)
        groups, shares = Groups(rows, self.groups), _OF_PICTURES if isinstance(rows, PictureRows) else _OF_TABLES
        # A sampled use costs about rate^2 of what it costs over everyone, at the same noise.
        scale = 1.0 if self.encoder == "pca" else self._training.rate(schema) ** 2
        return (
            *groundwork_steps(groups, share=shares[0] * scale),
            *groups.steps(share=_CLUSTERS * scale),
            *self._encoder_steps(rows, schema, shares[1], scale),
            *self._mixture(rows).steps(share=shares[2] * scale),
        )

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Measure groups, find an encoder, and measure the codes that it gives and what they leave."""
        rows = self._rows(schema, view.budget)
        ground, stage = measure_groundwork(view, Groups(rows, self.groups)), self._mixture(rows)
        if self.encoder == "pca":
            principal = measure_directions(view, rows, ground, latent=stage.latent)
            mixture = stage.measure(view, codes_along(ground, principal.directions), longest=2 * rows.longest)
            return {"ground": ground, "encoder": principal, "mixture": mixture}
        coders = self._coders(rows)
        coders.prepare(view)
        weights = self._training.run(view, coders.loss(ground), coders.start(), schema=schema)
        mixture = stage.measure(view, coders.codes(ground, weights), longest=coders.longest)
        measured = {"ground": ground, "encoder": weights, "mixture": mixture}
        if isinstance(rows, PictureRows):
            left = coders.left_over(ground, weights, PLACE)
            measured["rest"] = measure_products(view, "rest", left, rows=rows, ground=ground)
        return measured

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> LatentModel:
        """The decoder that belongs to the encoder, after draws from the mixture."""
        ground, encoder, mixture = (measurements[name] for name in ("ground", "encoder", "mixture"))
        channels = n_channels(schema.images[0]) if schema.images else 1
        rows = rows_of(schema, coefficients=ground.means.shape[1] // channels)
        rest = None
        if self.encoder == "pca":
            decoder = linear_decoder(rows, ground, encoder, mixture, seed=seed)
            if isinstance(rows, PictureRows):
                rest = rest_of(encoder.products, ground, directions=encoder.directions)
        else:
            decoder = self._coders(rows).decoder(ground, encoder)
            if isinstance(rows, PictureRows):
                rest = rest_of(measurements["rest"], ground)
        return keeping_means(LatentModel(rows, ground.counts, ground.labels, mixture, decoder, rest), seed=seed)

    def _encoder_steps(self, rows: LatentRows, schema: Schema, share: float, scale: float) -> tuple[Step, ...]:
        if self.encoder == "pca":
            return (directions_step(rows, share=share),)
        shapes = self._coders(rows).shapes
        if not isinstance(rows, PictureRows):
            return (self._training.step(shapes, schema, share=share),)
        gradients = self._training.step(shapes, schema, share=(1 - _REST) * share)
        return gradients, products_step("rest", rows, share=_REST * share * scale)

    def _rows(self, schema: Schema, budget: Budget) -> LatentRows:
        return rows_of(schema, coefficients=self.coefficients or coefficients_for(schema, budget))

    @property
    def _training(self) -> Training:
        return Training(self.n_steps, self.batch, self.clip, self.learning_rate)

    def _coders(self, rows: LatentRows) -> Autoencoders:
        return Autoencoders(rows, self._mixture(rows).latent, variational=self.encoder == "variational")

    def _mixture(self, rows: LatentRows) -> MixtureStage:
        return mixture_stage(rows, latent=self.latent, components=self.components, rounds=self.rounds)
