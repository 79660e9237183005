#!/usr/bin/env python3
"""command.py KILN FOLDER SCHEMA: the command `kiln judge` as a program sees it.

- A verdict as JSON is what the schema says, whatever the candidate is.
- The same seed gives the same digest in every run; another seed draws other cases.
- The exit code follows from the verdict, and the page names the smallest case.
- A candidate that is no file, and a spec without references, are errors and no verdicts.
- The key `judge` of a spec decides which sizes are tried."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("SKIP tool: Python has no jsonschema (tools/setup.sh --test installs it)")
    sys.exit(77)

KILN, FOLDER, SCHEMA = sys.argv[1], pathlib.Path(sys.argv[2]), json.loads(pathlib.Path(sys.argv[3]).read_text())
CODES = {"pass": 0, "compile": 9, "forbidden": 6, "launch": 11, "timeout": 10, "unsafe": 12, "outside": 12, "input": 14,
         "unwritten": 14, "wrong": 14, "state": 14, "too-fast": 14, "undecided": 18}
HEAD = ('extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)\n{\n'
        "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n")


def need(condition, message):
    if not condition:
        print(message)
        sys.exit(1)


def run(spec, candidate, *words, device="sim"):
    return subprocess.run([KILN, "judge", str(spec), "--candidate", str(candidate), "--device", device, "--budget", "300", *words],
                          capture_output=True, text=True, timeout=600, check=False)


def verdict(spec, candidate, *words, device="sim"):
    done = run(spec, candidate, "--json", *words, device=device)
    made = json.loads(done.stdout)
    jsonschema.validate(made, SCHEMA)
    need(done.returncode == CODES[made["verdict"]], f"{made['verdict']} ends with {done.returncode}")
    return made


def main():
    doctor = subprocess.run([KILN, "doctor", "--json"], capture_output=True, text=True, timeout=300, check=False)
    if not any(item["topic"] == "nvrtc" and item["ok"] for item in json.loads(doctor.stdout)["findings"]):
        print("SKIP nvrtc: there is no NVRTC")
        return 77
    ops = FOLDER / "ops"
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)

        def source(name, body, head=HEAD):
            path = work / f"{name}.cu"
            path.write_text(head + body)
            return path

        right = source("right", "    if (i < n)\n        z[i] = a * x[i] + b * y[i];\n}\n")
        wrong = source("wrong", "    if (i < n)\n        z[i] = a * x[i] + (i == 40 ? 0 : b * y[i]);\n}\n")
        words = {  # each candidate, and what is found
            "pass": right,
            "wrong": wrong,
            "unwritten": source("unwritten", "    if (i < n - 1)\n        z[i] = a * x[i] + b * y[i];\n}\n"),
            "unsafe": source("unsafe", "    z[i] = a * x[i] + b * y[i];\n}\n"),
            "compile": source("compile", "    \x01\xff \"\\ nonsense\n}\n"),
            "forbidden": source("forbidden", '    printf("%d", i);\n}\n'),
            "launch": source("launch", "", 'extern "C" __global__ void axpby(float a)\n{\n}\n'),
        }
        for word, path in words.items():
            made = verdict(ops / "axpby.yaml", path)
            need(made["verdict"] == word, f"{path.name}: {made['verdict']}, not {word}: {made['message']}")
        # what is unsafe before the time limit decides, and not the limit
        late = source("late", "    z[i] = a * x[i] + b * y[i];\n    for (volatile int k = 0; k == 0;)\n        ;\n}\n")
        need(verdict(ops / "axpby.yaml", late, "--launch-limit", "1")["verdict"] == "unsafe", "a time limit hides an unsafe access")
        endless = source("endless", "    if (i < n)\n        for (volatile int k = 0; k == 0;)\n            ;\n}\n")
        need(verdict(ops / "axpby.yaml", endless, "--launch-limit", "1")["verdict"] == "timeout", "a kernel without an end")

        need("undecided" == verdict(ops / "axpby.yaml", right, "--budget", "0.000001")["verdict"], "no budget is a verdict")

        first, again, other = (verdict(ops / "axpby.yaml", wrong, "--seed", seed) for seed in ("5", "5", "6"))
        need(first["digest"] == again["digest"] and first["case"] == again["case"], "one seed gives two verdicts")
        need(first["case"]["seed"] != other["case"]["seed"], "two seeds give one case")
        case = first["case"]
        need(case["sizes"] == {"N": 41} and case["number"] == 40 and case["element"] == "z[40]" and case["wrong"] == 1,
             f"the smallest case is N = 41: {case}")
        need(float(case["expected"]) != float(case["got"]), "expected is got")

        need(verdict(ops / "axpby.yaml", wrong, "--seed", "0")["case"] == verdict(ops / "axpby.yaml", wrong)["case"],
             "0 is the default seed")

        # a verdict says which sizes it does not cover
        made = verdict(ops / "axpby.yaml", right)
        need(made["trials"]["sizes"] == {"N": {"tried": 131072, "of": 1000000}}, made["trials"])
        need("N was tried up to 131072 of 1000000" in made["notes"], made["notes"])

        page = run(ops / "axpby.yaml", wrong).stdout
        need(page.startswith("wrong: ") and "smallest case  N=" in page and "z[40] is " in page, f"a page:\n{page}")

        # a finding has its line
        finding = verdict(ops / "axpby.yaml", words["unsafe"])["findings"][0]
        need(finding["line"] == 4 and finding["source"].strip().startswith("z[i] =") and finding["file"] == "unsafe.cu", finding)

        # an estimate is called one
        times = verdict(ops / "axpby.yaml", right, device="sim:h200")["times"]
        need(times["kind"] == "estimated" and times["seconds"] > 0 and times["against"] == times["seconds"], times)

        # the contract: at multiples of 4 only, this kernel is right
        quads = source("quads", "    if (4 * i + 3 < n)\n        for (int k = 4 * i; k < 4 * i + 4; k++)\n"
                       "            z[k] = a * x[k] + b * y[k];\n}\n")
        need(verdict(ops / "axpby.yaml", quads)["verdict"] == "unwritten", "a kernel for multiples of 4 passes")
        text = (ops / "axpby.yaml").read_text().replace("N: {from: 0, to: 1000000}", "N: {from: 0, to: 1000000, multiple: 4}")
        for name in ("axpby.cu", "references.cu"):
            (work / name).write_text((ops / name).read_text())
        (work / "fours.yaml").write_text(text)
        need(verdict(work / "fours.yaml", quads)["verdict"] == "pass", "a kernel for multiples of 4 fails at them")

        # the fill of the spec is a content, whatever the range of the contract is
        text = (ops / "axpby.yaml").read_text().replace("x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}",
                                                        "x: {type: f32, shape: [N], fill: 0.375}")
        (work / "filled.yaml").write_text(text.replace("x: {align: 4}", "x: {from: -1, to: 1, align: 4}"))
        known = source("known", "    if (i < n)\n        z[i] = x[i] == 0.375f ? 0 : a * x[i] + b * y[i];\n}\n")
        made = verdict(work / "filled.yaml", known)
        need(made["verdict"] == "wrong" and made["case"]["contents"] == "fill", made["case"])
        unknown = source("unknown", "    if (i < n)\n        z[i] = x[i] == 0.375f ? a * x[i] + b * y[i] : 0;\n}\n")
        made = verdict(work / "filled.yaml", unknown)
        need(made["verdict"] == "wrong" and made["case"]["contents"] != "fill", made["case"])

        # sizes as macros: the code of another size is compiled, and looked at, anew
        (work / "baked.yaml").write_text((ops / "axpby.yaml").read_text().replace("variants:\n", "bake: [N]\nvariants:\n")
                                         .replace("N: {from: 0, to: 1000000}", "N: {from: 1, to: 50}"))
        baked = source("baked", "    static __device__ int calls;\n    if (i < n)\n        z[i] = a * x[i] + b * y[i];\n"
                       "    if (i == 0 && N == 51)\n        calls++;\n}\n")
        need(verdict(work / "baked.yaml", baked)["verdict"] == "pass", "a kernel with its size as a macro fails")
        for word, line in (("compile", "#error"), ("forbidden", '    printf("%d", i);')):
            late = source(f"late_{word}", f"#if N == 33\n{line}\n#endif\n    if (i < n)\n        z[i] = a * x[i] + b * y[i];\n}}\n")
            need(verdict(work / "baked.yaml", late)["verdict"] == word, f"a kernel that is {word} at one size passes")

        # errors are no verdicts
        none = run(ops / "axpby.yaml", work / "none.cu", "--json")
        need(none.returncode == 5 and "error" in json.loads(none.stdout), f"no file: {none.stdout}")
        (work / "bare.yaml").write_text(text.replace("verify: {z: {against: {variant: reference}, rtol: 1e-6, atol: 1e-6}}", ""))
        bare = run(work / "bare.yaml", right)
        need(bare.returncode == 3 and "no 'verify'" in bare.stderr, f"no references: {bare.returncode} {bare.stderr}")
        need(subprocess.run([KILN, "judge", str(ops / "axpby.yaml")], capture_output=True, check=False).returncode == 2, "no candidate")

        # a whole judgement leaves nothing behind in the folder of the spec
        before = sorted(path.name for path in work.iterdir())
        verdict(work / "fours.yaml", right)
        need(before == sorted(path.name for path in work.iterdir()), "files are left behind")
    return 0


if __name__ == "__main__":
    sys.exit(main())
