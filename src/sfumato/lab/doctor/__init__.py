"""A leak panel for the synthetic tables of any tool. It reads real rows WITHOUT privacy: what it says is not for release."""
