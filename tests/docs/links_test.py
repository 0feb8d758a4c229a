"""Every link of the pages leads somewhere: files exist, and so do the headings that anchors name. Links to the web are
not followed. python3 links_test.py"""
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def anchors(path):
    """As GitHub makes them of headings: lower case, blanks to hyphens, all but letters, digits, hyphens left out."""
    found, counts = set(), {}
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)
    for heading in re.findall(r"^#+ +(.*?)\s*$", text, re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        counts[name] = counts.get(name, -1) + 1
        found.add(f"{name}-{counts[name]}" if counts[name] else name)
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def broken(page):
    """What is wrong with the links of a page."""
    text = re.sub(r"^```.*?^```|^    .*$", "", page.read_text(), flags=re.S | re.M)
    text = re.sub(r"`[^`\n]*`", "", text)
    for target in re.findall(r"\]\(<?([^)>\s]+)>?(?: \"[^\"]*\")?\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists():
            yield f"{page.relative_to(SOURCE)}: there is no {target}"
        elif anchor and path.suffix == ".md" and anchor not in anchors(path):
            yield f"{page.relative_to(SOURCE)}: {target} names a heading that is not there"


def main():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=SOURCE, capture_output=True, text=True)
    pages = [SOURCE / name for name in listed.stdout.split()] if listed.returncode == 0 else []
    pages = [page for page in pages if page.exists()] or [*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md")]
    problems = [problem for page in pages for problem in broken(page)]
    print("\n".join(problems) or f"{len(pages)} pages, all links lead somewhere")
    return 1 if problems or len(pages) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
