"""The default sets of golden vectors hold every value of every parameter, and every pair of features: counted.

usage: pairs.py PHIBAL

Features are read from the files (parameters, shapes, data), not from the generator. Wrong sets that would be
noticed: micro-batches that never have a mask, padding that is always NaN, potentials at their defaults, gathered
gradients that are the gathered activations, counts that survive 32 bits, sigmoids that no epsilon changes.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
from itertools import combinations, product

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vectors_peer as peer

phibal = os.path.abspath(sys.argv[1])
POTENTIALS = {"euclid", "lp", "soft-l1", "negentropy", "tsallis", "renyi", "pseudo-huber", "log-cosh", "softplus"}


def padding(case):
    mask = case.values("mask")
    if not mask or 0 not in mask:
        return "none"
    assert 1 in mask
    shape, x = case.inputs["logits"].shape, case.values("logits")
    masked = [v for i, v in enumerate(x) if not mask[i // shape[-1] % shape[-2]]]
    return "finite" if all(map(math.isfinite, masked)) else "nan"


def step(case, kind):
    p, (L, T, E) = case.parameters, case.inputs["logits"].shape
    return {"micro-batches": p["micro-batches"], "ranks": p["ranks"], "passes": p["forward-passes"], "layers": L, "k": p["k"],
            "mask": padding(case), "kind": kind, "E": E, "law": p.get("potential", p.get("frequencies"))}


def bias(case):
    b = case.values("bias")
    if not b:
        return "none"
    return ("zeros" if set(b) <= {-0.5, 0.0, 0.5} else "tiny" if max(map(abs, b)) < 1e-8 else
            "negative" if max(b) < -10 else "positive" if min(b) > 8 else "some")


def route(case, kind):
    p, (T, E) = case.parameters, case.inputs["logits"].shape
    of = {"gate": p["gate"], "scale": round(p["scale"], 3), "k": min(p["k"], 3), "mask": padding(case), "kind": kind, "E": E}
    if "experts" not in case.inputs:
        of["bias"] = bias(case)
    return of


def counting(case, kind):
    T, E = case.inputs["logits"].shape
    return {"k": min(case.parameters["k"], 3), "mask": padding(case), "T": T, "E": E, "kind": kind}


def frequencies(case, kind):
    n, k = case.values("counts"), case.parameters["k"]
    return {"E": len(n), "size": max(n).bit_length() // 8, "k": k, "dead": 0 in n}


def loss_free(case, kind):
    n = case.values("counts")
    return {"E": len(n), "size": max(n) >= 2**23 and max(n).bit_length(), "rate": case.parameters["rate"]}


def routes(case, kind):
    wide = case.inputs["x" if "x" in case.inputs else "y"].shape[1]
    return {"E": case.parameters["experts"], "d": wide, "T": case.inputs["experts"].shape[0],
            "k": min(case.parameters["k"], 3)}


def loads(case, kind):
    m = case.values("m")
    return {"law": (case.parameters["potential"], case.parameters.get("parameter")), "kind": kind,
            "maxima": m.count(max(m)) > 1 and len(set(m)) > 1}


def capacity(case, kind):
    p, e = case.parameters, case.values("experts")
    k, n = p["k"], max([e.count(v) for v in set(e) if v >= 0], default=0)
    padding = "none" if -1 not in e else "some" if max(g for v, g in zip(e, case.values("gates")) if v < 0) else "without gates"
    C, T = p["limit"], len(e) // k
    limit = ("0" if C == 0 else "fit" if C == n else "above" if C == n + 1 else "beyond" if C > T else
             "below" if C == n - 1 else "drops" if C < n else "more")
    return {"E": p["experts"], "k": min(k, 4), "T": T, "policy": p["policy"], "renormalise": p["renormalise"], "padding": padding,
            "limit": limit}


# What each is made of, how many values each feature has at least, and pairs that cannot be.
SETS = {
    "balance-step": (step, {"micro-batches": 3, "ranks": 3, "passes": 2, "layers": 2, "k": 3, "mask": 3, "kind": 6, "E": 7,
                            "law": 9}, lambda pair: False),
    "switch-step": (step, {"micro-batches": 3, "ranks": 3, "passes": 2, "layers": 2, "k": 3, "mask": 3, "kind": 6, "E": 7,
                           "law": 2}, lambda pair: False),
    "router-forward": (route, {"gate": 3, "scale": 3, "k": 3, "mask": 3, "kind": 7, "E": 7, "bias": 6},
                       lambda pair: pair == {"E": 2, "k": 3}),
    "router-backward": (route, {"gate": 3, "scale": 3, "k": 3, "mask": 3, "kind": 7, "E": 7},
                        lambda pair: pair == {"E": 2, "k": 3}),
    "sequence-loss": (route, {"gate": 3, "scale": 3, "k": 3, "kind": 7, "E": 7, "bias": 6, "mask": 3},
                      lambda pair: pair == {"E": 2, "k": 3}),
    "loads": (counting, {"k": 3, "mask": 3, "T": 6, "E": 5, "kind": 2},
              lambda pair: pair.get("T") == 1 and "mask" in pair),
    "frequencies": (frequencies, {"E": 5, "size": 5, "k": 4, "dead": 2}, lambda pair: False),
    "loss-free": (loss_free, {"E": 5, "size": 4, "rate": 3}, lambda pair: False),
    "permutation": (routes, {"E": 7, "d": 5, "T": 5, "k": 3}, lambda pair: pair.get("E", 99) < pair.get("k", 0)),
    "combine": (routes, {"E": 7, "d": 5, "T": 5, "k": 3}, lambda pair: pair.get("E", 99) < pair.get("k", 0)),
    "capacity": (capacity, {"E": 7, "k": 4, "policy": 3, "renormalise": 2, "padding": 3, "limit": 6},
                 lambda pair: False),
    "price": (loads, {"law": 42, "kind": 11}, lambda pair: False),
    "balance-loss": (loads, {"law": 42, "kind": 11}, lambda pair: False),
}

bad = 0
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for operation, (features, least, impossible) in SETS.items():
        subprocess.run([phibal, "vectors", "--op", operation, "--out", "c.safetensors", "--overwrite"], check=True)
        tensors = peer.read_tensors("c.safetensors")
        with open("c.json", encoding="utf-8") as f:
            manifest = json.load(f)
        seen, values, cases = set(), {}, []
        for described in manifest["cases"]:
            if not 2**36 <= described["number"] % 2**40 < 2**37:  # by number, and the field's
                continue
            case = peer.Case(described, tensors)
            cases.append(case)
            of = features(case, described["kind"])
            for name, value in of.items():
                values.setdefault(name, set()).add(value)
            seen.update(frozenset(pair) for pair in combinations(of.items(), 2))
        missing, pairs = [], 0
        for a, b in combinations(least, 2):
            for x, y in product(values[a], values[b]):
                if impossible({a: x, b: y}):
                    continue
                pairs += 1
                if frozenset(((a, x), (b, y))) not in seen:
                    missing.append((a, x, b, y))
        short = {n: sorted(map(str, values[n])) for n, count in least.items() if len(values[n]) < count}
        good = not missing and not short
        bad += not good
        print("%s: %s: %d cases, %d pairs of features, %d missing %s %s" %
              ("ok" if good else "not ok", operation, len(cases), pairs, len(missing), missing[:4], short or ""))
        if "law" in least and operation != "switch-step":
            laws = {law if isinstance(law, str) else law[0] for law in values["law"]}
            assert laws >= POTENTIALS, laws
        # What single features must be able to see.
        if operation == "price":
            for p, parameter in values["law"]:
                if p == "lp":
                    assert frozenset((("law", (p, parameter)), ("maxima", True))) in seen, parameter
            assert ("lp", "inf") in values["law"]
            assert any(0.0 in c.values("m") and c.parameters["potential"] == p for c in cases for p in POTENTIALS)
        if operation == "permutation":
            for c in cases:
                x, g = c.inputs["x"], c.values("gathered-gradient")
                assert not g or set(g) - set(x.values), c.prefix
        if operation == "router-forward":
            real = lambda c: [v for i, x in enumerate(c.rows("logits")) if not c.values("mask") or c.values("mask")[i] for v in x]
            tiny = [c for c in cases if c.parameters["gate"] == "sigmoid" and max(real(c)) < -40]
            assert len(tiny) >= 2, len(tiny)
        if operation == "loads":
            rounded = 0
            for c in cases:
                if padding(c) == "none":
                    sums, exact = [0.0] * c.inputs["logits"].shape[1], None
                    p = [peer.softmax(x) for x in c.rows("logits")]
                    for row in p:
                        sums = [peer.f32(s + peer.f32(v)) for s, v in zip(sums, row)]
                    exact = [peer.f32(math.fsum(column)) for column in zip(*p)]
                    rounded += sums != exact
            assert rounded >= 8, rounded
        if operation == "loss-free":
            def signs(n):
                return [(sum(n) > len(n) * c) - (sum(n) < len(n) * c) for c in n]
            wrap = lambda c: (c + 2**31) % 2**32 - 2**31
            for lossy in (wrap, lambda c: int(peer.f32(c))):
                assert sum(signs(c.values("counts")) != signs(list(map(lossy, c.values("counts")))) for c in cases) >= 3
        if operation == "frequencies":
            for lossy in (lambda c: (c + 2**31) % 2**32 - 2**31, lambda c: int(peer.f32(c))):
                changed = 0
                for c in cases:
                    scale = c.parameters["k"] * c.parameters["tokens"]
                    changed += any(peer.f32(n / scale) != peer.f32(peer.f32(lossy(n)) / peer.f32(scale))
                                   for n in c.values("counts"))
                assert changed >= 3, changed
sys.exit(1 if bad else 0)
