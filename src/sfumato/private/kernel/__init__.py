"""The trusted kernel: all that turns private rows into noisy numbers. docs/kernel.md leads through it."""
