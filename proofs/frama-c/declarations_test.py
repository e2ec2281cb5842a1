#!/usr/bin/env python3
"""Plants what would let WP prove anything, one thing at a time: declarations.py has to refuse each.

  declarations_test.py     prints one line; exit status 0 only if every rogue is refused for its reason
"""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import committed  # noqa: E402
import declarations  # noqa: E402

UNITS = ["proofs/frama-c/lemmas.c", "reference/potentials/euclid.c"]
HEADER, CODE = "spec/acsl/real.h", "reference/potentials/euclid.c"
# what it is, file, text, a part of the refusal
ROGUES = [
    ("an axiom", HEADER, "axiom rogue: 0 == 1;", "axiom rogue is neither"),
    ("an equation and a falsehood", HEADER,
     "logic integer rogue(integer x); axiom rogue_is: \\forall integer x; rogue(x) == x && 0 == 1;",
     "axiom rogue_is is neither"),
    ("a definition with a variable more", HEADER,
     "logic integer rogue(integer x); axiom rogue_is: \\forall integer x, y; rogue(x) == y;", "rogue_is is neither"),
    ("a definition at a term", HEADER,
     "logic integer rogue(integer x); axiom rogue_is: \\forall integer x; rogue(x - x) == x;", "rogue_is is neither"),
    ("a definition of itself", HEADER,
     "logic integer rogue(integer x); axiom rogue_is: \\forall integer x; rogue(x) == rogue(x) + 1;",
     "rogue_is is neither"),
    ("two definitions of each other", HEADER,
     "logic integer rogue(integer x); logic integer knave(integer x);"
     "axiom rogue_is: \\forall integer x; rogue(x) == knave(x) + 1;"
     "axiom knave_is: \\forall integer x; knave(x) == rogue(x);", "is itself defined by rogue"),
    ("a definition by way of a function", HEADER,
     "logic integer rogue(integer x); logic integer knave(integer x) = rogue(x) + 1;"
     "axiom rogue_is: \\forall integer x; rogue(x) == knave(x);", "is itself defined by rogue"),
    ("two definitions", HEADER,
     "logic integer rogue(integer x); axiom rogue_is: \\forall integer x; rogue(x) == x;"
     "axiom rogue_too_is: \\forall integer x; rogue(x) == x + 1;", "defines rogue again"),
    ("definitions at a constant and everywhere", HEADER,
     "logic integer rogue(integer x); axiom rogue_is: \\forall integer x; rogue(x) == x;"
     "axiom rogue_too_is: rogue(0) == 1;", "defines rogue again"),
    ("a definition of a function that has a body", HEADER,
     "logic integer rogue(integer x) = x; axiom rogue_is: \\forall integer x; rogue(x) == x + 1;",
     "rogue_is is neither"),
    ("a definition that reads memory", HEADER,
     "logic integer rogue{L}(int *p) reads \\nothing; axiom rogue_is{L}: \\forall int *p; rogue{L}(p) == \\at(*p, L);",
     "not declared to read"),
    ("a definition that reads memory through another", HEADER,
     "logic integer knave{L}(int *p) = \\at(*p, L); logic integer rogue{L}(int *p) reads \\nothing;"
     "axiom rogue_is{L}: \\forall int *p; rogue{L}(p) == knave{L}(p);", "not declared to read"),
    ("a definition that asks what is allocated", HEADER,
     "predicate rogue(int *p); axiom rogue_is{L}: \\forall int *p; rogue(p) <==> \\valid{L}(p);",
     "not declared to read"),
    ("a definition of a key", HEADER, "predicate rogue; axiom rogue_used: rogue; axiom rogue_is: rogue <==> \\false;",
     "defines a key"),
    ("a recursion without an end", HEADER, "logic integer rogue(integer n) = rogue(n) + 1;", "names itself"),
    ("a recursion upwards", HEADER, "logic integer rogue(integer n) = n <= 0 ? 0 : rogue(n + 1) + 1;", "names itself"),
    ("a recursion below its end", HEADER, "logic integer rogue(integer n) = n <= 0 ? rogue(n - 1) + 1 : 0;",
     "names itself"),
    ("two recursions of each other", HEADER,
     "logic integer rogue(integer n); logic integer knave(integer n) = rogue(n) + 1;"
     "axiom rogue_is: \\forall integer n; rogue(n) == knave(n);", "defined by"),
    ("an inductive predicate", HEADER,
     "inductive rogue(integer n) { case base: \\forall integer n; rogue(n); }", "inductive"),
    ("a lemma that says another thing where it is proved", HEADER,
     "#ifdef PROVE_LEMMAS\n#define ROGUE lemma rogue: 1 == 1;\n#else\n#define ROGUE axiom rogue: 0 == 1;\n#endif\n"
     "/*@ axiomatic Rogue { ROGUE } */\n", "axiom rogue is neither"),
    ("a lemma about another function where it is proved", HEADER,
     "#ifdef PROVE_LEMMAS\n#define ROGUE logic integer rogue(integer x) = 0; lemma rogues: rogue(0) == 0;\n#else\n"
     "#define ROGUE logic integer rogue(integer x) = 1; axiom rogues: rogue(0) == 0;\n#endif\n"
     "/*@ axiomatic Rogue { ROGUE } */\n", "lemma rogues is about a name with two meanings"),
    ("a lemma of Coq's that is not in spec/acsl", CODE, "COQ_LEMMA rogue: 0 == 1;", "axiom rogue is neither"),
    ("a lemma of Coq's with labels", HEADER, "COQ_LEMMA rogue{L}: \\forall int *p; \\at(*p, L) == 7;",
     "axiom rogue is neither"),
    ("an axiom in a comment's clothes", HEADER, "// COQ_LEMMA rogue: 0 == 0;\n axiom rogue: 0 == 1;",
     "axiom rogue is neither"),
]
# The same in C: what it is, text before the functions of CODE, statement in the body of one, refusal
PROTOTYPE = "#ifdef __FRAMAC__\n/*@ terminates \\true; exits \\false; assigns \\nothing; ensures \\false; */\nvoid rogue(void);\n#endif\n"
CALLS = [
    ("a prototype that promises everything", PROTOTYPE, "rogue();", "rogue is called"),
    ("the same in ghost code", PROTOTYPE.replace("/*@", "/*@ ghost /@").replace("*/\nvoid rogue(void);", "@/ void rogue(void); */"),
     "//@ ghost rogue();", "rogue is called"),
    ("an assertion that is not asked for", "", "//@ admit \\false;", "admit"),
]
# What a caller takes a function to promise that another unit proves: promise, refusal
CALLEE = "reference/enclosure_arithmetic.c"
MUL = "phibal_status phibal_enclosure_mul(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *y);\n"
PROMISES = [
    ("a promise that is not proved", "//@ ensures rogue: \\result == 7;\n" + MUL, "under another contract"),
    ("a promise in a behavior", "//@ behavior rogue: ensures \\result == 7;\n" + MUL, "under another contract"),
]


def planted(tree, name, old, new):
    """Writes `new` in place of `old`, or at the end of a file, inside a header's guard."""
    path = os.path.join(tree, name)
    text = open(path).read()
    with open(path, "w") as file:
        at = text.rfind("#endif") if old is None and name.endswith(".h") else len(text)
        file.write(text.replace(old, new, 1) if old else text[:at] + new + text[at:])
    return path, text


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as tree:
        for folder in ("reference", "spec", "proofs/frama-c", "kernels"):
            shutil.copytree(os.path.join(committed.ROOT, folder), os.path.join(tree, folder), symlinks=True)
        calling = [CALLEE, CODE]
        before = {tuple(units): set(declarations.judged(tree, units)[0]) for units in (UNITS, calling)}
        first = "(void)a, (void)t;"
        cases = [(what, name, None, text if text.startswith("#") else "/*@ axiomatic Rogue {\n" + text + "\n} */\n", said)
                 for what, name, text, said in ROGUES]
        for what, before_it, statement, said in CALLS:
            cases.append((what, CODE, first, first + "\n  %s\n" % statement, said, before_it))
        cases.append(("a contract beside that is silent on termination", CODE, "//@ terminates always; ensures",
                      "//@ ensures", "has no terminates"))
        cases += [(what, CODE, first, first, said, promise, calling) for what, promise, said in PROMISES]
        for what, name, old, new, said, *more in cases:
            text_before, units = more[:1], more[1] if len(more) > 1 else UNITS
            if old and old not in open(os.path.join(tree, name)).read():
                wrong.append("%s has no %r" % (name, old))
                continue
            path, text = planted(tree, name, old, new)
            if text_before:
                changed = open(path).read()
                at = changed.index("\n", changed.rindex("#include")) + 1
                with open(path, "w") as file:
                    file.write(changed[:at] + text_before[0] + changed[at:])
            troubles = set(declarations.judged(tree, units)[0]) - before[tuple(units)]
            if not any(said in trouble for trouble in troubles):
                wrong.append("%s: %s" % (what, "; ".join(sorted(troubles)) or "taken"))
            with open(path, "w") as file:
                file.write(text)
    for line in wrong:
        print("    not refused as it should be: " + line)
    total = len(cases)
    print("rogues: %d of %d are refused" % (total - len(wrong), total))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
