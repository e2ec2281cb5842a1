#!/usr/bin/env python3
"""Every row of SECURITY.md's table names its tests, and there are such tests; its limits are those of the code.

usage: security_page.py BUILD_ROOT SOURCE_ROOT
"""
import json
import os
import re
import sys

build, source = sys.argv[1:3]


def wrong(text, tests):
    """What is wrong with the table: a row without a test, or one that names none there is."""
    text, _, limits = text.partition("## Limits")
    rows = re.findall(r"(?m)^\|(?! ---)(.*)\|$", text)[1:]
    found = [] if len(rows) > 5 else ["no table"]
    for row in rows:
        named = re.findall(r"`([^`]+)`", row.rsplit("|", 1)[-1])
        if not named:
            found.append("no test: " + row[:60])
        found += ["there is no test '%s'" % name for name in named if name not in tests]
    stated = re.findall(r"(?m)^\| ([^|]+) \| (\d+) \|$", limits.partition("\n## ")[0])
    if stated != coded:
        found.append("limits: %s here, %s in the code" % (stated, coded))
    return found


with open(os.path.join(source, "formats/text_limits.h"), encoding="utf-8") as f:
    coded = re.findall(r'(?m)^  LIMIT\(\w+, "([^"]+)", (\d+)\)', f.read())
with open(os.path.join(build, "meson-info", "intro-tests.json"), encoding="utf-8") as f:
    tests = {test["name"] for test in json.load(f)}
with open(os.path.join(source, "SECURITY.md"), encoding="utf-8") as f:
    page = f.read()
faults = [page.replace("`plugin` |", " |"), page.replace("`codegen`", "`codegenerator`"),
          page.replace("| a sweep | 1 |", "| a sweep | 2 |"), ""]
missed = [i for i, text in enumerate(faults) if not wrong(text, tests)]
for line in wrong(page, tests) + ["a planted fault is not noticed: %d" % i for i in missed]:
    print("not ok: " + line)
print("%d tests are known" % len(tests))
sys.exit(1 if wrong(page, tests) or missed else 0)
