"""Other libraries on the same tables, each in an environment of its own.

A peer is a script that is given rows of codes and how many codes each column has, and writes synthetic ones. Codes are those of
our own `mst` (numbers in 32 public bins), so no peer has to look at the rows to find its domain.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from zoo.scores import encode

from sfumato.errors import SfumatoError
from sfumato.lab.benchmark import load
from sfumato.lab.benchmark.datasets import cache_folder
from sfumato.lab.benchmark.examples import real_examples, synthetic_examples
from sfumato.lab.benchmark.metrics import distances
from sfumato.lab.benchmark.protocol import scores
from sfumato.mechanisms.marginals.binned import Binned
from sfumato.model import Synthetic

HERE = Path(__file__).parent
#: Environments are made once and kept: some take minutes to install.
ENVIRONMENTS = cache_folder() / "peers"
TIMEOUT = 3_600


class PeerError(SfumatoError):
    """A peer that could not be installed or did not finish."""


@dataclass(frozen=True)
class Peer:
    """What to install, and the script that uses it."""

    requirements: tuple[str, ...]
    script: str

    @property
    def python(self) -> Path:
        """The interpreter of its environment, which is made where it is missing."""
        folder = ENVIRONMENTS / self.script.removesuffix(".py")
        python = folder / "bin" / "python"
        if not (folder / "installed").exists():
            venv.create(folder, with_pip=True, clear=True)
            installed = [str(python), "-m", "pip", "install", "--quiet", *self.requirements]
            if subprocess.run(installed, check=False).returncode:
                raise PeerError(f"{', '.join(self.requirements)} cannot be installed here.")
            (folder / "installed").touch()
        return python


PEERS = {
    "peer: OpenDP MST": Peer(("opendp[polars,mbi]==0.16.0", "pandas"), "opendp_mst.py"),
    "peer: dpmm MST": Peer(("dpmm==0.1.9",), "dpmm_mst.py"),
    "peer: SmartNoise MST": Peer(("smartnoise-synth==1.0.8",), "smartnoise_mst.py"),
}


def run_peer(name: str, dataset: str, seed: int, *, epsilon: float, delta: float, learner: str) -> dict[str, Any]:
    """Utility and fidelity of a peer's rows, by the protocol, with as many rows as there are real ones."""
    benchmark, peer = load(dataset), PEERS[name]
    if benchmark.schema.images:
        raise PeerError("the peers are for tables.")
    binned = Binned(benchmark.schema)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        bins = binned.bins(encode(benchmark.train, benchmark.schema))
        names = [f"c{at}" for at in range(bins.shape[1])]
        pd.DataFrame(bins, columns=names).to_csv(place / "rows.csv", index=False)
        asked = {"sizes": dict(zip(names, binned.sizes, strict=True)), "epsilon": epsilon, "delta": delta}
        (place / "asked.json").write_text(json.dumps(asked | {"rows": len(bins)}), encoding="utf-8")
        start = time.perf_counter()
        command = [str(peer.python), str(HERE / peer.script), str(place)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        if done.returncode:
            raise PeerError(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
        seconds = time.perf_counter() - start
        drawn = pd.read_csv(place / "synthetic.csv")[names].to_numpy(dtype=np.int64)
    rows = Synthetic(table=benchmark.schema.decode(binned.values(drawn, np.random.default_rng(seed))))
    train, test = real_examples(benchmark.train, benchmark.schema), real_examples(benchmark.test, benchmark.schema)
    synthetic = synthetic_examples(rows, benchmark.schema)
    one_way, two_way = distances(train, synthetic, benchmark.schema)
    kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    return {
        "value": round(scores(learner, synthetic, test, benchmark, seed=seed).value, 6),
        "tvd_1way": round(one_way, 6),
        "tvd_2way": round(two_way, 6),
        "release_seconds": round(seconds, 1),
        "peak_memory_mb": round(kilobytes / 1024, 1),
    }
