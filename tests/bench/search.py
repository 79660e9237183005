#!/usr/bin/env python3
"""Measures how soon a search comes close to the best time: it records a sweep on this GPU, and replays searches on it.

  search.py [--limit 30] [--total 270] [--seconds 60] [--seeds 10] [--keep FOLDER] SPEC[/WORK]... > kernel_src/search.tsv

A work is a size set of the spec, or settings joined by commas. Without one, the works that works.txt lists are used. For each:
  1. `kiln tune` tries all configurations of all variants in random order, for --limit seconds at most. Nothing is
     compiled beforehand. The configurations that ran are the recorded space. If the limit ended the sweep, the recorded
     space is a random part of the space, and its best configuration counts as the best.
  2. `kiln tune --replay` searches the recorded space with the default strategy and with --seeds seeds. It needs no device:
     a trial takes the recorded time. A sweep compiles configurations in several workers while others run, and it also
     prepares inputs and answers, which a recording does not contain. So all recorded times are scaled by one factor: their
     sum becomes the time of the sweep from the first sample to the last. The replay begins later by the remaining time of
     the sweep: the preparation of inputs, the first compilation, and the comparison of the fastest ones at the end.
For each work the program prints a line of tab-separated values to standard output. Its numbers are medians over the seeds: the
seconds until a search is within 1, 2 and 5 % of the best, and the ratio to the best after --seconds (1: the best). The last
number is the ratio of the worst seed. Messages go to standard error. A work that fails is left out, and the exit code is 1. After
--total seconds no more works are begun.

SPEC is a path or a name of specs/. KILN_TUNE can hold more options for the sweeps. `results.py page kernel_src` puts the
lines into kernel_src/results/README.md."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime

BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(BENCH))
COLUMNS = ("family", "work", "device", "tried", "valid", "sweep_s", "best_s", "best", "within_1", "within_2", "within_5",
           "seconds", "end", "worst_end")
SHARES = (0.01, 0.02, 0.05)
NEVER = float("inf")


class Failure(Exception):
    pass


def works_of(family):
    with open(os.path.join(BENCH, "works.txt"), encoding="utf-8") as file:
        found = [work for line in file if line.split()[:1] == [family] for work in line.split()[2:]]
    return found or ["default"]


def ask(command, environment, limit):
    """Runs a command of Kiln and returns the JSON that it prints."""
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False, timeout=limit,
                             env=environment)
        return json.loads(run.stdout)
    except subprocess.TimeoutExpired:
        raise Failure(f"still running after {limit:.0f} s: {' '.join(command)}") from None
    except json.JSONDecodeError:
        raise Failure(f"exit code {run.returncode}: {' '.join(command)}") from None


def settings_of(work):
    return [word for setting in work.split(",") for word in ("-s", setting)]


def sweep(options, spec, work, folder, limit):
    """Runs a sweep. Returns its outcome, the number of valid configurations, and the file with the recording."""
    environment = dict(os.environ, KILN_STORE=os.path.join(folder, "samples.db"),
                       KILN_CACHE_DIR=os.path.join(folder, "cache"))
    device = ["--device", options.device] if options.device else []
    shown = ask([options.kiln, "show", spec, "--json"] + settings_of(work) + device, environment, 60)
    command = [options.kiln, "tune", spec, "--json", "--quiet", "--strategy", "random", "--max-seconds", f"{limit:.0f}"]
    tuned = ask(command + settings_of(work) + device + os.environ.get("KILN_TUNE", "").split(), environment, limit + 60)
    if not any(sample["status"] == "KILN_OK" for sample in tuned.get("samples", [])):
        raise Failure(f"nothing ran: {' '.join(command)}: {tuned.get('error', '')}")
    recording = os.path.join(folder, "recording.t4.json")
    export = subprocess.run([options.kiln, "results", "export", recording], env=environment, check=False,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if export.returncode != 0:
        raise Failure(f"kiln results export {recording}: exit code {export.returncode}")
    return tuned, shown["space"]["valid"], recording


def replay(options, recording, seed, seconds):
    command = [options.kiln, "tune", "--replay", recording, "--json", "--quiet", "--seed", str(seed)]
    replayed = ask(command + ["--max-seconds", f"{seconds:.9g}"], dict(os.environ), 120)
    if "steps" not in replayed:
        raise Failure(f"{' '.join(command)}: {replayed.get('error', 'no steps')}")
    return replayed


def clock_of(recording, recorded, swept):
    """Returns the time at which the clock of a replay starts, and the factor that turns recorded times into seconds of
    a real search."""
    with open(recording, encoding="utf-8") as file:
        times = [datetime.fromisoformat(result["timestamp"]).timestamp() for result in json.load(file)["results"]]
    between = min(max(times) - min(times), swept)
    return swept - between, between / (recorded["mean_cost_seconds"] * recorded["configurations"])


def path_of(steps, start, scale, optimum):
    """Returns the times at which a search was first within each of SHARES of the optimum, and its last best time
    divided by the optimum."""
    best, when = NEVER, [NEVER] * len(SHARES)
    for step in steps:
        if step["failure"] is None and step["seconds"] < best:
            best = step["seconds"]
            when = [min(at, start + step["clock_seconds"] * scale) if best <= optimum * (1 + share) else at
                    for at, share in zip(when, SHARES)]
    return when, best / optimum


def configuration(params):
    named = {name: value for name, value in params.items() if name != "variant" and value != ""}
    return " ".join([str(params.get("variant", ""))] + [f"{name}={value}" for name, value in named.items()])


def compare(options, spec, work, folder, limit):
    tuned, valid, recording = sweep(options, spec, work, folder, limit)
    report(options, os.path.splitext(os.path.basename(spec))[0], work, tuned["device"]["name"], valid, recording,
           tuned["totals"]["seconds"])


def report(options, family, work, device, valid, recording, swept):
    whole = replay(options, recording, 1, 1e9)
    recorded = whole["recording"]
    optimum, (start, scale) = recorded["optimum_seconds"], clock_of(recording, recorded, swept)
    least = 1e-9  # a replay needs a limit above 0
    best = min((step for step in whole["steps"] if step["failure"] is None), key=lambda step: step["seconds"])
    paths = [path_of(replay(options, recording, seed, max(least, (options.seconds - start) / scale))["steps"], start,
                     scale, optimum)
             for seed in range(1, options.seeds + 1)]
    ends = [end for _, end in paths]
    values = (family, work, device, recorded["configurations"], valid, swept, optimum,
              configuration(best["params"]), *(statistics.median(when[i] for when, _ in paths) for i in range(len(SHARES))),
              options.seconds, statistics.median(ends), max(ends))
    print("\t".join(f"{value:.6g}" if isinstance(value, float) else str(value) for value in values), flush=True)
    row = dict(zip(COLUMNS, values))
    print(f"{family} {work}: a sweep of {row['tried']} of {row['valid']} configurations took {swept:.1f} s; the best: "
          f"{1e3 * optimum:.4g} ms, {row['best']}; a search is within 1 % of it after {row['within_1']:.1f} s, after "
          f"{options.seconds:.0f} s the best that it found takes {row['end']:.4f} times as long", file=sys.stderr)


def read_table(path):
    with open(path, encoding="utf-8") as file:
        return [dict(zip(COLUMNS, line.rstrip("\n").split("\t"))) for line in file if not line.startswith("family\t")]


def section_of(path):
    """Returns lines of kernel_src/results/README.md, made from the lines that this program printed."""
    rows = read_table(path)
    lines = ["", "## How soon a search comes near the best", "",
             "The table shows how many seconds the default strategy needs to come within 5 %, 2 % and 1 % of the best",
             "configuration. `tests/bench/search.py` records a sweep in random order for each work. It then replays ten searches",
             "of 60 s on the recording, with the recorded times of compiling and measuring. The table has the medians of the ten.",
             "", "- A dash means that the search did not come so near within 60 s.",
             "- If the sweep did not try all configurations, the best is the best of the configurations that it tried.",
             "- If the whole sweep takes less than 60 s, a search of 60 s tries every configuration.",
             "- The last two columns have the time of the found configuration, divided by the best time: the median after 60 s,",
             "  and the worst of the ten searches.", "",
             "| work | tried | sweep | best variant | within 5 % | 2 % | 1 % | after 60 s | the worst of ten |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        when = ["-" if float(row[name]) == NEVER else f"{float(row[name]):.1f} s"
                for name in ("within_5", "within_2", "within_1")]
        lines.append(f"| {row['family']}/{row['work']} | {int(row['tried']):,} of {int(row['valid']):,} | "
                     f"{float(row['sweep_s']):.1f} s | {row['best'].split()[0]} | {' | '.join(when)} | "
                     f"{float(row['end']):.3f} | {float(row['worst_end']):.3f} |")
    return lines if rows else []


def works_asked(asked):
    spec, _, work = (asked, "", "") if asked.endswith(".yaml") else asked.rpartition("/")
    if not spec or work.endswith(".yaml"):
        spec, work = asked, ""
    if not spec.endswith(".yaml"):
        spec = os.path.join(ROOT, "specs", spec + ".yaml")
    family = os.path.splitext(os.path.basename(spec))[0]
    return [(spec, one) for one in ([work] if work else works_of(family))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=30)
    parser.add_argument("--total", type=float, default=270)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--keep", help="a folder for the recordings")
    parser.add_argument("--kiln", default=os.environ.get("KILN", os.path.join(ROOT, "build/release/tools/kiln")))
    parser.add_argument("--device")
    parser.add_argument("works", nargs="+", metavar="SPEC[/WORK]")
    options = parser.parse_args()
    print("\t".join(COLUMNS))
    begun, failed = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as temporary:
        for spec, work in [one for asked in options.works for one in works_asked(asked)]:
            name = f"{os.path.splitext(os.path.basename(spec))[0]}-{work}"
            left = options.total - (time.monotonic() - begun)
            folder = os.path.join(options.keep or temporary, name)
            try:
                if left < 5:
                    raise Failure(f"no time is left: the limit is {options.total:.0f} s for all")
                os.makedirs(folder, exist_ok=False)
                compare(options, spec, work, folder, min(options.limit, left))
            except (Failure, OSError, KeyError, ValueError) as error:
                failed = 1
                print(f"search.py: {name} is left out: {error}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
