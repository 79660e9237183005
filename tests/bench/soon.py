#!/usr/bin/env python3
"""Measures how close a user's first short sweep comes to the best known time: `kiln tune FAMILY -s SET -t 8` with empty caches.

  soon.py [--seconds 8] [--random COUNT --seed 1 --reference 40] [--best] [--total 280] --out rows.jsonl [FAMILY[/WORK]...]

The program sweeps each work of works.txt once, in an empty cache and an empty store of its own, on the GPU of this machine. After
each work it appends a line of JSON to --out. It does not measure a work again if the file has its line for the same number of
seconds. So the same command continues a run that ended, for example after --total seconds. Then the program prints the table of
all lines of the file: the best time, the number of configurations tried, the time until the first one was verified, the best
known time and the ratio.

The best known time is that of kernel_src/results.tsv, whatever its device is. --random draws other sizes: each number above 256
of a work is multiplied by a factor of 1/2 to 2, and the same seed draws the same sizes. For these sizes, the best known time is
what a sweep of --reference seconds finds afterwards. KILN_TUNE can hold more options.

--best also measures the configuration that `kiln best` names before anything was tuned, from the shipped configurations alone.
The last column of the table is its time divided by the best time of the sweep. On a device without shipped configurations, this
column shows how well the configurations of another device serve.

On a machine with several GPUs, start one process for each GPU (CUDA_VISIBLE_DEVICES), with some of the works and its own file.
Works are measured in the order of the command line. With --total 0 the program only prints the table of a file."""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # no __pycache__ among the sources
BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(BENCH))
FACTORS = (0.5, 0.75, 1, 1, 1.25, 1.5, 2)
LEAST = 257  # smaller sizes are flags, kinds or widths, which do not change


def list_works():
    works = []
    with open(os.path.join(BENCH, "works.txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words and not words[0].startswith("#"):
                works += [(words[0], work) for work in words[2:] if (words[0], work) not in works]
    return works


def read_best():
    """Returns the shortest time of a contender for each family and work."""
    best = {}
    with open(os.path.join(ROOT, "kernel_src", "results.tsv"), encoding="utf-8") as file:
        for line in file:
            family, work, kind, _, seconds, *_ = line.rstrip("\n").split("\t")
            if kind == "variant":
                best[family, work] = min(best.get((family, work), float("inf")), float(seconds))
    return best


def run_json(command, environment, limit):
    start = time.monotonic()
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                             timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return {"error": f"still running after {limit:.0f} s"}, limit
    took = time.monotonic() - start
    try:
        return json.loads(run.stdout), took
    except json.JSONDecodeError:
        return {"error": f"exit code {run.returncode}: {run.stderr.decode(errors='replace')[-300:]}"}, took


def draw_sizes(options, family, work, generator):
    shown, _ = run_json([options.kiln, "show", family, "-s", work, "--json"], dict(os.environ), 60)
    sizes = (shown.get("sizes") or {}).get(work, {})
    drawn = {}
    for name, value in sizes.items():
        if isinstance(value, int) and not isinstance(value, bool) and value >= LEAST:
            drawn[name] = max(LEAST, int(value * generator.choice(FACTORS)) // 8 * 8)
    return ",".join(f"{name}={value}" for name, value in drawn.items())


def measure(options, family, work, sizes, known):
    """Measures one work and returns its row. `sizes` are settings that replace sizes of the work."""
    folder = tempfile.mkdtemp(prefix="soon-")
    environment = dict(os.environ, KILN_STORE=os.path.join(folder, "samples.db"),
                       KILN_CACHE_DIR=os.path.join(folder, "cache"))
    command = [options.kiln, "tune", family, "-s", work, "--json", "--quiet"]
    for setting in filter(None, sizes.split(",")):
        command += ["-s", setting]
    command += os.environ.get("KILN_TUNE", "").split()
    shipped = measure_shipped(options, command[2:], environment) if options.best else None
    tuned, took = run_json(command + ["--max-seconds", f"{options.seconds:g}"], environment, options.seconds + 90)
    if sizes:
        again, _ = run_json(command + ["--max-seconds", f"{options.reference:g}"], environment, options.reference + 90)
        known = best_of(again)[0]
    shutil.rmtree(folder, ignore_errors=True)
    seconds, variant, params = best_of(tuned)
    good = [sample for sample in tuned.get("samples", []) if sample["status"] == "KILN_OK"]
    row = {"family": family, "work": work, "sizes": sizes, "limit": options.seconds, "best": seconds, "variant": variant,
           "params": params, "known": known, "tried": len(tuned.get("samples", [])),
           "first": min((sample["at_seconds"] for sample in good if sample["result"]["verified"]), default=None),
           "took": took, "error": str(tuned.get("error") or "")[:300]}
    return {**row, "shipped": shipped} if options.best else row


def measure_shipped(options, arguments, environment):
    """Returns the seconds of the configuration that `kiln best` names without a store. Returns None if `kiln best`
    names no configuration, or if the configuration fails."""
    work = [word for word in arguments if word not in ("--json", "--quiet")]
    best, _ = run_json([options.kiln, "best", *work, "--no-store", "--json"], environment, 60)
    if not best.get("variant"):
        return None
    choice = [word for name, value in best["params"].items() for word in ("-p", f"{name}={value}")]
    ran, _ = run_json([options.kiln, "run", *work, "-v", best["variant"], *choice, "--budget", "0.2", "--json", "--quiet"],
                      environment, 90)
    result = ran.get("result") or {}
    return result.get("seconds") or result.get("host_seconds")


def best_of(tuned):
    for sample in tuned.get("samples", []):
        if sample["status"] == "KILN_OK":
            result = sample["result"]
            return result["seconds"] or result["host_seconds"], sample["variant"], sample["params"]
    return None, "", {}


def read_rows(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def print_table(rows):
    ratios = {}
    print("| work | limit s | best ms | variant | configurations | first verified s | took s | best known ms | ratio | shipped |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        ratio = row["best"] / row["known"] if row["best"] and row["known"] else None
        ratios.setdefault(row["limit"], []).append(ratio if ratio else float("inf"))
        cell = lambda value, form: form.format(value) if value is not None else ""
        print(f"| {row['family']} {row['work']} {row['sizes']} | {row['limit']:g} "
              f"| {cell(row['best'] and row['best'] * 1e3, '{:.4g}')} | {row['variant'] or row['error'][:60]} "
              f"| {row['tried']} | {cell(row['first'], '{:.1f}')} | {row['took']:.1f} "
              f"| {cell(row['known'] and row['known'] * 1e3, '{:.4g}')} | {cell(ratio, '{:.3f}')} "
              f"| {cell(row.get('shipped') and row['best'] and row['shipped'] / row['best'], '{:.3f}')} |")
    shipped = [row["shipped"] / row["best"] if row["shipped"] else float("inf") for row in rows
               if row["best"] and "shipped" in row]
    if shipped:
        print(f"\nshipped configurations: {sum(ratio <= 1.1 for ratio in shipped)} of {len(shipped)} within 1.10 of the best of "
              f"the sweep; median {statistics.median(shipped):.3f}, worst {max(shipped):.3f}")
    for limit, all_of in sorted(ratios.items()):
        near = sum(ratio <= 1.05 for ratio in all_of)
        print(f"\nafter {limit:g} s: {near} of {len(all_of)} within 1.05 of the best known; median "
              f"{statistics.median(all_of):.3f}, worst {max(all_of):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reference", type=float, default=40)
    parser.add_argument("--total", type=float, default=float("inf"))
    parser.add_argument("--kiln", default=os.path.join(ROOT, "build", "release", "tools", "kiln"))
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--out", required=True)
    parser.add_argument("works", nargs="*")
    options = parser.parse_args()
    end = time.monotonic() + options.total
    wanted = [tuple(word.split("/", 1)) for word in options.works]
    works = [work for one in wanted for work in list_works() if work[:len(one)] == one] if wanted else list_works()
    known, generator = read_best(), random.Random(options.seed)
    jobs = [(family, work, "") for family, work in works]
    if options.random:
        jobs = [(family, work, draw_sizes(options, family, work, generator))
                for family, work in (generator.choice(works) for _ in range(options.random))]
    have = {(row["family"], row["work"], row["sizes"], row["limit"]) for row in read_rows(options.out)}
    for family, work, sizes in jobs:
        if (family, work, sizes, options.seconds) in have or time.monotonic() >= end:
            continue
        row = measure(options, family, work, sizes, known.get((family, work)))
        with open(options.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    print_table(read_rows(options.out))


if __name__ == "__main__":
    main()
