"""The common part of all classes: the ownership of C objects, and the conversion of C structs to and from Python."""
import contextlib
import os
import signal
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional, TypeVar, Union

from ._kiln import ffi, lib
from .errors import ClosedError, InterruptedError

Value = Union[bool, int, float, str]
Path = Union[str, "os.PathLike[str]"]
Self = TypeVar("Self", bound="Owned")

# Guards all counts below. It is reentrant, because Python may collect an object at any point, and the __del__ of the
# object changes counts.
_lock = threading.RLock()


# Objects that are freed when the library has returned, because Python may collect a plan within a callback of its
# engine.
_waiting: list[tuple[Any, Any, Optional["Owned"]]] = []
_thread = threading.local()


@contextlib.contextmanager
def in_callback() -> Iterator[None]:
    """Marks a block in which this thread runs a callback of the library, so that the thread frees nothing there."""
    _thread.callbacks = getattr(_thread, "callbacks", 0) + 1
    try:
        yield
    finally:
        _thread.callbacks -= 1


def _free_waiting() -> None:
    while _waiting and not getattr(_thread, "callbacks", 0):
        with contextlib.suppress(IndexError):  # another thread has freed the object
            free, pointer, owner = _waiting.pop()
            free(pointer)
            if owner:
                owner._release()


class Owned:
    """A C object that is freed once: by close(), at the end of a `with` block, or when Python collects this object.

    The C object is freed only when it has no users any more: calls in other threads, and objects that were made from
    it. close() closes these objects too. If an engine and its plans are part of a cycle of references, Python may
    collect the engine first. So counts of users decide about the order, and not references.
    """
    _pointer: Any = None
    _users = 0  # number of calls and objects that need the C object
    _closed = False
    _owner: Optional["Owned"] = None  # the object from which this object was made
    _exclusive = False  # true if only one thread at a time may use the object; other threads wait

    def _own(self, pointer: Any, free: Any, owner: Optional["Owned"] = None) -> None:
        self._free, self._process = free, os.getpid()
        self._children: weakref.WeakSet[Owned] = weakref.WeakSet()
        self._turn, self._holder = threading.Lock(), 0
        if owner:
            try:
                owner._hold()
            except ClosedError:  # another thread has closed the owner meanwhile
                free(pointer)
                raise
            owner._children.add(self)
            self._owner = owner
        self._pointer = pointer

    def _hold(self) -> None:
        with _lock:
            if self._closed:
                raise ClosedError(f"this {type(self).__name__} is closed")
            self._users += 1

    def _release(self) -> None:
        with _lock:
            self._users -= 1
        self._settle()

    def _settle(self) -> None:
        with _lock:
            if not self._closed or self._users or self._pointer is None:
                return
            pointer, self._pointer = self._pointer, None
        if self._process == os.getpid():  # after a fork, the C object belongs to the parent
            _waiting.append((self._free, pointer, self._owner))
            _free_waiting()

    @contextlib.contextmanager
    def _use(self) -> Iterator[Any]:
        """Gives the C object, which is not freed within the block."""
        self._hold()
        try:
            if not self._exclusive:
                yield self._pointer
            elif self._holder == threading.get_ident():
                raise RuntimeError(f"a callback must not use the {type(self).__name__} that calls it")
            else:
                with self._turn:
                    self._holder = threading.get_ident()
                    try:
                        yield self._pointer
                    finally:
                        self._holder = 0
        finally:
            self._release()
            _free_waiting()

    def close(self) -> None:
        """Frees the C object, and first all objects that were made from it. Further calls have no effect."""
        for child in list(getattr(self, "_children", ())):
            child.close()
        self._closed = True
        self._settle()

    @property
    def closed(self) -> bool:
        return self._closed

    def _about(self) -> str:
        """Returns the text of __repr__() after the name of the class."""
        return ""

    def __repr__(self) -> str:
        about = "closed" if self._closed else self._about()
        return f"<kiln.{type(self).__name__}{' ' if about else ''}{about}>"

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._closed = True
        self._settle()


@contextlib.contextmanager
def interruptible() -> Iterator[Any]:
    """Gives a pointer for `stop` of kiln_run_options to an int that Ctrl-C sets. In other threads than the main thread
    it is NULL, because Python handles signals only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield ffi.NULL
        return
    lib.kiln_py_watch()
    try:
        yield ffi.addressof(lib, "kiln_py_stop")
    except InterruptedError:
        # The exception of Python's handler may be lost, for example in the log callback, which cannot raise.
        if lib.kiln_py_stop and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            raise KeyboardInterrupt from None
        raise
    finally:
        lib.kiln_py_unwatch()


# ---- to Python ----

# The int members of the library's structs that are booleans. tests/python/test_kiln.py compares this list with the
# headers.
FLAGS = frozenset((
    "best", "code_changed", "contender", "cooperative", "counted", "cut_off", "estimated", "from_cache", "front",
    "intact", "measured", "needed", "ok", "output", "overlap", "partly", "required", "reusable", "reused",
    "sampled", "simulated", "stopped_early", "tied", "uncounted", "verified"))


class Record(dict[str, Any]):
    """A struct of the library, copied: a dict of its members, which are attributes too. Names and units are those of
    the struct in kiln.h or kiln_tune.h."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no member {name!r}; there are {', '.join(self)}") from None


def text(pointer: Any) -> str:
    return "" if pointer == ffi.NULL else str(ffi.string(pointer).decode("utf-8", "surrogateescape"))


def value(item: Any) -> Value:
    kind: int = item.kind
    if kind == lib.KILN_TEXT:
        return text(getattr(item, "as").text)
    if kind == lib.KILN_FLOAT:
        return float(getattr(item, "as").f)
    number = int(getattr(item, "as").i)
    return bool(number) if kind == lib.KILN_BOOL else number


def settings(pointer: Any, count: int) -> dict[str, Value]:
    return {text(pointer[i].name): value(pointer[i].value) for i in range(count)}


def _count_name(name: str, names: Mapping[str, Any]) -> Optional[str]:
    """Returns the name of the member that has the length of the list `name`: param_count for params, count for
    values."""
    return next((count for count in (name.removesuffix("s") + "_count", "count") if count in names), None)


def _member(struct: Any, name: str, kind: Any, names: Mapping[str, Any]) -> Any:
    item = getattr(struct, name)
    if kind.kind == "enum":
        return str(ffi.string(ffi.cast(kind, item))).removeprefix("KILN_")
    if kind.kind == "array":
        return text(item) if kind.item.cname == "char" else tuple(item)
    if kind.kind == "struct":  # kiln_host_times has a text
        return text(item.text)
    if kind.kind != "pointer":
        return bool(item) if name in FLAGS and kind.cname == "int" else item
    if kind.item.cname == "char":
        return None if item == ffi.NULL else text(item)
    counted = _count_name(name, names)
    count = getattr(struct, counted) if counted else 0
    if kind.item.cname == "struct kiln_setting":
        return settings(item, count)
    if kind.item.cname == "struct kiln_value":
        return tuple(value(item[i]) for i in range(count))
    if kind.item.cname.startswith("struct kiln_"):
        return None if item == ffi.NULL else record(item)
    if kind.item.kind == "primitive":
        return tuple(item[i] for i in range(count)) if item != ffi.NULL else ()
    return int(ffi.cast("uintptr_t", item))


def record(pointer: Any) -> Record:
    """Copies the struct at `pointer`, with everything to which it refers. The copy has lists instead of pointers and
    counts, and bools instead of the ints in FLAGS."""
    members = dict(ffi.typeof(pointer).item.fields)
    lengths = {_count_name(name, members) for name, field in members.items() if field.type.kind == "pointer"}
    return Record((name, _member(pointer, name, field.type, members)) for name, field in members.items()
                  if name not in lengths and name != "size")


# ---- to C ----

class Kept:
    """Makes the C data of the arguments of a call, and keeps it alive as long as this object."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def keep(self, part: Any) -> Any:
        self.parts.append(part)
        return part

    def text(self, string: Path) -> Any:
        data = os.fspath(string).encode("utf-8", "surrogateescape")
        if b"\0" in data:
            raise ValueError(f"a text with a zero byte: {string!r}")
        return self.keep(ffi.new("char[]", data))

    def texts(self, strings: Sequence[Path]) -> Any:
        return self.keep(ffi.new("const char *[]", [self.text(string) for string in strings]))

    def settings(self, given: Mapping[str, Value]) -> Any:
        array = self.keep(ffi.new("kiln_setting[]", len(given)))
        for i, (name, item) in enumerate(given.items()):
            item = item.item() if hasattr(item, "item") else item  # NumPy's numbers have item()
            array[i].name = self.text(name)
            to = getattr(array[i].value, "as")
            if isinstance(item, str):
                array[i].value.kind, to.text = lib.KILN_TEXT, self.text(item)
            elif isinstance(item, float):
                array[i].value.kind, to.f = lib.KILN_FLOAT, item
            elif isinstance(item, int):
                array[i].value.kind, to.i = lib.KILN_BOOL if isinstance(item, bool) else lib.KILN_INT, item
            else:
                raise TypeError(f"{name} is {item!r}, neither a number nor a text")
        return array

    def struct(self, name: str, **members: Any) -> Any:
        """Makes a struct that the caller of the library fills, and sets `size` if the struct has this member. A member
        that is None keeps its default. A list or a mapping also sets the member with its length."""
        made = self.keep(ffi.new(f"{name} *"))
        fields = dict(ffi.typeof(made).item.fields)
        if "size" in fields:
            made.size = ffi.sizeof(name)
        for member, given in members.items():
            if member not in fields or member == "size" or member.endswith("_count"):
                raise TypeError(f"{name} has no member {member!r}")
            if given is None:
                continue
            if isinstance(given, (str, os.PathLike)):
                given = self.text(given)
            elif isinstance(given, (Mapping, list, tuple)):
                count = member.removesuffix("s") + "_count"
                if count not in fields:
                    way = f": write sizes={given!r} or params={given!r}" if "sizes" in fields else ""
                    raise TypeError(f"{member} takes one value, not {given!r}{way}")
                setattr(made, count, len(given))
                if not isinstance(given, Mapping):
                    given = self.texts(given)
                elif fields[member].type.item.cname == "struct kiln_file_binding":
                    given = self.keep(ffi.new("kiln_file_binding[]", [(self.text(buffer), self.text(path))
                                                                      for buffer, path in given.items()]))
                else:
                    given = self.settings(given)
            setattr(made, member, given)
        return made


def flags(**given: Optional[bool]) -> int:
    """Returns the sum of the flags KILN_NAME whose keyword NAME is true."""
    return sum(int(getattr(lib, f"KILN_{name}")) for name, on in given.items() if on)
