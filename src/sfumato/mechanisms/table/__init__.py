"""3A for tables: noisy tables of bins, a population that agrees with them, and a teacher that labels."""
