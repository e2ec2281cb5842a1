#!/usr/bin/env python3
"""Holds the hash of units.proved to its word: what a proof depends on changes it, comments do not. And carry.py: what is
another program to Frama-C is that to it.

  record_test.py     prints one line; exit status 0 only if every change is seen, and no other
"""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import carry  # noqa: E402
import committed  # noqa: E402

UNIT, SELECT = "reference/enclosure.c", "proofs/frama-c/select_inline.c"
# (unit, file, old, new, does the proof depend on it?)
CHANGES = [
    (UNIT, UNIT, "MPFR_RNDD", "MPFR_RNDU", True),
    (UNIT, UNIT, "ensures", "ensures \\true &&", True),
    (UNIT, UNIT, "/*@", "/*", True),
    (UNIT, UNIT, "/*@", "/* @", True),
    (UNIT, UNIT, "//@", "// @", True),
    (UNIT, "spec/acsl/contracts/enclosure.h", "/*@", "/*@ requires \\true;", True),
    (UNIT, "spec/acsl/contracts/inside/enclosure_static.h", "ensures", "ensures \\true &&", True),
    (UNIT, "spec/include/phibal/enclosure.h", "void phibal_enclosure_init", "void  /* */ phibal_enclosure_init", False),
    (UNIT, "spec/acsl/enclosure.h", "\\valid(z) && enclosure(z)", "\\valid(z)", True),
    (UNIT, "proofs/frama-c/include/mpfr.h", "ensures", "requires", True),
    (UNIT, UNIT, "#include", "#define PHIBAL_RECORD_TEST 1\n#include", True),
    # code that ends up in an annotation's line or a comment, where compilers drop it
    (UNIT, UNIT, ";\n  mpfr_", "; //@ assert \\true; mpfr_", True),
    (UNIT, UNIT, ";\n  mpfr_", "; // \\\n  mpfr_", True),
    (UNIT, UNIT, ";\n  mpfr_", ";\n  /* mpfr_ */ mpfr_", False),
    # what only compilers read
    (UNIT, UNIT, "#ifdef __FRAMAC__", "#ifndef __FRAMAC__\n#define free(x)\n#endif\n#ifdef __FRAMAC__", True),
    (SELECT, "kernels/cpu/select.h", "static inline int64_t select_key", "static inline int64_t select_no_key", True),
    (SELECT, "kernels/core/core.h", "CORE_FUNCTION static inline", "CORE_FUNCTION static /* no token */ inline", False),
    (SELECT, "kernels/core/core.h", "CORE_FUNCTION static inline", "CORE_FUNCTION static", True),
    (UNIT, UNIT, "#include", "/* A comment. */ // another\n\n\n#include", False),
]
# Texts of which compilers or Frama-C make something else, and of which they make the same.
DIFFERENT = [
    ("a + +b", "a ++b"), ("a - -b", "a--b"), ("x = y / *p;", "x = y /*p;*/;"), ('"a b"', '"a  b"'),
    ("//@ assert x;\ny();", "//@ assert x; y();"), ("// x \\\ny();", "// x\ny();"), ("#define A b\nc", "#define A b c"),
    ("#define A(b) c", "#define A (b) c"), ("/*@ ghost /@ assert x; @/ */", "/*@ ghost / @ assert x; @/ */"),
    ("/*@ a; // b\n c; */", "/*@ a; // b c;\n */"), ("'a'", "'b'"), ("1e+2", "1e +2"), ("a.b", "a. .b"), ("\\at", "at"),
]
SAME = [("a+b", "a  +\n b"), ("a /* x */ b", "a b"), ("a; // x", "a;"), ("#define A  b", "# define A b"),
        ("/*@ a; // b\n c; */", "/*@\n a; c; */")]

# (file, old, new, is it the same program to carry.py?)
STATIC = "spec/acsl/contracts/inside/enclosure_static.h"
PROGRAMS = [
    (UNIT, "//@ assert open_enclosure;\n", "", False),
    (UNIT, "MPFR_RNDD", "MPFR_RNDU", False),
    (STATIC, "ensures", "ensures n == 1 &&", False),
    (STATIC, "exits \\false;", "", False),
    ("spec/acsl/contracts/enclosure.h", "/*@", "/*@ requires \\true;", False),
    ("spec/acsl/enclosure.h", "\\valid(z) && enclosure(z)", "\\valid(z)", False),
    ("proofs/frama-c/include/mpfr.h", "ensures", "ensures \\false &&", False),
    (STATIC, "ensures bits_kept{Pre, Here}(z);\n    ensures only_written{Pre, Here}(z);",
     "ensures only_written{Pre, Here}(z);\n    ensures bits_kept{Pre, Here}(z);", True),
    (STATIC, "#ifndef", "// a line\n#ifndef", True),
    (UNIT, "#include", "int phibal_enclosure_is_less(const phibal_enclosure *, const phibal_enclosure *);\n#include", None),
]


def main():
    units = (UNIT, SELECT)
    before = {unit: committed.text_of(unit, ["-a"]) for unit in units}
    wrong = []
    if committed.text_of(UNIT, ["-b"]) == before[UNIT]:
        wrong.append("an option of WP")
    for one, other in DIFFERENT:
        if committed.tokens(one) == committed.tokens(other):
            wrong.append("%r is taken for %r" % (one, other))
    for one, other in SAME:
        if committed.tokens(one) != committed.tokens(other):
            wrong.append("%r is not taken for %r" % (one, other))
    with tempfile.TemporaryDirectory() as copy:
        for folder in ("reference", "spec", "proofs/frama-c", "kernels"):
            shutil.copytree(os.path.join(committed.ROOT, folder), os.path.join(copy, folder), symlinks=True)
        if any(committed.text_of(unit, ["-a"], copy) != before[unit] for unit in units):
            wrong.append("the place of the tree")
        for unit, name, old, new, matters in CHANGES:
            path = os.path.join(copy, name)
            text = open(path).read()
            if old not in text:
                wrong.append("%s has no %s" % (name, old))
                continue
            with open(path, "w") as file:
                file.write(text.replace(old, new, 1))
            if (committed.text_of(unit, ["-a"], copy) != before[unit]) != matters:
                wrong.append("%s: %s to %s" % (name, old, new.replace("\n", " ")))
            with open(path, "w") as file:
                file.write(text)
        committed.configure(copy)
        carry.compile_module()
        program = carry.program(copy, UNIT, [])
        if not program or len(program) < 100:
            wrong.append("no program")
        for name, old, new, same in PROGRAMS:
            path = os.path.join(copy, name)
            text = open(path).read()
            if old not in text:
                wrong.append("%s has no %s" % (name, old))
                continue
            with open(path, "w") as file:
                file.write(text.replace(old, new, 1))
            found = carry.program(copy, UNIT, [])
            if (None if found is None else found == program) != same:
                wrong.append("%s: %s to %s, as programs" % (name, old, new))
            with open(path, "w") as file:
                file.write(text)
    for line in wrong:
        print("    taken wrongly: " + line)
    total = len(CHANGES) + len(DIFFERENT) + len(SAME) + len(PROGRAMS) + 3
    print("record: %d of %d changes are taken as they should be" % (total - len(wrong), total))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
