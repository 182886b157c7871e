"""How large the sums are that are asked for: these change the privacy plan."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SumSizes:
    """Bounds on the sizes of sums, and which columns are counted at all."""

    cells: int = 1024  #: cells of a number that has no short list of values (judgement)
    number_bins: int = 32  #: bins of a number, at most (judgement; 24 and 48 compared in an earlier study)
    category_bins: int = 64  #: bins of a category, at most (time)
    bins_by_class: int = 512  #: bins of a category times classes, where classes are few (time)
    all_bins: int = 1536  #: bins of all columns together, at most (time)
    fewest_bins: int = 4  #: bins of a column, at least (judgement)
    #: categories for each bin: from the first on counted one by one, at the second with all that is given up for it
    categories_per_bin: tuple[float, float] = (2.0, 16.0)
    counts_codes: bool = True  #: columns of many categories are counted by class, one by one
    rho_per_level: float = 225.0  #: a level of a numeric target for so much of rho
    target_levels: tuple[int, int] = (6, 16)  #: the range of these levels
    most_paired: int = 64  #: with more columns there are too many pairs to share the precision (time)
    most_numbers: int = 1 << 22  #: sums with more entries are left out or made smaller (memory)
    most_weights: int = 1 << 16  #: weights of a rule for the classes, at most (memory)
    most_centred: int = 1 << 26  #: class tables are centred row by row up to so many numbers (time)
    gradient_weights: int = 1 << 14  #: weights of all gradients together, about (time)
    gradients: tuple[int, int] = (2, 10)  #: the range of how many gradients there are
    counted_row: float = 0.3  #: what a row of a person counts beside its errors (zoo: .2, .3, .5, 1)
    number_looks: int = 2  #: corrections of a numeric target: by parts, then by finer pairs; one without pairs
    most_parts: int = 512  #: parts of a category in the corrections of a number, at most (memory)
    all_parts: int = 2048  #: parts of all columns there, shared among them (memory)
    most_effects: int = 2560  #: with more parts a numeric target is not corrected (memory)
    rows_per_part: float = 32.0  #: rows times mu for each part that a block's share reckons with (compare_constants.py)
    moments_noise: float = 0.1  #: noise in a correlation up to which levels of a number have correlations of their own
    pair_visible: float = 2.5  #: rows in a cell of every pair, over the noise there, from which pairs are asked for
    number_pairs: int = 32  #: pairs of columns that are asked for what they add to a number, at most
    close_pairs: int = 4  #: pairs that a numeric target's second look goes into
    close_levels: int = 12  #: levels of either column in that look; more of one where the other has fewer
    coarse_parts: tuple[int, int] = (8, 32)  #: the range of coarse parts of a number, by rows over noise (zoo)
    coarse_looks: int = 2  #: how often coarse parts are counted (judgement)
    zoom_looks: int = 4  #: looks into heavy cells: four narrow one by a million (judgement)
    zoom_parts: int = 32  #: parts that each look cuts a heavy cell into (judgement)
    zoom_cells: int = 32  #: heavy cells of a column that are looked into (judgement)
    compares_columns: bool = True  #: nearly equal columns are looked for
    difference_scales: int = 10  #: a difference is counted by powers of two of a spread, so many of them
    most_compared: int = 32  #: pairs of columns that are compared, at most (time)
    difference_least: float = 8.0  #: rows of all pairs over the noise of their counts, at least (judgement)
    difference_largest: float = 2.0**52  #: of larger numbers differences would be rounded
    counts_rules: bool = (
        True  #: what follows from other columns by the schema is counted; off: majority of released rows
    )
    rule_cells: int = 1 << 18  #: reasons times consequences of a column that is a function of others (memory)
    smallest_group: int = 3  #: members of a one-hot group, at least (judgement)
    calendar_periods: int = 3  #: hours and weekdays are columns from so many days or weeks on (judgement)
    pair_levels: int = 6  #: levels of an ordered column in the table of a pair (judgement)
    category_levels: int = 12  #: levels of categories there, at most (zoo: slopes and six others)
    cell_least: float = 4.0  #: standard deviations that a cell must hold for these (judgement)
    triple_columns: int = 32  #: with more columns triples are not asked for (time)
    most_cubes: int = 4  #: triples that get a table of their own (judgement)
    cube_levels: int = 4  #: levels of a column in such a table (judgement)
    counts_whole: bool = True  #: columns of few values are counted whole
    whole_cells: int = 8192  #: combinations of columns that are counted whole, classes included, at most (time)
    whole_values: int = 2  #: values of a column that may be counted whole beside others, at most (judgement)
    whole_columns: tuple[int, int] = (3, 5)  #: columns of such a group, at least: all columns, and some of them
    whole_candidates: int = 512  #: groups drawn by chance, of which one is chosen (time)
    whole_codes: int = 1 << 24  #: declared rows times these groups, at most (time)
    whole_visible: float = 8.0  #: standard deviations that an XOR of a group of some columns must stand out by
