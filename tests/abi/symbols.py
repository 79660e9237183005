#!/usr/bin/env python3
"""symbols.py LIBRARY LEAST HEADER...: checks that the library exports exactly the functions that the headers declare
KILN_API, each under a version. It also checks that each header compiles alone as C and C++, with the headers of
engine/include. If there are fewer functions than LEAST, the test fails, because the program did not understand the
headers."""
import os
import pathlib
import re
import shlex
import subprocess
import sys

library, least, headers = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
include = pathlib.Path(__file__).resolve().parents[2] / "engine" / "include"
bad, declared = [], set()
for path in headers:
    text = re.sub(r"/\*.*?\*/", " ", open(path, encoding="utf-8").read(), flags=re.S)
    text = re.sub(r"^#(.*\\\n)*.*$", " ", text, flags=re.M)
    declared |= set(re.findall(r"KILN_API[^;{(]*?(\w+)\(", text))
    for language, compiler in (("c", os.environ.get("CC", "cc")), ("c++", os.environ.get("CXX", "c++"))):
        command = shlex.split(compiler) + ["-x", language, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                                           "-I", str(include), "-"]
        try:
            made = subprocess.run(command, input=f'#include "{os.path.abspath(path)}"\n', capture_output=True, text=True)
        except FileNotFoundError:
            print(f"not looked at: {os.path.basename(path)} as {language}, for there is no {compiler}")
            continue
        if made.returncode:
            bad.append(f"{path} does not compile by itself as {language}:\n{made.stderr}")

exported = {}
for line in subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines():
    kind, symbol = line.split()[-2:]
    name, _, version = symbol.partition("@@")
    if kind != "A":  # leaves out the version nodes themselves
        exported[name] = version
bad += [f"{name} is declared and not exported" for name in sorted(declared - exported.keys())]
bad += [f"{name} is exported and not declared" for name in sorted(exported.keys() - declared)]
bad += [f"{name} has no version" for name, version in sorted(exported.items()) if not version.startswith("KILN_")]
if len(declared) < least:
    bad.append(f"only {len(declared)} functions were found in the headers")
for line in bad:
    print(line, file=sys.stderr)
print(f"{len(exported)} exported, {len(declared)} declared, versions {' '.join(sorted(set(exported.values())))}")
sys.exit(1 if bad else 0)
