"""The bytes of golden vectors are the same on every machine: the sets in spec/vectors are written again
and compared, and of every operation a set whose digest stands there.

usage: vectors_bytes.py PHIBAL FOLDER [--write]

With --write the folder is made anew: for when cases were changed on purpose.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

# Small enough to be kept whole.
KEPT = {"ema": 8, "price": 8, "frequencies": 12, "metrics": 8}
CASES = 20

phibal, folder = sys.argv[1:3]
write = "--write" in sys.argv[3:]


def vectors(path, operation, cases):
    subprocess.run([phibal, "vectors", "--op", operation, "--cases", str(cases), "--out", path, "--overwrite"],
                   check=True)


def same(a, b):
    with open(a, "rb") as f, open(b, "rb") as g:
        return f.read() == g.read()


listing = subprocess.run([phibal, "verify", "--list"], capture_output=True, text=True, check=True).stdout
operations = list(dict.fromkeys(line.split()[0] for line in listing.splitlines()))
digests_path = os.path.join(folder, "digests.json")
digests, bad = {}, 0
with tempfile.TemporaryDirectory() as made:
    for operation, cases in KEPT.items():
        path = os.path.join(made, operation + ".safetensors")
        vectors(path, operation, cases)
        for ending in (".safetensors", ".json"):
            new, kept = os.path.join(made, operation + ending), os.path.join(folder, operation + ending)
            if write:
                shutil.copyfile(new, kept)
            elif not same(new, kept):
                bad += 1
                print("not ok: %s: other bytes" % kept)
    for operation in operations:
        vectors(os.path.join(made, "set.safetensors"), operation, CASES)
        with open(os.path.join(made, "set.json"), encoding="utf-8") as f:
            digests[operation] = json.load(f)["digest"]
if write:
    with open(digests_path, "w", encoding="utf-8") as f:
        json.dump({"cases": CASES, "seed": 1, "digests": digests}, f, indent=1)
        f.write("\n")
else:
    with open(digests_path, encoding="utf-8") as f:
        kept = json.load(f)["digests"]
    for operation in sorted(set(kept) | set(digests)):
        if kept.get(operation) != digests.get(operation):
            bad += 1
            print("not ok: %s: digest %s, must be %s" % (operation, digests.get(operation), kept.get(operation)))
if bad:
    print("if the cases were changed on purpose: %s %s %s --write" % (sys.argv[0], phibal, folder))
sys.exit(1 if bad else 0)
