"""Certificates of `phibal audit --json` against spec/audit-certificate.schema.json.

usage: audit_schema.py PHIBAL SCHEMA

The schema must also refuse what is no certificate: a verdict that there is not, a number where an
enclosure belongs, a part left away. Exits with 77 (skipped) without python3-jsonschema.
"""
import copy
import json
import subprocess
import sys

sys.dont_write_bytecode = True
import schema  # noqa: E402

phibal, schema_file = sys.argv[1:]
against = schema.validator(schema_file)


def certificate(*arguments):
    command = [phibal, "audit", "--json", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 1), (command, done.returncode)
    return json.loads(done.stdout)


quick = ["--experts", "8..16", "--quick", "--skip", "core"]
good = certificate("--potential", "soft-l1", *quick)
schema.expect(against, True, good, "soft-l1")
schema.expect(against, True, certificate("--potential", "renyi", "--param", "alpha=1/2..3/4", *quick), "renyi")
schema.expect(against, True, certificate("--potential", "lp", "--param", "p=1", *quick), "lp, refuted")
schema.expect(against, True, certificate("--potential", "negentropy", "--quick", "--experts", "2"), "with a kernel")
schema.expect(against, True, certificate("--potential", "euclid", "--skip", "dynamics,legendre,core"), "in part")


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
print("5 certificates fit the schema, 6 spoilt ones do not")
