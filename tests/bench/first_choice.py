#!/usr/bin/env python3
"""Tells which configuration the estimate ranks first, and compares it with the best configuration of a recorded sweep.

  first_choice.py [--most COUNT] [--seed S] [--device sim:h200] [--out rows.jsonl] RECORDING...

A recording is a file FAMILY-SIZE.tsv with the times that a GPU took: variant, params and microseconds between tabs. A
recording in tests/estimate/h200 belongs to the spec of its family in tests/estimate/specs, or if there is none, in
specs/. All other recordings belong to specs in specs/. record.sh makes recordings.

Each recorded configuration is estimated by `kiln run --device sim:h200 --no-verify`. If a recording has more than
--most configurations, only --most are estimated. A quarter of these are the fastest ones, and the rest are drawn at
random. --out keeps the estimates, so that the same command goes on where the last one ended. A row of the table has the
number of configurations, Spearman's rank correlation, and the measured time of the estimate's first choice, divided by
the best measured time. The column *three* has the best of the first three choices, divided by the same time."""
import argparse
import concurrent.futures
import json
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ among the sources
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "estimate"))
from compare import read, spearman  # noqa: E402


def spec_of(path):
    """Returns the spec and the size of a recording."""
    family, size = os.path.basename(path)[:-len(".tsv")].split("-", 1)
    own = os.path.join(ROOT, "tests", "estimate", "specs", family + ".yaml")
    if os.path.basename(os.path.dirname(os.path.abspath(path))) == "h200" and os.path.exists(own):
        return own, size
    return os.path.join(ROOT, "specs", family + ".yaml"), size


def choose(times, most, seed):
    """Returns at most `most` configurations of a recording. A quarter of these are the fastest ones, and the rest are
    drawn at random."""
    ordered = sorted(times, key=times.__getitem__)
    near, others = ordered[:most // 4], ordered[most // 4:]
    random.Random(seed).shuffle(others)
    return near + others[:most - len(near)]


def estimate(options, spec, size, key):
    variant, params = key
    command = [options.kiln, "run", spec, "-v", variant, "-s", size, "-d", options.device, "--no-verify", "--json", "--quiet",
               "--sample-timeout", f"{options.limit:g}"]
    command += [word for param in params.split() for word in ("-p", param)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=options.limit,
                              check=False)
    except subprocess.TimeoutExpired:
        return None, f"no estimate within {options.limit:g} s"
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        return None, f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
    if "error" in answer:
        return None, answer["error"]["message"]
    result = answer["result"]
    return result["seconds"] or result["host_seconds"], ""


def read_kept(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    return {(row["recording"], row["variant"], row["params"]): row["seconds"] for row in rows}


def estimate_all(options, recordings):
    """Returns {recording: {configuration: estimated seconds}}."""
    kept, all_of, jobs = read_kept(options.out), {}, []
    for path, times in recordings.items():
        name = os.path.basename(path)
        for key in choose(times, options.most, options.seed):
            if (name, *key) in kept:
                all_of.setdefault(path, {})[key] = kept[name, *key]
            else:
                jobs.append((path, key))

    def one(job):
        path, key = job
        seconds, error = estimate(options, *spec_of(path), key)
        return path, key, seconds, error

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, key, seconds, error in pool.map(one, jobs):
            all_of.setdefault(path, {})[key] = seconds
            if error:
                print(f"{os.path.basename(path)} {' '.join(key)}: {error}", file=sys.stderr)
            if options.out:
                row = {"recording": os.path.basename(path), "variant": key[0], "params": key[1], "seconds": seconds}
                with open(options.out, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    return all_of


def print_table(recordings, estimates):
    ratios = []
    print("| recording | configurations | not estimated | Spearman | first / best | three | first choice | best |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for path, found in estimates.items():
        times = recordings[path]
        known = {key: seconds for key, seconds in found.items() if seconds}
        if len(known) < 3:
            print(f"| {os.path.basename(path)[:-4]} | {len(found)} | {len(found) - len(known)} | | | | | |")
            continue
        keys = sorted(known, key=known.__getitem__)
        best = min(times.values())
        ratios.append(times[keys[0]] / best)
        rho = spearman([times[key] for key in keys], [known[key] for key in keys])
        print(f"| {os.path.basename(path)[:-4]} | {len(found)} | {len(found) - len(known)} | {rho:.2f} | {ratios[-1]:.3f} "
              f"| {min(times[key] for key in keys[:3]) / best:.3f} | `{' '.join(keys[0])}` "
              f"| `{' '.join(min(times, key=times.__getitem__))}` |")
    if ratios:
        print(f"\nfirst choice within 1.10 of the best in {sum(r <= 1.1 for r in ratios)} of {len(ratios)} recordings, within "
              f"1.25 in {sum(r <= 1.25 for r in ratios)}; worst {max(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kiln", default=os.path.join(ROOT, "build", "release", "tools", "kiln"))
    parser.add_argument("--device", default="sim:h200")
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=300, help="seconds for one estimate")
    parser.add_argument("--out")
    parser.add_argument("recordings", nargs="+", metavar="RECORDING")
    options = parser.parse_args()
    recordings = {path: read(path) for path in options.recordings}
    print_table(recordings, estimate_all(options, recordings))


if __name__ == "__main__":
    main()
