"""Names of columns that mechanisms compute once for all later doors: with a space in front, as no column of a table has it."""

#: A row as a point; the same among the leading directions alone.
VECTOR, PLACE = " vector", " place"
#: What a teacher sees of a row.
INPUTS = " inputs"
#: A row of a table: the cell and the bin of each column, and what a rule says of it.
CODES, BINS, RULE = " codes", " bins", " rule"
