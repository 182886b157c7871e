"""Injected privacy faults, and a runner that says which of tests, contract, audit and verify notices each."""
