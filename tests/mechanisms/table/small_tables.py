"""Made-up rows need no large population: settings of the table method for quick tests."""

from dataclasses import replace

from sfumato.mechanisms.table.mechanism import ThreeATable
from sfumato.mechanisms.table.settings.table import TableSettings

DEFAULT = TableSettings()
COLUMNS, JOINT, TARGET, SIZES = DEFAULT.columns, DEFAULT.joint, DEFAULT.target, DEFAULT.sizes
SAMPLING, BUDGETS, NORMS = DEFAULT.sampling, DEFAULT.budget, DEFAULT.norms


def with_rows(settings: TableSettings, *, population: int, learning: int, hessian: int) -> TableSettings:
    """Smaller populations."""
    return replace(
        settings,
        joint=replace(settings.joint, population_rows=population, triple_rows=hessian),
        target=replace(settings.target, learning_rows=learning, hessian_rows=hessian),
    )


#: Enough for a utility that can be distinguished from chance.
SMALL = with_rows(DEFAULT, population=20_000, learning=10_000, hessian=2_000)

_FEW = with_rows(DEFAULT, population=1_000, learning=400, hessian=200)
#: The clauses of the contract fit the mechanism many times.
TINY = replace(
    _FEW,
    sizes=replace(SIZES, gradients=(2, 2), zoom_looks=2),
    columns=replace(
        COLUMNS,
        shape_places=4,
        shape_widths=(0.05, 0.2),
        shape_ranges=4,
        density_lengths=(0.1,),
        density_heights=(0.1, 1.0),
        density_roughness=(1e-3,),
    ),
    joint=replace(_FEW.joint, simulated_rows=(500, 500), n_correlation_variances=4, n_pair_factors=3, ratio_rounds=3),
    target=replace(_FEW.target, tree_rounds=3, number_trees=3),
)
TINY_TABLE, SMALL_TABLE = ThreeATable(settings=TINY), ThreeATable(settings=SMALL)
