#!/usr/bin/env python3
"""judge.py KILN FOLDER PART [NAME...]: verdicts of `kiln judge` on the kernels of this folder.

- `museum`: every file has a cheat, after `#if CHEAT`, and its honest twin, after `#else`. The cheat must get one of the
  verdicts that the first line of the file names, and the twin must pass. If twins of several files have the same code,
  they are judged once.
- `kernels`: every file is a right kernel. Each of its lines `// wrong NAME: OLD => NEW` turns it into a wrong kernel.
  The right kernel must pass, and no wrong kernel may pass. Without KILN_TEST_WHOLE=1 only every third right kernel of
  a spec is judged, as in the part `outside`.
- `ops`: the kernels of the specs must pass.
- `outside`: kernels by a person who had not read the code of the judge. No right kernel may be accused, and each wrong
  kernel must be found, except the kernels in `outside/missed.txt`. If the judge finds a kernel of this list, the test
  fails too, so that the list gets shorter. A right kernel passes all trials, which takes most of the time. So without
  KILN_TEST_WHOLE=1 only every third right kernel of a spec is judged. The spec's own source is not judged then,
  because each verdict runs it anyway.
- `timed`: the files of the museum whose first line has `on: gpu`. Their tricks show only when kernels are timed on a
  GPU. Without a GPU the driver of `kiln sim run` stands in for it. The judge treats its device as a GPU, so the same
  code measures.
- `state`: the files of the museum that keep state between calls, on the same stand-in for a GPU, which has no checks. It runs calls
  one after another, so the file that is wrong only if two calls run at the same time passes.
- `large`: kernels that are wrong only past 2^31 elements. A GPU finds them. The simulated device passes them, and the verdict says
  which sizes were tried.

KILN_TEST_SEED is the seed of the trials. `outside/missed.txt` is for the default, 1.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

DEVICE = os.environ.get("KILN_TEST_DEVICE", "sim")
SEED = os.environ.get("KILN_TEST_SEED", "1")


def has_compiler(kiln):
    """Tells whether NVRTC can be used. Without NVRTC nothing can be judged."""
    done = subprocess.run([kiln, "doctor", "--json"], capture_output=True, text=True, timeout=300, check=False)
    return any(item["topic"] == "nvrtc" and item["ok"] for item in json.loads(done.stdout)["findings"])


def judge(kiln, spec, text, name, expected, kind):
    """Returns the verdict on a source, as the object of --json. If the expected verdict is `timeout`, the limits are
    shorter, because the kernel computes until then."""
    on_gpu = kind.startswith(("timed", "gpu")) and DEVICE.startswith("sim")
    device, before = ("cuda:0", [kiln, "sim", "run", "--quiet"]) if on_gpu else (DEVICE, [])
    launch, compile_limit = ("2", "3") if "timeout" in (expected or []) else ("10", "30")
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary) / f"{name}.cu"
        path.write_text(text)
        words = [*before, kiln, "judge", str(spec), "--candidate", str(path), "--device", device,
                 "--seed", SEED, "--budget", "300", "--launch-limit", launch, "--compile-timeout", compile_limit, "--json"]
        begun = time.monotonic()
        done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
        try:
            verdict = json.loads(done.stdout)
        except ValueError:
            verdict = {"verdict": "no JSON", "message": done.stdout + done.stderr}
        verdict.setdefault("verdict", "error")
        verdict["took"] = time.monotonic() - begun
        return verdict


def head(text):
    """Returns the spec, the expected verdicts, and whether only a GPU shows the trick."""
    found = re.match(r"// spec: (\w+)(?:   expect: ([\w,-]+))?(   on: gpu)?\n", text)
    return found.group(1), (found.group(2) or "").split(","), bool(found.group(3))


def choose(text, cheat):
    """Returns the file with the first or the second part of each `#if CHEAT ... #else ... #endif`."""
    lines, state = [], None
    for line in text.split("\n"):
        if line == "#if CHEAT":
            state = cheat
        elif state is not None and line == "#else":
            state = not state
        elif state is not None and line == "#endif":
            state = None
        elif state is not False:
            lines.append(line)
    return "\n".join(lines)


def code_of(text):
    """Returns a source without its comments and spaces."""
    return " ".join(re.sub(r"//.*", "", text).split())


def cases_of_museum(folder, names, timed=False, state=False):
    twins = set()
    for path in sorted((folder / "museum").glob("*.cu")):
        text = path.read_text()
        spec, expected, on_gpu = head(text)
        if names and path.stem not in names or on_gpu != timed or state and "state" not in expected:
            continue
        before = "timed " if timed else "gpu " if state else ""
        yield folder / "ops" / f"{spec}.yaml", choose(text, True), path.stem, expected, f"{before}cheat"
        twin = choose(text, False)
        if (spec, code_of(twin)) not in twins:
            yield folder / "ops" / f"{spec}.yaml", twin, f"{path.stem}.twin", ["pass"], f"{before}twin"
        twins.add((spec, code_of(twin)))


def cases_of_timed(folder, names):
    return cases_of_museum(folder, names, True)


def cases_of_state(folder, names):
    for spec, text, name, expected, kind in cases_of_museum(folder, names, state=True):
        together = name == "scratch_in_a_variable" and DEVICE.startswith("sim")
        yield spec, text, name, ["pass"] if together else expected, "gpu right" if together else kind


def judges_all(names):
    return names or os.environ.get("KILN_TEST_WHOLE", "0") != "0"


def tell_left_out(count):
    if count:
        print(f"{count} right kernels are left out; KILN_TEST_WHOLE=1 judges them")


def cases_of_kernels(folder, names):
    counts, left_out = {}, 0
    for path in sorted((folder / "kernels").glob("*.cu")):
        if names and path.stem not in names:
            continue
        text = path.read_text()
        spec = folder / "ops" / f"{head(text)[0]}.yaml"
        counts[spec] = counts.get(spec, -1) + 1
        if judges_all(names) or counts[spec] % 3 == 0:
            yield spec, text, path.stem, ["pass"], "right"
        else:
            left_out += 1
        for name, old, new in re.findall(r"^// wrong ([\w-]+): (.*?) => (.*)$", text, re.M):
            body = re.sub(r"^// wrong .*\n", "", text, flags=re.M)
            old, new = old.replace("\\n", "\n"), new.replace("\\n", "\n")
            if body.count(old) < 1:
                raise SystemExit(f"{path}: '{old}' of {name} is not in the file")
            yield spec, body.replace(old, new), f"{path.stem}.{name}", None, "wrong"
    tell_left_out(left_out)


def cases_of_ops(folder, names):
    for path in sorted((folder / "ops").glob("*.yaml")):
        if not names or path.stem in names:
            yield path, path.with_suffix(".cu").read_text(), path.stem, ["pass"], "right"


def cases_of_outside(folder, names):
    lines = (folder / "outside" / "missed.txt").read_text().splitlines()
    missed = [line.split()[0] for line in lines if line and not line.startswith("#")]
    counts, left_out = {}, 0
    for path in sorted((folder / "outside").glob("*.cu")):
        name, _, kind = path.stem.partition(".")
        spec = path.with_name(f"{name.split('_')[0]}.yaml")
        if path.stem == "references" or names and name not in names:
            continue
        if kind == "right":
            counts[spec] = counts.get(spec, -1) + 1
        if not judges_all(names) and kind != "wrong" and (not kind or counts[spec] % 3):
            left_out += 1
            continue
        if name in missed and kind == "wrong":
            missed.remove(name)
            yield spec, path.read_text(), name, ["pass"], "missed"
        else:
            yield spec, path.read_text(), name, None if kind == "wrong" else ["pass"], kind or "right"
    tell_left_out(left_out)
    if missed and not names:
        raise SystemExit(f"missed.txt names kernels that do not exist: {missed}")


def cases_of_large(folder, names):
    for path in sorted((folder / "large").glob("flip*.cu")):
        name, _, kind = path.stem.partition(".")
        caught = kind == "wrong" and not DEVICE.startswith("sim")
        if not names or name in names:
            yield path.with_name("flip.yaml"), path.read_text(), name, None if caught else ["pass"], kind or "right"


PARTS = {"large": cases_of_large, "museum": cases_of_museum, "timed": cases_of_timed, "state": cases_of_state, "kernels": cases_of_kernels, "ops": cases_of_ops, "outside": cases_of_outside}


def main():
    kiln, folder, part, *names = sys.argv[1:]
    if not has_compiler(kiln):
        print("SKIP nvrtc: there is no NVRTC")
        return 77
    cases = list(PARTS[part](pathlib.Path(folder), names))
    right, failed, took = {}, [], []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("KILN_TEST_JOBS", "2"))) as pool:
        verdicts = pool.map(lambda case: judge(kiln, *case), cases)
        for (spec, _, name, expected, kind), verdict in zip(cases, verdicts):
            word = verdict["verdict"]
            took.append(verdict["took"])
            fine = word in expected if expected else word not in ("pass", "undecided", "error", "no JSON", "compile", "launch")
            count = right.setdefault(kind, [0, 0])
            count[0] += fine
            count[1] += 1
            message = (verdict.get("message") or "").split("\n")[0]
            print(f"{'ok  ' if fine else 'FAIL'} {kind:11} {name:32} {word:10} {verdict['took']:5.1f} s  {message[:90]}", flush=True)
            if not fine:
                failed.append(name)
    for kind, (fine, all_of) in right.items():
        print(f"{kind}: {fine} of {all_of} as expected")
    print(f"median time of a verdict: {sorted(took)[len(took) // 2]:.2f} s")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
