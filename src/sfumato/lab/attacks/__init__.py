"""Attacks on synthetic rows, and what their success proves. They read real rows WITHOUT privacy: results are not for release."""
