"""The stages of `3a-table` that a rule for the classes needs, and what each gets of the budget."""

from sfumato.mechanisms.learners.progress import SHARE, progress_step
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.public.plan.step import Step

#: Bins, what classes and correlations say of them (a first rule, and rows that stand for private ones), and gradients.
_STAGES = ("coarse", "fine", "classes", "moments", "teacher")


class RulePlan(TablePlan):
    """Bins and gradients, and nothing that only rows would need; what that frees goes to the gradients."""

    @property
    def has_trees(self) -> bool:
        """No: one weight for every bin, and nothing besides."""
        return False

    @property
    def codes_block(self) -> None:
        """None: a rule of bins has nothing to say of categories that share one."""
        return None

    def shares(self) -> dict[str, float]:
        """As for rows, but for what is left out."""
        of_rows = super().shares()
        kept = {stage: share for stage, share in of_rows.items() if stage in _STAGES}
        last = "teacher" if "teacher" in kept else "classes"
        return {**kept, last: kept[last] + sum(of_rows.values()) - sum(kept.values())}

    def steps(self) -> tuple[Step, ...]:
        """The stages, and a look at how it goes."""
        steps = super().steps()
        looks = self.gradients + 1 if any(step.name == "teacher" for step in steps) else 1
        share = SHARE * sum(step.share for step in steps) / self.schema.unit.max_rows
        return (*steps, progress_step(looks=looks, share=share))
