"""Columns and classes together: noisy tables with the noise taken out, and rows that agree with them. Mathematics without doors."""
