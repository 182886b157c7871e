"""What each stage gets of the budget, and how long a person's rows may be together: these change the privacy plan."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class StageShares:
    """What each stage gets of the precision, at three sizes of a table (`BudgetSettings.sizes`)."""

    coarse: tuple[float, ...] = (0.10, 0.08, 0.03)  #: cells of every column, coarsely (zoo)
    fine: tuple[float, ...] = (0.15, 0.17, 0.12)  #: the same, finer where coarse counts are large (zoo)
    spikes: tuple[float, ...] = (0.00, 0.00, 0.015)  #: point masses, followed into heavy cells (zoo)
    classes: tuple[float, ...] = (0.75, 0.55, 0.17)  #: bins of every column by class (zoo)
    moments: tuple[float, ...] = (0.00, 0.20, 0.07)  #: correlations by class (zoo)
    pairs: tuple[float, ...] = (0.00, 0.00, 0.09)  #: coarse tables of all pairs of columns (zoo)
    contrasts: tuple[float, ...] = (0.00, 0.00, 0.03)  #: the same, one half of the classes less the other (zoo)
    links: tuple[float, ...] = (0.00, 0.00, 0.075)  #: fine tables along a spanning tree (zoo)
    triples: tuple[float, ...] = (0.00, 0.00, 0.015)  #: which three columns interact (zoo)
    cubes: tuple[float, ...] = (0.00, 0.00, 0.015)  #: tables of those triples (zoo)
    teacher: tuple[float, ...] = (0.00, 0.00, 0.355)  #: corrections of the rule for the target (zoo)


@dataclass(frozen=True)
class BudgetSettings:
    """How the budget is split. A size is rho: all rows in standard deviations of a count that every column shares."""

    shares: StageShares = field(default_factory=StageShares)  #: of the stages that every table may have
    sizes: tuple[float, ...] = (120.0, 300.0, 700.0)  #: rho at which the shares hold; between them by log rho
    least_share: float = 0.01  #: a stage that would get less is left out (judgement)
    groups: float = 0.01  #: share of the counts that find one-hot groups (judgement)
    differences: float = 0.01  #: share of the counts that find nearly equal columns (judgement)
    rule: tuple[float, float] = (0.02, 0.3)  #: range of the share of a column that is a function of others (judgement)
    rule_visible: float = 8.0  #: standard deviations that an average reason should stand out by (judgement)
    rule_moved: float = 0.02  #: part of the rows that noise in counts of reasons should move at most (depends.py)
    rule_of_shares: float = 0.08  #: share that a column has at most for that alone (judgement)
    person_sizes: float = 0.02  #: share of rows of each class, where persons have several (judgement)
    whole_of_all: float = 0.5  #: share of the table of all columns, where it is counted whole (zoo)
    whole_of_some: float = 0.03  #: the same of a group of columns (zoo)
    whole_choice: float = 0.01  #: share of the choice of such a group (judgement)
    trees: float = 0.03  #: part of the correction that goes to how far trees are believed (judgement)
    everywhere: float = 0.01  #: part of the correction for all rows together (simulated gradients: .01, .03, none)
    residual_variance: float = 0.01  #: share of the size of a numeric target's errors (zoo, paired noise)
    pairs_of_number: float = 0.4  #: part of the corrections of a number that goes to pairs of columns
    #: share of a numeric target's corrections, at least, by rho: classes give it up (few_rows.py, zoo)
    number_taught: tuple[tuple[float, float], ...] = ((10.0, 0.1), (30.0, 0.5), (120.0, 0.2), (700.0, 0.45))
    #: share of coarse counts with a numeric target, at least, by rho (few_rows.py)
    number_coarse: tuple[tuple[float, float], ...] = ((10.0, 0.3), (40.0, 0.1), (120.0, 0.0))
    #: share of fine counts with a numeric target, at least, by rho (few_rows.py)
    number_fine: tuple[tuple[float, float], ...] = ((10.0, 0.4), (40.0, 0.15), (120.0, 0.0))
    #: what coarse and fine counts give to a numeric target, by rho (judgement)
    number_share: tuple[tuple[float, float], ...] = ((30.0, 0.5), (120.0, 0.25))
    #: with c classes coarse and fine counts have (c/2) to these powers of their share, at the largest size and at ample
    spared: tuple[float, float] = (0.0, -0.5)
    ample: float = 1500.0  #: rho from which the second power holds (zoo, paired fits)
    many_codes: tuple[float, float] = (1.0, 4.0)  #: rho over categories between which stages give up shares (judgement)
    given_up_by_teacher: float = 0.75  #: part that the correction gives up to class tables of many categories (zoo)
    given_up: float = 0.5  #: the same of moments, pairs, contrasts and links (zoo)
    moments_alone: float = 4.0  #: times the share of moments without a target (zoo)
    moments_enough: float = (
        0.7  #: noise in a correlation, over the chance of so many rows, that is little enough (few_columns.py)
    )
    pairs_alone: float = 1.5  #: times the share of pairs without a target (zoo)
    #: a bin should hold so many standard deviations of its class counts, for small and large rho
    bin_least: tuple[float, float] = (8.0, 4.0)
    bends: tuple[float, float] = (
        60.0,
        2000.0,
    )  #: grids turn logarithmic at this part of the range, small and large rho


@dataclass(frozen=True)
class PersonNorms:
    """The norm that a person's m rows may have together, as a factor and a power of m (zoo: norms of persons' sums)."""

    groups: tuple[float, float] = (1.0, 1.0)  #: every row in full
    sizes: tuple[float, float] = (1.0, 1.0)  #: every row in full
    coarse: tuple[float, float] = (1.0, 1.0)  #: every row in full
    differences: tuple[float, float] = (1.0, 0.6)  #: what goes with what: rows differ
    rules: tuple[float, float] = (1.0, 0.75)  #: room for rows that are much alike
    fine: tuple[float, float] = (1.0, 0.65)  #: some room for rows that are alike (zoo: .5, .65, .8)
    spikes: tuple[float, float] = (1.0, 0.8)  #: room for rows that are much alike
    codes: tuple[float, float] = (1.0, 0.75)  #: room for rows that are much alike
    classes: tuple[float, float] = (1.0, 0.75)  #: room for rows that are much alike
    moments: tuple[float, float] = (1.0, 0.65)  #: what goes with what: rows differ
    pairs: tuple[float, float] = (1.0, 0.6)  #: what goes with what: rows differ
    contrasts: tuple[float, float] = (1.0, 0.6)  #: what goes with what: rows differ
    links: tuple[float, float] = (1.0, 0.6)  #: what goes with what: rows differ
    triples: tuple[float, float] = (1.0, 0.5)  #: what goes with what: rows differ
    whole: tuple[float, float] = (1.0, 0.75)  #: room for rows that are much alike
    cubes: tuple[float, float] = (1.0, 0.6)  #: what goes with what: rows differ
    teacher: tuple[float, float] = (0.6, 0.5)  #: errors of a rule are mostly small
    residuals: tuple[float, float] = (0.3, 0.5)  #: their squares even more so
    number_fine: tuple[float, float] = (1.0, 0.5)  #: the three of a numeric target, where noise does more harm (zoo)
    number_classes: tuple[float, float] = (1.0, 0.6)  #: little room for rows that are alike (zoo: .5, .6, .75)
    number_teacher: tuple[float, float] = (0.8, 0.5)  #: its errors are cut early, and fewer are small (zoo: .4 to 1)

    def of_number(self) -> "PersonNorms":
        """Those of a numeric target."""
        return replace(self, fine=self.number_fine, classes=self.number_classes, teacher=self.number_teacher)
