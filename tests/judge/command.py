#!/usr/bin/env python3
"""command.py KILN FOLDER SCHEMA [stand-in]: tests the command `kiln judge` as a program uses it.

- A verdict as JSON follows the schema, for every kind of candidate.
- The same seed gives the same digest in every run; another seed draws other cases.
- The exit code follows from the verdict, and the page names the smallest case.
- A candidate that is no file, and a spec without references, are errors and no verdicts.
- The key `judge` of a spec decides which sizes are tried.
- The judge finds each place at which the PTX reads a clock.
- Buffers that the steps swap, negative sizes, and sizes without contents.
- Size sets that a constraint of the variant excludes, and the negative size of another set.
- Arrays of host functions that are too large.
- Sums that are cut towards zero.
- Candidates that attack the judge.
- Trials with few multiprocessors, for specs whose launches depend on their number.
- Sizes of the spec's own size sets, sizes one below a multiple of four, several tiles in descending order, late blocks.
- A kernel that does not end. Its number of steps is compared with the number of steps of the variant's own source.
- The tolerance of large trials, a reference that fails there, and a memory that is too small.
- With `stand-in`: every timed repetition has other inputs, and a wrong answer is found there.
- Under a tolerance, the only right answer for an expected infinity or NaN is this infinity or a NaN.
- --against compares with a variant, or with the best configuration of another spec, and tells the kind of its times.
- Several devices give one verdict, and the worst one wins. A device that does not exist is an error before a kernel runs.
- Each of several candidates gives a line, in the order of the candidates, also if the file of one is missing or its
process dies.
- The verdict has names and the environment unchanged."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

try:
    import jsonschema
except ImportError:
    print("SKIP tool: Python has no jsonschema (tools/setup.sh --test installs it)")
    sys.exit(77)

MANY = json.loads(pathlib.Path(sys.argv[3]).with_name("verdicts.schema.json").read_text())
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


def check_clocks(spec, source):
    """Tests the ways in which PTX can read a clock, a counter or the number of the launch, and words that only look
    like such a read."""
    for i, text in enumerate(('.reg .u32 q; mov.u32 q, %%clock; mov.u32 %0, q;', '.loc 1 1 1; mov.u32 %0, %%globaltimer_lo;',
                              '.pragma \\"nounroll\\"; mov.u32 %0, %%clock;', '/* \\" */ mov.u32 %0, %%clock; /* \\" */',
                              '.reg .u64 q; mov.u64 q, %%gridid; cvt.u32.u64 %0, q;', '// \\r mov.u32 %0, %%clock;',
                              '/*\\n.file 1 \\"*/ mov.u32 %0, %%clock; // \\"', '{mov.u32 %0,%%clock_hi;}', 'mov.u32 %0, %%pm3;')):
        body = f'    unsigned c;\n    asm volatile("{text}" : "=r"(c));\n    if (i < n)\n        z[i] = a * x[i] + b * y[i] + (c == 77777);\n}}\n'
        made = verdict(spec, source(f"clock{i}", body))
        need(made["verdict"] == "forbidden", f"{text}: {made['verdict']}: {made['message']}")
    plain = "    if (i < n)\n        z[i] = a * x[i] + b * y[i];\n}\n"
    made = verdict(spec, source("%clock vprintf", plain))
    need(made["verdict"] == "pass", f"the name of a file counts as code: {made['message']}")


def check_special(work):
    """Tests a copy with a tolerance, and copies that are wrong for one kind of value."""
    head = 'extern "C" __global__ void copy(const float *x, float *y, int n)\n{\n    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n'
    def copy(name, value):
        path = work / f"{name}.cu"
        path.write_text(f"{head}    if (i < n)\n        y[i] = {value};\n}}\n")
        return path
    copy("copy", "x[i]")
    (work / "copy.yaml").write_text(
        "kiln: 1\nname: copy\nsource: copy.cu\nsizes: {tiny: {N: 300}}\n"
        "buffers:\n  x: {type: f32, shape: [N], fill: {normal: [0, 1]}}\n  y: {type: f32, shape: [N], out: true}\n"
        "verify: {y: {against: {variant: own}, rtol: 1e-5, atol: 1e-6}}\n"
        "judge: {N: {from: 1, to: 2000}, x: {from: -1e6, to: 1e6, special: true}}\n"
        'variants:\n  own: {launch: {kernel: copy, grid: ["ceil_div(N, 256)"], block: [256], args: [x, y, N]}}\n')
    inf, low, nan = "__int_as_float(0x7f800000)", "__int_as_float(0xff800000)", "__int_as_float(0x7fffffff)"
    values = {"inf": (inf, f"x[i] == {inf}"), "low": (low, f"x[i] == {low}"), "nan": (nan, "x[i] != x[i]"),
              "one": ("-7.0f", f"x[i] == x[i] && x[i] - x[i] == 0 && x[i] > 0.5f")}
    need(verdict(work / "copy.yaml", copy("same", "x[i]"))["verdict"] == "pass", "a copy fails")
    for want, (_, condition) in values.items():
        for got, (value, _) in values.items():
            if got == want != "one":
                continue
            made = verdict(work / "copy.yaml", copy(f"{got}_for_{want}", f"{condition} ? {value} : x[i]"))
            need(made["verdict"] == "wrong", f"{got} for {want}: {made['verdict']}: {made['message']}")


def check_steps(work):
    """Tests a spec that swaps buffers between launches, has a negative size, and has no contents for some sizes of its
    second set."""
    head = ('extern "C" __global__ void step(const float *x, float *y, const unsigned *k, int n, int s)\n{\n'
            "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        ")
    def step(name, statement):
        path = work / f"{name}.cu"
        path.write_text(f"{head}{statement}\n}}\n")
        return path
    step("step", "y[i] = x[i] + s + (k[i] & 1);")
    (work / "step.yaml").write_text(
        "kiln: 1\nname: step\nsource: step.cu\nsizes: {tiny: {N: 300, S: -1, F: 0}, wrap: {N: 1000, S: -1, F: 4294966296}}\n"
        "buffers:\n  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}\n  k: {type: u32, shape: [N], fill: {iota: [F, 1]}}\n"
        "  y: {type: f32, shape: [N], out: true}\n  t: {type: f32, shape: [N]}\n"
        "verify: {y: {against: {variant: own}, exact: true}}\njudge: {N: {from: 0, to: 3000}}\n"
        "variants:\n  own:\n    steps:\n"
        '      - launch: {kernel: step, grid: ["ceil_div(N, 256)"], block: [256], args: [x, y, k, N, S]}\n'
        "      - swap: [y, t]\n"
        '      - launch: {kernel: step, grid: ["ceil_div(N, 256)"], block: [256], args: [t, y, k, N, S]}\n')
    for name, statement, words in (("right", "y[i] = (k[i] & 1) + (x[i] + s);", ["pass"]), ("off", "y[i] = x[i] + s + (k[i] & 1) + (i == 33);", ["wrong"]),
                                   ("left", "if (i != 33) y[i] = x[i] + s + (k[i] & 1);", ["unwritten", "unsafe"])):
        made = verdict(work / "step.yaml", step(f"step_{name}", statement))
        need(made["verdict"] in words and made["trials"]["unsettled"] == 0 and made["trials"]["checks"] > 0,
             f"{name}: {made['verdict']}: {made['message']} {made['trials']}")


def check_sets(work):
    """The first size sets break a constraint of the variant. The judge opens it at a set that is allowed, and draws no other set."""
    text = ("kiln: 1\nname: rows\nsource: rows.cu\nsizes: {tiny: {N: 300, M: 1}, other: {N: 300, M: 3}, even: {N: 40, M: 2}, wide: {N: 20, M: -4}}\n"
            "buffers:\n  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}\n  y: {type: f32, shape: [N], out: true}\n"
            "verify: {y: {against: {variant: own}, exact: true}}\njudge: {N: {from: 0, to: 3000}}\n"
            'variants:\n  own: {where: [M % 2 == 0], launch: {kernel: rows, grid: ["ceil_div(N, 256)"], block: [256], args: [x, y, N, M]}}\n')
    (work / "rows.yaml").write_text(text)
    path = work / "rows.cu"
    path.write_text('extern "C" __global__ void rows(const float *x, float *y, int n, int m)\n{\n'
                    "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        y[i] = x[i] + m;\n}\n")
    made = verdict(work / "rows.yaml", path)
    need(made["verdict"] == "pass" and made["trials"]["skipped"] == 0, made["trials"])
    # The constraint also depends on a size with a range. Each set counts, because small values of N are allowed.
    (work / "few.yaml").write_text(text.replace("M % 2 == 0", "N <= 50"))
    made = verdict(work / "few.yaml", path)
    need(made["verdict"] == "pass" and made["trials"]["answers"] > 5 and made["trials"]["skipped"] > 0, made["trials"])
    # Drawn sizes are seldom multiples of 4, so the judge rounds them up.
    (work / "units.yaml").write_text(text.replace("M % 2 == 0", "N % 4 == 0 and N > 0"))
    made = verdict(work / "units.yaml", path)
    need(made["verdict"] == "pass" and made["trials"]["checks"] == 10 and made["trials"]["skipped"] == 0, made["trials"])
    # if no set is allowed, the message is about the default sizes
    (work / "none.yaml").write_text(text.replace("M % 2 == 0", "M > 4"))
    done = run(work / "none.yaml", path)
    need(done.returncode not in (0, 18) and "M = 1" in done.stderr, done.stderr)


def check_huge(work):
    """The arrays come from a host function, which would make gigabytes of them for the sizes of the large trial. The judge knows
    from smaller trials that they are too large."""
    (work / "degrees.yaml").write_text(
        "kiln: 1\nname: degrees\nsource: degrees.cu\nsizes: {tiny: {N: 300}}\n"
        "inputs: {A: {host: sparse_matrix, matrix: band, rows: N, degree: 63, seed: 1}}\n"
        "buffers:\n  first: {from: A.csr.offsets}\n  index: {from: A.csr.index}\n  y: {type: u32, shape: [N], out: true}\n"
        "verify: {y: {against: {variant: own}, exact: true}}\njudge: {N: {from: 0, to: 67108864}}\n"
        'variants:\n  own: {launch: {kernel: degrees, grid: ["max(1, ceil_div(N, 256))"], block: [256], args: [first, y, N]}}\n')
    path = work / "degrees.cu"
    path.write_text('extern "C" __global__ void degrees(const unsigned *first, unsigned *y, unsigned n)\n{\n'
                    "    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        y[i] = first[i + 1] - first[i];\n}\n")
    made = verdict(work / "degrees.yaml", path)
    need(made["verdict"] == "pass" and made["trials"]["skipped"] > 0, made)
    # Measures the memory of this process only: an endless compile of an earlier check may have taken gigabytes until
    # its time limit.
    words = [KILN, "judge", str(work / "degrees.yaml"), "--candidate", str(path), "--device", "sim"]
    kilobytes = os.wait4(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid, 0)[2].ru_maxrss
    need(kilobytes < 2 << 20, f"a verdict takes {kilobytes} kilobytes of memory")


def check_cuts(work):
    """Tests sums of products of half precision. Tensor cores cut a sum towards zero, here after each eight products.
    Such a sum is right, also for large products of one sign. A sum that leaves out each 16th product is wrong."""
    (work / "products.yaml").write_text(
        "kiln: 1\nname: products\nsource: products.cu\nsizes: {tiny: {N: 300}}\n"
        "buffers:\n  x: {type: f16, shape: [N], fill: {uniform: [-1, 1], seed: 1}}\n  w: {type: f16, shape: [N], fill: {uniform: [-1, 1], seed: 2}}\n  y: {type: f32, shape: [1], out: true}\n"
        "verify: {y: {against: {variant: own}, rtol: 1e-6, atol: \"1e-8 * N * sqrt(N) + 1e-6\"}}\njudge: {N: {from: 0, to: 60000}}\n"
        "variants:\n  own: {launch: {kernel: products, grid: [1], block: [256], args: [x, w, y, N]}}\n")
    head = '#include <cuda_fp16.h>\nextern "C" __global__ void products(const __half *x, const __half *w, float *y, int n)\n{\n'
    own, cut, left = (work / f"{name}.cu" for name in ("products", "cut", "left"))
    own.write_text(head + "    __shared__ double part[256];\n    double all = 0;\n    for (int i = threadIdx.x; i < n; i += 256)\n"
                   "        all += (double)__half2float(x[i]) * __half2float(w[i]);\n    part[threadIdx.x] = all;\n    __syncthreads();\n"
                   "    if (threadIdx.x == 0) {\n        for (int i = 1; i < 256; i++)\n            all += part[i];\n        y[0] = all;\n    }\n}\n")
    cut.write_text(head + "    if (threadIdx.x)\n        return;\n    float all = 0;\n    for (int i = 0; i < n; i += 8) {\n        float eight = 0;\n"
                   "        for (int k = i; k < i + 8 && k < n; k++)\n            eight += __half2float(x[k]) * __half2float(w[k]);\n"
                   "        all = __fadd_rz(all, eight);\n    }\n    y[0] = all;\n}\n")
    left.write_text(own.read_text().replace("        all += (double)", "        if (i % 16 != 5)\n            all += (double)"))
    for path, word in ((cut, "pass"), (left, "wrong")):
        made = verdict(work / "products.yaml", path, "--seed", "3")
        need(made["verdict"] == word and made["trials"]["unsettled"] == 0, f"{path.name}: {made['verdict']}: {made['message']} {made['trials']}")


HOSTILE = { # the possible verdicts, the code before the kernel, and the statements of the kernel
    "recursion": ("unsafe", "__device__ __noinline__ float down(float v, int d) { volatile float s[9]; s[d % 9] = v; return d ? down(v + s[d % 9], d - 1) - v : v; }", "z[i] = down(x[i], 1 << 30);"),
    "large_variable": ("compile", "__device__ float large[1ull << 40];", "large[i] = 1, z[i] = a * x[i] + b * y[i];"),
    "names": ("pass", 'extern "C" __device__ int kiln_judge, cuLaunchKernel, judge;\nextern "C" __global__ void reference() { }', "z[i] = a * x[i] + b * y[i];"),
    "types": ("unsafe", "#define float double", "z[i] = a * x[i] + b * y[i];"),
    "words": ("unwritten", "#define blockIdx threadIdx", "z[blockIdx.x] = a * x[i] + b * y[i];"),
    "includes_itself": ("forbidden", "#include __FILE__", "z[i] = 0;"),
    "looks_for_a_file": ("forbidden", '#if __has_include("/etc/passwd")\n#endif', "z[i] = 0;"),
    "reads_the_environment": ("forbidden", '#include "/proc/self/environ"', "z[i] = 0;"),
    "embeds": ("forbidden", "", '{ const char t[] = {\n#embed "/etc/passwd"\n}; z[i] = t[0]; }'),
    "leaves": ("unwritten", "", 'if (i == 0) asm volatile("exit;"); z[i] = a * x[i] + b * y[i];'),
    "calls_a_number": ("unsafe", "", "((void (*)())(unsigned long long)(n + 12345678))();"),
    "child_grid": ("compile", "__global__ void child(float *z) { z[0] = 7; }", "child<<<1, 1>>>(z);"),
    "allocates": ("unsafe", "", "for (int k = 0; k < 5000; k++) { float *q = (float *)malloc(1 << 20); if (q) q[0] = 1; } z[i] = a * x[i] + b * y[i];"),
    "multiprocessor": ("unwritten", "", 'unsigned s; asm("mov.u32 %0, %%smid;" : "=r"(s)); if (s < 3) z[i] = a * x[i] + b * y[i];'),
    "address": ("wrong", "", "z[i] = (unsigned long long)x / 256 % 16 == 5 ? 0 : a * x[i] + b * y[i];"),
    "address_of_large_arrays": ("wrong", "", "z[i] = (unsigned long long)x / 4096 % 16 == 11 ? 0 : a * x[i] + b * y[i];"),
}


def check_hostile(spec, work):
    """Tests candidates that attack the judge, or that find out where they run. Each gets its verdict, and a judgement
    of all of them ends."""
    folder = work / "hostile"
    folder.mkdir()
    for name, (_, before, statements) in HOSTILE.items():
        (folder / f"{name}.cu").write_text(f"{before}\n{HEAD}    if (i < n) {{\n        {statements}\n    }}\n}}\n")
    done = subprocess.run([KILN, "judge", str(spec), "-c", str(folder), "-d", "sim", "--jobs", "2", "--json", "--no-cache"],
                          capture_output=True, text=True, timeout=600, check=False)
    made = {pathlib.Path(one["candidate"]).stem: one for one in map(json.loads, done.stdout.splitlines())}
    need(set(made) == set(HOSTILE), f"{sorted(made)}: {done.stderr}")
    for name, (word, _, _) in HOSTILE.items():
        need(made[name]["verdict"] == word, f"{name}: {made[name]['verdict']}, not {word}: {made[name]['error']} {(made[name]['result'] or {}).get('message')}")


def check_few(work):
    """Tests a grid that fills the device. If the device has all its multiprocessors, no size of the contract needs a
    second round of the loop."""
    text = ("kiln: 1\nname: turns\nsource: turns.cu\nsizes: {tiny: {N: 300}}\n"
            "buffers:\n  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}\n  y: {type: f32, shape: [N], out: true}\n"
            "verify: {y: {against: {variant: own}, exact: true}}\njudge: {N: {from: 0, to: 100000}}\n"
            "variants:\n  own:\n    launch: {kernel: turns, grid: ['max(1, min(GRID))'], block: [256], args: [x, y, N]}\n")
    (work / "turns.yaml").write_text(text.replace("GRID", "ceil_div(N, 256), 8 * device.sm_count"))
    (work / "few_no.yaml").write_text(text.replace("GRID", "ceil_div(N, 256), device.sm_count // 5"))
    head = 'extern "C" __global__ void turns(const float *x, float *y, int n)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n'
    for name, step in (("turns", ""), ("once", " + 1")):
        (work / f"{name}.cu").write_text(f"{head}    for (; i < n; i += blockDim.x * gridDim.x{step})\n        y[i] = 2 * x[i];\n}}\n")
    need(verdict(work / "turns.yaml", work / "turns.cu")["verdict"] == "pass", "a loop over the array fails")
    made = verdict(work / "turns.yaml", work / "once.cu")
    need(made["verdict"] in ("wrong", "unwritten", "unsafe") and made["case"]["few_multiprocessors"], made)
    page = run(work / "turns.yaml", work / "once.cu").stdout
    need("device.sm_count = 4" in page, page)
    # A spec that cannot run with few multiprocessors is judged with all of them.
    need(verdict(work / "few_no.yaml", work / "turns.cu")["verdict"] == "pass", "a spec that needs five multiprocessors fails")


def check_large(ops, work):
    """Tests the tolerance of the large trial. An elementwise kernel has the spec's tolerance, and a sum of a repeated
    pattern has a wider one. If the reference fails in the large trial, the verdict has a note."""
    (work / "references.cu").write_text((ops / "references.cu").read_text())
    for name in ("axpby", "sum"):
        text = (ops / f"{name}.yaml").read_text()
        (work / f"{name}.cu").write_text((ops / f"{name}.cu").read_text())
        (work / f"{name}_wide.yaml").write_text(re.sub(r"N: {from: 0, to: \d+}", "N: {from: 0, to: 100000000}", text))
    path = work / "inexact.cu"
    path.write_text(HEAD + "    if (i < n)\n        z[i] = (a * x[i] + b * y[i]) * (i > 1500000 ? 1.000009f : 1);\n}\n")
    made = verdict(work / "axpby_wide.yaml", path)
    need(made["verdict"] == "wrong" and made["case"]["phase"] == "large", f"{made['verdict']} {made['case']}")
    path = work / "lanes.cu"
    path.write_text('extern "C" __global__ void sum(const float *x, float *y, int n)\n{\n    __shared__ float part[32];\n'
                    "    if (threadIdx.x < 32) {\n        float all = 0;\n        for (int i = threadIdx.x; i < n; i += 32)\n            all += x[i];\n"
                    "        part[threadIdx.x] = all;\n    }\n    __syncthreads();\n    if (threadIdx.x == 0) {\n        float all = 0;\n"
                    "        for (int i = 0; i < 32; i++)\n            all += part[i];\n        y[0] = all;\n    }\n}\n")
    made = verdict(work / "sum_wide.yaml", path, "--launch-limit", "200") # the reference has only one thread
    need(made["verdict"] == "pass" and made["trials"]["large"] == 1 and made["trials"]["unsettled"] == 0, made)
    # a grid has at most 65535 rows of blocks
    (work / "tall.cu").write_text('extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)\n{\n'
                                  "    const int i = blockIdx.y * 32 + threadIdx.x;\n    if (i < n)\n        z[i] = a * x[i] + b * y[i];\n}\n")
    text = (work / "axpby_wide.yaml").read_text()
    at = text.index("  reference:")
    text = text[:at] + text[at:].replace('grid: ["ceil_div(N, 256)"], block: [256]', 'grid: [1, "max(1, ceil_div(N, 32))"], block: [32]')
    (work / "tall.yaml").write_text(text.replace("references.cu", "tall.cu"))
    made = verdict(work / "tall.yaml", work / "axpby.cu")
    need(made["verdict"] == "pass" and made["trials"]["large"] == 1 and
         any("the reference of 'z' failed in a large trial" in note for note in made["notes"]), made)


def check_timed(work):
    """Tests timed repetitions of a kernel that works in place, with a host function as the reference. The driver of
    `kiln sim run` stands in for a GPU. The timed size is outside of the contract, so no trial has it."""
    (work / "place.yaml").write_text(
        "kiln: 1\nname: place\nsource: place.cu\nsizes: {tiny: {N: 500, A: 1.5, B: -0.75}, large: {N: 200000, A: 1.5, B: -0.75}}\n"
        "buffers:\n  x: {type: f32, shape: [N], fill: {uniform: [-1, 1], seed: 1}}\n"
        "  y: {type: f32, shape: [N], fill: {uniform: [-1, 1], seed: 2}, out: true}\n"
        "verify: {y: {against: {host: axpby_f64}, rtol: 1e-6, atol: 3e-7}}\njudge: {N: {from: 0, to: 100000}, streams: {to: 2}}\n"
        'variants:\n  own: {launch: {kernel: place, grid: ["ceil_div(N, 256)"], block: [256], args: [A, x, B, y, N]}}\n')
    head = ("__device__ unsigned calls[200000];\n"
            'extern "C" __global__ void place(float a, const float *x, float b, float *y, int n)\n{\n'
            "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n")
    # The right kernel has a variable, so its calls run in two streams. The judge compares the answer of each call.
    for name, trick, word in (("place", "    if (i < n)\n        calls[i] = 7;\n", "pass"), ("skips", "    if (n == 200000 && i < n && ++calls[i] > 4)\n        return;\n", "state"),
                              ("large", "    if (n == 200000 && i == 77)\n        return;\n", "wrong"),
                              ("hundredth", "    if (i == 0 && n > 0 && atomicAdd(calls, 1) == 100)\n        return;\n", "state")):
        path = work / f"{name}.cu"
        path.write_text(f"{head}{trick}    if (i < n)\n        y[i] = a * x[i] + b * y[i];\n}}\n")
        done = subprocess.run([KILN, "sim", "run", "--quiet", KILN, "judge", str(work / "place.yaml"), "-c", str(path), "--device", "cuda:0", "--json"],
                              capture_output=True, text=True, timeout=600, check=False)
        made = json.loads(done.stdout)
        jsonschema.validate(made, SCHEMA)
        need(made["verdict"] == word and made["trials"]["unsettled"] == 0, f"{name}: {made['verdict']}: {made['message']} {made['notes']}")
        need(made["environment"]["simulated"] is False and (word != "pass" or made["times"]["kind"] == "measured"), made)
        need(any("has no checks" in note for note in made["notes"]) == (word == "pass"), made["notes"])
    # The message names a repetition that the clock has chosen, so the digest leaves the message out.
    (work / "copied.yaml").write_text((work / "place.yaml").read_text().replace("{host: axpby_f64}", "{variant: reference}").replace(
        "variants:\n", 'variants:\n  reference: {source: place.cu, contender: false, launch: {kernel: place, grid: ["ceil_div(N, 256)"], block: [256], args: [A, x, B, y, N]}}\n'))
    for spec in ("place.yaml", "copied.yaml"):
        made = []
        for _ in range(3):
            done = subprocess.run([KILN, "sim", "run", "--quiet", KILN, "judge", str(work / spec), "-c", str(work / "skips.cu"), "--device", "cuda:0",
                                   "--variant", "own", "--json"], capture_output=True, text=True, timeout=600, check=False)
            made.append(json.loads(done.stdout))
        need([one["verdict"] for one in made] == ["state"] * 3, made)
        need(len({one["digest"]["verdict"] for one in made}) == 1, made)


def check_calls(work):
    """Tests a kernel that leaves out work if it finds certain bytes in scratch memory. Scratch memory with a fill keeps
    its bytes between calls. The kernel does so only with more blocks than small trials have."""
    (work / "seen.yaml").write_text(
        "kiln: 1\nname: twice\nsource: twice.cu\nsizes: {tiny: {N: 300}}\n"
        "buffers:\n  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}\n  y: {type: f32, shape: [N], out: true}\n"
        "verify: {y: {against: {variant: own}, exact: true}}\njudge: {N: {from: 0, to: 100000}}\n"
        "variants:\n  own:\n    buffers: {seen: {type: u32, shape: ['ceil_div(N, 256)'], fill: 0}}\n"
        "    launch: {kernel: twice, grid: ['ceil_div(N, 256)'], block: [256], args: [x, y, seen, N]}\n")
    for name, trick in (("twice", ""), ("often", "    if (blockIdx.x >= 20 && seen[blockIdx.x])\n        return;\n")):
        (work / f"{name}.cu").write_text(
            f'extern "C" __global__ void twice(const float *x, float *y, unsigned *seen, int n)\n{{\n{trick}    __syncthreads();\n'
            "    const int i = blockIdx.x * 256 + threadIdx.x;\n    if (i < n)\n        y[i] = 2 * x[i];\n"
            "    if (threadIdx.x == 0)\n        seen[blockIdx.x] = 1;\n}\n")
    for name, word in (("twice", "pass"), ("often", "state")):
        made = verdict(work / "seen.yaml", work / f"{name}.cu")
        need(made["verdict"] == word, f"{name}: {made['verdict']}: {made['message']}")


def check_late_block(work):
    """Tests blocks that each pass an element to the next block, with the number of the call. Without this number a
    block may take the element of an earlier call, but only if the block before it is late."""
    (work / "notes.yaml").write_text(
        "kiln: 1\nname: notes\nsource: notes.cu\nsizes: {tiny: {N: 300}}\n"
        "buffers:\n  x: {type: u32, shape: [N], fill: {uniform: [0, 1000]}}\n  y: {type: u32, shape: [N], out: true}\n"
        "verify: {y: {against: {variant: own}, exact: true}}\njudge: {N: {from: 0, to: 100000}}\n"
        "variants:\n  own:\n    buffers: {notes: {type: u64, shape: ['ceil_div(N, 64) + 1'], fill: 0}, calls: {type: u32, shape: [3], fill: 0}}\n"
        "    launch: {kernel: hand_over, grid: ['ceil_div(N, 64)'], block: [64], args: [x, y, notes, calls, N]}\n")
    for name, tag in (("notes", "call"), ("stale", "1")):
        (work / f"{name}.cu").write_text(
            'extern "C" __global__ void hand_over(const unsigned *x, unsigned *y, unsigned long long *notes, unsigned *calls, int n)\n{\n'
            "    __shared__ unsigned tile, call;\n    if (threadIdx.x == 0) {\n        call = *(volatile unsigned *)(calls + 2) + 1;\n"
            "        tile = atomicInc(calls, gridDim.x - 1);\n    }\n    __syncthreads();\n    const int i = tile * 64 + threadIdx.x;\n"
            "    if (i < n && threadIdx.x > 0)\n        y[i] = 2 * x[i];\n    if (threadIdx.x == 0) {\n"
            f"        const unsigned long long tag = (unsigned long long){tag} << 32;\n"
            "        if (i + 64 < n)\n            atomicExch(notes + tile + 1, tag | 2 * x[i + 64]);\n        unsigned long long note = 2 * x[i];\n"
            "        while (tile && (note = *(volatile unsigned long long *)(notes + tile)) >> 32 != tag >> 32)\n            ;\n"
            "        y[i] = (unsigned)note;\n        __threadfence();\n"
            "        if (atomicInc(calls + 1, gridDim.x - 1) == gridDim.x - 1)\n            atomicAdd(calls + 2, 1);\n    }\n}\n")
    for name, words in (("notes", ["pass"]), ("stale", ["state", "wrong"])):
        made = verdict(work / "notes.yaml", work / f"{name}.cu")
        need(made["verdict"] in words, f"{name}: {made['verdict']}: {made['message']}")


def check_sizes(work):
    """Tests kernels that are wrong at sizes which only one kind of trial has."""
    (work / "tiles.yaml").write_text(
        "kiln: 1\nname: tiles\nsource: tiles.cu\nsizes: {tiny: {M: 8, N: 24, K: 8}, own: {M: 5, N: 7777, K: 8}}\n"
        "buffers:\n  x: {type: f32, shape: [M, N], fill: {uniform: [-1, 1]}}\n  y: {type: f32, shape: [M, N], out: true}\n"
        "verify: {y: {against: {variant: own}, exact: true}}\n"
        "judge: {M: {from: 1, to: 5000}, N: {from: 1, to: 50000}, K: {from: 1, to: 5000}}\n"
        "variants:\n  own: {where: [WHERE], launch: {kernel: tiles, grid: ['ceil_div(N, 256)', M], block: [256], args: [x, y, M, N, K]}}\n")
    text = (work / "tiles.yaml").read_text()
    (work / "eights.yaml").write_text(text.replace("WHERE", "M % 8 == 0 and N % 8 == 0 and K % 8 == 0"))
    (work / "tiles.yaml").write_text(text.replace("WHERE", "M > 0"))
    for name, trick, spec in (
            ("tiles", "", "tiles"), ("own_size", "    if (n == m * 1555 + 2 && i == 40)\n        y[i] += 1;\n", "tiles"),
            ("threes", "    if (m % 4 == 3 && n % 4 == 3 && k % 4 == 3 && k < 32)\n        y[at] = x[at] * (1 + 0 * x[(size_t)m * n]);\n", "tiles"),
            ("next_tile", "    if (i % 256 == 255 && i + 1 < n)\n        y[at + 1] = 0;\n", "eights")):
        (work / f"{name}.cu").write_text(
            'extern "C" __global__ void tiles(const float *x, float *y, int m, int n, int k)\n{\n    const int i = blockIdx.x * 256 + threadIdx.x;\n'
            "    const size_t at = (size_t)blockIdx.y * n + i;\n    if (i >= n)\n        return;\n    y[at] = x[at];\n" + trick + "}\n")
        made = verdict(work / f"{spec}.yaml", work / f"{name}.cu")
        need((made["verdict"] == "pass") == (name == "tiles"), f"{name}: {made['verdict']}: {made['message']}")


def check_endless(ops, work):
    """Tests kernels that do not end. The evidence is a number of steps, which does not depend on the load of the
    machine. So the digest is the same in each run."""
    path = work / "endless.cu"
    path.write_text(HEAD + "    for (volatile int turn = i > 40 ? 0 : -1; turn >= 0; turn = 0)\n        ;\n    if (i < n)\n        z[i] = a * x[i] + b * y[i];\n}\n")
    made = [verdict(ops / "axpby.yaml", path) for _ in range(2)]
    need(made[0]["verdict"] == "timeout" and re.search(r"it does not end: it ran for \d+ steps .* own source ends after \d+:", made[0]["message"]), made[0])
    need(made[0]["digest"]["verdict"] == made[1]["digest"]["verdict"] and made[0]["case"]["sizes"]["N"] == 1, made)
    # A reference that does not end only costs its trials. It is no error.
    (work / "spins.cu").write_text((ops / "references.cu").read_text().replace("int i = blockIdx.x * blockDim.x + threadIdx.x;\n",
                                   "int i = blockIdx.x * blockDim.x + threadIdx.x;\n    for (volatile int turn = 0; turn >= 0 && n == 77777; turn = 0)\n        ;\n", 1))
    need("turn" in (work / "spins.cu").read_text(), "references.cu has changed")
    (work / "spins.yaml").write_text((ops / "axpby.yaml").read_text().replace("references.cu", "spins.cu").replace("sizes: {", "sizes: {odd: {N: 77777}, "))
    (work / "axpby.cu").write_text((ops / "axpby.cu").read_text())
    late = verdict(work / "spins.yaml", work / "axpby.cu", "--launch-limit", "0.3")
    need(late["verdict"] == "pass" and late["trials"]["skipped"] > 0 and any("a reference reached its limit" in note for note in late["notes"]), late)
    # a kernel that needs more steps than a trial usually has gets more of them, if the variant's own source is slow too
    head = ('extern "C" __global__ void tiles(const float *x, float *y, int m, int n, int k)\n{\n    const int i = blockIdx.x * 256 + threadIdx.x;\n'
            "    const size_t at = (size_t)blockIdx.y * n + i;\n    if (i >= n)\n        return;\n    float v = x[at];\n"
            "    for (int turn = 0; turn < 30; turn++)\n        v = fminf(v, x[(i + turn) % n] + 3);\n")
    (work / "slow.yaml").write_text((work / "tiles.yaml").read_text().replace("tiles.cu", "slow.cu"))
    (work / "slow.cu").write_text(head + "    y[at] = v;\n}\n")
    path.write_text(head + "    for (unsigned turn = 0; turn < 1000000 && n == m * 1555 + 2 && at < 32; turn++)\n        v = fminf(v, x[(i + turn) % n] + 3);\n"
                    "    y[at] = v;\n}\n")
    made = verdict(work / "slow.yaml", path)
    need(made["verdict"] == "pass" and made["trials"]["unsettled"] == 0, made)
    # the limit that such a trial reached under checks is no finding of a verdict that passes
    text = (work / "slow.yaml").read_text().replace(", own: {M: 5, N: 7777, K: 8}", "").replace("50000", "300")
    (work / "checked.yaml").write_text(text.replace("M: {from: 1, to: 5000}, ", "").replace(", K: {from: 1, to: 5000}", ""))
    (work / "slow.cu").write_text(head.replace("turn < 30", "turn < 3000") + "    y[at] = v;\n}\n")
    path.write_text(head + "    for (unsigned turn = 0; turn < 400000 && n < 8; turn++)\n        v = fminf(v, x[(i + turn) % n] + 3);\n    y[at] = v;\n}\n")
    made = verdict(work / "checked.yaml", path)
    need(made["verdict"] == "pass" and not made["findings"], made)


def check_memory(folder):
    """Tests a large trial whose arrays do not fit into the memory of a GPU. The trial then has smaller arrays, and the
    verdict has a note."""
    done = subprocess.run([KILN, "sim", "run", "--quiet", KILN, "judge", str(folder / "flip.yaml"), "-c", str(folder / "flip.cu"), "--device", "cuda:0",
                           "--json"], env={**os.environ, "KILN_SIM_MEMORY": "100000000"}, capture_output=True, text=True, timeout=600, check=False)
    made = json.loads(done.stdout)
    need(made["verdict"] == "pass" and made["trials"]["large"] == 1 and any("larger arrays do not fit" in note for note in made["notes"]), made)
    need(1 << 24 <= made["trials"]["sizes"]["N"]["tried"] < 17000000 and made["trials"]["largest"] < 40000000, made["trials"])


def check_against(ops, right, wrong, work):
    """Tests comparisons: by counters if the device has no model, by estimates if it has one, and with the best
    configuration of another spec. It also tests the errors of the option."""
    made = verdict(ops / "axpby.yaml", right, "--against", "reference")["comparison"]
    need(made["kind"] == "counted" and made["variant"] == "reference" and made["faster"] is None, made)
    need(0 < made["candidate"]["instructions"] < made["against"]["instructions"] and made["candidate"]["right"], made)
    need(made["ratio"] is None and made["candidate"]["seconds"] is None, made)
    made = verdict(ops / "axpby.yaml", right, "--against", "reference", device="sim:h200")["comparison"]
    need(made["kind"] == "estimated" and made["low"] is None and made["timed_size_set"] == "large", made)
    need(abs(made["ratio"] - made["against"]["seconds"] / made["candidate"]["seconds"]) < 1e-6, made)
    need(made["faster"] == ("candidate" if made["ratio"] > 1.01 else "neither"), made)
    page = run(ops / "axpby.yaml", right, "--against", "reference", device="sim:h200").stdout
    need("compared       with reference of axpby, estimated" in page and "by the estimate" in page, page)
    # another spec, whose best configuration is in a store
    (work / "halves.yaml").write_text(
        "kiln: 1\nname: halves\nsource: halves.cu\nsizes: {tiny: {N: 1000}, large: {N: 1048576}}\n"
        "buffers:\n  x: {type: f32, shape: [N], fill: 1}\n  z: {type: f32, shape: [N], out: true}\n"
        "verify: {z: {against: {variant: halve}, rtol: 0}}\n"
        "variants:\n  halve:\n    params: {B: [32, 256]}\n"
        '    launch: {kernel: halve, grid: ["ceil_div(N, B)"], block: [B], args: [x, z, N]}\n')
    (work / "halves.cu").write_text('extern "C" __global__ void halve(const float *x, float *z, int n)\n{\n'
                                    "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        z[i] = x[i] / 2;\n}\n")
    made = verdict(ops / "axpby.yaml", right, "--against", str(work / "halves.yaml"))["comparison"]
    need(made["spec"] == "halves" and made["params"] == {"B": 32} and made["origin"] == "best known: the defaults", made)
    store = work / "known.db"
    tuned = subprocess.run([KILN, "tune", str(work / "halves.yaml"), "--device", "sim:h200", "-s", "tiny", "--store", str(store)],
                           capture_output=True, text=True, timeout=300, check=False)
    need(tuned.returncode == 0, tuned.stderr)
    made = verdict(ops / "axpby.yaml", right, "--against", str(work / "halves.yaml"), "--store", str(store), device="sim:h200")["comparison"]
    need(made["origin"] == "best known: these sizes on this device" and made["params"] in ({"B": 32}, {"B": 256}), made)
    need(verdict(ops / "axpby.yaml", wrong, "--against", "reference")["comparison"] is None, "a wrong candidate is compared")
    (work / "unsized.yaml").write_text((work / "halves.yaml").read_text().replace("N", "M"))
    for word, says in (("nowhere", "nowhere: axpby has no such variant"), (str(work / "unsized.yaml"), "'N'")):
        done = run(ops / "axpby.yaml", right, "--against", word)
        need(done.returncode != 0 and says in done.stderr and not done.stdout, f"{word}: {done.returncode} {done.stderr}")


def check_devices(spec, right, wrong):
    done = run(spec, right, "--json", device="sim:h200,sim")
    made = json.loads(done.stdout)
    jsonschema.validate(made, MANY)
    for one in made["devices"]:
        jsonschema.validate(one, SCHEMA)
    need(done.returncode == 0 and made["verdict"] == "pass" and made["timed_device"] is None and made["untried"] == [], made)
    need([one["environment"]["device"] for one in made["devices"]] == ["sim:h200", "sim:generic"], made)
    done = run(spec, wrong, "--json", device="sim:h200,sim")
    made = json.loads(done.stdout)
    jsonschema.validate(made, MANY)
    need(done.returncode == 14 and made["verdict"] == "wrong" and made["device"] == "sim:h200" and made["untried"] == ["sim"], made)
    page = run(spec, wrong, device="sim:h200,sim").stdout
    need(page.startswith("wrong: ") and ", on sim:h200\n" in page and "not tried on sim, " in page and "z[40] is " in page, page)
    for names, code, says in (("sim,sim:nowhere", 2, "'sim:nowhere'"), ("sim,,sim:h200", 2, "empty name"), ("sim,sim", 2, "sim twice")):
        done = run(spec, right, device=names)
        need(done.returncode == code and says in done.stderr and not done.stdout, f"{names}: {done.returncode} {done.stderr}")


def read_lines(done, names):
    """Returns the lines of a batch. The candidates must be `names`, in this order."""
    made = [json.loads(line) for line in done.stdout.splitlines()]
    need([pathlib.Path(line["candidate"]).name for line in made] == names, made)
    for line in made:
        jsonschema.validate(line, MANY["$defs"]["line"])
        if line["result"]:
            jsonschema.validate(line["result"], SCHEMA)
            need(line["result"]["verdict"] == line["verdict"] and line["error"] is None, line)
    return made


def check_batch(spec, work, right, wrong, endless):
    folder = work / "batch"
    folder.mkdir()
    for name, path in (("b_right.cu", right), ("a_wrong.cu", wrong)):
        (folder / name).write_text(path.read_text())
    (folder / "notes.txt").write_text("no candidate")
    for jobs in ("1", "3"):
        done = run(spec, folder, "--candidate", str(right), "--json", "--jobs", jobs, "--cache-dir", str(work / "cache"))
        made = read_lines(done, ["a_wrong.cu", "b_right.cu", right.name])
        need([line["verdict"] for line in made] == ["wrong", "pass", "pass"] and done.returncode == 14, made)
        # An equal candidate is judged once, and not again in the second run. With another seed it is judged again.
        need([line["cached"] for line in made] == ([False, False, True] if jobs == "1" else [True] * 3), made)
    made = read_lines(run(spec, folder, "--json", "--seed", "1", "--cache-dir", str(work / "cache")), ["a_wrong.cu", "b_right.cu"])
    need([line["cached"] for line in made] == [False, False], made)
    # `kiln cache clear` removes the kept verdicts. The judge keeps no verdict in a folder to which others may write.
    subprocess.run([KILN, "cache", "clear", "--cache-dir", str(work / "cache")], check=True, stdout=subprocess.DEVNULL)
    need(not list((work / "cache" / "verdicts").iterdir()), "cleared verdicts are there")
    made = read_lines(run(spec, folder, "--json", "--cache-dir", str(work / "cache")), ["a_wrong.cu", "b_right.cu"])
    need([line["cached"] for line in made] == [False, False], made)
    (work / "cache" / "verdicts").chmod(0o777)
    made = read_lines(run(spec, folder, "--json", "--cache-dir", str(work / "cache")), ["a_wrong.cu", "b_right.cu"])
    need([line["cached"] for line in made] == [False, False], made)
    made = read_lines(run(spec, folder, "--json", "--no-cache"), ["a_wrong.cu", "b_right.cu"])
    need([line["cached"] for line in made] == [False, False], made)
    alone = verdict(spec, folder / "a_wrong.cu")
    need(made[0]["result"]["digest"] == alone["digest"], "a batch gives another verdict")
    # The compiler writes its folder into the code, but the digest does not depend on it.
    elsewhere = subprocess.run([KILN, "judge", str(spec.resolve()), "-c", str((folder / "a_wrong.cu").resolve()), "-d", "sim", "--json", "--no-cache"],
                               cwd=work, stdout=subprocess.PIPE, check=False)
    need(json.loads(elsewhere.stdout)["digest"] == alone["digest"], "another folder gives another digest")
    table = run(spec, folder).stdout.splitlines()
    need(len(table) == 3 and "wrong" in table[1] and "z[40] is " in table[1] and table[2].endswith("pass"), table)
    done = run(spec, work / "none.cu", "--candidate", str(right), "--json")
    made = read_lines(done, ["none.cu", right.name])
    need(made[0]["error"]["status"] == "KILN_ERROR_IO" and made[1]["verdict"] == "pass" and done.returncode == 5, made)
    (work / "empty").mkdir()
    done = run(spec, work / "empty")
    need(done.returncode != 0 and "has no file that ends in .cu" in done.stderr, done.stderr)

    # the process of the first candidate is killed while the kernel runs; it is the only one that has a child
    batch = subprocess.Popen([KILN, "judge", str(spec), "-c", str(endless), "-c", str(right), "--device", "sim", "--jobs", "1",
                              "--launch-limit", "300", "--no-cache", "--json"], stdout=subprocess.PIPE, text=True)
    def children(pid):
        try:
            return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except OSError:
            return []
    while batch.poll() is None:
        found = [pid for pid in children(batch.pid) if children(pid)]
        if found:
            os.kill(found[0], signal.SIGKILL)
            break
        time.sleep(0.01)
    out, _ = batch.communicate(timeout=600)
    made = read_lines(subprocess.CompletedProcess([], batch.returncode, out), [endless.name, right.name])
    need(made[0]["error"] and made[1]["verdict"] == "pass" and batch.returncode == 12, made)


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
        words = {  # the verdict, and the candidate that gets it
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
        # An unsafe access before the time limit decides the verdict, and not the time limit.
        late = source("late", "    z[i] = a * x[i] + b * y[i];\n    for (volatile int k = 0; k == 0;)\n        ;\n}\n")
        need(verdict(ops / "axpby.yaml", late, "--launch-limit", "1")["verdict"] == "unsafe", "a time limit hides an unsafe access")
        endless = source("endless", "    if (i < n)\n        for (volatile int k = 0; k == 0;)\n            ;\n}\n")
        need(verdict(ops / "axpby.yaml", endless, "--launch-limit", "1")["verdict"] == "timeout", "a kernel without an end")

        check_devices(ops / "axpby.yaml", right, wrong)
        check_batch(ops / "axpby.yaml", work, right, wrong, endless)
        made = verdict(ops / "axpby.yaml", right, "--budget", "0.000001")
        need(made["verdict"] == "undecided" and "0 trials ran in the budget of 1e-06 s" in made["message"] and "(--budget)" in made["message"], made)

        first, again, other = (verdict(ops / "axpby.yaml", wrong, "--seed", seed) for seed in ("5", "5", "6"))
        need(first["digest"] == again["digest"] and first["case"] == again["case"], "one seed gives two verdicts")
        need(first["case"]["seed"] != other["case"]["seed"], "two seeds give one case")
        case = first["case"]
        need(case["sizes"] == {"N": 41} and case["number"] == 40 and case["element"] == "z[40]" and case["wrong"] == 1,
             f"the smallest case is N = 41: {case}")
        need(float(case["expected"]) != float(case["got"]), "expected is got")

        need(verdict(ops / "axpby.yaml", wrong, "--seed", "0")["case"] == verdict(ops / "axpby.yaml", wrong)["case"],
             "0 is the default seed")

        # A verdict tells which sizes it does not cover.
        for name in ("axpby.cu", "references.cu"):
            (work / name).write_text((ops / name).read_text())
        (work / "wide.yaml").write_text((ops / "axpby.yaml").read_text().replace("N: {from: 0, to: 1000000}", "N: {from: 0, to: 100000000}"))
        made = verdict(work / "wide.yaml", right)
        need(made["trials"]["sizes"] == {"N": {"tried": 2100003, "of": 100000000}}, made["trials"])
        need("N was tried up to 2100003 of 100000000" in made["notes"], made["notes"])

        page = run(ops / "axpby.yaml", wrong).stdout
        need(page.startswith("wrong: ") and "smallest case  N=" in page and "z[40] is " in page, f"a page:\n{page}")

        # A finding has the line of the source.
        finding = verdict(ops / "axpby.yaml", words["unsafe"])["findings"][0]
        need(finding["line"] == 4 and finding["source"].strip().startswith("z[i] =") and finding["file"] == "unsafe.cu", finding)

        # An estimated time has the kind `estimated`.
        times = verdict(ops / "axpby.yaml", right, device="sim:h200")["times"]
        need(times["kind"] == "estimated" and times["seconds"] > 0 and times["against"] == times["seconds"], times)

        # The contract decides: this kernel is right only for multiples of 4.
        quads = source("quads", "    if (4 * i + 3 < n)\n        for (int k = 4 * i; k < 4 * i + 4; k++)\n"
                       "            z[k] = a * x[k] + b * y[k];\n}\n")
        need(verdict(ops / "axpby.yaml", quads)["verdict"] == "unwritten", "a kernel for multiples of 4 passes")
        text = (ops / "axpby.yaml").read_text().replace("N: {from: 0, to: 1000000}", "N: {from: 0, to: 1000000, multiple: 4}")
        for name in ("axpby.cu", "references.cu"):
            (work / name).write_text((ops / name).read_text())
        (work / "fours.yaml").write_text(text)
        need(verdict(work / "fours.yaml", quads)["verdict"] == "pass", "a kernel for multiples of 4 fails at them")

        # The fill of the spec is one of the tried contents, whatever the range of the contract is.
        text = (ops / "axpby.yaml").read_text().replace("x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}",
                                                        "x: {type: f32, shape: [N], fill: 0.375}")
        (work / "filled.yaml").write_text(text.replace("x: {align: 4}", "x: {from: -1, to: 1, align: 4}"))
        known = source("known", "    if (i < n)\n        z[i] = x[i] == 0.375f ? 0 : a * x[i] + b * y[i];\n}\n")
        made = verdict(work / "filled.yaml", known)
        need(made["verdict"] == "wrong" and made["case"]["contents"] == "fill", made["case"])
        unknown = source("unknown", "    if (i < n)\n        z[i] = x[i] == 0.375f ? a * x[i] + b * y[i] : 0;\n}\n")
        made = verdict(work / "filled.yaml", unknown)
        need(made["verdict"] == "wrong" and made["case"]["contents"] != "fill", made["case"])

        # If sizes are macros, the judge compiles and examines the code again for another size.
        (work / "baked.yaml").write_text((ops / "axpby.yaml").read_text().replace("variants:\n", "bake: [N]\nvariants:\n")
                                         .replace("N: {from: 0, to: 1000000}", "N: {from: 1, to: 50}"))
        baked = source("baked", "    static __device__ int calls;\n    if (i < n)\n        z[i] = a * x[i] + b * y[i];\n"
                       "    if (i == 0 && N == 51)\n        calls++;\n}\n")
        need(verdict(work / "baked.yaml", baked)["verdict"] == "pass", "a kernel with its size as a macro fails")
        for word, line in (("compile", "#error"), ("forbidden", '    printf("%d", i);')):
            late = source(f"late_{word}", f"#if N == 33\n{line}\n#endif\n    if (i < n)\n        z[i] = a * x[i] + b * y[i];\n}}\n")
            need(verdict(work / "baked.yaml", late)["verdict"] == word, f"a kernel that is {word} at one size passes")

        # A compile that does not end gives `timeout`, also if another size starts it.
        endless = (FOLDER / "museum" / "compiles_for_ever.cu").read_text().split("#if CHEAT\n")[1].split("#endif")[0]
        slow = source("slow", "    if (i < n)\n        z[i] = a * x[i] + b * y[i];\n}\n", f"#if N == 33\n{endless}#endif\n{HEAD}")
        made = verdict(work / "baked.yaml", slow, "--sandbox", "off", "--compile-timeout", "3")
        need(made["verdict"] == "timeout", f"an endless compile of one size: {made['verdict']}: {made['message']}")

        check_against(ops, right, wrong, work)
        check_clocks(ops / "axpby.yaml", source)
        check_special(work)
        check_steps(work)
        check_sets(work)
        check_huge(work)
        check_cuts(work)
        check_hostile(ops / "axpby.yaml", work)
        check_few(work)
        check_large(ops, work)
        check_calls(work)
        check_late_block(work)
        check_sizes(work)
        check_endless(ops, work)
        if sys.argv[4:] == ["stand-in"]:
            check_timed(work)
            check_memory(FOLDER / "large")

        # Texts are printed unchanged, with one newline at the end.
        named = source("k\u00e9\u6838", "    nonsense;\n}\n")
        done = run(ops / "axpby.yaml", named, "--json")
        need(json.loads(done.stdout)["candidate"] == named.name, f"a name in UTF-8: {done.stdout}")
        need(done.stdout.endswith("}\n") and not done.stdout.endswith("\n\n"), "an empty line behind the JSON")

        # The verdict mentions a sandbox only if there is one.
        spec = (ops / "axpby.yaml").read_text().replace("{variant: reference}", "{command: ['false']}")
        (work / "commands.yaml").write_text(spec)
        made = verdict(work / "commands.yaml", right, "--allow-commands", "--budget", "0.000001")
        need(made["environment"]["sandbox"] is False, "a spec with commands is said to run in a sandbox")

        # The judge reads the whole file, also after a NUL.
        (work / "zero.cu").write_bytes(right.read_bytes() + b"\0\n#error the rest\n")
        zero = run(ops / "axpby.yaml", work / "zero.cu")
        need(zero.returncode == 2 and "zero byte" in zero.stderr, f"a zero byte: {zero.returncode} {zero.stderr}")

        # Errors give no verdict.
        none = run(ops / "axpby.yaml", work / "none.cu", "--json")
        need(none.returncode == 5 and "error" in json.loads(none.stdout), f"no file: {none.stdout}")
        (work / "bare.yaml").write_text(text.replace("verify: {z: {against: {variant: reference}, rtol: 1e-6, atol: 1e-6}}", ""))
        bare = run(work / "bare.yaml", right)
        need(bare.returncode == 3 and "no 'verify'" in bare.stderr, f"no references: {bare.returncode} {bare.stderr}")
        need(subprocess.run([KILN, "judge", str(ops / "axpby.yaml")], capture_output=True, check=False).returncode == 2, "no candidate")

        # A complete judgement leaves no file in the folder of the spec.
        before = sorted(path.name for path in work.iterdir())
        verdict(work / "fours.yaml", right)
        need(before == sorted(path.name for path in work.iterdir()), "files are left behind")
    return 0


if __name__ == "__main__":
    sys.exit(main())
