"""Sweeps, their results, and the store that keeps samples."""
import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from . import notebook
from ._kiln import ffi, lib
from ._objects import Kept, Owned, Path, Record, flags, in_callback, interruptible, record, text
from .errors import Error, InterruptedError, NotFoundError, call
from .plan import run_options

if TYPE_CHECKING:
    from .engine import Engine
    from .problem import Problem
    from .spec import Spec

# The arguments are a kiln_progress, and a kiln_sample or, between two samples, None.
Callback = Callable[[Record, Optional[Record]], Any]


class Tuning:
    """The results of a sweep. It is a copy, so it need not be closed. A notebook shows it as a table and charts."""

    def __init__(self, pointer: Any, objectives: Sequence[str], spec: str = "", sizes: str = "") -> None:
        self.spec, self.sizes = spec, sizes  # the name of the spec; the sizes as a text
        self.problem: Optional["Problem"] = None  # for kiln.tune(): the problem that save() writes
        self.samples = []
        for i in range(lib.kiln_tuning_count(pointer)):
            sample = lib.kiln_tuning_sample(pointer, i)
            values = sample.objectives[0:len(objectives)] if sample.objectives else ()
            self.samples.append(Record(record(sample), objectives=dict(zip(objectives, values))))
        self.size_set = text(lib.kiln_tuning_size_set(pointer))  # the size set of the options, or the default of the
                                                                 # engine
        self.totals = record(lib.kiln_tuning_sum(pointer))
        self.verdict = record(lib.kiln_tuning_verdict(pointer))

    @property
    def best(self) -> Optional[Record]:
        """The first sample by rank, or None if it failed."""
        return self.samples[0] if self.samples and self.samples[0].status == "OK" else None

    def rows(self) -> list[dict[str, Any]]:
        """Returns a dict for each sample, in the order of rank. It has the members of the sample, of its kiln_result
        and of its params. `rank` counts from 1, as in the table and the file of `kiln tune`; it is None for a sample
        that failed."""
        rows = []
        for number, sample in enumerate(self.samples, 1):
            own = {name: item for name, item in sample.items() if name not in ("params", "result", "objectives")}
            rank = number if sample.status == "OK" else None
            rows.append({"rank": rank, **own, **sample.result, **sample.objectives, **sample.params})
        return rows

    def frame(self) -> Any:
        """Returns rows() as a pandas.DataFrame. Without pandas returns the list itself."""
        try:
            return importlib.import_module("pandas").DataFrame(self.rows())
        except ImportError:
            return self.rows()

    def curve(self) -> list[tuple[float, float]]:
        """Returns a pair for each improvement of the best time: seconds since the start of the sweep, and the new best
        time."""
        return notebook.curve(self.samples)

    def effects(self, variant: Optional[str] = None) -> dict[str, Record]:
        """Returns how much the time depends on each param of a variant. The default is the variant of the best sample.
        `effect` is the best time with the worst value, divided by the best time of all. `times` has the best time for
        each value. The largest effect comes first."""
        return notebook.effects(self.samples, variant)

    def save(self, path: Path, **options: Any) -> Any:
        """Writes the problem of a sweep of kiln.tune() as a spec, see Problem.save()."""
        if self.problem is None:
            raise ValueError("this sweep was of a spec already" + (f": {self.spec}" if self.spec else ""))
        return self.problem.save(path, **options)

    def __repr__(self) -> str:
        return notebook.text(self)

    def _repr_html_(self) -> str:
        return notebook.page(self)


class Listener:
    """Calls the caller's function and draws the bar. Keeps the exceptions that they raise."""

    def __init__(self, callback: Optional[Callback], bar: bool) -> None:
        self.callback, self.bar = callback, bar
        self.raised: Optional[BaseException] = None
        self.ended = False  # the callback has ended the sweep

    def draw(self, progress: Record) -> None:
        known = 0 < progress.total < 2**63
        done = min(20, 20 * progress.done // progress.total) if known else 0
        line = f"[{'#' * done}{'.' * (20 - done)}] {progress.done}" + (f"/{progress.total}" if known else "")
        line += f", {progress.failed} failed" if progress.failed else ""
        if progress.best:
            best = progress.best
            line += f", best {notebook.time(best.result)} ({best.variant})"
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
         name: str, at: str, **members: Any) -> Tuning:
    """Makes one call of kiln_tune(). `name` and `at` are the texts of the spec and the sizes in the result."""
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
        made = Tuning(out[0], members.get("objectives") or (), name, at) if out[0] else None
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

    def _about(self) -> str:
        return self.path

    def __init__(self, engine: "Engine", path: Optional[Path], read_only: bool) -> None:
        out, kept = ffi.new("kiln_store **"), Kept()
        with engine._use() as pointer, interruptible():
            call(lib.kiln_store_open, pointer, ffi.NULL if path is None else kept.text(path),
                 flags(STORE_READ=read_only), out)
            self._own(out[0], lib.kiln_store_close, engine)
        self.engine = engine
        self.path = text(lib.kiln_store_path(out[0]))

    def export_best(self, path: Path, spec: "Union[None, str, Spec]" = None, *, variant: Optional[str] = None,
                    device: Optional[str] = None) -> int:
        """Writes the best configuration of each variant to a text file, for every device and set of sizes in the store, as
        `kiln best --export` does. `best_plan(knowledge=path)` and kiln_knowledge_load() read the file. `spec` is a spec, or
        the name of specs; `device` is a part of a device's name. Returns the number of configurations. If no sample fits,
        NotFoundError is raised and no file is written."""
        kept, known, written = Kept(), ffi.new("kiln_knowledge **"), ffi.new("uint64_t *")
        name, of = (spec, None) if spec is None or isinstance(spec, str) else (spec.name, spec.path)
        chosen = kept.struct("kiln_store_filter", spec=name, path=of, variant=variant, device=device)
        with self.engine._use() as engine, self._use() as store, interruptible():
            call(lib.kiln_knowledge_collect, engine, store, chosen, known)
            try:
                if not lib.kiln_knowledge_count(known[0]):
                    asked = [f"{key} {value}" for key, value in (("spec", name), ("variant", variant), ("device", device))
                             if value is not None]
                    raise NotFoundError("ERROR_NOT_FOUND", f"there is nothing to export: the store {self.path} has no "
                                        f"successful sample{' of ' if asked else ''}{', '.join(asked)}")
                call(lib.kiln_knowledge_save, known[0], kept.text(path), written)
            finally:
                lib.kiln_knowledge_free(known[0])
        return int(written[0])

    @staticmethod
    @contextlib.contextmanager
    def pointer_of(store: "Optional[Store]") -> Iterator[Any]:
        if store is None:
            yield ffi.NULL
        else:
            with store._use() as pointer:
                yield pointer
