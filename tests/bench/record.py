#!/usr/bin/env python3
"""Makes a recording for first_choice.py from sweeps that were measured on a GPU.

  record.py [--kiln KILN] FAMILY SIZE FILE.csv... > FAMILY-SIZE.tsv

The files come from `kiln tune FAMILY -s SIZE --csv FILE.csv`, for the same spec and size. Two sweeps find fast
configurations and other ones:

  kiln tune FAMILY -s SIZE -t 6 --no-store --no-verify --no-early-stop --no-finals --budget 0.03 --csv near.csv
  kiln tune FAMILY -s SIZE -t 12 --strategy random (the same options) --csv random.csv

A configuration of several files gets its shortest time. Failed configurations are left out, and so are variants that only
serve for comparison: they are never called the best."""
import argparse
import csv
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kiln", default=os.path.join(ROOT, "build", "release", "tools", "kiln"))
    parser.add_argument("family")
    parser.add_argument("size")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    shown = subprocess.run([options.kiln, "show", options.family, "--json"], check=True, stdout=subprocess.PIPE).stdout
    aside = {variant["name"] for variant in json.loads(shown)["variants"] if not variant["contender"]}
    times = {}
    for path in options.files:
        with open(path, encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            names = rows.fieldnames[rows.fieldnames.index("verified_runs") + 1:rows.fieldnames.index("message")]
            for row in rows:
                if row["status"] != "KILN_OK" or row["time_is"] != "measured" or row["variant"] in aside:
                    continue
                key = row["variant"], " ".join(f"{name}={row[name]}" for name in names if row[name])
                times[key] = min(float(row["seconds"]), times.get(key, float("inf")))
    print(f"# Measured on a GPU: kiln tune {options.family} -s {options.size}; variant, params, microseconds.")
    for (variant, params), seconds in sorted(times.items()):
        print(f"{variant}\t{params}\t{seconds * 1e6:.2f}")


if __name__ == "__main__":
    main()
