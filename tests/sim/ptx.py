#!/usr/bin/env python3
"""ptx.py [--check] [NAME...]    compiles the CUDA sources of the suites, and packs the PTX beside them: NAME.ptx.gz

The suites test the simulated device without a compiler, so they also run without a CUDA toolkit or NVRTC. Their
expected counters, lines and mutants are those of this PTX. After a change of a source, run this program with nvcc and
NVRTC of CUDA 13.0. --check writes nothing, and names the sources whose PTX differs from the packed PTX. nvcc names each
source by a random number, which does not count as a difference."""
import argparse
import ctypes
import gzip
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CHILD = ["--gpu-architecture=compute_80", "-rdc=true", "-lineinfo"]
# Each entry has a source and its options. NVRTC compiles the source, unless the first option is nvcc.
FILES = {
    "vm/arith": ("arith.cu", ["--gpu-architecture=compute_90"]),
    "vm/child": ("child.cu", CHILD),
    "vm/child_1": ("child.cu", CHILD + ["-DCUDA_FORCE_CDP1_IF_SUPPORTED", "-D__CDPRT_SUPPRESS_SYNC_DEPRECATION_WARNING"]),
    "vm/count": ("count.cu", ["nvcc", "-arch=compute_80"]),
    "vm/flow": ("flow.cu", ["--gpu-architecture=compute_90", "-lineinfo", "--device-int128"]),
    "vm/gemm_wgmma": ("gemm_wgmma.cu", ["nvcc", "-arch=sm_90a"]),
    "vm/tile": ("tile.cu", ["--gpu-architecture=compute_90"]),
    "check/async": ("async.cu", ["nvcc", "-lineinfo", "-arch=compute_90"]),
    "check/cluster": ("cluster.cu", ["nvcc", "-lineinfo", "-arch=compute_90"]),
    "check/memory": ("memory.cu", ["nvcc", "-lineinfo", "-arch=compute_80"]),
    "check/missed": ("missed.cu", ["nvcc", "-lineinfo", "-arch=compute_80"]),
    "check/order": ("order.cu", ["nvcc", "-lineinfo", "-arch=compute_80"]),
    "check/script": ("script.cu", ["nvcc", "-lineinfo", "-arch=compute_80"]),
    "check/tensor": ("tensor.cu", ["nvcc", "-lineinfo", "-arch=sm_100a"]),
    "mutants/idioms": ("idioms.cu", ["nvcc", "-lineinfo", "-arch=sm_90a"]),
    "mutants/tensor": ("tensor.cu", ["nvcc", "-lineinfo", "-arch=sm_100a"]),
    "../bench/sim_speed": ("sim_speed.cu", ["nvcc", "-arch=sm_90"]),
}


def compile_by_nvcc(folder, source, options):
    with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
        subprocess.run(["nvcc", "-ptx", *options, source, "-o", file.name], check=True, cwd=folder)
        return pathlib.Path(file.name).read_text()


def compile_by_nvrtc(folder, source, options):
    nvrtc = ctypes.CDLL("libnvrtc.so")
    program, size = ctypes.c_void_p(), ctypes.c_size_t()

    def call(name, *arguments):
        if getattr(nvrtc, name)(*arguments):
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            sys.exit(f"{source}: {name}: {log.value.decode()}")

    text = (folder / source).read_bytes()
    call("nvrtcCreateProgram", ctypes.byref(program), text, source.encode(), 0, None, None)
    words = [option.encode() for option in [*options, "-I/usr/local/cuda/include"]]
    call("nvrtcCompileProgram", program, len(words), (ctypes.c_char_p * len(words))(*words))
    call("nvrtcGetPTXSize", program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    call("nvrtcGetPTX", program, ptx)
    return ptx.value.decode()


def make(name):
    source, options = FILES[name]
    folder = (HERE / name).parent
    if options[0] == "nvcc":
        ptx = compile_by_nvcc(folder, source, options[1:])
    else:
        ptx = compile_by_nvrtc(folder, source, options)
    return re.sub(r'(\.file\s+\d+ )"/.*/([^/"]+)"', r'\1"\2"', ptx) # the folders of headers differ by machine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME", help=" ".join(FILES))
    arguments = parser.parse_args()
    differ = 0
    for name in arguments.names or FILES:
        packed = HERE / f"{name}.ptx.gz"
        ptx = make(name)
        if arguments.check:
            # The debug sections hold the random number as bytes of text.
            plain = [re.sub(r"\.b8 [\d,]+", "", text) for text in (ptx, gzip.decompress(packed.read_bytes()).decode())]
            differ += plain[0] != plain[1]
            print(f"{name}: {'the same' if plain[0] == plain[1] else 'differs'}")
        else:
            packed.write_bytes(gzip.compress(ptx.encode(), 9, mtime=0))
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
