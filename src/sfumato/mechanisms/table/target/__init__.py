"""The target given the other columns: a rule from synthetic rows and its corrections. Mathematics without doors."""
