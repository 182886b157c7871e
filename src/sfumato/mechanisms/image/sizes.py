"""How fine the density is and what the teacher gets, from public facts: smooth powers of what a class can tell.

What counts is the signal: the declared rows of a class in standard deviations of the noise on a count, if the whole
budget went to it. The noise on a covariance reaches 2 sqrt(k) standard deviations in k coefficients (Wigner), while the
variance of a picture's coefficients falls as a power of their number; so the number of coefficients that stand out of the
noise is a power of the signal, and so is that of clusters that have enough rows. The powers and factors were chosen on
drawn pictures: docs/research/images.md.

Pictures in colour are taken for photographs, grey ones for strokes on an even ground. What makes a class of photographs is in
things, edges and hues, of which waves and clusters know little: their density is made to look like them, and the teacher is told
the classes.
"""

from sfumato.mechanisms.common.pictures import n_channels, n_classes
from sfumato.mechanisms.common.precision import declared_rows, mu_of_a_row
from sfumato.mechanisms.image.density import ImageDensity
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Schema

#: Coefficients and clusters at a signal of 1, and the power with which they grow.
_COEFFICIENTS, _FINER = 23.0, 1 / 4
_CLUSTERS, _MORE = 0.4, 1 / 2
#: The signal at which means of classes get as much as products of coefficients; their part falls with its root.
_MEANS = 82.0
#: The part of the precision that goes to the teacher, and below which signal all classes of photographs have one shape.
_TEACHER, _TEACHER_OF_PHOTOGRAPHS = 0.6, 0.8
_ONE_SHAPE = 330.0


def signal_of(schema: Schema, budget: Budget) -> float:
    """The rows of a class of average size in standard deviations of the noise on a count."""
    return declared_rows(schema) * mu_of_a_row(schema, budget) / n_classes(schema)


def density_for(schema: Schema, budget: Budget) -> ImageDensity:
    """A density for the signal; there are at most as many coefficients as a channel has pixels."""
    image, signal = schema.images[0], signal_of(schema, budget)
    coefficients = round(_COEFFICIENTS * signal**_FINER / n_channels(image) ** 0.5)
    one_shape = are_photographs(schema) and signal < _ONE_SHAPE
    return ImageDensity(
        coefficients=max(1, min(coefficients, image.shape[0] * image.shape[1])),
        # One less: where rows are few, clusters are noise.
        clusters=1 if one_shape else max(1, int(_CLUSTERS * signal**_MORE) - 1),
        first_moments=(_MEANS / signal) ** 0.5,
        texture=are_photographs(schema),  # strokes on an even ground have none
        one_shape=one_shape,
    )


def are_photographs(schema: Schema) -> bool:
    """Whether pictures are in colour: which grey ones are photographs is not public."""
    return n_channels(schema.images[0]) > 1


def teacher_share(schema: Schema) -> float:
    """The part of the precision that goes to the teacher."""
    return _TEACHER_OF_PHOTOGRAPHS if are_photographs(schema) else _TEACHER
