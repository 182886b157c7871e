"""Kernel inducing points: from one noisy kernel statistic, or by noisy gradients."""
