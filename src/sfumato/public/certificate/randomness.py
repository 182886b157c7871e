"""What a certificate says of the randomness, and what it can claim with it."""

from typing import Literal

Status = Literal["certified", "research", "non_private"]

#: What a certificate says of the randomness: only the first can be certified.
SECRET_RANDOMNESS = "AES-256-CTR keyed by the operating system"
KNOWN_RANDOMNESS = "AES-256-CTR with a known seed"
