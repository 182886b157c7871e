"""Signatures: who stands behind a certificate. Ed25519, over the exact bytes of certificate.json.

The certificate holds the SHA-256 of every other file, so one signature covers the folder. A signature says who vouches for
a release; it does not make a claim true, and a claim without one is no less checked.
"""

import base64
import binascii
import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sfumato.errors import ReleaseError, VerificationError
from sfumato.public.strict_json import parse_json, read_fields

SIGNATURE = "signature.json"
FORMAT = "sfumato-signature/1"


@dataclass(frozen=True)
class SigningKey:
    """A private key that was read, and the file that it came from."""

    path: Path
    key: Ed25519PrivateKey = field(repr=False)

    def sign(self, certificate: bytes) -> bytes:
        """The content of signature.json for a certificate."""
        body = {
            "format": FORMAT,
            "algorithm": "Ed25519",
            "public_key": _encoded(_raw(self.key.public_key())),
            "certificate_sha256": hashlib.sha256(certificate).hexdigest(),
            "signature": _encoded(self.key.sign(certificate)),
        }
        return (json.dumps(body, indent=2) + "\n").encode()

    @property
    def public_text(self) -> str:
        """The public key, as a ledger writes it."""
        return key_text(self.key.public_key())

    def vouch(self, content: bytes) -> str:
        """A signature over a line or a statement of a ledger, whose texts begin with what they are."""
        return _encoded(self.key.sign(content))


def new_keys(name: str | Path, *, passphrase: bytes | None = None) -> tuple[Path, Path]:
    """Make a pair of keys: NAME.key, which nobody else may read, and NAME.pub, for everybody.

    Args:
        name: Where to put them; the suffixes are added.
        passphrase: Encrypts the private key. None: whoever reads the file can sign.

    Returns:
        The two files.
    """
    private, public = Path(f"{name}.key"), Path(f"{name}.pub")
    for path in (private, public):
        if path.exists() or path.is_symlink():
            raise ReleaseError(
                f"{path} exists already, and a key that is lost cannot be made again. Choose another name."
            )
    if not private.absolute().parent.is_dir():
        raise ReleaseError(f"there is no folder {private.absolute().parent} to write into. Make it first.")
    if passphrase is not None and not passphrase:
        raise ReleaseError("the passphrase is empty. Give one, or none at all.")
    key = Ed25519PrivateKey.generate()
    hidden = serialization.NoEncryption() if passphrase is None else serialization.BestAvailableEncryption(passphrase)
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, hidden)
    open_part = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    for path, content, mode in ((private, secret, 0o600), (public, open_part, 0o644)):
        try:  # a file that did not exist, closed to others from its first moment on
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content)
        except OSError as error:
            raise ReleaseError(f"{path} cannot be written ({error.strerror}). Choose another place.") from None
    return private, public


def is_encrypted(path: str | Path) -> bool:
    """Whether a private key needs a passphrase."""
    return b"ENCRYPTED" in _read_key_file(Path(path), for_what="sign with").splitlines()[0]


def load_signing_key(path: str | Path, *, passphrase: bytes | None = None) -> SigningKey:
    """Read a private key that `new_keys` or openssl made."""
    content = _read_key_file(Path(path), for_what="sign with")
    try:
        key = serialization.load_pem_private_key(content, password=passphrase)
    except TypeError:
        need = "is encrypted. Give its passphrase" if passphrase is None else "is not encrypted. Give no passphrase"
        raise ReleaseError(f"the key {path} {need}.") from None
    except (ValueError, UnsupportedAlgorithm):
        wrong = "is not a private key in PEM" if passphrase is None else "does not open with this passphrase"
        raise ReleaseError(f"{path} {wrong}. Make a key with: sfumato keys new NAME") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ReleaseError(f"{path} holds a key of another kind than Ed25519. Make one with: sfumato keys new NAME")
    return SigningKey(Path(path), key)


def load_public_key(path: str | Path) -> Ed25519PublicKey:
    """Read the public key of a signer."""
    content = _read_key_file(Path(path), for_what="check a signature with")
    try:
        key = serialization.load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise VerificationError(f"{path} is not a public key in PEM. Ask the publisher for NAME.pub.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise VerificationError(f"{path} holds a key of another kind than Ed25519. Ask the publisher for NAME.pub.")
    return key


def _read_key_file(path: Path, *, for_what: str) -> bytes:
    if not path.is_file():
        raise VerificationError(f"there is no key file {path} to {for_what}.")
    try:
        return path.read_bytes() or b"\n"
    except OSError as error:
        raise VerificationError(f"the key {path} cannot be read ({error.strerror}).") from None


@dataclass(frozen=True)
class Signature:
    """A signature that was read: by which key, over which certificate."""

    public_key: Ed25519PublicKey = field(repr=False)
    certificate_sha256: str
    signature: bytes = field(repr=False)

    @staticmethod
    def from_bytes(content: bytes) -> "Signature":
        """Read what `SigningKey.sign` wrote, refusing anything else."""
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise VerificationError(f"{SIGNATURE} is garbled. Get the release again.") from None
        names = ("format", "algorithm", "public_key", "certificate_sha256", "signature")
        wanted: dict[str, Any] = dict.fromkeys(names, str)
        body = read_fields(parse_json(text, what=SIGNATURE), wanted, what=SIGNATURE)
        if (body["format"], body["algorithm"]) != (FORMAT, "Ed25519"):
            raise VerificationError(f"{SIGNATURE} is not of the format {FORMAT} with Ed25519.")
        if json.dumps(body, indent=2) + "\n" != text:
            raise VerificationError(f"{SIGNATURE} is not written as sfumato writes it. Get the release again.")
        key, signature = _decoded(body["public_key"], length=32), _decoded(body["signature"], length=64)
        return Signature(Ed25519PublicKey.from_public_bytes(key), body["certificate_sha256"], signature)

    def problem(self, certificate: bytes, *, signer: Ed25519PublicKey | None) -> str | None:
        """Why it does not vouch for a certificate, in the name of the signer where one is given; None: it does."""
        own = fingerprint(self.public_key)
        if self.certificate_sha256 != hashlib.sha256(certificate).hexdigest():
            return f"{SIGNATURE} was made for another certificate than the one in the folder."
        if signer is not None and _raw(signer) != _raw(self.public_key):
            return (
                f"the certificate is signed with another key ({own}) than the given signer's ({fingerprint(signer)})."
            )
        try:
            self.public_key.verify(self.signature, certificate)
        except InvalidSignature:
            return f"the signature does not fit the certificate: it was not made with the key {own}."
        return None


def key_text(key: Ed25519PublicKey) -> str:
    """A public key as one word."""
    return _encoded(_raw(key))


def key_of(text: str) -> Ed25519PublicKey:
    """The public key that `key_text` wrote."""
    return Ed25519PublicKey.from_public_bytes(_decoded(text, length=32))


def vouches(key: str, signature: str, content: bytes) -> bool:
    """Whether a signature over the content was made with the private part of a key; both as words."""
    try:
        key_of(key).verify(_decoded(signature, length=64), content)
    except (InvalidSignature, VerificationError):
        return False
    return True


def fingerprint(key: Ed25519PublicKey) -> str:
    """A short name of a public key: the first 32 digits of its SHA-256."""
    return hashlib.sha256(_raw(key)).hexdigest()[:32]


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _decoded(text: str, *, length: int) -> bytes:
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        content = b""
    if len(content) != length or _encoded(content) != text:
        raise VerificationError(f"a key or a signature is garbled: it is not {length} bytes in base64.")
    return content
