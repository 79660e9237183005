"""Verdicts on kernels that another person or a program wrote."""
import contextlib
import json
import pathlib
from collections.abc import Mapping
from typing import Any, Optional, Union

from ._kiln import ffi, lib
from ._objects import Kept, Path, Value, text
from .engine import Engine
from .spec import Spec


class Judgement:
    """The verdict on a candidate. `status` is the verdict in one word: "pass", "wrong", "unsafe" and so on. `evidence` has
    the message, the smallest failing case and the findings; a pass has none of them."""

    def __init__(self, made: Mapping[str, Any], page: str) -> None:
        self._made = dict(made)
        self.status: str = made["verdict"]
        self.page = page  # the verdict as a page for people
        self.evidence: dict[str, Any] = {name: made[name] for name in ("message", "case", "findings")}

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole verdict in the form of engine/judge/verdict.schema.json."""
        return dict(self._made)

    def __bool__(self) -> bool:
        return self.status == "pass"

    def __repr__(self) -> str:
        return f"<kiln.Judgement {self.status}: {self.evidence['message'] or 'no fault'}>"


def judge(spec: Union[Spec, Path], candidate: Path, *, device: Optional[str] = None, variant: Optional[str] = None,
          params: Optional[Mapping[str, Value]] = None, against: Union[None, str, Spec] = None, seed: int = 0,
          budget: float = 0, launch_limit: float = 0) -> Judgement:
    """Judges the CUDA source in the file `candidate` by a spec, as `kiln judge` does. `spec` is a Spec, a path or a
    name. For a path or a name, the function opens an engine for `device`. `against` is a variant of the spec, or
    another Spec. A candidate that passes is compared with it.

    The kernels run in this process, without a sandbox. Use the command for candidates that may be malicious."""
    with contextlib.ExitStack() as stack:
        if not isinstance(spec, Spec):
            engine_of_spec = stack.enter_context(Engine(device))
            spec = stack.enter_context(engine_of_spec.load(spec))
        elif device is not None:
            raise TypeError("a Spec has the device of its engine, so judge() takes no device beside it")
        source, kept, out = pathlib.Path(candidate).read_bytes(), Kept(), ffi.new("kiln_judgement **")
        other = stack.enter_context(against._use()) if isinstance(against, Spec) else None
        options = kept.struct("kiln_judge_options", variant=variant, params=params, seed=seed, budget=budget,
                              launch_limit=launch_limit, against=against if isinstance(against, str) else None,
                              against_spec=other)
        with spec.engine._use() as engine, spec._use() as pointer:
            spec.engine._call(lib.kiln_judge, engine, pointer, source, len(source),
                              kept.text(pathlib.Path(candidate).name), options, out)
            try:
                return Judgement(json.loads(text(lib.kiln_judgement_json(out[0]))), text(lib.kiln_judgement_page(out[0])))
            finally:
                lib.kiln_judgement_free(out[0])
