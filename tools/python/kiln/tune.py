"""Sweeps, their results, and the store that keeps samples."""
import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from ._kiln import ffi, lib
from ._objects import Kept, Owned, Path, Record, flags, in_callback, interruptible, record, text
from .errors import Error, InterruptedError, call
from .plan import run_options

if TYPE_CHECKING:
    from .engine import Engine

# A kiln_progress; a kiln_sample, or None between two samples.
Callback = Callable[[Record, Optional[Record]], Any]


class Tuning:
    """The outcome of a sweep, copied from the library: nothing to close."""

    def __init__(self, pointer: Any, objectives: Sequence[str]) -> None:
        self.samples = []
        for i in range(lib.kiln_tuning_count(pointer)):
            sample = lib.kiln_tuning_sample(pointer, i)
            values = sample.objectives[0:len(objectives)] if sample.objectives else ()
            self.samples.append(Record(record(sample), objectives=dict(zip(objectives, values))))
        self.totals = record(lib.kiln_tuning_sum(pointer))
        self.verdict = record(lib.kiln_tuning_verdict(pointer))

    @property
    def best(self) -> Optional[Record]:
        """The first by rank, if it worked."""
        return self.samples[0] if self.samples and self.samples[0].status == "OK" else None

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each sample, by rank: its params and the members of its kiln_result beside its own."""
        rows = []
        for rank, sample in enumerate(self.samples):
            own = {name: item for name, item in sample.items() if name not in ("params", "result", "objectives")}
            rows.append({"rank": rank, **own, **sample.result, **sample.objectives, **sample.params})
        return rows

    def frame(self) -> Any:
        """The same as a pandas.DataFrame; the list itself where there is no pandas."""
        try:
            return importlib.import_module("pandas").DataFrame(self.rows())
        except ImportError:
            return self.rows()


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            break
    return f"{seconds * factor:.3g} {unit}"


class Listener:
    """Has the caller's function called and the bar drawn; keeps what they raise."""

    def __init__(self, callback: Optional[Callback], bar: bool) -> None:
        self.callback, self.bar = callback, bar
        self.raised: Optional[BaseException] = None
        self.ended = False  # the callback asked for it

    def draw(self, progress: Record) -> None:
        known = 0 < progress.total < 2**63
        done = min(20, 20 * progress.done // progress.total) if known else 0
        line = f"[{'#' * done}{'.' * (20 - done)}] {progress.done}" + (f"/{progress.total}" if known else "")
        line += f", {progress.failed} failed" if progress.failed else ""
        if progress.best:
            best = progress.best
            line += f", best {_time(best.result.seconds or best.result.host_seconds)} ({best.variant})"
        line += f", {progress.remaining:.0f} s left" if progress.remaining >= 0 else ""
        sys.stderr.write(f"\r{line:<78}")
        sys.stderr.flush()

    def __call__(self, progress: Any, sample: Any) -> bool:
        if self.raised or not (self.bar or self.callback):
            return self.raised is not None
        seen = record(progress)
        if self.bar:
            self.draw(seen)
        if self.callback and self.callback(seen, None if sample == ffi.NULL else record(sample)):
            self.ended = True
        return self.ended


def _on_progress(user: Any, progress: Any, sample: Any) -> int:
    listener: Listener = ffi.from_handle(user)
    try:
        with in_callback():
            return int(listener(progress, sample))
    except BaseException as raised:
        listener.raised = raised
        return 1


ffi.def_extern("kiln_py_tune")(_on_progress)


def tune(owner: "Engine", engine: Any, spec: Any, kept: Kept, listener: Listener, run: Mapping[str, Any], fresh: bool,
         **members: Any) -> Tuning:
    out, handle = ffi.new("kiln_tuning **"), ffi.new_handle(listener)
    failed: Optional[Error] = None
    try:
        with interruptible() as stop:
            options = kept.struct("kiln_tune_options", run=run_options(kept, stop, **run), callback=lib.kiln_py_tune,
                                  user=handle, flags=flags(TUNE_FRESH=fresh), **members)
            try:
                owner._call(lib.kiln_tune, engine, spec, options, out)
            except Error as error:
                failed = error
                if stop and stop[0]:  # Ctrl-C
                    raise
        if listener.raised:
            raise listener.raised
        made = Tuning(out[0], members.get("objectives") or ()) if out[0] else None
    finally:
        lib.kiln_tuning_free(out[0])
        if listener.bar:
            sys.stderr.write("\n")
    if made and (not failed or listener.ended and isinstance(failed, InterruptedError)):
        return made
    if failed:
        failed.tuning = made
        raise failed
    raise AssertionError("a sweep that worked has an outcome")


class Store(Owned):
    """A database of samples; engine.store() opens it. Many threads may use it."""

    def __init__(self, engine: "Engine", path: Optional[Path], read_only: bool) -> None:
        out, kept = ffi.new("kiln_store **"), Kept()
        with engine._use() as pointer, interruptible():
            call(lib.kiln_store_open, pointer, ffi.NULL if path is None else kept.text(path),
                 flags(STORE_READ=read_only), out)
            self._own(out[0], lib.kiln_store_close, engine)
        self.path = text(lib.kiln_store_path(out[0]))

    @staticmethod
    @contextlib.contextmanager
    def pointer_of(store: "Optional[Store]") -> Iterator[Any]:
        if store is None:
            yield ffi.NULL
        else:
            with store._use() as pointer:
                yield pointer
