"""Doors beside the kernel, one file each: read those whose steps a certificate names."""
