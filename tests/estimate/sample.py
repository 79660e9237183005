#!/usr/bin/env python3
"""sample.py KILN SPEC MEASURED.json... [--count N] [--seed S] [--device sim:h200] [--jobs J] > estimated.json

Estimates some configurations of measured sweeps, chosen at random, and prints them as a sweep. The measured sweeps are
outputs of `kiln tune SPEC --json` at one size. The program is for spaces that are too large to be estimated completely.
compare.py compares the two sweeps."""
import argparse
import concurrent.futures
import json
import random
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kiln")
    parser.add_argument("spec")
    parser.add_argument("measured", nargs="+")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="sim:h200")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    chosen, size = [], None
    for path in args.measured:
        with open(path) as file:
            sweep = json.load(file)
        if size not in (None, sweep["size_set"]):
            sys.exit(f"{path}: sizes {sweep['size_set']}, but {size} before")
        size = sweep["size_set"]
        chosen += [(s["variant"], s["params"]) for s in sweep["samples"] if (s.get("result") or {}).get("seconds")]
    random.Random(args.seed).shuffle(chosen)

    def estimate(one):
        variant, params = one
        command = [args.kiln, "run", args.spec, "-v", variant, "-s", size, "-d", args.device, "--no-verify", "--json"]
        command += [word for name, value in params.items() for word in ("-p", f"{name}={value}")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{variant} {params}: {done.stderr.strip()}", file=sys.stderr)
            return None
        result = json.loads(done.stdout)
        return {"variant": variant, "params": params, "result": result.get("result", result)}

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        samples = [s for s in pool.map(estimate, chosen[:args.count]) if s]
    json.dump({"size_set": size, "samples": samples}, sys.stdout)


main()
