"""Files that an earlier phibal wrote (tests/verify/earlier, as spec/vectors had them first) are judged still: the exact
results pass, and one wrong number in any case fails that case alone.

usage: vectors_earlier.py PHIBAL FOLDER
"""
import json
import math
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vectors_peer as peer

phibal, folder = (os.path.abspath(a) for a in sys.argv[1:3])
names = sorted(f[:-5] for f in os.listdir(folder) if f.endswith(".json"))
assert names, "no file in %s" % folder


def judge(cases):
    ran = subprocess.run([phibal, "judge", cases, "results.safetensors", "--json"], capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    told = json.loads(ran.stdout)
    return {c["id"] for c in told["cases"] if not c["passed"]}, told["judged"]


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for name in names:
        path = os.path.join(folder, name + ".safetensors")
        tensors = peer.read_tensors(path)
        with open(os.path.join(folder, name + ".json"), encoding="utf-8") as f:
            cases = json.load(f)["cases"]
        right = {k.replace("/expected/", "/out/"): t for k, t in tensors.items() if "/expected/" in k}
        peer.write_tensors("results.safetensors", right)
        failed, judged = judge(path)
        assert not failed and judged == len(cases), (name, failed, judged)
        for case in cases:
            wrong = dict(right)
            key = next(k for k in right if k.startswith(case["prefix"] + "/out/") and any(map(math.isfinite, right[k].values)))
            values = list(right[key].values)
            at = next(i for i, v in enumerate(values) if math.isfinite(v))
            values[at] += 1 + abs(values[at]) // 1000
            wrong[key] = peer.Tensor(right[key].dtype, right[key].shape, values)
            peer.write_tensors("results.safetensors", wrong)
            assert judge(path)[0] == {case["id"]}, (name, case["id"], key)
        print("ok: %s: %d cases" % (name, len(cases)))
