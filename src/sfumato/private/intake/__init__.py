"""Files, frames, tables and pictures become encoded rows, each row alone."""
