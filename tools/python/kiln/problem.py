"""Problems that are described in Python, without YAML. A problem becomes a spec, which can be saved."""
import contextlib
import json
import math
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import reference as references
from ._objects import Path, Value
from .arrays import ML_DTYPES, kind_of, type_name
from .engine import Engine
from .spec import Spec
from .sweep import Tuning

Expression = Union[int, float, str]
Answer = Union[references.Function, "np.ndarray[Any, Any]", Mapping[str, "np.ndarray[Any, Any]"]]


class Input:
    """A buffer that the kernel reads: an array, or a type and extents, which may be expressions over sizes:
    Input(array); Input("f32", "M", "K"); Input("i32", "N", fill={"uniform": [0, 100]}). Without `fill` floats are
    random from -1 to 1."""
    out = False

    def __init__(self, content: Any, *shape: Expression, fill: Any = None) -> None:
        self.data: Optional[np.ndarray[Any, Any]] = None
        if isinstance(content, str):
            if not shape:
                raise TypeError(f"{type(self).__name__}({content!r}) needs extents, such as {type(self).__name__}"
                                f"({content!r}, 'N')")
            self.type, self.shape, self.fill = content, list(shape), fill
        else:
            if shape or fill is not None:
                raise TypeError(f"{type(self).__name__} of an array has its content and its shape from the array")
            self.data = np.ascontiguousarray(references.to_host(content))
            self.type, self.shape, self.fill = type_name(kind_of(self.data.dtype)), list(self.data.shape), None

    @property
    def has_content(self) -> bool:
        """Returns True if the kernel may read the buffer; the reference may then read it too."""
        return not self.out or self.data is not None or self.fill is not None

    def described(self, name: str, folder: pathlib.Path, prefix: str) -> dict[str, Any]:
        """Returns the entry of the buffer in the spec. If the buffer has an array, writes the array to `folder`, which
        the spec calls `prefix`."""
        found: dict[str, Any] = {"type": self.type, "shape": self.shape}
        if self.data is not None:
            np.save(folder / f"{name}.npy", self.data)
            found = {"file": f"{prefix}{name}.npy", **found}
        elif self.fill is not None:
            found["fill"] = self.fill
        elif not self.out:
            if not re.match(r"(f|bf|complex)\d", self.type):
                raise ValueError(f"{name} has the type {self.type}, for which no content is usual: "
                                 f"Input({self.type!r}, ..., fill={{'uniform': [0, 100]}})")
            found["fill"] = {"uniform": [-1, 1]}
        return {**found, "out": True} if self.out else found


class Output(Input):
    """A buffer that the kernel writes. If it has an array or `fill`, the kernel also reads it."""
    out = True


# ---- YAML ----

# Matches a word, the name of a file, or an expression. A comma within parentheses does not end an entry of a spec.
_PLAIN = re.compile(r"[\w(](?:[\w .*/+()-]|\([\w .*/+,-]*\))*", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# JSON does not escape these characters. YAML allows some of them only as escapes, and YAML readers remove others or
# treat them as line breaks.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def _is_plain(item: str) -> bool:
    if not _PLAIN.fullmatch(item) or item != item.strip() or item.lower() in ("true", "false", "null"):
        return False
    with contextlib.suppress(ValueError):
        float(item)  # a text of digits would become a number
        return False
    return True


def _quoted(item: str) -> str:
    """Returns a text in quotes. Raises ValueError for a text that no spec can contain."""
    if re.search("[\0\ud800-\udfff]", item):
        raise ValueError(f"{item!a} has a NUL character or a lone surrogate, which a spec cannot have")
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(item, ensure_ascii=False))


def _number(item: Union[int, float]) -> str:
    """Returns a number as a text. Raises ValueError for a number that the engine's expressions cannot represent."""
    if isinstance(item, int) and not -2**63 <= item < 2**63:
        raise ValueError(f"{item} does not fit 64 bits")
    if isinstance(item, float) and not math.isfinite(item):
        raise ValueError(f"a spec has finite numbers only, not {item}")
    # The parser reads a sign and then the number, and 2**63 does not fit 64 bits.
    return "(-9223372036854775807 - 1)" if item == -2**63 and isinstance(item, int) else repr(item)


def _flow(item: Any, is_value: bool = False) -> str:
    """Returns a value in YAML's flow style. Texts get quotes, unless every YAML reader takes them for plain words or
    expressions. Texts among the values of a param (`is_value`) always get quotes, because the engine would evaluate
    them as expressions."""
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{_flow(str(name))}: {_flow(value, is_value and name in ('values', 'default'))}"
                               for name, value in item.items()) + "}"
    if isinstance(item, (list, tuple, range)):
        return "[" + ", ".join(_flow(value, is_value) for value in item) + "]"
    item = item.item() if isinstance(item, np.generic) else item
    if isinstance(item, bool) or item is None:
        return {True: "true", False: "false", None: "null"}[item]
    if isinstance(item, (int, float)):
        return _number(item)
    if not isinstance(item, str):
        raise TypeError(f"{item!r} is neither a number nor a text, a list or a dict")
    return item if not is_value and _is_plain(item) else _quoted(item)


def _block(sections: Mapping[str, Any]) -> str:
    """Returns the text of a spec, with one line for each entry of its sections."""
    lines = []
    for name, section in sections.items():
        if isinstance(section, Mapping) and section:
            lines += [f"{name}:", *(f"  {_flow(str(key))}: {_flow(value, name == 'params')}"
                                    for key, value in section.items())]
        else:
            lines.append(f"{_flow(str(name))}: {_flow(section)}")
    return "\n".join(lines) + "\n"


# ---- the problem ----

def _listed(given: Any) -> list[Any]:
    """Returns the items of a sequence, or a list whose only item is a single text or number."""
    return [given] if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable) else list(given)


class Problem:
    """A kernel, its params, its launch and its reference. The README of this package has the keywords."""

    def __init__(self, source: Path, *, params: Mapping[str, Sequence[Value]], sizes: Mapping[str, Any],
                 args: Mapping[str, Any], grid: Any, block: Any, kernel: Optional[str] = None,
                 name: Optional[str] = None, reference: Optional[Answer] = None, arrays: Any = None,
                 tolerance: Optional[Mapping[str, Any]] = None, metrics: Optional[Mapping[str, Expression]] = None,
                 where: Sequence[str] = (), shared: Optional[Expression] = None, **sections: Any) -> None:
        self.text, self.path = self._read(source)
        self.kernel = kernel or self._only_kernel()
        self.name = name if name is not None else self._default_name()
        if not re.fullmatch(r"[A-Za-z0-9_-]+", self.name):
            raise ValueError(f"the problem's name is {self.name!r}; it may have ASCII letters, digits, '_' and '-', "
                             "and no other character, because files are called after it")
        if not isinstance(args, Mapping):
            raise TypeError("args is a dict with the kernel's parameters in their order: "
                            '{"x": kiln.Input("f32", "N"), "n": "N"}')
        for what, names in (("args", args), ("params", params)):
            for key in names:
                if not isinstance(key, str) or not _NAME.fullmatch(key):
                    raise ValueError(f"{what} has the key {key!r}, which is no name: a name has ASCII letters, digits "
                                     "and '_', and does not begin with a digit")
        self.buffers = {key: item if isinstance(item, Input) else Input(item) for key, item in args.items()
                        if isinstance(item, (Input, np.ndarray)) or hasattr(item, "__cuda_array_interface__")}
        self.outputs = [key for key, item in self.buffers.items() if item.out]
        self.args = [key if key in self.buffers else item for key, item in args.items()]
        self.sizes = dict(sizes)
        if not all(isinstance(item, Mapping) for item in self.sizes.values()):
            self.sizes = {"default": self.sizes}
        self.sizes = {key: {size: item.item() if isinstance(item, np.generic) else item for size, item in entry.items()}
                      for key, entry in self.sizes.items()}
        self.reference, self.arrays, self.tolerance = reference, arrays, tolerance or {}
        if reference is not None and not self.outputs:
            raise ValueError("a reference needs an output: kiln.Output(...) among args")
        self.launch: dict[str, Any] = {"kernel": self.kernel, "grid": _listed(grid), "block": _listed(block),
                                       "args": self.args}
        if shared is not None:
            self.launch["shared"] = shared
        self.sections: dict[str, Any] = {
            "params": {key: values if isinstance(values, Mapping) else _listed(values)
                       for key, values in params.items()}}
        for key, section in (("where", _listed(where or ())), ("metrics", metrics), *sections.items()):
            if section:
                self.sections[key] = section

    @staticmethod
    def _read(source: Path) -> tuple[str, Optional[pathlib.Path]]:
        """Returns the text of the source, and its path if it is a file. A text with several lines is the source
        itself."""
        if isinstance(source, str) and "\n" in source:
            return source, None
        path = pathlib.Path(source).resolve()
        return path.read_text(encoding="utf-8", errors="surrogateescape"), path

    def _only_kernel(self) -> str:
        code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", self.text, flags=re.S)
        found = re.findall(r"__global__\s+(?:__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)\s*)?(?:void|auto)\s+"
                           r"(?:__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)\s*)?(\w+)\s*\(", code)
        if len(set(found)) != 1:
            what = f"the kernels {', '.join(found)}" if found else "no kernel that could be found"
            raise ValueError(f'the source has {what}; say which one: kernel="NAME"')
        return str(found[0])

    def _default_name(self) -> str:
        """Returns the name of the source's file, with other characters than ASCII letters and digits replaced. If the
        file's name has no ASCII letter or digit, returns the kernel's name."""
        made = re.sub(r"\W+", "_", self.path.stem, flags=re.ASCII) if self.path else ""
        return made if made.strip("_") else re.sub(r"\W+", "_", self.kernel, flags=re.ASCII)

    def _own_files(self) -> list[pathlib.Path]:
        """Returns the file of the source, and the file of a reference that is a function."""
        code = getattr(self.reference, "__code__", None)
        return [*([self.path] if self.path else []), *([pathlib.Path(code.co_filename).resolve()] if code else [])]

    def __repr__(self) -> str:
        return f"<kiln.Problem {self.name}: kernel {self.kernel}, params {', '.join(self.sections['params'])}>"

    def _verify(self, folder: pathlib.Path, prefix: str, function: Any) -> dict[str, Any]:
        """Returns the section `verify`. If the reference is a function, `function` is the value of `against`. Arrays
        are written to `folder`, which the spec calls `prefix`."""
        answers: dict[str, Any] = dict.fromkeys(self.outputs, function)
        if not callable(self.reference):
            answers = {}
            for key, array in references.results_of(self.reference, self.outputs).items():
                np.save(folder / f"{key}.want.npy", references.to_host(array))
                answers[key] = {"file": f"{prefix}{key}.want.npy"}
        own = any(isinstance(item, Mapping) for item in self.tolerance.values())
        return {key: {"against": against, **(self.tolerance.get(key, {}) if own else self.tolerance)}
                for key, against in answers.items()}

    def _spec(self, source: str, folder: pathlib.Path, prefix: str, function: Any, verified: bool = True) -> str:
        """Returns the text of the spec. The arrays are written to `folder`, which the spec calls `prefix`."""
        sections: dict[str, Any] = {"kiln": 1, "name": self.name, "source": source, "sizes": self.sizes}
        sections["buffers"] = {key: item.described(key, folder, prefix) for key, item in self.buffers.items()}
        sections |= self.sections
        if self.reference is not None and verified:
            sections["verify"] = self._verify(folder, prefix, function)
        return _block({**sections, "launch": self.launch})

    @contextlib.contextmanager
    def open(self, device: Optional[str] = None, **options: Any) -> Iterator[Spec]:
        """Opens the spec in a new engine, which is closed at the end of the block. `options` are options of Engine. The
        engine may read any file, because only the author of the problem names files."""
        with tempfile.TemporaryDirectory() as made, Engine(device, read_anywhere=True, **options) as engine:
            function, folder = None, pathlib.Path(made)
            if callable(self.reference):
                function = {"host": "reference_of_" + self.name}
                engine.register_host(function["host"], references.host_function(
                    self.reference, self.outputs, self.arrays, next(iter(self.sizes.values()))))
            source = self.path or folder / f"{self.name}.cu"
            if not self.path:
                source.write_text(self.text, encoding="utf-8")
            text = self._spec(source.name, folder, f"{folder}/", function)
            with engine.parse(text, source.parent / f"{self.name}.yaml") as spec:
                yield spec

    def tune(self, device: Optional[str] = None, *, store: Optional[Path] = None, **options: Any) -> Tuning:
        """Tries configurations and ranks them, as Spec.tune() does. `options` are keywords of Spec.tune(). `store` is
        the path of a database that keeps the samples."""
        with self.open(device) as spec, contextlib.ExitStack() as opened:
            kept = opened.enter_context(spec.engine.store(store)) if store is not None else None
            tuning = spec.tune(store=kept, **options)
        tuning.problem = self
        return tuning

    def save(self, path: Path, *, reference: bool = True, overwrite: bool = False) -> list[pathlib.Path]:
        """Writes the spec to `path`, and the source and the arrays beside it. A reference that is a function is written
        as a program, which `kiln tune --allow-commands` starts. Returns the written files. A source that is already in
        the folder of `path`, or below it, is not copied. With reference=False the spec has no reference."""
        target = pathlib.Path(path).resolve()
        with tempfile.TemporaryDirectory() as made:
            folder, function, source = pathlib.Path(made), None, f"{self.name}.cu"
            if self.path and target.parent in self.path.parents:
                source = str(self.path.relative_to(target.parent))
            elif self.path and re.search(r'^\s*#\s*include\s*"', self.text, re.M):
                raise ValueError(f"{self.path.name} includes files beside it: save the spec in {self.path.parent}, "
                                 "or in a folder around it")
            else:
                (folder / source).write_text(self.text, encoding="utf-8", errors="surrogateescape")
            if callable(self.reference) and reference:
                name = f"{self.name}_reference.py"
                arrays = {key: ML_DTYPES.get(item.type) for key, item in self.buffers.items() if item.has_content}
                (folder / name).write_text(references.program(
                    self.reference, self.name, next(iter(self.sizes.values())), arrays, self.outputs), encoding="utf-8")
                function = {"command": ["python3", name]}
            text = self._spec(source, folder, "", function, reference)
            if (folder / target.name).exists():
                raise ValueError(f"{target} is the path of the problem's source, reference or array; save the spec to "
                                 "another path")
            (folder / target.name).write_text(text, encoding="utf-8")
            files, own = sorted(folder.iterdir()), self._own_files()
            for file in files:
                there = target.parent / file.name
                if there.is_dir():
                    raise IsADirectoryError(f"{there} is a folder; save() writes a file there")
                if there.resolve() in own:
                    raise ValueError(f"{there} is the file of the problem's source or reference; save() would replace "
                                     "it: save the spec in another folder, or under another name")
                if not overwrite and there.exists() and there.read_bytes() != file.read_bytes():
                    raise FileExistsError(f"{there} exists; save(path, overwrite=True) replaces it")
            target.parent.mkdir(parents=True, exist_ok=True)
            return [pathlib.Path(shutil.copy(file, target.parent / file.name)) for file in files]


def tune(source: Path, *, params: Mapping[str, Sequence[Value]], sizes: Mapping[str, Any], args: Mapping[str, Any],
         grid: Any, block: Any, kernel: Optional[str] = None, name: Optional[str] = None,
         reference: Optional[Answer] = None, arrays: Any = None, tolerance: Optional[Mapping[str, Any]] = None,
         metrics: Optional[Mapping[str, Expression]] = None, where: Sequence[str] = (),
         shared: Optional[Expression] = None, sections: Optional[Mapping[str, Any]] = None,
         device: Optional[str] = None, store: Optional[Path] = None, **options: Any) -> Tuning:
    """Tunes a kernel that is described by arguments and not by a file. This does the same as Problem(...).tune(...).
    `options` are options of Spec.tune(). The result has save(), which writes the problem as a spec."""
    made = Problem(source, params=params, sizes=sizes, args=args, grid=grid, block=block, kernel=kernel, name=name,
                   reference=reference, arrays=arrays, tolerance=tolerance, metrics=metrics, where=where, shared=shared,
                   **(sections or {}))
    return made.tune(device, store=store, **options)
