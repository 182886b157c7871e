"""Published experiments as they were published, beside what is sound. They read rows WITHOUT the doors: never a product.

A study is a list of tasks and a page (`task`), carried out one by one (`conducting`); all of them stand on the `shelf`.
Nothing of the package imports this but the command `sfumato study`.
"""
