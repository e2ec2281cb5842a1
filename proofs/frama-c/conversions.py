#!/usr/bin/env python3
"""Asks WP for each narrowing conversion of the proved units: does the value stay what it was?

  conversions.py [--jobs N] [UNIT ...]

WP reads a conversion as C does, wrapping around, and makes no goal of it: a count of 2^32 tokens would become 0 and
every contract about the 0 would hold. Here each conversion of an integer to a type that does not hold all of its
values, written or implied, has a goal for each end of the type, in every function that prove.py proves. The goals rest on the
contracts and loop invariants that it proved. Nothing is recorded. Exit status 0 only if all goals are
proved but those of INTENDED, and a conversion that loses values was found.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import committed
import prove

# Conversions that are to wrap around, with the reason.
INTENDED = {
    "typed_select_index_assert_rte_unsigned_downcast_2":
        "a negative key's bits are read as a number, of which the lowest hold the index",
}

ROGUE = """/*@ terminates \\true; exits \\false; assigns \\nothing; */
int narrow(long x) { return (int)x; }
/*@ terminates \\true; exits \\false; assigns \\nothing; */
unsigned implied(int x) { return x; }
/*@ requires 0 <= x < 1000; terminates \\true; exits \\false; assigns \\nothing; */
unsigned char kept(long x) { return (unsigned char)(x / 4); }
"""


def goals_of(path, options):
    """(goals, names of those not proved, what Frama-C complained of)"""
    done = subprocess.run(
        [os.path.join(prove.HERE, "wp.sh"), path, *options, "-warn-signed-downcast", "-warn-unsigned-downcast",
         "-wp-prop=signed_downcast,unsigned_downcast", "-wp-prover", "z3nra,cvc4nra,cvc5nra,z3,cvc4"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ, PAR="1", STEPS="300000", TIMEOUT="10"), check=False)
    trouble = [line.strip() for line in done.stdout.splitlines()
               if prove.BAD.search(line) and not prove.HARMLESS.search(line)
               and not re.search(r"\[Failed\] Goal|\((Qed|unknown)\b|: Unknown", line)]
    if done.returncode:
        trouble.append("frama-c ended with status %d" % done.returncode)
    open_goals = re.findall(r"\[(?:Failed|Unknown|Timeout|Stepout)\] Goal (\S+)", done.stdout)
    summary = re.search(r"Proved goals:\s+(\d+) / (\d+)", done.stdout)
    proved, goals = map(int, summary.groups()) if summary else (0, 0)
    if goals - proved != len(open_goals):
        trouble.append("%d of %d goals proved, but %d named as open" % (proved, goals, len(open_goals)))
    return goals, open_goals, trouble


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("units", nargs="*")
    arguments = parser.parse_args()
    committed.configure()
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rogue.c")
        with open(path, "w") as file:
            file.write(ROGUE)
        goals, lost, trouble = goals_of(path, [])
        if (goals, sorted(lost), trouble) != (6, ["typed_implied_assert_rte_unsigned_downcast_2",
                                                  "typed_narrow_assert_rte_signed_downcast",
                                                  "typed_narrow_assert_rte_signed_downcast_2"], []):
            faults.append("the planted conversions: %d goals, not proved %s %s" % (goals, lost, trouble))
    contracts, inlines = prove.contracts_in_headers()
    units = [(u, o) for u, o in prove.read_units(arguments.units) if not u.endswith("lemmas.c")]
    total, intended, with_goals = 0, set(), 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = {pool.submit(goals_of, os.path.join(prove.ROOT, u), prove.wp_options(u, o, contracts, inlines)[0]): u
                for u, o in units}
        for job in concurrent.futures.as_completed(jobs):
            goals, lost, trouble = job.result()
            total, with_goals = total + goals, with_goals + (goals > 0)
            intended |= INTENDED.keys() & set(lost)
            faults += ["%s: %s" % (jobs[job], what) for what in trouble + [g for g in lost if g not in INTENDED]]
    if not arguments.units:
        faults += ["intended, and no goal or proved: " + goal for goal in INTENDED.keys() - intended]
    for goal in sorted(intended):
        print("meant to wrap around: %s: %s" % (goal, INTENDED[goal]))
    for fault in faults:
        print(fault)
    print("%d goals that conversions to narrower integers keep their value, %d of them not meant to, in %d of %d units" % (
        total, len(intended), with_goals, len(units)))
    sys.exit(1 if faults or not total else 0)


if __name__ == "__main__":
    main()
