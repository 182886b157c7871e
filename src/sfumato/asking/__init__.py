"""Questions to a release: estimates from the noisy measurements, with intervals that say how far they can be trusted."""
