"""Host functions: Python functions that a spec calls as references, for inputs and in steps."""
import gc
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

import numpy as np

from ._kiln import ffi, lib
from ._objects import Kept, in_callback, text
from .arrays import kind_of, view

USES = {"reference": lib.KILN_HOST_REFERENCE, "input": lib.KILN_HOST_INPUT, "step": lib.KILN_HOST_STEP}


class _Failed(Exception):
    """A function of the library failed and has noted the reason."""


class Call:
    """The arguments and the outputs of a call of a host function. Arrays are memory of the library, which becomes
    invalid at the end of the call. To keep one, make a copy."""

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer
        self._kept = Kept()
        self._views: list[tuple[str, weakref.ref[Any]]] = []

    def _get(self, function: Any, name: str, kind: str, *fallback: Any) -> Any:
        if self._pointer is None:
            raise RuntimeError("the host function has returned, and its call is over")
        out = self._kept.keep(ffi.new(kind))
        if function(self._pointer, self._kept.text(name), *fallback, out):
            raise _Failed(name)
        return out[0]

    def _view(self, name: str, array: Any, writable: bool) -> "np.ndarray[Any, Any]":
        made = view(array, writable)
        root = made
        while isinstance(root.base, np.ndarray):
            root = root.base
        self._views.append((name, weakref.ref(root)))
        return made

    def int(self, name: str, fallback: Optional[int] = None) -> int:
        given = ffi.NULL if fallback is None else ffi.new("int64_t *", fallback)
        return int(self._get(lib.kiln_call_int, name, "int64_t *", given))

    def float(self, name: str, fallback: Optional[float] = None) -> float:
        given = ffi.NULL if fallback is None else ffi.new("double *", fallback)
        return float(self._get(lib.kiln_call_float, name, "double *", given))

    def text(self, name: str, fallback: Optional[str] = None) -> str:
        given = ffi.NULL if fallback is None else self._kept.text(fallback)
        return text(self._get(lib.kiln_call_text, name, "const char **", given))

    def file(self, name: str) -> str:
        """Returns the path of a file that the spec names, after the check that it may be read."""
        return text(self._get(lib.kiln_call_file, name, "const char **"))

    def array(self, name: str) -> "np.ndarray[Any, Any]":
        return self._view(name, self._get(lib.kiln_call_array, name, "const kiln_array **"), False)

    def output(self, name: str) -> "np.ndarray[Any, Any]":
        """Returns an output, which the function writes in place: `call.output("y")[...] = ...`."""
        return self._view(name, self._get(lib.kiln_call_output, name, "kiln_array **"), True)

    def export(self, name: str, item: Any) -> None:
        """Exports a number or an array from a function of `inputs`. An array is copied."""
        given = self._kept.text(name)
        if isinstance(item, np.ndarray):
            out = ffi.new("kiln_array **")
            shape = ffi.new("uint64_t[]", list(item.shape) or [0])
            status = lib.kiln_call_export_array(self._pointer, given, kind_of(item.dtype), item.ndim, shape, out)
            if not status:
                view(out[0], True)[...] = item
        elif isinstance(item, (float, np.floating)):
            status = lib.kiln_call_export_float(self._pointer, given, float(item))
        else:
            status = lib.kiln_call_export_int(self._pointer, given, int(item))
        if status:
            raise _Failed(name)

    def _end(self) -> None:
        """Ends the call. Fails if a view still refers to memory that the library frees now."""
        self._pointer = None
        if any(ref() is not None for _, ref in self._views):
            gc.collect()
        kept = [name for name, ref in self._views if ref() is not None]
        if kept:
            raise RuntimeError(f"it keeps the array {kept[0]!r} after it returned; keep a copy of it")


HostFunction = Callable[[Call], None]


class Raised:
    """The last exception of a host function. The library itself has only its text."""

    def __init__(self) -> None:
        self.last: Optional[BaseException] = None

    def take(self) -> Optional[BaseException]:
        last, self.last = self.last, None
        return last


class Host:
    def __init__(self, function: HostFunction, raised: Raised) -> None:
        self.function, self.raised = function, raised


def uses_of(names: Union[str, Sequence[str]]) -> int:
    total = 0
    for name in [names] if isinstance(names, str) else names:
        if name not in USES:
            raise ValueError(f"a host function has the uses {', '.join(USES)}, not {name!r}")
        total |= USES[name]
    return total


def _on_call(user: Any, pointer: Any) -> int:
    host: Host = ffi.from_handle(user)
    call = Call(pointer)
    try:
        with in_callback():
            host.function(call)
            call._end()
        return 0
    except _Failed:
        call._pointer = None
        return int(lib.KILN_ERROR_HOST_FUNCTION)
    except BaseException as raised:
        call._pointer = None
        traceback.clear_frames(raised.__traceback__)  # the frames may hold arrays, which become invalid at the end of
                                                      # the call
        host.raised.last = raised
        message = f"{type(raised).__name__}: {raised}".encode("utf-8", "backslashreplace").replace(b"\0", b"\\0")
        return int(lib.kiln_call_fail(pointer, b"%s", ffi.new("char[]", message)))


ffi.def_extern("kiln_py_host")(_on_call)
