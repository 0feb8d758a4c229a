"""Every link of the built site leads somewhere, and every page of docs can be reached: python3 site_test.py build/site"""
import html.parser
import pathlib
import sys
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Page(html.parser.HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], {"", "__top"}
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in ("href", "src"):
            if attributes.get(name):
                self.links.append(attributes[name])
        for name in ("id", "name"):
            if attributes.get(name):
                self.anchors.add(attributes[name])


def main(site):
    site = pathlib.Path(site).resolve()
    pages = {path: Page(path) for path in site.rglob("*.html") if not path.name.endswith(".film.html")}
    problems, reached = [], set()
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links are for the root of a server
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            reached.add(target)
            if not target.exists():
                problems.append(f"{path.relative_to(site)}: there is no {link}")
            elif target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{path.relative_to(site)}: {link} names a heading that is not there")
    for page in (SOURCE / "docs").glob("*.md"):
        if site / "docs" / (page.stem + ".html") not in reached:
            problems.append(f"no page leads to docs/{page.name}")
    print("\n".join(sorted(set(problems))) or f"docs: {len(pages)} pages, all links lead somewhere")
    return 1 if problems or len(pages) < 20 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
