"""Mechanisms that measure small tables, chosen by the door `noisy_choice`, and draw rows from a model that agrees with them."""
