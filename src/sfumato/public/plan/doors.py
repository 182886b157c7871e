"""The doors as a mechanism sees them: types only, so that a mechanism need not import the private zone."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from sfumato.public.budget import Budget
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.measured import Measured as Measured  # what doors give back is imported from here as well
from sfumato.public.schema.schema import Batch

#: What each row contributes: a map from a batch of rows to one array of rows for each block of the step.
PerRecord = Callable[[Batch], Mapping[str, NDArray[Any]]]
#: The group of each row, an integer in [0, groups).
GroupOf = Callable[[Batch], NDArray[Any]]
#: A torch.Tensor. torch is an optional extra, so its types are not named here.
Tensor = Any
#: Tensors by name; arrays are taken as well.
Tensors = Mapping[str, Tensor]
#: `cpu`, `cuda`, ...; None for a GPU where torch finds one.
Device = str | None
#: The loss of ONE example, a number: of public parameters, and of one row's columns (numbers and images in the type of
#: the parameters, codes as int64). The door maps it over rows.
Loss = Callable[[Tensors, Tensors], Tensor]

#: What teachers are asked, one row for each query: public.
Queries = NDArray[Any]
#: A teacher: one class for each query, a whole number.
Teacher = Callable[[Queries], NDArray[Any]]
#: Makes a teacher of the rows of one part, and of nothing else that is private.
Train = Callable[[Batch], Teacher]


#: What a door gives back, by block.
Noisy = dict[str, Measured]


class Doors(Protocol):
    """What `Mechanism.measure` may use."""

    @property
    def budget(self) -> Budget:
        """The guarantee to meet, as `steps` was told: a public fact."""

    def noise_stddev(self, step_name: str, block: str) -> float:
        """The planned noise on each entry of a block: a public fact, for shrinking what is drowned in it."""

    def prepare(self, name: str, per_record: GroupOf) -> None:
        """Add a column that is computed from each row alone, once for all later doors; maps find it in the batch."""

    def noisy_sum(self, step_name: str, per_record: PerRecord) -> Noisy:
        """The sum over rows of what each contributes, clipped, plus noise."""

    def noisy_mixtures(self, step_name: str, per_record: PerRecord, *, group_of: GroupOf | None = None) -> Noisy:
        """Many noisy sums over sampled rows."""

    def noisy_choice(self, step_name: str, per_record: PerRecord, expected: Mapping[int, Expected]) -> int:
        """Which table on offer departs most from what is expected of it, by the exponential mechanism."""

    def noisy_reports(self, step_name: str, per_record: PerRecord) -> Noisy:
        """One randomised report of every row, in a secret order."""

    def noisy_votes(self, step_name: str, train: Train, queries: Queries) -> Noisy:
        """How many teachers, each of a part of the rows, vote for each class of each query, plus noise."""

    def noisy_gradients(
        self, step_name: str, loss: Loss, parameters: Tensors, *, device: Device = None, microbatch: int | None = None
    ) -> Noisy:
        """The sum over sampled rows of each one's clipped gradient, plus noise, by parameter."""
