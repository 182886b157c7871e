"""What every page must be: well-formed, self-contained, accessible."""

from html.parser import HTMLParser


class Tags(HTMLParser):
    """Every tag of a page with its attributes, and whether each that opens also closes."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
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
    assert not {"script", "link", "iframe", "object"} & set(names)
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
    assert "url(http" not in page
    assert "@import" not in page
    return names
