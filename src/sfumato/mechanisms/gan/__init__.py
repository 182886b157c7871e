"""DP-GAN: a discriminator trained by noisy gradients, and a generator that learns from it."""
