"""The wheel holds all that is needed: it is built, installed beside nothing but its dependencies, and used."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from command_line import SCHEMA

pytest.importorskip(
    "hatchling", reason="hatchling, which builds the wheel, is not installed: pip install 'sfumato[dev]'"
)

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "sfumato"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        entry_points = archive.read(next(name for name in archive.namelist() if name.endswith("entry_points.txt")))
    wanted = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts  # where files come and go while other tests run
    }
    assert held == wanted
    pages = ("present/templates/report.html.jinja", "present/templates/studies/threea.md.jinja")
    for name in ("py.typed", *pages, "outlook/expectations.json", "lab/benchmark/catalogue.toml"):
        assert f"sfumato/{name}" in held
    assert b"sfumato = sfumato.cli:main" in entry_points


@pytest.mark.slow
def test_the_wheel_works_by_itself(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    (site,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    # The dependencies are there already. Files that end in .pth are not followed from here, so neither is the checkout.
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--no-deps",
        "--no-index",
        "--no-compile",
    ]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True, env=environment, cwd=tmp_path)
    where = [str(python), "-c", "import importlib.util; print(importlib.util.find_spec('sfumato').origin)"]
    found = subprocess.run(where, check=True, capture_output=True, text=True, env=environment, cwd=tmp_path).stdout
    assert Path(found).is_relative_to(tmp_path / "env")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    plan = [str(tmp_path / "env" / "bin" / "sfumato"), "plan", "schema.toml", "--epsilon", "1", "--json"]
    used = subprocess.run(plan, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert used.returncode == 0, used.stderr
    assert json.loads(used.stdout)["expectation"]["runs"] > 100  # from a file that lies beside the code
