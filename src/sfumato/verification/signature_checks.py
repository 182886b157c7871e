"""Who signed: a signature is checked where there is one, and demanded where a signer is named."""

from pathlib import Path
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sfumato.errors import SfumatoError
from sfumato.folder.contents import read_plain
from sfumato.folder.signing import SIGNATURE, Signature, fingerprint, load_public_key
from sfumato.verification.findings import Findings

#: absent; by some key, nobody asked whose; by the signer who was asked for; not what it says.
SignatureState = Literal["absent", "by a key", "by the signer", "bad"]
Signer = str | Path | Ed25519PublicKey | None


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
    problem = signature.problem(certificate, signer=key)
    if problem is not None:
        found.problems.append(problem)
        return "bad"
    if key is not None:
        found.checked.append(f"the certificate is signed with the given signer's key ({fingerprint(key)})")
        return "by the signer"
    found.checked.append(f"the certificate is signed with the key {signature.fingerprint}")
    found.declared.append(f"whose key {signature.fingerprint} is (sfumato verify --signer NAME.pub asks)")
    return "by a key"
