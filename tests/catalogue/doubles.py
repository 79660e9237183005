#!/usr/bin/env python3
"""doubles.py KILN SPEC: computes the exact errors of the variants of dgemm, on numbers that the fills of a spec do not produce.

The numbers are: rows that differ by powers of two up to 2^1000; numbers of a row that differ by 2^60; infinities, NaN, denormals,
zeros and the largest numbers. If all numbers are finite, the error of `residues` must be below 2^-53 times the length of the row
times the length of the column. If the numbers have similar sizes, the error must also not exceed that of a sum in double
precision. If a sum in double precision is infinite or NaN, `residues` must give the same result."""
import math, os, random, struct, subprocess, sys, tempfile
from fractions import Fraction

M, N, K = 19, 13, 37


def write(path, rows, columns, numbers):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack(f"<{len(numbers)}d", *numbers))


def read(path):
    data = open(path, "rb").read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return struct.unpack(f"<{len(data) // 8}d", data)


def make(kind):
    a = [[random.uniform(-1, 1) for _ in range(K)] for _ in range(M)]
    b = [[random.uniform(-1, 1) for _ in range(N)] for _ in range(K)]
    if kind == "rows":
        a = [[math.ldexp(x, power) for x in row] for row in a for power in [random.randint(-1000, 1000)]]
        powers = [random.randint(-20, 20) for _ in range(N)]
        b = [[math.ldexp(x, power) for x, power in zip(row, powers)] for row in b]
    if kind == "spread":
        a = [[math.ldexp(x, random.randint(-30, 30)) for x in row] for row in a]
        b = [[math.ldexp(x, random.randint(-30, 30)) for x in row] for row in b]
    if kind == "special":
        a[3][5], a[4][6], b[7][2], b[3][4] = math.inf, math.nan, -math.inf, 1.7e308
        a[8], a[9] = [0.0] * K, [5e-324] * K
        a[10] = [1.7e308 if k == 3 else 0.0 for k in range(K)]
        a[11] = [1e300 * x for x in a[11]]
        for k in range(K):
            b[k][6], b[k][7] = 0.0, 5e-324 * random.randint(0, 9)
    return a, b


def run(kiln, spec, variant, folder):
    command = [kiln, "run", spec, "-v", variant, "--device", "sim", "--no-measure", "--no-verify"]
    for name, value in (("M", M), ("N", N), ("K", K)):
        command += ["-s", f"{name}={value}"]
    command += ["--input", f"A={folder}/A.npy", "--input", f"B={folder}/B.npy", "--output", f"C={folder}/C.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stderr}")
    return read(f"{folder}/C.npy")


def check(kiln, spec, kind, folder):
    """Returns what is wrong, and the greatest errors of both variants over the lengths, in units of 2^-53."""
    random.seed(kind)
    a, b = make(kind)
    write(f"{folder}/A.npy", M, K, [x for row in a for x in row])
    write(f"{folder}/B.npy", K, N, [x for row in b for x in row])
    answers = [run(kiln, spec, variant, folder) for variant in ("units", "residues")]
    wrong, worst = [], [0.0, 0.0]
    for i in range(M):
        for j in range(N):
            column = [b[k][j] for k in range(K)]
            sums, residues = (answer[i * N + j] for answer in answers)
            if not all(map(math.isfinite, a[i] + column)) or not math.isfinite(sums):
                if not (sums == residues or math.isnan(sums) and math.isnan(residues)):
                    wrong.append(f"{kind}: C[{i}, {j}] is {residues}, a sum in double precision {sums}")
                continue
            exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a[i], column))
            lengths = sum(Fraction(x) ** 2 for x in a[i]) * sum(Fraction(y) ** 2 for y in column)
            for v, value in enumerate((sums, residues)):
                error = max(abs(Fraction(value) - exact) - Fraction(5e-324), 0) # a denormal's last place
                if lengths == 0 and error > 0:
                    wrong.append(f"{kind}: C[{i}, {j}] is {value} in place of 0")
                elif error > 0:
                    worst[v] = max(worst[v], math.sqrt(error * error / lengths * 2 ** 106))
    return wrong, worst


def main():
    kiln, spec = sys.argv[1:]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KILN_CACHE_DIR"] = os.environ.get("KILN_TEST_CACHE") or folder
        for kind in ("plain", "rows", "spread", "special"):
            found, worst = check(kiln, spec, kind, folder)
            print(f"{kind}: 2^-53 times {worst[0]:.2f} by sums in double precision, {worst[1]:.2f} by residues")
            wrong += found
            if worst[1] >= 1 or kind in ("plain", "rows") and worst[1] > worst[0]:
                wrong.append(f"{kind}: the error of residues is too large")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
