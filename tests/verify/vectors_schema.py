"""Manifests of `phibal vectors` against spec/vectors.schema.json, and against their files.

usage: vectors_schema.py PHIBAL SCHEMA

The schema must also refuse what is no manifest. Every flag that a case carries is described; every tensor
is in the file with that dtype and shape, and no other is. Exits with 77 (skipped) without
python3-jsonschema.
"""
import copy
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(sys.path[0]))
import schema  # noqa: E402

phibal, schema_file = sys.argv[1:]
against = schema.validator(schema_file)


def header(path):
    with open(path, "rb") as tensors:
        size = struct.unpack("<Q", tensors.read(8))[0]
        return json.loads(tensors.read(size))


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "all.safetensors")
    subprocess.run([phibal, "vectors", "--op", "all", "--cases", "21", "--out", path], check=True)
    with open(os.path.join(folder, "all.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    schema.expect(against, True, manifest, "all operations")
    held = header(path)

named = set()
for case in manifest["cases"]:
    assert set(case["flags"]) <= set(manifest["flags"]), case["id"]
    for name, tensor in case["inputs"].items():
        key = "%s/in/%s" % (case["prefix"], name)
        named.add(key)
        assert held[key]["dtype"] == tensor["dtype"] and held[key]["shape"] == tensor["shape"], key
    for name, tensor in case["outputs"].items():
        key = "%s/expected/%s" % (case["prefix"], name)
        real = tensor["dtype"] in ("F32", "F64")
        named.add(key)
        assert held[key]["shape"] == tensor["shape"], key
        assert held[key]["dtype"] == ("F64" if real else tensor["dtype"]), key
        assert tensor["promise"] in manifest["promises"][case["operation"]], key
        if real:
            named.add("%s/bound/%s" % (case["prefix"], name))
    if "tied" in case:
        rows = held["%s/in/logits" % case["prefix"]]["shape"][:-1]
        for name, dtype, always in (("margin", "F64", True), ("experts", "I32", "experts" not in case["outputs"]),
                                    ("admissible", "U8", case["tied"] > 0), ("open", "I32", case["tied"] > 0)):
            key = "%s/selection/%s" % (case["prefix"], name)
            assert (key in held) == always, key
            if always:
                named.add(key)
                assert held[key]["dtype"] == dtype and held[key]["shape"][0] == math.prod(rows), key
assert named == set(held) - {"__metadata__"}, named ^ set(held)
assert len({case["id"] for case in manifest["cases"]}) == len(manifest["cases"])

for change in (
    lambda m: m.pop("digest"),
    lambda m: m.update(version=2),
    lambda m: m["cases"][0].pop("flags"),
    lambda m: m["cases"][0].update(id="exp"),
    lambda m: m["cases"][0]["outputs"].clear(),
    lambda m: m["cases"][0]["inputs"]["x"].update(dtype="F8"),
    lambda m: m["flags"]["ties"].pop("bug"),
    lambda m: m["promises"]["exp"]["value"].update(measure="rtol"),
):
    wrong = copy.deepcopy(manifest)
    change(wrong)
    schema.expect(against, False, wrong, change)
print("ok: %d cases, %d tensors" % (len(manifest["cases"]), len(named)))
