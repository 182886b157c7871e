"""The studio: a page on the custodian's own machine that leads from a file to a verified release.

It is thin. Whatever reads rows runs as a command of the command line, in a process of its own; what only plans or looks
runs in a second process (`worker.py`). The server itself holds no rows and imports no mathematics.
"""
