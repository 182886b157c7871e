"""What a processor must be told: threads, exact products, exact thresholds, whether torch is there."""
