#!/usr/bin/env python3
"""Removes the assertions of a function that its proof does not need.

usage: needless.py [--time SECONDS] UNIT FUNCTION ...

Assertions in a function's body only guide the provers; one without which every goal is still proved can go. The program
removes all of them, then halves, quarters and so on down to single ones, and keeps a removal if every goal of the
function is then proved within --time seconds of a prover (8; a replay allows 60). What is left depends on the order of
the tries and on the machine. Assertions that open definitions (use_X, open_X) stay. The unit is rewritten after each
function. Run its mutants and smoke tests again afterwards: a mutant that only a removed assertion caught survives.
"""
import argparse
import os
import re
import shutil
import sys

import committed
import mutants
import prove

ROOT = committed.ROOT


def body_of(lines, name):
    """(first, last) line of a function's definition."""
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), "\n".join(lines), flags=re.S)
    for match in prove.DEFINITION.finditer(plain):
        if match.group(2) == name and match.group(3) == "{":
            return plain.count("\n", 0, match.start()), lines.index("}", plain.count("\n", 0, match.end()))
    sys.exit("needless: no function " + name)


def assertions(lines, first, last):
    """Its assertions, as (first, last) lines, without those that open definitions."""
    found, i = [], first
    while i <= last:
        if re.match(r"\s*(//@|/\*@) assert (?!use_|open_)", lines[i]):
            end = i
            while "/*@" in lines[i] and "*/" not in lines[end]:
                end += 1
            found.append((i, end))
            i = end
        i += 1
    return found


def without(lines, gone):
    out = {i for first, last in gone for i in range(first, last + 1)}
    return [line for i, line in enumerate(lines) if i not in out]


def reduce(tree, unit, name, limits):
    """(the unit's lines without the needless assertions of a function, a line that says how many these were)"""
    lines = open(os.path.join(ROOT, unit), encoding="utf-8").read().split("\n")

    def proved(gone):
        with open(os.path.join(tree, unit), "w", encoding="utf-8") as f:
            f.write("\n".join(without(lines, gone)))
        return mutants.prove(tree, unit, name, limits) == ""

    asked = assertions(lines, *body_of(lines, name))
    if not proved([]):
        return lines, "%s is not proved as it is in %s seconds a goal" % (name, limits["TIMEOUT"])
    kept, gone, tries, size = list(asked), [], 0, len(asked)
    while size:
        at = 0
        while at < len(kept):
            tries += 1
            if proved(gone + kept[at:at + size]):
                gone += kept[at:at + size]
                del kept[at:at + size]
            else:
                at += size
        size //= 2
    return without(lines, gone), "%s: %d of %d assertions, %d lines, are not needed; %d tries" % (
        name, len(gone), len(asked), sum(last - first + 1 for first, last in gone), tries)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--time", default="8")
    options.add_argument("unit")
    options.add_argument("functions", nargs="+")
    arguments = options.parse_args()
    limits = {"STEPS": "1000000", "TIMEOUT": arguments.time}
    for name in arguments.functions:
        tree = committed.copy_tree("needless-%s-%d" % (name, os.getpid()))
        try:
            lines, said = reduce(tree, arguments.unit, name, limits)
        finally:
            shutil.rmtree(tree)
        with open(os.path.join(ROOT, arguments.unit), "w", encoding="utf-8") as f:
            f.write("\n".join(lines))
        print(said, flush=True)


if __name__ == "__main__":
    main()
