"""Plans. A plan is a compiled configuration of a spec with its buffers. It can be launched and run."""
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from ._kiln import ffi, lib
from ._objects import Kept, Owned, Path, Record, Value, flags, interruptible, record, text
from .arrays import ML_DTYPES, DeviceArray, bits_of, device_memory, dtype_of, kind_of, stream_pointer, type_name
from .errors import ArgumentError, call

if TYPE_CHECKING:
    from .spec import Spec


def run_options(kept: Kept, stop: Any, *, verify: bool = True, measure: bool = True, energy: bool = False,
                keep_l2: bool = False, flush_l2: bool = False, **members: Any) -> Any:
    """Makes a kiln_run_options. `members` are members of the struct: budget, precision, min_repetitions, inputs and so
    on."""
    return kept.struct("kiln_run_options", stop=stop, flags=flags(
        RUN_NO_VERIFY=not verify, RUN_NO_MEASURE=not measure, RUN_ENERGY=energy, RUN_KEEP_L2=keep_l2,
        RUN_FLUSH_L2=flush_l2), **members)


class Plan(Owned):
    """One configuration of a variant of a spec, at one set of sizes. Only one thread at a time uses a plan; other
    threads wait."""
    _exclusive = True

    def __init__(self, spec: "Spec", pointer: Any, best: Optional[Record] = None, about: str = "") -> None:
        self.spec = spec
        self._choice = about or (f"{best.variant} {best.params}" if best else "")
        self.best = best  # for Spec.best_plan(): the kiln_best with which the plan was opened
        self._bound: dict[str, tuple[Any, Optional[Plan]]] = {}  # for each buffer: the object that keeps the memory
                                                                 # alive, and the plan to which the memory belongs
        self._own(pointer, lib.kiln_plan_close, spec)

    def close(self) -> None:
        """Frees the plan and the buffers that it allocated. Bound memory stays."""
        if not self._closed and self._bound:
            with self._use():
                self._closed = True
            for name in list(self._bound):
                self._unbind(name)
        super().close()

    def _about(self) -> str:
        return f"{self.spec.name}: {self._choice or 'the default configuration'}"

    def _unbind(self, name: str) -> None:
        _, other = self._bound.pop(name, (None, None))
        if other:
            other._release()

    def __del__(self) -> None:
        super().__del__()
        for name in list(getattr(self, "_bound", ())):
            self._unbind(name)

    def bind(self, buffer: str, array: Any, nbytes: Optional[int] = None) -> None:
        """Uses device memory of the caller for a buffer: an array of CuPy, PyTorch, Numba or another library with
        DLPack or __cuda_array_interface__, a DeviceArray, or an address with its length in bytes. The array is kept
        alive until the plan is closed or the buffer is bound again. If the array is still being computed on a stream,
        launch on this stream, or wait for it."""
        memory = device_memory(array, nbytes)
        kind = self.spec.buffers.get(buffer, Record()).get("type")
        if kind and memory.kind and kind != memory.kind:
            raise TypeError(f"buffer {buffer} of {self.spec.name} has the type {kind}, and the array {memory.kind}")
        other = memory.owner.plan if isinstance(memory.owner, DeviceArray) and memory.owner.plan is not self else None
        with contextlib.ExitStack() as undo:
            if other:
                other._hold()
                undo.callback(other._release)
            with self._use() as plan:
                call(lib.kiln_plan_bind, plan, Kept().text(buffer), memory.pointer, memory.bytes)
                self._unbind(buffer)
                self._bound[buffer] = memory.owner, other
            undo.pop_all()

    def _do(self, function: Any, *arguments: Any) -> None:
        with self._use() as plan:
            self.spec.engine._call(function, plan, *arguments)

    def resize(self, **sizes: Value) -> None:
        """Changes sizes. If the size of a buffer changes, the buffer is freed, and its binding ends."""
        kept = Kept()
        self._do(lib.kiln_plan_resize, kept.settings(sizes), len(sizes))

    def nbytes(self, buffer: str) -> int:
        out = ffi.new("uint64_t *")
        self._do(lib.kiln_plan_buffer_bytes, Kept().text(buffer), out)
        return int(out[0])

    def _dtype(self, buffer: str, dtype: Any) -> "np.dtype[Any]":
        info = self.spec.buffers.get(buffer)
        if dtype is None and info and not info.type:
            raise ArgumentError("ERROR_ARGUMENT", f"the type of buffer {buffer} is not in the spec alone "
                                f"({info.type_text}); say it: dtype=\"f4\"")
        # The type of a buffer that only a variant has is not known, so its elements are bytes.
        made: np.dtype[Any] = np.dtype(dtype) if dtype is not None else dtype_of(info.type if info else "u8")
        return made

    def buffer(self, name: str, dtype: Any = None) -> DeviceArray:
        """Returns a buffer on the device. Allocates and fills the buffer if it is neither bound nor allocated yet."""
        nbytes, out = self.nbytes(name), ffi.new("CUdeviceptr *")
        self._do(lib.kiln_plan_buffer, Kept().text(name), out)
        made = self._dtype(name, dtype)
        return DeviceArray(self, name, int(out[0]), made, nbytes // made.itemsize)

    def write(self, buffer: str, array: Any) -> None:
        """Copies a whole buffer from the host. The array must have the buffer's type and size. For bf16 and floats of 8
        bits or fewer the array may also have unsigned integers with the bits of the floats."""
        array = np.ascontiguousarray(array)
        kind = self.spec.buffers.get(buffer, Record()).get("type")
        is_bits = kind in ML_DTYPES and array.dtype == bits_of(kind)
        if kind and not is_bits and type_name(kind_of(array.dtype)) != kind:
            raise TypeError(f"buffer {buffer} of {self.spec.name} has the type {kind}, and the array {array.dtype}")
        data = array.reshape(-1).view(np.uint8) if array.size else np.empty(1, np.uint8)
        self._do(lib.kiln_plan_write, Kept().text(buffer), ffi.from_buffer(data), array.nbytes)

    def read(self, buffer: str, dtype: Any = None) -> "np.ndarray[Any, Any]":
        """Copies a whole buffer to the host. The result has one dimension, with the elements in row-major order."""
        made = self._dtype(buffer, dtype)
        data = np.empty(self.nbytes(buffer), np.uint8)
        self._do(lib.kiln_plan_read, Kept().text(buffer), ffi.from_buffer(data, require_writable=True), data.nbytes)
        return data.view(made)

    def launch(self, stream: Any = None) -> None:
        """Enqueues the steps on a stream of the caller, and does not wait. The stream is an address, or a stream of
        CuPy or PyTorch."""
        self._do(lib.kiln_plan_launch, ffi.cast("CUstream", stream_pointer(stream)))

    def reset(self, stream: Any = None) -> None:
        """Enqueues the steps of `before_each`, which launch() does not enqueue."""
        self._do(lib.kiln_plan_reset, ffi.cast("CUstream", stream_pointer(stream)))

    def run(self, *, verify: bool = True, measure: bool = True, energy: bool = False,
            inputs: Optional[Mapping[str, Path]] = None, outputs: Optional[Mapping[str, Path]] = None,
            **members: Any) -> Record:
        """Fills the buffers, runs once, compares the answer, and measures. Returns a kiln_result. `inputs` and
        `outputs` map names of buffers to .npy files. `members` are other members of kiln_run_options: budget,
        precision, sample_timeout and so on."""
        kept, out = Kept(), ffi.new("const kiln_result **")
        with self._use() as plan, interruptible() as stop:
            options = run_options(kept, stop, verify=verify, measure=measure, energy=energy, inputs=inputs,
                                  outputs=outputs, **members)
            self.spec.engine._call(lib.kiln_plan_run, plan, options, out)
            return record(out[0])

    @property
    def size_set(self) -> str:
        """The size set of the plan: the chosen set, or the default of the engine."""
        with self._use() as plan:
            return text(lib.kiln_plan_size_set(plan))

    @property
    def kernels(self) -> list[Record]:
        """The kernels, each as a kiln_kernel_info."""
        with self._use() as plan:
            return [record(lib.kiln_plan_kernel(plan, i)) for i in range(lib.kiln_plan_kernel_count(plan))]

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics of the spec for these params, sizes and inputs."""
        found, name, number = {}, ffi.new("const char **"), ffi.new("double *")
        with self._use() as plan:
            for i in range(lib.kiln_plan_metric_count(plan)):
                self.spec.engine._call(lib.kiln_plan_metric, plan, i, name, number)
                found[text(name[0])] = float(number[0])
        return found
