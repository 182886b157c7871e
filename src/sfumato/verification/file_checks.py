"""The files of a folder: exactly those that the certificate lists, each plain and the one that it was made for; and who signed."""

import re
from pathlib import Path
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sfumato.errors import SfumatoError, VerificationError
from sfumato.folder.contents import read_plain, sha256_of, sha256_of_plain, why_not_plain
from sfumato.folder.releasing import ANSWERS, CERTIFICATE, REPORT, SCHEMA
from sfumato.folder.rows import ARRAYS, EVENTS, TABLE
from sfumato.folder.signing import SIGNATURE, Signature, fingerprint, load_public_key
from sfumato.folder.tensors import WEIGHTS
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.schema.schema import Schema
from sfumato.verification.findings import Findings

_MOST_NAMED = 20
_LARGEST_CERTIFICATE = 32 * 2**20
#: absent; by some key, nobody asked whose; by the signer who was asked for; not what it says.
SignatureState = Literal["absent", "by a key", "by the signer", "bad"]
Signer = str | Path | Ed25519PublicKey | None


def read_certificate(folder: Path) -> bytes:
    """The bytes of the certificate, or a sentence about what is in their place."""
    path = folder / CERTIFICATE
    if not path.is_file() or why_not_plain(path) is not None:
        raise VerificationError(f"{folder} holds no {CERTIFICATE} that is a plain file, so there is no claim to check.")
    return read_plain(path, most_bytes=_LARGEST_CERTIFICATE)


def stamps(folder: Path) -> dict[str, tuple[int, ...]]:
    """What tells that a file was changed or exchanged, for every name in a folder: large files are read several times."""
    try:
        states = {path.name: path.lstat() for path in folder.iterdir()}
    except OSError:
        return {}
    return {name: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for name, s in states.items()}


def check_files(folder: Path, certificate: Certificate, found: Findings) -> tuple[dict[str, bytes], Path | None]:
    """Look at every name in the folder. Returns the contents of the listed files that are what they should be.

    Of the rows, which may be many, it returns the path of the file in place of its content.
    """
    listed = certificate.files or {}
    try:
        present = {path.name for path in folder.iterdir()} - {CERTIFICATE, SIGNATURE}
    except OSError as error:
        found.problems.append(f"the folder cannot be listed ({error.strerror}).")
        return {}, None
    problems = _names_that_do_not_belong(listed)
    missing = sorted(set(listed) - present)
    problems += [f"{ascii(n)[1:-1]} is listed in the certificate and missing from the folder." for n in missing]
    extra = sorted(present - set(listed))
    problems += [f"{ascii(n)[1:-1]} is in the folder and not listed in the certificate." for n in extra[:_MOST_NAMED]]
    contents, rows = dict[str, bytes](), None
    for name in sorted(present & set(listed)):
        path, content = folder / name, b""
        try:
            if is_rows := name in (TABLE, ARRAYS) or EVENTS.fullmatch(name) is not None:
                digest = sha256_of_plain(path)
            else:
                content = read_plain(path)
                digest = sha256_of(content)
        except SfumatoError as error:
            problems.append(str(error))
            continue
        if digest != listed[name]:
            problems.append(f"{name} differs from the file that the certificate was made for (SHA-256).")
        elif is_rows:
            rows = path if name in (TABLE, ARRAYS) else rows
        else:
            contents[name] = content
    checked = "every file is plain, listed and the one that the certificate was made for (SHA-256)"
    found.settle(problems, checked=checked)
    return contents, rows


def _names_that_do_not_belong(listed: dict[str, str]) -> list[str]:
    """A release has four files besides its certificate, and one more for each table of events; another name is none of them."""
    problems = []
    products = [name for name in (TABLE, ARRAYS, WEIGHTS) if name in listed]
    events = [name for name in listed if products == [TABLE] and EVENTS.fullmatch(name)]
    wanted = {ANSWERS, SCHEMA, REPORT, *products, *events}
    if len(products) != 1:
        problems.append(
            f"the certificate must list what is released as one file: the synthetic rows, {TABLE} or {ARRAYS}, or a trained "
            f"model, {WEIGHTS}."
        )
    problems += [f"the certificate does not list {name}." for name in sorted(wanted - set(listed))]
    strangers = sorted(set(listed) - wanted)
    problems += [f"the certificate lists {name!a}, which is no file of a release." for name in strangers[:_MOST_NAMED]]
    problems += [
        f"the SHA-256 of {name!a} in the certificate is none."
        for name, digest in sorted(listed.items())[:_MOST_NAMED]
        if not re.fullmatch("[0-9a-f]{64}", digest)
    ]
    return problems


def check_schema(contents: dict[str, bytes], certificate: Certificate, found: Findings) -> Schema | None:
    """The schema, if it is that of the certificate, complete, and its file holds nothing besides."""
    if SCHEMA not in contents:
        return None
    garbled = f"{SCHEMA} cannot be read"
    schema = found.attempt(lambda: Schema.parse(contents[SCHEMA].decode()), garbled=garbled)
    again = None if schema is None else found.attempt(lambda: schema.to_toml().encode(), garbled=garbled)
    if schema is None or again is None:
        return None
    problems = []
    if schema.digest() != certificate.schema_sha256:
        problems.append(f"{SCHEMA} is not the schema that the certificate was made for.")
    if schema.unit != certificate.claim.unit:
        problems.append(f"the unit of privacy in {SCHEMA} differs from the one in the certificate.")
    if schema.unknown:
        problems.append(f"{SCHEMA} leaves the column {schema.unknown[0].name!r} open: no release has that.")
    if again != contents[SCHEMA]:
        problems.append(f"{SCHEMA} holds something besides the schema, or writes it as sfumato does not.")
    checked = "the schema and the unit of privacy are those of the certificate, and their file holds nothing else"
    return schema if found.settle(problems, checked=checked) else None


def check_signature(folder: Path, certificate: bytes, *, signer: Signer, found: Findings) -> SignatureState:
    """Check the signature of a certificate. A signer's key that cannot be read is an error, whatever the folder holds."""
    key = load_public_key(signer) if isinstance(signer, str | Path) else signer
    if not (folder / SIGNATURE).exists() and not (folder / SIGNATURE).is_symlink():
        if key is not None:
            found.problems.append(f"the release is not signed: it holds no {SIGNATURE}, and a signer was asked for.")
        else:
            found.declared.append("who published it: the release is not signed")
        return "absent"
    try:
        signature = Signature.from_bytes(read_plain(folder / SIGNATURE, most_bytes=10_000))
    except SfumatoError as error:
        found.problems.append(str(error))
        return "bad"
    if (problem := signature.problem(certificate, signer=key)) is not None:
        found.problems.append(problem)
        return "bad"
    if key is not None:
        found.checked.append(f"the certificate is signed with the given signer's key ({fingerprint(key)})")
        return "by the signer"
    own = fingerprint(signature.public_key)
    found.checked.append(f"the certificate is signed with the key {own}")
    found.declared.append(f"whose key {own} is (sfumato verify --signer NAME.pub asks)")
    return "by a key"
