"""The places where privacy is made: clipping, coins, dice, subsets, choices, responses and noise, as one object for a View.

A View has no randomness and no clip of its own. So a test that spoils one of these, or notes what goes through it, hands in
another object, and the doors stay as they are. `fit` certifies what was made with exactly this class.
"""

import numpy as np

from sfumato.private.kernel import choice, clip, responses, sampling
from sfumato.private.kernel.arrays import Floats, Integers, Small, Values
from sfumato.private.kernel.gaussian import rounded_gaussian
from sfumato.private.kernel.persons import Together
from sfumato.private.kernel.randomness import KeyStream, NoiseSource, is_own_and_secure
from sfumato.public.certificate.randomness import Status
from sfumato.public.plan.block import Dense, Outer
from sfumato.public.plan.doors import Tensor
from sfumato.public.plan.step import Step


class RowPrimitives:
    """What is done to rows where they lie: functions of the rows, of public facts and of the key of a use, and no stream."""

    def clip(self, values: Values, *, block: Dense, noise_multiplier: float) -> Small:
        """Rows as integers whose norm is at most the block's bound."""
        return clip.clip_to_grid(values, block=block, noise_multiplier=noise_multiplier)

    def clip_outer(self, values: Values, *, block: Outer) -> tuple[Floats, Floats]:
        """Both vectors of each row on the fine grid, so that the norm of their product is at most the block's bound."""
        return clip.clip_to_fine_grid(values, block=block)

    def clip_gradients(self, gradients: Tensor, *, block: Dense, noise_multiplier: float) -> Tensor:
        """The same as `clip`, for tensors on their own device."""
        return clip.clip_tensor_to_grid(gradients, block=block, noise_multiplier=noise_multiplier)

    def clip_persons(self, lengths: Values, together: Together) -> Values:
        """What carries the lengths of clipped rows, shortened so that no person's sum is longer than the step's bound."""
        return together.shortened(lengths)

    def coins(self, step: Step, *, key: bytes, first: int, n_rows: int, n_coins: int, rate: float) -> Integers:
        """Which of `n_coins` coins for each of `n_rows` rows fall on heads, as row * n_coins + coin, ascending.

        `first` is the place of the first row in the data; `step` is for those who note what is drawn.
        """
        return sampling.coins(key, first=first, n_rows=n_rows, n_coins=n_coins, rate=rate)

    def dice(self, step: Step, *, key: bytes, first: int, n_rows: int, sides: int) -> Integers:
        """One fair die for each row."""
        return sampling.dice(key, first=first, n_rows=n_rows, sides=sides)

    def subsets(self, step: Step, *, key: bytes, n_subsets: int, size: int, population: int) -> Small:
        """Independent uniform subsets, one a row."""
        return sampling.subsets(n_subsets, size=size, population=population, source=KeyStream(key))


class Primitives(RowPrimitives):
    """What the doors are built of. docs/kernel.md names the promise, the proof and the twin of each."""

    def __init__(self, source: NoiseSource) -> None:
        """Draw from this stream, and from no other."""
        self.source = source

    @property
    def status(self) -> Status:
        """What a release may be called that was made with these."""
        if not self.may_travel:
            return "non_private"
        return "certified" if is_own_and_secure(self.source) else "research"

    @property
    def may_travel(self) -> bool:
        """Whether these are the package's own, so that a worker elsewhere has the same for its rows."""
        # On one object, too, a method may be exchanged.
        return type(self) is Primitives and vars(self).keys() == {"source"}

    def key(self) -> bytes:
        """A fresh secret key for the coins of one use of a step."""
        return self.source.key()

    def choose(self, private_scores: list[int], *, step: str, block: str, rate: int) -> int:
        """The place of one score, by the exponential mechanism. What this gives back is public."""
        return choice.chosen(private_scores, rate=rate, source=self.source)

    def respond(self, private_codes: Integers, *, step: str, block: str, categories: int, parts: int) -> Integers:
        """A code of each row by randomised response. What this gives back is public."""
        return responses.randomised(private_codes, categories=categories, parts=parts, source=self.source)

    def order(self, n_rows: int, *, step: str) -> Integers:
        """A uniform order, which stays secret."""
        return responses.secret_order(n_rows, source=self.source)

    def noisy(self, private_sum: Integers, *, step: str, block: str) -> Integers:
        """The sum plus its noise. What this gives back is public."""
        return private_sum + self.noise(private_sum.shape)

    def noise(self, shape: tuple[int, ...]) -> Integers:
        """Fresh noise for every entry."""
        return rounded_gaussian(int(np.prod(shape)), source=self.source).reshape(shape)
