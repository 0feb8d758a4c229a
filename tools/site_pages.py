#!/usr/bin/env python3
"""tools/site_pages.py FOLDER: the pages of this repository, where they are, with all that they link to, so that relative links
stay as they are. A folder that is linked to gets a list of its files, unless it has a README.md."""
import html
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]


def links(page):
    """Relative links of a markdown page, without anchors."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    for target in re.findall(r"\]\(<?([^)>\s#]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", target):
            yield target


def copy(path, folder):
    """A file, or a folder with its files and a list of them."""
    target = folder / path.relative_to(SOURCE)
    if path.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":  # what follows the language of an example is for tests
            target.write_text(re.sub(r"^```(\w+) .*$", r"```\1", path.read_text(), flags=re.M))
        else:
            shutil.copyfile(path, target)
        return
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", str(path)], cwd=SOURCE,
                            capture_output=True, text=True, check=True).stdout
    names = [SOURCE / name for name in listed.split("\n") if name]
    for name in names:
        copy(name, folder)
    if not (path / "README.md").exists():
        rows = "".join(f'<li><a href="{n}">{n}</a></li>' for n in (html.escape(str(name.relative_to(path))) for name in names))
        (target / "index.html").write_text(f"<!doctype html><title>{path.name}</title><ul>{rows}</ul>\n")


def main(folder):
    folder = pathlib.Path(folder)
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "docs/*"], cwd=SOURCE,
                            capture_output=True, text=True, check=True).stdout
    names = [SOURCE / name for name in listed.split("\n") if name and (SOURCE / name).exists()]
    for name in names:
        copy(name, folder)
    for page in [name for name in names if name.suffix == ".md"]:
        for link in links(page):
            path = (page.parent / link).resolve()
            if path.exists() and path.is_relative_to(SOURCE) and not (folder / path.relative_to(SOURCE)).exists():
                copy(path, folder)


if __name__ == "__main__":
    main(sys.argv[1])
