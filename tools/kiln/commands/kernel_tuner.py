"""Reads a script that calls Kernel Tuner, and prints a spec as JSON: python3 - SCRIPT KERNEL < kernel_tuner.py

The script is parsed and not run. An evaluator follows its assignments as far as they are plain: numbers, lists, shapes and
types of arrays. Whatever it cannot follow becomes Unknown, with the reason. The output has the keys

    spec    the text of the spec
    files   {name: text}: a kernel that the script has as a text, and the reference in Python
    notes   sentences about all that was not read
    error   a sentence, instead of the others
"""
import ast, itertools, json, math, operator, os, re, resource, sys

TYPES = {"float16": "f16", "half": "f16", "float32": "f32", "single": "f32", "float64": "f64", "double": "f64", "float": "f64",
         "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "int": "i64", "intc": "i32", "uint8": "u8",
         "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool", "bool_": "bool", "complex64": "complex64",
         "complex128": "complex128"}
RESERVED = {"in", "and", "or", "not", "if", "else", "true", "false", "null", "min", "max", "abs", "float", "int", "ceil", "floor",
            "sqrt", "device", "ceil_div", "round_up", "ilog2", "ceil_log2", "is_pow2"}  # words of the expression language
MOST_STEPS, MOST_LIST, MOST_TRIED, MOST_SECONDS, MOST_BYTES = 200000, 65536, 200000, 30, 2 << 30


class Unreadable(Exception):
    """A fault that ends the reading, with its sentence."""


class Unknown:
    def __init__(self, why):
        self.why = why


class Number:
    """A number with the expression of a spec that gives it; text is None if the number is only a literal."""
    def __init__(self, value, text=None, dtype=None, size=None):
        self.value, self.text, self.dtype, self.size = value, text, dtype, size

    def print(self):
        return self.text if self.text is not None else plain(self.value)


class Array:
    def __init__(self, dtype, shape, fill):
        self.dtype, self.shape, self.fill, self.name = dtype, shape, fill, None
        self.of = None  # the array of the script that TunablePrecision() converts


class Source:
    def __init__(self, path):
        self.path = path


class Type:
    def __init__(self, name):
        self.name = name


class Result:
    """An output of run_kernel()."""
    def __init__(self, call, index=None):
        self.call, self.index = call, index


class Module:
    def __init__(self, path):
        self.path = path


class Bound:
    """A method of a value."""
    def __init__(self, of, name):
        self.of, self.name = of, name


class Return(Exception):
    def __init__(self, value):
        self.value = value


def plain(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return repr(value)
    return repr(value)


def value_of(thing):
    return thing.value if isinstance(thing, Number) else thing


def number(thing):
    return isinstance(thing, (int, float, Number)) and not isinstance(thing, bool)


OPERATORS = {ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
             ast.Div: ("/", operator.truediv), ast.FloorDiv: ("//", operator.floordiv), ast.Mod: ("%", operator.mod),
             ast.Pow: ("**", operator.pow), ast.LShift: ("<<", operator.lshift), ast.RShift: (">>", operator.rshift),
             ast.BitAnd: ("&", operator.and_), ast.BitOr: ("|", operator.or_)}
COMPARES = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
            ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
            ast.Is: lambda a, b: a is b, ast.IsNot: lambda a, b: a is not b}


def text_of(thing):
    """The expression of a spec for a number, in parentheses if it is more than a name or a literal."""
    text = thing.print() if isinstance(thing, Number) else plain(thing)
    return text if re.fullmatch(r"[\w.]+|\w+\([^()]*\)", text) else "(%s)" % text


def calculate(kind, a, b):
    symbol, function = OPERATORS[kind]
    x, y = value_of(a), value_of(b)
    if kind is ast.Mult and type(x) is int and x == 1:
        return b
    if (kind in (ast.Mult, ast.FloorDiv) and type(y) is int and y == 1) or (kind is ast.Add and type(y) is int and y == 0):
        return a
    if kind is ast.Pow and (abs(x) > 1e6 or abs(y) > 64):
        return Unknown("a power that is too large")
    if kind is ast.LShift and y > 62:
        return Unknown("a shift that is too large")
    value = function(x, y)
    named = any(isinstance(t, Number) and t.text is not None for t in (a, b))
    text = None
    if named and kind is ast.Div:
        text = "%s / float(%s)" % (text_of(a), b.print() if isinstance(b, Number) else plain(b))
    elif named:
        left = a.text if symbol in "+-" and isinstance(a, Number) and a.text else text_of(a)
        if symbol == "*" and isinstance(a, Number) and a.text and re.fullmatch(r"[\w]+( \* [\w]+)*", a.text):
            left = a.text
        text = "%s %s %s" % (left, symbol, text_of(b))
    return Number(value, text) if named else value


class Reader:
    def __init__(self, path, text):
        self.path, self.tree = path, ast.parse(text, path)
        self.globals, self.functions, self.calls, self.runs, self.notes = {}, {}, [], [], []
        self.trace = []  # (name, statement, reader's scope) of each assignment, in the order in which they were followed
        self.imports, self.steps, self.sizes = [], 0, {}
        self.depth, self.called = 0, set()
        self.globals["__name__"] = "__main__"
        self.globals["__file__"] = os.path.basename(path)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    # ---- statements ----

    def read(self):
        self.block(self.tree.body, self.globals)
        for name, function in list(self.functions.items()):  # functions that nothing calls, as a test runner would
            if name not in self.called and any(self.is_tuner(n) for n in ast.walk(function)) and not self.calls:
                self.call_function(function, [], {})

    @staticmethod
    def is_tuner(node):
        return isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "tune_kernel", "run_kernel")

    def block(self, body, scope):
        for statement in body:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise Unreadable("the script is too long to follow")
            self.statement(statement, scope)

    def statement(self, s, scope):
        if isinstance(s, ast.FunctionDef):
            self.functions[s.name] = s
            scope[s.name] = s
        elif isinstance(s, (ast.Import, ast.ImportFrom)):
            self.imports.append(s)
            for name in s.names:
                path = name.name if isinstance(s, ast.Import) else "%s.%s" % (s.module, name.name)
                scope[name.asname or (name.name.split(".")[0] if isinstance(s, ast.Import) else name.name)] = Module(path)
        elif isinstance(s, ast.Assign):
            value = self.value(s.value, scope)
            for target in s.targets:
                self.assign(target, value, s, scope)
        elif isinstance(s, ast.AnnAssign) and s.value:
            self.assign(s.target, self.value(s.value, scope), s, scope)
        elif isinstance(s, ast.AugAssign):
            value = self.value(ast.copy_location(ast.BinOp(self.load(s.target), s.op, s.value), s), scope)
            self.assign(s.target, value, s, scope)
        elif isinstance(s, ast.Expr):
            self.value(s.value, scope)
        elif isinstance(s, ast.Return):
            raise Return(self.value(s.value, scope) if s.value else None)
        elif isinstance(s, ast.If):
            test = self.value(s.test, scope)
            if not isinstance(test, Unknown):
                self.block(s.body if value_of(test) else s.orelse, scope)
            else:
                self.block(s.body, scope)
                self.block(s.orelse, scope)
        elif isinstance(s, ast.For):
            items = self.value(s.iter, scope)
            if isinstance(items, (list, tuple, dict, str)) and len(items) <= 1000:
                for item in list(items):
                    self.assign(s.target, item, s, scope)
                    self.block(s.body, scope)
            else:
                self.note("line %d: the loop was not followed" % s.lineno)
        elif isinstance(s, ast.With):
            for item in s.items:
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, self.value(item.context_expr, scope), s, scope)
            self.block(s.body, scope)
        elif isinstance(s, ast.Try):
            self.block(s.body, scope)
            self.block(s.finalbody, scope)
        elif isinstance(s, ast.While):
            self.note("line %d: the loop was not followed" % s.lineno)

    @staticmethod
    def load(target):
        return ast.parse(ast.unparse(target), mode="eval").body

    def assign(self, target, value, statement, scope):
        if isinstance(target, ast.Name):
            scope[target.id] = self.named(target.id, value)
            self.trace.append((target.id, statement, scope))
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = value if isinstance(value, (tuple, list)) and len(value) == len(target.elts) else None
            for i, element in enumerate(target.elts):
                part = values[i] if values else (Result(value.call, i) if isinstance(value, Result) else Unknown("a part of a value that is not known"))
                self.assign(element, part, statement, scope)
        elif isinstance(target, ast.Subscript):
            of, key = self.value(target.value, scope), self.value(target.slice, scope)
            if isinstance(of, (dict, list)) and not isinstance(key, (Unknown, slice)):
                try:
                    of[value_of(key)] = value
                except (IndexError, TypeError):
                    pass
            if isinstance(target.value, ast.Name):
                self.trace.append((target.value.id, statement, scope))

    def named(self, name, value):
        """Names an array by its variable. A whole number that a variable holds can become a size of the spec."""
        if isinstance(value, Array) and not value.name:
            value.name = name
        if isinstance(value, Number) and value.text is None and value.dtype and isinstance(value.value, int):
            return Number(value.value, name, value.dtype, name)
        if type(value) is int and value > 1:
            return Number(value, name, None, name)
        if isinstance(value, tuple) and 1 < len(value) <= 3 and all(type(v) is int for v in value):
            return tuple(Number(v, "%s_%s" % (name, "xyz"[i]), None, "%s_%s" % (name, "xyz"[i])) if v > 1 else v
                         for i, v in enumerate(value))
        return value

    # ---- expressions ----

    def value(self, node, scope):
        method = getattr(self, "on_" + type(node).__name__, None)
        if not method:
            return Unknown("line %d: %s" % (getattr(node, "lineno", 0), type(node).__name__))
        try:
            return method(node, scope)
        except (Unreadable, Return):
            raise
        except Exception as fault:
            return Unknown("line %d: %s" % (getattr(node, "lineno", 0), fault))

    def on_Constant(self, node, scope):
        return node.value

    def on_Name(self, node, scope):
        if node.id in scope:
            return scope[node.id]
        if node.id in self.globals:
            return self.globals[node.id]
        return Module(node.id) if node.id in BUILTINS else Unknown("line %d: %s" % (node.lineno, node.id))

    def on_List(self, node, scope):
        return [self.value(e, scope) for e in node.elts]

    def on_Tuple(self, node, scope):
        return tuple(self.value(e, scope) for e in node.elts)

    def on_Dict(self, node, scope):
        return {value_of(self.value(k, scope)): self.value(v, scope) for k, v in zip(node.keys, node.values) if k}

    def on_Lambda(self, node, scope):
        return node

    def on_JoinedStr(self, node, scope):
        parts = [self.value(v.value, scope) if isinstance(v, ast.FormattedValue) else v.value for v in node.values]
        if any(isinstance(p, (Unknown, Array)) for p in parts):
            return Unknown("line %d: a text with values that are not known" % node.lineno)
        return "".join(str(value_of(p)) for p in parts)

    def on_IfExp(self, node, scope):
        test = self.value(node.test, scope)
        return test if isinstance(test, Unknown) else self.value(node.body if value_of(test) else node.orelse, scope)

    def on_UnaryOp(self, node, scope):
        value = self.value(node.operand, scope)
        if isinstance(value, (Unknown, Array)):
            return value
        if isinstance(node.op, ast.Not):
            return not value_of(value)
        return calculate(ast.Sub, 0, value) if isinstance(node.op, ast.USub) else value

    def on_BoolOp(self, node, scope):
        result = None
        for part in node.values:
            result = self.value(part, scope)
            if isinstance(result, Unknown) or bool(value_of(result)) == isinstance(node.op, ast.Or):
                return result
        return result

    def on_Compare(self, node, scope):
        left = self.value(node.left, scope)
        for op, right in zip(node.ops, node.comparators):
            right = self.value(right, scope)
            if isinstance(left, (Unknown, Array)) or isinstance(right, (Unknown, Array)):
                return Unknown("line %d: a comparison with a value that is not known" % node.lineno)
            if isinstance(right, (list, tuple)):
                right = [value_of(r) for r in right]
            if not COMPARES[type(op)](value_of(left), value_of(right)):
                return False
            left = right
        return True

    def on_BinOp(self, node, scope):
        a, b = self.value(node.left, scope), self.value(node.right, scope)
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Array) and (number(other) or isinstance(other, Array)):
                fill = "derived"
                if isinstance(node.op, ast.Mult) and number(other) and one.fill and one.fill[0] == "value":
                    fill = ("value", one.fill[1] * value_of(other))
                return Array(one.dtype, one.shape, fill)
            if isinstance(one, Unknown):
                return one
        if number(a) and number(b):
            return calculate(type(node.op), a, b)
        if isinstance(a, (list, tuple)) and number(b) and isinstance(node.op, ast.Mult) and len(a) * value_of(b) <= MOST_LIST:
            return a * value_of(b)
        if type(a) is type(b) and isinstance(a, (list, tuple, str)) and isinstance(node.op, ast.Add):
            return a + b
        if isinstance(a, str) and isinstance(node.op, ast.Mod):
            return a % (tuple(value_of(v) for v in b) if isinstance(b, tuple) else value_of(b))
        return Unknown("line %d: %s" % (node.lineno, ast.unparse(node)))

    def on_Subscript(self, node, scope):
        of, key = self.value(node.value, scope), self.value(node.slice, scope)
        if isinstance(of, Result):
            return Result(of.call, value_of(key)) if number(key) else of
        if isinstance(of, Array):
            return Array(of.dtype, of.shape, "derived") if isinstance(key, slice) else Unknown("line %d: an element of an array" % node.lineno)
        if isinstance(of, (Module, Unknown)):
            return Unknown("line %d: %s" % (node.lineno, ast.unparse(node)))
        return of[key if isinstance(key, slice) else value_of(key)]

    def on_Slice(self, node, scope):
        return slice(*(value_of(self.value(p, scope)) if p else None for p in (node.lower, node.upper, node.step)))

    def on_Attribute(self, node, scope):
        of = self.value(node.value, scope)
        if isinstance(of, Module):
            if of.path == "numpy" and node.attr in ("pi", "e"):
                return getattr(math, node.attr)
            return Module("%s.%s" % (of.path, node.attr))
        if isinstance(of, Array) and node.attr == "size":
            total = 1
            for extent in of.shape:
                total = calculate(ast.Mult, total, extent)
            return total
        if isinstance(of, Array) and node.attr == "shape":
            return tuple(of.shape)
        if isinstance(of, Unknown):
            return of
        return Bound(of, node.attr)

    def comprehension(self, node, scope, element):
        out, limit = [], MOST_LIST

        def walk(generators, scope):
            if not generators:
                if len(out) >= limit:
                    raise ValueError("a list of more than %d values" % limit)
                out.append(element(scope))
                return
            g = generators[0]
            items = self.value(g.iter, scope)
            if isinstance(items, Unknown):
                raise ValueError(items.why)
            for item in items:
                inner = dict(scope)
                self.bind(g.target, item, inner)
                if all(value_of(self.value(test, inner)) for test in g.ifs):
                    walk(generators[1:], inner)
        walk(node.generators, scope)
        return out

    def bind(self, target, value, scope):
        if isinstance(target, ast.Name):
            scope[target.id] = value
        else:
            for t, v in zip(target.elts, value):
                self.bind(t, v, scope)

    def on_ListComp(self, node, scope):
        return self.comprehension(node, scope, lambda s: self.value(node.elt, s))

    on_GeneratorExp = on_SetComp = on_ListComp

    def on_DictComp(self, node, scope):
        return dict(self.comprehension(node, scope, lambda s: (value_of(self.value(node.key, s)), self.value(node.value, s))))

    # ---- calls ----

    def on_Call(self, node, scope):
        function = self.value(node.func, scope)
        args = []
        for a in node.args:
            if isinstance(a, ast.Starred):
                part = self.value(a.value, scope)
                args += list(part) if isinstance(part, (list, tuple)) else [Unknown("line %d: *%s" % (node.lineno, ast.unparse(a.value)))]
            else:
                args.append(self.value(a, scope))
        named = {k.arg: self.value(k.value, scope) for k in node.keywords if k.arg}
        for k in node.keywords:
            more = self.value(k.value, scope) if not k.arg else None
            if isinstance(more, dict):
                named.update(more)
        if isinstance(function, ast.FunctionDef):
            return self.call_function(function, args, named)
        if isinstance(function, Bound):
            return self.call_method(function, args, named)
        if isinstance(function, Module):
            return self.call_library(function.path, args, named, node, scope)
        return function if isinstance(function, Unknown) else Unknown("line %d: %s()" % (node.lineno, ast.unparse(node.func)))

    def call_function(self, function, args, named):
        self.called.add(function.name)
        if self.depth > 20:
            return Unknown("%s() calls itself" % function.name)
        scope, names = {}, [a.arg for a in function.args.args]
        defaults = function.args.defaults
        for name, default in zip(names[len(names) - len(defaults):], defaults):
            scope[name] = self.value(default, self.globals)
        scope.update((name, self.argument(function, name, value, scope)) for name, value in [*zip(names, args), *named.items()])
        for name in names:
            scope.setdefault(name, Unknown("the argument %s of %s()" % (name, function.name)))
        self.depth += 1
        try:
            self.block(function.body, scope)
        except Return as result:
            return result.value
        finally:
            self.depth -= 1
        return None

    def argument(self, function, name, value, scope):
        """The value that a call passes. If the value is unknown, for example because it comes from the command line of the script,
        the default of the parameter counts, and a note says so."""
        if not isinstance(value, Unknown) or isinstance(scope.get(name), Unknown) or scope.get(name) is None:
            return value
        self.note("the script passes a value for '%s' of %s() that is not known before it runs (%s), so its default %r counts" % (
            name, function.name, value.why, value_of(scope[name])))
        return scope[name]

    def call_method(self, bound, args, named):
        of, name = bound.of, bound.name
        if isinstance(of, Array):
            if name == "astype" and args:
                return Array(self.dtype(args[0], of.dtype), of.shape, of.fill)
            if name == "reshape":
                shape = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
                return Array(of.dtype, list(shape) if all(value_of(s) != -1 for s in shape) else of.shape, of.fill)
            if name in ("ravel", "flatten"):
                total = 1
                for extent in of.shape:
                    total = calculate(ast.Mult, total, extent)
                return Array(of.dtype, [total], of.fill)
            if name == "copy":
                return Array(of.dtype, of.shape, of.fill)
            return Unknown("%s() of an array" % name)
        if isinstance(of, Number) and name == "astype" and args:
            return Number(of.value, of.text, self.dtype(args[0], None), of.size)
        if isinstance(of, list) and name in ("append", "extend"):
            getattr(of, name)(args[0])
            return None
        if isinstance(of, dict) and name in ("update", "keys", "values", "items", "get", "copy"):
            result = getattr(of, name)(*args)
            return list(result) if name in ("keys", "values", "items") else result
        if isinstance(of, (list, tuple)) and name == "copy":
            return of[:]
        if isinstance(of, Source) and name == "read":
            return of
        if isinstance(of, str) and name in ("format", "strip", "replace", "join", "lower", "upper", "split"):
            plain_args, plain_named = [value_of(a) for a in args], {k: value_of(v) for k, v in named.items()}
            # "{0.__init__.__globals__}" of an object of this program would show its variables and the environment
            if name == "format" and not all(isinstance(v, (str, int, float)) for v in [*plain_args, *plain_named.values()]):
                return Unknown("format() of a value that is no number and no text")
            return getattr(of, name)(*plain_args, **plain_named)
        return Unknown("%s()" % name)

    @staticmethod
    def dtype(thing, otherwise):
        name = thing.path.split(".")[-1] if isinstance(thing, Module) else thing if isinstance(thing, str) else None
        return TYPES.get(name, otherwise)

    @staticmethod
    def shape(thing):
        return list(thing) if isinstance(thing, (tuple, list)) else [thing]

    def call_library(self, path, args, named, node, scope):
        last = path.split(".")[-1]
        if path.startswith("kernel_tuner") or last in ("tune_kernel", "run_kernel"):
            if last in ("tune_kernel", "run_kernel"):
                def snapshot(thing):  # the script may change its lists after the call
                    if isinstance(thing, dict):
                        return {k: snapshot(v) for k, v in thing.items()}
                    return [snapshot(v) for v in thing] if type(thing) is list else thing
                args, named = [snapshot(a) for a in args], {k: snapshot(v) for k, v in named.items()}
                call = {"function": last, "args": args, "named": named, "line": node.lineno, "node": node, "scope": scope,
                        "position": len(self.trace)}
                (self.calls if last == "tune_kernel" else self.runs).append(call)
                return Result(call)
            if last == "TunablePrecision" and len(args) == 2 and isinstance(args[0], str) and isinstance(args[1], Array):
                made = Array(args[0], args[1].shape, args[1].fill)  # a param chooses the type
                made.of = args[1]
                return made
            return Unknown("line %d: %s()" % (node.lineno, path))
        dtype = self.dtype(named.get("dtype"), None)
        if last in TYPES and len(args) == 1 and number(args[0]):
            value = value_of(args[0])
            whole = not TYPES[last].startswith("f")
            text = args[0].text if isinstance(args[0], Number) else None
            if text is not None and whole and isinstance(value, float):
                text = "int(%s)" % text
            return Number(int(value) if whole else float(value), text,
                          TYPES[last] if path.startswith("numpy") else None, getattr(args[0], "size", None))
        if path.startswith(("numpy", "cupy", "np.")):
            made = self.make_array(last, args, dtype)
            if made is not None:
                return made
        if last == "prod" and args and isinstance(args[0], (tuple, list)):
            total = 1
            for extent in args[0]:
                total = calculate(ast.Mult, total, extent)
            return total
        if last in ("min", "max", "amin", "amax", "sum", "len", "sorted", "list", "tuple", "set", "abs", "round", "range", "zip",
                    "enumerate", "dict", "OrderedDict", "ceil", "floor", "sqrt", "log2", "divmod", "any", "all", "str", "reversed"):
            return self.call_builtin(last, args, named)
        if last == "open" and args and isinstance(args[0], str):
            return Source(os.path.normpath(args[0]))
        if path in ("os.path.join", "os.path.dirname", "os.path.abspath", "os.path.realpath", "pathlib.Path"):
            words = [a for a in args if isinstance(a, str)]
            if path == "os.path.join":
                return os.path.normpath(os.path.join(*words)) if words else ""
            if path == "os.path.dirname":  # paths stay relative to the folder of the script
                return (os.path.dirname(words[0]) if words else "") or "."
            return words[0] if words else ""
        return Unknown("line %d: %s()" % (node.lineno, path))

    def call_builtin(self, last, args, named):
        bare = [[value_of(v) for v in a] if isinstance(a, (list, tuple)) else value_of(a) for a in args]
        if any(isinstance(a, (Unknown, Array)) for a in args):
            return Unknown("%s() of a value that is not known" % last)
        if last in ("dict", "OrderedDict"):
            return {**(dict(args[0]) if args else {}), **named}
        if last in ("list", "tuple", "reversed"):
            items = list(args[0]) if args else []
            return tuple(items) if last == "tuple" else items[::-1] if last == "reversed" else items
        if last == "range":
            if len(range(*bare)) > MOST_LIST:
                raise ValueError("a range of more than %d values" % MOST_LIST)
            return list(range(*bare))
        if last in ("zip", "enumerate"):
            return list({"zip": zip, "enumerate": enumerate}[last](*args))
        if last == "len":
            return len(args[0])
        functions = {"min": min, "max": max, "amin": min, "amax": max, "sum": sum, "sorted": sorted, "abs": abs, "round": round,
                     "set": lambda v: sorted(set(v)), "ceil": lambda v: float(math.ceil(v)), "floor": lambda v: float(math.floor(v)),
                     "sqrt": math.sqrt, "log2": math.log2, "divmod": divmod, "any": any, "all": all, "str": str}
        return functions[last](*bare)

    def make_array(self, last, args, dtype):
        if last in ("zeros", "ones", "empty", "full") and args:
            fill = ("value", 0 if last == "zeros" else 1) if last in ("zeros", "ones") else None
            if last == "full" and len(args) > 1:
                fill = ("value", value_of(args[1]))
            return Array(dtype or (self.dtype(args[1], "f64") if last != "full" and len(args) > 1 else "f64"),
                         self.shape(args[0]), fill)
        if last in ("zeros_like", "ones_like", "empty_like") and args and isinstance(args[0], Array):
            fill = {"zeros_like": ("value", 0), "ones_like": ("value", 1)}.get(last)
            return Array(dtype or args[0].dtype, args[0].shape, fill)
        if last in ("randn", "standard_normal", "normal"):
            shape = args if last == "randn" else self.shape(args[-1]) if args else [1]
            return Array("f64", list(shape), ("normal", 0, 1))
        if last in ("rand", "random", "random_sample", "uniform"):
            return Array("f64", list(args) if last == "rand" else self.shape(args[-1]) if args else [1], ("uniform", 0, 1))
        if last in ("randint", "integers") and len(args) >= 2:
            return Array(dtype or "i64", self.shape(args[2]) if len(args) > 2 else [1], ("uniform", value_of(args[0]), value_of(args[1]) - 1))
        if last == "arange" and args:
            return Array(dtype or "i64", [args[0] if len(args) == 1 else calculate(ast.Sub, args[1], args[0])], ("iota", 0, 1))
        if last in ("array", "asarray", "ascontiguousarray", "copy") and args:
            if isinstance(args[0], Array):
                return Array(dtype or args[0].dtype, args[0].shape, args[0].fill)
            if isinstance(args[0], (list, tuple)) and not any(isinstance(v, (list, tuple, Array)) for v in args[0]):
                return Array(dtype or "f64", [len(args[0])], "derived")
        if last == "load" and args and isinstance(args[0], str) and args[0].endswith(".npy"):
            return Array(None, None, ("file", os.path.normpath(args[0])))
        if last in ("sort", "absolute", "abs", "cos", "sin", "sqrt", "exp", "log") and args and isinstance(args[0], Array):
            return Array(args[0].dtype, args[0].shape, ("uniform", 0, 1) if last in ("absolute", "abs") else "derived")
        return None


BUILTINS = set(dir(__builtins__)) if not isinstance(__builtins__, dict) else set(__builtins__)

# ---- the kernel's source ----


def kernel_params(text, kernel):
    """[(declaration, name, is a pointer, is written)] of a kernel, and its body."""
    clean = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    found = re.search(r"__global__[^;{]*?\b%s\s*\(" % re.escape(kernel), clean)
    if not found:
        return None, ""
    at = depth = 0
    start = found.end()
    for at in range(start, len(clean)):
        depth += (clean[at] == "(") - (clean[at] == ")")
        if depth < 0:
            break
    body, level, begin = "", 0, clean.find("{", at)
    for i in range(begin, len(clean)):
        level += (clean[i] == "{") - (clean[i] == "}")
        if level == 0:
            body = clean[begin:i]
            break
    params = []
    for declaration in filter(str.strip, clean[start:at].split(",")):
        name = re.findall(r"\w+", declaration.split("=")[0])[-1]
        written = re.search(r"\b%s\s*\[(?:[^\[\]]|\[[^\]]*\])*\]\s*([-+*/|&^]?=[^=]|\+\+)|atomic\w+\s*\(\s*&?\s*%s\b|\*\s*%s\s*[-+*/]?=[^=]" %
                            (name, name, name), body)
        params.append((" ".join(declaration.split()), name, "*" in declaration, bool(written)))
    return params, body


# ---- the spec ----

PARAMETERS = ["kernel_name", "kernel_source", "problem_size", "arguments", "tune_params", "grid_div_x", "grid_div_y",
              "grid_div_z", "restrictions", "answer", "atol", "verify"]
RUN_PARAMETERS = ["kernel_name", "kernel_source", "problem_size", "arguments", "params", "grid_div_x", "grid_div_y", "grid_div_z"]


class Writer:
    def __init__(self, reader, call, folder):
        self.reader, self.call, self.folder, self.files, self.used = reader, call, folder, {}, set()
        names = PARAMETERS if call["function"] == "tune_kernel" else RUN_PARAMETERS
        self.given = dict(zip(names, call["args"]))
        self.given.update(call["named"])
        self.note = reader.note
        self.inputs, self.input_program, self.defines, self.names, self.shares, self.problem, self.symbol_from = {}, [], {}, {}, {}, [], {}

    def need(self, key):
        thing = self.given.get(key)
        if thing is None or isinstance(thing, Unknown):
            raise Unreadable("line %d: '%s' of %s() cannot be read from the script%s. Write it as a plain value" % (
                self.call["line"], key, self.call["function"], " (%s)" % thing.why if thing else ""))
        return thing

    def number_text(self, thing):
        if isinstance(thing, str):
            return self.expression(thing)
        if isinstance(thing, Number):
            for name in re.findall(r"[A-Za-z_]\w*", thing.text or ""):
                self.used.add(name)
            return thing.print()
        if not number(thing) and not isinstance(thing, bool):
            raise Unreadable("line %d: a number of %s() cannot be read%s" % (
                self.call["line"], self.call["function"], ": " + thing.why if isinstance(thing, Unknown) else ""))
        return plain(thing)

    def expression(self, text, lambda_names=()):
        """An expression of Python as one of a spec."""
        tree = ast.parse(text, mode="eval").body if isinstance(text, str) else text
        writer = self

        class Change(ast.NodeTransformer):
            def visit_Subscript(self, node):
                if isinstance(node.value, ast.Name) and node.value.id in lambda_names and isinstance(node.slice, ast.Constant):
                    return ast.Name(str(node.slice.value))
                raise Unreadable(ast.unparse(node))

            def visit_BinOp(self, node):
                node = self.generic_visit(node)
                if isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
                    node.right = ast.Constant(float(node.right.value))
                elif isinstance(node.op, ast.Div):
                    node.right = ast.Call(ast.Name("float"), [node.right], [])
                return node

            def visit_Call(self, node):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name not in ("min", "max", "abs", "ceil", "floor", "int", "float", "round"):
                    raise Unreadable(ast.unparse(node))
                node.func = ast.Name(name)
                node.args = [self.visit(a) for a in node.args]
                return node

            def visit_Name(self, node):
                thing = writer.call["scope"].get(node.id, writer.reader.globals.get(node.id))
                if node.id not in writer.params and isinstance(thing, Number):
                    return ast.parse(writer.number_text(thing), mode="eval").body
                return ast.Constant(thing) if node.id not in writer.params and type(thing) in (int, float) else node
        return ast.unparse(Change().visit(tree))

    # ---- parts ----

    def add_file(self, name, text):
        """Adds a file that lies beside the spec. If another file has the name already, the script's name comes first."""
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                if file.read() != text:
                    name = "%s_%s" % (re.sub(r"\W", "_", os.path.basename(self.reader.path)[:-3]), name)
        except (OSError, UnicodeDecodeError):
            pass
        self.files[name] = text
        return name

    def read_source(self, kernel, source):
        if isinstance(source, (list, tuple)) and source:
            for other in source[1:]:
                self.note("the file %s goes with the source: #include it there" % (other.path if isinstance(other, Source) else other))
            source = source[0]
        if isinstance(source, Source) or (isinstance(source, str) and "\n" not in source and re.search(r"\.\w+$", source)):
            name = source.path if isinstance(source, Source) else source
            path = os.path.join(self.folder, name)
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    return name, file.read()
            except OSError as fault:
                raise Unreadable("the source %s cannot be read: %s" % (path, fault.strerror))
        if isinstance(source, str) and re.sub(r"\W.*", "", kernel) in source:
            return self.add_file(re.sub(r"\W.*", "", kernel) + ".cu", source.strip("\n") + "\n"), source
        if isinstance(source, (ast.Lambda, ast.FunctionDef, Bound, Unknown)):
            raise Unreadable("line %d: the source of kernel %s is made by code when Kernel Tuner asks for it (a function or a "
                             "template). Write one source with #if instead" % (self.call["line"], kernel))
        raise Unreadable("line %d: the source of kernel %s cannot be read from the script" % (self.call["line"], kernel))

    def divisors(self, axis, names):
        given = self.given.get("grid_div_" + "xyz"[axis])
        if given is None:
            return [names[axis]] if names[axis] in self.params else []
        if isinstance(given, (list, tuple)):
            return [self.number_text(d) for d in given]
        if isinstance(given, (ast.Lambda, ast.FunctionDef)):
            return [self.function_text(given)]
        raise Unreadable("line %d: grid_div_%s cannot be read" % (self.call["line"], "xyz"[axis]))

    def function_text(self, function):
        """A lambda, or a function with one return, as an expression."""
        body = function.body
        if isinstance(function, ast.FunctionDef):
            returns = [s for s in body if isinstance(s, ast.Return)]
            if len(returns) != 1 or any(not isinstance(s, (ast.Return, ast.Expr)) for s in body):
                raise Unreadable("line %d: the function %s() is more than one return" % (function.lineno, function.name))
            body = returns[0].value
        return self.expression(ast.parse(ast.unparse(body), mode="eval").body, [a.arg for a in function.args.args])

    def restrictions(self):
        out, given = [], self.given.get("restrictions")
        if isinstance(given, (ast.Lambda, ast.FunctionDef, Unknown)):
            given = [given]
        for one in given or []:
            try:
                out.append(self.expression(one) if isinstance(one, str) else self.function_text(one))
            except (Unreadable, SyntaxError, AttributeError) as fault:
                self.note("line %d: a restriction was not read (%s): write it as text under 'where'" % (
                    self.call["line"], fault if not isinstance(one, Unknown) else one.why))
        return out

    def default(self, wheres, names):
        """The values of a usual configuration: it satisfies the restrictions, and its block has about 256 threads."""
        order, tests = [], [ast.parse(w, mode="eval").body for w in wheres]
        for name, values in self.params.items():
            order.append(list(values))
        best = None
        for count, values in enumerate(itertools.product(*order)):
            if count >= MOST_TRIED:
                break
            scope = dict(zip(self.params, values))
            threads = 1
            for name in names:
                threads *= scope.get(name, 1) if number(scope.get(name, 1)) else 1
            if threads > 1024:
                continue
            results = [self.reader.value(t, {**scope, "float": Module("float"), "int": Module("int")}) for t in tests]
            if not all(isinstance(r, Unknown) or value_of(r) for r in results):
                continue
            distance = abs(math.log2(max(threads, 1)) - 8)
            if best is None or distance < best[0]:
                best = (distance, values)
                if distance == 0:
                    break
        return best[1] if best else [v[0] for v in order]

    def write(self):
        kernel = self.need("kernel_name")
        tune = self.need("tune_params")
        if not isinstance(tune, dict) or not tune:
            raise Unreadable("line %d: tune_params cannot be read" % self.call["line"])
        self.params = {}
        for name, values in tune.items():
            if not isinstance(values, (list, tuple)) or any(isinstance(v, (Unknown, Array)) for v in values):
                raise Unreadable("line %d: the values of tune_params[%r] cannot be read%s" % (
                    self.call["line"], name, ": " + values.why if isinstance(values, Unknown) else ""))
            self.params[name] = [value_of(v) for v in values]
        source_name, text = self.read_source(kernel, self.need("kernel_source"))
        declared, body = kernel_params(text, re.sub(r"<.*", "", kernel))
        if declared is None:
            raise Unreadable(self.no_kernel(source_name, kernel, text))
        names = self.given.get("block_size_names") or ["block_size_x", "block_size_y", "block_size_z"]
        names = list(names) + ["block_size_x", "block_size_y", "block_size_z"][len(names):]
        wheres = self.restrictions()
        chosen = self.default(wheres, names)
        problem = self.need("problem_size")
        problem = list(problem) if isinstance(problem, (tuple, list)) else [problem]
        source_name, text = self.guard_sizes(source_name, text, problem)
        self.problem, self.text = problem, text
        grid = self.extents = self.grid(problem, names)
        block = [n if n in self.params else ("256" if i == 0 else "1") for i, n in enumerate(names)]
        buffers, args, outputs = self.arguments(declared)
        symbols, shared = self.memories()
        for thing in [b[0] for b in buffers.values()] + list(symbols.values()):
            for extent in thing.shape or []:
                self.number_text(extent)
        if self.inputs:
            self.write_inputs(kernel)
        verify, variants = self.verification(outputs, declared, names, source_name)
        return self.print(kernel, source_name, text, body, buffers, args, wheres, chosen, grid, block, shared, symbols, verify,
                          variants)

    def no_kernel(self, source_name, kernel, text):
        """The sentence for a function that is no kernel. A function of the host launches one, perhaps of another file."""
        if not re.search(r"\b%s\s*\(" % re.escape(kernel), text):
            return "%s has no __global__ function %s" % (source_name, kernel)
        given = self.given.get("kernel_source")
        for other in given if isinstance(given, (list, tuple)) else [given]:
            name = other.path if isinstance(other, Source) else other if isinstance(other, str) and "\n" not in other else source_name
            try:
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                    found = re.findall(r"__global__[^;{]*?(\w+)\s*\([^;{]*\{", file.read())
            except OSError:
                continue
            launched = [k for k in found if re.search(r"\b%s\s*(<[^;]*>)?\s*<<<" % k, text)]
            if launched:
                where = "" if name == source_name else " --launch %s" % source_name
                return ("%s is a function of the host (lang=\"C\"), and a spec is for one kernel. It launches %s: 'kiln init %s -k %s%s' "
                        "makes a spec of that kernel" % (kernel, launched[0], name, launched[0], where))
        return "%s is a function of the host (lang=\"C\"), and a spec is for one kernel: give the kernel that it launches" % kernel

    def grid(self, problem, names):
        out = []
        for axis in range(3):
            extent = problem[axis] if axis < len(problem) else 1
            if isinstance(extent, (ast.Lambda, ast.FunctionDef)):
                extent = self.function_text(extent)
            else:
                extent = self.number_text(extent)
            divisors = self.divisors(axis, names) if axis < len(problem) else []
            if not divisors:
                out.append(extent)
                continue
            product = " * ".join(d if re.fullmatch(r"\w+", d) else "int(%s)" % d for d in divisors)
            self.shares.setdefault(extent, []).append(divisors)
            out.append("ceil_div(%s, %s)" % (extent, product))
        return out

    def arguments(self, declared):
        given = self.need("arguments")
        if len(given) != len(declared):
            raise Unreadable("line %d: the script passes %d arguments, and the kernel has %d" % (
                self.call["line"], len(given), len(declared)))
        buffers, args, outputs, seen = {}, [], [], {}
        pointers = [d for d in declared if d[2]]
        any_written = any(d[3] for d in pointers)
        answer = self.given.get("answer")
        for i, (thing, (declaration, name, pointer, written)) in enumerate(zip(given, declared)):
            if isinstance(thing, Array) and id(thing) in seen:
                args.append(seen[id(thing)])
            elif isinstance(thing, Array) or (isinstance(thing, Unknown) and pointer):
                if isinstance(thing, Unknown) or (thing.fill == "derived" and thing.dtype[0] in "iu"):
                    thing = self.array_of_script(i, name, thing, declaration)
                    seen[id(given[i])] = name
                if name in self.params or name in RESERVED or any(n == name for n, _, _ in self.reader.trace
                                                                  if isinstance(self.call["scope"].get(n), Number)):
                    name += "_"
                out = (isinstance(answer, (list, tuple)) and i < len(answer) and answer[i] is not None) or (
                    not isinstance(answer, (list, tuple)) and "const" not in declaration.split("*")[0] and (
                        written or (not any_written and thing.fill == ("value", 0))))
                buffers[name] = (thing, declaration, bool(out))
                seen[id(thing)] = name
                if thing.of:
                    seen[id(thing.of)] = name
                if out:
                    outputs.append((i, name))
                args.append(name)
            elif isinstance(thing, (Unknown, Result)):
                raise Unreadable("line %d: the argument '%s' cannot be read%s" % (
                    self.call["line"], declaration, ": " + thing.why if isinstance(thing, Unknown) else ""))
            else:
                args.append(self.number_text(thing))
        self.names = seen
        return buffers, args, outputs

    def array_of_script(self, index, name, thing, declaration):
        """An array that the script computes in a way that is not followed: a program writes it to a file."""
        node = self.call["node"]
        keyword = [k.value for k in node.keywords if k.arg == "arguments"]
        wanted = keyword[0] if keyword else node.args[3] if len(node.args) > 3 else None
        if wanted is None:
            raise Unreadable("line %d: the array for '%s' cannot be read (%s)" % (self.call["line"], declaration, thing.why))
        lines, done = [], {}
        self.names = {}
        try:
            self.slice(wanted, self.call["position"], lines, done, values=True)
        except Unreadable as fault:
            raise Unreadable("line %d: the array for '%s' cannot be read (%s), and it is not set by plain assignments (%s)" % (
                self.call["line"], declaration, thing.why, fault))
        self.inputs[name] = index
        self.input_program = lines + ["arguments = " + ast.unparse(wanted)]
        return Array(None, None, ("file", name + ".npy"))

    def memories(self):
        symbols, shared = {}, None
        for name, thing in (self.given.get("cmem_args") or {}).items() if isinstance(self.given.get("cmem_args"), dict) else []:
            if isinstance(thing, Array):
                symbols[name] = thing
                self.symbol_from[name] = self.names.get(id(thing), name)  # an argument of the kernel too
            else:
                self.note("cmem_args[%r] was not read" % name)
        smem = self.given.get("smem_args")
        if isinstance(smem, dict) and "size" in smem:
            size = smem["size"]
            shared = self.function_text(size) if isinstance(size, (ast.Lambda, ast.FunctionDef)) else self.number_text(size)
        if self.given.get("texmem_args"):
            raise Unreadable("line %d: texmem_args sets texture references, which CUDA 12 and later do not compile. Give the kernel "
                             "a parameter of type cudaTextureObject_t, and {texture: BUFFER} in the spec" % self.call["line"])
        return symbols, shared

    def verification(self, outputs, declared, names, source_name):
        answer, lines, variants, references = self.given.get("answer"), [], [], []
        if isinstance(answer, Unknown):
            self.note("line %d: 'answer' was not read (%s)" % (self.call["line"], answer.why))
        if self.given.get("verify") is not None:
            self.note("the function 'verify' was not read, so nothing is verified: a spec compares all elements of the outputs "
                      "with a reference (verify)")
            return [], variants
        atol = self.given.get("atol")
        tolerance = ", atol: %s" % plain(value_of(atol)) if number(atol) else ""
        for index, name in outputs:
            expected = answer[index] if isinstance(answer, (list, tuple)) and index < len(answer) else None
            if isinstance(expected, Result) and expected.call["function"] == "run_kernel":
                if not variants:
                    variants.append(expected.call)
                lines.append("  %s: {against: {variant: reference}%s}" % (name, tolerance))
            elif isinstance(expected, Array) and expected.fill and expected.fill[0] == "file":
                lines.append("  %s: {against: {file: %s}%s}" % (name, json.dumps(expected.fill[1]), tolerance))
            elif expected is not None and not isinstance(answer, Unknown):
                references.append((index, name))
            elif re.search(r"%s\s*\[[^\]]*\b(gridDim|blockIdx)\b(?![^\]]*threadIdx)[^\]]*\]\s*[-+*]?=" % declared[index][1], self.text):
                # the reference has the same grid and block, and the other params differ
                same = [p for p in self.params if p in names or any(re.search(r"\b%s\b" % p, g) for g in self.extents)]
                if len(same) == sum(len(v) > 1 for v in self.params.values()):
                    self.note("'%s' has an element for each block, so it depends on the params and is not verified" % name)
                    continue
                self.note("'%s' has an element for each block, so only configurations with the same grid and block are compared" % name)
                lines.append("  %s: {against: {variant: %s, params: {%s}}%s}" % (
                    name, "tuned" if variants else "default", ", ".join("%s: %s" % (p, p) for p in same), tolerance))
            else:
                same = "".join(", params: {%s}" % ", ".join("%s: %s" % (n, n) for n in self.problem_params())
                               if self.problem_params() else "")
                lines.append("  %s: {against: {variant: %s%s}%s}" % (name, "tuned" if variants else "default", same, tolerance))
        if references:
            program = self.reference(references)
            for index, name in references:
                against = "command: python3 %s" % program if program else "variant: default"
                lines.append("  %s: {against: {%s}%s}" % (name, against, tolerance))
        return lines, variants

    def problem_params(self):
        """Params from which the script computes sizes. They may change the answer, so the reference has the same ones."""
        found = []
        for name, statement, _ in self.reader.trace:
            for param in re.findall(r"\[\s*['\"](\w+)['\"]\s*\]", ast.unparse(statement.value) if isinstance(statement, ast.Assign) else ""):
                if name in self.used and param in self.params and param not in found:
                    found.append(param)
        return found

    def reference(self, references):
        """Writes the statements of the script that compute the answer to a program; its arrays come from files."""
        node = self.call["node"]
        keyword = [k.value for k in node.keywords if k.arg == "answer"]
        wanted = keyword[0] if keyword else node.args[PARAMETERS.index("answer")] if len(node.args) > PARAMETERS.index("answer") else None
        lines = []
        if wanted is None:
            return None
        try:
            self.slice(wanted, self.call["position"], lines, {}, values=False)
        except Unreadable as fault:
            self.note("'answer' was not taken as a reference, because %s is not set by plain assignments" % fault)
            return None
        modules = self.modules()
        name = re.sub(r"\W+", "_", self.given["kernel_name"]).strip("_") + "_reference.py"
        return self.add_file(name, "\n".join(
            ["# The reference of the spec, from the statements of %s that compute 'answer'." % os.path.basename(self.reader.path),
             "import sys", "import numpy"] + [m for m in modules if m != "import numpy"] +
            ["", "folder, sizes = sys.argv[1], dict(word.split(\"=\", 1) for word in sys.argv[2:])"] + lines +
            ["answer = " + ast.unparse(wanted)] * (ast.unparse(wanted) != "answer") +
            ["numpy.save(folder + \"/out/%s.npy\", numpy.asarray(answer[%d]))" % (n, i) for i, n in references]) + "\n")

    def slice(self, expression, before, lines, done, values):
        """Adds the statements that an expression needs. With `values` sizes have their values in the script; otherwise
        arrays come from files, and sizes from the command line."""
        scope = self.call["scope"]
        bound = {n.id for c in ast.walk(expression) if isinstance(c, ast.comprehension) for n in ast.walk(c.target) if isinstance(n, ast.Name)}
        for name in [n.id for n in ast.walk(expression) if isinstance(n, ast.Name)]:
            thing = scope.get(name, self.reader.globals.get(name))
            if name in done or name in bound or isinstance(thing, Module) or name in BUILTINS:
                continue
            done[name] = True
            file = thing.fill[1] if isinstance(thing, Array) and thing.fill and thing.fill[0] == "file" else None
            known = self.names.get(id(thing)) if isinstance(thing, (Array, Unknown)) else None
            if not values and known:
                lines.append("%s = numpy.load(folder + \"/in/%s.npy\")" % (name, known))
            elif not values and isinstance(thing, Number) and thing.size == name and name in self.used:
                lines.append("%s = int(sizes[\"%s\"])" % (name, name))
            elif values and isinstance(thing, Number) and thing.size == name and isinstance(thing.value, int):
                lines.append("%s = %d" % (name, thing.value))  # numpy.int32 overflows where the script's NumPy did not
            else:
                places = [(i, s) for i, (n, s, _) in enumerate(self.reader.trace[:before]) if n == name]
                if not places or file or any(not isinstance(s, (ast.Assign, ast.AnnAssign)) for _, s in places):
                    raise Unreadable(name)
                for i, s in places:
                    self.slice(s.value, i, lines, done, values)
                    if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Subscript):
                        self.slice(s.targets[0].slice, i, lines, done, values)
                    lines.append(ast.unparse(s))

    def modules(self):
        """The imports of the script that its arrays may need."""
        return [ast.unparse(i) for i in self.reader.imports
                if not any(a.name.split(".")[0] in ("kernel_tuner", "pycuda", "json", "logging") for a in i.names)
                and getattr(i, "module", "") not in ("kernel_tuner", "collections", "__future__")
                and not str(getattr(i, "module", "")).startswith("kernel_tuner")]

    def write_inputs(self, kernel):
        name = re.sub(r"\W+", "_", kernel).strip("_") + "_inputs.py"
        name = self.add_file(name, "\n".join(
            ["# The inputs of the spec, from the statements of %s that make them. Run it once." % os.path.basename(self.reader.path),
             "import numpy"] + [m for m in self.modules() if m != "import numpy"] + [""] + self.input_program +
            ["numpy.save(\"%s.npy\", numpy.asarray(arguments[%d]))" % i for i in self.inputs.items()]) + "\n")
        self.note("%s makes the files of %s: run 'python3 %s' once, in the folder of the spec" % (name, ", ".join(self.inputs), name))

    def guard_sizes(self, source_name, text, problem):
        """Macros of the source that fix a size of the problem. A copy of the source gets #ifndef around them."""
        found = {}
        for macro, literal in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\d+)[ \t]*$", text, flags=re.M):
            equal = [(i, p) for i, p in enumerate(problem) if isinstance(p, Number) and p.text and p.value == int(literal)]
            guarded = re.search(r"#[ \t]*ifndef[ \t]+%s\b" % macro, text)
            if not equal or int(literal) < 64 or macro in self.params or guarded:
                continue
            axis = 1 if re.search(r"height|rows|_y$|^h$|^m$", macro, flags=re.I) else 0
            size = dict(equal).get(axis, equal[0][1])
            found[macro] = self.number_text(size)
        if not found:
            return source_name, text
        for macro in found:
            text = re.sub(r"^([ \t]*#[ \t]*define[ \t]+%s[ \t].*)$" % macro, r"#ifndef %s\n\1\n#endif" % macro, text, flags=re.M)
        made = self.add_file(re.sub(r"\.(\w+)$", r"_sizes.\1", os.path.basename(source_name)), text)
        self.defines.update(found)
        self.note("%s is a copy of %s with #ifndef around %s, so that the spec can set these sizes" % (made, source_name, ", ".join(found)))
        return made, text

    # ---- text ----

    def tiny_sizes(self, sizes):
        """Sizes for the simulated device. Sizes of the problem become smaller, but stay multiples of the largest share of a
        block; equal sizes stay equal. Other sizes are kept, because they may be capacities."""
        tiny = dict(sizes)
        if self.inputs:  # the files have one size
            return tiny
        problem = [p.text for p in self.problem if isinstance(p, Number) and p.text in sizes]
        for name in problem:
            value, least = sizes[name], 1
            for extent, all_divisors in self.shares.items():
                for divisors in all_divisors if sizes.get(extent) == value else []:
                    share = 1
                    for d in divisors:
                        share *= max([v for v in self.params[d] if number(v)], default=1) if d in self.params else 1
                    least = max(least, share)
            least = max(64 if len(problem) > 1 else 2048, min(least, 512 if len(problem) > 1 else 2048))
            small = value
            while small % 2 == 0 and small // 2 >= least:
                small //= 2
            tiny[name] = small if small <= 4096 else min(value, least)
        for name, value in sizes.items():  # other sizes may be capacities, so only huge ones become smaller
            if name not in problem and value > 1 << 20:
                tiny[name] = 1 << 16
        return tiny

    def print(self, kernel, source_name, text, body, buffers, args, wheres, chosen, grid, block, shared, symbols, verify, variants):
        lines = ["# From %s, line %d: tune_kernel(%s). The script was read and not run." % (
            os.path.basename(self.reader.path), self.call["line"], kernel)]
        metrics = self.metrics()
        rows = []
        everything = list(buffers.items()) + [(n, (t, "__constant__ " + n, False)) for n, t in symbols.items() if self.symbol_from[n] == n]
        for name, (thing, declaration, out) in everything:
            if thing.shape is None:
                rows.append("  %s: {file: %s%s} # %s" % (name, thing.fill[1], ", out: true" if out else "", declaration))
                continue
            shape = ", ".join(self.number_text(s) for s in thing.shape)
            fill = self.fill(thing)
            note = "; check: the script computes this content" if thing.fill == "derived" else ""
            rows.append("  %s: {type: %s, shape: [%s]%s%s} # %s%s" % (
                name, thing.dtype, shape, ", fill: " + fill if fill else "", ", out: true" if out else "", declaration, note))
        sizes = {}
        for n, _, scope in self.reader.trace:
            thing = scope.get(n)
            for part in thing if isinstance(thing, tuple) else [thing]:
                if isinstance(part, Number) and part.size and part.size in self.used:
                    sizes[part.size] = part.value
        for name in self.params:
            sizes.pop(name, None)
        if not sizes:
            sizes = {"N": 1}
        tiny = self.tiny_sizes(sizes)
        for note in self.reader.notes:
            lines.append("# check: %s." % note)
        lines += ["kiln: 1", "name: %s" % re.sub(r"\W+", "_", kernel).strip("_")[:63], "source: %s" % source_name]
        options, defines = self.options()
        if options:
            lines.append("options: [%s]" % ", ".join('"%s"' % o for o in options))
        defines.update(self.defines)
        defines = {**({"kernel_tuner": "1"} if re.search(r"\bkernel_tuner\b", text) else {}), **defines}
        for i, axis in enumerate("xyz"):
            if re.search(r"\bgrid_size_%s\b" % axis, text):
                defines["grid_size_" + axis] = grid[i]
        if defines:
            lines.append("define: {%s}" % ", ".join("%s: %s" % d for d in defines.items()))
        lines += ["", "sizes:", "  default: {%s}" % ", ".join("%s: %d" % s for s in sizes.items()),
                  "  tiny: {%s} # for the simulated device" % ", ".join("%s: %d" % s for s in tiny.items()), ""]
        if metrics:
            lines += ["metrics: {%s}" % ", ".join("%s: \"%s\"" % m for m in metrics.items()), ""]
        lines.append("buffers:")
        lines += rows + [""]
        if symbols:
            lines.append("before_each:")
            lines += ["  - symbol: {name: \"%s\", from: %s}" % (n, self.symbol_from[n]) for n in symbols] + [""]
        own = ["params:"]
        for (name, values), one in zip(self.params.items(), chosen):
            row = ", ".join(str(v).lower() if isinstance(v, bool) else str(v) if number(v) else '"%s"' % v for v in values)
            own.append("  %s: {values: [%s], default: %s}" % (name, row, one if number(one) else '"%s"' % one))
        if len(block) and sum(b in self.params for b in block) > 1:
            wheres = ["%s <= device.max_threads_per_block" % " * ".join(b for b in block if b != "1")] + wheres
        if wheres:
            own += ["where:"] + ["  - \"%s\"" % w.replace('"', "'") for w in wheres]
        while len(grid) > 1 and grid[-1] == block[-1] == "1":
            grid, block = grid[:-1], block[:-1]
        launch = ["launch:", "  kernel: %s" % self.kernel_text(kernel), "  grid: [%s]" % ", ".join('"%s"' % g for g in grid),
                  "  block: [%s]" % ", ".join(block)]
        if shared:
            launch.append("  shared: \"%s\"" % shared)
        launch.append("  args: [%s]" % ", ".join(args))
        if verify:
            lines += ["verify:"] + verify + [""]
        if variants:
            lines += ["variants:", "  tuned:"] + ["    " + l for l in own + launch] + self.variant(variants[0], buffers)
        else:
            lines += own + [""] + launch
        return "\n".join(lines) + "\n"

    def kernel_text(self, kernel):
        """The kernel's name in the spec: the params among its template arguments in braces."""
        if "<" not in kernel:
            return kernel
        return '"%s"' % re.sub(r"\w+", lambda m: "{%s}" % m[0] if m[0] in self.params and m.start() > kernel.index("<") else m[0], kernel)

    def variant(self, call, buffers):
        """The kernel that the script runs for the answer, as a variant that is no contender."""
        other = Writer(self.reader, call, self.folder)
        values = other.need("params")
        other.params = {n: [value_of(v)] for n, v in values.items()}
        problem = other.need("problem_size")
        problem = list(problem) if isinstance(problem, (tuple, list)) else [problem]
        names = ["block_size_x", "block_size_y", "block_size_z"]
        grid = other.grid(problem, names)
        self.used |= other.used
        args = [self.names.get(id(t), None) if isinstance(t, Array) else other.number_text(t) for t in other.need("arguments")]
        if None in args:
            raise Unreadable("line %d: run_kernel() has other arrays than tune_kernel()" % call["line"])
        missing = {n: v[0] for n, v in self.params.items() if n not in other.params}
        params = ["      %s: [%s]" % (n, plain(v[0])) for n, v in other.params.items()]
        return ["  reference:", "    contender: false", "    params:"] + params + [
            "    define: {%s}" % ", ".join("%s: %s" % (n, plain(v)) for n, v in missing.items())] * bool(missing) + [
            "    launch:", "      kernel: %s" % other.need("kernel_name"),
            "      grid: [%s]" % ", ".join('"%s"' % g for g in grid),
            "      block: [%s]" % ", ".join(n if n in other.params else "1" for n in names),
            "      args: [%s]" % ", ".join(args)]

    @staticmethod
    def fill(thing):
        if thing.fill == "derived":
            return "{uniform: [0, 15]}" if thing.dtype[0] in "iu" else "{uniform: [-1, 1]}"
        if not thing.fill:
            return ""
        if thing.fill[0] == "value":
            return plain(thing.fill[1])
        if thing.dtype[0] in "iu" and thing.fill[0] in ("normal",):
            return "{uniform: [-3, 3]}"
        return "{%s: [%s, %s]}" % thing.fill

    def options(self):
        options, defines = [], {}
        given = self.given.get("compiler_options")
        for word in given if isinstance(given, (list, tuple)) else []:
            word = value_of(word)
            if not isinstance(word, str):
                continue
            if re.match(r"--?(std|use_fast_math|maxrregcount|fmad|ftz|prec-div|prec-sqrt)", word):
                options.append(word)
            elif word.startswith("-D") and len(word) > 2:
                name, _, value = word[2:].partition("=")
                defines[name] = value or "1"
            else:
                self.note("the compile option %s was left out" % word)
        if isinstance(self.given.get("defines"), dict):
            for name, value in self.given["defines"].items():
                defines[name] = plain(value_of(value)) if number(value) else '"\'%s\'"' % value
        return options, defines

    def metrics(self):
        out, given = {}, self.given.get("metrics")
        for name, one in given.items() if isinstance(given, dict) else []:
            try:
                text = self.expression(one) if isinstance(one, str) else self.function_text(one)
                text = re.sub(r"\btime\b", "(1000 * time)", text)
                unknown = [n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name) and
                           n.id not in self.params and n.id not in self.used and n.id not in RESERVED and n.id != "time"]
                if unknown:
                    raise Unreadable("%s needs an observer" % unknown[0])
                out[re.sub(r"\W+", "_", name).strip("_").lower()] = text
            except (Unreadable, SyntaxError, AttributeError) as fault:
                self.note("the metric %s was not read (%s)" % (name, fault))
        return out


def main():
    try:  # the script is text of others: it must not take all time and memory
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    except (ValueError, OSError):
        pass
    path, wanted = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    try:
        with open(path, encoding="utf-8") as file:
            reader = Reader(path, file.read())
        reader.read()
        calls = [c for c in reader.calls if not wanted or (c["args"] and c["args"][0] == wanted) or c["named"].get("kernel_name") == wanted]
        if not calls:
            raise Unreadable("the script has no call of tune_kernel()%s that the reader reaches%s" % (
                " for kernel " + wanted if wanted else "", "; it has: " + ", ".join(sorted({str(c["args"][0]) for c in reader.calls if c["args"]}))
                if reader.calls else ""))
        others = [str(c["args"][0]) for c in reader.calls if c is not calls[0] and c["args"]]
        if others:
            reader.note("the script tunes more: %s. This is its first call (--kernel NAME for another kernel)" % ", ".join(sorted(set(others))))
        writer = Writer(reader, calls[0], os.path.dirname(path))
        spec = writer.write()
        print(json.dumps({"spec": spec, "files": writer.files, "notes": reader.notes}))
    except (Unreadable, OSError, UnicodeDecodeError) as fault:
        print(json.dumps({"error": "%s: %s" % (path, fault)}))
    except (RecursionError, MemoryError):
        print(json.dumps({"error": "%s: an expression of the script is too long or too deep to follow" % path}))
    except SyntaxError as fault:
        print(json.dumps({"error": "%s:%s: Python does not read this line: %s" % (path, fault.lineno, fault.msg)}))


main()
