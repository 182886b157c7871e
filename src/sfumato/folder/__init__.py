"""What a release folder holds: its files as bytes, written whole or not at all, and who stands behind them."""
