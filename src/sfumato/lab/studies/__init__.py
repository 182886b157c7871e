"""Published experiments as they were published, beside what is sound. They read rows WITHOUT the doors: never a product.

Nothing of the package imports this but the command `sfumato study`.
"""
