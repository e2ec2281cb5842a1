#!/usr/bin/env python3
"""Asks a prover for a contradiction: in what each contract requires, after each call, and at each program point.
Whatever follows a contract that nothing can meet would be proved.

  smoke.py [--jobs N] [--anew] [--budget SECONDS] [UNIT ...]

These are WP's smoke tests, of the units of units.list (named in full or in part); prove.py proves the units' goals.
A test passes if the prover finds no contradiction within STEPS, which it counts itself, so that the outcome does not
depend on the machine; they take most of a second. The prover is cvc5: it finds a contradiction between quantified
postconditions that Z3 does not. One is planted first, and has to be found. The hardest one met in a branch of
NEVER_TAKEN took 28 352 steps.

units.smoke remembers, a unit a line: name, hash of what Frama-C read of it, of WP's options, of the tools and of
these tests, and the number of tests that passed. While the hash is the same the unit is not asked again, unless --anew.

  --budget  begins no unit after so many seconds; those left out are named, and that is a failure too
"""
import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

import committed
import prove

HERE = prove.HERE
ROOT = prove.ROOT
PASSED = os.path.join(HERE, "units.smoke")

STEPS = "150000"

# No goal but the tests. Time is a guard.
TESTS = ["-wp-smoke-tests", "-wp-smoke-timeout", "60", "-wp-prop=" + ",".join(
    "-@" + kind for kind in ("ensures", "requires", "assigns", "exits", "lemma", "assert", "invariant", "variant",
                             "terminates", "check"))]
PROVER = "cvc5nra"

# Branches that are never taken: function -> the lines of such places. Most are for the failure of what is proved to
# succeed there; one is for a null argument, which the contract excludes, and one for a case of a switch over all
# potentials that was dealt with before it. If the other branch were unreachable, so would be all places behind it,
# which are not listed. And where ghost code calls a lemma that shows a case to be impossible, nothing is reached behind
# the call: lemma -> lines of the calls.
NEVER_TAKEN = {
    "euclid_value": ["TRY(phibal_enclosure_mul(z, x, x));"],
    "negentropy_value": ["TRY(phibal_enclosure_log(&t[0], x));"],
    "negentropy_gradient": ["TRY(phibal_enclosure_log(z, x));"],
    "pseudo_huber_value": ["TRY(phibal_enclosure_mul(&t[0], x, x));"],
    "conjugate_inside": ["TRY(phibal_enclosure_mul(&t[0], y, y));"],
    "softplus_value": ["TRY(phibal_enclosure_log1p(z, &t[1]));"],
    "log_of_cosh_far": ["TRY(phibal_enclosure_log(&t[2], &t[2]));"],
    "entropy_near_zero": ["TRY(phibal_enclosure_mul(&t[1], y, y));"],
    "check": ["const phibal_potential_info *row = phi ? phibal_potential_describe(phi->id) : NULL;"],
    "find_family": ['PHIBAL_POTENTIAL(LP, lp, "lp", "p", 1.0, HUGE_VAL, 3.0, 1, 0)'],
    "selection_all": ["if (previous >= 0 && following < 0) selection_all(score, previous, experts); */"],
}

# The model's isfinite calls model_finitef or model_finite by the size of its argument, so one call of each pair is never
# reached. A contradiction that makes both unreachable is found in the code after them.
OTHER_SIZE = re.compile(r"model_finitef?_wp_smoke_dead_call_(s\d+)")

# A postcondition with which nothing returns, and a unit in which that has to be found.
PLANT = ("spec/acsl/contracts/enclosure.h", "ensures \\forall real a; in{Pre}(x, a) && a > 0.0 ==> in(z, \\log(a));",
         "ensures \\forall real a; in{Pre}(x, a) ==> in(z, a + 1.0) && !in(z, a + 1.0);")
PLANTED = "reference/potentials/negentropy.c"


def without_provers(options):
    """WP's options of a unit, less its own provers and their limits."""
    kept, skip = [], False
    for option in options:
        skip, dropped = option in ("-wp-prover", "-wp-steps", "-wp-timeout"), skip
        if not (skip or dropped):
            kept.append(option)
    return kept


def ask(unit, options, tree=ROOT):
    """(tests, those that found a contradiction with the line of each, what went wrong or '')"""
    command = [os.path.join(tree, "proofs/frama-c/wp.sh"), os.path.join(tree, unit)] + without_provers(options) + TESTS
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=tree,
                          env=dict(os.environ, PAR="1", PROVERS=PROVER, STEPS=STEPS))
    passed = set(re.findall(r"\[Passed\] Smoke-test typed_(\w+)", done.stdout))
    failed = dict(re.findall(r"\[Failed\] Smoke-test typed_(\w+)\n(?: .*\n)*"
                             r"(?:\[wp\] (\S+:\d+): Warning: Failed smoke-test)?", done.stdout))
    summary = re.search(r"Proved goals:\s+(\d+) / (\d+)", done.stdout)
    if done.returncode != 0:
        return 0, {}, "frama-c ended with status %d" % done.returncode
    if not summary and not re.search(r"No goal", done.stdout):
        return 0, {}, "no summary"
    if summary and int(summary.group(2)) != len(passed) + len(failed):
        return 0, {}, "%s goals, %d of them tests" % (summary.group(2), len(passed) + len(failed))
    return len(passed) + len(failed), {test: line_at(tree, place) for test, place in failed.items()}, ""


def line_at(tree, place):
    """The line of C that WP names, without its indentation."""
    path, _, number = place.rpartition(":")
    return open(os.path.join(tree, path)).read().split("\n")[int(number) - 1].strip() if path else ""


def wrong(failed):
    """The contradictions found, less those where a branch is never taken."""
    other = {call.group(1) for call in map(OTHER_SIZE.fullmatch, failed) if call}
    failed = {test: line for test, line in failed.items() if not OTHER_SIZE.fullmatch(test) and
              not (re.fullmatch(r"\w+_wp_smoke_dead_code_s\d+", test) and test.rsplit("_", 1)[1] in other)}
    right = set()
    for name, lines in NEVER_TAKEN.items():
        places = [test for test in failed if re.fullmatch(name + r"_wp_smoke_dead_(code|call)_s\d+", test)]
        if sorted(failed[test] for test in places) == sorted(lines):
            right.update(places)
    return {test: line for test, line in sorted(failed.items()) if test not in right}


def plant():
    """'' if the planted contradiction is found."""
    path, old, new = PLANT
    text = open(os.path.join(ROOT, path)).read()
    if text.count(old) != 1:
        return "%s does not have %s once" % (path, old)
    tree = committed.copy_tree("smoke")
    open(os.path.join(tree, path), "w").write(text.replace(old, new))
    _, failed, trouble = ask(PLANTED, ["-wp-fct", "negentropy_gradient"], tree)
    shutil.rmtree(tree)
    return trouble or ("" if wrong(failed) else "the planted contradiction is not found")


def read_passed():
    if not os.path.exists(PASSED):
        return {}
    return {line.split()[0]: tuple(line.split()[1:]) for line in open(PASSED)}


def main():
    arguments = committed.parser("units").parse_args()
    committed.configure()
    started = time.time()
    missed = plant()
    print("planted  %s" % (missed or "found"), flush=True)
    contracts, inlines = prove.contracts_in_headers()
    units = prove.read_units(arguments.units)
    passed, bad, left, tests, asked = read_passed(), [], [], 0, 0

    def one(unit, options):
        options = prove.wp_options(unit, options, contracts, inlines)[0]
        text = hashlib.sha256("\0".join([committed.text_of(unit, options), PROVER, STEPS] + TESTS).encode()).hexdigest()
        if not arguments.anew and passed.get(unit, ("",))[0] == text:
            return text, int(passed[unit][1]), {}, "", 0.0
        if time.time() > started + arguments.budget:
            return None
        begun = time.monotonic()
        return (text, *ask(unit, options), time.monotonic() - begun)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = {pool.submit(one, u, o): u for u, o in units}
        for job in concurrent.futures.as_completed(jobs):
            unit, result = jobs[job], job.result()
            if result is None:
                left.append(unit)
                continue
            text, count, failed, trouble, seconds = result
            failed = wrong(failed)
            if seconds:
                asked += count
                print("%-44s %5d tests, %d contradictions  %6.1f s  %s" % (unit, count, len(failed), seconds, trouble),
                      flush=True)
            for test, line in failed.items():
                print("    %s  %s" % (test, line), flush=True)
            if failed or trouble:
                bad.append(unit)
                continue
            tests += count
            if seconds:
                passed[unit] = (text, str(count))
                with open(PASSED, "w") as file:
                    file.writelines(" ".join((name,) + passed[name]) + "\n" for name in sorted(passed))
    if left:
        print("not asked, for want of time: " + " ".join(sorted(left)))
    if bad:
        print("not passed: " + " ".join(sorted(bad)))
    print("smoke: %d tests in %d of %d units without a contradiction, %d asked here, %.0f s" % (
        tests, len(units) - len(left) - len(bad), len(units), asked, time.time() - started))
    sys.exit(1 if missed or bad or left or not units else 0)


if __name__ == "__main__":
    main()
