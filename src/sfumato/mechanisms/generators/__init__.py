"""Networks and embeddings that generate rows: DP-GAN, PATE-GAN and DP-MERF."""
