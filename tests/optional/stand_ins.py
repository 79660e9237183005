#!/usr/bin/env python3
"""stand_ins.py BUILD SOURCE [--build]: checks that a broken optional dependency only removes its part of Kiln, and
never breaks the command.

For each optional dependency of the build there is a broken stand-in at the front of PATH, PKG_CONFIG_PATH and
CMAKE_PREFIX_PATH. These are compiler wrappers that fail, print rubbish or belong to an MPI without headers, package
files that name missing files or have an error, a header without its library, a library without its header, and programs
that crash. Each configuration must succeed. It must print one line for each part that is left out, with the reason, and
compile and link the command with the same lines as BUILD. With --build the program also builds and runs the command."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CRASH = "#!/bin/sh\nkill -SEGV $$\n"
RUBBISH = "#!/bin/sh\necho '-I -L \"rubbish ;;) $(' ; exit 0\n"
# Imitates Debian's openmpi-bin without libopenmpi-dev: the wrapper answers, and there is no header.
NO_HEADERS = """#!/bin/sh
case "$*" in
*-showme:incdirs*) echo "HERE/absent/include" ;;
*-showme:libdirs*) echo "HERE/absent/lib" ;;
*-showme:libs*) echo mpi ;;
*-showme* | *-show*) echo "gcc -IHERE/absent/include -pthread -LHERE/absent/lib -lmpi" ;;
*) echo "mpicc: cannot find the wrapped compiler's header mpi.h" >&2; exit 1 ;;
esac
"""
FAILS = "#!/bin/sh\necho 'mpicc: error while loading shared libraries' >&2\nexit 127\n"
MPI, PYTHON, TESTS = "libkiln-mpi.so", "the Python module", "the tests"


def package_file(name: str) -> str:
    return (f"Name: {name}\nDescription: broken\nVersion: 9.9\nCflags: -I/absent/include\n"
            f"Libs: -L/absent/lib -l{name}-is-absent\n")


FATAL = 'message(FATAL_ERROR "this package file is broken")\n'
COMMON = { # every configuration has these stand-ins
    "bin/node": CRASH, "bin/rsvg-convert": CRASH, "bin/chromium": CRASH, "bin/chromium-headless-shell": CRASH,
    "bin/ptxas": CRASH, "bin/nvcc": CRASH, "bin/llvm-config": CRASH, "bin/ld.lld": CRASH, "bin/mpiexec": CRASH,
    "bin/python3": CRASH, "bin/abidiff": CRASH,
    "include/cuda.h": "#error broken\n", "include/cuda_runtime_api.h": "#error broken\n", "include/nvml.h": "#error broken\n",
    "include/cupti.h": "#error broken\n", "include/llvm-c/Core.h": "#error broken\n", "include/Python.h": "#error broken\n",
    "lib/libcudart_static.a": "rubbish", "lib/libLLVM.so": "rubbish", "lib/libnvidia-ml.so": "rubbish",
    "lib/libcupti.so": "rubbish",
} | {f"lib/cmake/{name}/{name}Config.cmake": FATAL
     for name in ("MPI", "LLVM", "Python", "Python3", "CUDAToolkit", "CUDA", "zstd", "lz4", "CUnit", "Threads", "PkgConfig")}
# Each case has a name, further stand-ins, options of CMake, and the parts that are left out.
CASES = [
    ("an mpicc that fails; a header of MPI without its library",
     {"bin/mpicc": FAILS, "include/mpi.h": "int MPI_Init(int *, char ***);\n"}, [], [MPI]),
    ("an mpicc that prints rubbish; a CUnit that is not there", {"bin/mpicc": RUBBISH, "pc/cunit.pc": package_file("cunit")},
     [], [MPI, TESTS]),
    ("an MPI without headers; a Python that prints rubbish",
     {"bin/mpicc": NO_HEADERS, "pc/mpi-c.pc": package_file("mpi"), "pc/ompi-c.pc": package_file("mpi"), "bin/rubbish": RUBBISH},
     ["-DKILN_PYTHON=HERE/bin/rubbish"], [MPI, PYTHON]),
    ("an mpicc that crashes; a library of MPI without its header; a Python that crashes",
     {"bin/mpicc": CRASH, "lib/libmpi.so": "rubbish", "pc/mpi-c.pc": package_file("mpi")},
     ["-DKILN_PYTHON=HERE/bin/python3"], [MPI, PYTHON]),
]


def settings(build: pathlib.Path) -> list[str]:
    """Returns the options with which BUILD was configured, so that the lines can be compared."""
    wanted = re.compile(r"^(CMAKE_BUILD_TYPE|CMAKE_C_COMPILER|CMAKE_C_FLAGS\w*|CMAKE_\w+_LINKER_FLAGS|CMAKE_INSTALL_PREFIX|"
                        r"CMAKE_C_COMPILER_LAUNCHER|KILN_(?!PYTHON\b)[A-Z_]+):(BOOL|STRING|PATH|FILEPATH|UNINITIALIZED)=(.*)$")
    found = [wanted.match(line) for line in (build / "CMakeCache.txt").read_text().splitlines()]
    return [f"-D{match[1]}:{match[2]}={match[3]}" for match in found
            if match and match[1] not in ("KILN_CUDA_H", "KILN_CUDART_STATIC", "KILN_PTXAS")]


def commands(build: pathlib.Path) -> list[str]:
    done = subprocess.run(["ninja", "-C", build, "-t", "commands", "kiln", "kiln-worker"], text=True, capture_output=True,
                          check=True)
    return [line.replace(str(build), "BUILD") for line in done.stdout.splitlines() if "-t commands" not in line and
            not line.startswith("ninja: ")]


def takes_another_mpi(made: pathlib.Path, environment: dict[str, str]) -> bool:
    """Tells whether the plug-in is built with an MPI of the system, which FindMPI tries after a wrapper has failed."""
    return subprocess.run(["cmake", "--build", made, "--target", "kiln_mpi"], env=environment, capture_output=True).returncode == 0


def main() -> int:
    build, source = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        here = pathlib.Path(work).resolve()
        made = here / "build"
        # the parts that are left out on this machine without stand-ins
        usual = tuple((build / "left_out.txt").read_text().splitlines())
        for name, files, options, left_out in CASES:
            stand_ins = here / "broken"
            subprocess.run(["rm", "-rf", stand_ins, made], check=True)
            for path, text in (COMMON | files).items():
                file = stand_ins / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text.replace("HERE", str(stand_ins)))
                file.chmod(0o755)
            environment = os.environ | {
                "PATH": f"{stand_ins}/bin:{os.environ['PATH']}", "PKG_CONFIG_PATH": f"{stand_ins}/pc",
                "CMAKE_PREFIX_PATH": str(stand_ins), "CPATH": "", "LC_ALL": "C"}
            del environment["CPATH"]
            done = subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", made, *settings(build),
                                   *[option.replace("HERE", str(stand_ins)) for option in options]],
                                  env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            said = re.findall(r"^-- left out: (.*)$", done.stdout, re.M)
            problems = []
            if done.returncode != 0:
                problems.append(f"the configuration failed:\n{done.stdout[-3000:]}")
            else:
                for part in left_out:
                    lines = [line for line in said if line.startswith(part)]
                    if part == MPI and not lines and takes_another_mpi(made, environment):
                        continue
                    if len(lines) != 1 or not re.search(r": \S.{10}", lines[0]):
                        problems.append(f"not one line that tells why {part} is left out: {lines}")
                problems += [f"left out too: {line}" for line in said if not line.startswith((*left_out, *usual))]
                if commands(made) != commands(build):
                    problems.append("the command is compiled or linked with other lines than without the stand-ins")
                if str(stand_ins) in "".join(commands(made)):
                    problems.append("a stand-in has a part in how the command is built")
            if not problems and "--build" in sys.argv:
                for words in (["cmake", "--build", made, "--target", "kiln", "kiln-worker"], [made / "tools/kiln", "--version"]):
                    done = subprocess.run(words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                    if done.returncode != 0:
                        problems.append(f"{words[0]} failed:\n{done.stdout[-3000:]}")
                        break
            for problem in problems:
                print(f"FAIL: {name}: {problem}")
            failures += len(problems)
            print(f"{name}: left out: {said}")
    print("ok" if not failures else f"{failures} problems")
    return 1 if failures else 0


sys.exit(main())
