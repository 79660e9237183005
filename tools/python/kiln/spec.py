"""Specs: their contents, their plans, and sweeps."""
import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from ._kiln import ffi, lib
from ._objects import Kept, Owned, Path, Record, Value, interruptible, record, settings, text
from .arrays import type_name
from .errors import Error, UnsupportedError, call
from .plan import Plan, run_options
from .sweep import Callback, Listener, Store, Tuning, tune

if TYPE_CHECKING:
    from .engine import Engine


class Spec(Owned):
    """A checked problem spec; engine.load() makes it. Many threads may use it."""

    def __init__(self, engine: "Engine", pointer: Any) -> None:
        self.engine = engine
        self._own(pointer, lib.kiln_spec_free, engine)
        with self._use() as spec:
            self.name, self.title = text(lib.kiln_spec_name(spec)), text(lib.kiln_spec_title(spec))
            self.about, self.path = text(lib.kiln_spec_about(spec)), text(lib.kiln_spec_path(spec))
            self.variants = [text(lib.kiln_spec_variant_name(spec, i))
                             for i in range(lib.kiln_spec_variant_count(spec))]
            self.sizes: dict[str, dict[str, Value]] = {}  # the sizes of each size set
            for i in range(lib.kiln_spec_size_set_count(spec)):
                found = lib.kiln_spec_size_set(spec, i)
                self.sizes[text(found.name)] = settings(found.settings, found.count)
            self.buffers: dict[str, Record] = {}  # each is a kiln_buffer_info; if `type` is None, type_text is the
                                                  # expression that gives the type
            for i in range(lib.kiln_spec_buffer_count(spec)):
                info = lib.kiln_spec_buffer(spec, i)
                kind = None if info.type_text else type_name(info.type)
                self.buffers[text(info.name)] = Record(record(info), type=kind)

    def _about(self) -> str:
        return f"{self.name}: variants {', '.join(self.variants)}; sizes {', '.join(self.sizes)}"

    def params(self, variant: Optional[str] = None) -> dict[str, tuple[Value, ...]]:
        """Returns the values of each param of a variant, the default first. Without `variant` it is the first
        contender."""
        found = {}
        with self._use() as spec:
            number = lib.kiln_spec_variant_first(spec)
            if variant is not None:
                number = lib.kiln_spec_variant_find(spec, Kept().text(variant))
            if number < 0:
                raise KeyError(f"{self.name} has no variant {variant!r}; there are {', '.join(self.variants)}")
            for i in range(lib.kiln_spec_param_count(spec, number)):
                info = lib.kiln_spec_param(spec, number, i)
                item = record(info)
                values = list(item["values"])
                found[str(item["name"])] = tuple([values.pop(info.initial), *values])
        return found

    def plan(self, variant: Optional[str] = None, params: Optional[Mapping[str, Value]] = None,
             sizes: Optional[Mapping[str, Value]] = None, size_set: Optional[str] = None) -> Plan:
        """Compiles a configuration, or takes it from the cache. All sizes and params that are not given have their
        defaults."""
        kept, out = Kept(), ffi.new("kiln_plan **")
        choice = kept.struct("kiln_choice", variant=variant, params=params, sizes=sizes, size_set=size_set)
        with self.engine._use() as engine, self._use() as spec:
            self.engine._call(lib.kiln_plan_open, engine, spec, choice, out)
            chosen = [str(item) for item in (variant, params, sizes or size_set) if item]
            return Plan(self, out[0], about=" ".join(chosen))

    def best_plan(self, variant: Optional[str] = None, params: Optional[Mapping[str, Value]] = None,
                  sizes: Optional[Mapping[str, Value]] = None, size_set: Optional[str] = None, *,
                  store: Optional[Store] = None, knowledge: Optional[Path] = None, tune_seconds: float = 0,
                  **run: Any) -> Plan:
        """Opens a plan with the best configuration that a store or a file of best-known configurations has. If these
        sizes are unknown on this device and `tune_seconds` is given, a sweep of at most this time comes first. `run`
        has keywords of Plan.run()."""
        kept, out, best, known = Kept(), ffi.new("kiln_plan **"), ffi.new("kiln_best **"), ffi.new("kiln_knowledge **")
        choice = kept.struct("kiln_choice", variant=variant, params=params, sizes=sizes, size_set=size_set)
        with (self.engine._use() as engine, self._use() as spec, interruptible() as stop,
              Store.pointer_of(store) as kept_in):
            if knowledge is not None:
                call(lib.kiln_knowledge_load, engine, kept.text(knowledge), known)
            try:
                options = kept.struct("kiln_best_options", store=kept_in, knowledge=known[0], tune_seconds=tune_seconds,
                                      run=run_options(kept, stop, **run))
                self.engine._call(lib.kiln_plan_open_best, engine, spec, choice, options, out, best)
                try:
                    return Plan(self, out[0], record(best[0]))
                finally:
                    lib.kiln_best_free(best[0])
            finally:
                lib.kiln_knowledge_free(known[0])

    def space(self, variant: Optional[str] = None, sizes: Optional[Mapping[str, Value]] = None,
              size_set: Optional[str] = None) -> Record:
        """Counts the configurations, without and with the constraints. Returns a kiln_space_info."""
        kept = Kept()
        choice = kept.struct("kiln_choice", variant=variant, sizes=sizes, size_set=size_set)
        info = kept.struct("kiln_space_info")
        with self.engine._use() as engine, self._use() as spec:
            call(lib.kiln_space_count, engine, spec, choice, ffi.NULL, info)
        return record(info)

    def _has_size_set(self, name: str) -> bool:
        return name in list(self.sizes)[1:]

    def _verifiable(self, small: str) -> Optional[list[str]]:
        """Returns the variants that have a valid configuration at the sizes `small`, or None if all have one or none
        has one."""
        found = []
        for variant in self.variants:
            with contextlib.suppress(Error):
                if not self.space(variant, size_set=small).valid:
                    continue
            found.append(variant)
        return found if 0 < len(found) < len(self.variants) else None

    def tune(self, *, variants: Optional[Sequence[str]] = None, params: Optional[Mapping[str, Value]] = None,
             sizes: Optional[Mapping[str, Value]] = None, size_set: Optional[str] = None,
             max_seconds: Optional[float] = None, max_configurations: int = 0, strategy: Optional[str] = None,
             seed: int = 0, objectives: Optional[Sequence[str]] = None, store: Optional[Store] = None,
             fresh: bool = False, progress: bool = False, callback: Optional[Callback] = None,
             run: Optional[Mapping[str, Any]] = None, **members: Any) -> Tuning:
        """Tries configurations and ranks them, as `kiln tune` does. `callback(progress, sample)` is called after each
        sample, and between samples with None as the sample. If it returns a true value, the sweep ends. If it raises an
        exception, this function raises the exception. `progress` shows a bar on stderr. `run` has keywords of
        Plan.run(). `members` are other members of kiln_tune_options.

        Two rules apply if there is no GPU, and neither the engine nor $KILN_DEVICE names a device. If neither sizes nor
        `run` are given, answers are verified at the size set `tiny`, and times are estimated at the first size set, if
        the spec allows it. A sweep without a limit ends after 60 seconds; max_seconds=0 means no limit."""
        unnamed = not self.engine._named and self.engine.device.simulated
        limited = max_configurations or members.get("max_roofline") or members.get("stagnation")
        if max_seconds is None:
            max_seconds = 60 if unnamed and not limited else 0
        asked: dict[str, Any] = dict(variants=variants, sizes=sizes, size_set=size_set)
        plain = asked
        if unnamed and not (sizes or size_set or run or "verify_size_set" in members) and self._has_size_set("tiny"):
            plain = dict(asked, variants=variants or self._verifiable("tiny"), size_set=next(iter(self.sizes)),
                         verify_size_set="tiny")

        def sweep(given: Mapping[str, Any]) -> Tuning:
            kept, simulated = Kept(), self.engine.device.simulated
            chosen = sizes or given["size_set"] or ("tiny" if simulated and self._has_size_set("tiny") else
                                                    next(iter(self.sizes)))
            about = chosen if isinstance(chosen, str) else ", ".join(f"{key}={item}" for key, item in chosen.items())
            if "verify_size_set" in given:
                about += f", answers at {given['verify_size_set']}"
            with self.engine._use() as engine, self._use() as spec, Store.pointer_of(store) as kept_in:
                return tune(self.engine, engine, spec, kept, Listener(callback, progress), run or {}, fresh, self.name,
                            about, params=params, max_seconds=max_seconds, max_configurations=max_configurations,
                            strategy=strategy, seed=seed, objectives=objectives, store=kept_in, **given, **members)
        try:
            return sweep(plain)
        except UnsupportedError as error:  # the work depends on data, so the time cannot be estimated from some blocks
            if plain is asked or error.tuning and error.tuning.samples:
                raise
        return sweep(asked)
