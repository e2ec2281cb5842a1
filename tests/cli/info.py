"""`phibal info` about the CUDA kernels for the host: there when the library is, and not because the
build could have made it; how to get it otherwise. What it says is what `verify` does.

usage: info.py PHIBAL LIBRARY"""
import json
import os
import subprocess
import sys

phibal, library = sys.argv[1:]


def run(words, **environment):
    done = subprocess.run([phibal, *words], capture_output=True, text=True, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def feature(**environment):
    return json.loads(run(["info", "--json"], **environment)[1])["features"]["CUDA on host"]


verify = ["verify", "--backend", "host-cuda", "--op", "loss-free", "--cases", "2"]
os.environ.pop("PHIBAL_CUDA_LIBRARY", None)
there = os.path.exists(library)
assert feature() == ("yes" if there else None), feature()
assert run(verify)[0] == (0 if there else 2), run(verify)
assert there or "./dev build" in run(verify)[2], run(verify)
missing = {"PHIBAL_CUDA_LIBRARY": library + ".not"}
assert feature(**missing) is None
line = [line for line in run(["info"], **missing)[1].splitlines() if "CUDA on host" in line]
assert len(line) == 1 and "left out: its library is missing; `./dev build` makes it" in line[0], line
assert run(verify, **missing)[0] == 2
