#!/usr/bin/env python3
"""counters.py KILN SPEC: checks that the simulated device counts what the file SPEC.counters expects for each variant.

Each line of SPEC.counters describes a run: the variant, params and sizes (NAME=VALUE), a colon, and a condition on the
counters. The names of the counters are those of COUNTERS.md, and flops, launches, blocks and warps. A counter is the sum over
the kernels of the run; KERNEL.NAME is the counter of one kernel. If a line begins with NAME =, later lines can use its
counters as NAME.COUNTER."""
import functools, json, os, subprocess, sys, tempfile


class Counts(dict):
    __getattr__ = dict.__getitem__


@functools.cache
def sizes_of(kiln, spec):
    shown = json.loads(subprocess.run([kiln, "show", spec, "--json"], check=True, capture_output=True).stdout)
    return set(next(iter(shown["sizes"].values())))


@functools.cache # several lines describe the same run
def measure(kiln, spec, words):
    variant, *settings = words
    sizes = sizes_of(kiln, spec)
    # the conditions do not need registers
    command = [kiln, "profile", spec, "-v", variant, "--json", "--no-machine-code"]
    for setting in settings:
        command += ["-s" if setting.split("=")[0] in sizes else "-p", setting]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{run.stderr}")
    answer = json.loads(run.stdout)
    total = Counts()
    for kernel in answer["kernels"]:
        one = Counts(kernel["counters"])
        for name in ("flops", "launches", "blocks", "warps"):
            one[name] = kernel[name]
        for name, value in one.items():
            most = name.endswith(("_worst", "_most"))
            total[name] = max(total.get(name, 0), value) if most else total.get(name, 0) + value
        total[kernel["name"].split("<")[0]] = one
    return total


def main():
    kiln, spec = sys.argv[1:]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.path.basename(spec).split(".")[0] + ".counters")
    earlier, failed, checked = {}, 0, 0
    own = tempfile.TemporaryDirectory()
    # Blocks run one after another: otherwise a kernel that waits for another block's note would count its attempts.
    os.environ["KILN_SIM_THREADS"] = "1"
    os.environ["KILN_CACHE_DIR"] = os.environ.get("KILN_TEST_CACHE") or own.name
    for number, line in enumerate(open(path), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        run, expectation = (part.strip() for part in line.split(":", 1))
        name = None
        if " = " in run:
            name, run = (part.strip() for part in run.split(" = ", 1))
        counts = measure(kiln, spec, tuple(run.split()))
        if name:
            earlier[name] = counts
        checked += 1
        if not eval(expectation, {}, {**earlier, **counts}):
            failed += 1
            names = {word for word in counts if word in expectation and isinstance(counts[word], (int, float))}
            print(f"{path}:{number}: not so: {expectation}\n  " + ", ".join(f"{n} = {counts[n]}" for n in sorted(names)))
    print(f"{checked} lines, {failed} of them not so")
    sys.exit(1 if failed or not checked else 0)


main()
