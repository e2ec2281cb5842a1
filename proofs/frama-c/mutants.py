#!/usr/bin/env python3
"""Breaks the proved code one line at a time and asks that a proof breaks too.

  mutants.py [--jobs N] [--anew] [--budget SECONDS] [NAME ...]

mutants.list: name | file | function | sed -E expression. The file, a source or a header with
contracts, is changed in a copy of the tree, and WP runs on the function (on its unit, for a header:
file is then HEADER:UNIT). A mutant is caught when a goal is not proved that is proved without the
edit; one that Frama-C refuses to read shows nothing, and is a failure. Those of
mutants.survivors (name: why) are known to pass WP, each because a test catches it or because it
changes nothing; one that is caught after all, or a survivor not listed, is a failure.

Provers get STEPS and TIMEOUT as below, less than for a proof that is to hold, and more only where the
code as it stands needs it; the first goal that none of them proves ends a mutant.

mutants.tried remembers what became of a mutant, with the hash of what Frama-C read of it, of WP's
options and of the tools: while those are the same it is not tried again, unless --anew. `carried` behind one says that
it was caught in another text, of which Frama-C makes the same program (carry.py), or before solvers were told less of
floating-point numbers (proofs/SOUNDNESS.md): with fewer hypotheses no more goals follow.

  --budget  begins no mutant after so many seconds; those left out are named, and that is a failure too
"""
import collections
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import committed

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(ROOT, "build-proofs")
LIMITS = {"STEPS": "300000", "TIMEOUT": "120"}  # steps decide, time is a guard


def read_list():
    names = set()
    for line in open(os.path.join(HERE, "mutants.list")):
        line = line.rstrip("\n")
        if line and not line.startswith("#"):
            name, path, function, edit = (part.strip() for part in line.split("|", 3))
            if name in names:
                sys.exit("mutants.list: two mutants are called " + name)
            names.add(name)
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


def arguments_of(unit, function):
    """WP's options for a function of a unit, or for all of it."""
    return options_of(unit) + (["-wp-fct", function] if function != "*" else [])


def prove(tree, unit, function, limits):
    """'' when every goal of a function in a copy of the tree is proved, the first that is not, or None
    when Frama-C refuses."""
    command = [os.path.join(tree, "proofs/frama-c/wp.sh"), os.path.join(tree, unit)]
    command += arguments_of(unit, function)
    command += ["-wp-cache", "update", "-wp-cache-dir", os.path.join(WORK, "cache")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=dict(os.environ, PAR="1", **limits), start_new_session=True)
    broken, goals = None, None
    for line in process.stdout:
        failed = re.search(r"\[Failed\].*?typed_(\w+)", line)
        if failed:
            broken = failed.group(1)
            os.killpg(process.pid, signal.SIGTERM)
            break
        summary = re.search(r"Proved goals:\s+(\d+) / (\d+)", line)
        if summary:
            goals = tuple(map(int, summary.groups()))
    process.stdout.close()
    status = process.wait()
    if broken:
        return broken
    if status != 0 or not goals or goals[1] == 0:
        return None
    return "" if goals[0] == goals[1] else "a-goal"


found_limits = {}
busy = collections.defaultdict(threading.Lock)


def limits_of(unit, function):
    """Limits within which the code as it stands is proved, or None: a proof that fails anyway catches
    nothing. Found once, also where two mutants of a function are tried side by side."""
    with busy[unit, function]:
        if (unit, function) not in found_limits:
            found_limits[unit, function] = next(
                (limits for limits in (LIMITS, {}) if prove(ROOT, unit, function, limits) == ""), None)
        return found_limits[unit, function]


def try_mutant(mutant, tried, until):
    """(hash, 'caught' | 'alive' | 'void' | 'left', what broke first)"""
    name, changed, unit, function, edit = mutant
    copy = committed.copy_tree(os.path.join("mutants", name))
    target = os.path.join(copy, changed)
    before = open(target).read()
    subprocess.run(["sed", "-E", "-i", edit, target], check=True)
    text = committed.text_of(unit, arguments_of(unit, function), copy)
    try:
        if open(target).read() == before:
            return text, "void", "the-edit-matches-nothing"
        if name in tried and tried[name][0] == text:
            return tried[name]
        if time.time() > until:
            return text, "left", "-"
        limits = limits_of(unit, function)
        if limits is None:
            return text, "void", "not-proved-unbroken"
        broken = prove(copy, unit, function, limits)
    finally:
        shutil.rmtree(copy)
    if broken is None:
        return text, "void", "Frama-C-refuses-it"
    return (text, "caught", broken) if broken else (text, "alive", "-")


def main():
    arguments = committed.parser("names").parse_args()
    committed.configure()
    os.makedirs(os.path.join(WORK, "cache"), exist_ok=True)
    mutants = [m for m in read_list() if not arguments.names or m[0] in arguments.names]
    known, wrong, counts = survivors(), 0, collections.Counter()
    tried = committed.read_tried()
    until = time.time() + arguments.budget
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = {pool.submit(try_mutant, m, {} if arguments.anew else tried, until): m[0] for m in mutants}
        for job in concurrent.futures.as_completed(jobs):
            name, outcome = jobs[job], job.result()
            _, verdict, why = outcome[:3]
            counts[verdict] += 1
            counts["carried"] += len(outcome) > 3
            wrong += verdict != ("alive" if name in known else "caught")
            if verdict in ("caught", "alive") and tried.get(name) != outcome:
                tried[name] = outcome
                committed.write_tried(tried)
                print("%-8s %-40s %s" % (verdict, name, known.get(name, "NOT CAUGHT") if verdict == "alive" else why),
                      flush=True)
            elif verdict in ("void", "left"):
                print("%-8s %-40s %s" % (verdict, name, why), flush=True)
    if not arguments.names:
        committed.write_tried({m[0]: tried[m[0]] for m in mutants if m[0] in tried})
    print("mutants: %d of %d break a proof, %d of them by a trial in another text, %d known survivors, "
          "%d void, %d left, %d wrong" % (counts["caught"], len(mutants), counts["carried"], sum(
              1 for m in mutants if m[0] in known), counts["void"], counts["left"], wrong))
    sys.exit(0 if not wrong and mutants else 1)


if __name__ == "__main__":
    main()
