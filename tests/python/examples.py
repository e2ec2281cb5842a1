"""The scripts of python/examples, and the timing script: each ends well and shows what it is there to show.

usage: examples.py SOURCE_ROOT"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from needs import need, run

need("numpy", "torch")
ROOT = sys.argv[1]


class Examples(unittest.TestCase):
    def output(self, *command):
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run([sys.executable, os.path.join(ROOT, command[0]), *command[1:]], cwd=folder, capture_output=True,
                                 text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def test_balance(self):
        rows = {line[:16].strip(): [float(x) for x in line[16:].split()] for line in
                self.output("python/examples/balance.py").splitlines()[1:]}
        for layer in (1, 2):
            self.assertLess(rows["phi, negentropy"][layer], 0.7 * rows["none"][layer])

    def test_judge(self):
        with_bug, without = self.output("python/examples/judge.py").split("\n\n")
        self.assertIn("router-forward: mismatch", with_bug)
        self.assertIn("likely: the selection bias entered the gates", with_bug)
        self.assertIn("router-forward: verified", without)

    def test_audit(self):
        text = self.output("python/examples/audit.py")
        self.assertIn("proved     strictly convex on the simplex", text)
        self.assertTrue(re.search(r"(?m)^bent +64 +0\.65 +8\.259 +133\.7$", text), text)
        self.assertRegex(text, "wrote bent.png|no picture")

    def test_times(self):
        text = self.output("bench/router_autograd.py", "--rounds=1", "--tokens=256")
        self.assertTrue(re.search(r"(?m)^ +64 +8 +[\d.]+ +[\d.]+ +[\d.]+$", text), text)


run()
