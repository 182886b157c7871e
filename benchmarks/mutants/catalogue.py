"""All mutants, by the part of the package that they break."""

from mutants.accounts import ACCOUNTING
from mutants.around import INTAKE, MECHANISMS, VERIFICATION
from mutants.discovery import DISCOVERY
from mutants.engines import ENGINES
from mutants.kernel import KERNEL
from mutants.ledger import LEDGER
from mutants.losses import LOSSES
from mutants.mutant import Mutant
from mutants.reading import READING
from mutants.suite import SUITE
from mutants.verify import VERIFY

MUTANTS: tuple[Mutant, ...] = (
    *(*KERNEL, *ENGINES, *LOSSES, *INTAKE, *READING, *ACCOUNTING, *DISCOVERY, *MECHANISMS),
    *(*VERIFICATION, *VERIFY, *SUITE, *LEDGER),
)
