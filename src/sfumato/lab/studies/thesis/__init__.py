"""The DPMix thesis (Mahmud, 2025): random mixing of digits, and mixing within classes. Reads rows WITHOUT the doors."""
