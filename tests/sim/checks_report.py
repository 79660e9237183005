"""checks_report.py LIBCUDA tests how KILN_SIM_CHECK reports findings: as text and XML of compute-sanitizer, in a file,
with suppressions, and with an exit code. The program is checks_text.py. Its kernel writes out of bounds, and it does
not free 64 bytes."""
import os, pathlib, subprocess, sys, tempfile
import xml.etree.ElementTree as ET

PROGRAM = [sys.executable, str(pathlib.Path(__file__).with_name("checks_text.py")), sys.argv[1]]
FILE = "e\\x1b[31mvil\\xc2\\x9b.cu"


def run(*symbol, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KILN_SIM_CHECK")}
    environment |= {"KILN_SIM_CHECK": "1"} | {"KILN_SIM_CHECK_" + k: str(v) for k, v in variables.items()}
    done = subprocess.run([*PROGRAM, *symbol], env=environment, capture_output=True, text=True)
    return done.returncode, done.stderr


def check(what, is_so):
    if not is_so:
        sys.exit(f"wrong: {what}")


code, text = run()
check(f"two findings: {text}", code == 0 and "kiln checks: 2 findings, 0 notes\n" in text)
check("the exit code", run(EXIT=7)[0] == 7)

code, text = run(FORMAT="sanitizer", EXIT=1)
lines = text.splitlines()
check(f"text: {text}", code == 1 and lines[0] == "========= COMPUTE-SANITIZER" and
      lines[1] == "========= Invalid __global__ write of size 4 bytes" and
      lines[2] == f"=========     at k in {FILE}:3" and
      lines[3] == "=========     by thread (0,0,0) in block (0,0,0)" and
      lines[4].endswith(" is out of bounds") and "========= Leaked 64 bytes at 0x" in text and
      lines[-1] == "========= ERROR SUMMARY: 2 errors" and all(line.startswith("=========") for line in lines))

with tempfile.TemporaryDirectory() as folder:
    file, suppress = pathlib.Path(folder, "report.xml"), pathlib.Path(folder, "suppressions")
    code, text = run(FORMAT="sanitizer-xml", FILE=file)
    root = ET.parse(file).getroot()
    records = root.findall("record")
    first = {name: records[0].findtext(name) for name in
             ("kind", "level", "what/space", "what/size", "what/direction", "where/func", "where/line", "who/threadIdx/x")}
    check(f"XML: {ET.tostring(root)}", text == "" and root.tag == "ComputeSanitizerOutput" and len(records) == 2 and
          first == {"kind": "Precise", "level": "Error", "what/space": "global", "what/size": "4",
                    "what/direction": "Write", "where/func": "k", "where/line": "3", "who/threadIdx/x": "0"} and
          records[0].findtext("what/text").startswith("Invalid __global__ write of size 4 bytes: write of 4 bytes at"))

    for lines, left in (("# nothing\n", 2), ("leak\n", 1), ("out-of-bounds k *.cu:3\n", 1), ("out-of-bounds j\n", 2),
                        ("out-of-bounds * *.cu:4\n", 2), ("*", 0)):
        suppress.write_text(lines)
        code, text = run(SUPPRESS=suppress, EXIT=3)
        words = f"kiln checks: {left} finding{'s' if left != 1 else ''}, 0 notes"
        words += f", {2 - left} suppressed\n" if left < 2 else "\n"
        check(f"{lines!r}: {code}, {text}", words in text and code == (3 if left else 0))

# Any number of suppressed findings leaves room for the other findings.
with tempfile.TemporaryDirectory() as folder:
    suppress = pathlib.Path(folder, "suppressions")
    suppress.write_text("out-of-bounds * other.cu:*\n")
    code, text = run("k", "3000", SUPPRESS=suppress, EXIT=3)
    check(f"many suppressed: {text[-500:]}", code == 3 and f"at {FILE}:3" in text and
          "kiln checks: 2 findings, 0 notes, 3000 suppressed\n" in text)
    code, text = run("k", "300", EXIT=3)
    check(f"many: {text[-500:]}", code == 3 and
          "kiln checks: 256 findings, 0 notes; further findings were dropped\n" in text)

# If there is a demangler, a mangled name is shown as in the source. A suppression may have either form of the name.
SYMBOL, NAME = "_Z5twiceILi4EEvPf", "void twice<4>(float*)"
if subprocess.run(["sh", "-c", "ldconfig -p | grep -q libstdc++.so.6"]).returncode == 0:
    code, text = run(SYMBOL)
    check(f"a kernel's name: {text}", f"in kernel {NAME}," in text and SYMBOL not in text)
    code, text = run(SYMBOL, FORMAT="sanitizer")
    check(f"a kernel's name in the sanitizer's text: {text}", f" at {NAME} in " in text)
    with tempfile.TemporaryDirectory() as folder:
        file, suppress = pathlib.Path(folder, "report.xml"), pathlib.Path(folder, "suppressions")
        run(SYMBOL, FORMAT="sanitizer-xml", FILE=file)
        check("a kernel's name in XML", ET.parse(file).getroot().find("record").findtext("where/func") == NAME)
        for pattern in (SYMBOL, "*twice<4>*"):
            suppress.write_text(f"out-of-bounds {pattern}\n")
            check(f"suppressed by {pattern}", "1 suppressed" in run(SYMBOL, SUPPRESS=suppress)[1])

code, text = run(FORMAT="html")
check(f"a format that is none: {text}", "is kiln, sanitizer, sanitizer-xml or json, not 'html'" in text and "2 findings" in text)
code, text = run(SUPPRESS="/no/such/file")
check(f"no such file: {text}", "KILN_SIM_CHECK_SUPPRESS" in text and "2 findings" in text)
