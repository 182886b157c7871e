"""A custodian's dry run: how a file and its schema fit. Reads rows WITHOUT privacy, and writes nothing."""
