"""For the tests of the Python package: runs the unittest cases of a script, or says what is missing and ends with 77."""
import importlib
import os
import sys
import unittest

os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def need(*modules):
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"skipped: {error}; PHIBAL_PYTHON names a Python that has it")
            sys.exit(77)
    if "torch" in modules:
        sys.modules["torch"].set_num_threads(1)


def run():
    unittest.main(argv=sys.argv[:1] + [a for a in sys.argv[1:] if not a.startswith("/")], verbosity=2)
