"""Kiln from Python: runs, checks and tunes CUDA kernels that specs describe. See the README of this package."""
from ._kiln import ffi as _ffi
from ._kiln import lib as _lib
from ._objects import Record, Value
from .arrays import DeviceArray
from .engine import Engine
from .errors import (ArgumentError, ClosedError, CompileError, ConstraintError, DeviceError, DeviceMemoryError, Error,
                     HostFunctionError, InternalError, InterruptedError, IoError, LaunchError, MemoryError,
                     NoCompilerError, NoDeviceError, NotFoundError, Place, RefusedError, SpecError, TimeoutError,
                     UnsupportedError, WrongAnswerError)
from .hosts import Call
from .plan import Plan
from .problem import Input, Output, Problem, tune
from .spec import Spec
from .sweep import Store, Tuning
from .verdicts import Judgement, judge

__version__: str = _ffi.string(_lib.kiln_version()).decode()
__all__ = [
    "ArgumentError", "Call", "ClosedError", "CompileError", "ConstraintError", "DeviceArray", "DeviceError",
    "DeviceMemoryError", "Engine", "Error", "HostFunctionError", "Input", "InternalError", "InterruptedError",
    "IoError", "Judgement", "LaunchError", "MemoryError", "NoCompilerError", "NoDeviceError", "NotFoundError", "Output", "Place",
    "Plan", "Problem", "Record", "RefusedError", "Spec", "SpecError", "Store", "TimeoutError", "Tuning", "UnsupportedError",
    "Value", "WrongAnswerError", "judge", "tune"]
