"""Here so that the folders below find what the tests of tables share: `small_tables`, `counting_noise`."""
