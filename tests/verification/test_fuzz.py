"""Random edits of certificates and folders: only sentences come out, and nothing that was changed passes."""

import contextlib
import json
import math
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import forger
import sfumato as sf
from sfumato.cli import app
from sfumato.errors import SfumatoError
from sfumato.folder.releasing import ANSWERS, CERTIFICATE, REPORT, SCHEMA

FILES = (ANSWERS, CERTIFICATE, REPORT, SCHEMA, "synthetic.parquet")
_SUPPRESSED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
FUZZ = settings(max_examples=120, suppress_health_check=_SUPPRESSED)

NUMBERS = st.one_of(
    st.integers(), st.floats(), st.sampled_from([0, 1, -1, 2**63, 10**400, 1e308, -0.0, 1.0, math.inf, math.nan])
)
LEAVES = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.text(max_size=8), st.sampled_from(["certified", "gdp", "\ud800"])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


@pytest.fixture(scope="module", params=["table", "discovery"])
def honest(request, tmp_path_factory):
    return forger.make(request.param, tmp_path_factory.mktemp("honest") / "release")


def judge(path):
    """Whether `verify` believes the folder. Whatever is not a sentence is an error here."""
    with contextlib.suppress(SfumatoError):
        sf.load_release(path).model()
    try:
        found = sf.verify(path)
    except SfumatoError:
        return False
    assert all(isinstance(sentence, str) and sentence for sentence in found.problems)
    return found.ok


def is_immaterial(before, after, *, at=()):
    """Equal but for what is declared and for rounding: the versions of software, digits beyond the sixth."""
    if at == ("software",):
        return isinstance(after, dict) and all(isinstance(value, str) for value in after.values())
    if isinstance(before, dict) and isinstance(after, dict):
        keys_agree = list(before) == list(after)
        return keys_agree and all(is_immaterial(before[k], after[k], at=(*at, k)) for k in before)
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(is_immaterial, before, after))
    if isinstance(before, float) and isinstance(after, float):
        return math.isclose(before, after, rel_tol=1e-6)
    return type(before) is type(after) and before == after


def places(tree, at=()):
    """Every place of a JSON tree, as a path of keys."""
    yield at
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        yield from places(value, (*at, key))


def parent_of(tree, place):
    for key in place[:-1]:
        tree = tree[key]
    return tree


@pytest.mark.slow
@FUZZ
@given(data=st.data())
def test_an_edited_certificate_is_never_believed(honest, data):
    body = honest.body
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(sorted((p for p in places(body) if p), key=str)))
        holder = parent_of(body, place)
        how = data.draw(st.sampled_from(["replace", "drop", "add", "nudge"]))
        if how == "replace":
            holder[place[-1]] = data.draw(VALUES)
        elif how == "drop":
            del holder[place[-1]]
        elif how == "nudge" and type(holder[place[-1]]) in (int, float):
            holder[place[-1]] *= data.draw(st.sampled_from([0, -1, 2, 1.001, 1e9]))
        elif isinstance(holder, dict):
            holder[data.draw(st.text(max_size=5))] = data.draw(VALUES)
    text = (
        json.dumps(body, indent=2)
        if data.draw(st.booleans())
        else json.dumps(body, indent=2, ensure_ascii=False) + "\n"
    )
    believe(honest, {CERTIFICATE: text.encode("utf-8", "surrogatepass")})


@pytest.mark.slow
@FUZZ
@given(data=st.data())
def test_garbled_bytes_are_never_believed(honest, data):
    name = data.draw(st.sampled_from(FILES))
    content = bytearray((honest.path / name).read_bytes())
    how = data.draw(st.sampled_from(["cut", "flip", "insert", "random", "empty", "repeat"]))
    if how == "cut":
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    elif how == "flip":
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    elif how == "insert":
        at = data.draw(st.integers(0, len(content)))
        content[at:at] = data.draw(st.binary(min_size=1, max_size=9))
    elif how == "random":
        content = bytearray(random.Random(data.draw(st.integers(0, 2**32))).randbytes(data.draw(st.integers(0, 400))))
    elif how == "empty":
        content = bytearray()
    else:
        content = content * 2
    believe(honest, {name: bytes(content)}, rehash=name != CERTIFICATE and data.draw(st.booleans()))


def believe(honest, files, *, rehash=False):
    """Put other contents into a copy of the folder; it may be believed only if they say the same."""
    with tempfile.TemporaryDirectory() as place:
        folder = forger.Forged(Path(place) / "release")
        shutil.copytree(honest.path, folder.path)
        for name, content in files.items():
            before = (folder.path / name).read_bytes()
            (folder.path / name).write_bytes(content)
            if rehash:
                body = honest.body
                body["files"][name] = forger.sha256_of(content)
                folder.write(body)
            if judge(folder.path) and content != before:
                assert name == CERTIFICATE, "a changed file was believed"
                assert is_immaterial(honest.body, json.loads(content)), content


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=_SUPPRESSED)
@given(data=st.data())
def test_the_command_ends_in_a_sentence(honest, data):
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "release"
        shutil.copytree(honest.path, path)
        for name in data.draw(st.sets(st.sampled_from(FILES), min_size=1, max_size=3)):
            (path / name).unlink()
            how = data.draw(st.sampled_from(["gone", "empty", "garbage", "folder"]))
            if how == "folder":
                (path / name).mkdir()
            elif how != "gone":
                (path / name).write_bytes(b"" if how == "empty" else data.draw(st.binary(min_size=1, max_size=40)))
        for more in ([], ["--json"]):
            result = CliRunner().invoke(app, ["verify", str(path), *more])
            assert result.exit_code == 3, result.output
            assert "Traceback" not in result.output
            assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"format": "sfumato-certificate/3", "claim": ' + "[" * 300 + "]" * 300 + "}",
        '{"seed": ' + "9" * 10_000 + "}",
        '{"format": "sfumato-certificate/3", "seed": 1e999}',
        '{"format": "sfumato-certificate/3", "note": "\\ud800"}',
        '"certified"',
        "null",
        "",
        "\x00",
    ],
    ids=["deep", "nested", "digits", "overflow", "surrogate", "text", "null", "empty", "zero"],
)
def test_strange_certificates_are_refused_with_a_sentence(honest, text, tmp_path):
    folder = honest.copy(tmp_path / "strange")
    (folder.path / CERTIFICATE).write_text(text)
    assert not judge(folder.path)


@pytest.mark.parametrize(
    "text",
    [
        "[columns.x]\ntype = 'numeric'\nbounds = [0, 1" + "0" * 400 + "]\n",
        "x = " + "[" * 2000 + "]" * 2000,
        "[privacy]\nperson = 5\n[columns.x]\ntype = 'boolean'\n",
        "[dataset]\ntarget = 5\n[columns.x]\ntype = 'boolean'\n",
        "[columns.x]\ntype = ['boolean']\n",
        "[columns.x]\ntype = 'image'\nshape = [1" + "0" * 12 + ", 1" + "0" * 12 + "]\n",
        "[columns.x]\ntype = 'datetime'\nbounds = [1, 1e300]\n",
        "[columns.x]\ntype = 'numeric'\nbounds = [nan, inf]\n",
    ],
    ids=["digits", "deep", "person", "target", "type", "shape", "dates", "nan"],
)
def test_strange_schemas_are_refused_with_a_sentence(honest, text, tmp_path):
    folder = honest.copy(tmp_path / "strange")
    (folder.path / SCHEMA).write_text(text)
    body = folder.body
    body["files"][SCHEMA] = forger.sha256_of(text.encode())
    folder.write(body)
    assert not judge(folder.path)
