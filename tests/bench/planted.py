#!/usr/bin/env python3
"""planted.py KILN [--sites NAME,...] [--mutants NUMBER,...] [--keep FOLDER]: plants errors into kernels of
the catalogue. A sweep must find each error. Prints a table; the exit code is 1 if a wrong kernel wins.

A site is a statement of a kernel that stores an element of the output. The script copies the spec and the sources of the family,
and puts `planted()` around the stored value. That function returns a wrong value for some elements, in some runs or at some sizes.
The param PLANT chooses one of the MUTANTS; 0 is the right kernel. The right kernel also does unneeded work. So every wrong kernel
is faster, and it wins unless the sweep finds the error. The sweep runs on the simulated device, ranks by the wall time of the
interpreter, and verifies at the size of the sweep. With --finalists it runs the best configuration again, as a sweep on a GPU does.

A wrong kernel that gives right answers in its first runs is found when it is the best and runs again. If another kernel is faster,
the error stays unfound, but the kernel does not win. --mutants limits the run to these mutants, numbered from 1. --keep FOLDER
leaves the changed specs in FOLDER."""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# `kernel` is the function that has the statement. `count` is the number of elements of the output at these sizes.
# `blocks` is a number that is larger than the number of blocks at the size set `tiny`, and smaller than the number of
# blocks at these sizes.
Site = collections.namedtuple("Site", "family variant kernel store index sizes params count blocks")
SITES = [
    Site("axpby", "plain", "axpby_plain", "y[i] = combine(a, x[i], b, y[i]);", "i", ["N=20000"], ["BLOCK=256"], 20000, 40),
    Site("memory", "one_word", "memory_one_word", "y[i] = x[i] + 1;", "i", ["N=20000"], ["BLOCK=256"], 20000, 40),
    Site("matmul", "naive", "matmul_naive", "P[(offset)row * N + col] = sum;", "(offset)row * N + col",
         ["M=96", "N=112", "K=48"], ["BLOCK_X=32", "BLOCK_Y=8"], 96 * 112, 36),
    Site("convolution", "basic", "convolution_basic", "y[(offset)row * width + column] = sum;", "(offset)row * width + column",
         ["H=96", "W=150", "MASK_H=5", "MASK_W=5"], ["BLOCK_X=32", "BLOCK_Y=8"], 96 * 150, 50),
    Site("stencil", "naive", "stencil_naive",
         "out[i] = combine(in[i], x > 0 ? in[i - 1] : 0.0f, x + 1 < nx ? in[i + 1] : 0.0f, y > 0 ? in[i - nx] : 0.0f,\n"
         "                     y + 1 < ny ? in[i + nx] : 0.0f, z > 0 ? in[i - plane] : 0.0f, z + 1 < nz ? in[i + plane] : 0.0f);",
         "i", ["NX=90", "NY=24", "NZ=12", "STEPS=1"], ["BLOCK_X=32", "BLOCK_Y=4", "BLOCK_Z=2"], 90 * 24 * 12, 90),
]

NUDGED, NEGATED = "nudged(right)", "negated(right)"
LARGE = "gridDim.x * gridDim.y * gridDim.z > BLOCKS"


def rarely(place, runs):
    """Returns a condition that is true in every `runs`-th run. Only the thread of element `place` counts the runs."""
    return f"i == {place} && ++planted_runs % {runs} == 0"


# (kind, condition, wrong value)
MUTANTS = [
    ("one element", "i == 0", NUDGED),
    ("one element", "i == 0", NEGATED),
    ("one element", "i == COUNT / 2", NUDGED),
    ("one element", "i == COUNT / 2", NEGATED),
    ("one element", "i == COUNT - 1", NUDGED),
    ("one element", "i == COUNT - 1", NEGATED),
    ("one element", "i == 1009", NUDGED),
    ("one element", "i == COUNT - 2", NUDGED),
    ("one tile", "i / 32 == 0", NUDGED),
    ("one tile", "i / 64 == 3", NEGATED),
    ("one tile", "i / 128 == COUNT / 256", NUDGED),
    ("one tile", "i / 256 == (COUNT - 1) / 256", NUDGED),
    ("one tile", "i >= COUNT - 3", NEGATED),
    ("in some runs", rarely("COUNT / 2", 2), NUDGED),
    ("in some runs", rarely("0", 3), NEGATED),
    ("in some runs", rarely("COUNT - 1", 4), NUDGED),
    ("in some runs", rarely("1009", 5), NUDGED),
    ("at large sizes", f"i == 0 && {LARGE}", NUDGED),
    ("at large sizes", f"i == COUNT / 2 && {LARGE}", NEGATED),
    ("at large sizes", f"i / 32 == 7 && {LARGE}", NUDGED),
]

HEAD = """#ifndef PLANT
#define PLANT 0
#endif
#define COUNT %(count)du
#define BLOCKS %(blocks)du
__device__ unsigned planted_runs;
__device__ __forceinline__ float nudged(float x) { return x * 1.01f + 0.01f; }
__device__ __forceinline__ unsigned nudged(unsigned x) { return x ^ 1u; }
__device__ __forceinline__ float negated(float x) { return -x - 0.01f; }
__device__ __forceinline__ unsigned negated(unsigned x) { return ~x; }
template <class T> __device__ __forceinline__ T planted(T right, unsigned long long i)
{
#if PLANT == 0
    unsigned idle = (unsigned)i;
#pragma unroll 1
    for (int k = 0; k < 1000; k++) {
        idle = idle * 1664525u + 1013904223u;
        asm volatile("" : "+r"(idle)); // so that the compiler keeps it
    }
    return idle == 1u && i == ~0ull ? T() : right;
%(mutants)s#endif
}
"""


def plant(site, folder, plants):
    """Copies the spec and the sources of a site's family into the folder, and plants the errors. Returns the path of
    the spec."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    sources = os.path.join(root, "kernel_src")
    os.makedirs(folder)
    for name in os.listdir(sources):
        if name.endswith(".cuh") or name == site.family + ".cu":
            shutil.copy(os.path.join(sources, name), folder)
    path = os.path.join(folder, site.family + ".cu")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    at = text.index(site.store, text.index(f"{site.kernel}("))
    target, value = site.store[:-1].split(" = ", 1)
    text = text[:at] + f"{target} = planted({value}, {site.index});" + text[at + len(site.store):]
    mutants = "".join(f"#elif PLANT == {k}\n    return {MUTANTS[k - 1][1]} ? {MUTANTS[k - 1][2]} : right;\n" for k in plants)
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD % {"count": site.count, "blocks": site.blocks, "mutants": mutants} + text)
    with open(os.path.join(root, "specs", site.family + ".yaml"), encoding="utf-8") as file:
        spec = file.read()
    at = spec.index(f"\n  {site.variant}:\n")
    params = re.compile(r"\n    params:( &\w+)?( \{|\n)").search(spec, at)
    values = f"PLANT: [{', '.join(str(k) for k in [*plants, 0])}]"
    added = f"{values}, " if params.group(2) == " {" else f"      {values}\n"
    spec = spec[:params.end()] + added + spec[params.end():]
    path = os.path.join(folder, site.family + ".yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(spec)
    return path


def sweep(kiln, site, folder, plants):
    """Returns the samples of a sweep over all plants of a site, the fastest first."""
    path = plant(site, folder, plants)
    command = [kiln, "tune", path, "-v", site.variant, "--device", "sim", "--finalists", "2", "--json", "--fresh",
               "--cache-dir", os.path.join(folder, "cache"), "--store", os.path.join(folder, "samples.db")]
    for size in site.sizes:
        command += ["-s", size]
    for param in site.params:
        command += ["-p", param]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"planted.py: {' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)["samples"]


def judge(sample):
    """Tells how a wrong answer was found: "at once", "again" (when the best configuration was run again), or "not"."""
    if sample["status"] == "KILN_OK":
        return "not"
    if sample["status"] != "KILN_ERROR_WRONG_ANSWER":
        sys.exit(f"planted.py: a sample failed for another reason: {sample['message']}")
    return "again" if "times on the same inputs" in sample["message"] else "at once"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kiln")
    parser.add_argument("--sites", default=",".join(f"{s.family}.{s.variant}" for s in SITES))
    parser.add_argument("--mutants", default=",".join(str(k + 1) for k in range(len(MUTANTS))))
    parser.add_argument("--keep")
    args = parser.parse_args()
    kiln = os.path.abspath(args.kiln)
    plants = [int(k) for k in args.mutants.split(",")]
    folder = args.keep or tempfile.mkdtemp()
    kinds = list(dict.fromkeys(kind for kind, _, _ in MUTANTS))
    won = planted = unseen = 0
    print(f"{'site':24}{'kind':16}{'planted':>8}{'found at once':>15}{'when run again':>16}{'not found':>11}{'won':>5}")
    for site in SITES:
        name = f"{site.family}.{site.variant}"
        if name not in args.sites.split(","):
            continue
        samples = sweep(kiln, site, os.path.join(folder, name), plants)
        best = samples[0]
        found = {s["params"]["PLANT"]: judge(s) for s in samples if s["params"]["PLANT"] != 0}
        if len(found) != len(plants):
            sys.exit(f"planted.py: {name}: {len(found)} samples of {len(plants)} mutants")
        for kind in kinds:
            here = [k for k in plants if MUTANTS[k - 1][0] == kind]
            if not here:
                continue
            how = collections.Counter(found[k] for k in here)
            wins = best["params"]["PLANT"] in here
            print(f"{name:24}{kind:16}{len(here):8}{how['at once']:15}{how['again']:16}{how['not']:11}{wins:5}")
            won += wins
            planted += len(here)
            unseen += how["not"]
    print(f"{planted} planted, {unseen} not found, {won} won")
    if not args.keep:
        shutil.rmtree(folder)
    return 1 if won or planted == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
