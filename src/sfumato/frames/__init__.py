"""Frames as people have them: whatever kind of table came in, a table of the same kind goes out."""
