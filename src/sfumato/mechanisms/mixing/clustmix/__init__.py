"""ClustMix made sound: noisy clusters, their means and spreads, and rows drawn from them."""
