"""All mutants, by the part of the package that they break."""

from mutants.accounts import ACCOUNTING
from mutants.around import INTAKE, MECHANISMS, VERIFICATION
from mutants.discovery import DISCOVERY
from mutants.kernel import KERNEL
from mutants.mutant import Mutant
from mutants.verify import VERIFY

MUTANTS: tuple[Mutant, ...] = (*KERNEL, *INTAKE, *ACCOUNTING, *DISCOVERY, *MECHANISMS, *VERIFICATION, *VERIFY)
