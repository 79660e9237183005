"""References: a Python function of arrays becomes a host function, or a program that a saved spec starts."""
import inspect
import textwrap
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Optional

import numpy as np

from ._objects import Value
from .hosts import Call, HostFunction

Function = Callable[..., Any]
_KINDS = {int: "int", float: "float", str: "text", "int": "int", "float": "float", "str": "text"}


def parameters_of(function: Function, sizes: Mapping[str, Value] = {}) -> dict[str, str]:
    """Returns the parameters of `function`, and for each parameter the method of Call that gets its value. A size is a
    parameter that is annotated as int, float or str, that has a number or a text as its default, or that `sizes` has.
    All other parameters are arrays."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{name}: a reference names each buffer and each size that it takes; "
                            "*args, **kwargs and positional-only parameters name none")
        default = None if parameter.default is parameter.empty else parameter.default
        kind = type(sizes[name]) if name in sizes else parameter.annotation
        found[name] = _KINDS.get(kind if isinstance(kind, Hashable) else None) or _KINDS.get(type(default), "array")
    return found


def results_of(returned: Any, outputs: Sequence[str]) -> dict[str, Any]:
    """Returns the arrays that a reference returned, by the names of the outputs."""
    if isinstance(returned, Mapping):
        found = dict(returned)
    elif isinstance(returned, (tuple, list)) and len(outputs) > 1:
        if len(returned) != len(outputs):
            raise ValueError(f"the reference returns {len(returned)} arrays for {len(outputs)} outputs: "
                             f"{', '.join(outputs)}")
        found = dict(zip(outputs, returned))
    elif len(outputs) == 1:
        found = {outputs[0]: returned}
    else:
        raise ValueError("the reference returns one value, and its outputs are "
                         f"{', '.join(outputs) or 'not named'}; return a dict {{NAME: ARRAY}}")
    if not found or any(item is None for item in found.values()):
        raise ValueError("the reference returns no array")
    return found


def to_host(item: Any) -> "np.ndarray[Any, Any]":
    """Returns a NumPy array with the elements of a CuPy array, which has get(), or of any object that NumPy accepts."""
    return np.asarray(item.get() if hasattr(item, "get") else item)


def write_result(target: "np.ndarray[Any, Any]", item: Any, name: str) -> None:
    """Copies an array to an output. Refuses an array of another shape, unless one of the shapes has one dimension.
    Refuses a lossy conversion of types. NumPy would repeat rows and truncate floats to integers without an error."""
    made = to_host(item)
    if made.shape != target.shape:
        if made.size != target.size or 1 not in (made.ndim, target.ndim):
            raise ValueError(f"the reference returns {name} with the shape {made.shape}, and the buffer has "
                             f"{target.shape}")
        made = made.reshape(target.shape)
    if target.dtype.kind in "biu" and made.dtype.kind not in "biu" or made.dtype.kind == "c" != target.dtype.kind:
        raise TypeError(f"the reference returns {name} as {made.dtype}, and the buffer has {target.dtype}")
    target[...] = made


def host_function(function: Function, outputs: Sequence[str], arrays: Any = None,
                  sizes: Mapping[str, Value] = {}) -> HostFunction:
    """Returns a host function. It calls `function` with the buffers and sizes that the parameters name, and writes the
    results to the outputs. If `arrays` is a module such as cupy, its asarray() converts the buffers."""
    kinds = parameters_of(function, sizes)
    defaults = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()
                if parameter.default is not parameter.empty}

    def call_function(call: Call) -> None:
        given = {}
        for name, kind in kinds.items():
            if kind != "array":
                given[name] = getattr(call, kind)(name, defaults.get(name))
            else:
                item = call.array(name)
                given[name] = arrays.asarray(item) if arrays else item
        for name, made in results_of(function(**given), outputs).items():
            write_result(call.output(name), made, name)

    call_function.__name__, call_function.__doc__ = function.__name__, function.__doc__
    return call_function


# ---- written down ----

_PROGRAM = '''# The reference of {name}. `kiln tune --allow-commands` starts it with a folder of arrays and the sizes.
import sys

{imports}

{source}


folder, sizes = sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:])
made = {function}({given})
if not isinstance(made, dict):
    made = dict(zip({outputs}, {made}))
for name, array in made.items():
    np.save(f"{{folder}}/out/{{name}}.npy", array.get() if hasattr(array, "get") else array)
'''


def _names_of(code: types.CodeType) -> set[str]:
    """Returns the global names that a function and its inner functions use."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names_of(constant)
    return found


def _source_of(function: Function) -> str:
    """Returns the text of a function from a file or a notebook, without decorators."""
    try:
        lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    except (OSError, TypeError) as error:
        raise ValueError(f"the source of the reference {function.__name__} is not known ({error})") from None
    first = next((i for i, line in enumerate(lines) if line.startswith("def ")), None)
    if first is None:
        raise ValueError(f"the reference {function.__name__} is no function with `def`")
    return "\n".join(lines[first:])


def _can_be_read(item: Any) -> bool:
    """Returns True if the repr() of a value is Python code that gives an equal value without imports. For some of
    NumPy's numbers, which are subclasses of Python's, repr() gives a text such as `np.float64(2.0)`."""
    try:
        return bool(eval(repr(item), {"inf": None, "nan": None}) == item)
    except Exception:  # repr() may return any text
        return False


def _written(name: str, item: Any, done: dict[str, str]) -> None:
    """Adds to `done` the lines that define the global `name`, after the lines of all other globals that it needs."""
    if name in done:
        return
    if isinstance(item, types.ModuleType):
        done[name] = f"import {item.__name__} as {name}"
    elif isinstance(item, (bool, int, float, str, tuple)) and _can_be_read(item):
        done[name] = f"{name} = {item!r}"
    elif isinstance(item, types.FunctionType) and item.__name__ == name:
        done[name] = ""  # it may call itself
        lines = _with_globals(item, done)
        del done[name]  # the function comes after the globals that it needs
        done[name] = f"\n\n{lines}\n"
    else:
        raise ValueError(f"the reference uses {name}, a {type(item).__name__}, which cannot be written to a file; make "
                         "it a parameter, a number, a text or a function, or save with reference=False")


def _with_globals(function: types.FunctionType, done: dict[str, str]) -> str:
    outside = inspect.getclosurevars(function)
    if outside.nonlocals:
        raise ValueError(f"the reference uses {', '.join(sorted(outside.nonlocals))} of the function around it, which "
                         "cannot be written to a file; define it outside of functions, or save with reference=False")
    for name in sorted(_names_of(function.__code__) & set(function.__globals__) - {function.__name__}):
        _written(name, function.__globals__[name], done)
    return _source_of(function)


def program(function: Function, name: str, sizes: Mapping[str, Value], arrays: Mapping[str, Optional[str]],
            outputs: Sequence[str]) -> str:
    """Returns a program that computes the same as `function`, for `against: {command: ...}`. The program consists of
    the text of the function and of the imports, constants and functions that it uses. `arrays` has the buffers with a
    content, each with the name of its type in ml_dtypes, or None."""
    if not isinstance(function, types.FunctionType):
        raise ValueError(f"the reference is a {type(function).__name__}, not a function with `def`")
    done, given = {"np": "import numpy as np"}, []
    source, kinds = _with_globals(function, done), parameters_of(function, sizes)
    for key, kind in kinds.items():
        if kind != "array" and key in sizes:
            given.append(f"{key}={'str' if kind == 'text' else kind}(sizes[{key!r}])")
        elif kind == "array" and key in arrays:
            loaded = f'np.load(f"{{folder}}/in/{key}.npy")'
            if arrays[key]:  # a .npy file has no name for this type
                done["ml_dtypes"] = "import ml_dtypes"
                loaded += f".view(ml_dtypes.{arrays[key]})"
            given.append(f"{key}={loaded}")
        elif inspect.signature(function).parameters[key].default is inspect.Parameter.empty:
            raise ValueError(f"the reference takes {key}, which is neither a size nor a buffer with a content")
    return _PROGRAM.format(name=name, imports="\n".join(done.values()), source=source, function=function.__name__,
                           given=", ".join(given), outputs=list(outputs), made="made" if len(outputs) > 1 else "[made]")
