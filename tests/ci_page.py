#!/usr/bin/env python3
"""The workflow of spec/CI.md, run as it stands there: its steps "plugin" and "vectors" end in 0 for
kernels that are right, "vectors" in 1 for wrong ones, and write JUnit files that say so.

usage: ci_page.py PHIBAL SOURCE_ROOT
"""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

phibal, root = map(os.path.abspath, sys.argv[1:3])
bad = 0

# Results for the workflow: of the independent implementation, as `python3 mine/run_cases.py` gives them.
RUN_CASES = """import sys
sys.path.insert(0, %r)
import vectors_peer
vectors_peer.answer(sys.argv[1], sys.argv[2], "router-forward", %r)
"""


def check(good, what):
    global bad
    bad += not good
    print("%s: %s" % ("ok" if good else "not ok", what))


def page(name):
    with open(os.path.join(root, "spec", name), encoding="utf-8") as f:
        return f.read()


def step(name):
    """The commands of the workflow's step, without their indentation."""
    found = re.search(r"- name: %s\n +run: \|\n((?: {10}.*\n)+)" % name, page("CI.md"))
    return re.sub(r"(?m)^ {10}", "", found.group(1))


def tree(folder):
    """What the workflow has checked out and built: mine/, phibal/."""
    os.makedirs(os.path.join(folder, "phibal/build/cli"))
    os.symlink(phibal, os.path.join(folder, "phibal/build/cli/phibal"))
    os.symlink(os.path.join(root, "spec"), os.path.join(folder, "phibal/spec"))
    os.mkdir(os.path.join(folder, "mine"))


def run(folder, commands):
    # As a workflow's shell: it ends with the first command that fails.
    return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", commands], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def junit(folder, name):
    """(cases, failures) of a JUnit file, None where there is no such file."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    suites = list(xml.etree.ElementTree.parse(path).getroot().iter("testsuite"))
    return tuple(sum(int(s.get(key)) for s in suites) for key in ("tests", "failures"))


def expect(name, file, status, wrong):
    with tempfile.TemporaryDirectory() as folder:
        tree(folder)
        with open(os.path.join(root, "examples/plugin/router.c")) as f, \
                open(os.path.join(folder, "mine/plugin.c"), "w") as g:
            g.write(("#define PLUGIN_FAULT\n" if wrong else "") + f.read())
        with open(os.path.join(folder, "mine/run_cases.py"), "w") as f:
            f.write(RUN_CASES % (os.path.join(root, "tests"), "ties to the higher index" if wrong else ""))
        ended = run(folder, step(name))
        counts = junit(folder, file)
        good = ended.returncode == status and counts and counts[0] and (counts[1] > 0) == wrong
        check(good, "%s, %s kernels: status %d, JUnit %s" %
              (name, "wrong" if wrong else "right", ended.returncode, counts))
        if not good:
            print(ended.stdout[-2000:])


# What a wrong plugin gets is the test "plugin"'s.
expect("plugin", "verify.xml", 0, False)
expect("vectors", "judge.xml", 0, False)
expect("vectors", "judge.xml", 1, True)
sys.exit(1 if bad else 0)
