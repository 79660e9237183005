#!/usr/bin/env python3
"""links.py pages FOLDER    every relative link of the pages (*.md) below FOLDER leads to a file or a folder, and every
                         anchor to a heading. It needs no network: links with a scheme (https:) are left out.
links.py book SOURCE     every page that the tables of contents of engine/book name exists, and the book has every page
                         for users. Links inside of these pages are a matter of tests/style/pages.py.

Each run first checks planted pages, and must find their faults."""
import pathlib
import re
import sys
import tempfile


def slug(heading):
    """Returns the anchor of a heading, as GitHub makes it."""
    text = re.sub(r"[`*]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose(path):
    """Returns the text of a page without blocks of code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ {4}.*$", "", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S),
                                           flags=re.M))


def anchors(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)}


def check_pages(folder):
    """Returns (number of pages, number of links, what is wrong)."""
    bad, links = [], 0
    pages = sorted(folder.rglob("*.md"))
    for page in pages:
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            name, _, anchor = target.partition("#")
            path = page.parent / name if name else page
            if not path.exists():
                bad.append(f"{page.relative_to(folder)}: a link to {target}, which is not there")
            elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                bad.append(f"{page.relative_to(folder)}: a link to {target}: there is no such heading")
    return len(pages), links, bad


def check_book(source):
    """Returns (number of pages, 0, what is wrong)."""
    bad, named = [], set()
    book = source / "engine/book"
    for page in sorted(book.glob("*.md")):
        for body in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.M | re.S):
            for line in body.splitlines():
                entry = re.sub(r".*<(.*)>$", r"\1", line.strip())
                if not entry or entry.startswith(":"):
                    continue
                base = source if entry.startswith("/") else book
                found = [path for path in base.glob(entry.lstrip("/") + ".md")]
                if not found:
                    bad.append(f"{page.name}: the table of contents names {entry}, and there is no such page")
                named.update(path.resolve() for path in found)
    for folder in ("engine", "tools", "kernel_src"):
        bad += [f"the book does not have {path.relative_to(source)}" for path in sorted((source / folder).rglob("*.md"))
                if path.resolve() not in named and path.name != "index.md"]
    return len(named), 0, bad


def finds_planted():
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        (folder / "a.md").write_text("# One\n[b](b.md#two) [web](https://example.org)\n")
        (folder / "b.md").write_text("# Two\n```\n[no](none.md)\n```\n")
        if check_pages(folder)[2]:
            return False
        for fault in ("[b](c.md)", "[b](b.md#three)", "[b](#two)"):
            (folder / "a.md").write_text(f"# One\n{fault}\n")
            if len(check_pages(folder)[2]) != 1:
                return False
        book = folder / "engine/book"
        book.mkdir(parents=True)
        (book / "start.md").write_text("# Start\n")
        (book / "index.md").write_text("# Book\n```{toctree}\nstart\n```\n")
        if check_book(folder)[2]:
            return False
        (book / "index.md").write_text("# Book\n```{toctree}\nbegin\n```\n")
        return len(check_book(folder)[2]) == 2


def main():
    kind, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if not finds_planted():
        print("links.py does not find what is planted")
        return 1
    pages, links, bad = {"pages": check_pages, "book": check_book}[kind](folder)
    print("\n".join(bad) or f"{pages} pages, {links} links: nothing wrong")
    return 1 if bad or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
