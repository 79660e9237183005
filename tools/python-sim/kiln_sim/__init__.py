"""Kiln's simulated CUDA device, for the tests of other projects.

The package contains the command `kiln`, and the folder with libcuda.so.1, the CUDA runtime and the stand-ins of nvcc and
ptxas that `kiln sim run` puts in front of a program. plugin.py is a plug-in of pytest.
"""
import os
import pathlib
import shutil
import sys


def find_command() -> str:
    """The path of the command: the package's own, that of $KILN, or the first in $PATH. "" if there is none."""
    own = pathlib.Path(__file__).with_name("root") / "bin" / "kiln"
    return os.environ.get("KILN") or (str(own) if own.exists() else shutil.which("kiln") or "")


def name_compiler() -> None:
    """Tells the command where NVIDIA's wheel has NVRTC, which `pip install 'kiln-sim[nvrtc]'` puts beside this package."""
    library = pathlib.Path(__file__).parents[1] / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
    if library.exists():
        os.environ.setdefault("KILN_NVRTC", str(library))


def run_command() -> None:
    """The script `kiln` of the package: replaces this process by the command."""
    name_compiler()
    command = find_command()
    if not command:
        sys.exit("kiln: the package has no command, and there is none in $PATH")
    os.execv(command, ["kiln", *sys.argv[1:]])
