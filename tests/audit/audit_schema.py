"""Certificates of `phibal audit --json` against spec/audit-certificate.schema.json.

usage: audit_schema.py PHIBAL SCHEMA AUDIT.md PHI_FOLDER

Findings have exactly the data that AUDIT.md has in its table. The schema must also refuse what is no certificate: a verdict that there is not, a number where an
enclosure belongs, a part left away. Exits with 77 (skipped) without python3-jsonschema.
"""
import copy
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(sys.path[0]))
import schema  # noqa: E402

phibal, schema_file, page, potentials = sys.argv[1:]
against = schema.validator(schema_file)


def certificate(*arguments):
    command = [phibal, "audit", "--json", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 1), (command, done.returncode)
    return json.loads(done.stdout)


seen = {}


def note(document):
    for claim in document["claims"]:
        for finding in claim["findings"]:
            seen.setdefault(claim["id"], set()).update(finding["data"] or ())


quick = ["--experts", "8..16", "--quick", "--skip", "core"]
good = certificate("--potential", "soft-l1", *quick)
schema.expect(against, True, good, "soft-l1")
note(good)
for what, arguments in {
    "renyi": ["--potential", "renyi", "--param", "alpha=1/2..3/4", "--seconds", "3", *quick],
    "lp, refuted": ["--potential", "lp", "--param", "p=1", *quick],
    "lp, at infinity": ["--potential", "lp", "--param", "p=inf"],
    "with a kernel": ["--potential", "negentropy", "--quick", "--experts", "2"],
    "in part": ["--potential", "euclid", "--skip", "dynamics,legendre,core"],
    "divided": [potentials + "/partly.phi", *quick],
    "not separable": [potentials + "/squared-sum-of-roots.phi", *quick],
}.items():
    document = certificate(*arguments)
    schema.expect(against, True, document, what)
    note(document)

documented = {}
for line in open(page, encoding="utf-8"):
    row = re.match(r"\| ([a-z-]+) \| (`[^|]*`) \|", line)
    if row:
        documented.setdefault(row[1], set()).update(re.findall("`([^`]*)`", row[2]))
assert documented == {claim: fields for claim, fields in seen.items() if fields}, (documented, seen)


def spoil(change, what):
    document = copy.deepcopy(good)
    change(document)
    schema.expect(against, False, document, what)


spoil(lambda d: d.pop("claims"), "no claims")
spoil(lambda d: d["claims"][0].update(verdict="likely"), "an unknown verdict")
spoil(lambda d: d["claims"][0].update(id="pretty"), "an unknown claim")
spoil(lambda d: d["dynamics"][0].update(stiffness=1.5), "a number for an enclosure")
spoil(lambda d: d["dynamics"][0]["simulation"].pop("eta"), "a simulation without its eta")
spoil(lambda d: d.update(extra=1), "something else")
print("8 certificates fit the schema and the table of AUDIT.md, 6 spoilt ones do not")
