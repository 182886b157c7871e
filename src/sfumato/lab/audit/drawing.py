"""The trade-off curve of an audit beside the promised one, as a file."""

from pathlib import Path

import numpy as np

from sfumato.lab.audit.auditing import Audit
from sfumato.present.plots import roc_svg

_COLOURS = {"--ink": "#222222", "--rule": "#999999", "--synthetic": "#b2182b", "--real": "#2166ac", "--coin": "#999999"}


def trade_off_file(audit: Audit, *, to: Path) -> None:
    """Hits against false alarms: the promise in blue, what was seen in red, a coin in grey."""
    alarms = np.linspace(0.0, 1.0, 101)
    curves = {"real": (alarms, audit.promised_hits(alarms)), "synthetic": (alarms, audit.trade_off(alarms))}
    drawn = str(roc_svg(curves, label=f"Trade-off of {audit.method}: promised (blue) and seen (red)"))
    for variable, colour in _COLOURS.items():  # outside of a page nobody sets its colours
        drawn = drawn.replace(f"var({variable})", colour)
    to.write_text(
        drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) if "xmlns=" not in drawn else drawn
    )
