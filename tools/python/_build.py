"""_build.py OUTPUT COMPILER INCLUDE...: writes the C source of the extension module kiln._kiln.

cffi gets its declarations from the public headers, by the C preprocessor, so that no declaration is written twice:
functions, structs and enums without changes, flags from macros that are plain numbers, and a Python callback
kiln_py_NAME for each type kiln_NAME_fn that the module uses.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import cffi

HERE = pathlib.Path(__file__).resolve().parent
CALLBACKS = ["log", "device", "list", "tune", "host"]


def preprocessed(compiler: str, includes: list[str], *options: str) -> str:
    """Returns host.h after the preprocessor, without the headers of the system, whose types cffi knows, and without
    extensions of gcc and clang."""
    with tempfile.TemporaryDirectory() as empty:
        for name in ("stddef.h", "stdint.h"):
            pathlib.Path(empty, name).touch()
        return subprocess.run([*compiler.split(), "-E", *options, "-nostdinc", "-U__GNUC__",
                               *(f"-I{folder}" for folder in [*includes, empty]), str(HERE / "host.h")], check=True, text=True, stdout=subprocess.PIPE).stdout


def declarations(compiler: str, includes: list[str]) -> str:
    text = preprocessed(compiler, includes, "-P")
    for name in CALLBACKS:
        match = re.search(rf"typedef\s+(\w+)\s*\(\*kiln_{name}_fn\)(\([^)]*\));", text)
        if not match:
            sys.exit(f"_build.py: the headers have no type kiln_{name}_fn")
        text += f'\nextern "Python" {match[1]} kiln_py_{name}{match[2]};'
    numbers = re.findall(r"^#define (KILN_\w+) \d+u?$", preprocessed(compiler, includes, "-dM"), re.M)
    return text + "".join(f"\n#define {name} ..." for name in numbers)


def main() -> None:
    output, compiler, *includes = sys.argv[1:]
    builder = cffi.FFI()
    builder.cdef(declarations(compiler, includes))
    builder.set_source("kiln._kiln", '#include "host.h"')
    builder.emit_c_code(output)


if __name__ == "__main__":
    main()
