#!/usr/bin/env python3
"""specs.py KILN SPECS NAME: checks on the simulated device that the example SPECS/NAME.yaml does what it teaches.

- Every configuration runs, and every answer is right. The key `verify` of the spec decides this, or a function of WANT
in this file.
- `kiln check` finds nothing.
- With the fault of FAULTS planted in the kernel the answer is wrong, or the checks find something.
- The spec begins with its question and has fewer than 60 lines."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("SKIP tool: Python has no numpy (tools/setup.sh --test installs it)")
    sys.exit(77)

LINES = 60

# The outputs of specs without `verify`, from their inputs.
WANT = {
    "first": ("y", lambda x, y: np.float32(2) * x + y),
    "launch_only": ("y", lambda x: np.float32(0.5) * x),
    "includes": ("lengths", lambda v: np.sqrt((v * v).sum(axis=1))),
}

# {NAME: (file, text, the text that replaces it, the part that must notice the fault)}. `check` stands for the checks of
# the simulated device.
FAULTS = {
    "first": ("first.cu", "a * x[at] + y[at]", "a * x[at] - y[at]", "answer"),
    "variants": ("variants.cu", "step > 0", "step > 1", "answer"),
    # The two variants of `steps` share their kernels, so a fault in a kernel would be in both variants. Therefore the
    # fault is in the spec.
    "steps": ("steps.yaml", "- copy: {from: next, to: signal}", "- copy: {from: signal, to: signal}", "answer"),
    "launch_only": ("launch_only.cu", "i < n;", "i < n - 1;", "answer"),
    "templates": ("templates.cu", "__syncthreads();", "", "check"),
    "includes": ("headers/vector.cuh", "v.w * v.w", "v.w", "answer"),
    "tensor_map": ("tensor_map.cu", "tile[threadIdx.x][threadIdx.y]", "tile[threadIdx.y][threadIdx.x]", "answer"),
    "python": ("python.cu", "expf(from[i] - largest) / sum", "expf(from[i]) / sum", "answer"),
}


class Failed(Exception):
    pass


def need(condition, message):
    if not condition:
        raise Failed(message)


def run(kiln, *words, code=0):
    done = subprocess.run([kiln, *words], capture_output=True, text=True, timeout=600, check=False)
    need(done.returncode == code, f"kiln {' '.join(words)}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout


def is_right(kiln, spec, name, folder):
    """Checks that every configuration of a spec gives the result of its function in WANT."""
    output, function = WANT[name]
    shown = json.loads(run(kiln, "show", str(spec), "--json"))
    buffers = [buffer["name"] for buffer in shown["buffers"]]
    inputs = function.__code__.co_varnames[:function.__code__.co_argcount]
    need(set(inputs) | {output} == set(buffers), f"{name}: its buffers are {buffers}")
    arrays = {} # made before the run, because a buffer that is input and output has only the output after the run
    for number, buffer in enumerate(inputs):
        path = folder / f"{buffer}.npy"
        shape = {"v": (1000, 4)}.get(buffer, (1000 if name == "includes" else 5000,))
        arrays[buffer] = np.random.default_rng(number).uniform(-1, 1, shape).astype("f4")
        np.save(path, arrays[buffer])
    got = folder / "got.npy"
    bound = [word for buffer in inputs for word in ("-i", f"{buffer}={folder / buffer}.npy")]
    for sample in json.loads(run(kiln, "tune", str(spec), "--no-store", "--json", "-q"))["samples"]:
        params = [word for key, value in sample["params"].items() for word in ("-p", f"{key}={value}")]
        run(kiln, "run", str(spec), "-q", *params, *bound, "-o", f"{output}={got}")
        if not np.allclose(np.load(got), function(*arrays.values()), rtol=1e-5, atol=1e-6):
            return False
    return True


def check_text(spec):
    lines = spec.read_text().splitlines()
    need(len(lines) < LINES, f"{spec}: {len(lines)} lines, not fewer than {LINES}")
    need(lines[0] == "# yaml-language-server: $schema=../kiln.schema.json", f"{spec}: its first line does not name the schema")
    need(lines[1].startswith("# ") and "?" in lines[1], f"{spec}: its second line asks no question")


def check_runs(kiln, spec, name, folder):
    samples = json.loads(run(kiln, "tune", str(spec), "--no-store", "--allow-commands", "--json", "-q"))["samples"]
    need(len(samples) >= 2, f"{name}: {len(samples)} configurations: nothing to tune")
    bad = [sample for sample in samples if sample["status"] != "KILN_OK"]
    need(not bad, f"{name}: {bad[:1]}")
    if name in WANT:
        need(is_right(kiln, spec, name, folder), f"{name}: a wrong answer")
    else:
        # A configuration with the variant and the params of the reference is not compared, because it would be compared
        # with itself.
        verified = [sample for sample in samples if sample["result"]["verified"]]
        need(len(verified) * 2 >= len(samples), f"{name}: {len(verified)} of {len(samples)} configurations verified")
    found = json.loads(run(kiln, "check", str(spec), "--allow-commands", "--json", "-q"))
    need(found["configurations"] == len(samples) and not found["failed"] and not found["findings"], f"{name}: {found}")


def check_fault(kiln, spec, name, folder):
    file, text, instead, by = FAULTS[name]
    copy = folder / "planted"
    shutil.copytree(spec.parent, copy)
    source = (copy / file).read_text()
    need(text in source, f"{name}: the fault cannot be planted: {file} has no '{text}'")
    (copy / file).write_text(source.replace(text, instead))
    planted = copy / spec.name
    if by == "check":
        run(kiln, "check", str(planted), "-q", code=1)
    elif name in WANT:
        need(not is_right(kiln, planted, name, folder), f"{name}: the planted fault is not noticed")
    else:
        run(kiln, "tune", str(planted), "--no-store", "--allow-commands", "--strict", "-q", code=14)


def main():
    kiln, specs, name = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    os.environ["KILN_DEVICE"] = "sim"
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # for `python3 python.py`
    try:
        with tempfile.TemporaryDirectory() as work:
            folder, spec = pathlib.Path(work), specs / f"{name}.yaml"
            os.environ["HOME"] = work
            os.environ["KILN_CACHE_DIR"] = os.environ.get("KILN_TEST_CACHE") or str(folder / "cache")
            check_text(spec)
            check_runs(kiln, spec, name, folder)
            check_fault(kiln, spec, name, folder)
    except Failed as failed:
        print(f"FAIL: {failed}")
        return 1
    print(f"{name}: every configuration is right, the planted fault is found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
