"""One class of exceptions for each status of the library, by its name: KILN_ERROR_NO_DEVICE is NoDeviceError."""
import builtins
import re
from typing import Any, NamedTuple, Optional

from ._kiln import ffi, lib


class Place(NamedTuple):
    """The place of an error in a file. Line and column count from 1."""
    file: str
    line: int
    column: int


class Error(Exception):
    """A call of the library failed. `str()` gives the whole message, which may have several lines."""

    def __init__(self, status: str, text: str, cuda: int = 0) -> None:
        super().__init__(text)
        self.status = status  # "ERROR_SPEC", as in samples
        self.text = text
        self.cuda = cuda  # the CUresult that caused the error, or 0 if there is none
        self.tuning: Any = None  # the results of a sweep up to its failure, as a kiln.Tuning

    @property
    def place(self) -> Optional[Place]:
        """The place at the beginning of the message, "FILE:LINE:COLUMN: ..."."""
        match = re.match(r"(.+?):(\d+):(\d+): ", self.text)
        return Place(match[1], int(match[2]), int(match[3])) if match else None

    def __reduce__(self) -> Any:
        return type(self), (self.status, self.text, self.cuda)


class MemoryError(Error, builtins.MemoryError): ...
class ArgumentError(Error, ValueError): ...
class SpecError(Error): ...
class NotFoundError(Error, LookupError): ...
class IoError(Error): ...
class RefusedError(Error): ...
class NoDeviceError(Error): ...
class NoCompilerError(Error): ...
class CompileError(Error): ...
class TimeoutError(Error): ...
class LaunchError(Error): ...
class DeviceError(Error): ...
class DeviceMemoryError(Error): ...
class WrongAnswerError(Error): ...
class ConstraintError(Error, ValueError): ...
class InterruptedError(Error): ...
class HostFunctionError(Error): ...
class UnsupportedError(Error): ...
class InternalError(Error): ...


class ClosedError(ValueError):
    """An object was used after its close(), or after its engine was closed."""


def class_of(status: str) -> type[Error]:
    found = globals().get("".join(word.capitalize() for word in status.split("_")[1:]) + "Error", Error)
    return found if isinstance(found, type) and issubclass(found, Error) else Error


def call(function: Any, *arguments: Any) -> None:
    """Calls a function of the library whose last parameter is a kiln_error **."""
    pointer = ffi.new("kiln_error **")
    status = function(*arguments, pointer)
    if not status:
        return
    error = pointer[0]
    name = ffi.string(lib.kiln_status_name(status)).decode().removeprefix("KILN_")
    text = ffi.string(lib.kiln_error_message(error) if error else lib.kiln_status_text(status))
    cuda = lib.kiln_error_cuda(error) if error else 0
    lib.kiln_error_free(error)
    raise class_of(name)(name, text.decode("utf-8", "surrogateescape"), cuda)
