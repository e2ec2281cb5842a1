"""Certificates and reports of `phibal verify` and `phibal judge`.

usage: certificate.py PHIBAL SCHEMA

A certificate holds for the binary that made it; one that says another binary, another bound, another error
or a failure does not. JUnit reports are XML with the counts that belong. Without python3-jsonschema the
schema is left out, and that is said.
"""
import copy
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

phibal, schema_file = sys.argv[1:]
try:
    import jsonschema
except ImportError:
    jsonschema = None
    print("no python3-jsonschema: certificates are not held against their schema")


def run(status, *arguments):
    done = subprocess.run([phibal, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def counts(path):
    suite = xml.parse(path).getroot()
    cases = suite.findall("testcase")
    assert suite.get("tests") == str(len(cases))
    assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
    return len(cases), int(suite.get("failures"))


with tempfile.TemporaryDirectory() as folder:
    at = lambda name: os.path.join(folder, name)
    run(0, "verify", "--op", "ema", "--op", "price", "--cases", "30", "--certificate", at("c.json"),
        "--junit", at("verify.xml"))
    assert counts(at("verify.xml")) == (4, 0)
    with open(at("c.json"), encoding="utf-8") as f:
        good = json.load(f)
    assert good["passed"] and [o["name"] for o in good["operations"]] == ["ema", "price"]
    assert "certificate holds" in run(0, "judge", "--certificate", at("c.json"))
    if jsonschema:
        with open(schema_file, encoding="utf-8") as f:
            schema = json.load(f)
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(good, schema)

    def altered(change, words):
        wrong = copy.deepcopy(good)
        change(wrong)
        with open(at("wrong.json"), "w", encoding="utf-8") as f:
            json.dump(wrong, f)
        said = run(1, "judge", "--certificate", at("wrong.json"))
        assert words in said, (words, said)

    first = lambda c: c["operations"][0]["outputs"][0]
    altered(lambda c: c["build"].update(digest="0" * 16), "another binary")
    altered(lambda c: first(c).update(bound=2.0), "promises something else")
    altered(lambda c: first(c).update(equation="M9"), "promises something else")
    altered(lambda c: first(c).update(worst=0.125), "certified as 0.125")
    altered(lambda c: first(c).update(failures=1), "broke the bound")
    altered(lambda c: c.update(passed=False), "exceeded bounds")
    altered(lambda c: c.update(backend="mine"), "backend 'mine'")
    altered(lambda c: c["operations"][0].update(name="emb"), "no operation 'emb'")
    with open(at("wrong.json"), "w", encoding="utf-8") as f:
        f.write("{}")
    run(2, "judge", "--certificate", at("wrong.json"))

    # A budget: every operation gets its small cases, and the time ends it.
    said = run(0, "verify", "--budget", "1s", "--op", "ema", "--op", "exp", "--json",
               "--certificate", at("b.json"))
    with open(at("b.json"), encoding="utf-8") as f:
        ranges = {o["name"]: o["cases"] for o in json.load(f)["operations"]}
    assert ranges["exp"] == [[1080, 24]], ranges  # certified over all inputs elsewhere
    assert ranges["ema"][0] == [1080, 24] and ranges["ema"][1][1] > 0, ranges
    assert json.loads(said)["seconds"] < 30

    # Results judged elsewhere: the same files, and the same numbers.
    run(0, "vectors", "--op", "ema", "--cases", "8", "--out", at("e.safetensors"), "--results",
        at("er.safetensors"))
    run(0, "judge", at("e.safetensors"), at("er.safetensors"), "--certificate", at("jc.json"))
    assert "certificate holds" in run(0, "judge", "--certificate", at("jc.json"))
    with open(at("jc.json"), encoding="utf-8") as f:
        good = json.load(f)
    if jsonschema:
        jsonschema.validate(good, schema)
    altered(lambda c: c["judged"]["outputs"][0].update(worst=0.25), "other errors")
    altered(lambda c: c["judged"].update(results_digest="0" * 16), "certified as 0000")
    run(0, "vectors", "--op", "ema", "--cases", "8", "--seed", "2", "--results", at("er.safetensors"),
        "--overwrite")
    assert "digest" in run(1, "judge", "--certificate", at("jc.json"))
    run(1, "judge", at("e.safetensors"), at("er.safetensors"), "--certificate", at("jc.json"))
    assert "cases fail" in run(1, "judge", "--certificate", at("jc.json"))

    # The judge's report, of results that miss one case.
    run(0, "vectors", "--op", "frequencies", "--cases", "8", "--out", at("v.safetensors"),
        "--results", at("r.safetensors"))
    run(0, "judge", at("v.safetensors"), at("r.safetensors"), "--junit", at("j.xml"))
    assert counts(at("j.xml")) == (8, 0)
    run(0, "vectors", "--op", "frequencies", "--cases", "7", "--results", at("r.safetensors"), "--overwrite")
    said = run(1, "judge", at("v.safetensors"), at("r.safetensors"), "--junit", at("j.xml"))
    assert counts(at("j.xml")) == (8, 1) and "0007/out/frequencies" in said, said
    run(2, "judge", at("v.safetensors"), at("absent.safetensors"))
    run(2, "judge", at("v.safetensors"))
    run(2, "vectors", "--op", "frequencies", "--cases", "0", "--out", at("v.safetensors"))
    run(2, "vectors", "--op", "frequency", "--out", at("v.safetensors"))
print("ok")
