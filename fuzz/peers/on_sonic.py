"""sonic-moe: the two functions of its MoE that are PyTorch alone: routing weights and Switch loss. Its kernels need a GPU and
quack and cutlass, which are replaced by empty modules so that it can be imported."""
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from unittest.mock import MagicMock

import torch

from common import finite, peer, tensors

NAME = "sonic-moe"


class Empty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("quack", "cutlass", "cuda"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__spec__ = [], spec
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Empty())
try:
    from sonicmoe.moe import MoE
finally:
    del sys.meta_path[0]


def self_of(k):
    out = types.SimpleNamespace(router=lambda x: x, top_k=k, num_experts_per_tok=k)
    out._get_topk = types.MethodType(MoE._get_topk, out) if hasattr(MoE, "_get_topk") else None
    return out


@peer(NAME, "router-forward", "MoE._compute_routing_weights", "--ties", "any", "--times", "128")
def router(p, i):
    x = tensors(i)
    if p["gate"] != "topk-softmax" or p["k"] == 1 or "mask" in x or "bias" in x or len(x["logits"]) == 0:
        return None
    _, gates, experts = MoE._compute_routing_weights(self_of(p["k"]), x["logits"])
    return {"experts": experts, "gates": gates * p["scale"]}


@peer(NAME, "switch-step", "MoE._compute_switch_loss", "--ties", "any")
def switch(p, i):
    x = tensors(i)
    if "mask" in x or p["micro-batches"] != 1 or x["logits"].shape[1] == 0:
        return None
    losses, gradients = [], []
    for layer in x["logits"]:
        leaf = layer.clone().requires_grad_()
        counts = torch.bincount(torch.topk(leaf.detach(), p["k"]).indices.flatten(), minlength=leaf.shape[1])
        loss = p["alpha"] * MoE._compute_switch_loss(None, leaf, torch.softmax(leaf, -1), counts)
        loss.backward()
        losses.append(loss.detach())
        gradients.append(leaf.grad)
    return {"loss": torch.stack(losses), "logit-gradient": torch.stack(gradients)}
