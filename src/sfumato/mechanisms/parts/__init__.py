"""Parts that mechanisms are made of: each turns public facts or noisy numbers into something, none reads a row."""
