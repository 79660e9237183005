# The compiled module: what cffi makes of the public headers has no types that mypy could know.
from typing import Any

ffi: Any
lib: Any
