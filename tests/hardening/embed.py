#!/usr/bin/env python3
"""embed.py SOURCE CUDA_INCLUDE: configures a project that adds Kiln with add_subdirectory(). Kiln's files must be compiled and
linked with the flags of tools/hardening.cmake, and the project's own file and program without these flags. The test builds a
part of Kiln."""
import json
import pathlib
import subprocess
import sys
import tempfile

# every compiler that Kiln supports has these options
WANTED = ["-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE="]
LINKED = "-Wl,-z,relro,-z,now,-z,noexecstack"


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}:\n{done.stdout}{done.stderr}")
    return done.stdout


source, cuda = sys.argv[1:3]
with tempfile.TemporaryDirectory() as folder:
    run("cmake", "-S", str(pathlib.Path(__file__).parent / "embed"), "-B", folder, "-G", "Ninja",
        "-DCMAKE_BUILD_TYPE=Release", f"-DKILN_SOURCE={source}", f"-DKILN_CUDA_INCLUDE={cuda}")
    commands = json.loads((pathlib.Path(folder) / "compile_commands.json").read_text())
    own = [c for c in commands if c["file"].endswith("/embed/main.c")]
    kiln = [c for c in commands if "/engine/" in c["file"] or "/tools/" in c["file"]]
    assert len(own) == 1 and len(kiln) > 100, (len(own), len(kiln))
    for flag in WANTED:
        assert flag not in own[0]["command"], f"the project's own file has {flag}: {own[0]['command']}"
        for c in kiln:
            assert flag in c["command"], f"{c['file']} is compiled without {flag}: {c['command']}"

    def link(target):  # returns the command that links the target
        lines = run("ninja", "-C", folder, "-t", "commands", target).splitlines()
        return [line for line in lines if " -o " in line][-1]

    assert LINKED not in link("embed"), link("embed")
    for target in ["kiln", "kiln-worker", "kiln_shared", "kiln_cuda"]:
        assert LINKED in link(target), link(target)
    run("ninja", "-C", folder, "kiln_expr")
    print(f"{len(kiln)} files of Kiln are hardened, the project's own is as it says")
