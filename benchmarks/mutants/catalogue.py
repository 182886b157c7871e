"""All mutants, by the part of the package that they break."""

from mutants.accounts import ACCOUNTING
from mutants.around import INTAKE, MECHANISMS, VERIFICATION
from mutants.kernel import KERNEL
from mutants.losses import LOSSES
from mutants.mutant import Mutant
from mutants.reading import READING
from mutants.suite import SUITE

MUTANTS: tuple[Mutant, ...] = (*KERNEL, *LOSSES, *INTAKE, *READING, *ACCOUNTING, *MECHANISMS, *VERIFICATION, *SUITE)
