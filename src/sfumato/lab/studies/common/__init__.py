"""What all studies share: their digits, their drawings, and the run that can be taken up again."""
