"""What will be asked of the rows before any is read: steps, blocks, doors, and the answers that they give."""
