"""One column at a time: from noisy counts of cells to bins, point masses and values. Mathematics without doors."""
