"""Other selections than the specified one: `phibal judge --ties any` and `--score-error` accept those that
another order of equal scores, or scores within the error, select; they judge gates, counts, frequencies,
losses and gradients by them; and they accept no other.

usage: ties.py PHIBAL

Wrong judges that would be noticed: one with a tolerance on indices, that takes every expert of a tied token,
that forgets the order of slots, that judges gates or counts by the specified selection, or by any numbers;
and vectors whose margins are not half the gap at the cut.
"""
import array
import itertools
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vectors_peer as peer
from tensor_file import save

phibal = os.path.abspath(sys.argv[1])


def run(status, *arguments):
    done = subprocess.run([phibal, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stdout[-3000:], done.stderr)
    return done.stdout + done.stderr


def judge(status, cases, *options):
    return json.loads(run(status, "judge", cases, "r.safetensors", "--json", *options))


def scores_of(case):
    """What (R2) compares, row by row; None for padding."""
    shape, mask, bias = case.inputs["logits"].shape, case.values("mask"), case.values("bias")
    rows = [r for layer in range(shape[0] if len(shape) == 3 else 1) for r in case.rows("logits", layer)]
    sigmoid = case.parameters.get("gate") == "sigmoid"
    out = []
    for i, x in enumerate(rows):
        if mask and not mask[i % shape[-2]]:
            out.append(None)
            continue
        score = [peer.f32(peer.sigmoid(v)) for v in x] if sigmoid else x
        out.append([s + b for s, b in zip(score, bias)] if bias else list(score))
    return out


def answer(cases, operation, selecting):
    """The peer's results, by the selections of selecting(case, row, scores)."""
    tensors, results, chosen = peer.read_tensors(cases), {}, []
    with open(cases.replace(".safetensors", ".json"), encoding="utf-8") as f:
        manifest = json.load(f)
    for described in manifest["cases"]:
        case = peer.Case(described, tensors)
        given = [selecting(case, row, s) if s else None for row, s in enumerate(scores_of(case))]
        # The peer selects in the order of the rows; the steps do so several times over.
        peer.top_k = Given(case, given)
        peer.OPERATIONS[operation](case, "")
        k = case.parameters["k"]
        flat = [e for g in given for e in (g or [-1] * k)]
        case.outputs["%s/out/experts" % case.prefix] = peer.Tensor("I32", [len(given), k], flat)
        results.update(case.outputs)
        chosen.append(given)
    peer.write_tensors("r.safetensors", results)
    return manifest, tensors, results


class Given:
    """Stands in for the peer's top_k: finds the row by its scores' identity."""

    def __init__(self, case, given):
        self.given, self.rows = given, {}
        for row, s in enumerate(scores_of(case)):
            if s:
                self.rows.setdefault(tuple(s), []).append(row)
        self.turn = {}

    def __call__(self, scores, k, fault=""):
        rows = self.rows[tuple(scores)]
        # Rows with the same scores: their selections must be the same, so that any will do.
        return self.given[rows[0]]


def by_chance(case, row, s):
    """As torch.topk may: equal scores in any order, the same for equal rows."""
    draw = random.Random(str(s))
    return sorted(range(len(s)), key=lambda e: (-s[e], draw.random()))[:case.parameters["k"]]


def specified(case, row, s):
    return sorted(range(len(s)), key=lambda e: (-s[e], e))[:case.parameters["k"]]


# Described routers: the peer asks for each token's selection with its scores. Cases of more experts, which are the same and
# take long, are left out.
DESCRIBED_EXPERTS = 32


def grouped(p, score):
    """The groups' sums, and for each set of groups that some order of equal sums selects the experts in it."""
    G, E = p["groups"] or 1, len(score)
    if not p["groups"]:
        return [0.0], [list(range(E))]
    each, g = E // G, p["active-groups"]
    n = {"largest": 1, "two-largest": 2, "share": p["k"] // g}[p["group-score"]]
    sums = []
    for q in range(G):
        falling = sorted(score[q * each:(q + 1) * each], reverse=True)[:n]
        total = falling[0]
        for v in falling[1:]:
            total += v
        sums.append(total)
    cut = sorted(sums, reverse=True)[g - 1]
    ahead, level = [q for q in range(G) if sums[q] > cut], [q for q in range(G) if sums[q] == cut]
    sets = itertools.combinations(level, g - len(ahead))
    return sums, [[e for e in range(E) if e // each in {*ahead, *some}] for some in itertools.islice(sets, 3000)]


def described_by_chance(score, p, fault=""):
    """Groups of equal sums in any order, and experts of equal scores."""
    draw = random.Random(str(score))
    left = draw.choice(grouped(p, score)[1])
    return sorted(left, key=lambda e: (-score[e], draw.random()))[:p["k"]]


def answer_described(cases, choice, change=None, others=()):
    """The peer's results by choice(score, p), and each token's scores; of the case `change` alone, if given, beside others."""
    tensors, results, scores = peer.read_tensors(cases), dict(others), {}
    with open(cases.replace(".safetensors", ".json"), encoding="utf-8") as f:
        manifest = json.load(f)
    kept = peer.described_choice
    for described in manifest["cases"]:
        if change not in (None, described["prefix"]) or described["inputs"]["logits"]["shape"][1] > DESCRIBED_EXPERTS:
            continue
        case, seen = peer.Case(described, tensors), []
        peer.described_choice = lambda score, p, fault="": (seen.append(score), choice(score, p, fault))[1]
        peer.described_router(case, "")
        results.update(case.outputs)
        scores[described["prefix"]] = seen
    peer.described_choice = kept
    peer.write_tensors("r.safetensors", results)
    return manifest, tensors, results, scores


def check_described():
    cases, judge = "described.safetensors", lambda *arguments: globals()["judge"](*arguments, "--answered-only")
    run(0, "vectors", "--op", "described-router", "--seed", "3", "--out", cases)
    manifest, tensors, results, scores = answer_described(cases, described_by_chance)
    told = judge(0, cases, "--ties", "any")
    s = told["selections"]
    assert s["by_tie"] > 100 and s["right"] > 100 and s["wrong"] == s["not_given"] == 0, s
    strict = judge(1, cases)
    assert strict["selections"]["wrong"] == strict["selections"]["by_tie"] == s["by_tie"], strict["selections"]

    # What ties: with a bias, groups, each kind of score, experts that compute nothing. Margins and what is admissible, over
    # all orders of equal groups.
    features, group_ties = {}, 0
    for described in manifest["cases"]:
        P, p = described["prefix"], described["parameters"]
        if P not in scores:
            continue
        if p["selection"] == "given":
            assert "tied" not in described and P + "/selection/margin" not in tensors, P
            continue
        mask = tensors.get(P + "/in/mask")
        margin, zero, turn = tensors[P + "/selection/margin"].values, 0, iter(scores[P])
        for row, found in enumerate(margin):
            if mask and not mask.values[row]:
                assert found == math.inf, (P, row)
                continue
            score = next(turn)
            k, E = p["k"], len(score)
            sums, sets = grouped(p, score)
            n = {"largest": 1, "two-largest": 2, "share": k // max(p["active-groups"], 1)}.get(p["group-score"], 1)
            exact = math.inf
            if p["groups"] and p["active-groups"] < p["groups"]:
                falling = sorted(map(Fraction, sums), reverse=True)
                exact = (falling[p["active-groups"] - 1] - falling[p["active-groups"]]) / (2 * n)
            for left in sets:
                falling = sorted((Fraction(score[e]) for e in left), reverse=True)
                if k < len(left):
                    exact = min(exact, (falling[k - 1] - falling[k]) / 2)
            assert found <= exact < math.inf or found == exact == math.inf, (P, row, found, exact)
            assert found == exact or Fraction(math.nextafter(found, math.inf)) > exact, (P, row, found, exact)
            if found != 0 or len(sets) == 3000:
                zero += found == 0
                continue
            zero += 1
            always, sometimes = set(range(E)), set()
            for left in sets:
                cut = sorted((score[e] for e in left), reverse=True)[k - 1]
                level = [e for e in left if score[e] == cut]
                ahead = [e for e in left if score[e] > cut]
                sometimes |= {*ahead, *level}
                always &= {*ahead, *(level if len(ahead) + len(level) == k else [])}
            state = tensors[P + "/selection/admissible"].values[row * E:(row + 1) * E]
            assert state == [2 if e in always else int(e in sometimes) for e in range(E)], (P, row)
            assert tensors[P + "/selection/open"].values[row] == k - len(always), (P, row)
            group_ties += len(sets) > 1
            for name in ("bias" if P + "/in/bias" in tensors else "", "groups" if p["groups"] else "", p["gate"],
                         p["group-score"], p.get("score", ""), p.get("zero-gates", ""), p["normalisation"]):
                features[name] = features.get(name, 0) + (len(always) < k)
        assert zero == described["tied"], P
    wanted = {"bias", "groups", "topk-softmax", "probability", "sigmoid", "sqrt-softplus", "largest", "two-largest", "share",
              "left-out", "counted", "none", "sum", "of-gate"}
    assert all(features.get(name) for name in wanted), (wanted - set(features), features)
    assert group_ties > 20, group_ties

    # Gates, counts and gradients of (R2)'s selection beside another one.
    right = answer_described(cases, peer.described_choice)[2]
    assert judge(0, cases)["selections"]["wrong"] == 0
    for name in ("gates", "counts", "logit-gradient"):
        far = lambda a, b: any(abs(x - y) > 1e-3 * abs(x) for x, y in zip(a.values, b.values))
        differ = [key for key in results if key.endswith("/out/" + name) and far(results[key], right[key])]
        assert differ, name
        peer.write_tensors("r.safetensors", {**results, differ[0]: right[differ[0]]})
        assert judge(1, cases, "--ties", "any")["failed"] == 1, name

    # One expert that no tie admits, everything downstream right for it: the best of those below the cut, and the best of
    # a group that is not selected; in a case of each kind.
    for kind in ("topk-softmax", "probability", "sigmoid", "sqrt-softplus", "score=probability", "zero-gates=left-out", "groups"):
        for outside in (False, True) if kind == "groups" else (False,):
            hit = []
            def one_wrong(score, p, fault=""):
                chosen = described_by_chance(score, p)
                sets = grouped(p, score)[1]
                if hit or len(sets) > 1:
                    return chosen
                among = [e for e in range(len(score)) if e not in sets[0]] if outside else sets[0]
                best = max((e for e in among if e not in chosen and (outside or score[e] < score[chosen[-1]])),
                           key=lambda e: score[e], default=None)
                if best is None:
                    return chosen
                hit.append(best)
                return chosen[:-1] + [best]
            for described in manifest["cases"]:
                p = described["parameters"]
                named = {p["gate"], "score=" + p.get("score", ""), "zero-gates=" + p.get("zero-gates", ""),
                         "groups" if 0 < p["active-groups"] < p["groups"] else ""}
                if kind in named and described["prefix"] in scores and p["selection"] != "given" and not hit:
                    answer_described(cases, one_wrong, described["prefix"], right)
            assert hit, kind
            told = judge(1, cases, "--ties", "any")
            assert told["selections"]["wrong"] == told["failed"] == 1, (kind, outside, told["selections"])

    # Scores off by at most X, of the groups' sums too.
    X = 0.125
    def inexact(score, p, fault=""):
        draw = random.Random(str(score))
        return specified_choice([v + draw.uniform(-X, X) for v in score], p, "")
    specified_choice = peer.described_choice
    answer_described(cases, inexact)
    s = judge(0, cases, "--score-error", repr(X * (1 + 1e-9)))["selections"]
    assert s["by_error"] > 50 and s["wrong"] == 0, s
    assert judge(1, cases, "--score-error", repr(X / 4))["selections"]["wrong"] > 0
    assert judge(1, cases, "--ties", "any")["selections"]["wrong"] > 0


def fnv(path):
    h = 0xCBF29CE484222325
    with open(path, "rb") as f:
        for b in f.read():
            h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return "%016x" % h


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_described()  # before the peer's top_k is another
    for operation, count in (("router-forward", 60), ("loads", 12), ("switch-step", 40), ("balance-step", 40),
                             ("sequence-loss", 40)):
        cases = operation + ".safetensors"
        run(0, "vectors", "--op", operation, "--cases", str(count), "--out", cases)
        manifest, tensors, results = answer(cases, operation, by_chance)
        tied = {c["prefix"] for c in manifest["cases"] if c["tied"]}
        assert len(tied) >= 2, operation
        told = judge(0, cases, "--ties", "any")
        s = told["selections"]
        assert s["by_tie"] > 10 and s["right"] > 10 and s["wrong"] == s["not_given"] == 0, (operation, s)
        strict = judge(1, cases)
        assert strict["selections"]["wrong"] == strict["selections"]["by_tie"] == s["by_tie"], (operation, s)
        assert "another order of equal scores" in run(1, "judge", cases, "r.safetensors"), operation

        # Margins and what is admissible, from rational arithmetic.
        for described in manifest["cases"]:
            case, P = peer.Case(described, tensors), described["prefix"]
            margin, k = tensors[P + "/selection/margin"].values, case.parameters["k"]
            zero = 0
            for row, s in enumerate(scores_of(case)):
                if s is None or k == len(s):
                    assert margin[row] == math.inf
                    continue
                falling = sorted(map(Fraction, s), reverse=True)
                exact = (falling[k - 1] - falling[k]) / 2
                assert margin[row] <= exact, (P, row)
                above = Fraction(math.nextafter(margin[row], math.inf))
                assert above > exact or margin[row] == exact, (P, row, margin[row], exact)
                if exact == 0:
                    zero += 1
                    E, cut = len(s), falling[k - 1]
                    state = tensors[P + "/selection/admissible"].values[row * E:(row + 1) * E]
                    assert state == [2 if v > cut else v == cut for v in s], (P, row)
                    assert tensors[P + "/selection/open"].values[row] == k - state.count(2)
            assert zero == described["tied"], P

        # A file of an earlier version, without selections.
        before = {key: t for key, t in tensors.items() if "/selection/" not in key}
        if operation == "switch-step":
            peer.write_tensors("old.safetensors", before)
            cases_before = [{key: v for key, v in c.items() if key != "tied"} for c in manifest["cases"]]
            with open("old.json", "w", encoding="utf-8") as f:
                json.dump({**manifest, "tensors": "old.safetensors", "digest": fnv("old.safetensors"),
                           "cases": cases_before}, f)
            assert judge(0, "old.safetensors", "--ties", "any")["selections"] == told["selections"]
            judge(1, "old.safetensors")

        # What is downstream of a selection is judged by that one: counts by the specified one fail.
        answer(cases, operation, specified)
        right = peer.read_tensors("r.safetensors")
        assert judge(0, cases)["selections"]["wrong"] == 0
        for name in ("counts", "frequencies", "loss", "logit-gradient"):
            mixed, wrong = dict(results), False
            for key in results:
                if key.endswith("/out/" + name) and right[key].values != results[key].values:
                    mixed[key], wrong = right[key], True
            if wrong and not (operation == "balance-step" and name != "counts"):
                peer.write_tensors("r.safetensors", mixed)
                judge(1, cases, "--ties", "any")

        # One expert that no tie admits, everything downstream right for it.
        hit = []  # a case and a token's scores: equal tokens are routed alike
        def one_wrong(case, row, s):
            k, chosen = case.parameters["k"], specified(case, row, s)
            if row < 60 and not hit and k < len(s):
                best = max((e for e in range(len(s)) if e not in chosen), key=lambda e: s[e])
                if s[best] < s[chosen[-1]]:
                    hit.append((case.prefix, s, chosen[:-1] + [best]))
            return hit[0][2] if hit and hit[0][:2] == (case.prefix, s) else chosen
        answer(cases, operation, one_wrong)
        told = judge(1, cases, "--ties", "any")
        assert told["selections"]["wrong"] >= 1 and told["failed"] in (1, 2), (operation, told["selections"])

    # Gates: a biased tie's gates differ; those of the specified selection are refused beside another's experts.
    cases = "router-forward.safetensors"
    manifest, tensors, results = answer(cases, "router-forward", by_chance)
    answer(cases, "router-forward", specified)
    right = peer.read_tensors("r.safetensors")
    differ = [key for key in results if key.endswith("/out/gates") and
              any(abs(a - b) > 1e-3 for a, b in zip(results[key].values, right[key].values))]
    assert differ
    peer.write_tensors("r.safetensors", {**results, differ[0]: right[differ[0]]})
    assert judge(1, cases, "--ties", "any")["failed"] == 1

    # The right experts in another order.
    def swapped(case, row, s):
        chosen = specified(case, row, s)
        if case.prefix == "0000" and row == 0:
            chosen[:2] = chosen[1::-1]
        return chosen
    assert manifest["cases"][0]["parameters"]["k"] > 1
    answer(cases, "router-forward", swapped)
    assert judge(1, cases, "--ties", "any")["selections"]["wrong_order"] == 1

    # Scores off by at most X: accepted with X, and not with less than the selections need.
    X = 0.25
    def inexact(case, row, s):
        draw = random.Random(str(s))
        off = [v + draw.uniform(-X, X) for v in s]
        return sorted(range(len(s)), key=lambda e: -off[e])[:case.parameters["k"]]
    answer(cases, "router-forward", inexact)
    s = judge(0, cases, "--score-error", repr(X * (1 + 1e-9)))["selections"]
    assert s["by_error"] > 50 and s["wrong"] == 0, s
    assert judge(1, cases, "--score-error", repr(X / 2))["selections"]["wrong"] > 0
    assert judge(1, cases, "--ties", "any")["selections"]["wrong"] > 0

    # A certificate says by what it is judged.
    answer(cases, "router-forward", by_chance)
    run(0, "judge", cases, "r.safetensors", "--ties", "any", "--certificate", "c.json")
    run(0, "judge", "--certificate", "c.json")
    with open("c.json", encoding="utf-8") as f:
        certificate = json.load(f)
    assert certificate["judged"]["score_error"] == 0
    certificate["judged"]["score_error"] = None
    with open("w.json", "w", encoding="utf-8") as f:
        json.dump(certificate, f)
    assert "does not hold" in run(1, "judge", "--certificate", "w.json")

    # A million selections, most of the tokens with ties, and one wrong among them.
    T, E, k, draw = 131072, 16, 8, random.Random(7)
    logits = array.array("f", draw.choices([x / 8 for x in range(-8, 9)], k=T * E))
    lower, other = array.array("i"), array.array("i")
    for i in range(T):
        row = logits[i * E:(i + 1) * E]
        lower.extend(sorted(range(E), key=lambda e: (-row[e], e))[:k])
        other.extend(sorted(range(E), key=lambda e: (-row[e], -e))[:k])
    count = lambda chosen: [chosen.count(e) for e in range(E)]
    counts = lambda chosen: struct.pack("<%dq" % E, *count(chosen))
    save("big.safetensors", {"0000/expected/counts": ("I64", [E], counts(lower)),
                             "0000/in/logits": ("F32", [T, E], logits.tobytes()),
                             "0000/expected/experts": ("I32", [T, k], lower.tobytes())})
    output = lambda dtype, shape, promise: {"dtype": dtype, "shape": shape, "promise": promise, "optional": False}
    with open(cases.replace(".safetensors", ".json"), encoding="utf-8") as f:
        manifest = json.load(f)
    big = {**manifest["cases"][0], "parameters": {"k": k, "gate": "probability", "scale": 1.0},
           "inputs": {"logits": {"dtype": "F32", "shape": [T, E]}},
           "outputs": {"experts": output("I32", [T, k], "experts"), "counts": output("I64", [E], "counts")}}
    with open("big.json", "w", encoding="utf-8") as f:
        json.dump({**manifest, "tensors": "big.safetensors", "digest": fnv("big.safetensors"), "cases": [big]}, f)
    def results_of(chosen):
        save("r.safetensors", {"0000/out/counts": ("I64", [E], counts(chosen)),
                               "0000/out/experts": ("I32", [T, k], chosen.tobytes())})
    results_of(other)
    s = judge(0, "big.safetensors", "--ties", "any")["selections"]
    assert s["right"] + s["by_tie"] == T and s["by_tie"] > T / 2 and s["wrong"] == 0, s
    judge(1, "big.safetensors")
    # The last slot of some token takes the best of those that are clearly below.
    at = T // 3
    row = logits[at * E:(at + 1) * E]
    cut = row[other[at * k + k - 1]]
    other[at * k + k - 1] = max((e for e in range(E) if row[e] < cut), key=lambda e: row[e])
    results_of(other)
    told = judge(1, "big.safetensors", "--ties", "any")
    assert told["selections"]["wrong"] == 1, told["selections"]
print("ok")
