#!/usr/bin/env python3
"""Checks the pages (*.md) against the files of the tree.

    pages.py SOURCE_FOLDER    the test: exit 1 with a line for each thing that is wrong

- A file or folder that a page names in backticks exists: below the page's folder or a folder above it, or below
  engine/ or engine/sim/. A name without a folder (`tune.c`) is a file in the page's folder, in a folder inside it, or
  in the parent folder. A header without a folder may be anywhere in engine/, because names of headers are unique
  there. Words in capitals (`FAMILY.cu`) stand for any name.
- A name of the code (`kiln_...`, `kiln__...`, `vm_...`, `ptx_...`, `sim_...`, `KILN_...`, and what ends in `()`) occurs in the sources.
- A relative link leads to a file, and a link to a section to one that exists.
- README.md has at most 150 lines and 1,000 words.
- Every room (kiln_room) has a page.
- A page that a comment of C or CUDA names (README.md, engine/tune/FINALS.md) exists: in the file's folder, or from the
  root.
- Every public function is defined in the file that the table of engine/WHERE.md names for it."""
import fnmatch
import pathlib
import re
import sys

README_LINES, README_WORDS = 150, 1000
LONG_PAGES = {"engine/sim/device/ptx/COVERAGE.md", "engine/spec/KEYS.md"}  # generated
SOURCES = {".c", ".h", ".inc", ".def", ".cu", ".cuh", ".py", ".sh", ".in", ".cmake", ".txt", ".yaml", ".json", ""}
COMMENTED = {".c", ".h", ".inc", ".def", ".cu", ".cuh"}
FILES = r"c|h|inc|def|cu|cuh|py|sh|md|yaml|yml|txt|cmake|tsv|svg|profile|cmd|ptx|css|js|json"
EXAMPLES = {  # files of a reader, which are not in the tree
    "affine.cu", "affine.yaml", "known.yaml", "want.npy", "cuda_fp16.h", "cuda.h", "cooperative_groups.h",
    "cuda_occupancy.h", "kernel.cu", "launch.json", "matmul.html", "gemm.t4.json", "matmul.t4.json", "estimated.json",
    "blur.cu", "blur.yaml", "blur.py", "blur.c",
}
NAMES = re.compile(r"[A-Za-z_]\w*(?=\(\))|(?:kiln__?|vm_|ptx_|sim_)[a-z0-9_]+|KILN_[A-Z0-9_]+")
FOREIGN = {"malloc", "free", "poll", "fork", "waitpid", "printf", "stat", "vprintf"}


def find_pages(source):
    return sorted(path for path in source.rglob("*.md")
                  if not any(part.startswith((".", "build")) for part in path.relative_to(source).parts))


def read_names(source):
    """Returns every word of the sources that could be a name of the code."""
    words = set()
    for folder in ("engine", "tools", "tests", "kernel_src", "specs"):
        for path in (source / folder).rglob("*"):
            if path.suffix in SOURCES and path.is_file():
                words.update(re.findall(r"[A-Za-z_]\w*", path.read_text(errors="replace")))
    words.update(re.findall(r"\w+", (source / "CMakeLists.txt").read_text()))
    return words


def exists(source, page, name):
    """Tells whether the tree has `name`, as seen from `page`."""
    folders = [page.parent, source / "engine", source / "engine" / "sim"]
    folders += [folder for folder in page.parent.parents if folder == source or source in folder.parents]
    if "/" not in name:  # a name without a folder is in the page's folder, in a folder inside it, or in the root
        if page.parent == source:
            return (source / name).exists() or (name.endswith(".h") and any((source / "engine").rglob(name)))
        return (any(page.parent.rglob(name)) or any(page.parent.parent.glob(name)) or
                name.endswith(".h") and any((source / "engine").rglob(name)))
    return any(any(folder.glob(name.rstrip("/"))) for folder in folders)


def slug(heading):
    text = re.sub(r"[`*]", "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def headings(path):
    return {slug(match) for match in re.findall(r"^#+ (.*)$", path.read_text(), re.M)}


def check_names(source, page, line, text, names, bad):
    for code in re.findall(r"`([^`]+)`", text):
        for word in re.split(r"[\s,;=|]+", code):
            word = word.strip("()\"'")
            if re.fullmatch(rf"[\w.*/-]*[\w*]\.({FILES})", word) or re.fullmatch(r"[a-z_]\w*(/[\w.-]+)*/", word):
                # Files that a command writes, and files of other programs, are not in the tree.
                if word in EXAMPLES or re.search(r"(^|/)[A-Z]+[./_]", word) and not (
                        exists(source, page, word) or word.endswith(".md")) or word.startswith(("/", "~", "$", "-")) or pathlib.Path(word).name in EXAMPLES:
                    continue
                if not exists(source, page, word):
                    bad.append(f"{page.relative_to(source)}:{line}: there is no file {word}")
        for name in NAMES.findall(code):
            if name in FOREIGN or name in names or re.search(re.escape(name) + r"[.*<…]", code):
                continue
            if name.endswith("_") and any(other.startswith(name) for other in names):
                continue
            bad.append(f"{page.relative_to(source)}:{line}: the sources do not have the name {name}")


def check_links(source, page, line, text, bad):
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, section = target.partition("#")
        path = (page.parent / file) if file else page
        if not path.exists():
            bad.append(f"{page.relative_to(source)}:{line}: a link to {target}, which is not there")
        elif section and path.suffix == ".md" and section not in headings(path):
            bad.append(f"{page.relative_to(source)}:{line}: a link to {target}: {file or 'the page'} has no such section")


def check_page(source, page, names, bad):
    fenced, own = False, str(page.relative_to(source))
    for line, text in enumerate(page.read_text().splitlines(), 1):
        if text.startswith("```"):
            fenced = not fenced
        elif not fenced and not text.startswith("    "):
            if own not in LONG_PAGES:
                check_names(source, page, line, text, names, bad)
            check_links(source, page, line, re.sub(r"`[^`]*`", "", text), bad)


def check_rooms(source, bad):
    lists = [source / "engine" / "CMakeLists.txt", source / "engine" / "sim" / "CMakeLists.txt"]
    text = re.sub(r"#.*", "", "".join(path.read_text() for path in lists))
    rooms = [arguments.split()[0] for arguments in re.findall(r"^ *kiln_room\(([^)]*)\)", text, re.M)]
    for room in rooms:
        if not any((source / "engine" / room).glob("*.md")):
            bad.append(f"engine/{room}: a room without a page")
    return rooms


def check_functions(source, bad):
    """Reads the rows | `kiln_NAME`, `kiln_PART_*` ... | `FILE` | of WHERE.md. A name has precedence over a pattern."""
    engine, named, patterns = source / "engine", {}, {}
    for line in (engine / "WHERE.md").read_text().splitlines():
        match = re.match(r"\| (`kiln_[^|]*)\| `([\w/.]+)` \|$", line)
        for name in re.findall(r"`(kiln_[\w*]+)`", match[1]) if match else ():
            (patterns if name.endswith("*") else named)[name] = match[2]
    functions = set()
    for header in sorted((engine / "include").glob("*.h")):
        functions.update(re.findall(r"KILN_API[^;(]*?\b(kiln_\w+)\(", header.read_text()))
    for name in sorted(functions):
        file = named.get(name) or next((patterns[p] for p in patterns if fnmatch.fnmatch(name, p)), None)
        if not file:
            bad.append(f"engine/WHERE.md: no row for {name}()")
        elif not (engine / file).exists() or not re.search(rf"^(?!static)\w[^;\n]*\b{name}\)?\([^;]*?\)\s*\{{",
                                                           (engine / file).read_text(), re.M):
            bad.append(f"engine/WHERE.md: {file} does not define {name}()")
    bad += [f"engine/WHERE.md: there is no function {name}" for name in named if name not in functions]
    return functions


def check_comments(source, bad):
    for folder in ("engine", "tools", "tests", "kernel_src"):
        for path in sorted((source / folder).rglob("*")):
            own = str(path.relative_to(source))
            if path.suffix not in COMMENTED or own.startswith("tests/abi/oldest/"):
                continue
            text = path.read_text(errors="replace")
            for comment in re.finditer(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', text, re.S):
                for page in re.finditer(r"[\w./-]*\w\.md\b", comment[0] if comment[0][0] == "/" else ""):
                    if not any((base / page[0]).is_file() for base in (path.parent, source)):
                        line = text.count("\n", 0, comment.start() + page.start()) + 1
                        bad.append(f"{own}:{line}: there is no page {page[0]}")


def main():
    source, bad = pathlib.Path(sys.argv[1]).resolve(), []
    names, pages = read_names(source), find_pages(source)
    for page in pages:
        check_page(source, page, names, bad)
    text = (source / "README.md").read_text()
    lines, words = text.count("\n"), len(text.split())
    if lines > README_LINES:
        bad.append(f"README.md: {lines} lines, more than {README_LINES}")
    if words > README_WORDS:
        bad.append(f"README.md: {words} words, more than {README_WORDS}")
    rooms = check_rooms(source, bad)
    functions = check_functions(source, bad)
    check_comments(source, bad)
    for line in bad:
        print(line)
    print(f"{len(pages)} pages, {len(rooms)} rooms, {len(functions)} public functions: {len(bad) or 'nothing'} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
