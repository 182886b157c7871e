"""What libraries raise over a file that is not what its name says."""

import struct
import tokenize
import zipfile
import zlib
from lzma import LZMAError

from pyarrow import ArrowException

#: Their messages may quote rows: they are caught, and answered with a sentence of our own.
DAMAGED = (
    ArithmeticError, ArrowException, EOFError, LookupError, LZMAError, MemoryError, OSError, RuntimeError, SyntaxError,
    TypeError, ValueError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
