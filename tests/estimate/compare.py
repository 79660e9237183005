#!/usr/bin/env python3
"""compare.py MEASURED ESTIMATED [--spearman LEAST] [--best MOST] [--verbose]

Compares an estimated sweep with a measured one. Each sweep is an output of `kiln tune SPEC --json`, or a recorded table
with the columns variant, params and microseconds, separated by tabs. For the configurations of both sweeps, the program
prints Spearman's rank correlation of the times. It also prints the measured time of the estimate's first choice,
divided by the best measured time. It exits with 1 if they are worse than the options demand."""
import argparse
import json
import sys


def read(path):
    times = {}
    with open(path) as file:
        text = file.read()
    if text.lstrip().startswith("{"):
        for sample in json.loads(text)["samples"]:
            result = sample.get("result") or {}
            if result.get("seconds"):
                params = " ".join(f"{name}={value}" for name, value in sample["params"].items())
                times[sample["variant"], params] = result["seconds"]
    else:
        for line in text.splitlines():
            if line and not line.startswith("#"):
                variant, params, microseconds = line.split("\t")
                times[variant, params] = float(microseconds) * 1e-6
    return times


def ranks(values):
    """Returns the ranks of the values, from 1. Equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for k in order[at:end]:
            result[k] = (at + 1 + end) / 2
        at = end
    return result


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    mean = (len(a) + 1) / 2
    above = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    below = (sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)) ** 0.5
    return above / below if below else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured")
    parser.add_argument("estimated")
    parser.add_argument("--spearman", type=float, default=-1)
    parser.add_argument("--best", type=float, default=1e9)
    parser.add_argument("--verbose", action="store_true", help="also by variant")
    args = parser.parse_args()
    measured, estimated = read(args.measured), read(args.estimated)
    both = sorted(key for key in measured if key in estimated)
    if len(both) < 3:
        sys.exit(f"{len(both)} configurations are in both: too few to compare")
    m, e = [measured[key] for key in both], [estimated[key] for key in both]
    rho = spearman(m, e)
    first = min(both, key=estimated.__getitem__)
    best = min(both, key=measured.__getitem__)
    ratio = measured[first] / measured[best]
    off = sorted(max(x / y, y / x) for x, y in zip(m, e))
    print(f"configurations {len(both)}  spearman {rho:.3f}  estimate's best {ratio:.3f} of the best"
          f"  off by {off[len(off) // 2]:.2f} (median), {off[len(off) * 9 // 10]:.2f} (nine in ten)")
    if args.verbose:
        print(f"  first by the estimate: {' '.join(first)}; in truth: {' '.join(best)}")
        for variant in sorted({key[0] for key in both}):
            keys = [key for key in both if key[0] == variant]
            vm, ve = [measured[key] for key in keys], [estimated[key] for key in keys]
            ratios = sorted(x / y for x, y in zip(ve, vm))
            inside = spearman(vm, ve) if len(keys) > 2 else float("nan")
            print(f"  {variant:20} {len(keys):4}  spearman {inside:6.3f}  estimate / measured: least {ratios[0]:.2f}"
                  f"  median {ratios[len(ratios) // 2]:.2f}  most {ratios[-1]:.2f}")
    if rho < args.spearman or ratio > args.best:
        sys.exit(1)


if __name__ == "__main__":
    main()
