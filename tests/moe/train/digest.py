#!/usr/bin/env python3
"""The digest of a run, from its newest checkpoint, by the definition in moe/README.md.

usage: digest.py RUN...    Ends in 1 unless each result.json has the digest that is found."""
import hashlib
import json
import os
import struct
import sys


def tensors(path):
    """name: (shape, bytes) of a safetensors file."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {name: (t["shape"], data[t["data_offsets"][0]:t["data_offsets"][1]]) for name, t in header.items()}


def digest(run):
    folder = os.path.join(run, "checkpoints", max(os.listdir(os.path.join(run, "checkpoints"))))
    model = tensors(os.path.join(folder, "model.safetensors"))
    training = tensors(os.path.join(folder, "training.safetensors"))
    parts = sorted(model.items(), key=lambda part: part[0].encode())
    parts += [("balance.m", training["balance.m"])] if "balance.m" in training else []
    h = hashlib.sha256()
    for name, (shape, data) in parts:
        h.update(name.encode() + b"\0" + struct.pack("<%dq" % (1 + len(shape)), len(shape), *shape) + data)
    return h.hexdigest()


status = 0
for run in sys.argv[1:]:
    found = digest(run)
    with open(os.path.join(run, "result.json"), encoding="utf-8") as f:
        said = json.load(f)["digest"]
    print(found, run)
    if found != said:
        print("digest: %s has %s in result.json" % (run, said), file=sys.stderr)
        status = 1
sys.exit(status)
