"""GANs: a discriminator trained by noisy gradients or noisy votes, and a generator that learns from it."""
