"""The Python blocks of the manuals, each run as it stands; those with test_ functions are judged.

usage: documents.py SOURCE_ROOT"""
import os
import re
import sys
import unittest

from needs import need, run

need("numpy", "torch")
import phibal

ROOT = sys.argv[1]


class Blocks(unittest.TestCase):
    def test_blocks(self):
        ran = judged = 0
        for name in ("README.md", "python/README.md", "spec/VECTORS.md"):
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                text = file.read()
            for block in re.findall(r"(?ms)^```python\n(.*?)^```", text):
                with self.subTest(name + ": " + block.split("\n")[0]):
                    if "import phibal" not in block:  # a program of its own
                        continue
                    names = {}
                    exec(compile(block, name, "exec"), names)
                    ran += 1
                    if "report" in names:
                        self.assertEqual(names["report"].verdict, "verified", str(names["report"]))
                    for n, f in names.items():
                        if n.startswith("test_") and "..." not in block:
                            options = {**f._phibal.options, "seed": 1}
                            report = phibal.judge(f._phibal.op, f._phibal.function, **options)
                            self.assertEqual(report.verdict, "verified", str(report))
                            self.assertGreater(report.judged, 10)
                            judged += 1
        self.assertEqual((ran, judged), (7, 1))


run()
