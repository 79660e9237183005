#!/usr/bin/env python3
"""Finds files with long PTX. Nobody can review such a file, and it adds many lines to searches and diffs.

    compiled.py SOURCE_FOLDER    the test: exit 1 with a line for each file with more than 300 lines of PTX
    compiled.py --planted        a tree with such files: exit 1 where a file is not found

A test that needs more compiles its kernel with NVRTC, or keeps the packed PTX beside its source (tests/sim/ptx.py).
PTX is a file NAME.ptx, or any text with a line `.version` that is followed by a line `.target`."""
import os
import pathlib
import re
import sys
import tempfile

LIMIT = 300
PTX = re.compile(rb"^\s*\.version\s+\d+\.\d+\s*\n\s*\.target\s+sm_", re.M)


def find_long(source):
    """Returns the path and the number of lines of each file with more than LIMIT lines of PTX."""
    found = []
    for folder, folders, files in os.walk(source):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "build")))
        for name in sorted(files):
            path = pathlib.Path(folder, name)
            if path.is_symlink() or not path.is_file():
                continue
            text = path.read_bytes()
            lines = text.count(b"\n")
            if lines > LIMIT and (path.suffix == ".ptx" or b"\0" not in text and PTX.search(text)):
                found.append((path.relative_to(source), lines))
    return found


def find_planted():
    head = ".version 9.0\n.target sm_90\n"
    with tempfile.TemporaryDirectory() as work:
        tree = pathlib.Path(work)
        (tree / "tests").mkdir()
        (tree / "tests" / "long.ptx").write_text("\n" * (LIMIT + 1))
        (tree / "tests" / "short.ptx").write_text(head + "\n" * (LIMIT - 2))
        (tree / "tests" / "seed").write_text(head + "\n" * LIMIT)
        (tree / "tests" / "notes.txt").write_text("\n" * (LIMIT + 1))
        names = [str(path) for path, _ in find_long(tree)]
    if names != ["tests/long.ptx", "tests/seed"]:
        print(f"compiled.py: found {names} in the planted tree")
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--planted"]:
        return find_planted()
    found = find_long(pathlib.Path(sys.argv[1]))
    for path, lines in found:
        print(f"{path}: {lines} lines of PTX, at most {LIMIT}: compile it in the test, or pack it (tests/sim/ptx.py)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
