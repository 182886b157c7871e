"""What a mechanism is handed: the doors, and nothing else of the View behind them."""

from collections.abc import Mapping
from typing import NoReturn
from weakref import WeakKeyDictionary

from sfumato.errors import PrivacyError
from sfumato.private.view import View
from sfumato.public.budget import Budget
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.doors import Device, GroupOf, Loss, Noisy, PerRecord, Queries, Tensors, Train


class DoorsOnly:
    """The doors of a View. It has no attribute that leads to the rows.

    As with `Sensitive`, this guards against accidents and against the curious; code that means to get in is found by the
    contract suite, because it fails where the doors answer without rows behind them.
    """

    __slots__ = ("__weakref__",)

    @property
    def budget(self) -> Budget:
        """The guarantee to meet."""
        return _VIEWS[self].budget

    def noise_stddev(self, step_name: str, block: str) -> float:
        """The planned noise on each entry of a block."""
        return _VIEWS[self].noise_stddev(step_name, block)

    def prepare(self, name: str, per_record: GroupOf) -> None:
        """Add a column that is computed from each row alone."""
        _VIEWS[self].prepare(name, per_record)

    def noisy_sum(self, step_name: str, per_record: PerRecord) -> Noisy:
        """See `View.noisy_sum`."""
        return _VIEWS[self].noisy_sum(step_name, per_record)

    def noisy_mixtures(self, step_name: str, per_record: PerRecord, *, group_of: GroupOf | None = None) -> Noisy:
        """See `View.noisy_mixtures`."""
        return _VIEWS[self].noisy_mixtures(step_name, per_record, group_of=group_of)

    def noisy_choice(self, step_name: str, per_record: PerRecord, expected: Mapping[int, Expected]) -> int:
        """See `View.noisy_choice`."""
        return _VIEWS[self].noisy_choice(step_name, per_record, expected)

    def noisy_reports(self, step_name: str, per_record: PerRecord) -> Noisy:
        """See `View.noisy_reports`."""
        return _VIEWS[self].noisy_reports(step_name, per_record)

    def noisy_votes(self, step_name: str, train: Train, queries: Queries) -> Noisy:
        """See `View.noisy_votes`."""
        return _VIEWS[self].noisy_votes(step_name, train, queries)

    def noisy_gradients(
        self, step_name: str, loss: Loss, parameters: Tensors, *, device: Device = None, microbatch: int | None = None
    ) -> Noisy:
        """See `View.noisy_gradients`."""
        return _VIEWS[self].noisy_gradients(step_name, loss, parameters, device=device, microbatch=microbatch)

    def __reduce__(self) -> NoReturn:
        raise PrivacyError("doors cannot be pickled or copied: there are private rows behind them.")


_VIEWS: WeakKeyDictionary[DoorsOnly, View] = WeakKeyDictionary()


def doors_of(view: View) -> DoorsOnly:
    """The doors of a view. They close when the mechanism lets go of them."""
    doors = DoorsOnly()
    _VIEWS[doors] = view
    return doors
