"""What the studio costs: seconds to the first page, of a page of 200 columns, idle memory, and a CSV of a gigabyte.

Prints one line of JSON. The CSV is written to the folder that is given, and removed again:

    python benchmarks/studio.py /tmp --gigabytes 1
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import psutil


class Visitor:
    """A browser without windows."""

    def __init__(self, address: str) -> None:
        self._host, self._base, entrance = re.search(r"//([^/]+)(/[^/]+)(/.*)", address).groups()
        self._cookie = self._csrf = ""
        answer, _ = self._ask("GET", entrance)
        self._cookie = answer.getheader("set-cookie").split(";")[0]
        text = self.get("/")
        self._csrf = re.search(r'name="csrf" value="([^"]+)"', text)[1]

    def _ask(self, method: str, path: str, body: str = "") -> tuple:
        connection = HTTPConnection(self._host, timeout=300)
        headers = {
            "cookie": self._cookie,
            "origin": f"http://{self._host}",
            "content-type": "application/x-www-form-urlencoded",
        }
        connection.request(method, self._base + path, body or None, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def get(self, path: str) -> str:
        """A page."""
        answer, text = self._ask("GET", path)
        assert answer.status == 200, (path, answer.status)  # noqa: S101
        return text

    def post(self, path: str, **fields: str) -> str:
        """A form; gives the address that it leads on to."""
        answer, _ = self._ask("POST", path, urlencode({"csrf": self._csrf, **fields}))
        assert answer.status == 303, (path, answer.status)  # noqa: S101
        return answer.getheader("location").removeprefix(self._base)


def started(folder: Path, state: Path) -> tuple[subprocess.Popen, str]:
    command = [
        sys.executable,
        "-m",
        "sfumato.cli",
        "studio",
        str(folder),
        "--port",
        "0",
        "--no-browser",
        "--state",
        str(state),
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return server, re.search(r"http\S+", server.stdout.readline())[0]


def megabytes(process: psutil.Process) -> float:
    return sum(one.memory_info().rss for one in (process, *process.children(recursive=True))) / 1e6


def first_page(folder: Path, state: Path) -> dict[str, float]:
    """Wall and processor seconds from the command to the first page, the best of five: other work only adds to them."""
    walls, cpus, memories = [], [], []
    for _ in range(5):
        before = time.perf_counter()
        server, address = started(folder, state)
        Visitor(address)
        walls.append(time.perf_counter() - before)
        process = psutil.Process(server.pid)
        cpus.append(sum(process.cpu_times()[:2]))
        memories.append(megabytes(process))
        server.terminate()
        server.wait()
    return {"first_page_s": min(walls), "first_page_cpu_s": min(cpus), "idle_mb": max(memories)}


def csv_of(path: Path, columns: int, n_bytes: int) -> None:
    with path.open("w") as file:
        file.write(",".join(f"lab_value_{at}" for at in range(columns)) + "\n")
        lines = "".join(",".join(str((at * row) % 97) for at in range(columns)) + "\n" for row in range(1, 200))
        while file.tell() < n_bytes:
            file.write(lines)


def wide(folder: Path, state: Path, *, columns: int) -> dict[str, float]:
    """A page of many columns: from the request to its last byte, when the schema was just drafted and after that."""
    csv_of(folder / "wide.csv", columns, 1)
    server, address = started(folder, state)
    visitor = Visitor(address)
    project = visitor.post("/projects", name="wide").rsplit("/", 1)[0]
    visitor.post(f"{project}/data", place=str(folder / "wide.csv"), header="yes")
    seconds = []
    for _ in range(8):
        before = time.perf_counter()
        text = visitor.get(f"{project}/schema")
        seconds.append(time.perf_counter() - before)
    server.terminate()
    server.wait()
    key = f"page_of_{columns}_columns"
    return {f"{key}_first_s": seconds[0], f"{key}_s": statistics.median(seconds[1:]), f"{key}_kb": len(text) / 1000}


def large(folder: Path, state: Path, *, gigabytes: float) -> dict[str, float]:
    """A large CSV is chosen and looked at: the server and its worker never hold it."""
    path = folder / "large.csv"
    csv_of(path, 40, int(gigabytes * 1e9))
    server, address = started(folder, state)
    visitor, process = Visitor(address), psutil.Process(server.pid)
    project = visitor.post("/projects", name="large").rsplit("/", 1)[0]
    before = time.perf_counter()
    visitor.post(f"{project}/data", place=str(path), header="yes")
    text = visitor.get(f"{project}/schema")
    took, memory = time.perf_counter() - before, megabytes(process)
    server.terminate()
    server.wait()
    size = path.stat().st_size
    path.unlink()
    return {
        "csv_gb": size / 1e9,
        "csv_draft_s": took,
        "csv_server_and_worker_mb": memory,
        "csv_page_kb": len(text) / 1000,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as made:
        folder, state = Path(made) / "data", Path(made) / "state"
        folder.mkdir()
        found = first_page(folder, state) | wide(folder, state, columns=200) | wide(folder, state, columns=10_000)
        found |= large(folder, state, gigabytes=asked.gigabytes)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    facts = {"load": os.getloadavg()[0], "cpus": os.cpu_count(), "cpu_s_in_all": used.ru_utime + used.ru_stime}
    print(json.dumps({key: round(value, 3) for key, value in (found | facts).items()}))


if __name__ == "__main__":
    main()
