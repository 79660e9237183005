"""Kiln's simulated CUDA device, for the tests of other projects.

The package contains the command `kiln`. It also contains the folder that `kiln sim run` puts first in the search paths
of a program, with libcuda.so.1, the CUDA runtime, and replacements of nvcc and ptxas. plugin.py is a plug-in of pytest.
"""
import os
import pathlib
import shutil
import sys


def find_command() -> str:
    """Returns the path of the command: $KILN if it is set, else the package's own command, else the first one in $PATH.
    Returns "" if there is none."""
    own = pathlib.Path(__file__).with_name("root") / "bin" / "kiln"
    return os.environ.get("KILN") or (str(own) if own.exists() else shutil.which("kiln") or "")


def name_compiler() -> None:
    """Sets $KILN_NVRTC to the library in NVIDIA's wheel, which `pip install 'kiln-sim[nvrtc]'` installs beside this
    package."""
    library = pathlib.Path(__file__).parents[1] / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
    if library.exists():
        os.environ.setdefault("KILN_NVRTC", str(library))


def run_command() -> None:
    """The entry point of the script `kiln`: replaces this process by the command."""
    name_compiler()
    command = find_command()
    if not command:
        sys.exit("kiln: the package has no command, and there is none in $PATH")
    os.execv(command, ["kiln", *sys.argv[1:]])
