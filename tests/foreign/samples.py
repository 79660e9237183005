#!/usr/bin/env python3
"""Runs NVIDIA's CUDA samples on the simulated device, with Kiln's CUDA runtime. The program builds every sample that
needs neither graphics nor another library, runs it with its defaults, and prints a table.

    tests/foreign/samples.py BUILD SAMPLES FOLDER [--timeout S] [--cpu S] [--jobs N] [--devices N] [--small]
                             [--only TEXT,TEXT] [--runtime shared|static]

BUILD is Kiln's build tree. SAMPLES is a checkout of github.com/NVIDIA/cuda-samples, or of a project with the same
layout. FOLDER keeps the built programs. The program needs nvcc. A sample passes if it exits with 0. It counts as
verified if it also prints that its check succeeded. Several samples need --devices 2. With --small some samples skip
their own check. The shown time is the processor time of all threads, because this time depends little on other work of
the machine. --cpu limits this time.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

ROOMS = ("0_Introduction", "1_Utilities", "2_Concepts_and_Techniques", "3_CUDA_Features", "5_Domain_Specific",
         "6_Performance")
LIBRARIES = {"CUDA::cuda_driver": "-lcuda", "CUDA::nvrtc": "-lnvrtc", "CUDA::cudart": "", "CUDA::nvJitLink": "-lnvJitLink",
             "CUDA::cudart_static": "", "CUDA::cudadevrt": "-lcudadevrt", "Threads::Threads": "-lpthread",
             "OpenMP::OpenMP_CXX": "-Xcompiler=-fopenmp", "rt": "-lrt", "dl": "-ldl", "pthread": "-lpthread",
             "CUDA::cuda_driver)": "-lcuda"}
FOREIGN = re.compile(r"OpenGL|GLUT|GLEW|FreeImage|Vulkan|VULKAN|glfw|EGL|NVSCI|nvsci|MPI|X11|D3D|DirectX|NvBuf|nvjpeg|"
                     r"OpenGLES|GLES|freeimage", re.I)
# Arguments that make the work smaller, for samples that repeat a large work to time it.
SMALL = {name: ["-wA=64", "-hA=64", "-wB=64", "-hB=64"] for name in ("matrixMul", "matrixMul_nvrtc")}
SMALL.update({name: ["-n=65536"] for name in ("reduction", "reductionMultiBlockCG", "threadFenceReduction")},
             transpose=["-dimX=64", "-dimY=64"], eigenvalues=["-matrix-size=64", "-iters-timing=1"])
VERIFIED = re.compile(r"pass|success|verif|Result = PASS|\bOK\b|correct|match|SUCCEED|no error|L1-?norm|PSNR|Shutdown", re.I)


def commands(text):
    """Returns the commands of a CMakeLists.txt, without comments. Each command is a list of words, with the values of
    the file's variables."""
    text = re.sub(r"#.*", "", text)
    variables = {}
    for name, body in re.findall(r"(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)", text):
        for key, value in variables.items():
            body = body.replace("${%s}" % key, value)
        words = re.findall(r'"[^"]*"|[^\s"]+', body)
        words = [w.strip('"') for w in words]
        if name == "set" and len(words) >= 2:
            variables[words[0]] = " ".join(words[1:])
        yield name, words


class Sample:
    def __init__(self, folder, text):
        self.folder, self.skip = folder, ""
        self.name, self.sources, self.links, self.flags, self.images = folder.name, [], [], [], []
        self.headers = []
        kernel = ""
        for name, words in commands(text):
            if name == "find_package" and words and FOREIGN.search(words[0]):
                self.skip = "needs " + words[0]
            elif name == "add_executable" and not self.sources:
                self.name = words[0]
                self.sources = [w for w in " ".join(words[1:]).split() if w.endswith((".cu", ".cpp", ".c", ".cc"))]
            elif name == "target_link_libraries":
                self.links += [w for w in words[1:] if w not in ("PRIVATE", "PUBLIC", "INTERFACE")]
            elif name == "set_target_properties" and "CUDA_SEPARABLE_COMPILATION" in words:
                self.flags.append("-rdc=true")
            elif name == "target_compile_features" and any("cxx_std_17" in w or "cuda_std_17" in w for w in words):
                self.flags.append("-std=c++17")
            elif name == "set" and words and words[0] == "CUDA_KERNEL_SOURCE":
                kernel = words[1]
            elif name == "set" and words and words[0] in ("CUDA_FATBIN_FILE", "CUDA_PTX_FILE"):
                self.images.append(words[1])
            elif name == "add_custom_command" and "-E" in words:
                self.copies(words[words.index("-E") + 1:])
        self.images = [(pathlib.PurePath(i).name, pathlib.PurePath(kernel).name) for i in self.images if kernel]
        for link in self.links:
            if link in LIBRARIES or link.startswith("$<") or link == self.name:
                continue
            if FOREIGN.search(link) or link.startswith("CUDA::"):
                self.skip = self.skip or "needs " + link
        if FOREIGN.search(text) and re.search(r"OpenGL_FOUND|GLUT", text):
            self.skip = self.skip or "needs OpenGL"
        if not self.sources:
            self.skip = self.skip or "no program"

    def copies(self, words):
        """Copies headers of the toolkit beside the program, as the build does for NVRTC."""
        toolkit = "${CUDA_INCLUDE_DIR}/"
        target = words[-1].replace("${CMAKE_CURRENT_BINARY_DIR}", ".")
        self.headers += [(word[len(toolkit):], target) for word in words[1:-1] if word.startswith(toolkit)]

    def copy_headers(self):
        include = pathlib.Path(shutil.which("nvcc")).resolve().parent.parent / "include"
        for source, target in self.headers:
            if (include / source).is_dir():
                shutil.copytree(include / source, self.folder / target, dirs_exist_ok=True)
            else:
                shutil.copy(include / source, self.folder / target)

    def measure(self, command, options, environment):
        """Runs a program within the limits. Returns its exit status (None if it exceeded a limit), its output, and its
        processor time. The processor time includes the processes that the program started and waited for."""
        with open(self.folder / "output.txt", "w+b") as output:
            limit = "--cpu=%s" % (options.cpu or "unlimited")
            child = subprocess.Popen(["prlimit", limit, "--", *command], cwd=self.folder, env=environment,
                                     stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                     start_new_session=True)
            late = threading.Event()

            def stop():
                late.set()
                os.killpg(child.pid, signal.SIGKILL)

            timer = threading.Timer(options.timeout, stop)
            timer.start()
            _, status, used = os.wait4(child.pid, 0)
            timer.cancel()
            rc = child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            past = late.is_set() or rc in (-signal.SIGXCPU, -signal.SIGKILL)
            return None if past else rc, output.read().decode(errors="replace"), used.ru_utime + used.ru_stime

    def run(self, command, seconds, environment):
        try:
            done = subprocess.run(command, cwd=self.folder, env=environment, timeout=seconds, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            return done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            return None, (late.stdout or b"").decode(errors="replace")

    def build(self, options, environment):
        architecture = ["-gencode", "arch=compute_80,code=compute_80", "-Wno-deprecated-gpu-targets"]
        common = ["-I" + str(options.samples / "Common"), "-I.", "-Iinc", "-Isrc"]
        for image, kernel in self.images:
            kind = "-ptx" if image.endswith(".ptx") else "-fatbin"
            rc, out = self.run(["nvcc", *architecture, *common, kind, kernel, "-o", image], 600, environment)
            if rc != 0:
                return "build: " + last(out)
        if (self.folder / ("run." + self.name)).exists() and not options.rebuild:
            return ""
        links = [LIBRARIES.get(link, "") for link in self.links]
        program = self.folder / ("run." + self.name)
        rc, out = self.run(["nvcc", *architecture, *common, *dict.fromkeys(self.flags), "-cudart", options.runtime,
                            "-L" + str(options.build / "lib/kiln"), *self.sources, "-o", str(program),
                            *[link for link in links if link]], 600, environment)
        return "" if rc == 0 else "build: " + last(out)

    def trial(self, options, environment):
        if self.skip:
            return self.name, "skipped", self.skip, 0
        reason = self.build(options, environment)
        if reason:
            return self.name, "not built", reason, 0
        self.copy_headers()
        arguments = SMALL.get(self.name, []) if options.small else []
        rc, out, seconds = self.measure([str(self.folder / ("run." + self.name)), *arguments], options, environment)
        if rc is None:
            return self.name, "late", "not done in time", seconds
        if rc == 2:
            return self.name, "waived", last(out), seconds
        if rc != 0:
            return self.name, "failed", "exit %d: %s" % (rc, last(out)), seconds
        verified = VERIFIED.search(out) and not re.search(r"skipping self-check", out)
        return self.name, "verified" if verified else "ran", "", seconds


def last(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"error|fail|kiln", line, re.I)]
    return (errors or lines or ["no output"])[-1 if not errors else 0][:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("samples", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--timeout", type=int, default=120, help="seconds on the clock")
    parser.add_argument("--cpu", type=int, default=0, help="seconds of processor time; 0: no limit")
    parser.add_argument("--small", action="store_true", help="smaller sizes where a sample has arguments for them")
    parser.add_argument("--devices", type=int, default=1, help="simulated devices")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="parts of names, with commas between")
    parser.add_argument("--rebuild", action="store_true", help="build again what is built")
    parser.add_argument("--runtime", choices=("shared", "static"), default="shared")
    options = parser.parse_args()
    options.build, options.samples = options.build.resolve(), options.samples.resolve()
    environment = dict(os.environ, LD_LIBRARY_PATH=str(options.build / "lib/kiln"), KILN_SIM_DEVICES=str(options.devices))
    samples = []
    common = options.folder.resolve() / "Common"
    if not common.exists():
        shutil.copytree(options.samples / "Common", common)
    for path in sorted(options.samples.glob("Samples/*/*/CMakeLists.txt")):
        if path.parent.parent.name in ROOMS and any(part in path.parent.name for part in options.only.split(",")):
            copy = options.folder.resolve() / "Samples" / path.parent.parent.name / path.parent.name
            if not copy.exists():
                shutil.copytree(path.parent, copy)
            samples.append(Sample(copy, path.read_text(errors="replace")))
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, state, reason, seconds in pool.map(lambda s: s.trial(options, environment), samples):
            counts[state] = counts.get(state, 0) + 1
            print("| %s | %s | %.1f s | %s |" % (name, state, seconds, reason.replace("|", "/")), flush=True)
    tried = sum(n for state, n in counts.items() if state != "skipped")
    good = counts.get("verified", 0) + counts.get("ran", 0)
    print("%d of %d pass (%s)" % (good, tried, ", ".join("%d %s" % (n, s) for s, n in sorted(counts.items()))))
    return 0 if tried else 2


if __name__ == "__main__":
    sys.exit(main())
