"""deepspeed: TopKGate and its gating functions, AutoEP's router; on the CPU. The weights are the identity."""
import os

import torch

from common import bug, finite, peer, tensors

os.environ.setdefault("DS_ACCELERATOR", "cpu")  # unset, it says on standard output that it looked for one

from deepspeed.moe.ep_router import TokenChoiceTopKRouter
from deepspeed.moe.sharded_moe import TopKGate, top1gating, topkgating

NAME = "deepspeed"


def gate(E, k, T):
    """No token is dropped: an expert has room for all."""
    module = TopKGate(E, E, k, capacity_factor=float(E), min_capacity=0, use_rts=False, top2_2nd_expert_sampling=False)
    torch.nn.init.eye_(module.wg.weight)
    return module


def gated(p, x, mask):
    T, E = x["logits"].shape
    if T == 0 or "bias" in x or T * T * E * p["k"] > 1 << 24 or p["gate"] != ("probability" if p["k"] == 1 else "topk-softmax"):
        return None
    with torch.no_grad():
        loss, weights, _, counts = gate(E, p["k"], T)(x["logits"].clone(), None if mask is None else mask)
    weights = weights.sum(2)
    experts = torch.argsort(x["logits"], dim=-1, descending=True, stable=True)[:, :p["k"]]
    gates = weights.gather(1, experts)
    if mask is not None:
        experts = torch.where(((weights != 0).sum(1) == 0).unsqueeze(1) & (mask == 0).unsqueeze(1), -1, experts)
    return {"experts": experts, "gates": gates * p["scale"], "counts": counts}


@peer(NAME, "router-forward", "TopKGate with room for all tokens", "--ties", "any", "--times", "128")
def router(p, i):
    x = tensors(i)
    return None if "mask" in x else gated(p, x, None)


@bug(21, NAME, "TopKGate does not pass used_token on for k >= 2: padding is routed and counted",
     "[DeepSpeed #1700](https://github.com/deepspeedai/DeepSpeed/pull/1700)", "router-forward",
     "cases with a mask whose padding is finite, k >= 2", "cases without a mask")
def used_token(p, i, broken):
    x = tensors(i)
    if not finite(x) or p["k"] < 2 or (not broken and "mask" in x):
        return None
    return gated(p, x, x["mask"].float() if "mask" in x else None)


@bug(22, NAME, "top1gating without random token selection keeps arbitrary tokens of equal rank (as 8)", "", "capacity",
     "k = 1, in the order of tokens", "topkgating with the policy \"position\"", options=())
def first_tokens(p, i, broken):
    experts = tensors(i)["experts"]
    (T, k), E = experts.shape, p["experts"]
    if k != 1 or T == 0 or p["policy"] == "lowest-gate" or (experts < 0).any() or T < p["minimum"] or T * E * p["limit"] > 1 << 22:
        return None
    logits = torch.full((T, E), -9.0).scatter(1, experts.long(), 9.0)
    given = (logits, p["factor"], p["minimum"])
    _, _, kept, counts = top1gating(*given, use_rts=False) if broken else topkgating(logits, 1, *given[1:], drop_policy="position")
    kept = kept.any(2)
    return {"kept": torch.where(kept.gather(1, experts.long()), experts, -1), "counts": counts, "dropped": counts - kept.sum(0)}


@peer(NAME, "router-forward", "AutoEP's TokenChoiceTopKRouter", "--ties", "any", "--times", "128")
def autoep(p, i):
    x = tensors(i)
    sigmoid = p["gate"] == "sigmoid"
    if "mask" in x or len(x["logits"]) == 0 or ("bias" in x and not sigmoid) or (p["gate"] == "topk-softmax" and p["k"] == 1):
        return None
    E = x["logits"].shape[1]
    module = TokenChoiceTopKRouter(E, E, None, None, p["k"], "sigmoid" if sigmoid else "softmax", p["gate"] != "probability",
                                   p["scale"], False)
    torch.nn.init.eye_(module.gate.weight)
    with torch.no_grad():
        gates, experts, counts = module(x["logits"], x.get("bias"))
    score = (torch.sigmoid(x["logits"]) + x.get("bias", 0) if sigmoid else x["logits"]).gather(1, experts)
    order = torch.argsort(score, dim=-1, descending=True, stable=True)  # topk(sorted=False)
    return {"experts": experts.gather(1, order), "gates": gates.gather(1, order), "counts": counts}
