#!/usr/bin/env python3
"""What `./dev prove` prints as trusted: each axiom and contract with its reason, each branch, what is under no proof.

usage: trusted_list.py SOURCE_ROOT
"""
import os
import subprocess
import sys
import tempfile

root = sys.argv[1]


def printed(declared):
    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, "declared.out"), "w", encoding="utf-8") as f:
            f.write(declared)
        done = subprocess.run([sys.executable, os.path.join(root, "proofs/trusted.py"), work], stdout=subprocess.PIPE, text=True,
                              check=False)
        return done.returncode, done.stdout


def rows(name, kind):
    """What declarations.py would print of the rows of a list, and their reasons."""
    before = ""
    for line in open(os.path.join(root, "proofs/frama-c", name), encoding="utf-8"):
        words, _, reason = line.partition("#")
        if words.split():
            where, what = words.split()
            before = before if reason.strip() == "the same" else reason.strip()
            yield "%-10s %s %s\n" % (kind, where, what.replace("*", "any")), before


wanted = list(rows("axioms.list", "listed")) + list(rows("contracts.list", "contract"))
code, text = printed("".join(line for line, _ in wanted) + "coq        spec/acsl/real.h pi_positive\n")
wrong = [] if code == 0 else ["exit status %d" % code]
wrong += ["not printed: " + line for line, reason in wanted if line.split()[1] not in text or reason not in text]
wrong += ["not printed: " + what for what in ("audit: ", "Classical_Prop.classic", "select_key: ") if what not in text]
wrong += ["printed, though Coq proves it"] * ("pi_positive" in text)
for fault in ("listed     spec/acsl/real.h rogue\n", "contract   reference/ffn.c rogue\n"):
    code, text = printed(fault)
    if code == 0 or "no reason: " not in text:
        wrong.append("a planted fault is not noticed: " + fault)
for line in wrong:
    print("not ok: " + line)
print("%d rows are printed" % len(wanted))
sys.exit(1 if wrong else 0)
