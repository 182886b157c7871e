"""Non-interference: given what the doors answered, private rows have no say in anything.

The doors' answers are replayed, and all that comes out must be the same to the last bit: without any rows, with a row more or
another one, and in a process that has never seen a row. Nearly every leak ends here: an exact statistic, a value kept in a
global, a message, a shape, a choice. What is left is for the doors themselves: the sums that go into the noise.
"""

import gc
import warnings

from sfumato.check.instruments.fresh import build_elsewhere, build_here, can_be_loaded
from sfumato.check.instruments.maps import try_maps
from sfumato.check.instruments.neighbours import bases
from sfumato.check.instruments.setting import MODEL_SEED, Setting, without_maps
from sfumato.errors import ContractError


def maps_act_on_each_row_alone(setting: Setting) -> None:
    """Maps keep nothing, change nothing, and give a row the same bits at every place, among any rows."""
    try_maps(setting.run_well(setting.ordinary(), seed=1).outcome.maps, setting.schema)


def answers_tell_all(setting: Setting) -> None:
    """The doors' answers without any rows behind them give the same measurements, calls and messages."""
    run = without_maps(setting.run_well(setting.ordinary(), seed=1))
    gc.collect()  # no View is left that could be found
    run.outcome.refuse_side_effects()
    again = setting.run_without_rows(run.answers)
    if (what := run.outcome.differs_from(again)) is not None:
        raise ContractError(
            f"with the doors' own answers and no rows behind them, {what}. What measure gives must follow from what the "
            "doors answer; whatever else it knows of the rows has no noise."
        )


def neighbours_cannot_be_told_apart(setting: Setting) -> None:
    """Under the same answers, data that differ in one unit give the same measurements, calls, messages and model."""
    for pair in setting.pairs():
        pair.two.outcome.refuse_side_effects()
        if (what := pair.one.outcome.differs_from(pair.two.outcome)) is not None:
            raise ContractError(
                f"{what} between neighbouring datasets ({pair.label}) although the doors give the same answers. "
                "Something reaches the rows past the doors."
            )
    base = next(iter(bases(setting.schema, n_rows=setting.n_rows)))
    one = setting.run(base.raw, seed=0)
    built = build_here(setting.mechanism, one.outcome, setting.schema, seed=MODEL_SEED)
    two = setting.run(base.neighbours[0].raw, seed=0, answers=one.record, new=base.neighbours[0].places)
    again = build_here(setting.mechanism, two.outcome, setting.schema, seed=MODEL_SEED)
    if (what := built.differs_from(again)) is not None:
        raise ContractError(f"{what} between neighbouring datasets although the doors give the same answers.")


def a_fresh_process_builds_the_same(setting: Setting) -> None:
    """A process that has seen no rows gets the same model from the answers, and the same maps."""
    run = setting.run_well(setting.ordinary(), seed=1)
    here = build_here(setting.mechanism, run.outcome, setting.schema, seed=MODEL_SEED)
    if here.error is not None:
        raise ContractError(f"build raises {here.error}")
    if not can_be_loaded(setting.mechanism):
        warnings.warn(
            f"{type(setting.mechanism).__qualname__} stands in no file, so no fresh process can build its model again: "
            "that clause was not checked. Write the class into a module.",
            stacklevel=2,
        )
        return
    rows = [noted.rows for noted in run.outcome.maps]
    elsewhere = build_elsewhere(
        setting.mechanism, setting.schema, setting.plan, run.answers, seed=MODEL_SEED, rows=rows
    )
    if (what := elsewhere.differs_from(here)) is not None:
        raise ContractError(
            f"in a fresh process, from the same answers, {what}. build and the maps may use settings, schema, seed and "
            "measurements; globals, files, clocks and unseeded random numbers are neither."
        )
