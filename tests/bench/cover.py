#!/usr/bin/env python3
"""cover.py [--build BUILD] run [REGEX]          records which blocks of engine/ and tools/ each test runs
cover.py [--build BUILD] choose NAME COSTS    writes tests/covered.txt: the tests that the build NAME leaves out

A sanitizer finds an error only if the line with the error runs. So a line that runs in a cheap test needs no expensive test,
and the builds with sanitizers leave out the tests of tests/covered.txt. The release build runs all tests, because tests
compare results too. A new test is not in the list, so it runs.

BUILD is a build with the address sanitizer that records blocks (tests/bench/cover.c):
    cmake --preset asan -B build/cover -DKILN_COVER=ON && cmake --build build/cover
NAME is asan or tsan. COSTS is a file with the output of `budget.py tests build/NAME`. For tsan, the choice is among the tests
with the label `threads` (`budget.py --label threads`), and counts only lines that run after a second thread has run.

The choice is a weighted set cover. Step 1 takes the test with the most new lines for its processor time until no line is new.
Step 2 drops the tests whose lines all run in others, the most expensive first. Step 3 drops the tests that cost more than
--price seconds for each line that runs in no other chosen test. The list tells how many lines step 3 gives up. KEPT has
the tests that always run. These are tests that search for errors of memory themselves, and tests of code that records
nothing: the libraries for CUDA programs, the references of kernel_src/, and the example programs. KEPT also has a test
that limits the sizes of files."""
import argparse
import array
import collections
import concurrent.futures
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys

import budget

TOP = pathlib.Path(__file__).resolve().parents[2]
HEAD = 4096          # the number of bytes before the words in a file of cover.c
SEVERAL = 1 << 63    # the bit of a block that ran while the process had several threads
PROGRAMS = r"foreign[.]|sim[.](runtime[.]|vendor_|cublas_hold|devices|\w+_(program|cases)\b)"
KEPT = {"asan": rf"^({PROGRAMS}|hostile[.]|fuzz[.]planted|cli[.]write-limit|references[.]|examples[.](?!spec|page))",
        "tsan": rf"^({PROGRAMS})"}
LISTED = TOP / "tests/covered.txt"


class Places:
    """Finds the source line of an address in a program or a library. It asks llvm-symbolizer once for each address."""

    def __init__(self):
        self.known = {}

    def find(self, module, addresses):
        known = self.known.setdefault(module, {})
        new = [one for one in addresses if one not in known]
        if new:
            # an address in the call itself, because the recorded address is the one after the call
            asked = "".join(f"{one - 1:#x}\n" for one in new)
            said = subprocess.run(["llvm-symbolizer", f"--obj={module}", "--no-inlines", "--functions=linkage"], input=asked,
                                  capture_output=True, text=True, check=True).stdout
            for address, answer in zip(new, said.split("\n\n")):
                function, place = answer.strip().split("\n")[:2]
                path, line, _ = place.rsplit(":", 2)
                path = os.path.normpath(path)
                inside = os.path.relpath(path, TOP)
                known[address] = (inside, int(line), function) if inside.startswith(("engine/", "tools/")) else None
        return [known[one] for one in addresses]


def read_blocks(folder):
    """Returns {module: the set of the offsets of its blocks, with the bit SEVERAL}."""
    blocks = collections.defaultdict(set)
    for path in folder.iterdir():
        with open(path, "rb") as file:
            module = file.read(HEAD).rstrip(b"\0").decode()
            words = array.array("Q", file.read(8))
            if not words:
                continue
            rest = array.array("Q")
            rest.frombytes(file.read(8 * words[0]))
            blocks[module].update(rest)
    return blocks


def run_test(job):
    (name, command, known), folder = job
    place = folder / "blocks" / name.replace("/", "_")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    environment = [one for one in known.get("ENVIRONMENT", []) if not one.startswith("KILN_COVER=")]
    answer = budget.run_test((name, command, known | {"ENVIRONMENT": [*environment, f"KILN_COVER={place}"]}), folder / "said")
    blocks = {module: sorted(found) for module, found in read_blocks(place).items()}
    with open(folder / "found" / name.replace("/", "_"), "wb") as file:
        pickle.dump((name, blocks), file)
    shutil.rmtree(place)
    return answer


def run(arguments):
    folder = pathlib.Path(arguments.build, "cover").resolve()
    for name in "blocks", "said", "found":
        folder.joinpath(name).mkdir(parents=True, exist_ok=True)
    arguments.label, arguments.every = None, 1
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(int(os.environ.get("KILN_JOBS", "2"))) as pool:
        jobs = [pool.submit(run_test, (test, folder)) for test in budget.chosen_tests(arguments)]
        for job in concurrent.futures.as_completed(jobs):
            name, seconds, code = job.result()
            failed += code not in (0, 77)
            print(f"{seconds:8.2f}  {name}{'  FAILED' if code not in (0, 77) else ''}", flush=True)
    return 1 if failed else 0


def choose_tests(units, costs, kept, price):
    """Returns the names of a cheap set of tests, and the number of lines that run in no test of the set. `units` has
    the lines of each test."""
    chosen = {name for name in units if re.search(kept, name)}
    covered = set().union(*(units[name] for name in chosen))
    left = {name: found - covered for name, found in units.items() if name not in chosen}
    while left := {name: found for name, found in left.items() if found}:
        best = max(left, key=lambda name: (len(left[name]) / costs[name], name))
        chosen.add(best)
        new = left.pop(best)
        left = {name: found - new for name, found in left.items()}
    counts = collections.Counter(unit for name in chosen for unit in units[name])

    def drop(name):
        chosen.remove(name)
        counts.subtract(units[name])

    for name in sorted(chosen, key=lambda name: (-costs[name], name)):
        if not re.search(kept, name) and all(counts[unit] > 1 for unit in units[name]):
            drop(name)
    given_up = 0
    while True:
        own = {name: sum(counts[unit] == 1 for unit in units[name]) for name in chosen if not re.search(kept, name)}
        worst = max(own, key=lambda name: (costs[name] / max(own[name], 0.001), name), default=None)
        if worst is None or costs[worst] <= price * own[worst]:
            return chosen, given_up
        given_up += own[worst]
        drop(worst)


def choose(arguments):
    costs = {}
    for line in pathlib.Path(arguments.costs).read_text().splitlines():
        if match := re.fullmatch(r" *([0-9.]+)  (\S+)", line):
            costs[match[2]] = float(match[1]) + 0.02
    places, units, seen = Places(), {}, {}
    for path in sorted(pathlib.Path(arguments.build, "cover/found").iterdir()):
        name, blocks = pickle.loads(path.read_bytes())
        if name not in costs:
            continue
        found = set()
        for module, words in blocks.items():
            if not os.path.exists(module):
                continue
            wanted = sorted({word & ~SEVERAL for word in words if arguments.name == "asan" or word & SEVERAL})
            for place, address in zip(places.find(module, wanted), wanted):
                if place:
                    found.add(seen.setdefault(place[:2], len(seen)))
        units[name] = found
    chosen, given_up = choose_tests(units, costs, KEPT[arguments.name], arguments.price)
    write_list(arguments.name, sorted(set(units) - chosen),
               f"# {arguments.name}: {len(chosen)} of {len(units)} tests run, {sum(costs[name] for name in chosen):.0f} of "
               f"{sum(costs[name] for name in units):.0f} s of processor time. {given_up} of {len(seen)} lines run in none of them.")
    return 0


def write_list(build, left, told):
    lines = LISTED.read_text().splitlines() if LISTED.exists() else []
    lines = [line for line in lines if line.split()[:1] == ["asan"] or line.startswith("# asan:")] if build == "tsan" else \
            [line for line in lines if line.split()[:1] == ["tsan"] or line.startswith("# tsan:")]
    mine = [told, *(f"{build} {name}" for name in left)]
    lines = lines + mine if build == "tsan" else mine + lines
    LISTED.write_text("# The tests that a build with a sanitizer leaves out. tests/bench/cover.py writes this file.\n" +
                      "\n".join(lines) + "\n")
    print(told)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/cover")
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("run").add_argument("regex", nargs="?")
    chooser = commands.add_parser("choose")
    chooser.add_argument("name", choices=KEPT)
    chooser.add_argument("costs")
    chooser.add_argument("--price", type=float, default=0.15, help="seconds for a line (0.15)")
    arguments = parser.parse_args()
    return run(arguments) if arguments.what == "run" else choose(arguments)


if __name__ == "__main__":
    sys.exit(main())
