"""transformers: its routers, the balancing loss and what Trainer makes of it, experts; on the CPU in binary32."""
import functools
import glob
import importlib
import inspect
import os
import re
import sys
import tempfile
import types

import torch
import transformers

from common import bug, counted, finite, ordered, peer, tensors

NAME = "transformers"

# What routers read of their configurations, beside sizes. Those with other names or more inputs are not played.
CONFIG = dict(n_group=1, topk_group=1, router_jitter_noise=0.0, moe_router_logit_softcapping=0.0, route_scale=1.0,
              router_scaling_factor=1.0, topk_method="greedy", use_expert_bias=True, moe_norm_min=0.0, scoring_func="sigmoid",
              expert_selection_fn="sigmoid", output_multiplier=1.0, zero_expert_num=0, n_shared_experts=0)


def make(router, E, k, scale, **options):
    config = dict(CONFIG, hidden_size=E, num_local_experts=E, num_experts=E, n_routed_experts=E, num_experts_per_tok=k,
                  norm_topk_prob=router.normalised, routed_scaling_factor=scale)
    module = router.made(types.SimpleNamespace(**{**config, **options}))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.eye(E) if parameter.shape == (E, E) else torch.zeros(parameter.shape))
    return module


def call(router, module, logits, bias):
    with torch.no_grad():
        correction = getattr(module, "e_score_correction_bias", None)
        if correction is not None:
            correction.copy_(bias)
        out = module(logits, bias) if "e_score_correction_bias" in inspect.signature(module.forward).parameters else module(logits)
    return out[1], out[2]


class Router:
    """A class that gives logits, gates and experts. Which gates they are, and whether it has a bias or a scale of its own, is
    found out by a trial."""

    def __init__(self, module, name, text):
        self.module, self.name, self.text = module, name, text
        self.made = getattr(importlib.import_module(f"transformers.models.{module}.modeling_{module}"), name)
        self.normalised, self.gates = True, None
        self.biased = "e_score_correction_bias" in text
        x = torch.tensor([[.5, -1.25, 2., .25, -.5, 1.]])
        p, s = x.softmax(-1), x.sigmoid()
        # softmax gates without renormalisation are what a class gives that has no norm_topk_prob, or has it off
        for self.normalised, self.gates, right in ((True, "topk-softmax", p[:, [2, 5, 0]] / p[:, [2, 5, 0]].sum()),
                                                   (True, "sigmoid", s[:, [2, 5, 0]] / s[:, [2, 5, 0]].sum()),
                                                   (False, "probability", p[:, [2, 5, 0]])):
            gates, experts = call(self, make(self, 6, 3, 1.0), x, torch.zeros(6))
            order = gates.argsort(-1, descending=True)
            if gates.shape == (1, 3) and torch.allclose(gates.gather(1, order), right, atol=1e-5) and \
                    experts.gather(1, order).tolist() == [[2, 5, 0]]:
                twice, _ = call(self, make(self, 6, 3, 2.0), x, torch.zeros(6))
                self.scaled = torch.allclose(twice, 2 * gates)
                return
        raise ValueError("gates of another kind")


def discovered():
    """All classes named ...TopKRouter that can be built and give such gates, and how many there are of others."""
    found, others = {}, []
    for path in sorted(glob.glob(os.path.join(os.path.dirname(transformers.__file__), "models", "*", "modeling_*.py"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for match in re.finditer(r"^class (\w*Top[kK]Router)\(nn\.Module\)", text, re.M):
            module = os.path.basename(os.path.dirname(path))
            try:
                found[match.group(1)] = Router(module, match.group(1), text[match.end():].split("\nclass ")[0])
            except Exception as error:
                others.append(f"{match.group(1)} ({type(error).__name__}: {error})")
    return found, others


ROUTERS, OTHERS = discovered()


def routed(router, p, i, module=None):
    x = tensors(i)
    T, E = x["logits"].shape
    if p["gate"] != router.gates or "mask" in x or T == 0 or ("bias" in x and not (router.biased and router.gates == "sigmoid")) or \
            (router.gates == "topk-softmax" and p["k"] == 1):
        return None
    module = module or make(router, E, p["k"], p["scale"])
    weights, experts = call(router, module, x["logits"], x.get("bias", torch.zeros(E)))
    # topk(sorted=False): the set is right in any order, so it is put into the order of the scores. A scale that is not the
    # router's is taken here.
    score = torch.sigmoid(x["logits"]) + x.get("bias", 0) if router.gates == "sigmoid" else x["logits"]
    score = score.gather(1, experts.clamp(0, E - 1))
    order = torch.argsort(score, dim=-1, descending=True, stable=True)
    return {"experts": experts.gather(1, order), "gates": weights.gather(1, order) * (1 if router.scaled else p["scale"])}


for _router in ROUTERS.values():
    peer(NAME, "router-forward", f"{_router.name} | {_router.gates}", "--ties", "any", "--times", "128", short=True)(
        functools.partial(routed, _router))
print("transformers, routers not played:", "; ".join(OTHERS), file=sys.stderr)


@bug(16, NAME, "gates are 0 / 0 = NaN where the sigmoids of all selected experts are 0 in binary32, below logits of -104: "
     "minimax_m2, minimax_m3_vl, laguna, flint, kolibri1", "", "router-forward", "all five, each of every case that it offers",
     "cases whose gates are NaN are left out")
def zero_sum(p, i, broken):
    outs = [routed(ROUTERS[name], p, i) for name in ("MiniMaxM2TopKRouter", "MiniMaxM3VLTopKRouter", "LagunaTopKRouter",
                                                     "FlintTopKRouter", "Kolibri1TopKRouter")]
    outs = [out for out in outs if out is not None]  # of a case with a bias Flint is not one
    nan = [out for out in outs if torch.isnan(out["gates"]).any()]
    if len(nan) not in (0, len(outs)):
        raise AssertionError("not all of them")
    return (nan[0] if broken else None) if nan else outs[0] if outs else None


@bug(17, NAME, "AXK2 masks experts of other groups with 0.0, which wins over negative biased scores (on purpose, as its model's "
     "code does)", "", "router-forward", "a second group whose biased scores are lower, one group allowed, a bias that is negative",
     "DeepseekV3TopkRouter with the same groups")
def masked_by_zero(p, i, broken):
    x = tensors(i)
    if p["gate"] != "sigmoid" or "mask" in x or "bias" not in x or len(x["logits"]) == 0:
        return None
    T, E = x["logits"].shape
    if E < 2:
        return None
    row = ROUTERS["AXK2TopkRouter" if broken else "DeepseekV3TopkRouter"]
    module = make(row, 2 * E, p["k"], p["scale"], n_group=2, topk_group=1)
    bias = x["bias"] - max(0, float(x["bias"].max()) + 2)  # the same for all: the order of scores stays, but for rounding
    wide = {"logits": torch.cat([x["logits"], torch.full((T, E), -200.0)], 1),
            "bias": torch.cat([bias, torch.full((E,), -1e6)])}
    return routed(row, dict(p), {n: v.numpy() for n, v in wide.items()}, module)


@bug(15, NAME, "NLLB-MoE: a forward pass in evaluation sets the capacity, which training then keeps", "", "router-forward",
     "a forward pass of one token in evaluation, then the case in training; the capacity is one that drops nothing",
     "without the pass in evaluation")
def capacity_of_evaluation(p, i, broken):
    from transformers.models.nllb_moe.modeling_nllb_moe import NllbMoeConfig, NllbMoeTop2Router
    x = tensors(i)
    T, E = x["logits"].shape
    if p["gate"] != "topk-softmax" or p["k"] != 2 or p["scale"] != 1 or "mask" in x or "bias" in x or T == 0:
        return None
    module = NllbMoeTop2Router(NllbMoeConfig(hidden_size=E, num_experts=E, expert_capacity=2 * T, second_expert_policy="all",
                                             router_bias=False, moe_eval_capacity_token_fraction=1.0))
    with torch.no_grad():
        module.classifier.weight.copy_(torch.eye(E))
        if broken:
            module.eval()(x["logits"][:1].clone())
        _, gates, _ = module.train()(x["logits"].clone())
    experts = torch.argsort(x["logits"], dim=-1, descending=True, stable=True)[:, :2]
    return {"experts": experts, "gates": gates.gather(1, experts)}


# The balancing loss: k times (L3), and layers pooled. Played without these two: divided by k, one layer.

def loss_of(p, i, divide_by_k, extra=False):
    from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func
    x = tensors(i)
    if p["micro-batches"] != 1 or x["logits"].shape[1] == 0:
        return None
    layers = [layer.clone().requires_grad_() for layer in x["logits"]]
    mask = x["mask"].reshape(1, -1) if "mask" in x else None
    loss = load_balancing_loss_func(tuple(layers), layers[0].shape[1], p["k"], mask)
    if extra:
        loss = loss + load_balancing_loss_func(tuple(layers), layers[0].shape[1], p["k"], torch.zeros(1, len(layers[0])))
    loss = loss * p["alpha"] / (p["k"] if divide_by_k else 1)
    loss.backward()
    return {"loss": loss.detach().repeat(len(layers)), "logit-gradient": torch.stack([layer.grad for layer in layers])}


@peer(NAME, "switch-step", "load_balancing_loss_func, as it is", "--ties", "any")
def loss_as_it_is(p, i):
    return loss_of(p, i, False)


@peer(NAME, "switch-step", "load_balancing_loss_func divided by k", "--ties", "any")
def loss_divided(p, i):
    return loss_of(p, i, True)


@bug(18, NAME, "load_balancing_loss_func of padding alone is 0 / 0 = NaN", "", "switch-step",
     "beside the case a micro-batch of padding alone, whose loss is 0", "without it")
def all_padding(p, i, broken):
    x = tensors(i)
    return loss_of(p, i, True, broken) if finite(x) and len(x["logits"]) == 1 and ("mask" not in x or x["mask"].any()) else None


@functools.cache
def trainer(E):
    """A Trainer on the CPU with a MixtralForCausalLM whose layers are replaced: router logits are given."""
    config = transformers.MixtralConfig(vocab_size=2, hidden_size=4, intermediate_size=4, num_hidden_layers=1,
                                        num_attention_heads=1, num_key_value_heads=1, num_local_experts=E, output_router_logits=True)
    model = transformers.MixtralForCausalLM(config)
    arguments = transformers.TrainingArguments(output_dir=tempfile.mkdtemp(), use_cpu=True, report_to=[])
    return transformers.Trainer(model=model, args=arguments)


def trained(p, x, micro_batches, processes=1):
    """The gradient of the balancing loss from Trainer.training_step, divided by k."""
    from transformers.modeling_outputs import MoeModelOutputWithPast
    _, T, E = x["logits"].shape
    t = trainer(E)
    t.model.num_experts_per_tok, t.model.router_aux_loss_coef = p["k"], p["alpha"]
    t.current_gradient_accumulation_steps = micro_batches
    t.accelerator.state._shared_state["num_processes"] = processes  # a process plays each, one after the other
    leaf, n = x["logits"][0].clone().requires_grad_(), T // micro_batches
    try:
        for part in leaf.split(n):
            t.model.model.forward = lambda **rest: MoeModelOutputWithPast(last_hidden_state=torch.zeros(1, n, 4),
                                                                          router_logits=(part,))
            ids = torch.zeros(1, n, dtype=torch.long)
            for _ in range(processes):  # the same tokens on each process, and the mean of the gradients as DDP takes it
                t.training_step(t.model, {"input_ids": ids, "labels": ids}, num_items_in_batch=torch.tensor(processes * T))
    finally:
        t.accelerator.state._shared_state["num_processes"] = 1
    return leaf.grad / processes / p["k"]


@bug(13, NAME, "Trainer's gradient accumulation: the balancing loss is added up over micro-batches, not averaged", "", "switch-step",
     "Trainer.training_step of MixtralForCausalLM for each micro-batch", "the gradient divided by the number of micro-batches")
def accumulated(p, i, broken):
    x = tensors(i)
    if "mask" in x or len(x["logits"]) != 1 or p["micro-batches"] == 1 or p["frequencies"] != "micro-batch":
        return None
    gradient = trained(p, x, p["micro-batches"])
    return {"logit-gradient": (gradient if broken else gradient / p["micro-batches"]).unsqueeze(0)}


@bug(14, NAME, "Trainer on several processes: the balancing loss is multiplied by their number",
     "[transformers #48690](https://github.com/huggingface/transformers/issues/48690)", "switch-step",
     "Trainer.training_step with num_processes = 2 and the same tokens on both, which are played one after the other",
     "one process")
def processes(p, i, broken):
    x = tensors(i)
    if "mask" in x or len(x["logits"]) != 1 or p["micro-batches"] != 1:
        return None
    return {"logit-gradient": trained(p, x, 1, 2 if broken else 1).unsqueeze(0)}


# Experts.

@peer(NAME, "expert-ffn", "MixtralExperts, one expert a row, and autograd")
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


def described(p, i, name, gate, *, scores, options=None, bias=False, groups="none", normalisations=("of-gate",), epsilon=0.0,
              score="of-gate", given=False, zero=False, scaled=True):
    """Gates and experts of a router that is described by parts, of the cases that the class can express; of tokens that count
    alone, since none takes a mask. `scores` of the logits only put an unordered selection into the order of the slots. A sum
    plus epsilon stands for a sum where it is the same in binary32."""
    x, back = counted(p, i)
    T, E = x["logits"].shape
    if p["normalisation"] == "of-gate" and gate in ("sigmoid", "sqrt-softplus"):
        if p["gate"] != gate or T == 0 or scores(x["logits"]).min() < 1e-10:
            return None
        p = {**p, "normalisation": "sum", "epsilon": epsilon}
    one_epsilon = p["normalisation"] != "sum" or abs(p["epsilon"] - epsilon) <= 1e-6 * epsilon
    if p["gate"] != gate or T == 0 or ("bias" in x and not bias) or p["group-score"] not in ("none", groups) or \
            p["normalisation"] not in normalisations or not one_epsilon or p.get("score", "of-gate") != score or \
            (p["selection"] == "given") != given or (p.get("zero-experts", 0) and not zero) or p.get("zero-gates") == "left-out":
        return None
    module, cls = name
    made = getattr(importlib.import_module(f"transformers.models.{module}.modeling_{module}"), cls)
    config = dict(CONFIG, hidden_size=E, num_local_experts=E, num_experts=E, n_routed_experts=E - p.get("zero-experts", 0),
                  zero_expert_num=p.get("zero-experts", 0), num_experts_per_tok=p["k"], routed_scaling_factor=p["scale"],
                  norm_topk_prob=p["normalisation"] != "none", n_group=max(p["groups"], 1), vocab_size=T,
                  topk_group=max(p["active-groups"], 1), **(options(p) if options else {}))
    router = made(types.SimpleNamespace(**config))
    correction = getattr(getattr(router, "moe_statics", router), "e_score_correction_bias", None)
    with torch.no_grad():
        for parameter in router.parameters():
            if parameter.shape == (E, E) and parameter is not correction:
                parameter.copy_(torch.eye(E))
        if correction is not None:
            correction.copy_(x.get("bias", torch.zeros(E)).expand(correction.shape))
        if given:
            router.tid2eid.copy_(x["given"])
            _, gates, experts = router(x["logits"], torch.arange(T))
        else:
            _, gates, experts = router(x["logits"])
    if not given:
        key = scores(x["logits"]) + x.get("bias", 0)
        order = torch.argsort(key.gather(1, experts), dim=-1, descending=True, stable=True)
        gates, experts = gates.gather(1, order), experts.gather(1, order)
    return back(experts, gates * (1 if scaled else p["scale"]))


def root(logits):
    return torch.nn.functional.softplus(logits).sqrt()


def softmax(logits):
    return logits.softmax(-1)


for _text, _name, _options in (
        ("`DeepseekV4TopKRouter` (R5s)", ("deepseek_v4", "DeepseekV4TopKRouter"),
         dict(gate="sqrt-softplus", scores=root, bias=True, normalisations=("sum",), epsilon=1e-20,
              options=lambda p: {"scoring_func": "sqrtsoftplus"})),
        ("`DeepseekV4HashRouter` (R5s), given selections", ("deepseek_v4", "DeepseekV4HashRouter"),
         dict(gate="sqrt-softplus", scores=root, normalisations=("sum",), epsilon=1e-20, given=True,
              options=lambda p: {"scoring_func": "sqrtsoftplus"})),
        ("`DeepseekV3TopkRouter` (R2g), (R5e)", ("deepseek_v3", "DeepseekV3TopkRouter"),
         dict(gate="sigmoid", scores=torch.sigmoid, bias=True, groups="two-largest", normalisations=("sum", "none"), epsilon=1e-20)),
        ("`DeepseekV2TopkRouter` (R2g), (R4)", ("deepseek_v2", "DeepseekV2TopkRouter"),
         dict(gate="probability", scores=softmax, groups="largest", normalisations=("of-gate", "none"),
              options=lambda p: {"topk_method": "group_limited_greedy" if p["groups"] else "greedy"})),
        ("`LongcatFlashTopkRouter` (R2p), experts that compute nothing", ("longcat_flash", "LongcatFlashTopkRouter"),
         dict(gate="probability", scores=softmax, bias=True, normalisations=("of-gate", "none"), score="probability", zero=True)),
        ("`Ernie4_5_MoeTopKRouter` (R2p), (R5e)", ("ernie4_5_moe", "Ernie4_5_MoeTopKRouter"),
         dict(gate="probability", scores=softmax, bias=True, normalisations=("sum",), score="probability",
              scaled=False))):
    peer(NAME, "described-router", _text, "--ties", "any", "--times", "128")(
        functools.partial(described, name=_name, **_options))


@peer(NAME, "zero-experts", "`LongcatFlashExperts`, identities beside experts whose weights are 0, and autograd", "--times", "128")
def longcat_experts(p, i):
    from transformers.models.longcat_flash.modeling_longcat_flash import LongcatFlashExperts
    x = tensors(i)
    if p["output"] != "identity" or len(x["x"]) == 0 or p["k"] == 1:  # of one slot it squeezes the mask to a vector, and raises
        return None
    E, Z, d = p["experts"], p["zero-experts"], x["x"].shape[1]
    module = LongcatFlashExperts(types.SimpleNamespace(expert_ffn_hidden_size=2, hidden_size=d, n_routed_experts=E - Z,
                                                       zero_expert_num=Z, hidden_act="silu"))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    own = x["experts"] >= 0  # a slot without an expert is one of expert 0 with the gate 0
    hidden, gates = x["x"].clone().requires_grad_(), torch.where(own, x["gates"], 0.0).requires_grad_()
    y = x["y"] + module(hidden, x["experts"].clamp(0).long(), gates)
    hidden.grad = x["x-gradient"].clone()
    (y * x["y-gradient"]).sum().backward()
    real = torch.where(x["experts"] < E - Z, x["experts"], -1)
    return {"real": real, "y": y, "x-gradient": hidden.grad, "gate-gradient": gates.grad * own}


@peer(NAME, "router-forward", "`Gemma4TextRouter` (R5f): factors of experts are powers of two, by which its gates are divided again",
      "--ties", "any", "--times", "128")
def gemma4(p, i):
    from transformers.models.gemma4.modeling_gemma4 import Gemma4TextRouter
    x = tensors(i)
    T, E = x["logits"].shape
    if p["gate"] != "topk-softmax" or "mask" in x or "bias" in x or T == 0 or p["k"] == 1:
        return None
    module = Gemma4TextRouter(types.SimpleNamespace(hidden_size=E, num_experts=E, top_k_experts=p["k"], rms_norm_eps=0.0))
    module.norm = torch.nn.Identity()
    factor = torch.exp2((torch.arange(E) % 7 - 3).float())
    with torch.no_grad():
        module.proj.weight.copy_(torch.eye(E))
        module.scale.fill_(1)
        module.scalar_root_size = 1.0
        module.per_expert_scale.copy_(factor)
        _, gates, experts = module(x["logits"])
    return {"experts": experts, "gates": gates / factor[experts] * p["scale"]}
