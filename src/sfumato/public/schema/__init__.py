"""What is declared of a table: columns, groups, units, and the file that says so."""
