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

# A kiln_progress; a kiln_sample, or None between two samples.
Callback = Callable[[Record, Optional[Record]], Any]


class Tuning:
    """The outcome of a sweep, copied from the library: nothing to close. A notebook shows it as a table and charts."""

    def __init__(self, pointer: Any, objectives: Sequence[str], spec: str = "", sizes: str = "") -> None:
        self.spec, self.sizes = spec, sizes  # the name of the spec; the sizes as a text
        self.problem: Optional["Problem"] = None  # of kiln.tune(): what save() writes
        self.samples = []
        for i in range(lib.kiln_tuning_count(pointer)):
            sample = lib.kiln_tuning_sample(pointer, i)
            values = sample.objectives[0:len(objectives)] if sample.objectives else ()
            self.samples.append(Record(record(sample), objectives=dict(zip(objectives, values))))
        self.size_set = text(lib.kiln_tuning_size_set(pointer))  # the one of the options, or the default of the engine
        self.totals = record(lib.kiln_tuning_sum(pointer))
        self.verdict = record(lib.kiln_tuning_verdict(pointer))

    @property
    def best(self) -> Optional[Record]:
        """The first by rank, if it worked."""
        return self.samples[0] if self.samples and self.samples[0].status == "OK" else None

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each sample, by rank: its params and the members of its kiln_result beside its own. `rank` counts
        from 1, as in the table and the file of `kiln tune`; it is None for a sample that failed."""
        rows = []
        for number, sample in enumerate(self.samples, 1):
            own = {name: item for name, item in sample.items() if name not in ("params", "result", "objectives")}
            rank = number if sample.status == "OK" else None
            rows.append({"rank": rank, **own, **sample.result, **sample.objectives, **sample.params})
        return rows

    def frame(self) -> Any:
        """The same as a pandas.DataFrame; the list itself where there is no pandas."""
        try:
            return importlib.import_module("pandas").DataFrame(self.rows())
        except ImportError:
            return self.rows()

    def curve(self) -> list[tuple[float, float]]:
        """The search as one pair for each improvement: seconds since the start of the sweep, and the best time then."""
        return notebook.curve(self.samples)

    def effects(self, variant: Optional[str] = None) -> dict[str, Record]:
        """How much the time depends on each param of a variant; by default the variant of the best sample. `effect` is
        the best time with the worst value, divided by the best time of all. `times` has the best time for each value.
        The largest effect comes first."""
        return notebook.effects(self.samples, variant)

    def save(self, path: Path, **options: Any) -> Any:
        """For a sweep of kiln.tune(): writes its problem as a spec, see Problem.save()."""
        if self.problem is None:
            raise ValueError("this sweep was of a spec already" + (f": {self.spec}" if self.spec else ""))
        return self.problem.save(path, **options)

    def __repr__(self) -> str:
        return notebook.text(self)

    def _repr_html_(self) -> str:
        return notebook.page(self)


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
    """One call of kiln_tune(). `name` and `at` are the spec and the sizes that the result names."""
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
