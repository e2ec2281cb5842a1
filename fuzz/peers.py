"""PyTorch, JAX and Hugging Face transformers, judged with phibal's vectors.

usage: peers.py PHIBAL [CASES [OPERATION ...]] > table.md

Each peer below computes what it can of each case, on the CPU, in binary32; `phibal judge` compares.
Needs safetensors and numpy, and for each peer its package; what is missing is said and left out.
"""
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections import Counter

import numpy as np
from safetensors.numpy import load_file, save_file

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None
try:
    import transformers
except ImportError:
    transformers = None
try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None

PEERS = []  # (name, operation, what is called, function(parameters, inputs, outputs wanted))


def peer(name, operation, what, needs):
    def add(function):
        if needs is not None:
            PEERS.append((name, operation, what, function))
        else:
            print(f"left out: {name}: its package is missing", file=sys.stderr)
        return function
    return add


def tensors(inputs):
    return {name: torch.from_numpy(np.array(x)) for name, x in inputs.items()}


# Routing. Where a mask or a bias is given that the function cannot take, the case is left out.

@peer("torch", "router-forward", "softmax, topk, bincount, mean: a router in five lines", torch)
def torch_router(p, i):
    x = tensors(i)
    if p["gate"] == "sigmoid" or "mask" in x or len(x["logits"]) == 0:
        return None
    logits, k = x["logits"], p["k"]
    probabilities = torch.softmax(logits, -1)
    _, experts = torch.topk(logits + x.get("bias", 0), k, -1)
    chosen = logits.gather(1, experts)
    gates = torch.softmax(chosen, -1) if p["gate"] == "topk-softmax" and k > 1 else \
        probabilities.gather(1, experts)
    counts = torch.bincount(experts.flatten(), minlength=logits.shape[1])
    return {"experts": experts, "gates": gates * p["scale"], "probabilities": probabilities,
            "logsumexp": torch.logsumexp(logits, -1), "counts": counts,
            "tokens": torch.tensor([len(logits)]), "loads": probabilities.mean(0),
            "frequencies": counts / (k * len(logits))}


@peer("jax", "router-forward", "jax.nn.softmax, lax.top_k, bincount, mean", jax)
def jax_router(p, i):
    if p["gate"] == "sigmoid" or "mask" in i or len(i["logits"]) == 0:
        return None
    logits, k = jnp.asarray(i["logits"]), p["k"]
    probabilities = jax.nn.softmax(logits, -1)
    _, experts = jax.lax.top_k(logits + i.get("bias", 0), k)
    chosen = jnp.take_along_axis(logits, experts, 1)
    gates = jax.nn.softmax(chosen, -1) if p["gate"] == "topk-softmax" and k > 1 else \
        jnp.take_along_axis(probabilities, experts, 1)
    counts = jnp.bincount(experts.flatten(), length=logits.shape[1])
    return {"experts": experts, "gates": gates * np.float32(p["scale"]),
            "probabilities": probabilities, "logsumexp": jax.nn.logsumexp(logits, -1),
            "counts": counts, "tokens": np.array([len(logits)]), "loads": probabilities.mean(0),
            "frequencies": counts / np.float32(k * len(logits))}


def routed(module, logits):
    """A router module whose weights are the identity: its logits are those of the case, exactly."""
    with torch.no_grad():
        module.weight.copy_(torch.eye(logits.shape[1]))
        _, gates, experts = module(logits)
    return {"experts": experts, "gates": gates}


@peer("transformers", "router-forward", "MixtralTopKRouter (gates renormalised)", transformers)
def mixtral_router(p, i):
    from transformers.models.mixtral.modeling_mixtral import MixtralConfig, MixtralTopKRouter
    x = tensors(i)
    E = x["logits"].shape[1]
    if p["gate"] != "topk-softmax" or p["k"] == 1 or p["scale"] != 1 or "mask" in x or "bias" in x \
            or len(x["logits"]) == 0:
        return None
    return routed(MixtralTopKRouter(MixtralConfig(
        hidden_size=E, num_local_experts=E, num_experts_per_tok=p["k"])), x["logits"])


@peer("transformers", "router-forward", "OlmoeTopKRouter (gates are probabilities)", transformers)
def olmoe_router(p, i):
    from transformers.models.olmoe.modeling_olmoe import OlmoeConfig, OlmoeTopKRouter
    x = tensors(i)
    E = x["logits"].shape[1]
    if p["gate"] != "probability" or p["scale"] != 1 or "mask" in x or "bias" in x \
            or len(x["logits"]) == 0:
        return None
    return routed(OlmoeTopKRouter(OlmoeConfig(
        hidden_size=E, num_experts=E, num_experts_per_tok=p["k"], norm_topk_prob=False)),
        x["logits"])


@peer("transformers", "router-forward", "DeepseekV3TopkRouter (sigmoid, bias, scale; one group)",
      transformers)
def deepseek_router(p, i):
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import (DeepseekV3Config,
                                                                      DeepseekV3TopkRouter)
    x = tensors(i)
    E = x["logits"].shape[1]
    if p["gate"] != "sigmoid" or "mask" in x or E < 2 or len(x["logits"]) == 0:
        return None
    module = DeepseekV3TopkRouter(DeepseekV3Config(
        hidden_size=E, n_routed_experts=E, num_local_experts=E, num_experts_per_tok=p["k"],
        n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=p["scale"]))
    module.e_score_correction_bias.copy_(x.get("bias", torch.zeros(E)))
    out = routed(module, x["logits"])
    # topk(sorted=False): the set is right in any order, so it is put into the order of the scores.
    score = (torch.sigmoid(x["logits"]) + module.e_score_correction_bias).gather(1, out["experts"])
    order = torch.argsort(score, dim=-1, descending=True, stable=True)
    return {name: out[name].gather(1, order) for name in out}


# Losses.

def hugging_face_loss(p, i, divide_by_k):
    from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func
    x = tensors(i)
    if p["micro-batches"] != 1 or x["logits"].shape[1] == 0:
        return None
    layers = [layer.clone().requires_grad_() for layer in x["logits"]]
    mask = x["mask"].reshape(1, -1) if "mask" in x else None
    loss = p["alpha"] * load_balancing_loss_func(tuple(layers), layers[0].shape[1], p["k"], mask)
    if divide_by_k:
        loss = loss / p["k"]
    loss.backward()
    return {"loss": loss.detach().repeat(len(layers)),
            "logit-gradient": torch.stack([layer.grad for layer in layers])}


@peer("transformers", "switch-step", "load_balancing_loss_func, as it is", transformers)
def loss_as_it_is(p, i):
    return hugging_face_loss(p, i, False)


@peer("transformers", "switch-step", "the same divided by k", transformers)
def loss_divided(p, i):
    return hugging_face_loss(p, i, True)


@peer("torch", "z-loss", "coefficient * (logsumexp ** 2)[mask].mean()", torch)
def torch_z_loss(p, i):
    x = tensors(i)
    squares = x["logsumexp"] ** 2
    if "mask" in x:
        squares = squares[x["mask"] != 0]
    return {"loss": (p["coefficient"] * squares.mean()).reshape(1)} if len(squares) else None


# Experts.

@peer("transformers", "expert-ffn", "MixtralExperts, one expert a row, and autograd", transformers)
def mixtral_experts(p, i):
    from transformers.models.mixtral.modeling_mixtral import MixtralConfig, MixtralExperts
    x = tensors(i)
    E, f, d = x["w-gate"].shape
    if len(x["x"]) == 0:
        return None
    activation = {"silu": "silu", "gelu-tanh": "gelu_pytorch_tanh"}[p["activation"]]
    config = MixtralConfig(hidden_size=d, intermediate_size=f, num_local_experts=E,
                           hidden_act=activation)
    config._experts_implementation = "eager"
    module = MixtralExperts(config)
    with torch.no_grad():
        module.gate_up_proj.copy_(torch.cat([x["w-gate"], x["w-up"]], 1))
        module.down_proj.copy_(x["w-down"])
    module.gate_up_proj.grad = torch.cat([x["w-gate-gradient"], x["w-up-gradient"]], 1).clone()
    module.down_proj.grad = x["w-down-gradient"].clone()
    rows = torch.diff(x["offsets"])
    expert = torch.repeat_interleave(torch.arange(E), rows).reshape(-1, 1)
    hidden = x["x"].clone().requires_grad_()
    y = module(hidden, expert, torch.ones(len(hidden), 1))
    y.backward(x["y-gradient"])
    gate_up = module.gate_up_proj.grad
    return {"y": y.detach(), "x-gradient": hidden.grad, "w-gate-gradient": gate_up[:, :f],
            "w-up-gradient": gate_up[:, f:], "w-down-gradient": module.down_proj.grad}


def array(x):
    return np.ascontiguousarray(x.numpy() if hasattr(x, "detach") else np.asarray(x))


def answer(function, operation, manifest, cases):
    results, answered = {}, []
    for case in manifest["cases"]:
        if case["operation"] != operation:
            continue
        inputs = {name: cases[f"{case['prefix']}/in/{name}"] for name in case["inputs"]}
        out = function(case["parameters"], inputs)
        if out is None:
            continue
        answered.append(case)
        for name, value in out.items():
            if name in case["outputs"]:
                results[f"{case['prefix']}/out/{name}"] = array(value)
    return results, answered


def judge(phibal, folder, operation, results, name):
    path = os.path.join(folder, name + ".safetensors")
    save_file(results, path)
    run = subprocess.run([phibal, "judge", os.path.join(folder, "cases.safetensors"), path,
                          "--op", operation, "--json"], capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)


def wrong_kinds(report, answered):
    wrong = {c["id"] for c in report["cases"] if c["wrong"] > 0}
    kinds = Counter(c["kind"] for c in answered)
    bad = Counter(c["kind"] for c in answered if c["id"] in wrong)
    return ", ".join(f"{kind} {n} of {kinds[kind]}" for kind, n in sorted(bad.items())) or "none"


def rows_of(report):
    for o in report["outputs"]:
        if o["elements"] == 0:
            continue
        exact = o["unit"] == "exact"
        worst = "" if exact else f"{float(o['worst']):.3g} {o['unit']}"
        bound = "exact" if exact else f"{o['bound']:g}"
        yield f"| {o['output']} | {o['wrong']} of {o['elements']} | {worst} | {bound} |"


def main():
    phibal, count = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "100"
    versions = [f"Python {platform.python_version()}"]
    versions += [f"{m.__name__} {m.__version__}" for m in (torch, transformers, jax) if m]
    with tempfile.TemporaryDirectory() as folder:
        cases_path = os.path.join(folder, "cases.safetensors")
        peers = [p for p in PEERS if len(sys.argv) < 4 or p[1] in sys.argv[3:]]
        operations = sorted({p[1] for p in peers})
        chosen = [word for operation in operations for word in ("--op", operation)]
        subprocess.run([phibal, "vectors", *chosen, "--cases", count, "--out", cases_path], check=True,
                       stdout=sys.stderr)
        cases = load_file(cases_path)
        with open(os.path.join(folder, "cases.json")) as f:
            manifest = json.load(f)
        print(f"{', '.join(versions)}; {platform.machine()}, CPU; {count} cases an operation, seed 1.\n")
        for n, (name, operation, what, function) in enumerate(peers):
            results, answered = answer(function, operation, manifest, cases)
            report = judge(phibal, folder, operation, results, str(n))
            print(f"### {name}: {what} (`{operation}`)\n")
            print("| output | wrong elements | worst | promised |\n| --- | --- | --- | --- |")
            for row in rows_of(report):
                print(row)
            print(f"\n{len(answered)} cases; with a wrong element: {wrong_kinds(report, answered)}")
            print()


if __name__ == "__main__":
    main()
