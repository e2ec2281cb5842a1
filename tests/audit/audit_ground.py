#!/usr/bin/env python3
"""What a certificate of `phibal audit` says that its verdicts rest on: theorems that Coq has, functions of the
reference that are under proof, and as tested code only files that are under none.

usage: audit_ground.py PHIBAL SOURCE_ROOT
"""
import glob
import json
import os
import re
import subprocess
import sys

phibal, root = map(os.path.abspath, sys.argv[1:3])
os.chdir(root)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


theorems = set()
for path in glob.glob("proofs/coq/*.v"):
    theorems |= set(re.findall(r"(?m)^ *(?:Theorem|Lemma) +(\w+)", re.sub(r"\(\*.*?\*\)", " ", read(path), flags=re.S)))
proved = set()
for line in read("proofs/frama-c/units.proved").splitlines():
    unit = json.loads(line)
    if unit["proved"] == unit["goals"] and not unit["failed"]:
        proved |= set(unit["functions"])
units = {line.split()[0] for line in read("proofs/frama-c/units.list").splitlines() if line.strip()}
# What the audit calls that is of the product and not its own, and what no contract says anything of but that it ends.
audit = "".join(re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\]|\\.)*\"", " ", read(path), flags=re.S)
                for path in glob.glob("audit/**/*.[ch]", recursive=True))
calls = set(re.findall(r"\b(phibal_\w+)\s*\(", audit))
ENVIRONMENT = re.compile(r"phibal_(environment|status)_\w+")


def wrong(ground, calls=frozenset(calls)):
    """What is wrong with {claim: {"proved": ..., "tested": ...}}."""
    found = ["called and not proved: " + name for name in calls if name not in proved and not ENVIRONMENT.fullmatch(name)]
    for claim, said in ground.items():
        parts = [] if said["proved"] == "nothing" else said["proved"].split(", ")
        for part in parts:
            name = re.fullmatch(r"Lemma \d \((\w+)\)", part)
            if part != "enclosures" and not (name and name.group(1) in theorems):
                found.append("%s: not proved: %s" % (claim, part))
        files = re.findall(r"\w+\.c\b", said["tested"])
        if not files:
            found.append("%s: no tested code, though the audit is under no proof" % claim)
        for name in files:
            path = "audit/" + name
            if not os.path.exists(path) or path in units:
                found.append("%s: not tested code of the audit: %s" % (claim, name))
    return found


done = subprocess.run([phibal, "audit", "--potential", "negentropy", "--quick", "--json"], stdout=subprocess.PIPE, check=True)
claims = json.loads(done.stdout)["claims"]
ground = {claim["id"]: claim["rests_on"] for claim in claims}
text = subprocess.run([phibal, "audit", "--potential", "negentropy", "--quick"], stdout=subprocess.PIPE, check=True,
                      text=True).stdout
flat = " ".join(text.partition("What the verdicts rest on")[2].split())
errors = wrong(ground) + ["no claims"] * (len(ground) < 11)
errors += ["%s: not in the text" % claim["id"] for claim in claims if claim["findings"] and "%s proved code: %s; tested code: %s" % (
    claim["id"], claim["rests_on"]["proved"], claim["rests_on"]["tested"]) not in flat]
faults = [{"x": {"proved": "the search", "tested": "kink.c"}}, {"x": {"proved": "Lemma 1 (no_such)", "tested": "kink.c"}},
          {"x": {"proved": "enclosures", "tested": "nothing"}}, {"x": {"proved": "enclosures", "tested": "kinks.c"}}]
errors += ["a planted fault is not noticed: %s" % fault for fault in faults if not wrong(fault)]
if not wrong(ground, {"phibal_potential_find"}):
    errors.append("a call of what is not proved is not noticed")
for line in errors:
    print("not ok: " + line)
print("%d claims, %d functions called" % (len(ground), len(calls)))
sys.exit(1 if errors else 0)
