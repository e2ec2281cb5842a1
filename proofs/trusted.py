#!/usr/bin/env python3
"""Prints what the proofs trust, each with its reason, from what the tools themselves found; SOUNDNESS.md says what it
is worth. Exit status 0 only if everything has a reason.

  trusted.py WORK     WORK holds declared.out, what `frama-c/declarations.py --list` printed
"""
import collections
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "frama-c"))
import branches  # noqa: E402
import prove  # noqa: E402


def reasons(name):
    """(file, name) -> reason, of a list of frama-c; "the same" is the reason of the row before."""
    found, reason = {}, ""
    for line in open(os.path.join(HERE, "frama-c", name), encoding="utf-8"):
        words, _, said = line.partition("#")
        if len(words.split()) >= 2:
            reason = reason if said.strip() == "the same" else said.strip()
            found[tuple(words.split()[:2])] = reason
    return found


def main():
    listed = {"listed": reasons("axioms.list"), "contract": reasons("contracts.list")}
    named, missing = {kind: collections.OrderedDict() for kind in listed}, []
    for line in open(os.path.join(sys.argv[1], "declared.out"), encoding="utf-8"):
        words = line.split()
        if len(words) == 3 and words[0] in listed:
            kind, where, name = words
            reason = listed[kind].get((where, name)) or listed[kind].get((where, "*"))
            if reason:
                named[kind].setdefault((where, reason), []).append(name)
            else:
                missing.append("%s %s" % (where, name))
    print("trusted without proof:")
    for kind, what in (("listed", "axiom"), ("contract", "contract")):
        for (where, reason), names in named[kind].items():
            said = " ".join(names) if len(names) < 6 else "%d functions" % len(names)
            print("  %s  %s %s: %s" % (what, where, said, reason))
    _, lines = branches.judged(open(os.path.join(HERE, "frama-c/branches.list"), encoding="utf-8").read())
    for line in lines:
        if not line.endswith(" logic"):
            print("  branch  " + line)
    print("  Coq's axioms  " + " ".join(open(os.path.join(HERE, "coq/assumptions.expected")).read().split()))
    for folder, (files, functions) in prove.tested_folders().items():
        print("  not under proof  %s: %d functions in %d files, which are tested" % (folder, functions, files))
    for what in missing:
        print("    no reason: " + what)
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
