"""The pages in a real browser, without a window: no error, nothing sticks out at 360 pixels, and columns are found.

Skipped, visibly, where there is no Chromium. Looks are judged by eyes: docs/images has what they saw.
"""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.lab.assess.beside import compare
from sfumato.present.beside import private_page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed: pages are not tried in a browser")

SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(0, 100)),
        sf.Column(
            name="weight_in_kilograms_as_measured_at_the_first_visit", kind="numeric", bounds=(30, 200), missing=True
        ),
        sf.Column(name="town", kind="categorical", categories=tuple(f"the town of number {at}" for at in range(40))),
        sf.Column(name="seen", kind="datetime", bounds=(0, 1e9)),
        sf.Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=400,
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """The public report and the custodian's page of one release."""
    folder, rng = tmp_path_factory.mktemp("pages"), np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "age": rng.integers(0, 100, 400),
            SCHEMA.columns[1].name: rng.normal(75, 10, 400),
            "town": rng.choice(SCHEMA["town"].categories, 400),
            "seen": rng.uniform(0, 1e9, 400).astype("datetime64[s]"),
            "ill": rng.random(400) < 0.4,
        }
    )
    fitted = sf.fit("independent-histograms", sf.Sensitive.read(rows, SCHEMA), sf.Budget(epsilon=1.0, delta=1e-6))
    released = sf.release(fitted, to=folder / "release")
    found = compare(rows, released.synthetic().table, SCHEMA)
    page = folder / "private.html"
    page.write_text(private_page(found, claim=released.certificate.claim.to_json(), release="release", warnings=()))
    return {"report": released.path / "report.html", "private": page}


def browse(page: Path, *options: str) -> tuple[str, list[str]]:
    """The page as it stands after its script, and what the console said."""
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run(
        [*command, *options, page.as_uri()], capture_output=True, text=True, timeout=600, check=True, encoding="utf-8"
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.parametrize("name", ["report", "private"])
def test_a_page_runs_without_an_error_and_asks_nobody(pages, name):
    """The page's policy forbids every request, so that one would be an error on the console."""
    page, said = browse(pages[name])
    assert said == []
    assert "5 of 5 columns</output>" in page
    assert '<p class="tools">' in page  # the script has run


def test_an_error_is_noticed(pages, tmp_path):
    broken = tmp_path / "broken.html"
    broken.write_text(pages["report"].read_text().replace("</main>", '<img src="https://example.org/a.png"></main>'))
    assert any("Content Security Policy" in line for line in browse(broken)[1])


@pytest.mark.parametrize("name", ["report", "private"])
def test_columns_are_found_and_nothing_sticks_out_of_a_telephone(pages, name, tmp_path):
    tried = tmp_path / "tried.html"
    script = """<script>const find = document.querySelector("input"); find.value = "KILO";
    find.dispatchEvent(new Event("input")); document.querySelector("[name=fold]").click();
    document.title = document.documentElement.scrollWidth + " of " + document.documentElement.clientWidth;</script>"""
    text = re.sub(r"<meta http-equiv=.*?>", "", pages[name].read_text())
    tried.write_text(text.replace("</body>", f"{script}</body>"))
    page, said = browse(tried, "--window-size=360,800")
    assert said == []
    wide, screen = map(int, re.search(r"<title>(\d+) of (\d+)</title>", page).groups())
    assert wide <= screen <= 500
    assert "1 of 5 columns</output>" in page
    assert page.count('<details class="column" open="" hidden="">') == 4
    assert page.count('<details class="column">') == 1
