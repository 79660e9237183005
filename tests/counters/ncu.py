#!/usr/bin/env python3
"""ncu.py KILN [CASE...]: compares the counters of `kiln profile` with the counters that Nsight Compute reads from a
GPU.

The program needs ncu and a GPU on which ncu may read counters. It is not part of the test suite. A case is a spec with
a variant and params. Its kernels run once on each device. If a row must agree and does not, it is marked "differs", and
the exit code is 1. Rows marked "~" compare PTX with machine code or with an approximation; a person judges them.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
BOOK = os.path.join(HERE, "textbook.yaml")
ESTIMATE = os.path.join(TESTS, "estimate", "specs")

# Each row has a counter, whether it must agree, and metrics, whose sum is compared. A tuple lists alternatives; the
# first one that the GPU has is used.
L1 = "l1tex__t_{}_pipe_lsu_mem_{}_op_{}.sum"
DATA = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
SASS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
ROWS = [
    ("global_load_requests", True, [L1.format("requests", "global", "ld")]),
    ("global_load_sectors", True, [L1.format("sectors", "global", "ld")]),
    ("global_store_requests", True, [L1.format("requests", "global", "st")]),
    ("global_store_sectors", True, [L1.format("sectors", "global", "st")]),
    ("global_atomic_requests", True, [L1.format("requests", "global", o) for o in ("atom", "red")]),
    ("global_atomic_sectors", False, [L1.format("sectors", "global", o) for o in ("atom", "red")]),
    ("lines", False, ["smsp__sass_l1tex_tags_mem_global.sum"]),
    ("local_load_sectors", True, [L1.format("sectors", "local", "ld")]),
    ("local_store_sectors", True, [L1.format("sectors", "local", "st")]),
    ("shared_load_requests", False, [("smsp__sass_inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_ld.sum")]),
    ("shared_store_requests", True, [("smsp__sass_inst_executed_op_shared_st.sum", "smsp__inst_executed_op_shared_st.sum")]),
    ("shared_load_wavefronts", True, [(SASS.format("ld"), DATA.format("ld"))]),
    ("shared_load_wavefronts", False, [DATA.format("ld")]),
    ("shared_store_wavefronts", True, [(SASS.format("st"), DATA.format("st"))]),
    ("shared_store_wavefronts", False, [DATA.format("st")]),
    ("shared_atomic_wavefronts", True, [(SASS.format("atom"), DATA.format("atom"))]),
    ("shared_load_conflicts", False, ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"]),
    ("shared_store_conflicts", False, ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"]),
    ("const_addresses", False, ["idc__requests.sum"]),
    ("branches", False, ["smsp__sass_branch_targets.sum"]),
    ("divergent", False, ["smsp__sass_branch_targets_threads_divergent.sum"]),
    ("executed", False, ["smsp__inst_executed.sum"]),
    ("lanes", False, ["smsp__thread_inst_executed_pred_on.sum"]),
    ("fp32_add", True, ["smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"]),
    ("fp32_mul", True, ["smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"]),
    ("fp32_fma", True, ["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"]),
    ("registers", True, ["launch__registers_per_thread"]),
    ("occupancy_percent", True, ["sm__maximum_warps_per_active_cycle_pct"]),
]


def book(variant, **params):
    return (variant + "".join(f" {k}={v}" for k, v in params.items()),
            [BOOK, "-I", os.path.join(TESTS, "sim", "vm"), "-v", variant] + [x for k, v in params.items() for x in ("-p", f"{k}={v}")])


def spec(name, variant, size, **params):
    return (f"{name} {variant}" + "".join(f" {k}={v}" for k, v in params.items()),
            [name, "-I", ESTIMATE, "-I", os.path.join(TESTS, "..", "specs"), "-v", variant] +
            [x for s in size.split() for x in ("-s", s)] + [x for k, v in params.items() for x in ("-p", f"{k}={v}")])


CASES = ([book("pattern", TIMES=t, PLUS=p, FLIP=f) for t, p, f in
          ((1, 0, 0), (1, 1, 0), (1, 8, 0), (1, 0, 21), (0, 0, 0), (2, 0, 0), (4, 0, 0), (32, 0, 0))] +
         [book(v) for v in ("partial", "halves", "bytes", "wide2", "wide4", "rows", "columns", "aos", "aos_same", "soa_same",
                            "spilled", "transpose_plain", "transpose_padded", "reduce_divergent", "reduce_strided",
                            "reduce_sequential", "histogram_even", "histogram_same", "histogram_skewed",
                            "histogram_shared_same", "histogram_shared_skewed", "warp_sum")] +
         [book("corner", ROW=r) for r in (1000, 1003)] + [book("constant", TIMES=t) for t in (0, 1, 8, 16)] +
         [book("banks", TIMES=t) for t in (0, 1, 2, 3, 32, 33)] + [book("banks1", TIMES=t) for t in (1, 4, 8)] +
         [book("banks8", TIMES=t) for t in (0, 1, 2, 3, 16)] + [book("banks16", TIMES=t) for t in (0, 1, 2, 3, 8)] +
         [book("pairs8", DIVIDE=d) for d in (2, 4, 16, 32)] + [book("pairs16", DIVIDE=d) for d in (2, 4, 8, 16, 32)] +
         [book("apart8"), book("apart16")] +
         [spec("transpose", "tiled", "n1024", TILE=32, ROWS=8, PAD=p) for p in (0, 1)] +
         [spec("transpose", "naive", "n1024"), spec("reduction", "conflicting", "n1m", BLOCK=256, ITEMS=1),
          spec("copy", "wide", "n1m", BLOCK=256, ITEMS=4),
          spec("matmul", "tiled", "tiny M=256 N=256 K=256", TILE_WIDTH=16), spec("matmul", "tiled", "tiny M=256 N=256 K=256", TILE_WIDTH=32)])


def base(metric):
    return metric.split(".")[0]


def known_metrics():
    out = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True).stdout
    return {line.split()[0] for line in out.splitlines() if line[:1].islower()}


def simulated(kiln, arguments):
    out = subprocess.run([kiln, "profile", *arguments, "--device", "sim", "--no-verify", "--json"], capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"kiln profile {' '.join(arguments)}: {out.stderr}{out.stdout}")
    sums = {}
    for kernel in json.loads(out.stdout)["kernels"]:
        for name, value in kernel["counters"].items():
            sums[name] = sums.get(name, 0) + value
        for name, value in kernel["classes"].items():
            sums[name] = sums.get(name, 0) + value["lanes"]
        sums["registers"] = max(16, kernel["registers"])  # a launch gets at least this many
        sums["occupancy_percent"] = 100 * kernel["occupancy"]
    sums["lines"] = sum(sums[f"global_{k}_lines"] for k in ("load", "store", "atomic"))
    for kind in ("load", "store"):
        sums[f"shared_{kind}_conflicts"] = sums[f"shared_{kind}_wavefronts"] - sums[f"shared_{kind}_ideal"]
    return sums


def measured(kiln, arguments, metrics):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        out = subprocess.run(["ncu", "--csv", "--log-file", log, "--clock-control", "none", "--print-units", "base",
                              "--metrics", ",".join(metrics), kiln, "run", *arguments, "--device", os.environ.get("GPU", "cuda:0"),
                              "--no-verify", "--no-measure"], capture_output=True, text=True)
        lines = open(log).read().splitlines() if os.path.exists(log) else []
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        sys.exit(f"ncu gave no counters for {' '.join(arguments)}:\n{out.stderr}{out.stdout}" + "\n".join(lines))
    values = {}
    for row in csv.DictReader(lines[start:]):
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            continue
        name = row["Metric Name"]
        last = name.startswith("launch__") or name.endswith("_pct")
        values[name] = value if last else values.get(name, 0) + value
    return values


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    kiln, wanted = sys.argv[1], sys.argv[2:]
    have = known_metrics()
    rows = []
    for counter, strict, parts in ROWS:
        chosen = []
        for part in parts:
            options = part if isinstance(part, tuple) else (part,)
            chosen += [next((o for o in options if base(o) in have or o.startswith(("launch__", "sm__maximum"))), None)]
        if all(chosen):
            rows.append((counter, strict, chosen))
        else:
            print(f"no metric for {counter}: {parts}")
    metrics = sorted({m for _, _, chosen in rows for m in chosen})
    bad = same = 0
    for name, arguments in CASES:
        if wanted and not any(w in name for w in wanted):
            continue
        ours, theirs = simulated(kiln, arguments), measured(kiln, arguments, metrics)
        print(f"\n{name}")
        merged = False
        for counter, strict, chosen in rows:
            if not all(m in theirs for m in chosen):
                continue
            a, b = ours.get(counter, 0), sum(theirs[m] for m in chosen)
            if not a and not b:
                continue
            agree = abs(a - b) < 0.01
            if counter == "shared_load_requests":
                merged = not agree  # ptxas has merged loads into wider ones, so their wavefronts differ too
            strict = strict and not (merged and counter == "shared_load_wavefronts")
            same += strict and agree
            bad += strict and not agree
            mark = "" if agree else "differs" if strict else "~"
            print(f"  {counter:26} {a:14.10g} {b:14.10g}  {mark:8} {' + '.join(chosen)}")
    print(f"\n{same} equal, {bad} differ")
    sys.exit(1 if bad else 0)


main()
