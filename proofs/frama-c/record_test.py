#!/usr/bin/env python3
"""Holds the hash of units.proved to its word: what a proof depends on changes it, comments do not.

  record_test.py     prints one line; exit status 0 only if every change is seen, and no other
"""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import committed  # noqa: E402

UNIT = "reference/enclosure.c"
# (file, old, new, does the proof depend on it?)
CHANGES = [
    (UNIT, "MPFR_RNDD", "MPFR_RNDU", True),
    (UNIT, "ensures", "ensures \\true &&", True),
    (UNIT, "/*@", "/*", True),
    ("spec/include/phibal/enclosure.h", "/*@", "/*@ requires \\true;", True),
    ("spec/acsl/enclosure.h", "\\valid(z) && enclosure(z)", "\\valid(z)", True),
    ("proofs/frama-c/include/mpfr.h", "ensures", "requires", True),
    (UNIT, "#include", "#define PHIBAL_RECORD_TEST 1\n#include", True),
    (UNIT, "#include", "/* A comment. */ // another\n\n\n#include", False),
]


def main():
    before = committed.text_of(UNIT, ["-a"])
    wrong = []
    if committed.text_of(UNIT, ["-b"]) == before:
        wrong.append("an option of WP")
    with tempfile.TemporaryDirectory() as copy:
        for folder in ("reference", "spec", "proofs/frama-c/include", "kernels"):
            shutil.copytree(os.path.join(committed.ROOT, folder), os.path.join(copy, folder), symlinks=True)
        if committed.text_of(UNIT, ["-a"], copy) != before:
            wrong.append("the place of the tree")
        for name, old, new, matters in CHANGES:
            path = os.path.join(copy, name)
            text = open(path).read()
            if old not in text:
                wrong.append("%s has no %s" % (name, old))
                continue
            with open(path, "w") as file:
                file.write(text.replace(old, new, 1))
            if (committed.text_of(UNIT, ["-a"], copy) != before) != matters:
                wrong.append("%s: %s to %s" % (name, old, new.replace("\n", " ")))
            with open(path, "w") as file:
                file.write(text)
    for line in wrong:
        print("    taken wrongly: " + line)
    print("record: %d of %d changes are taken as they should be" % (len(CHANGES) + 2 - len(wrong), len(CHANGES) + 2))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
