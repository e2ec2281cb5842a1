#!/usr/bin/env python3
"""Asks every prover for `false` from the true statements about floating-point numbers of floats.c.

  floats_test.py     prints one line; exit status 0 only if none proves it, and none is told what let one prove it

Two things would prove anything. Frama-C's axioms of conversions contradict each other where a number is -0, NaN or just
beyond the largest; and cvc5 1.0.3 finds `false` in consistent statements by its own theory of floating-point numbers. So
what a prover reads may hold nothing of such a theory, nor those axioms: why3/no_floats.gen, why3/cfloat.gen. With the
drivers of Why3 as they are, this test has to find them in what each of those provers reads.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import prove  # noqa: E402

FUNCTIONS = 4
WHY3 = "/usr/share/why3/drivers"
FORBIDDEN = {
    "the theory of floating-point numbers": re.compile(r"\bFloat(?:32|64)\b|\bFloatingPoint\b|\bfp\b"),
    "a contradictory axiom": re.compile(r";; (?:f32_to_f64|f64_to_f32|to_f(?:32|64)_(?:minus|plus)_infinity)\b"),
}


def ask(configuration, provers):
    """How many functions of floats.c one of the provers says never return."""
    include = " ".join("-I" + os.path.join(prove.ROOT, folder) for folder in ("proofs/frama-c/include", "spec/include"))
    done = subprocess.run(
        ["frama-c", "-machdep", "gcc_x86_64", "-cpp-extra-args=" + include, os.path.join(prove.HERE, "floats.c"),
         "-warn-special-float", "none", "-wp", "-wp-prop=@ensures", "-wp-prover", ",".join(provers), "-wp-steps",
         "500000", "-wp-timeout", "2", "-wp-par", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, env=dict(os.environ, WHY3CONFIG=configuration))
    goals = re.search(r"Proved goals:\s+(\d+) / (\d+)", done.stdout)
    if done.returncode or not goals or int(goals.group(2)) != FUNCTIONS:
        sys.exit("floats: the provers were not asked %d questions:\n%s" % (FUNCTIONS, done.stdout))
    return int(goals.group(1))


def told(folder, provers):
    """(prover, what it must not read of floats.c and reads), by the configuration in a folder."""
    with open(os.path.join(folder, "why3.conf")) as file:
        sections = file.read().split("[prover]")
    for prover, at in ((p, i) for p in provers for i, s in enumerate(sections) if 'shortcut = "%s"\n' % p in s):
        keep = os.path.join(folder, "keep_" + prover)
        with open(keep, "w") as file:
            file.write('#!/bin/sh\ncat "$1" >>"%s.smt2"\necho unknown\n' % keep)
        os.chmod(keep, 0o755)
        sections[at] = re.sub(r"^(command(?:_steps)?) = .*$", r'\1 = "%s %%f"' % keep, sections[at], flags=re.M)
    listening = os.path.join(folder, "listening.conf")
    with open(listening, "w") as file:
        file.write("[prover]".join(sections))
    ask(listening, provers)
    for prover in provers:
        with open(os.path.join(folder, "keep_%s.smt2" % prover)) as file:
            said = file.read()
        yield from ((prover, what) for what, pattern in FORBIDDEN.items() if pattern.search(said))


def main():
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = os.path.join(folder, "ours"), os.path.join(folder, "theirs")
        subprocess.run([os.path.join(prove.HERE, "why3/configuration.sh"), ours], check=True)
        shutil.copytree(ours, theirs)
        for name in os.listdir(WHY3):  # their drivers; of ours what imports these
            if name.endswith((".drv", ".gen")) and name not in ("z3.drv", "cvc4.drv"):
                shutil.copy(os.path.join(WHY3, name), os.path.join(theirs, "why3", name))
        for name in ("no_floats.gen", "cfloat.gen"):
            open(os.path.join(theirs, "why3", name), "w").close()
        with open(os.path.join(theirs, "why3.conf")) as file:
            text = file.read().replace(ours, theirs)
        with open(os.path.join(theirs, "why3.conf"), "w") as file:
            file.write(text)
        provers = re.findall(r'^shortcut = "(\w+)"$', text, re.M)
        faults = ["%s is told %s" % fault for fault in told(ours, provers)]
        noticed = {prover for prover, _ in told(theirs, provers)}
        faults += ["nothing is noticed in what %s is told by Why3's drivers" % p for p in provers if p not in noticed]
        proved = ask(os.path.join(ours, "why3.conf"), provers)
        if proved:
            faults.append("`false` is proved of %d functions" % proved)
    for fault in faults:
        print(fault)
    print("floats: %d provers asked for `false` of %d functions, %d faults" % (len(provers), FUNCTIONS, len(faults)))
    sys.exit(1 if faults or not provers else 0)


if __name__ == "__main__":
    main()
