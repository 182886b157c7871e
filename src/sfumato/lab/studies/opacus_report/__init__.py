"""A course report on DP-SGD with the library Opacus: a private network for digits. Reads rows WITHOUT the doors."""
