"""Public features, bases and transformations: mathematics that holds no data of its own."""
