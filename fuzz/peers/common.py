"""What the peers share: the table of players, and phibal's judge on them."""
import json
import os
import subprocess
import sys
from collections import Counter
from typing import Callable, NamedTuple, Optional, Sequence

os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # Megatron compiles small functions; here that only takes time
import numpy as np
from safetensors.numpy import load_file, save_file

try:
    import torch
except ImportError:
    torch = None


class Peer(NamedTuple):
    package: str       #: the distribution on PyPI
    operation: str
    what: str          #: which function or class, with which options
    play: Callable     #: (parameters, inputs) of a case to its outputs, or None where it does not offer the case
    options: Sequence[str] = ()  #: of the judge
    short: bool = False  #: one of many of a kind: a row of a table, and `what` has its first two cells


class Bug(NamedTuple):
    number: int
    package: str
    what: str          #: in one line
    thread: str        #: the public one, or ''
    operation: str     #: '': no operation of phibal sees it; `why` says why
    trigger: str       #: how the case is played so that the bug can show
    play: Callable     #: (p, i, broken) as a peer's, or of traces (case, broken), a player; not broken: without the trigger,
                       #: and what fails then too is not the bug's
    without: str = ""  #: how the trigger is left out
    options: Sequence[str] = ("--ties", "any", "--times", "128")
    why: str = ""


PEERS, BUGS = [], []
TRACES = ("trace", "loss-trace")  # a player is a class there, and phibal.play plays it


def peer(package, operation, what, *options, short=False):
    def add(function):
        PEERS.append(Peer(package, operation, what, function, options, short))
        return function
    return add


def bug(number, package, what, thread, operation, trigger, without="", **rest):
    def add(function):
        BUGS.append(Bug(number, package, what, thread, operation, trigger, function, without, **rest))
        return function
    return add


def refusal(router):
    """A player of router-forward as one of router-refusal (R9): what raises has refused."""
    def play(p, i):
        try:
            return None if router(p, i) is None else {"refused": np.array([0])}
        except Exception:
            return {"refused": np.array([1])}
    return play


def tensors(inputs):
    return {name: torch.from_numpy(np.array(x)) for name, x in inputs.items()}


def array(x):
    return np.ascontiguousarray(x.detach().numpy() if hasattr(x, "detach") else np.asarray(x))


def finite(x):
    """Whether padding, too, has finite logits: many functions multiply by the mask, and 0 times NaN is NaN."""
    return bool(torch.isfinite(x["logits"]).all())


def ordered(gates, selected, score):
    """The selected experts [T, E] of each token by descending score, with their gates, as phibal gives them."""
    k = int(selected.sum(-1).max())
    experts = torch.argsort(score.masked_fill(~selected, float("-inf")), dim=-1, descending=True, stable=True)[:, :k]
    return {"experts": experts, "gates": gates.gather(1, experts)}


def counted(p, i):
    """A described router's inputs with the logits and given routes of the tokens that count alone, for what takes no mask; and
    a function that puts results of these back among the others."""
    x = tensors(i)
    counts = x["mask"] != 0 if "mask" in x else torch.ones(len(x["logits"]), dtype=torch.bool)
    x.update({name: x[name][counts] for name in ("logits", "given") if name in x})

    def back(experts, gates):
        out = {"experts": torch.full((len(counts), p["k"]), -1), "gates": torch.zeros(len(counts), p["k"])}
        out["experts"][counts], out["gates"][counts] = experts, gates.float()
        return out
    return x, back


def summed(p, epsilon, scores):
    """Whether a described router's gates are y over its sum plus epsilon, in binary32; without an epsilon they are where no
    score is small."""
    if p["normalisation"] == "sum" and p["epsilon"] > 0:
        return abs(p["epsilon"] - epsilon) <= 1e-6 * epsilon
    return p["normalisation"] in ("sum", "of-gate") and bool(scores.min() > 1e-10)


class Cases:
    """The files of `phibal vectors` for one operation: the default cases, and MORE by number."""

    def __init__(self, phibal, folder, operation, more=0):
        self.phibal, self.folder, self.files = phibal, folder, []
        for count in (0, more) if more else (0,):
            path = os.path.join(folder, f"{operation}-{count}.safetensors")
            subprocess.run([phibal, "vectors", "--overwrite", "--op", operation, "--out", path,
                            *(["--cases", str(count)] if count else [])], check=True, stdout=subprocess.DEVNULL)
            with open(path.replace(".safetensors", ".json")) as file:
                self.files.append((path, load_file(path), json.load(file)["cases"]))

    def judge(self, play, options=()):
        """Plays all cases: {"failing": kind and words by id, "played": number, "likely": causes, "outputs": of the judge}."""
        merged = {"failing": {}, "played": 0, "likely": [], "outputs": {}, "kinds": Counter(), "bad_kinds": Counter(),
                  "seen": set()}
        for file in self.files:
            self._judge(merged, *file, play, options)
        return merged

    def _judge(self, merged, path, given, cases, play, options):
        results, names, kinds, raised = {}, set(), {}, {}
        for case in cases:
            if case["id"] in merged["seen"]:
                continue
            try:
                out = play(case["parameters"], {name: given[f"{case['prefix']}/in/{name}"] for name in case["inputs"]})
            except NotImplementedError:
                continue
            except Exception as error:
                raised[case["id"]] = f"raised {type(error).__name__}: {str(error).splitlines()[0]}"
                out = {}
            if out is None:
                continue
            kinds[case["id"]] = case["kind"]
            for name, value in out.items():
                names |= {name} & case["outputs"].keys()
                if name in case["outputs"] or name == "experts":  # the selection of a loss, by which it is judged
                    results[f"{case['prefix']}/out/{name}"] = array(value)
        failing = {i: (kinds[i], words) for i, words in raised.items()}
        if results:
            answers = os.path.join(self.folder, "results.safetensors")
            save_file(results, answers)
            run = subprocess.run([self.phibal, "judge", path, answers, "--json", "--answered-only", "--outputs",
                                  ",".join(sorted(names)), *options], capture_output=True, text=True)
            assert run.returncode in (0, 1), run.stderr
            report = json.loads(run.stdout)
            failing.update({c["id"]: (kinds[c["id"]], c.get("first", "")) for c in report["cases"]
                            if c["answered"] and not c["passed"] and c["id"] in kinds})
            merged["likely"] += [cause for cause in report["likely"] if cause not in merged["likely"]]
            for o in report["outputs"]:
                if o["output"] in names and o["elements"]:
                    old = merged["outputs"].setdefault(o["output"], dict(o, elements=0, wrong=0, worst=0.0))
                    old.update(elements=old["elements"] + o["elements"], wrong=old["wrong"] + o["wrong"],
                               worst=max(float(old["worst"]), float(o["worst"])))
        merged["failing"].update(failing)
        merged["played"] += len(kinds)
        merged["seen"] |= kinds.keys()
        merged["kinds"] += Counter(kinds.values())
        merged["bad_kinds"] += Counter(kind for kind, _ in failing.values())


class BiasPlayer:
    """What players of loss-free balancing share: `module`, whose bias is its attribute `bias`, and `run(logits, mask)`."""
    bias = ""

    def evaluate(self, logits, mask, rank):
        self.module.eval()
        with torch.no_grad():
            self.run(torch.from_numpy(logits), torch.from_numpy(mask) != 0)
        self.module.train()

    def state(self):
        return getattr(self.module, self.bias)

    def save(self):
        return self.module.state_dict()

    def load(self, saved):
        self.module.load_state_dict(saved)

    def cast(self):
        self.module.bfloat16()

    @classmethod
    def offered(cls, **case):
        return cls(**case) if case["method"] == "loss-free" else None


def missing(package, error):
    print(f"left out: {package}: {error}", file=sys.stderr)
