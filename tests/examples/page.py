#!/usr/bin/env python3
"""page.py KILN SOURCE_FOLDER: checks that engine/examples/README.md lists every example with its question, and nothing
else.

The question stands in the first lines of the example. `kiln list` must show none of the example specs, because they can
be found only by their paths."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def question(path):
    """Returns the question of an example, without the mark of a comment and the name of the file."""
    for line in path.read_text().splitlines()[:2]:
        match = re.match(r"(?:/\* \S+ - |# )(.*?\?)", line)
        if match:
            return match[1]
    return None


def rows(text):
    """Returns {name of the file: question} from the tables of the page."""
    return {name: asked for asked, name in re.findall(r"^\| (.*\?) \| \[(\S+)\]\(\S+\) \|$", text, re.M)}


def compare(source, text):
    """Returns a list of what is wrong with the page `text`."""
    files = {path.name: question(path) for folder, pattern in (("engine/examples", "*.c"), ("specs/examples", "*.yaml"))
             for path in sorted((source / folder).glob(pattern))}
    table = rows(text)
    bad = [f"{name}: the page asks '{table.get(name)}', the file '{asked}'" for name, asked in files.items()
           if not asked or table.get(name) != asked]
    return bad + [f"{name}: there is no such example" for name in table if name not in files], len(files)


def main():
    kiln, source = sys.argv[1], pathlib.Path(sys.argv[2])
    text = (source / "engine/examples/README.md").read_text()
    bad, count = compare(source, text)
    for fault in (text.replace("| How do eight", "| How do nine"), re.sub(r"^.*\(launch\.c\).*$", "", text, flags=re.M)):
        if not compare(source, fault)[0]:
            bad.append("page.py does not notice a planted fault")
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run([kiln, "list"], cwd=source, env={"PATH": os.environ["PATH"], "HOME": home},
                              capture_output=True, text=True, check=False)
    listed = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    if done.returncode or "matmul" not in listed:
        bad.append(f"kiln list: {done.returncode} {done.stdout}{done.stderr}")
    bad += [f"kiln list shows the example {path.stem}" for path in (source / "specs/examples").glob("*.yaml")
            if path.stem in listed]
    print("\n".join(bad) or f"{count} examples, each by its question")
    return 1 if bad or count < 18 else 0


if __name__ == "__main__":
    sys.exit(main())
