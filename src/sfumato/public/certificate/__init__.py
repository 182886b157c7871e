"""What a release promises, and how its folder says so."""
