#!/usr/bin/env python3
"""skips.py ROOT: checks that every skip in the tests names a class of tests/skips.py. It also checks tests/skips.py:
the program lists skips, and its exit code is 1 if a machine could have run a skipped test after tools/setup.sh --test."""
import sys

sys.path.pop(0)  # removes this folder from the path: its locale.py would hide Python's module, which subprocess imports
import pathlib  # noqa: E402
import re  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402

root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root / "tests"))
sys.dont_write_bytecode = True
import skips  # noqa: E402

failed = 0


def check(holds: bool, what: str) -> None:
    global failed
    if not holds:
        failed += 1
        print(f"FAIL: {what}")


KINDS = {".c", ".h", ".sh", ".py", ".cmd", ".txt"}
MARK = re.compile(r"""["'(]\s*(?:SKIP(?:PED)?(?::|\s*\()|[a-z.]*:? ?skipped:)|SKIP ([a-z0-9-]+):""")
for path in sorted((root / "tests").rglob("*")):
    if path.suffix in KINDS and path.name != "skips.py" and "bench" not in path.parts and path.is_file():
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for match in MARK.finditer(line):
                check(match[1] in skips.CLASSES, f"{path.relative_to(root)}:{number}: a skip prints `SKIP CLASS: why`, with a "
                      f"class that tests/skips.py has")


def listed(cases: str, fuzz: str = "") -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder:
        xml, log = pathlib.Path(folder, "release-tests.xml"), pathlib.Path(folder, "fuzz-tests.log")
        xml.write_text(f"<testsuite>{cases}</testsuite>")
        log.write_text(fuzz)
        done = subprocess.run([sys.executable, root / "tests/skips.py", xml, log], text=True, capture_output=True)
        return done.returncode, done.stdout + done.stderr


def skipped(name: str, out: str) -> str:
    return (f'<testcase name="{name}" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
            f"<system-out>{out}</system-out></testcase>")


code, out = listed(skipped("one", "SKIP data: there is no x") +
                   '<testcase name="two" status="run"><system-out>Test: a ...SKIP build: a: not here\npassed</system-out></testcase>',
                   "== fuzz: fuzz_a: 5 inputs\n")
check(code == 0 and "1 tests, and 1 parts" in out and "there is no x: release/one" in out and
      "a: not here: part of release/two" in out, f"a list of what may be skipped: {code} {out}")
for name, cases, fuzz in (("a tool", skipped("one", "SKIP tool: there is no zsh"), ""), ("no line", skipped("one", "nothing"), ""),
                          ("an unknown class", skipped("one", "SKIP whim: no"), ""),
                          ("a part", '<testcase name="a" status="run"><system-out>SKIP mpi: none</system-out></testcase>', ""),
                          ("a fuzz target", "", "== fuzz: fuzz_jit: SKIP llvm: none\n")):
    code, out = listed(cases, fuzz)
    check(code == 1 and "FAIL: this machine could have run" in out, f"{name} may not be skipped: {code} {out}")
check(listed("")[0] == 0, "nothing skipped is right")
sys.exit(failed != 0)
