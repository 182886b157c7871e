"""Wide tables of numbers: rows as points, modelled by noisy moments, with labels from a noisy linear classifier."""
