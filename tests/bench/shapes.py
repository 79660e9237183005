#!/usr/bin/env python3
"""Compares gemm with cuBLAS at thirty shapes: for each shape it runs cuBLAS, and then a search of --seconds.

  shapes.py [--seconds 60] [--only TEXT...] > shapes.tsv
  shapes.py --random 60 [--seed 1] [--seconds 12] > random.tsv    # other shapes, log-uniform in 1 to 16384, all types
  shapes.py --shape bf16:300:300:300 f16:2:991:6805:columns       # these shapes; tests/bench/peers/gemm.cu names the types

The program prints a line for each shape: its name, its type, the time of the best configuration that was found, this
configuration, the time of cuBLAS, the speedup over cuBLAS, and the number of configurations that were tried. At the end it prints
the geometric mean and the minimum of the speedups. It needs nvcc to compile tests/bench/peers/gemm.cu, unless KILN_PEER names the
compiled program. KILN names the command."""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time

BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(BENCH))
SQUARES = {"bf16": (512, 1024, 1536, 2048, 3072, 4096, 6144, 8192), "f16": (768, 2048, 4096, 8192)}
SHAPES = [(kind, n, n, n, 0) for kind, sizes in SQUARES.items() for n in sizes] + [  # type, M, N, K, B by columns
    ("bf16", 64, 4096, 14336, 1), ("bf16", 16, 8192, 8192, 1), ("bf16", 128, 8192, 8192, 1),
    ("f16", 256, 4096, 4096, 1), ("bf16", 8192, 128, 8192, 0), ("f16", 4096, 256, 16384, 0), ("bf16", 4096, 14336, 4096, 1),
    ("f16", 2048, 50304, 1024, 1),
    # The sides are no multiples of a tile. In the last shape the rows are no multiples of 16 bytes.
    ("bf16", 1000, 1000, 1000, 0), ("f16", 4000, 4104, 3992, 0), ("bf16", 5000, 5000, 5000, 1),
    ("f16", 2047, 2049, 2051, 0),
    # These shapes have a long K.
    ("bf16", 512, 512, 65536, 0), ("f16", 1024, 1024, 16384, 1), ("bf16", 256, 256, 131072, 0),
    ("bf16", 2048, 2048, 32768, 0),
    # These products have the references that take longest.
    ("bf16", 12288, 12288, 12288, 0), ("bf16", 16384, 16384, 16384, 0)]


LARGEST = 16384
# the peer's names of the types; 1: B is stored by columns
TYPES = [("bf16", 0), ("bf16", 1), ("f16", 0), ("f16", 1), ("f32", 0), ("tf32", 1)]


def random_shapes(count, seed):
    """Returns `count` shapes. The types take turns. The dimensions are log-uniform, so most of them are no multiples of
    any tile. 8-bit floats are left out, because the peer only takes them in multiples of 16."""
    draw = random.Random(seed)
    return [(kind, *(round(math.exp(draw.uniform(0, math.log(LARGEST)))) for _ in "MNK"), columns)
            for kind, columns in (TYPES[i % len(TYPES)] for i in range(count))]


def parse_shape(text):
    kind, *sizes = text.split(":")
    return kind, int(sizes[0]), int(sizes[1]), int(sizes[2]), int(sizes[3:] == ["columns"])


def peer_seconds(peer, name, shape):
    kind, m, n, k, columns = shape
    out = subprocess.run([peer, f"{name}:{kind}:{m}:{n}:{k}" + (":columns" if columns else "")], check=True,
                         capture_output=True, text=True).stdout
    return float(out.split("\t")[3])


def search(kiln, shape, seconds):
    kind, m, n, k, columns = shape
    element, result = {"f32": ("f16", "f32"), "tf32": ("f32", "f32")}.get(kind, (kind, kind))
    sizes = {"M": m, "N": n, "K": k, "ELEMENT": element, "RESULT": result, "COLUMNS": columns}
    command = [kiln, "tune", os.path.join(ROOT, "specs", "gemm.yaml"), "-t", str(seconds), "--no-store", "--quiet",
               "--json"]
    command += [word for name, value in sizes.items() for word in ("-s", f"{name}={value}")]
    command += os.environ.get("KILN_TUNE", "").split()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    samples = json.loads(done.stdout).get("samples", []) if done.stdout else [] # an error has none
    good = [s for s in samples if s["status"] == "KILN_OK" and s["result"]["verified"] and s["result"]["measured"]]
    if not good:
        return None, len(samples)
    return min(good, key=lambda s: s["result"]["seconds"]), len(samples)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="shapes whose type and name have one of these")
    arguments.add_argument("--shape", nargs="+", metavar="TYPE:M:N:K[:columns]", help="these in place of the thirty")
    arguments.add_argument("--random", type=int, metavar="COUNT", help="other shapes, drawn by --seed")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--total", type=float, default=math.inf, help="ends after the shape that passes so many seconds")
    chosen = arguments.parse_args()
    begin = time.monotonic()
    kiln = os.environ.get("KILN", os.path.join(ROOT, "build", "release", "tools", "kiln"))
    with tempfile.TemporaryDirectory() as folder:
        peer = os.environ.get("KILN_PEER")
        if not peer:
            peer = os.path.join(folder, "gemm")
            subprocess.run(["nvcc", "-O3", "-std=c++17", "-arch=native", "-o", peer,
                            os.path.join(BENCH, "peers", "gemm.cu"), "-lcublas", "-lcublasLt"], check=True)
        ratios = []
        print("shape\ttype\tseconds\tbest\tpeer\tratio\tconfigurations")
        shapes = [parse_shape(text) for text in chosen.shape] if chosen.shape else []
        shapes += random_shapes(chosen.random, chosen.seed) if chosen.random else []
        for shape in shapes or SHAPES:
            if time.monotonic() - begin > chosen.total:
                break
            name = "x".join(str(n) for n in shape[1:4]) + (" by columns" if shape[4] else "")
            if not any(text in f"{shape[0]} {name}" for text in chosen.only):
                continue
            theirs = peer_seconds(peer, "shape", shape)
            best, tried = search(kiln, shape, chosen.seconds)
            if not best:
                print(f"{name} {shape[0]}: none of {tried} configurations worked", file=sys.stderr)
                continue
            ours = best["result"]["seconds"]
            ratios.append(theirs / ours)
            params = " ".join(f"{key}={value}" for key, value in best["params"].items())
            print(f"{name}\t{shape[0]}\t{ours:.9g}\t{best['variant']} {params}\t{theirs:.9g}\t{ratios[-1]:.3f}\t{tried}",
                  flush=True)
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"# {len(ratios)} shapes: geometric mean {mean:.3f}, least {min(ratios):.3f}")


main()
