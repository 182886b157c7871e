"""Facts as people like to see them: pages, plots and tables of what is public."""
