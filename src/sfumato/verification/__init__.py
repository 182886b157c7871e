"""Check a release without its data, sharing no code with the accountant that issued the claim."""
