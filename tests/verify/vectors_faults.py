#!/usr/bin/env python3
"""Faults, planted one at a time in the independent implementation of vectors_peer.py: is each caught with the default
cases, and does the judge name its cause first?

usage: vectors_faults.py PHIBAL [--seeds 1,2,3,4,5] [--every N] [--op NAME] [--caught SHARE] [--named SHARE]

Two sorts of fault: formulas done wrong (in vectors_peer.py), and kernels that are wrong only under a condition: one gate,
one potential, a mask, more than 32 experts, the last ones when E is no multiple of 4. Which cause is the right one is
written beside each; a flag and the property that it stands for count alike. Exit status 1 where less than the given shares
are caught or named first.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import vectors_peer as peer


def size(case, name):
    """E, T or d of a case."""
    p, inputs = case.parameters, case.inputs
    shape = lambda n: inputs[n].shape if n in inputs else None
    if name == "E":
        return p.get("experts") or (shape("logits") or shape("counts") or shape("w-gate"))[0 if not shape("logits") else -1]
    if name == "T":
        return shape("logits")[-2] if shape("logits") else shape("experts")[0]
    return (shape("x") or shape("y"))[1]


# A condition: its name, the causes that say it, and whether a case meets it.
def parameter(name, value, *flags):
    return ("%s=%s" % (name, value), {"%s=%s" % (name, value), *flags}, lambda c: c.parameters.get(name) == value)


def more(name, *flags):
    return (name + ">1", {name + ">1", *flags}, lambda c: c.parameters[name] > 1)


def given(name, *flags):
    return (name + " given", {name + "=given", *flags}, lambda c: name in c.inputs)


def above(name, n, *flags):
    return ("%s>%d" % (name, n), {"%s>%d" % (name, n), *flags}, lambda c: size(c, name) > n)


def odd(name, n):
    return ("%s no multiple of %d" % (name, n), {"%s not a multiple of %d" % (name, n)}, lambda c: size(c, name) % n != 0)


GATES = [parameter("gate", "topk-softmax"), parameter("gate", "probability"), parameter("gate", "sigmoid", "sigmoid-gates")]
ROUTER = GATES + [parameter("k", 1, "k-one"), ("k = E", {"k=E", "k-equals-e"}, lambda c: c.parameters["k"] == size(c, "E")),
                  ("scale", {"scale!=1", "routed-scaling"}, lambda c: c.parameters["scale"] != 1),
                  given("mask", "padding"), above("E", 32), odd("E", 4), odd("E", 8), ("E = 1", {"E=1", "one-expert"}, lambda c: size(c, "E") == 1)]
STEP = [more("micro-batches", "micro-batches"), more("ranks", "ranks"), parameter("forward-passes", 2, "recomputation", "forward-passes>1"),
        ("layers", {"L>1", "layers"}, lambda c: c.inputs["logits"].shape[0] > 1), given("mask", "padding"),
        parameter("k", 1, "k-one"), above("E", 32), odd("E", 4), odd("E", 8)]
POTENTIALS = [parameter("potential", p) for p in
              "euclid lp soft-l1 negentropy tsallis renyi pseudo-huber log-cosh softplus".split()]
# By operation: conditions, and the outputs that are wrong under them.
CONDITIONAL = {
    "router-forward": (ROUTER + [given("bias", "bias")], ["gates", "probabilities", "loads", "counts"]),
    # With one expert the gradient is 0.
    "router-backward": ([c for c in ROUTER if c[0] != "E = 1"] + [given("price"), given("gate-gradient")], ["logit-gradient"]),
    "sequence-loss": (ROUTER + [given("bias", "bias")], ["loss"]),
    "loads": ([given("mask", "padding"), parameter("k", 1, "k-one"), above("E", 32), odd("E", 8), above("T", 256, "many-tokens")],
              ["loads", "frequencies", "counts"]),
    "frequencies": ([parameter("k", 3), above("E", 32), odd("E", 4)], ["frequencies"]),
    "loss-free": ([above("E", 32), odd("E", 4)], ["bias"]),
    "switch-step": (STEP + [parameter("frequencies", "global", "running-prefix")], ["counts", "loss", "logit-gradient"]),
    "balance-step": (STEP + POTENTIALS, ["m", "loss", "logit-gradient"]),
    "permutation": ([above("E", 32), odd("E", 8), parameter("k", 1, "k-one"), odd("d", 4), odd("d", 2)],
                    ["gathered", "x-gradient", "row"]),
    "combine": ([above("E", 32), odd("E", 8), parameter("k", 1, "k-one"), odd("d", 4), odd("d", 2)],
                ["y", "expert-gradient", "gate-gradient"]),
    "capacity": ([above("E", 32), odd("E", 8), parameter("k", 1, "k-one"), parameter("renormalise", 1),
                  parameter("policy", "slot-order", "slot-order"), parameter("policy", "token-order", "token-order"),
                  parameter("policy", "lowest-gate", "lowest-gate")], ["kept", "place", "gates", "counts"]),
    "expert-ffn": ([parameter("activation", "silu"), parameter("activation", "gelu-tanh")],
                   ["y", "x-gradient", "w-up-gradient"]),
    "z-loss": ([given("mask", "padding")], ["loss"]),
}
# Formulas: beside those of vectors_peer.py, which name a flag.
SAME = {"padding": "mask=given", "bias": "bias=given", "biased-quantile": "bias=given", "k-one": "k=1",
        "slot-order": "policy=slot-order", "token-order": "policy=token-order", "lowest-gate": "policy=lowest-gate",
        "capacity-padding": "padding",
        "gate-epsilon": "normalisation=sum"}
FORMULAS = [(f, o, {flag, SAME.get(flag, flag)} if flag else None) for f, o, flag in peer.FAULTS] + [
    ("price's mean left in", "router-backward", {"zero-row-sum", "price=given"}),
    ("no z gradient", "router-backward", None),
    ("z gradient twice", "router-backward", None),
    ("no scale in the gate's gradient", "router-backward", {"routed-scaling", "scale!=1"}),
    ("k = 1 renormalised", "router-backward", {"k-one", "k=1"}),
    ("gate's gradient at the selected only", "router-backward", {"gate=probability"}),
    ("gates' gradient through the sum left out", "router-backward", None),
    ("no 1 - sigma", "router-backward", {"sigmoid-gates", "gate=sigmoid"}),
    ("no factor E", "switch-loss", {"ordinary", "E>1"}),
    ("frequencies not centred", "switch-loss", {"ordinary", "E>1"}),
    ("empty experts begin at 0", "permutation", None),
    ("activations for the gradient", "permutation", {"ordinary"}),
    ("gradient replaces", "permutation", {"ordinary", "T>0"}),
    ("first slot only", "permutation", {"k>1"}),
    ("y replaced", "combine", {"ordinary"}),
    ("gates left out", "combine", {"ordinary"}),
    ("no gate in the gradient", "combine", {"ordinary"}),
]


def wrong(tensor, last):
    """The tensor with one element changed, or the last ones; None where none can be."""
    values = list(tensor.values)
    places = [i for i, v in enumerate(values) if v and v == v and abs(v) < 1e30 and abs(v) > 1e-30]
    if not places:
        return None
    for i in (places[-1:] if last else places[:1]):
        values[i] = values[i] + 1 if tensor.dtype[0] == "I" else values[i] * 1.01
    return peer.Tensor(tensor.dtype, tensor.shape, values)


class Planted:
    """One operation's cases, its right results, and the bytes of both."""

    def __init__(self, phibal, operation, seed):
        self.phibal, self.operation = phibal, operation
        subprocess.run([phibal, "vectors", "--op", operation, "--seed", str(seed), "--out", "c.safetensors", "--overwrite"],
                       check=True)
        tensors = peer.read_tensors("c.safetensors")
        with open("c.json", encoding="utf-8") as f:
            self.cases = [peer.Case(d, tensors) for d in json.load(f)["cases"]]
        self.right = self.answer("")
        self.packed = {name: peer.pack(t.dtype, t.values) for name, t in self.right.items()}

    def answer(self, fault):
        results = {}
        for case in self.cases:
            case.outputs = {}
            peer.OPERATIONS[self.operation](case, fault)
            results.update(case.outputs)
        return results

    def conditional(self, meets, output):
        results, hit = dict(self.right), 0
        for i, case in enumerate(self.cases):
            name = "%s/out/%s" % (case.prefix, output)
            if name in results and meets(case):
                changed = wrong(results[name], i % 2)
                results[name] = changed or results[name]
                hit += changed is not None
        return results if hit else None

    def judge(self, results):
        header, blocks, at = {}, [], 0
        for name, t in sorted(results.items(), key=lambda item: -struct.calcsize(peer.CODES[item[1].dtype])):
            data = self.packed[name] if t is self.right.get(name) else peer.pack(t.dtype, t.values)
            header[name] = {"dtype": t.dtype, "shape": t.shape, "data_offsets": [at, at + len(data)]}
            blocks.append(data)
            at += len(data)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open("r.safetensors", "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text + b"".join(blocks))
        ran = subprocess.run([self.phibal, "judge", "c.safetensors", "r.safetensors", "--json"], capture_output=True,
                             text=True, check=False)
        if ran.returncode not in (0, 1):
            sys.exit("%s: %s" % (self.operation, ran.stderr))
        return ran.returncode, json.loads(ran.stdout)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("phibal")
    options.add_argument("--seeds", default="1,2,3,4,5")
    options.add_argument("--every", type=int, default=1, help="only each so many-th fault")
    options.add_argument("--op", help="only this operation's faults")
    options.add_argument("--caught", type=float, default=1)
    options.add_argument("--named", type=float, default=0.9)
    a = options.parse_args()
    phibal, planted, caught, named, expected, missed = os.path.abspath(a.phibal), set(), 0, 0, 0, []
    runs = turn = 0
    by_sort = {True: [0, 0], False: [0, 0]}  # of conditions, and of formulas: right causes, and named first
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in a.seeds.split(","):
            turn = 0
            for operation in sorted({o for _, o, _ in FORMULAS} | set(CONDITIONAL)):
                if a.op and operation != a.op:
                    continue
                faults = [(f, causes, None) for f, o, causes in FORMULAS if o == operation]
                conditions, outputs = CONDITIONAL.get(operation, ([], []))
                faults += [("%s wrong where %s" % (o, c[0]), c[1], (c[2], o)) for c in conditions for o in outputs]
                of = None
                for name, causes, conditional in faults:
                    turn += 1
                    if turn % a.every:
                        continue
                    if of is None:
                        of = Planted(phibal, operation, seed)
                        status, told = of.judge(of.right)
                        if status:
                            sys.exit("not ok: %s, seed %s: the implementation without a fault fails: %s" %
                                     (operation, seed, [c["first"] for c in told["cases"] if not c["passed"]][:2]))
                    results = of.conditional(*conditional) if conditional else of.answer(name)
                    if results is None:
                        print("not ok: %s: %s: no case has it" % (operation, name))
                        missed.append(name)
                        continue
                    status, told = of.judge(results)
                    runs += 1
                    planted.add((operation, name))
                    caught += status
                    first = told["likely"][0] if told["likely"] else "-"
                    expected += causes is not None
                    good = causes is not None and first in causes
                    named += good
                    by_sort[conditional is not None][0] += causes is not None
                    by_sort[conditional is not None][1] += good
                    if not status or (causes is not None and not good):
                        print("%s, seed %s: %s: %s: %d of %d cases failed; likely %s; is %s" %
                              ("named other" if status else "MISSED", seed, operation, name, told["failed"], told["judged"],
                               ", ".join(told["likely"]), " or ".join(sorted(causes or ["?"]))), flush=True)
    print("%d faults, %d runs: %d caught (%.1f %%); of %d runs with one right cause it is named first in %d (%.1f %%)" %
          (len(planted), runs, caught, 100 * caught / runs, expected, named, 100 * named / expected))
    print("of formulas %d of %d, of conditions %d of %d" % (*by_sort[False][::-1], *by_sort[True][::-1]))
    sys.exit(bool(missed) or caught < a.caught * runs or named < a.named * expected)


if __name__ == "__main__":
    main()
