"""The path for tables of more than a hundred numbers: moments instead of tables."""
