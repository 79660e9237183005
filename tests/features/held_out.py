#!/usr/bin/env python3
"""held_out.py KILN RECORDING [WORST]: tests whether the configurations that features choose for unmeasured inputs are
near to the best.

RECORDING is a file of record.py with the times of all variants on 60 matrices. `kiln best` gets the times of 30
matrices, three of each kind, and must choose for the other 30. For each of these, the chosen time is divided by the
best time. The test fails if the median is above 1.1, or if a chosen variant takes more than WORST (1.05) times as long
as the default, csr_thread.
"""
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile

DEVICE = "sim:h200"  # the recorded times get the name of this device; nothing runs on it
DEFAULT = "csr_thread"
SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "specs", "spmv.yaml")


def settings(text):
    return dict(word.split("=", 1) for word in text.split())


def read(path):
    """Returns each matrix with its features, and with the time and params of each variant."""
    matrices = {}
    with gzip.open(path, "rt") as file:
        next(file)
        for line in file:
            sizes, features, variant, params, seconds = line.rstrip("\n").split("\t")
            matrix = matrices.setdefault(sizes, {"sizes": sizes, "features": settings(features), "variants": {}})
            matrix["variants"][variant] = (float(seconds), settings(params))
    return list(matrices.values())


def as_map(values):
    return "{" + ", ".join(f"{name}: {value}" for name, value in values.items()) + "}"


def write_known(path, matrices, device, how):
    with open(path, "w") as file:
        print("kiln-best: 2\nbest:", file=file)
        for matrix in matrices:
            for variant, (seconds, params) in matrix["variants"].items():
                print(f"- {{spec: spmv, device: '{device['name']}', cc: '{device['cc_major']}.{device['cc_minor']}', "
                      f"sizes: {as_map(settings(matrix['sizes']))}, features: {as_map(matrix['features'])}, "
                      f"variant: {variant}, params: {as_map(params)}, seconds: {seconds}, how: {how}, verified: true, "
                      "made: 2026-01-01T00:00:00Z}", file=file)


def ask(kiln, sizes, known=None):
    command = [kiln, "best", SPEC, "--no-store", "--device", DEVICE, "--json"]
    for size in sizes.split():
        command += ["-s", size]
    command += ["--known", known] if known else []
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    kiln, recording = sys.argv[1:3]
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else 1.05
    matrices, wrong = read(recording), []
    train = [m for i, m in enumerate(matrices) if i // 10 % 2 == 0]
    held_out = [m for i, m in enumerate(matrices) if i // 10 % 2 == 1]
    slower, beside = [], []
    with tempfile.TemporaryDirectory() as folder:
        known = os.path.join(folder, "known.yaml")
        write_known(known, train, ask(kiln, train[0]["sizes"])["device"],
                    "estimated" if "estimate" in os.path.basename(recording) else "measured")
        for matrix in held_out:
            answer, times = ask(kiln, matrix["sizes"], known), {v: t for v, (t, _) in matrix["variants"].items()}
            variant, best = answer["variant"], min(times, key=times.get)
            if answer["from"] != "SIMILAR" or variant not in times:
                wrong.append(f"{matrix['sizes']}: {answer['from']} {variant}, which was not measured")
                continue
            made = {name: float(value) for name, value in answer["features"].items()}
            if any(abs(made[name] - float(value)) > 1e-9 * abs(made[name]) for name, value in matrix["features"].items()):
                wrong.append(f"{matrix['sizes']}: its features are {made}, and were {matrix['features']}: record anew")
            slower.append(times[variant] / times[best])
            beside.append(times[variant] / times[DEFAULT])
            print(f"{slower[-1]:.3f} of the best ({best}), {beside[-1]:.3f} of {DEFAULT}: {variant} for {matrix['sizes']}")
    median, worst = statistics.median(slower), max(beside)
    print(f"{len(train)} known, {len(slower)} chosen: median {median:.3f}, mean {statistics.mean(slower):.3f}, worst "
          f"{max(slower):.3f} of the best; worst {worst:.3f} of {DEFAULT}, "
          f"{sum(b > 1.05 for b in beside)} of them more than 1.05")
    if len(matrices) != 60:
        wrong.append(f"{len(matrices)} matrices, not 60")
    if median > 1.10:
        wrong.append(f"the median is {median:.3f} of the best, more than 1.10")
    if worst > limit:
        wrong.append(f"{worst:.3f} of {DEFAULT}, more than {limit}")
    sys.exit("\n".join(wrong) or 0)


main()
