"""Arrays: NumPy arrays over memory of the library, and arrays of other libraries in memory of the device."""
import contextlib
import ctypes
import importlib
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np

from ._kiln import ffi, lib

if TYPE_CHECKING:
    from .plan import Plan


ML_DTYPES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f4e2m1": "float4_e2m1fn",
             "f6e2m3": "float6_e2m3fn", "f6e3m2": "float6_e3m2fn", "ue8m0": "float8_e8m0fnu"}  # the names of these
                                                                                               # types in ml_dtypes


def dtype_of(kind: str) -> "np.dtype[Any]":
    """Returns NumPy's type for an element type of a spec, such as "f32". NumPy has neither bf16 nor floats of 8 bits or
    fewer, so these types come from ml_dtypes. Floats of 4 and 6 bits and ue8m0 need ml_dtypes 0.5 or later."""
    if kind not in ML_DTYPES:
        return np.dtype(str(ffi.string(lib.kiln_py_code(getattr(lib, f"KILN_{kind}"))).decode()))
    try:
        made: np.dtype[Any] = np.dtype(getattr(importlib.import_module("ml_dtypes"), ML_DTYPES[kind]))
    except (ImportError, AttributeError):  # an old ml_dtypes does not have all types
        raise MissingTypeError(f"NumPy has no type for {kind}: install the package ml_dtypes (pip install ml_dtypes), "
                               "which has one. Plan.read(), write() and buffer() also take the bits, as "
                               f"{bits_of(kind)}") from None
    return made


def bits_of(kind: str) -> "np.dtype[Any]":
    """Returns the type of unsigned integers with the same number of bytes as a type in ML_DTYPES."""
    return np.dtype("u2" if kind == "bf16" else "u1")


class MissingTypeError(TypeError, ImportError):
    """An array has a type that NumPy does not have, and ml_dtypes is not installed."""


def kind_of(dtype: "np.dtype[Any]") -> int:
    """Returns the kiln_type of a NumPy type."""
    for number in range(lib.KILN_TYPE_COUNT):
        with contextlib.suppress(MissingTypeError):
            if dtype_of(type_name(number)) == dtype:
                return number
    raise TypeError(f"specs have no type for NumPy's {dtype}")


def type_name(number: int) -> str:
    return str(ffi.string(ffi.cast("kiln_type", number))).removeprefix("KILN_")


def view(array: Any, writable: bool) -> "np.ndarray[Any, Any]":
    """Returns a NumPy array over the memory of a kiln_array."""
    dtype, shape = dtype_of(type_name(array.type)), tuple(array.shape[0:array.dims])
    count = int(np.prod(shape, dtype=np.int64))
    if not count:
        return np.empty(shape, dtype)
    made = np.frombuffer(ffi.buffer(array.data, count * dtype.itemsize), dtype)
    made.flags.writeable = writable
    return made.reshape(shape)


# ---- on the device ----

class DeviceMemory(NamedTuple):
    pointer: int
    bytes: int
    kind: str  # the element type, such as "f32"; "" if it is not known
    owner: Any  # the object that keeps the memory alive


class DeviceArray:
    """A buffer of a plan in memory of the device. On a GPU, CuPy, PyTorch and other libraries can use it without a
    copy. It has one dimension, because only the spec has the shape. It keeps its plan alive. It becomes invalid when
    the plan is closed or the buffer is resized."""

    def __init__(self, plan: "Plan", name: str, pointer: int, dtype: "np.dtype[Any]", size: int) -> None:
        self.plan, self.name, self.dtype, self.size = plan, name, dtype, size
        self._at = pointer

    def __repr__(self) -> str:
        return f"<kiln.DeviceArray {self.name}: {self.size} x {self.dtype}>"

    @property
    def pointer(self) -> int:
        with self.plan._use():
            return self._at

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.size,), "typestr": self.dtype.str, "data": (self.pointer, False), "version": 3}


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h, with which a DLManagedTensor begins."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("dims", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


_DLPACK_CUDA, _DLPACK_CUDA_MANAGED = 2, 13
_DLPACK_CODES = {0: "i", 1: "u", 2: "f", 4: "bf", 5: "complex"}  # the number of bits follows the letter
_DLPACK_NAMES = {6: "bool", 10: "f8e4m3", 12: "f8e5m2", 14: "ue8m0"}


def _is_dense(shape: Any, strides: Any) -> bool:
    """Returns True if the array is stored row by row without gaps. `strides` counts in the unit of the last
    dimension."""
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def _from_interface(array: Any) -> DeviceMemory:
    described = array.__cuda_array_interface__
    dtype, shape, strides = np.dtype(described["typestr"]), described["shape"], described.get("strides")
    count = int(np.prod(shape, dtype=np.int64))
    if strides is not None and count and not _is_dense(shape, [stride / dtype.itemsize for stride in strides]):
        raise ValueError("the array is not dense and row-major; make a copy of it first")
    kind = "" if dtype.kind == "V" else type_name(kind_of(dtype))
    return DeviceMemory(described["data"][0], count * dtype.itemsize, kind, array)


def _from_dlpack(array: Any) -> DeviceMemory:
    if array.__dlpack_device__()[0] not in (_DLPACK_CUDA, _DLPACK_CUDA_MANAGED):
        raise ValueError("the array is not in a GPU's memory; Plan.write() copies one from the host")
    capsule = array.__dlpack__(stream=-1)  # -1 means that the array need not be ready: the caller orders its streams
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(get(capsule, b"dltensor"))
    shape = [tensor.shape[i] for i in range(tensor.dims)]
    count = int(np.prod(shape, dtype=np.int64))
    if tensor.strides and count and not _is_dense(shape, [tensor.strides[i] for i in range(tensor.dims)]):
        raise ValueError("the array is not dense and row-major; make a copy of it first")
    bits = tensor.bits * tensor.lanes
    kind = _DLPACK_NAMES.get(tensor.code) or f"{_DLPACK_CODES.get(tensor.code)}{bits}"
    if not hasattr(lib, f"KILN_{kind}"):
        kind = ""
    # The capsule was not consumed, so it frees the tensor when it goes.
    return DeviceMemory((tensor.data or 0) + tensor.offset, count * bits // 8, kind, (array, capsule))


def device_memory(array: Any, nbytes: Optional[int]) -> DeviceMemory:
    """Returns the device memory of an array with __cuda_array_interface__ or DLPack, or of an address with its
    length."""
    if isinstance(array, int):
        if nbytes is None:
            raise TypeError("an address needs nbytes, the length of the memory there")
        return DeviceMemory(array, nbytes, "", None)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _from_dlpack(array)
    if hasattr(array, "__cuda_array_interface__"):
        return _from_interface(array)
    raise TypeError(f"{type(array).__name__} has neither __cuda_array_interface__ nor DLPack; Plan.write() copies an "
                    "array of the host")


def stream_pointer(stream: Any) -> int:
    """Returns the CUstream of a stream: an int, None for the default stream, or a stream of CuPy, PyTorch or
    cuda.core."""
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):
        asked = stream.__cuda_stream__
        return int((asked() if callable(asked) else asked)[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    return int(stream)
