#!/usr/bin/env python3
"""skips.py RESULTS...: lists the tests that a test run skipped, and why. The exit code is 1 if this machine could run one of them.

RESULTS are files that `ctest --output-junit` writes, or texts as tests/fuzz/run.sh prints, if the name ends with .log. A test that
skips something prints `SKIP CLASS: why`. CLASSES below has two tables of classes: what a class needs, and how the program finds
whether this machine has it. tools/setup.sh --test installs everything that the first table needs, so after tools/test.sh no such
test may be skipped. The second table is about the machine itself, and the program examines the machine. A test that is skipped
without such a line, or with a class that is in no table, counts as one that could run."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import xml.etree.ElementTree

YES, NO = (lambda: True), (lambda: False)


def runs(*words: str) -> bool:
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def opens_terminal() -> bool:
    try:
        for descriptor in os.openpty():
            os.close(descriptor)
        return True
    except OSError:
        return False


def has_browser_package() -> bool:
    """Tells whether tools/setup.sh can install Chromium. Debian has a package of it. Ubuntu only has a snap, which apt
    cannot install."""
    return shutil.which("chromium") is not None or shutil.which("chromium-headless-shell") is not None or \
        "ID=debian\n" in pathlib.Path("/etc/os-release").read_text()


def toolkit_lacks_cudart() -> bool:
    """Tells whether the test run used an installed toolkit. Without a toolkit, tools/setup.sh unpacks NVIDIA's wheels,
    which have libcudart."""
    return not pathlib.Path(__file__).parents[1].joinpath("build/cuda/lib/libcudart_static.a").exists()


# {class: (the needed thing, a function that tells whether this machine has it)}
INSTALLED = { # by tools/setup.sh --test
    "nvrtc": ("NVRTC and the CUDA headers", YES),
    "mpi": ("an MPI that compiles, links and starts programs", YES),
    "browser": ("Chromium, which is a package of Debian and not of Ubuntu", has_browser_package),
    "cudart": ("NVIDIA's static CUDA runtime, which an installed toolkit may lack", lambda: not toolkit_lacks_cudart()),
    "llvm": ("libLLVM", YES),
    "tool": ("a program or Python module that tools/setup.sh --test installs", YES),
}
MACHINE = {
    "gpu": ("an NVIDIA GPU", lambda: runs("nvidia-smi", "-L")),
    "nvcc": ("nvcc or ptxas of a CUDA toolkit", lambda: shutil.which("nvcc") is not None and shutil.which("ptxas") is not None),
    "headers": ("CUDA headers of libraries that are not among the wheels", NO),
    "data": ("recorded spaces of other projects, beside the tree", NO),
    "format": ("clang-format 14, which newer systems do not have", lambda: runs("apt-cache", "show", "clang-format-14")),
    "extra": ("a Python module that no package of the system has", NO),
    "build": ("another build, in which it runs", NO),
    "terminal": ("pseudo-terminals (/dev/pts)", opens_terminal),
    "mount": ("a mount namespace: root, or user namespaces", lambda: runs("unshare", "-m", "true") or runs("unshare", "-Urm", "true")),
    "seccomp": ("filters of system calls", NO),
    "confine": ("confinement of processes by the kernel", NO),
    "file-system": ("files without names in /tmp", NO),
    "cores": ("two cores", lambda: len(os.sched_getaffinity(0)) > 1),
    "root": ("root", lambda: os.geteuid() == 0),
    "processor": ("another processor", NO),
    "ptrace": ("ptrace of another process", NO),
    "ipv6": ("IPv6", NO),
}
CLASSES = INSTALLED | MACHINE
LINE = re.compile(r"SKIP ([a-z0-9-]+): (.*)")


def read(path: pathlib.Path) -> list[tuple[str, str, str]]:
    """Yields (class, why, test) for every skip in one file."""
    part = path.name.split("-")[0]
    if path.suffix == ".log":
        found = re.findall(r"^(?:== fuzz: )?(\S+): SKIP ([a-z0-9-]+): (.*)", path.read_text(), re.M)
        return [(kind, why, f"{part}/{name}") for name, kind, why in found]
    skips = []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{part}/{case.get('name')}"
        lines = LINE.findall(case.findtext("system-out") or "")
        if case.find("skipped") is None:
            skips += [(kind, why, f"part of {name}") for kind, why in lines]
        elif case.find("skipped").get("message") != "SKIP_RETURN_CODE=77" and not lines:
            skips.append(("unexplained", case.find("skipped").get("message") or "", name))
        else:
            skips.append((*(lines[-1] if lines else ("unexplained", "it prints no line `SKIP CLASS: why`")), name))
    return skips


def main() -> int:
    skips = sorted(set(skip for path in sys.argv[1:] for skip in read(pathlib.Path(path))))
    whole = sum(not test.startswith("part of") for _, _, test in skips)
    print(f"== skipped: {whole} tests, and {len(skips) - whole} parts of others")
    wrong = []
    for kind in dict.fromkeys(kind for kind, _, _ in skips):
        needs, able = CLASSES.get(kind, ("a class that tests/skips.py has", YES))
        mine = [(why.strip(), test) for kind_, why, test in skips if kind_ == kind]
        print(f"{kind}: needs {needs}: {len(mine)}")
        for why in dict.fromkeys(why for why, _ in mine):
            tests = ", ".join(test for why_, test in mine if why_ == why)
            print(textwrap.fill(f"{why}: {tests}", 118, initial_indent="  ", subsequent_indent="    ",
                                break_long_words=False, break_on_hyphens=False))
        if able():
            wrong.append(f"{kind} ({len(mine)})")
    if wrong:
        print(f"FAIL: this machine could have run what was skipped as: {', '.join(wrong)}. "
              "tools/setup.sh --test installs what the tests need")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
