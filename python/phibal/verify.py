"""Test vectors as arrays, and phibal's judge on a Python function (spec/VECTORS.md)."""
from __future__ import annotations

import inspect
import json
import os
import subprocess
import tempfile
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

import numpy as np

from . import _library


class Case(NamedTuple):
    """One case of an operation. A name is as in VECTORS.md, with '_' for '-'; a parameter `experts` beside an input of this
    name is called experts_count."""
    id: str                        #: operation/seed/number, permanent
    kind: str                      #: the family of cases that it belongs to
    flags: List[str]               #: which bugs it can reveal (spec/flags.def)
    parameters: Dict[str, Any]     #: k, gate, alpha and so on
    inputs: Dict[str, np.ndarray]
    expected: Dict[str, np.ndarray]  #: float64: the exact result, rounded once; or integers
    bound: Dict[str, np.ndarray]     #: float64, of the outputs that are real: |result - expected| must not exceed it
    experts: Optional[np.ndarray] = None  #: the selection that (R2) makes, where it is neither input nor output


def _phibal(*arguments: str) -> subprocess.CompletedProcess:
    run = subprocess.run([_library.command(), *arguments], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise _library.ArgumentError(run.stderr.strip() or f"phibal {arguments[0]} ended with {run.returncode}")
    return run


def _python(name: str) -> str:
    return name.replace("-", "_")


class _Vectors:
    """The files of `phibal vectors`, in a folder that the caller removes."""

    def __init__(self, folder: str, op: str, seed: int, cases: Optional[int]):
        if cases is not None and (not isinstance(cases, int) or cases < 1):
            raise ValueError(f"cases: expected at least 1, or None, got {cases!r}")
        self.path = os.path.join(folder, "cases.npz")
        number = [] if cases is None else [f"--cases={cases}"]
        _phibal("vectors", f"--op={op}", *number, f"--seed={seed}", "--out", self.path)
        with open(self.path[:-4] + ".json", encoding="utf-8") as file:
            self.manifest = json.load(file)
        with np.load(self.path) as file:
            self.tensors = dict(file)

    def __iter__(self) -> Iterator[Case]:
        for c in self.manifest["cases"]:
            tensor = lambda part, names: {_python(n): self.tensors[f"{c['prefix']}/{part}/{n}"] for n in names
                                          if f"{c['prefix']}/{part}/{n}" in self.tensors}
            parameters = {_python(n) + "_count" * (n in c["inputs"]): v for n, v in c["parameters"].items()}
            yield Case(c["id"], c["kind"], c["flags"], parameters, tensor("in", c["inputs"]),
                       tensor("expected", c["outputs"]), tensor("bound", c["outputs"]),
                       self.tensors.get(f"{c['prefix']}/selection/experts"))


def vectors(op: str, seed: int = 1, cases: Optional[int] = None) -> Iterator[Case]:
    """The cases of an operation (`phibal verify --list` names them): inputs, expected outputs and a bound for each
    element; by default those of a file (VECTORS.md), among them the ones that combine features. The same arguments give
    the same bits on every machine."""
    with tempfile.TemporaryDirectory(prefix="phibal-") as folder:
        found = _Vectors(folder, op, seed, cases)
    yield from found


class Failure(NamedTuple):
    case: str   #: its id
    kind: str
    words: str  #: the first wrong element, its result, what was expected and its bound; or what the function raised


class Cause(NamedTuple):
    flag: str
    bug: str     #: what is probably wrong
    effect: str  #: of it
    seen: str    #: public bugs of this kind, or ''


class Report(NamedTuple):
    """What the judge says. verdict: 'verified', 'mismatch', 'not verified' (no case was answered)."""
    verdict: str
    op: str
    judged: int                  #: cases
    not_answered: int            #: cases for which the function returned None
    failures: List[Failure]
    causes: List[Cause]          #: those that explain the failures best, first the likeliest
    outputs: List[dict]          #: of each output: elements, wrong ones, worst error and bound in the unit of the promise
    not_judged: Sequence[str]    #: outputs that were left out

    def __str__(self) -> str:
        lines = [f"{self.op}: {self.verdict}; {self.judged} cases judged, {len(self.failures)} failed, "
                 f"{self.not_answered} not answered"]
        lines += [f"  {f.case} ({f.kind}): {f.words}" for f in self.failures[:10]]
        lines += [f"  ... and {len(self.failures) - 10} more"] * (len(self.failures) > 10)
        lines += [f"  likely: {c.bug}" + f" (seen: {c.seen})" * bool(c.seen) for c in self.causes]
        lines += [f"  not judged: {', '.join(self.not_judged)}"] * bool(self.not_judged)
        return "\n".join(lines)

    def markdown(self) -> str:
        """A section for a pull request."""
        rows = [f"| {o['output']} | {o['elements']} | {o['wrong']} | {o['worst']} | {o['bound']:g} {o['unit']} |"
                for o in self.outputs]
        text = [f"### {self.op}: {self.verdict}", "", f"{self.judged} cases judged, {len(self.failures)} failed, "
                f"{self.not_answered} not answered.", "", "| output | elements | wrong | worst | bound |",
                "| --- | --- | --- | --- | --- |", *rows, ""]
        text += [f"* `{f.case}`: {f.words}" for f in self.failures[:10]]
        text += [f"* likely: {c.bug}" + f" (seen: {c.seen})" * bool(c.seen) for c in self.causes]
        return "\n".join(text) + "\n"


def _as_numpy(name: str, value) -> np.ndarray:
    """Results from wherever they are, in a type that the judge takes."""
    if hasattr(value, "detach"):  # PyTorch's
        value = value.detach().cpu()
        if value.is_floating_point() and value.element_size() < 4:
            value = value.float()
        value = value.numpy()
    a = np.ascontiguousarray(value)
    if a.dtype == np.float16 or a.dtype == np.longdouble:
        a = a.astype(np.float32 if a.dtype == np.float16 else np.float64)
    if a.dtype.kind not in "fiu":
        raise TypeError(f"output {name}: expected numbers, got dtype {a.dtype}")
    return a


def _arguments(function: Callable, case: Case, to: Optional[Callable]) -> dict:
    """Those of the case's inputs and parameters that the function takes by name; all if it has **kwargs."""
    inputs = case.inputs if to is None else {n: to(a) for n, a in case.inputs.items()}
    given = {**inputs, **case.parameters}
    takes = inspect.signature(function).parameters.values()
    if case.experts is not None and any(p.name == "experts" for p in takes):
        given["experts"] = case.experts if to is None else to(case.experts)
    if any(p.kind == p.VAR_KEYWORD for p in takes):
        return given
    missing = [p.name for p in takes if p.name not in given and p.default is p.empty]
    if missing:
        raise TypeError(f"the function takes {', '.join(missing)}, which {case.id} does not have: it has {', '.join(given)}")
    names = {p.name for p in takes}
    ignored = [n for n in case.inputs if n not in names]
    if ignored:
        raise TypeError(f"{case.id} has an input {', '.join(ignored)}, which the function does not take")
    return {n: v for n, v in given.items() if n in names}


def judge(op: str, function: Callable, *, cases: Optional[int] = None, seed: int = 1, times: float = 1.0,
          format: Optional[str] = None, without: Sequence[str] = (), to: Optional[Callable] = None) -> Report:
    """Calls the function on each case, with the case's inputs and parameters by name ('-' written '_'), and judges the
    dictionary of outputs that it returns. None leaves a case out. An input the function has no name for raises.
    A function of loads, sequence-loss, balance-step or switch-step with an argument `experts` is given (R2)'s selection, [T, k]
    or [L T, k], -1 for padding: then no tie decides anything.
    An exception is the case's failure; where router-refusal expects a refusal, it is the refusal, and no place is judged.

    cases: how many by number; None for the default set, with those that combine features. times: bounds are multiplied by it (a softmax in binary32 keeps 128). format: 'bfloat16' or 'binary16' where results
    are in that format. without: outputs that are not judged. to: turns each input, a numpy array, into what the function
    takes: torch.from_numpy for example. Raises ValueError for an operation that is not there."""
    with tempfile.TemporaryDirectory(prefix="phibal-") as folder:
        return _judge(folder, _Vectors(folder, op, seed, cases), function, times, format, without, to)


def _judge(folder: str, files: _Vectors, function: Callable, times: float, format: Optional[str], without: Sequence[str],
           to: Optional[Callable]) -> Report:
    op = files.manifest["cases"][0]["operation"]
    results, raised, not_answered = {}, {}, 0
    known = sorted({n for row in files.manifest["cases"] for n in row["outputs"]})  # some cases have fewer: no mean of 0 tokens
    for case, row in zip(files, files.manifest["cases"]):
        arguments = _arguments(function, case, to)
        refusable = "refused" in row["outputs"] and bool(case.expected["refused"][0])
        try:
            try:
                outputs = function(**arguments)
            except Exception:  # of whatever class: right where a refusal is expected, and nowhere else
                if not refusable:
                    raise
                outputs = {"refused": np.array([1])}
            if outputs is None:
                not_answered += 1
                continue
            outputs = {_python(n): v for n, v in dict(outputs).items()}
            unknown = sorted(outputs.keys() - {_python(n) for n in known})
            if unknown:
                raise ValueError(f"{op} has no output {', '.join(unknown)}; it has {', '.join(known)}")
            answered = {f"{row['prefix']}/out/{n}": _as_numpy(n, outputs[_python(n)])
                        for n in row["outputs"] if _python(n) in outputs}
        except Exception as error:  # whatever it is, it is this case's answer
            raised[case.id] = Failure(case.id, case.kind, f"raised {type(error).__name__}: {error}")
            continue
        for n in row["outputs"]:  # what is left out is not judged: the exact result stands for it
            if _python(n) in map(_python, without):
                answered[f"{row['prefix']}/out/{n}"] = files.tensors[f"{row['prefix']}/expected/{n}"]
        results.update(answered)
    failures, causes, rows = list(raised.values()), [], []
    judged = len(raised)
    if results:
        path = os.path.join(folder, "results.npz")
        np.savez(path, **results)  # type: ignore[arg-type]
        options = [f"--times={times!r}", "--answered-only", "--json"] + ([f"--format={format}"] if format else [])
        report = json.loads(_phibal("judge", files.path, path, *options).stdout)
        kinds = {c["id"]: c["kind"] for c in files.manifest["cases"]}
        failures += [Failure(c["id"], kinds[c["id"]], c["first"]) for c in report["cases"] if "first" in c]
        known = files.manifest["flags"]  # what is no flag is a property of cases: gate=sigmoid, E>32
        causes = [Cause(name, *(known[name][k] for k in ("bug", "effect", "seen"))) if name in known else
                  Cause(name, f"what fails are cases with {name}", "", "") for name in report["likely"]]
        rows = [o for o in report["outputs"] if _python(o["output"]) not in map(_python, without)]
        judged += report["judged"]
    verdict = "mismatch" if failures else "verified" if judged else "not verified"
    return Report(verdict, op, judged, not_answered, failures, causes, rows, tuple(without))


EVENTS = ("forward", "recompute", "evaluate", "step", "reload", "cast")


def play(create: Callable, *, op: str = "trace", cases: Optional[int] = None, seed: int = 1, times: float = 1.0,
         to: Optional[Callable] = None) -> Report:
    """Plays traces (VECTORS.md): scripts of events around one layer's balancing, judged step by step. op: 'trace', the
    state between steps, or 'loss-trace', the auxiliary losses and their gradients.

    create(method, k, ranks, start, **settings) makes an implementation, or returns None for what it does not offer.
    ranks: how many there are; each micro-batch is of one. With trace, method is 'phi' with settings eta and track
    ('probability' or 'frequency'), 'loss-free' with rate and gate ('topk-softmax': logits and bias select; 'sigmoid':
    sigmoid scores and bias), 'quantile' with eta and gate, or 'phi-bias' with eta, strength, potential and for some
    parameter; start is m (phi, phi-bias, whose bias begins at 0) or the bias [E] to begin with. With loss-trace, method is 'switch',
    'switch-global', 'sequence' or 'z-loss', settings are gate, weights ('tokens' or 'micro-batches'), sequences (that each
    micro-batch consists of) and alpha; start is the selection's bias [E], which stays, or None. The implementation has the
    methods

        forward(logits, mask, rank)       a micro-batch of training: logits [T, E], mask [T] (0 is padding)
        checkpointed(logits, mask, rank)  the same without keeping activations: the forward pass, and the backward pass,
                                          which runs it again
        evaluate(logits, mask, rank)      a forward pass outside training
        step()                            the optimizer's step, of all ranks
        state()                           m (phi) or the bias, [E]: of traces of states
        save(), load(saved)               of a checkpoint: another instance loads it
        cast()                            the module's parameters become bfloat16

    With loss-trace step() returns what the forward passes since the last one came to, a dictionary: "gradients", one [T, E]
    for each of them in their order, with all factors by which they reach the parameters; and of "losses", one for each,
    "loss", the step's, and "counts" [E] those that there are.

    Scripts with events for which it has no method, or one that raises NotImplementedError, are left out. The other
    arguments and the report are those of `judge`; the first of its causes says which kind of event breaks what."""
    def run(method, k, ranks, events, rank, event_logits, event_mask, observe=None, m=None, bias=None, **settings):
        given = dict(method=method, k=k, ranks=ranks, start=m if bias is None else bias, **settings)
        try:
            return played(create, given, events, rank, observe, event_logits, event_mask, "m" if method == "phi" else "bias")
        except NotImplementedError:
            return None

    def played(create, given, events, rank, observe, event_logits, event_mask, name_of_state):
        player, states, steps = create(**given), [], []
        again = [i + 1 < len(events) and events[i + 1] == 1 for i in range(len(events))]
        names = ["checkpointed" if event == 1 else EVENTS[int(event)] for event in events]
        needs = {n for name in names for n in (("save", "load") if name == "reload" else (name,))}
        if player is None or not all(hasattr(player, name) for name in needs):
            return None
        for i, name in enumerate(names):
            if name == "reload":
                saved = player.save()
                player = create(**given)
                player.load(saved)
            elif name in ("step", "cast"):
                returned = getattr(player, name)()
                if name == "step" and observe is None:
                    steps.append(returned)
            elif not again[i]:  # a recomputed forward pass is one call, with its first run
                getattr(player, name)(event_logits[i], event_mask[i], int(rank[i]))
            if observe is not None and observe[i]:
                states.append(_as_numpy("state", player.state()).copy())
        if observe is not None:
            return {name_of_state: np.stack(states)}
        of = lambda name: [_as_numpy(name, v) for step in steps for v in step[name]]
        outputs = {"logit_gradient": np.stack(of("gradients"))}
        if all("losses" in step for step in steps):
            outputs["losses"] = np.stack(of("losses")).astype(np.float64)
        for name in ("loss", "counts"):
            if all(name in step for step in steps):
                outputs[name] = np.stack([_as_numpy(name, step[name]) for step in steps])
        return outputs
    return judge(op, run, cases=cases, seed=seed, times=times, to=to)


class _Check(NamedTuple):
    op: str
    function: Callable
    options: dict


def check(op: str, *, cases: Optional[int] = None, seed: Optional[int] = None, times: float = 1.0, format: Optional[str] = None,
          without: Sequence[str] = (), to: Optional[Callable] = None) -> Callable:
    """Makes a pytest test of a function that `judge` can call: one test for each kind of case.

        @phibal.check("router-forward", cases=100, times=8)
        def test_router(logits, k, gate, scale, bias=None, mask=None):
            return {"experts": ..., "gates": ..., "probabilities": ..., "counts": ..., "loads": ..., "frequencies": ...}

    seed: that of --phibal-seed, 1 unless set, where None. The other arguments are those of `judge`."""
    def mark(function: Callable) -> Callable:
        def test(phibal_kind):
            phibal_kind()
        test.__name__, test.__doc__, test.__module__ = function.__name__, function.__doc__, function.__module__
        options = dict(cases=cases, seed=seed, times=times, format=format, without=without, to=to)
        setattr(test, "_phibal", _Check(op, function, options))
        return test
    return mark
