"""A step: one planned access to private rows, described before any row is read."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from sfumato.errors import PlanError
from sfumato.public.budget import PrivacyUnit
from sfumato.public.plan.block import Block, Choice, Dense, Outer, Response, Votes
from sfumato.public.strict_json import read_fields, tagged, types_of

if TYPE_CHECKING:
    import dp_accounting as dpa

_MOST_SAMPLED = 10_000  # rows of a person whose coins are accounted for one by one, in seconds


@dataclass(frozen=True)
class Everyone:
    """Every row takes part."""


@dataclass(frozen=True)
class Poisson:
    """Each row takes part in each mixture by its own coin of public probability `rate`."""

    rate: float


@dataclass(frozen=True)
class WithoutReplacement:
    """Each mixture holds exactly `degree` of the `population` rows; their number is public (replace_one)."""

    degree: int
    population: int


@dataclass(frozen=True)
class SecretBins:
    """Each row falls into one mixture, chosen by a secret fair die. No amplification is claimed for the secrecy."""


@dataclass(frozen=True)
class KnownPartition:
    """Row i goes into mixture i modulo T: public, so it needs a public number of rows (replace_one)."""


@dataclass(frozen=True)
class EachRow:
    """Each row is reported by itself: there are as many mixtures as rows, a public number (replace_one), in a secret order."""


Sampling = Everyone | Poisson | WithoutReplacement | SecretBins | KnownPartition | EachRow


@dataclass(frozen=True, kw_only=True)
class Step:
    """One named access. It knows everything about its cost except the noise, which the plan calibrates.

    Noise is spoken of in *whitened* units, in which a row's whole contribution has norm at most 1: a step with
    noise multiplier s adds s * l2_bound / sqrt(share) to the entries of a block. `share` is the part of the total
    precision (1 / s^2) that the step gets, relative to the other steps.

    Where the unit is a person with several rows, `person_bound` is the norm that they may have together, in norms of one
    row: the door shortens the sum of whoever has more. Without it, every row of a person counts in full.
    """

    name: str
    blocks: tuple[Block, ...]
    share: float = 1.0
    uses: int = 1
    sampling: Sampling = field(default_factory=Everyone)
    mixtures: int = 1
    groups: int = 1
    person_bound: float | None = None

    def __post_init__(self) -> None:
        if not self.blocks or len({b.name for b in self.blocks}) != len(self.blocks):
            self._refuse(" needs blocks with different names.")
        if sum(b.share for b in self.blocks) > 1 + 1e-9:
            self._refuse(": the shares of its blocks add up to more than 1.")
        for value, what in ((self.uses, "uses"), (self.mixtures, "mixtures"), (self.groups, "groups")):
            if value < 1:
                self._refuse(f": {what} = {value} must be at least 1.")
        if not (math.isfinite(self.share) and self.share > 0):
            self._refuse(f": share = {self.share} must be a finite number above 0.")
        if self.is_mixed and self._has(Outer):
            self._refuse(": mixtures cannot hold an outer block. Use the door noisy_sum.")
        bound = self.person_bound
        if bound is not None and not (math.isfinite(bound) and bound >= 1):
            self._refuse(f": person_bound = {bound} must be a finite number of at least 1.")
        if bound is not None and (self.is_mixed or not isinstance(self.sampling, Everyone)):
            self._refuse(
                ": the rows of a person are clipped together in sums over everyone alone. Leave out person_bound."
            )
        is_alone = len(self.blocks) == 1 and not self.is_mixed and not self.is_sampled and bound is None
        if self._has(Choice | Votes) and not is_alone:
            self._refuse(
                ": a choice or a vote is made over everyone, and is the only block of its step. "
                "Leave out sampling, mixtures, groups and person_bound."
            )
        if self.is_reported and (self.groups > 1 or not all(isinstance(b, Dense | Response) for b in self.blocks)):
            self._refuse(": a report of a row is made of dense blocks and responses, without groups.")
        if self.is_pure and not all(isinstance(block, Response) and block.pure for block in self.blocks):
            self._refuse(": pure responses have a step for themselves, since epsilons add up.")
        if self._has(Response) and not self.is_reported:
            self._refuse(": a response is a report of one row. Set sampling = EachRow().")
        match self.sampling:
            case Poisson(rate) if not 0 < rate <= 1:
                self._refuse(
                    f": sampling rate {rate:g} must lie in (0, 1]. The mixture degree may not exceed the number of rows."
                )
            case WithoutReplacement(degree, population) if not 1 <= degree <= population:
                self._refuse(
                    f": cannot draw {degree} of {population} rows. "
                    "Choose a mixture degree of at least 1 and at most the number of rows."
                )

    def _has(self, kind: Any) -> bool:
        return any(isinstance(block, kind) for block in self.blocks)

    def _refuse(self, fault: str) -> NoReturn:
        raise PlanError(f"step {self.name!r}{fault}")

    def norm_of(self, unit: PrivacyUnit) -> float:
        """What a unit's whole contribution to one sum may be long, in norms of a row; of votes, in those of a change."""
        if self.votes:  # all rows of a person are in one part
            return 1.0
        return unit.max_rows if self.person_bound is None else min(self.person_bound, unit.max_rows)

    def clips_persons(self, unit: PrivacyUnit) -> bool:
        """Whether the rows of a person are clipped together, and not each for itself alone."""
        return self.person_bound is not None and self.person_bound < unit.max_rows

    def block(self, name: str) -> Block:
        """The block of that name."""
        for block in self.blocks:
            if block.name == name:
                return block
        self._refuse(f" has no block {name!r}.")

    @property
    def columns(self) -> int:
        """How many columns the per_record map gives for all blocks."""
        return sum(block.columns for block in self.blocks)

    @property
    def width(self) -> int:
        """Entries over all blocks."""
        return sum(block.width for block in self.blocks)

    @property
    def is_mixed(self) -> bool:
        """Whether the door `noisy_mixtures` carries it out: rows are divided among sums, or sampled into several."""
        return self.mixtures * self.groups > 1 or not isinstance(self.sampling, Everyone | Poisson)

    @property
    def choice(self) -> Choice | None:
        """The tables of a step that the door `noisy_choice` carries out; None for every other step."""
        block = self.blocks[0]
        return block if isinstance(block, Choice) else None

    @property
    def is_reported(self) -> bool:
        """Whether the door `noisy_reports` carries it out: every row by itself."""
        return isinstance(self.sampling, EachRow)

    @property
    def votes(self) -> Votes | None:
        """The votes of a step that the door `noisy_votes` carries out; None for every other step."""
        block = self.blocks[0]
        return block if isinstance(block, Votes) else None

    @property
    def is_pure(self) -> bool:
        """Whether it costs an epsilon that adds up, and no delta."""
        return any(isinstance(block, Response) and block.pure for block in self.blocks)

    @property
    def door(self) -> str:
        """The door that carries it out."""
        if self.is_reported:
            return "noisy_reports"
        if self.votes:
            return "noisy_votes"
        return "noisy_choice" if self.choice else "noisy_mixtures" if self.is_mixed else "noisy_sum"

    @property
    def is_sampled(self) -> bool:
        """Whether the cost needs an accountant for subsampling."""
        return isinstance(self.sampling, Poisson | WithoutReplacement)

    @property
    def draws(self) -> bool:
        """Whether coins, dice or subsets decide which rows take part where."""
        return self.votes is not None or isinstance(self.sampling, Poisson | SecretBins | WithoutReplacement)

    def diameter(self) -> float:
        """The largest distance between two rows' contributions, in whitened units (2 for a ball)."""
        if self.votes:  # its norm is that of a change already
            return 1.0
        return math.sqrt(sum(b.share * (2.0 if b.nonnegative else 4.0) for b in self.blocks))

    def event(self, *, noise_multiplier: float, unit: PrivacyUnit) -> "dpa.DpEvent":
        """What the accountant is told: all uses of this step at this noise.

        docs/proofs/doors.md derives each line.
        """
        import dp_accounting as dpa  # where it is needed: it takes a second, and processes that add up rows never ask

        single, count = self._single_event(noise_multiplier, unit)
        return single if count == 1 else dpa.SelfComposedDpEvent(single, count)

    def _single_event(self, noise: float, unit: PrivacyUnit) -> "tuple[dpa.DpEvent, int]":
        import dp_accounting as dpa
        from dp_accounting import dp_event
        from scipy import stats

        rows = unit.max_rows
        if unit.relation == "replace_one":
            return self._replace_event(noise, unit)
        match self.sampling:
            case Everyone() | SecretBins():
                return dpa.GaussianDpEvent(noise / self.norm_of(unit)), self.uses
            case Poisson(rate) if rows == 1:
                return dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(noise)), self.uses * self.mixtures
            case Poisson() if rows > _MOST_SAMPLED:
                self._refuse(
                    f" is sampled, and max_rows = {rows} rows of a person are too many to be accounted for. "
                    f"Use at most {_MOST_SAMPLED}."
                )
            case Poisson(rate):
                # Of a person's rows, a binomial number takes part: a mixture of Gaussians.
                taking_part = list(range(rows + 1))
                odds = [float(stats.binom.pmf(count, rows, rate)) for count in taking_part]
                return dp_event.MixtureOfGaussiansDpEvent(noise, taking_part, odds), self.uses * self.mixtures
            case WithoutReplacement() | KnownPartition():
                self._refuse(
                    " needs a public number of rows, which add_or_remove keeps private. "
                    'Use Poisson sampling or secret bins, or set relation = "replace_one".'
                )
            case EachRow():
                self._refuse(
                    " reports on every row, so that their number is public, and add_or_remove keeps it "
                    'private. Set relation = "replace_one".'
                )

    def _replace_event(self, noise: float, unit: PrivacyUnit) -> "tuple[dpa.DpEvent, int]":
        import dp_accounting as dpa

        from sfumato.public.accounting.events import EpsilonDeltaDpEvent

        rows = unit.max_rows
        if self.groups > 1:
            self._refuse(
                ' works group by group, and a replaced row may change its group. Use relation = "add_or_remove".'
            )
        if self.is_sampled and rows > 1:
            self._refuse(' is sampled: persons with several rows need relation = "add_or_remove".')
        if isinstance(self.sampling, KnownPartition) and unit.person is not None:
            self._refuse(
                " divides rows by their place in the file, and another person's rows would move all "
                "that follow. Use secret bins or Poisson sampling where the unit is a person."
            )
        if self.is_reported and unit.person is not None:
            self._refuse(
                " reports on every row, and the number of reports would show how many rows a person has. "
                "Bring the data to one row for each person, and leave out the person column."
            )
        match self.sampling:
            case EachRow() if self.is_pure:
                return EpsilonDeltaDpEvent(2 * sum(block.share for block in self.blocks) / noise, 0.0), self.uses
            case Everyone() | SecretBins() | KnownPartition() | EachRow():
                return dpa.GaussianDpEvent(noise / (self.norm_of(unit) * self.diameter())), self.uses
            case Poisson(rate):
                # dp_accounting counts the noise of this event relative to a row's norm, not to the diameter.
                return dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(noise)), self.uses * self.mixtures
            case WithoutReplacement(degree, population):
                inner = dpa.GaussianDpEvent(noise / self.diameter())
                return dpa.SampledWithoutReplacementDpEvent(population, degree, inner), self.uses * self.mixtures

    def to_json(self) -> dict[str, Any]:
        """Plain values for the certificate."""
        plain = {key: getattr(self, key) for key in ("name", "share", "uses", "mixtures", "groups", "person_bound")}
        return {**plain, "sampling": tagged(self.sampling), "blocks": [tagged(block) for block in self.blocks]}


def step_from_json(body: Any) -> Step:
    """Read back what `Step.to_json` wrote. Whatever else it is given, it refuses."""
    return Step(**read_fields(body, types_of(Step), what="a step"))
