"""What every page must be: well-formed, self-contained, accessible."""

import base64
import hashlib
import re
from html.parser import HTMLParser


class Tags(HTMLParser):
    """Every tag of a page with its attributes, and whether each that opens also closes."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def self_contained(page):
    """Check a page, and give the names of its tags."""
    parsed = Tags(page)
    assert parsed.open == []
    names = [tag for tag, _ in parsed.tags]
    assert not {"link", "iframe", "object", "form"} & set(names)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == names.count("script")
    for script in scripts:  # those alone that the page's own policy allows
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'" in page
    assert ("html", {"lang": "en"}) in parsed.tags
    assert "prefers-color-scheme: dark" in page
    for tag, attributes in parsed.tags:
        address = attributes.get("src") or attributes.get("href") or attributes.get("xlink:href") or "#"
        assert address.startswith(("data:", "#")), address
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
        if tag == "img":
            assert attributes["alt"]
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    return names
