"""The engine: a device, a compiler, a cache. All other objects are made from an engine."""
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

from ._kiln import ffi, lib
from ._objects import Kept, Owned, Path, Record, flags, in_callback, record, text
from .errors import HostFunctionError, InterruptedError, call
from .hosts import Host, HostFunction, Raised, uses_of
from .reference import Function, host_function
from .spec import Spec
from .sweep import Store

Log = Callable[[str, str], None]  # "DEBUG", "INFO" or "WARNING"; the message


def _to_logging(level: str, message: str) -> None:
    logging.getLogger("kiln").log(getattr(logging, level), "%s", message)


def _on_log(user: Any, level: int, message: Any) -> None:
    name = str(ffi.string(ffi.cast("kiln_log_level", level))).removeprefix("KILN_LOG_")
    with in_callback():
        ffi.from_handle(user)(name, text(message))


def _on_device(user: Any, info: Any) -> int:
    ffi.from_handle(user).append(record(info))
    return 0


def _on_spec(user: Any, name: Any, title: Any, path: Any) -> int:
    ffi.from_handle(user).append(Record(name=text(name), title=text(title), path=text(path)))
    return 0


ffi.def_extern("kiln_py_log")(_on_log)
ffi.def_extern("kiln_py_device")(_on_device)
ffi.def_extern("kiln_py_list")(_on_spec)


class Engine(Owned):
    """An engine opens its device when it is first needed. Many threads may use an engine.

    `device` is "cuda:0", "sim", "sim:PROFILE" or the file of a profile. None means the first GPU, or without a GPU
    "sim:h200", whose times are estimates. `context` is the address of a CUcontext of the caller. `log` is called with a
    level and a message, from any thread. If it is None, messages go to logging.getLogger("kiln"). `members` are other
    members of kiln_options: jobs, compile_timeout, memory_limit, worker.
    """

    def __init__(self, device: Optional[str] = None, *, cache_dir: Optional[Path] = None,
                 search_path: Union[None, Path, Sequence[Path]] = None, cache: bool = True, read_anywhere: bool = False,
                 workers: bool = True, context: int = 0, log: Optional[Log] = None, **members: Any) -> None:
        kept, out = Kept(), ffi.new("kiln_engine **")
        if isinstance(search_path, Sequence) and not isinstance(search_path, str):
            search_path = ":".join(map(str, search_path))
        self._kept = [ffi.new_handle(log or _to_logging)]  # C code refers to these objects until the engine is closed
        self._raised = Raised()
        self._named = device or os.environ.get("KILN_DEVICE") or ""
        options = kept.struct("kiln_options", device=device, cache_dir=cache_dir, search_path=search_path,
                              context=ffi.cast("CUcontext", context), log=lib.kiln_py_log, log_user=self._kept[0],
                              stop=ffi.addressof(lib, "kiln_py_stop"), flags=flags(
                                  NO_CACHE=not cache, READ_ANYWHERE=read_anywhere, NO_WORKERS=not workers), **members)
        call(lib.kiln_engine_open, options, out)
        self._own(out[0], lib.kiln_engine_close)
        call(lib.kiln_catalogue_register, out[0])

    def _about(self) -> str:
        return self._named or "of the default device"

    def _call(self, function: Any, *arguments: Any) -> None:
        """Makes a call that may run host functions. If a host function raised an exception, this exception becomes the
        cause of the error."""
        self._raised.take()
        try:
            call(function, *arguments)
        except (HostFunctionError, InterruptedError) as error:
            raised = self._raised.take()
            if raised is not None and not isinstance(raised, Exception):
                raise raised
            raise error from raised

    @property
    def device(self) -> Record:
        """The engine's device, as a kiln_device_info. Opens the device if it is not open."""
        out = ffi.new("const kiln_device_info **")
        with self._use() as engine:
            call(lib.kiln_engine_device, engine, out)
            return record(out[0])

    def devices(self) -> list[Record]:
        """Returns all devices of this machine, the simulated devices last."""
        found: list[Record] = []
        handle = ffi.new_handle(found)
        with self._use() as engine:
            call(lib.kiln_devices, engine, lib.kiln_py_device, handle)
        return found

    def specs(self) -> list[Record]:
        """Returns name, title and path of each spec in the search path."""
        found: list[Record] = []
        handle = ffi.new_handle(found)
        with self._use() as engine:
            call(lib.kiln_spec_list, engine, lib.kiln_py_list, handle)
        return found

    def load(self, path_or_name: Path) -> Spec:
        """Loads a spec from a path, or by a name that is looked up in the search path."""
        out = ffi.new("kiln_spec **")
        with self._use() as engine:
            call(lib.kiln_spec_load, engine, Kept().text(path_or_name), out)
            return Spec(self, out[0])

    def parse(self, source: str, name: Path) -> Spec:
        """Makes a spec from a text. Messages show `name`, and sources are looked for in the folder of `name`."""
        out, data = ffi.new("kiln_spec **"), source.encode("utf-8", "surrogateescape")
        with self._use() as engine:
            call(lib.kiln_spec_parse, engine, data, len(data), Kept().text(name), out)
            return Spec(self, out[0])

    def register_host(self, name: str, function: HostFunction, uses: Union[str, Sequence[str]] = "reference") -> None:
        """Makes a Python function callable from specs: `verify: {host: NAME}` ("reference"), `inputs:` ("input"),
        `steps:` ("step"). Register it before the specs are loaded. The function gets a kiln.Call. It may be called from
        any thread, and must not call the engine. If it raises an exception, the run fails."""
        handle = ffi.new_handle(Host(function, self._raised))
        with self._use() as engine:
            call(lib.kiln_register_host, engine, Kept().text(name), uses_of(uses), lib.kiln_py_host, handle)
            self._kept.append(handle)

    def reference(self, *outputs: str, arrays: Any = None,
                  name: Optional[str] = None) -> Callable[[Function], Function]:
        """A decorator: makes a function of arrays a reference for specs, `against: {host: NAME}`. The function's
        parameters name buffers and sizes of the spec; a size is annotated as int, float or str, or has a default. It
        returns the array of the output, one array for each of several outputs, or a dict. The arrays are NumPy's and
        read-only; with arrays=cupy they are CuPy's. The default of `name` is the name of the function."""
        def register(function: Function) -> Function:
            self.register_host(name or function.__name__, host_function(function, outputs, arrays))
            return function
        return register

    def store(self, path: Optional[Path] = None, read_only: bool = False) -> Store:
        """Opens a database of samples. If `path` is None, it is $KILN_STORE, or else the store of the command."""
        return Store(self, path, read_only)
