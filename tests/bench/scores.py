#!/usr/bin/env python3
"""Scores of search strategies on recorded spaces, with their spread; and the effect of each constant of the search.

  scores.py [--seeds 100] [--from 1] [--fail SHARE] [--strategies surrogate,...] FILE...
      Prints a table with a row for each strategy and file: the mean score, its 95 % interval, the median and the worst
      seed. The score is the score of engine/recording/README.md, for each seed alone. --fail lets that share of the
      configurations fail at random.
  scores.py --constants [--only NAME,...] [--write] [--seeds 10] FILE...
      Measures the effect of each constant for which engine/search/CONSTANTS.md lists other values: the change of the
      mean score with each of these values, and its 95 % interval. All searches use the same seeds, so the changes are
      paired. --write puts the changes into the page.
  scores.py --check
      Tests that the page has the values of the sources, and this program on a small space that it makes up.

An interval comes from a bootstrap: the middle 95 % of the means of resampled values, drawn within each file. The
programs are those of --build (default build/release). --constants compiles changed copies of engine/search into a
temporary folder, with the commands of that build."""
import argparse
import json
import os
import random
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from tuners import made_up

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEARCH = os.path.join(ROOT, "engine", "search")
PAGE = os.path.join(SEARCH, "CONSTANTS.md")
RESAMPLES = 1000


class Failure(Exception):
    pass


# ---- scores and their spread ----

def measure(program, options, strategy="surrogate"):
    """Returns {file: [the score of each seed]}. The files are measured at the same time."""
    def measure_file(path):
        command = [program, "--seeds", str(options.seeds), "--from", str(options.first), "--fail", str(options.fail),
                   "--strategy", strategy, path]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        return [float(line.split("\t")[2]) for line in lines]

    with ThreadPoolExecutor(options.jobs) as pool:
        return dict(zip(options.files, pool.map(measure_file, options.files)))


def mean_of(lists):
    return statistics.fmean(statistics.fmean(values) for values in lists)


def interval_of(lists):
    dice = random.Random(1)
    means = sorted(mean_of([dice.choices(values, k=len(values)) for values in lists]) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def print_scores(options):
    print("| strategy | file | mean | 95 % interval | median | worst |\n| --- | --- | --- | --- | --- | --- |")
    for strategy in options.strategies.split(","):
        scores = measure(os.path.join(options.build, "tests", "kiln-scores"), options, strategy)
        rows = [(os.path.basename(path), [values]) for path, values in scores.items()]
        for name, lists in rows + [("all files", list(scores.values()))] * (len(rows) > 1):
            low, high = interval_of(lists)
            every = [value for values in lists for value in values]
            print(f"| `{strategy}` | {name} | {mean_of(lists):.3f} | {low:.3f} to {high:.3f} "
                  f"| {statistics.median(every):.3f} | {min(every):.3f} |", flush=True)


# ---- constants ----

def find_constant(name, file):
    """Returns the text of a source, and the match of the constant's value in it."""
    with open(os.path.join(SEARCH, file), encoding="utf-8") as source:
        text = source.read()
    found = re.search(rf"\b{re.escape(name)}(?: =)? ([0-9][0-9.]*(?:e-?[0-9]+| / [0-9]+)?)", text)
    if not found:
        raise Failure(f"{file} does not define {name}")
    return text, found


def read_page():
    """Returns the lines of the page, and its rows as (number of the line, cells)."""
    with open(PAGE, encoding="utf-8") as page:
        lines = page.read().splitlines()
    cells = [(number, [cell.strip() for cell in line[1:-1].split("|")]) for number, line in enumerate(lines)]
    return lines, [(number, row) for number, row in cells if len(row) == 7 and row[1].endswith((".c", ".h"))]


def check_page():
    for _, (name, file, value, *_) in read_page()[1]:
        found = find_constant(name.strip("`"), file)[1][1].strip()
        if value != found:
            raise Failure(f"CONSTANTS.md says that {name} of {file} is {value}, but it is {found}")


class Copy:
    """Holds a copy of engine/search in a folder. Compiles and links it with the commands of a build."""

    def __init__(self, folder, build):
        self.folder, self.build = folder, build
        self.program = os.path.join(folder, "kiln-scores")
        self.names = sorted(name for name in os.listdir(SEARCH) if name.endswith((".c", ".h")))
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            self.commands = {one["file"]: shlex.split(one["command"]) for one in json.load(file)}
        said = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", "tests/kiln-scores"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.linking = [word for word in shlex.split(said.splitlines()[-1]) if word not in (":", "&&")]
        self.changed = set(self.names)  # the files whose objects were not compiled from the unchanged sources

    def make(self, file=None, text=None):
        """Makes the program again, with `text` in place of one source. The other sources are the unchanged sources of
        the project."""
        stale, self.changed = self.changed | {file} - {None}, {file} - {None}
        for name in stale:
            with open(os.path.join(SEARCH, name), encoding="utf-8") as source:
                own = source.read()
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as copy:
                copy.write(text if name == file else own)
        headers = any(name.endswith(".h") for name in stale)
        for name in self.names:
            if name.endswith(".c") and (headers or name in stale):
                self.compile(name)
        objects = [os.path.join(self.folder, name[:-2] + ".o") for name in self.names if name.endswith(".c")]
        at = self.linking.index("-o")
        subprocess.run(self.linking[:at] + ["-o", self.program] + objects + self.linking[at + 2:], check=True,
                       cwd=self.build)

    def compile(self, name):
        """Compiles one file. The folder of the copies comes first, so that they find the changed headers."""
        source, copy = os.path.join(SEARCH, name), os.path.join(self.folder, name)
        command = [copy if word == source else word for word in self.commands[source]]
        at = command.index("-o")
        command[at:at + 2] = ["-iquote", self.folder, "-o", copy[:-2] + ".o"]
        subprocess.run(command, check=True, cwd=self.build)


def describe_change(before, after):
    pairs = [[new - old for new, old in zip(after[path], before[path])] for path in before]
    low, high = interval_of(pairs)
    return f"{mean_of(pairs):+.3f} [{low:.3f}, {high:.3f}]"


def measure_constants(options):
    lines, rows = read_page()
    unknown = set(options.only.split(",") if options.only else ()) - {cells[0].strip("`") for _, cells in rows}
    if unknown:
        raise Failure(f"engine/search/CONSTANTS.md has no constant {', '.join(sorted(unknown))}")
    changes = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(folder, options.build)
        copy.make()
        before = measure(copy.program, options)
        for number, cells in rows:
            name, file = cells[0].strip("`"), cells[1]
            if not cells[5] or (options.only and name not in options.only.split(",")):
                continue
            text, found = find_constant(name, file)
            cells[6] = ""
            for value in cells[5].split(", "):
                copy.make(file, text[:found.start(1)] + value + text[found.end(1):])
                changes.append(describe_change(before, measure(copy.program, options)))
                cells[6] += (", " if cells[6] else "") + changes[-1]
                print(f"{name} ({file}) = {value}: {changes[-1]}", flush=True)
            lines[number] = "| " + " | ".join(cells) + " |"
            if options.write:
                with open(PAGE, "w", encoding="utf-8") as page:
                    page.write("\n".join(lines) + "\n")
    return changes


# ---- the test ----

def check(options):
    """Compares the mean score with `kiln compare-strategies`, and lets a change of a constant change scores."""
    check_page()
    with tempfile.TemporaryDirectory() as folder:
        options.files, options.seeds = [made_up(folder)], 4
        scores = measure(os.path.join(options.build, "tests", "kiln-scores"), options)[options.files[0]]
        said = subprocess.run([os.path.join(options.build, "tools", "kiln"), "compare-strategies", *options.files,
                               "--strategies", "surrogate", "--seeds", "4", "--json"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        want = json.loads(said)["strategies"][0]["files"][0]["score"]
        if abs(statistics.fmean(scores) - want) > 1e-5:
            raise Failure(f"the mean score is {statistics.fmean(scores)}, but kiln compare-strategies has {want}")
        low, high = interval_of([scores])
        if not min(scores) <= low < statistics.fmean(scores) < high <= max(scores):
            raise Failure(f"the interval {low} to {high} does not fit the scores {scores}")
        options.fail = 0.5
        failing = measure(os.path.join(options.build, "tests", "kiln-scores"), options)[options.files[0]]
        if statistics.fmean(failing) >= statistics.fmean(scores):
            raise Failure("failures do not change the score")
        options.fail, options.only = 0, "gaussian_bold"
        changes = measure_constants(options)
        if not changes or all(change == "+0.000 [0.000, 0.000]" for change in changes):
            raise Failure(f"a changed constant does not change the search: {changes}")
    print("the page has the values of the sources, and the scores are right")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--fail", type=float, default=0)
    parser.add_argument("--strategies", default="surrogate")
    parser.add_argument("--constants", action="store_true")
    parser.add_argument("--only", help="names of constants, separated by commas")
    parser.add_argument("--write", action="store_true", help="put the changes into the page")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    options = parser.parse_args()
    options.seeds = options.seeds or (10 if options.constants else 100)
    if not options.files and not options.check:
        parser.error("no FILE is given")
    for name in options.files:
        if not os.path.isfile(name):
            parser.error(f"{name} is not a file")
    try:
        (check if options.check else measure_constants if options.constants else print_scores)(options)
    except Failure as failure:
        sys.exit(f"scores.py: {failure}")


if __name__ == "__main__":
    main()
