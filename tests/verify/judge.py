"""What `phibal judge` says of results that are not whole: unanswered cases, tensors that belong to
nothing.

usage: judge.py PHIBAL CERTIFICATE_SCHEMA

Wrong judges that would be noticed: one that lets a case pass which lacks one of its outputs, or has it
under a wrong name; that passes when nothing was answered; that judges an answered case less; that forgets
in the certificate, the JUnit report or the JSON that cases were left out; that lets a partial
implementation leave out what it offers, or whose conditions leave nothing.
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tensor_file import load, save

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


with tempfile.TemporaryDirectory() as folder:
    at = lambda name: os.path.join(folder, name)
    cases, results = at("cases.safetensors"), at("results.safetensors")
    run(0, "vectors", "--op", "router-forward", "--cases", "12", "--out", cases, "--results", at("all.safetensors"))
    answers = load(at("all.safetensors"))
    some = {name: t for name, t in answers.items() if name[:4] in ("0001", "0004", "0007")}
    assert {"0001/out/gates", "0001/out/experts"} <= set(some)

    def judge(status, tensors, *options):
        save(results, tensors)
        return run(status, "judge", cases, results, *options)

    # Three of twelve: a failure, unless only answered cases were asked for.
    said = judge(1, some)
    assert "9 of 12 cases failed" in said and "--answered-only" in said, said
    said = judge(0, some, "--answered-only")
    assert "all 3 answered cases passed; 9 of 12 were not answered" in said, said
    assert "not given" not in said and "FAIL" not in said and "likely" not in said, said
    said = judge(0, answers, "--answered-only")
    assert "all 12 answered cases passed; 0 of 12 were not answered" in said, said

    # A case with some of its outputs, or with one under another name, fails.
    for left in ("0004/out/gates", "0004/out/experts"):
        less = {name: t for name, t in some.items() if name != left}
        said = judge(1, less, "--answered-only")
        assert "1 of 3 answered cases failed; 9 of 12" in said and left in said, said
    alone = {name: t for name, t in some.items() if not name.startswith("0007")}
    said = judge(1, {**alone, "0007/out/gate": some["0007/out/gates"]}, "--answered-only")
    assert "1 of 3 answered cases failed" in said and "0007/out/gate" in said, said
    # ... but what lies elsewhere than in P/out is no answer.
    said = judge(0, {**alone, "0007/in/logits": some["0007/out/gates"]}, "--answered-only")
    assert "all 2 answered cases passed; 10 of 12" in said, said

    # Wrong is wrong, and nothing is nothing.
    dtype, shape, data = some["0001/out/gates"]
    wrong = {**some, "0001/out/gates": (dtype, shape, data[:-4] + struct.pack("<f", 7.5))}
    said = judge(1, wrong, "--answered-only")
    assert "1 of 3 answered cases failed" in said and "got 7.5" in said, said
    for nothing in ({}, {"x": some["0001/out/gates"]}):
        said = judge(1, nothing, "--answered-only")
        assert "no case was answered; 12 of 12" in said, said

    # With the other options.
    told = json.loads(judge(0, some, "--answered-only", "--json"))
    assert told["passed"] and told["answered_only"] and (told["judged"], told["unanswered"], told["failed"]) == (3, 9, 0)
    assert [c["prefix"] for c in told["cases"] if c["passed"]] == ["0001", "0004", "0007"]
    assert [c["answered"] for c in told["cases"]].count(False) == 9
    assert sum(f["passed"] for f in told["flags"].values()) > 0
    assert sum(f["failed"] for f in told["flags"].values()) == 0 and not told["likely"]
    assert all(o["not_given"] == 0 for o in told["outputs"])
    told = json.loads(judge(1, some, "--json"))
    assert not told["answered_only"] and (told["judged"], told["unanswered"], told["failed"]) == (12, 9, 9)
    told = json.loads(judge(1, {}, "--answered-only", "--json"))
    assert not told["passed"] and (told["judged"], told["unanswered"]) == (0, 12)

    judge(0, some, "--answered-only", "--junit", at("j.xml"))
    suite = xml.parse(at("j.xml")).getroot()
    assert [suite.get(k) for k in ("tests", "failures", "skipped")] == ["12", "0", "9"]

    half = lambda x: struct.pack("<e", x)
    floats = lambda data: struct.unpack("<%df" % (len(data) // 4), data)
    narrow = {name: (("F16", t[1], b"".join(map(half, floats(t[2])))) if t[0] == "F32" else t)
              for name, t in some.items()}
    judge(1, narrow, "--answered-only")
    judge(0, narrow, "--answered-only", "--format", "binary16")
    near = {**some, "0001/out/gates": (dtype, shape, b"".join(struct.pack("<f", x * (1 + 2e-6)) for x in floats(data)))}
    judge(1, near, "--answered-only")
    assert "multiplied by 1000" in judge(0, near, "--answered-only", "--times", "1000")
    assert "no case" in judge(1, some, "--answered-only", "--op", "ema")

    # Numbers that can be read, and the exact ones in JSON.
    huge = {**some, "0001/out/gates": (dtype, shape, data[:-4] + struct.pack("<f", 3e38))}
    said = judge(1, huge, "--answered-only")
    row = next(line for line in said.splitlines() if line.startswith("router-forward   gates"))
    assert "e+4" in row and len(row.split(" (")[0]) < 90, row
    told = json.loads(judge(1, huge, "--answered-only", "--json"))
    worst = next(o["worst"] for o in told["outputs"] if o["output"] == "gates")
    assert worst > 1e40 and len(repr(worst)) > 15, worst

    # Tensors that are no results: no word where all is well, one where something is missing; a result
    # under a name that no output has is always worth one.
    along = {**answers, **{"%04d/in/logits" % i: answers["0001/out/gates"] for i in range(9)}}
    said = judge(0, along)
    assert "belong" not in said and "no output" not in said, said
    assert json.loads(judge(0, along, "--json"))["stray"] == 9
    said = judge(1, {name: t for name, t in along.items() if name != "0001/out/gates"})
    assert "9 tensors of the results belong to no output, the first is 0000/in/logits" in said, said
    said = judge(0, {**along, "0001/out/margins": answers["0001/out/gates"]})
    assert "results under names that are no output's: 1, the first is 0001/out/margins" in said, said
    # Results of another operation are not astray when one is judged alone.
    run(0, "vectors", "--op", "ema", "--op", "price", "--cases", "3", "--out", at("two.safetensors"), "--results",
        at("both.safetensors"))
    told = json.loads(run(0, "judge", at("two.safetensors"), at("both.safetensors"), "--op", "ema", "--json"))
    assert told["stray"] == 0 and told["judged"] == 3, told

    # A partial implementation: one output, some parameters; the rest is not offered, and no excuse.
    with open(at("cases.json"), encoding="utf-8") as f:
        rows = json.load(f)["cases"]
    plain = [c["prefix"] for c in rows if c["parameters"]["gate"] != "sigmoid" and "mask" not in c["inputs"]
             and c["inputs"]["logits"]["shape"][1] <= 40]
    partial = {name: t for name, t in answers.items() if name[:4] in plain and name.endswith("/probabilities")}
    offer = ["--outputs", "probabilities", "--where", "gate!=sigmoid", "--where", "mask=absent", "--where", "E<=40"]
    assert 2 < len(plain) < 12
    judge(1, partial)
    said = judge(0, partial, *offer)
    assert "all %d cases passed; %d of 12 cases were not offered" % (len(plain), 12 - len(plain)) in said, said
    told = json.loads(judge(0, partial, *offer, "--json"))
    assert (told["judged"], told["not_offered"]) == (len(plain), 12 - len(plain)), told
    judge(1, partial, *offer[:2])
    judge(1, partial, *offer[2:])
    some_name, (dtype, shape, data) = sorted(partial.items())[0]
    judge(1, {**partial, some_name: (dtype, shape, data[:-4] + struct.pack("<f", 7.5))}, *offer)
    # Equality of numbers and words, either side of a limit; a misspelt name is refused.
    assert json.loads(judge(1, {}, "--where", "k=1,2", "--json"))["judged"] == sum(
        c["parameters"]["k"] in (1, 2) for c in rows)
    assert json.loads(judge(1, {}, "--where", "scale=1", "--where", "T>=3", "--json"))["judged"] == sum(
        c["parameters"]["scale"] == 1 and c["inputs"]["logits"]["shape"][0] >= 3 for c in rows)
    for wrong in (["--where", "gat=sigmoid"], ["--outputs", "gate"], ["--where", "k"], ["--where", "k<=x"]):
        assert judge(2, partial, *wrong).count("\n") <= 2
    # The certificate holds for what was offered only.
    judge(0, partial, *offer, "--certificate", at("p.json"))
    assert "only about what was offered: %d of 12 cases" % len(plain) in run(0, "judge", "--certificate", at("p.json"))
    with open(at("p.json"), encoding="utf-8") as f:
        good = json.load(f)
    if jsonschema:
        with open(schema_file, encoding="utf-8") as f:
            jsonschema.validate(good, json.load(f))
    for change in ({"only": []}, {"where": []}, {"not_offered": 0}):
        with open(at("w.json"), "w", encoding="utf-8") as f:
            json.dump({**good, "judged": {**good["judged"], **change}}, f)
        assert "does not hold" in run(1, "judge", "--certificate", at("w.json")), change

    # --times also where a promise is of binary64: 0.5 ULP, and 3 ULP off.
    run(0, "vectors", "--op", "metrics", "--cases", "20", "--out", at("m.safetensors"), "--results", at("mr.safetensors"))
    metrics = load(at("mr.safetensors"))
    off = lambda data: b"".join(struct.pack("<d", x * (1 + 3 * 2.0**-53)) for x in struct.unpack("<%dd" % (len(data) // 8), data))
    save(results, {name: (d, s, off(b)) if name.endswith("/maxvio-loads") else (d, s, b) for name, (d, s, b) in metrics.items()})
    run(1, "judge", at("m.safetensors"), results)
    run(1, "judge", at("m.safetensors"), results, "--times", "2")
    run(0, "judge", at("m.safetensors"), results, "--times", "10")

    # What is beyond binary32 may be given in binary64, as what it is; not anything.
    run(0, "vectors", "--op", "exp", "--cases", "8", "--out", at("e.safetensors"), "--results", at("er.safetensors"))
    wide, inputs, huge = {}, load(at("e.safetensors")), 0
    for name, (d, s, b) in load(at("er.safetensors")).items():
        x = struct.unpack("<%df" % (len(b) // 4), inputs[name.replace("/out/value", "/in/x")][2])
        y = list(struct.unpack("<%df" % (len(b) // 4), b))
        huge += sum(89 < v < 700 for v in x)
        wide[name] = ("F64", s, struct.pack("<%dd" % len(y), *(math.exp(v) if 89 < v < 700 else w for v, w in zip(x, y))))
    assert huge > 5
    save(results, wide)
    run(0, "judge", at("e.safetensors"), results)
    save(results, {n: (d, s, b"".join(struct.pack("<d", min(v, 3e38)) for v in struct.unpack("<%dd" % (len(b) // 8), b)))
                   for n, (d, s, b) in wide.items()})
    run(1, "judge", at("e.safetensors"), results)

    # The certificate says it, and holds only for what it says.
    judge(0, some, "--answered-only", "--certificate", at("c.json"))
    said = run(0, "judge", "--certificate", at("c.json"))
    assert "3 cases that were answered; 9 of 12 were not" in said and "certificate holds" in said, said
    with open(at("c.json"), encoding="utf-8") as f:
        good = json.load(f)
    assert good["judged"]["answered_only"] and (good["judged"]["judged"], good["judged"]["unanswered"]) == (3, 9)
    if jsonschema:
        with open(schema_file, encoding="utf-8") as f:
            jsonschema.validate(good, json.load(f))
    for change in ({"answered_only": False}, {"unanswered": 8}, {"judged": 12}):
        with open(at("w.json"), "w", encoding="utf-8") as f:
            json.dump({**good, "judged": {**good["judged"], **change}}, f)
        said = run(1, "judge", "--certificate", at("w.json"))
        assert "does not hold" in said, (change, said)
    judge(1, some, "--certificate", at("c.json"))
    assert "does not hold" in run(1, "judge", "--certificate", at("c.json"))
    said = run(2, "judge", "--answered-only", "--certificate", at("c.json"))
    assert said.count("\n") <= 2 and "--answered-only" in said, said
print("ok")
