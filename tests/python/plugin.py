"""The pytest plugin and `python -m phibal verify`: verdicts, messages and exit statuses."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

from needs import need, run

need("numpy")

MINE = '''
import numpy as np
import phibal
import phibal.numpy as pn


def router(logits, k, gate, scale, bias=None, mask=None):
    r = pn.router_forward(logits, k, gate=gate, scale=scale, bias=bias, mask=mask)
    answer = {"experts": r.experts, "gates": r.gates, "probabilities": r.probabilities, "counts": r.loads.count}
    if r.loads.tokens:
        answer |= {"loads": r.loads.mean(), "frequencies": r.loads.frequency()}
    return answer


def without_bias(logits, k, gate, scale, bias=None, mask=None):
    return router(logits, k, gate, scale, None, mask)


def none(logits, k, gate, scale, bias=None, mask=None):
    return None


def too_few(logits, k):
    return {}
'''
TESTS = '''
import phibal
from mine import none, router, without_bias

test_router = phibal.check("router-forward", cases=40)(router)
test_without_bias = phibal.check("router-forward", cases=40)(without_bias)
test_none = phibal.check("router-forward", cases=40)(none)
'''


class Plugin(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        for name, text in (("mine.py", MINE), ("test_mine.py", TESTS)):
            with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
                file.write(text)

    def tearDown(self):
        self.folder.cleanup()

    def python(self, *arguments):
        return subprocess.run([sys.executable, *arguments], cwd=self.folder.name, capture_output=True, text=True)

    def test_module(self):
        verify = lambda function, *rest: self.python("-m", "phibal", "verify", function, "--op=router-forward", "--cases=40",
                                                     *rest)
        good, bad = verify("mine:router"), verify("mine:without_bias", "--markdown=summary.md")
        self.assertEqual(good.returncode, 0, good.stderr)
        self.assertIn("verified; 40 cases judged, 0 failed", good.stdout)
        self.assertEqual(bad.returncode, 1, bad.stderr)
        self.assertRegex(bad.stdout, r"\(bias\): experts\[\d+, \d+\]: got \d+, expected \d+")
        self.assertIn("likely: the selection bias entered", bad.stdout)
        with open(os.path.join(self.folder.name, "summary.md"), encoding="utf-8") as file:
            self.assertIn("### router-forward: mismatch", file.read())
        self.assertEqual(verify("mine:none").returncode, 3)
        for unusable in (verify("mine:nothing"), verify("yours:router"), verify("mine:too_few"),
                         self.python("-m", "phibal", "verify", "mine:router", "--op=route"),
                         self.python("-m", "phibal", "verify")):
            self.assertEqual(unusable.returncode, 2, unusable.stdout)

    def test_pytest(self):
        if importlib.util.find_spec("pytest") is None:
            self.skipTest("no pytest")
        plugin = [] if os.environ.get("PHIBAL_BUILD") is None else ["-p", "phibal.pytest_plugin"]
        ran = self.python("-m", "pytest", "-q", "-rfs", *plugin, "--phibal-seed=2", "--phibal-summary=summary.md",
                          "--junit-xml=junit.xml")
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertIn("FAILED test_mine.py::test_without_bias[bias]", ran.stdout)
        self.assertEqual(ran.stdout.count("FAILED"), 1, ran.stdout)
        self.assertIn("likely: the selection bias entered", ran.stdout)
        self.assertRegex(ran.stdout, "1 failed, 39 passed, 20 skipped")
        with open(os.path.join(self.folder.name, "summary.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("router-forward/2/", text)
        self.assertIn("## `test_mine.py::test_router`\n\n### router-forward: verified", text)


run()
