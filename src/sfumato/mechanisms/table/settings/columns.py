"""How noisy counts of one column become bins and values: post-processing, without any effect on the privacy plan."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnSettings:
    """Grids, densities, point masses, bins, differences and code tables."""

    turns_grids: bool = True  #: a grid gets more cells where its rows are; off: as it was laid out
    turn_seen: float = 4.0  #: a coarse part holds rows from so many standard deviations on (judgement)
    turn_beside: float = 1.0  #: a part beside such a one from so many on (judgement)
    turn_parts: int = 3  #: at most so many parts may hold rows (zoo: lognormals-5000)
    turn_most: float = 0.8  #: they must hold this part of all rows (judgement)
    turn_cells: float = 0.75  #: they get this part of the cells (judgement)
    turn_visible: float = 2.0  #: standard deviations for each part that the next count will have of them (judgement)

    part_seen: float = 4.0  #: a part or leaf holds something from so many standard deviations on (zoo)
    part_beside: float = 0.7  #: one beside such a part from so many on (zoo)
    part_most: float = 0.8  #: noise far out is cut where the rest holds this part of all rows (zoo)
    always_smoothed: int = 64  #: up to so many leaves are smoothed by a Gaussian process (zoo)
    smoothed_leaves: int = 160  #: and up to so many thin ones where none stands out of the curve (few_columns.py)
    smooth_thin: float = 3.0  #: leaves are thin below so many standard deviations of their count, on average (adult)
    smooth_farthest: float = 4.5  #: by so many standard deviations of its count (judgement)
    wavelet_kept: float = 3.0  #: with more leaves, differences of halves from so many standard deviations on (usual)

    uses_shapes: bool = True  #: a density may be one hump, or fall from an end; off: even before any count
    shape_places: int = 40  #: places of a hump along the grid (twelve made-up columns)
    shape_widths: tuple[float, ...] = (0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.22, 0.32)  #: widths as parts of the grid
    shape_ranges: int = 20  #: widths as parts of the range
    shape_longest: float = 0.5  #: the longest of these
    shape_shorter: float = 0.7  #: each of the others is this part of the one before
    shape_ends: int = 17  #: ends of what is flat, as parts of the range and of the grid
    shape_decades: float = 6.0  #: middles of log-normal numbers, down to this power of ten below the upper bound
    shape_logs: tuple[float, ...] = (0.3, 0.5, 0.75, 1.0, 1.4, 2.0)  #: widths of their logarithms
    shape_least: float = 1e-4  #: shapes with less of the largest weight are left out of a mixture

    density_heights: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  #: heights of the smooth curve (zoo)
    density_lengths: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2)  #: its lengths, as parts of the grid (zoo)
    density_roughness: tuple[float, ...] = (1e-6, 1e-3, 3e-2)  #: how rough it may be from leaf to leaf (zoo)
    density_single: float = 0.3  #: part of the rows that a single value may hold
    density_fewer: float = 0.3  #: how far rows that are no single values may be fewer than all (made-up columns)
    density_total: float = 0.01  #: how surely all rows together are known (judgement)
    density_anywhere: float = 0.05  #: part of the curve that may lie anywhere (judgement)
    density_off: float = (
        0.03  #: all counts together may be off by so much of all rows, since no shape is right (few_columns.py)
    )

    point_heavy: float = 8.0  #: a heavy cell stands so many standard deviations above nothing (judgement)
    point_above: float = 3.0  #: and so many times above its lighter neighbour (judgement)
    point_holds: float = 0.2  #: the fullest part is followed while it holds this part of the cell (judgement)
    point_sure: float = 4.0  #: and so many standard deviations (judgement)
    point_agree: int = 3  #: point masses that must agree on the decimals of a column (judgement)
    point_by_chance: float = 1 / 30  #: decimals are believed where chance would give them less often than this
    point_narrow: float = 0.05  #: decimals beside point masses show the narrowest cells, but for this part of the rows
    rounds_values: bool = True  #: heavy cells that nothing looked into are released as round numbers

    category_kept: float = 1 / 16  #: a category is pooled below this part of a bin's least mass (zoo)
    level_least: float = 8.0  #: standard deviations of its counts that a level of a numeric target should hold
    group_rows: float = 0.95  #: part of the rows that have exactly one member of a one-hot group (judgement)

    difference_close: int = 4  #: nearly equal: within 2 to minus this of the spread (judgement)
    difference_most: float = 0.75  #: so much of the rows (judgement)
    difference_enough: float = 0.3  #: among this part of all rows, which are not both at one single value (judgement)
    difference_sure: float = 2.0  #: by so many standard deviations (judgement)
    difference_seen: float = 3.0  #: coarse parts below so many standard deviations hold nothing
    difference_outer: float = 0.1  #: part of the rows at either end that is left out of a spread
    difference_gap: float = 0.25  #: quantiles of nearly equal columns differ by at most this part of the spread

    rule_neighbours: tuple[float, ...] = (
        0.0,
        0.5,
        0.9,
        0.99,
    )  #: chances that neighbouring reasons have one consequence
    rule_bands: int = 64  #: consequences along a line that may be bands, at most (time)
    rule_obeys: float = 0.985  #: part of the released rows that should obey a measured rule, by its counts (depends.py)
    rule_left: float = 0.25  #: part of its rows that any reason keeps where another is taken for that (judgement)
    rule_taken: float = 0.08  #: part of all rows that may have another reason for that (judgement)
    rule_fewest: float = (
        0.25  #: standard deviations that any reason is taken to hold where the rule is read (judgement)
    )
    rule_smoothed: int = 400  #: reasons along a line that are smoothed, at most (time)
    rule_alone: float = (
        4.0  #: a reason this many standard deviations from its neighbours' median stands alone (depends.py)
    )
    rule_beside: int = 2  #: neighbours on either side
    rule_sure: float = 0.95  #: of what follows so surely the one count is believed (judgement)
    rule_backwards: float = 1e-4  #: chance of a band that lies before another, over one that lies behind it (judgement)
    rule_unsure: float = 0.98  #: where fewer of the rows obey, that is said (judgement)
    rule_known: int = 1 << 22  #: combinations of reasons times other counts of them that are put together (time)

    code_most: float = 3.0  #: no category moves a score by more (judgement)
    code_rounds: int = 20  #: rounds in which the size of such moves is learned
