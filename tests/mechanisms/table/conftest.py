"""Made-up rows need no large population."""

import pytest

from helpers import set_constant


def shrink(monkeypatch, *, population: int, learning: int, hessian: int) -> None:
    """Smaller populations, also in fresh processes."""
    set_constant(monkeypatch, "sfumato.mechanisms.table.joint.population.ROWS", population)
    set_constant(monkeypatch, "sfumato.mechanisms.table.measure_classes.LEARNING_ROWS", learning)
    set_constant(monkeypatch, "sfumato.mechanisms.table.measure_classes.HESSIAN_ROWS", hessian)
    set_constant(monkeypatch, "sfumato.mechanisms.table.measure_joint.SUM_ROWS", hessian)


@pytest.fixture
def small(monkeypatch):
    """Enough for a utility that can be told from chance."""
    shrink(monkeypatch, population=20_000, learning=10_000, hessian=2_000)


@pytest.fixture
def tiny(monkeypatch):
    """The clauses of the contract fit the mechanism many times."""
    shrink(monkeypatch, population=1_000, learning=400, hessian=200)
    fewer = {
        "rule._ROUNDS": 3,
        "density._LENGTHS": (0.1,),
        "density._HEIGHTS": (0.1, 1.0),
        "density._ROUGH": (1e-3,),
    }
    fewer["blueprint._GRADIENTS"] = (2, 2)
    fewer |= {f"copula.{name}": 500 for name in ("_FEWEST_SIMULATED", "_MOST_SIMULATED")}
    fewer |= {f"{module}.LOOKS": 2 for module in ("spikes", "to_bins", "blueprint")}
    for name, value in fewer.items():
        set_constant(monkeypatch, f"sfumato.mechanisms.table.{name}", value)
