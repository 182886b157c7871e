"""DP-MERF: a noisy mean of random Fourier features, and a generator that matches it."""
