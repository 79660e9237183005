#!/usr/bin/env python3
"""tutorial.py KILN LIBRARY SOURCE_FOLDER: checks that every file and every command of engine/book/tutorial.md works, in
their order.

A fenced block whose first line is a comment with the name of a file is that file. An indented line is a command. The
test starts `kiln` from the build folder, and replaces the flags of pkg-config by the flags of the build. LIBRARY is the
shared library."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy  # noqa: F401 # the reference of the tutorial needs numpy
except ImportError:
    print("SKIP tool: Python has no numpy (tools/setup.sh --test installs it)")
    sys.exit(77)

# Patterns that the output of a command must match.
EXPECTED = {
    "kiln run": r"answer +verified",
    "kiln check": r"9 configurations checked, nothing found",
    "kiln tune": r"configurations +9: 9 verified, 0 failed",
    "kiln profile": r"blur +1 launch",
    "kiln best": r"1 configuration written",
    "./blur": r"^default BLOCK=\d+ ITEMS=\d+, known from the nearest sizes on this device\noutput\[500\] is 2\.0$",
}


def main():
    kiln, library, source = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    text = (source / "engine/book/tutorial.md").read_text()
    files = {name: body for body, name in re.findall(r"^```\w+\n((?://|#|/\*) (\w+\.\w+).*?)^```$", text, re.M | re.S)}
    commands = re.findall(r"^ {4}(\S.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    if sorted(files) != ["blur.c", "blur.cu", "blur.py", "blur.yaml"] or len(commands) < 8:
        print(f"FAIL: the page has the files {sorted(files)} and the commands {commands}")
        return 1
    with tempfile.TemporaryDirectory() as work:
        for name, body in files.items():
            pathlib.Path(work, name).write_text(body)
        environment = dict(os.environ, HOME=work, KILN_DEVICE="sim:h200", LD_LIBRARY_PATH=str(library.parent),
                           PATH=os.pathsep.join((os.path.dirname(kiln), os.path.dirname(sys.executable), os.environ["PATH"])))
        environment["KILN_CACHE_DIR"] = os.environ.get("KILN_TEST_CACHE") or work + "/cache"
        for name in ("KILN_PATH", "KILN_STORE"):
            environment.pop(name, None)
        flags = f"-I{source}/engine/include -L{library.parent} -lkiln"
        for command in commands:
            run = re.sub(r"\$\(pkg-config [^)]*\)", flags, command)
            done = subprocess.run(["sh", "-c", run], cwd=work, env=environment, capture_output=True, text=True, check=False)
            want = next((pattern for begin, pattern in EXPECTED.items() if command.startswith(begin)), "")
            if done.returncode or not re.search(want, done.stdout + done.stderr, re.M):
                print(f"FAIL: {command}: exit code {done.returncode}, expected '{want}'\n{done.stdout}{done.stderr}")
                return 1
        for name in ("guess.yaml", "known.yaml"):
            if not pathlib.Path(work, name).exists():
                print(f"FAIL: no command wrote {name}")
                return 1
        # Plants the fault that the page suggests: without the test of the bound, the checks must find something.
        kernel = pathlib.Path(work, "blur.cu")
        kernel.write_text(re.sub(r" *if \(i >= n\)\n *return;\n", "", kernel.read_text()))
        done = subprocess.run([kiln, "check", "--allow-commands", "blur.yaml"], cwd=work, env=environment,
                              capture_output=True, text=True, check=False)
        if done.returncode != 1 or "out of bounds" not in done.stdout:
            print(f"FAIL: the fault of the page is not found: {done.stdout}{done.stderr}")
            return 1
    print(f"{len(files)} files and {len(commands)} commands of the tutorial work")
    return 0


if __name__ == "__main__":
    sys.exit(main())
