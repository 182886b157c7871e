"""A course report: noise in the weights of an autoencoder, called private. Reads rows WITHOUT the doors."""
