"""The whole way in a real browser: with the demo, with a CSV of 60 columns, cancelled and begun again, in two tabs, by keyboard.

Debian's Chromium is used where it is there; elsewhere these tests are skipped, and say so.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: pip install 'sfumato[dev]'"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no Chromium is here: apt-get install chromium", allow_module_level=True)
pytestmark = pytest.mark.slow

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
_MILLISECONDS = 300_000  # a machine with other work takes its time
#: Nothing but what the test asks for: no updates, no looking things up.
_CHROMIUM_SAYS_LITTLE = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
_SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
}


class Watched:
    """A page of a browser that notes whatever goes wrong in it."""

    def __init__(self, page, base: str) -> None:
        self.page, self.base, self.wrong = page, base, []
        page.set_default_timeout(_MILLISECONDS)
        page.on("console", lambda message: self.note(message.type, message.text))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on(
            "request", lambda asked: asked.url.startswith((base, "data:", "about:")) or self.wrong.append(asked.url)
        )

    def note(self, kind: str, text: str) -> None:
        # A form that was refused is an answer with a status of its own.
        if kind == "error" and not re.search(r"status of (409|422)", text):
            self.wrong.append(text)

    def go(self, path: str) -> None:
        self.page.goto(self.base + path)

    def look(self) -> None:
        """The page as it is now: at both widths, in light and dark, with nobody left out."""
        for width, colours in ((2000, "light"), (360, "dark"), (360, "light"), (2000, "dark")):
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.emulate_media(color_scheme=colours)
            wide = self.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{self.page.url} is {wide} wide at {width}"
            if width == 2000:  # contrast depends on the colours, and hardly on the width
                self.page.evaluate(AXE)
                found = self.page.evaluate("axe.run(document, {iframes: false, resultTypes: ['violations']})")
                serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
                told = [(one["id"], [node["html"] for node in one["nodes"][:3]]) for one in serious]
                assert not told, f"{self.page.url} in {colours}: {told}"
        assert not self.wrong


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(5)
    rows = {"Patient ID": range(400), "age": rng.integers(0, 99, 400), "ward": rng.choice(["north", "south"], 400)}
    rows |= {f"lab_{at:02d}": rng.random(400).round(3) for at in range(57)}
    pd.DataFrame(rows).to_csv(made / "sixty.csv", index=False)
    return made


@pytest.fixture(scope="module")
def address(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    state = tmp_path_factory.mktemp("state")
    given = [
        "studio",
        str(folder),
        "--port",
        "0",
        "--no-browser",
        "--state",
        str(state),
        "--ledger",
        f"sqlite:///{folder}/ledger.db",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "sfumato.cli", *given],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **_SETTINGS},
    ) as server:
        try:
            yield re.search(r"http\S+", server.stdout.readline())[0]
            server.terminate()
            server.wait(timeout=60)  # a studio that is asked to end ends
        finally:
            server.kill()


@pytest.fixture(scope="module")
def context(address: str):
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=_CHROMIUM_SAYS_LITTLE)
        made = browser.new_context(viewport={"width": 1400, "height": 900}, locale="en-GB")
        page = made.new_page()
        page.goto(address)
        page.wait_for_url(address.split("/enter")[0] + "/")
        page.close()
        yield made
        browser.close()


@pytest.fixture
def watched(context, address: str) -> Watched:
    return Watched(
        context.new_page(), address.split("/enter")[0]
    )  # closed with the browser, which has a limit of time for it


def test_the_whole_way_with_the_demo(watched: Watched, folder: Path) -> None:
    page = watched.page
    watched.go("/")
    watched.look()
    page.get_by_label("Its name").fill("demo")
    page.keyboard.press("Enter")
    page.wait_for_url("**/data")
    watched.look()
    page.get_by_role("button", name="Use the demo").click()
    page.wait_for_url("**/schema")
    page_of_demo = page.url.removeprefix(watched.base).removesuffix("/schema")
    watched.look()
    page.get_by_role("link", name="Change income").click()
    page.locator("tr.editing").get_by_label("At most").wait_for()
    watched.look()
    page.get_by_role("link", name="Leave it as it was").click()
    page.get_by_role("link", name="On to the check").click()
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("30,000 rows read").wait_for()
    watched.look()
    page.get_by_role("link", name="On to the plan").click()
    page.get_by_text("What epsilon 1 means").wait_for()
    page.get_by_label("Method").fill("independent-histograms")
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("What epsilon 1.5 means").wait_for()
    page.get_by_text("independent-histograms").first.wait_for()
    watched.look()
    page.get_by_role("link", name="On to the release").click()
    page.get_by_label("The name of the release folder").fill("demo-release")
    page.get_by_label("Also make a page").uncheck()
    watched.look()
    page.get_by_role("button", name="Release").click()
    page.wait_for_url("**/result")
    page.get_by_role("button", name="Verify").click()
    page.get_by_text("bears out its claim").wait_for()
    watched.look()
    assert page.get_by_text("--method=independent-histograms").first.is_visible()
    page.get_by_label("Of which kind").fill("age >= 65")
    page.get_by_label("Rows", exact=True).fill("40")
    page.get_by_role("button", name="Draw rows").click()
    page.get_by_text("40 rows were written to").wait_for()
    assert (pd.read_csv(folder / "more-rows.csv")["age"] >= 65).all()
    assert (folder / "demo-release" / "certificate.json").is_file()
    frame = page.frame_locator("iframe").first
    frame.get_by_role("heading", level=1).wait_for()
    for path in ("/ledger", "/receive", "/methods"):
        watched.go(path)
        watched.look()
    watched.go(f"{page_of_demo}/schema/column/0")  # as it is without a script
    watched.look()
    page.get_by_role("button", name="Deutsch").click()
    assert page.get_by_role("link", name="Verfahren").is_visible()
    page.get_by_role("button", name="English").click()


def test_sixty_columns_cancelled_begun_again_and_received(watched: Watched, folder: Path, tmp_path: Path) -> None:
    page = watched.page
    watched.go("/")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="Use the file sixty.csv").click()
    page.wait_for_url("**/schema")
    assert page.get_by_role("heading", name="60 columns").is_visible()
    page.get_by_text("Several columns at once").click()
    page.get_by_label("Names that match").fill("lab_*")
    page.get_by_label("At least", exact=True).fill("0")
    page.get_by_label("At most", exact=True).fill("1")
    page.get_by_role("button", name="Change them all").click()
    page.get_by_text("57 columns were changed").wait_for()
    edit_by_keyboard(page)
    two_tabs(watched)
    page.get_by_label("About how many rows").fill("400")
    page.get_by_role("button", name="Save").last.click()
    page.wait_for_url("**/schema#table")
    page.get_by_role("link", name="Plan").click()
    page.get_by_text("What epsilon 1 means").wait_for()
    page.get_by_label("Method").fill("independent-histograms")
    with page.expect_response("**/plan"):
        page.get_by_role("button", name="Plan again").click()
    page.get_by_role("heading", name="To be discovered first").wait_for()
    page.get_by_role("link", name="On to the release").click()
    page.get_by_label("The name of the release folder").fill("sixty")
    page.get_by_role("button", name="Release").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("It was cancelled").wait_for()
    assert not (folder / "sixty").exists()
    page.get_by_label("The name of the release folder").fill("sixty")
    page.get_by_role("button", name="Start again").click()
    page.get_by_role("button", name="Cancel").wait_for()
    address = page.url
    page.goto("about:blank")  # the tab is gone; the job is not
    page.goto(address)
    page.wait_for_url("**/result")
    assert page.get_by_role("heading", name="Real beside synthetic").is_visible()
    with page.expect_download() as coming:
        page.get_by_role("link", name="as one file").click()
    handed = tmp_path / "sixty.zip"
    coming.value.save_as(handed)
    watched.go("/receive")
    page.get_by_label("A zip").set_input_files(handed)
    page.get_by_role("button", name="Verify").first.click()
    page.get_by_text("bears out its claim").wait_for()
    watched.look()
    watched.go("/receive")
    page.get_by_label("Or a release folder").set_input_files(folder / "sixty")
    page.get_by_role("button", name="Verify").first.click()
    page.get_by_text("bears out its claim").wait_for()
    assert not watched.wrong


def is_focused(page, selector: str) -> None:
    """Asked from outside: a script of the test that waits within the page is one that the page's policy forbids."""
    playwright.expect(page.locator(selector)).to_be_focused(timeout=_MILLISECONDS)


def edit_by_keyboard(page) -> None:
    """A column is changed without a mouse, and what is wrong is told beside its field."""
    page.get_by_role("link", name="Change age").focus()
    page.keyboard.press("Enter")
    page.locator("tr.editing select").wait_for()
    is_focused(page, "tr.editing [name=type]")
    seen = page.evaluate("getComputedStyle(document.activeElement).outline")
    assert "solid 3px" in seen  # who has no mouse sees where they are
    page.keyboard.type("whole")
    page.keyboard.press("Tab")
    page.keyboard.type("120")
    page.keyboard.press("Tab")
    page.keyboard.type("0")
    page.keyboard.press("Enter")
    page.get_by_text("must be above the lower one").wait_for()
    is_focused(page, "tr.editing [name=high]")
    editing = page.locator("tr.editing")
    editing.get_by_label("At least").fill("0")
    editing.get_by_label("At most").fill("120")
    page.keyboard.press("Enter")
    page.get_by_text("0 – 120").wait_for()
    is_focused(page, "#edit-1")


def two_tabs(watched: Watched) -> None:
    """What was changed in one tab is not overwritten by another, which says so."""
    page, other = watched.page, watched.page.context.new_page()
    page.goto(re.sub(r"/schema.*", "/schema", page.url))
    other.goto(page.url)
    other.get_by_role("link", name="Change lab_00").click()
    other.locator("tr.editing").wait_for()
    page.get_by_role("link", name="Change ward").click()
    page.locator("tr.editing").get_by_label("Values may be missing").check()
    page.locator("tr.editing").get_by_role("button", name="Save").click()
    page.get_by_role("cell", name="possible").first.wait_for()
    other.locator("tr.editing").get_by_role("button", name="Save").click()
    other.get_by_text("in another tab perhaps").wait_for()
    other.close()


def test_a_server_on_another_port_is_sent_no_cookie(context, address: str) -> None:
    """Ports do not part cookies. The broken twin: a cookie for all paths is sent to whoever listens on this machine."""
    seen: list[str] = []

    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("cookie", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(
        ("127.0.0.1", 0), Stranger
    ) as theirs:  # a browser also opens lines on which it says nothing
        threading.Thread(target=theirs.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{theirs.server_port}"
        (ours,) = (cookie for cookie in context.cookies() if cookie["name"].startswith("sfumato_studio"))
        page = context.new_page()
        for path in ("/", "/p/x", "/enter"):
            page.goto(place + path)
        assert seen
        assert not any("sfumato" in cookie for cookie in seen)
        context.add_cookies([{**ours, "name": "sfumato_twin", "path": "/"}])
        page.goto(f"{place}/twin")
        assert any("sfumato_twin" in cookie for cookie in seen)
        context.clear_cookies(name="sfumato_twin")
        page.close()
        theirs.shutdown()
