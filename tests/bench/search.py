#!/usr/bin/env python3
"""How far a search of a minute is from the best of all: both on this machine's device, one after the other.

  search.py [--seconds 60] [--variants 2] [--seed 1] [--kiln PATH] [--device DEVICE] SPEC[/WORK]...

For each work (a size set of the spec, or settings joined by commas; without one those that works.txt has for the family):
  1. `kiln tune` searches all variants for so many seconds with the default strategy.
  2. `kiln tune` tries every configuration of the best variants of 1 (--variants, the winner's among them).
Nothing is kept in between but compiled code, so 2 measures what 1 chose again. The distance is the time of 1's choice over
that of 2's best, both in the second sweep, so that it does not depend on clocks or on who measures when; each sweep's own
finals say which of its configurations cannot be told apart.

KILN_TUNE may hold more options for `kiln tune`. SPEC is a path or a name of specs/. One line of tab-separated values a
work goes to standard output, sentences to standard error."""
import argparse
import json
import os
import subprocess
import sys

BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(BENCH))
COLUMNS = ("spec", "work", "tried", "search_s", "chosen", "chosen_s", "all", "sweep_s", "best", "best_s", "distance")


def works_of(family):
    with open(os.path.join(BENCH, "works.txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words and words[0] == family:
                return words[2:]
    return ["default"]


def tune(options, spec, work, more):
    command = [options.kiln, "tune", spec, "--json", "--quiet", "--no-store"] + more
    for setting in work.split(","):
        command += ["-s", setting]
    if options.device:
        command += ["--device", options.device]
    command += os.environ.get("KILN_TUNE", "").split()
    run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    try:
        tuned = json.loads(run.stdout)
    except json.JSONDecodeError:
        sys.exit(f"search.py: exit code {run.returncode}: {' '.join(command)}")
    if not any(sample["status"] == "KILN_OK" for sample in tuned.get("samples", [])):
        sys.exit(f"search.py: nothing ran: {' '.join(command)}: {tuned.get('error', '')}")
    return tuned


def seconds_of(sample):
    result = sample["result"]
    return result["seconds"] if result["seconds"] is not None else result["host_seconds"]


def configuration(sample):
    return " ".join([sample["variant"]] + [f"{name}={value}" for name, value in sample["params"].items()])


def good(tuned, contenders=True):
    return [s for s in tuned["samples"] if s["status"] == "KILN_OK" and (s["contender"] or not contenders)]


def compare(options, spec, work):
    name = os.path.splitext(os.path.basename(spec))[0]
    searched = tune(options, spec, work, ["--max-seconds", str(options.seconds), "--seed", str(options.seed)])
    chosen, variants = good(searched)[0], []
    for sample in good(searched):
        if sample["variant"] not in variants:
            variants.append(sample["variant"])
    only = [word for variant in variants[:options.variants] for word in ("-v", variant)]
    swept = tune(options, spec, work, only)
    best = good(swept)[0]
    again = [s for s in good(swept) if s["variant"] == chosen["variant"] and s["params"] == chosen["params"]]
    if not again:
        sys.exit(f"search.py: {name} {work}: what the search chose failed in the sweep: {configuration(chosen)}")
    distance = seconds_of(again[0]) / seconds_of(best)
    values = (name, work, searched["totals"]["configurations"], searched["totals"]["seconds"], configuration(chosen),
              seconds_of(chosen), swept["totals"]["configurations"], swept["totals"]["seconds"], configuration(best),
              seconds_of(best), distance)
    print("\t".join(f"{value:.6g}" if isinstance(value, float) else str(value) for value in values), flush=True)
    print(f"{name} {work}: the search ({values[2]} configurations, {values[3]:.0f} s) chose {values[4]}: "
          f"{1e3 * values[5]:.4g} ms; of all {values[6]} of {', '.join(variants[:options.variants])} ({values[7]:.0f} s) the "
          f"best is {values[8]}: {1e3 * values[9]:.4g} ms; in that sweep the choice takes {distance:.4f} times as long"
          + (", and the two cannot be told apart" if again[0]["tied"] else ""), file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--variants", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kiln", default=os.path.join(ROOT, "build/release/tools/kiln"))
    parser.add_argument("--device")
    parser.add_argument("works", nargs="+", metavar="SPEC[/WORK]")
    options = parser.parse_args()
    print("\t".join(COLUMNS))
    for asked in options.works:
        spec, _, work = (asked, "", "") if asked.endswith(".yaml") else asked.rpartition("/")
        if not spec or work.endswith(".yaml"):
            spec, work = asked, ""
        if not spec.endswith(".yaml"):
            spec = os.path.join(ROOT, "specs", spec + ".yaml")
        family = os.path.splitext(os.path.basename(spec))[0]
        for one in [work] if work else works_of(family):
            compare(options, spec, one)


if __name__ == "__main__":
    main()
