"""What the clauses look with: recorders, watches, neighbours, and processes that never saw a row."""
