"""How released rows are drawn: post-processing, without any effect on the privacy plan."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SamplingSettings:
    """Balanced sampling of rows, labels and errors, and how many rows are recommended."""

    balances_rows: bool = True  #: rows and labels are drawn by a self-balancing walk; off: systematically
    balance: float = 100.0  #: a mean surplus of one row divides a chance by this power of e
    most_tilt: float = 2.0  #: no chance is changed by more than this power of e
    rate_rounds: int = 200  #: rounds in which intercepts are brought to the rates of the classes
    rate_rows: int = 50_000  #: rows that show which intercepts keep these rates, where a part of the table is drawn
    least_chance: float = 0.02  #: of its rate, below which no row gets a class (zoo: .005, .02, .05)
    score_intervals: int = 64  #: intervals of scores within which labels are balanced
    balances_pairs: bool = True  #: labels are balanced in pairs of columns too
    pair_columns: int = 12  #: labels are balanced in every two of these columns, which say most of them
    pair_parts: int = 10  #: parts of either, at most
    pair_rows: float = 50.0  #: rows of the rarest class for each combination of two parts, on average

    exchanges_errors: bool = True  #: errors of a number are exchanged among like rows, where rows are few
    exchange_parts: tuple[int, ...] = (4, 16)  #: parts of a column in which errors should add up to zero
    exchange_offers: int = 20  #: how often a row is offered another's error
    exchange_near: int = 32  #: how far that row may lie in the order of what the rule says
    exchange_rows: int = 20_000  #: with more rows chance is small, and trying takes long

    copies: float = 0.75  #: copies of a row for each that it takes to meet the rarest class once
    different_rows: int = 20_000  #: at least so many rows differ before any is drawn twice
    rows_of_rarest: int = 1_000  #: and so many of the rarest class
    rows_per_row: int = 8  #: rows recommended for training, for each private one
    most_rows: int = 300_000  #: and at most
