#!/usr/bin/env python3
"""Faults, planted one at a time in the independent implementation of vectors_peer.py: is each caught with the default
cases, and does the judge name its cause first, or second?

usage: vectors_faults.py PHIBAL [--seeds 1,2,...] [--every N] [--op NAME,...] [--caught SHARE] [--named SHARE] [--second SHARE]
       vectors_faults.py PHIBAL --flags [--seeds 1]

Two sorts of fault: formulas done wrong (in vectors_peer.py), and kernels that are wrong only under a condition: one gate,
one potential, a mask, more than 32 experts, the last ones when E is no multiple of 4. Which cause is the right one is
written beside each; a flag and the property that it stands for count alike. Without --seeds it is seed 1, with PHIBAL_ALL
set 1 to 5. Exit status 1 where less than the given shares are caught, named first, or named first or second; where a flag
of spec/flags.def is no fault's cause, or, of all faults, first or second for none; and where of all operations there are
fewer than 250 faults. The last line but one has all that was counted, lines before it each operation's.

--flags: of each flag of spec/flags.def one fault must be refused for which the judge names this flag, and no property that
stands for it, first or second.
"""
import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
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
        "gate-epsilon": "normalisation=sum", "sqrt-softplus": "gate=sqrt-softplus",
        "probability-scores": "score=probability", "zero-gates": "zero-gates=left-out", "zero-gates-counted": "zero-gates=counted"}
FORMULAS = [(f, o, {n for flag in flags.split() for n in (flag, SAME.get(flag, flag))} if flags else None)
            for f, o, flags in peer.FAULTS] + [
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


def faults_of(operation):
    """(name, causes, None or a condition and the output that is wrong under it)."""
    conditions, outputs = CONDITIONAL.get(operation, ([], []))
    return [(f, causes, None) for f, o, causes in FORMULAS if o == operation] + \
        [("%s wrong where %s" % (o, c[0]), c[1], (c[2], o)) for c in conditions for o in outputs]


def flags_of_catalogue():
    with open(os.path.join(HERE, "../../spec/flags.def"), encoding="utf-8") as f:
        return re.findall(r'^PHIBAL_FLAG\([A-Z0-9_]+, "([^"]+)"', f.read(), re.M)


def place(told, causes):
    """0 where the first of the likely causes is one of these, 1 where the second is; 2 if neither."""
    return next((i for i, name in enumerate(told["likely"][:2]) if name in causes), 2)


def each_flag(phibal, seeds, operations):
    """Whether each flag is named first or second for one of its faults; those that are not."""
    left, named = set(flags_of_catalogue()), [0, 0]
    for seed in seeds:
        for operation in operations:
            of = None
            for name, causes, conditional in faults_of(operation):
                wanted = left & (causes or set())
                if not wanted:
                    continue
                of = of or Planted(phibal, operation, seed)
                results = of.conditional(*conditional) if conditional else of.answer(name)
                status, told = of.judge(results) if results else (0, {"likely": []})
                for flag in sorted(wanted):
                    if status and place(told, {flag}) < 2:
                        named[place(told, {flag})] += 1
                        left.remove(flag)
    for flag in sorted(left):
        print("not ok: %s is first or second for no fault" % flag)
    print("%d flags first, %d second, %d neither" % (*named, len(left)))
    return left


def main():
    options = argparse.ArgumentParser()
    options.add_argument("phibal")
    options.add_argument("--seeds", default="1,2,3,4,5" if os.environ.get("PHIBAL_ALL") else "1")
    options.add_argument("--every", type=int, default=1, help="only each so many-th fault")
    options.add_argument("--op", help="only these operations' faults")
    options.add_argument("--flags", action="store_true")
    options.add_argument("--caught", type=float, default=1)
    options.add_argument("--named", type=float, default=0.9)
    options.add_argument("--second", type=float, default=0.97)
    a = options.parse_args()
    phibal, seeds = os.path.abspath(a.phibal), a.seeds.split(",")
    operations = sorted({o for _, o, _ in FORMULAS} | set(CONDITIONAL))
    operations = [o for o in operations if not a.op or o in a.op.split(",")]
    unnamed = set(flags_of_catalogue()) - {n for o in operations for _, causes, _ in faults_of(o) for n in causes or ()}
    if unnamed and not a.op:
        print("not ok: no fault has as its cause: %s" % ", ".join(sorted(unnamed)))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if a.flags:
            sys.exit(bool(each_flag(phibal, seeds, operations)))
        planted, caught, runs, turn, missed, left = set(), 0, 0, 0, [], set(flags_of_catalogue())
        by_sort = {True: [0, 0, 0], False: [0, 0, 0]}  # of conditions, and of formulas: first, second, neither
        rows = {o: [0, 0, 0, 0, 0] for o in operations}  # runs, caught, first, second, neither
        for seed in seeds:
            turn = 0
            for operation in operations:
                of = None
                for name, causes, conditional in faults_of(operation):
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
                    at = place(told, causes or ())
                    left -= {flag for flag in left & (causes or set()) if status and place(told, {flag}) < 2}
                    by_sort[conditional is not None][at] += causes is not None
                    rows[operation][0] += 1
                    rows[operation][1] += status
                    rows[operation][2 + at] += causes is not None
                    if not status or (causes is not None and at):
                        print("%s, seed %s: %s: %s: %d of %d cases failed; likely %s; is %s" %
                              ("MISSED" if not status else "named second" if at == 1 else "named other", seed, operation, name,
                               told["failed"], told["judged"], ", ".join(told["likely"]), " or ".join(sorted(causes or ["?"]))),
                              flush=True)
    first, second, neither = map(sum, zip(*by_sort.values()))
    expected = first + second + neither
    for o in operations:
        print("%s: %d faults, %d runs, %d caught; of %d with one cause %d first, %d second" % (
            o, sum(p[0] == o for p in planted), *rows[o][:2], sum(rows[o][2:]), *rows[o][2:4]))
    whole = a.every == 1 and not a.op
    few = whole and len(planted) < 250
    for flag in sorted(left) if whole else ():
        print("not ok: %s is first or second for no fault" % flag)
    if few:
        print("not ok: only %d faults" % len(planted))
    print("%d faults, %d runs: %d caught (%.1f %%); of %d runs with one right cause it is named first in %d (%.1f %%), "
          "first or second in %d (%.1f %%)" % (len(planted), runs, caught, 100 * caught / runs, expected, first,
                                               100 * first / expected, first + second, 100 * (first + second) / expected))
    print("of formulas first %d, second %d, neither %d; of conditions %d, %d, %d" % (*by_sort[False], *by_sort[True]))
    sys.exit(bool(missed or few or (whole and left) or (unnamed and not a.op)) or caught < a.caught * runs or first < a.named * expected or
             first + second < a.second * expected)


if __name__ == "__main__":
    main()
