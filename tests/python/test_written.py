"""Tests how the globals of a reference are written into a program. Needs neither NumPy nor the compiled part of the module."""
import pathlib
import sys
import types
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "tools/python/kiln"


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


stand_in("numpy")
stand_in("kiln", __path__=[str(PACKAGE)])
stand_in("kiln._objects", Value=object)
stand_in("kiln.hosts", Call=object, HostFunction=object)
from kiln import reference  # noqa: E402  (behind the stand-ins)


class Float64(float):
    """Imitates a number of NumPy 2."""

    def __repr__(self):
        return f"np.float64({float(self)!r})"


class Written(unittest.TestCase):
    def test_numbers(self):
        done = {}
        for name, item in {"a": 1, "b": 2.5, "c": "text", "d": (1, "x"), "e": True}.items():
            reference._written(name, item, done)
        self.assertEqual(list(done.values()), ["a = 1", "b = 2.5", "c = 'text'", "d = (1, 'x')", "e = True"])

    def test_numbers_of_numpy(self):
        for item in (Float64(2), (1, Float64(2)), float("inf"), float("nan")):
            with self.assertRaisesRegex(ValueError, "the reference uses SCALE, a .*cannot be written to a file"):
                reference._written("SCALE", item, {})


if __name__ == "__main__":
    unittest.main()
