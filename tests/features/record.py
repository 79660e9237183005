#!/usr/bin/env python3
"""record.py KILN DEVICE OUT [ENTRIES]: times all variants of spmv at their default params on 60 generated matrices.

OUT gets a line for each sample that worked: sizes, features, variant, params, seconds. ENTRIES is the largest number of
entries of a matrix, by default a million. held_out.py reads OUT. The simulated device executes every instruction: use
60000 there. That takes some minutes, and less on a GPU with the default.

    record.py build/release/tools/kiln cuda:0 tests/recorded/spmv-h200.tsv.gz
    record.py build/release/tools/kiln sim:h200 tests/recorded/spmv-estimate.tsv.gz 60000
"""
import gzip
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

KINDS = ["stencil27", "band", "fem", "rmat", "power", "long_rows", "uniform", "road", "grid2d", "arrow"]
COUNT = 60
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def inputs(entries):
    """Returns the matrices: six of each kind. If a kind allows it, they have different numbers of rows and lengths of
    rows."""
    draw = random.Random(1)
    own = {"stencil27": 27, "road": 4, "grid2d": 5, "arrow": 3}
    for i in range(COUNT):
        kind = KINDS[i % len(KINDS)]
        degree = own.get(kind, round(2 ** draw.uniform(1, 5.5)))
        rows = round(entries / degree * 2 ** draw.uniform(-4, 0))
        yield {"MATRIX": kind, "ROWS": rows, "DEGREE": degree, "SEED": i + 1}


def defaults_only(folder):
    """Writes the spec with only the default values, beside its source."""
    with open(os.path.join(ROOT, "specs", "spmv.yaml")) as file:
        text = file.read()
    text, count = re.subn(r"\{values: \[[^]]*\], default: ([^}]*)\}", r"[\1]", text)
    assert count > 16, "the params of specs/spmv.yaml are not written as this script expects"
    # the limit of large matrices, so that formats that do not fit fail
    text = text.replace("16 if ROWS > 20000 else 100000", "16")
    for name in ("spmv.cu", "common.cuh"):
        shutil.copy(os.path.join(ROOT, "kernel_src", name), folder)
    path = os.path.join(folder, "spmv.yaml")
    with open(path, "w") as file:
        file.write(text)
    return path


def tune(kiln, device, spec, store, sizes):
    command = [kiln, "tune", spec, "--device", device, "--store", store, "--strategy", "exhaustive", "--budget", "0.02"]
    for name, value in sizes.items():
        command += ["-s", f"{name}={value}"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")


def as_text(settings):
    return " ".join(f"{name}={value}" for name, value in settings.items())


def main():
    kiln, device, out = sys.argv[1:4]
    entries = int(sys.argv[4]) if len(sys.argv) > 4 else 1000000
    with tempfile.TemporaryDirectory() as folder:
        spec, store = defaults_only(folder), os.path.join(folder, "samples.db")
        for i, sizes in enumerate(inputs(entries)):
            print(f"{i + 1} of {COUNT}: {as_text(sizes)}", file=sys.stderr)
            tune(kiln, device, spec, store, sizes)
        listed = subprocess.run([kiln, "results", "--store", store, "--json"], check=True, stdout=subprocess.PIPE, text=True)
    samples = [s for s in json.loads(listed.stdout)["samples"] if s["status"] == "KILN_OK" and s["result"]["verified"]]
    # An estimate has no time for the steps of the host.
    samples = [s for s in samples if not (s["result"]["estimated"] and s["variant"] == "hybrid_host")]
    # The file has no date, so that equal recordings give equal files.
    with gzip.GzipFile(out, "wb", mtime=0) as packed, io.TextIOWrapper(packed) as file:
        print("sizes\tfeatures\tvariant\tparams\tseconds", file=file)
        for s in samples:
            print(as_text(s["sizes"]), as_text(s["features"]), s["variant"], as_text(s["params"]),
                  f"{s['result']['seconds']:.6g}", sep="\t", file=file)


main()
