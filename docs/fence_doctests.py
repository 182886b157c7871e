"""For the reference of `make docs`: examples in docstrings are shown as code."""

from typing import Any

import griffe


def fenced(text: str) -> str:
    r"""The same text with a fence around every run of lines that begins with a prompt.

    >>> fenced("Idea.\n\n>>> 1 + 1\n2").split("\n")
    ['Idea.', '', '```python', '>>> 1 + 1', '2', '```']
    """
    out: list[str] = []
    inside = False
    for line in [*text.split("\n"), ""]:
        begins, ends = not inside and line.startswith(">>>"), inside and not line.strip()
        out += ["```python"] * begins + ["```"] * ends + [line]
        inside = (inside or begins) and not ends
    return "\n".join(out[:-1])


class FenceDoctests(griffe.Extension):
    """Asked for every object that is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change what is shown, and nothing else."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
