"""Everything that can read a private row lives here, and nothing else may."""
