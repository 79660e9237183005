#!/usr/bin/env python3
"""targets.py PTXAS FILE compares targets.txt with ptxas. If no ptxas knows all targets, it prints this and ends with
77."""
import re
import subprocess
import sys
import tempfile

TARGETS = {75: "75", 80: "80", 86: "86", 89: "89", 90: "90a", 100: "100a", 103: "103a", 110: "110a", 120: "120a", 121: "121a"}
HEAD = """.version 9.0
.target sm_%s
.address_size 64
.visible .entry k()
{
.reg .b8 %%b<40>;
.reg .b16 %%h<40>;
.reg .b32 %%r<40>;
.reg .b64 %%rd<40>;
.reg .b128 %%q<40>;
.reg .pred %%p<40>;
"""


def refused(ptxas, target, instructions):
    """Returns the indices of the instructions that ptxas refuses."""
    head = HEAD % target
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(head + "\n".join(instructions) + "\nret;\n}\n")
        file.flush()
        run = subprocess.run([ptxas, "-arch", "sm_" + target, file.name, "-o", "/dev/null"],
                             capture_output=True, text=True, check=False)
    text = run.stdout + run.stderr
    lines = {int(line) for line in re.findall(r"line (\d+); error", text)}
    if run.returncode and not lines:
        print("SKIP nvcc: ptxas says", text.strip()[:300])
        sys.exit(77)
    return {line - head.count("\n") - 1 for line in lines}


def main():
    ptxas, path = sys.argv[1:]
    if ptxas.endswith("-NOTFOUND"):
        print("SKIP nvcc: there is no ptxas")
        return 77
    cases = []
    with open(path, encoding="ascii") as file:
        for line in file:
            if not line.startswith("#"):
                devices, instruction = line.rstrip("\n").split(" | ")
                cases.append(({int(d) for d in devices.split()}, instruction))
    wrong = 0
    for device, target in TARGETS.items():
        bad = refused(ptxas, target, [instruction for _, instruction in cases])
        for k, (devices, instruction) in enumerate(cases):
            if (k in bad) == (device in devices):
                wrong += 1
                print(f"sm_{target}: ptxas {'refuses' if k in bad else 'takes'} {instruction}")
    print(f"{len(cases)} instructions, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
