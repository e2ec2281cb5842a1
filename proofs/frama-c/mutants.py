#!/usr/bin/env python3
"""Breaks the proved code one line at a time and asks that a proof breaks too.

  mutants.py [--jobs N] [NAME ...]

mutants.list: name | file | function | sed -E expression. The file, a source or a header with
contracts, is changed in a copy of the tree, and WP runs on the function (on its unit, for a header:
file is then HEADER:UNIT). A mutant is caught when a goal is not proved that is proved without the
edit; one that Frama-C refuses to read shows nothing, and is a failure. Those of
mutants.survivors (name: why) are known to pass WP, each because a test catches it or because it
changes nothing; one that is caught after all, or a survivor not listed, is a failure.
"""
import argparse
import concurrent.futures
import functools
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(ROOT, "build-proofs")
TREES = ("reference", "spec", "kernels", "proofs/frama-c")


def read_list():
    for line in open(os.path.join(HERE, "mutants.list")):
        line = line.rstrip("\n")
        if line and not line.startswith("#"):
            name, path, function, edit = (part.strip() for part in line.split("|", 3))
            changed, _, unit = path.partition(":")
            yield name, changed, unit or changed, function, edit


def options_of(unit):
    """What units.list gives to Frama-C for this unit."""
    for line in open(os.path.join(HERE, "units.list")):
        words = line.split("#")[0].split()
        if words and words[0] == unit:
            return [word for word in words[1:] if word not in ("partial", "waiting", "open")]
    return []


def survivors():
    path = os.path.join(HERE, "mutants.survivors")
    if not os.path.exists(path):
        return {}
    lines = (line.rstrip("\n") for line in open(path))
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def prove(tree, unit, function):
    """(goals, proved, what was not proved first) of a function in a copy of the tree, or None when
    Frama-C refuses."""
    command = [os.path.join(tree, "proofs/frama-c/wp.sh"), os.path.join(tree, unit)]
    command += options_of(unit)
    if function != "*":
        command += ["-wp-fct", function]
    command += ["-wp-cache", "update", "-wp-cache-dir", os.path.join(WORK, "cache")]
    environment = dict(os.environ, PAR="1")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment, check=False)
    summary = re.search(r"Proved goals:\s+(\d+) / (\d+)", done.stdout)
    if done.returncode != 0 or not summary:
        return None
    broken = re.search(r"\[Failed\].*?typed_(\w+)", done.stdout)
    return int(summary.group(2)), int(summary.group(1)), broken.group(1) if broken else "a goal"


@functools.lru_cache(maxsize=None)
def holds_unbroken(unit, function):
    """Whether the code as it stands is proved: a proof that fails anyway catches nothing."""
    outcome = prove(ROOT, unit, function)
    return outcome is not None and 0 < outcome[0] == outcome[1]


def try_mutant(mutant):
    """('caught' | 'alive' | 'void', what broke first)"""
    name, changed, unit, function, edit = mutant
    if not holds_unbroken(unit, function):
        return "void", "not proved unbroken"
    copy = os.path.join(WORK, "mutants", name)
    shutil.rmtree(copy, ignore_errors=True)
    for tree in TREES:
        shutil.copytree(os.path.join(ROOT, tree), os.path.join(copy, tree), symlinks=True)
    target = os.path.join(copy, changed)
    before = open(target).read()
    subprocess.run(["sed", "-E", "-i", edit, target], check=True)
    if open(target).read() == before:
        return "void", "the edit matches nothing"
    outcome = prove(copy, unit, function)
    shutil.rmtree(copy)
    if outcome is None:
        return "void", "Frama-C refuses it"
    goals, proved, broken = outcome
    return ("caught", broken) if proved != goals else ("alive", "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    os.makedirs(os.path.join(WORK, "cache"), exist_ok=True)
    mutants = [m for m in read_list() if not arguments.names or m[0] in arguments.names]
    known, bad, caught = survivors(), 0, 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for mutant, (verdict, why) in zip(mutants, pool.map(try_mutant, mutants)):
            name = mutant[0]
            expected = "alive" if name in known else "caught"
            note = why if verdict != "alive" else known.get(name, "NOT CAUGHT")
            print("%-8s %-40s %s" % (verdict, name, note), flush=True)
            caught += verdict == "caught"
            bad += verdict != expected
    print("mutants: %d of %d break a proof, %d known survivors, %d wrong" % (
        caught, len(mutants), len(mutants) - caught - bad, bad))
    sys.exit(0 if not bad and mutants else 1)


if __name__ == "__main__":
    main()
