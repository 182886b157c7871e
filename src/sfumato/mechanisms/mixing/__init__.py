"""Mixtures of records: DPMix and ClustMix."""
