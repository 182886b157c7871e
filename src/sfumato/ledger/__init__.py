"""What all releases of a dataset cost together: a filter with the organisation's policy, kept in a database, line by line."""
