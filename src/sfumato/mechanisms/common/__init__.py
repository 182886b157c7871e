"""What two or more mechanisms share."""
