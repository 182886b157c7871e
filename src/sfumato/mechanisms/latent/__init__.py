"""A few latent numbers for each row: private directions or an autoencoder, a private mixture among them, a decoder."""
