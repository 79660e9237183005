#!/usr/bin/env python3
"""catalogue.py KILN ROOT variants|mutants [SPEC...]: verdicts of `kiln judge` on the kernels of the catalogue.

- `variants`: every variant of every spec in ROOT/specs is judged as a foreign kernel. Each of them passes.
- `mutants`: sources in which one operator, constant, bound or barrier is changed. KILN_TEST_MUTANTS is the number of
  mutants that are drawn, KILN_TEST_SEED is the seed of the draw, and KILN_TEST_FIRST is the number of the first mutant.
  The program prints the mutants that pass. A person decides which of them give other answers than the kernel, because
  equivalence is not decidable. After KILN_TEST_SECONDS the program begins no other mutant. KILN_TEST_OUT is a file that
  gets a line for every mutant.

The CTest judge.catalogue runs a few variants. All variants take an hour of processor time. A mutant takes about a
second.
"""
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

import yaml

DEVICE = os.environ.get("KILN_TEST_DEVICE", "sim")
JOBS = int(os.environ.get("KILN_TEST_JOBS", "2"))




def read_variants(root, names):
    """Yields (path, variants) for each spec of the catalogue that has a contract. A variant is its name, its source and
    its macros."""
    for path in sorted((root / "specs").glob("*.yaml")):
        spec = yaml.safe_load(path.read_text())
        if (names and path.stem not in names) or "judge" not in spec:
            continue
        found = []
        for name, variant in spec["variants"].items():
            macros = {**(spec.get("define") or {}), **(variant.get("define") or {})}
            found.append((name, root / "kernel_src" / variant.get("source", spec.get("source")), macros))
        yield path, found


def judge(kiln, spec, variant, candidate, budget, limit):
    begun = time.monotonic()
    words = [kiln, "judge", str(spec), "--candidate", str(candidate), "--variant", variant, "--device", DEVICE,
             "--budget", str(budget), "--launch-limit", str(limit), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=3600, check=False)
    try:
        verdict = json.loads(done.stdout)
    except ValueError:
        verdict = {"message": done.stdout + done.stderr}
    verdict.setdefault("verdict", "error")
    verdict["message"] = (verdict.get("message") or json.dumps(verdict.get("error") or "")).split("\n")[0]
    verdict["took"] = time.monotonic() - begun
    return verdict


def try_variants(kiln, root, names):
    """Judges every variant with its own source. Returns the number of variants that do not pass."""
    cases = [(path, name, source) for path, found in read_variants(root, names) for name, source, _ in found]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        verdicts = pool.map(lambda case: judge(kiln, *case, 1800, 60), cases)
        for (path, name, _), verdict in zip(cases, verdicts):
            fine = verdict["verdict"] == "pass"
            failed += not fine
            ran = verdict.get("trials", {})
            print(f"{'ok  ' if fine else 'FAIL'} {path.stem:18} {name:26} {verdict['verdict']:10} {verdict['took']:6.1f} s  "
                  f"{ran.get('answers', 0):3} answers {ran.get('unsettled', 0):2} unsettled  {verdict['message'][:100]}", flush=True)
    print(f"variants: {len(cases) - failed} of {len(cases)} pass")
    return failed


# ---- mutants ----

CHANGES = (  # a pattern of the source, and the texts that replace it
    (r"(?<![<>=!-])<(?![<=])", ["<="]), (r"<=", ["<"]), (r"(?<![<>=-])>(?![>=])", [">="]), (r">=", [">"]), (r"==", ["!="]),
    (r" \+ ", [" - "]), (r" - ", [" + "]), (r" \* ", [" + "]), (r" / ", [" * "]), (r" % ", [" / "]), (r" \+= ", [" -= ", " = "]),
    (r" << ", [" >> "]), (r" >> ", [" << "]), (r" \| ", [" & "]), (r" & ", [" | "]), (r" \^ ", [" | "]), (r"&&", ["||"]), (r"\|\|", ["&&"]),
    (r"__syncthreads\(\);", [""]), (r"__syncwarp\(\);", [""]), (r"__threadfence\(\);", [""]), (r"(?<![\w.])(\d+)u?(?![\w.])", ["PLUS", "MINUS"]),
    (r"threadIdx\.x", ["threadIdx.y"]), (r"blockIdx\.x", ["blockIdx.y"]), (r"fmaxf", ["fminf"]), (r"\bmin\(", ["max("]), (r"\bmax\(", ["min("]))


def find_lines(source, macros):
    """Returns the lines of the source that a variant compiles. The values of params are unknown here, so the
    preprocessor evaluates `#if` with 0 for each param."""
    text = re.sub(r"^[ \t]*#[ \t]*include.*$", "", source.read_text(), flags=re.M)
    words = [f"-D{name}={value}" for name, value in macros.items() if isinstance(value, int)]
    done = subprocess.run(["cc", "-E", "-x", "c++", "-w", *words, "-"], input=text, capture_output=True, text=True, check=False)
    lines, at = set(), 0
    for line in done.stdout.split("\n"):
        marker = re.match(r'# (\d+) "(.*?)"', line)
        if marker:
            at = int(marker.group(1)) if marker.group(2) == "<stdin>" else 10 ** 9
        else:
            if line.strip():
                lines.add(at)
            at += 1
    return lines


def make_mutants(root, names):
    """Yields all mutants, as (spec, variant, source, text, description)."""
    for path, found in read_variants(root, names):
        for variant, source, macros in found:
            text = source.read_text()
            lines = find_lines(source, macros)
            starts = [0] + [match.end() for match in re.finditer("\n", text)]
            for number in sorted(lines):
                line = text[starts[number - 1]:].split("\n", 1)[0] if number <= len(starts) else ""
                code = line.split("//")[0]
                if not code.startswith(" ") or code.lstrip().startswith(("#", "*", "/*", "static_assert", "asm")) or '"' in code:
                    continue
                for pattern, texts in CHANGES:
                    for match in re.finditer(pattern, code):
                        for new in texts:
                            if new in ("PLUS", "MINUS"):
                                value = int(match.group(1)) + (1 if new == "PLUS" else -1)
                                new = str(value) if value >= 0 else f"({value})"
                            place = starts[number - 1] + match.start()
                            yield (path, variant, source, text[:place] + new + text[place + len(match.group(0)):],
                                   f"{path.stem} {variant} {source.name}:{number}: {line.strip()}  [{match.group(0).strip()} -> {new.strip()}]")


def get_code(kiln, spec, variant, candidate):
    """Returns the digest of the PTX. The budget is too short for a trial, so this takes only as long as a compile."""
    return judge(kiln, spec, variant, candidate, 0.001, 5).get("digest", {}).get("code")


def try_mutants(kiln, root, names):
    """Judges some mutants, and prints the mutants that pass. If a mutant has the same PTX as the source, it is
    equivalent, and is not counted."""
    generator = random.Random(int(os.environ.get("KILN_TEST_SEED", "1")))
    first, count = int(os.environ.get("KILN_TEST_FIRST", "0")), int(os.environ.get("KILN_TEST_MUTANTS", "20"))
    by_variant = {}
    for mutant in make_mutants(root, names):
        by_variant.setdefault(mutant[:2], []).append(mutant)
    # first draws a variant, then a mutant of it: otherwise most mutants would come from the longest sources
    drawn, texts = [], set()
    for _ in range(20 * (first + count)):
        mutant = generator.choice(by_variant[generator.choice(sorted(by_variant))])
        if len(drawn) < first + count and mutant[1:4] not in texts:
            texts.add(mutant[1:4])
            drawn.append(mutant)
    counts, took, codes, lock = {}, [], {}, threading.Lock()
    until = time.monotonic() + float(os.environ.get("KILN_TEST_SECONDS", "1e9"))
    out = open(os.environ.get("KILN_TEST_OUT", os.devnull), "a", encoding="utf-8")

    def run(mutant):
        if time.monotonic() > until:
            return None
        path, variant, source, text, _ = mutant
        with tempfile.TemporaryDirectory() as temporary:
            candidate = pathlib.Path(temporary) / source.name
            candidate.write_text(text)
            code = get_code(kiln, path, variant, candidate)
            if (path, variant) not in codes:
                codes[path, variant] = get_code(kiln, path, variant, source)
            equal = code and code == codes[path, variant]
            verdict = {"verdict": "equal code", "message": "", "took": 0.0} if equal else judge(kiln, path, variant, candidate, 600, 5)
        word = verdict["verdict"]
        line = f"{word:10} {verdict['took']:6.1f} s  {mutant[4]}  {verdict['message'][:80]}"
        with lock:
            counts[word] = counts.get(word, 0) + 1
            took.append(verdict["took"])
            print(line, file=out, flush=True)
            if len(took) % 50 == 0:
                print(f"{len(took)} mutants: {counts}", flush=True)
            if word in ("pass", "undecided", "error"):
                print(line, flush=True)
        return word

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(run, drawn[first:]))
    out.close()
    print(f"{len(took)} mutants from number {first} on: {counts}; median {sorted(took)[len(took) // 2]:.1f} s", flush=True)
    return 0


def main():
    kiln, root, part, *names = sys.argv[1:]
    doctor = subprocess.run([kiln, "doctor", "--json"], capture_output=True, text=True, timeout=300, check=False)
    if not any(item["topic"] == "nvrtc" and item["ok"] for item in json.loads(doctor.stdout)["findings"]):
        print("SKIP nvrtc: there is no NVRTC")
        return 77
    return 1 if {"variants": try_variants, "mutants": try_mutants}[part](kiln, pathlib.Path(root), names) else 0


if __name__ == "__main__":
    sys.exit(main())
