#!/usr/bin/env python3
"""The structure that ARCHITECTURE.md describes is the repository's, and tools/structure.py notices where it is not.

usage: structure.py SOURCE_ROOT LIBRARY   LIBRARY: one that is not installed, with symbols of any name
"""
import os
import shutil
import subprocess
import sys
import tempfile

source, library = sys.argv[1:3]


def run(root, *arguments):
    done = subprocess.run([sys.executable, os.path.join(root, "tools/structure.py"), *arguments], stdout=subprocess.PIPE,
                          text=True)
    return done.returncode, done.stdout


status, text = run(source)
print(text)
assert status == 0
status, text = run(source, library)
assert status == 1 and " without phibal_" in text and "wrong: %s defines " % library in text, text[-600:]

# An edit, and what has to be said of it.
FAULTS = [
    ("formats/file.h", "#endif", '#include "moe/model/model.h"\n#endif', "which ARCHITECTURE.md does not allow"),
    ("audit/phi.h", "#endif", '#include "verify/cases.h"\n#endif', "which ARCHITECTURE.md does not allow"),
    ("kernels/core/dd.h", "#endif", '#include "price.h"\n#endif', "files include each other: "),
    ("moe/train/train.c", '#include "', '#include "nowhere.h"\n#include "', "nowhere.h, which is nowhere"),
    ("cli/main.c", '#include "', '#include "tests/data_files.h"\n#include "', "whose row does not stand above"),
    ("kernels/core/price.h", "  case PHIBAL_POTENTIAL_COUNT:", "  default:", "a switch over potentials or operations has a default"),
    ("reference/slots.c", "#include", "/*@\n%s*/\n#include" % (9000 * "  lemma\n"), "more lines of ACSL than of code"),
    ("reference/slots.c", "#include", "/*@\n%s*/\n#include" % (200 * "  lemma\n"), "of code, more than 2 to 1"),
    ("reference/slots.c", "#include", "static int\nnine(int a, int b, int c, int d, int e, int f, int g, int h, int i) {}\n#include",
     "nine (reference/slots.c) takes 9 parameters, more than 8"),
    ("ARCHITECTURE.md", "`kernels/cpu/loads.c`", "`kernels/cpu/lode.c`", "kernels/cpu/lode.c is not there"),
    ("ARCHITECTURE.md", "| R6 R7 |", "| R6 R77 |", "no equation (R77)"),
    ("ARCHITECTURE.md", "`balance-loss`", "`balance-losses`", "no operation `balance-losses`"),
    ("ARCHITECTURE.md", "| `spec` `formats` |\n| `verify`", "| `spec` `formats` `kernels` |\n| `verify`", "allows it for nothing"),
    ("ARCHITECTURE.md", "| moving average |", "| average |", "is not the picture"),
]
with tempfile.TemporaryDirectory() as work:
    copy = os.path.join(work, "tree")
    shutil.copytree(source, copy, ignore=lambda folder, names: [
        n for n in names if n.startswith((".", "build", "shared")) and not n.startswith("build.") or n == "corpus"])
    assert run(copy)[0] == 0, run(copy)[1]
    for path, old, new, message in FAULTS:
        path = os.path.join(copy, path)
        with open(path, encoding="utf-8") as f:
            whole = f.read()
        assert old in whole, (path, old)
        # Header guards end with the last #endif.
        at = whole.rindex(old) if old == "#endif" else whole.index(old)
        with open(path, "w", encoding="utf-8") as f:
            f.write(whole[:at] + new + whole[at + len(old):])
        status, text = run(copy)
        assert status == 1 and message in text, (path, message, text[-600:])
        with open(path, "w", encoding="utf-8") as f:
            f.write(whole)
print("%d of %d faults of structure are noticed" % (len(FAULTS), len(FAULTS)))
