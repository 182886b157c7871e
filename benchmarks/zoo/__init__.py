"""The zoo: tables of many shapes on which the default for tables is chosen, and on which it has to hold.

`python benchmarks/run_zoo.py` runs it. Each file is one idea:

- `case`: what a case is, and how made-up rows and rows of files become one.
- `shapes`, `interactions`, `classes`, `categories`, `structure`, `sizes`: made-up populations by theme.
- `tables`: real tables of other shapes than the benchmarks.
- `scores`, `marginals`, `learning`: how good released rows are.
- `worker`: one run in a process of its own; `run`: many of them; `page`: the table of results.
"""
