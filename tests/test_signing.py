"""Signatures: who vouches for a release, and every way in which nobody does."""

import json
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

import forger
import sfumato as sf
from sfumato.cli import app
from sfumato.errors import ReleaseError, SfumatoError, VerificationError
from sfumato.folder.signing import SIGNATURE, load_public_key


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two pairs of keys and a release that the first has signed."""
    folder = tmp_path_factory.mktemp("signing")
    for name in ("office", "other"):
        sf.new_keys(folder / name)
    mechanism, schema = forger.KINDS["table"]
    fitted = sf.fit(mechanism, forger.sensitive(schema), forger.BUDGET)
    sf.release(fitted, to=folder / "signed", rows=60, sign=folder / "office.key")
    sf.release(fitted, to=folder / "unsigned", rows=60)
    return folder


@pytest.fixture
def signed(place, tmp_path):
    return forger.Forged(place / "signed").copy(tmp_path / "release").path


def problem_of(path, signer=None):
    [problem] = sf.verify(path, signer=signer).problems
    return problem


def test_keys_are_private_and_public(place):
    assert stat.S_IMODE((place / "office.key").stat().st_mode) == 0o600
    assert (place / "office.key").read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")
    assert (place / "office.pub").read_bytes().startswith(b"-----BEGIN PUBLIC KEY-----")
    with pytest.raises(ReleaseError, match="exists already"):
        sf.new_keys(place / "office")
    with pytest.raises(ReleaseError, match="Make it first"):
        sf.new_keys(place / "no" / "such" / "folder")
    with pytest.raises(ReleaseError, match="passphrase is empty"):
        sf.new_keys(place / "empty", passphrase=b"")


def test_a_signed_release_names_its_signer(place, signed):
    found = sf.verify(signed, signer=place / "office.pub")
    assert found.ok, found.problems
    assert found.signature == "by the signer"
    assert any("the given signer's key" in sentence for sentence in found.checked)
    assert sf.verify(signed, signer=load_public_key(place / "office.pub")).ok
    unasked = sf.verify(signed)
    assert unasked.ok
    assert unasked.signature == "by a key"
    assert any(sentence.startswith("whose key") for sentence in unasked.declared)
    assert SIGNATURE not in sf.load_release(signed).certificate.files


def test_a_release_without_a_signature_says_so(place):
    found = sf.verify(place / "unsigned")
    assert found.ok
    assert found.signature == "absent"
    assert "not signed" in problem_of(place / "unsigned", signer=place / "office.pub")


def test_another_key_is_told(place, signed):
    assert "signed with another key" in problem_of(signed, signer=place / "other.pub")


def test_a_signature_of_another_certificate_is_told(place, signed):
    forged = forger.Forged(signed).edit(lambda body: body["software"].update({"dp-accounting": "0.6.9"}))
    assert "made for another certificate" in problem_of(forged.path)
    assert "made for another certificate" in problem_of(forged.path, signer=place / "office.pub")


def edit(path, **fields):
    body = json.loads((path / SIGNATURE).read_text())
    (path / SIGNATURE).write_text(json.dumps({**body, **fields}, indent=2) + "\n")


def test_a_forged_signature_is_told(place, signed):
    """The other key's owner says that it was the office, by its key and somebody else's signature."""
    certificate = (signed / "certificate.json").read_bytes()
    other = sf.load_signing_key(place / "other.key").sign(certificate)
    edit(signed, signature=json.loads(other)["signature"])
    assert "the signature does not fit" in problem_of(signed)
    assert "the signature does not fit" in problem_of(signed, signer=place / "office.pub")


@pytest.mark.parametrize(
    ("garble", "said"),
    [
        (lambda path: edit(path, signature="AAAA"), "64 bytes in base64"),
        (lambda path: edit(path, public_key="no base64!"), "32 bytes in base64"),
        (lambda path: edit(path, algorithm="RSA"), "not of the format"),
        (lambda path: edit(path, note="Anna"), "a key that it should not have"),
        (lambda path: (path / SIGNATURE).write_bytes(b"\xff\xfe"), "garbled"),
        (lambda path: (path / SIGNATURE).write_bytes(b""), "not JSON"),
        (lambda path: (path / SIGNATURE).write_text((path / SIGNATURE).read_text() + " "), "not written as sfumato"),
        (lambda path: ((path / SIGNATURE).unlink(), (path / SIGNATURE).mkdir()), "is a folder"),
        (lambda path: ((path / SIGNATURE).unlink(), (path / SIGNATURE).symlink_to("/etc/hostname")), "is a link"),
    ],
)
def test_a_garbled_signature_is_told(signed, garble, said):
    garble(signed)
    assert said in problem_of(signed)


def test_keys_that_are_none_are_refused(place, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    curve = ec.generate_private_key(ec.SECP256R1())
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (tmp_path / "curve.key").write_bytes(curve.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    (tmp_path / "curve.pub").write_bytes(
        curve.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    for path, said in (("empty", "not a private key"), ("curve.key", "of another kind"), ("nothing", "no key file")):
        with pytest.raises(SfumatoError, match=said):
            sf.load_signing_key(tmp_path / path)
    for path, said in (("empty", "not a public key"), ("curve.pub", "of another kind"), ("nothing", "no key file")):
        with pytest.raises(VerificationError, match=said):
            sf.verify(place / "signed", signer=tmp_path / path)
    with pytest.raises(VerificationError, match="not a public key"):
        sf.verify(place / "signed", signer=place / "office.key")


def test_a_passphrase_protects_the_key(tmp_path):
    private, _ = sf.new_keys(tmp_path / "office", passphrase=b"sesame")
    assert b"ENCRYPTED" in private.read_bytes()
    assert isinstance(sf.load_signing_key(private, passphrase=b"sesame").key, Ed25519PrivateKey)
    with pytest.raises(ReleaseError, match="Give its passphrase"):
        sf.load_signing_key(private)
    with pytest.raises(ReleaseError, match="does not open with this passphrase"):
        sf.load_signing_key(private, passphrase=b"simsalabim")
    plain, _ = sf.new_keys(tmp_path / "plain")
    with pytest.raises(ReleaseError, match="Give no passphrase"):
        sf.load_signing_key(plain, passphrase=b"sesame")


def test_the_commands_sign_and_check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forger.people(400)[["age", "ill"]].to_csv("people.csv", index=False)
    Path("schema.toml").write_text(
        '[dataset]\ntarget = "ill"\nrows = 400\n[columns.age]\ntype = "integer"\nbounds = [0, 100]\n'
        '[columns.ill]\ntype = "categorical"\ncategories = ["no", "yes"]\n'
    )
    Path("secret.txt").write_text("sesame\n")

    def run(*arguments, **options):
        return CliRunner().invoke(app, [str(part) for part in arguments], **options)

    made = run("keys", "new", "office", "--passphrase-file", "secret.txt", "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["encrypted"]
    assert "exists already" in run("keys", "new", "office").stderr
    assert run("keys", "new", "other", "--passphrase", input="a\na\n").exit_code == 0
    releasing = ("release", "people.csv", "--schema", "schema.toml", "--epsilon", 1, "--rows", 20)
    releasing += ("--method", "independent-histograms", "--sign", "office.key", "--out", "out")
    assert run(*releasing, "--passphrase-file", "schema.toml").exit_code == 1
    assert not Path("out").exists()
    signed = run(*releasing, input="sesame\n")
    assert signed.exit_code == 0, signed.output
    assert (Path("out") / SIGNATURE).is_file()
    good = run("verify", "out", "--signer", "office.pub", "--json")
    assert json.loads(good.stdout)["signature"] == "by the signer"
    bad = run("verify", "out", "--signer", "other.pub")
    assert bad.exit_code == 3
    assert "another key" in bad.stdout
