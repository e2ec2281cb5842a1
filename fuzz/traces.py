#!/usr/bin/env python3
"""Plays traces (spec/VECTORS.md) to the real loss-free balancing of frameworks from PyPI, on the CPU: the router's own
counting, bias and update; the product with the router's weights is the identity, so that the logits are the trace's.

usage: PHIBAL_BUILD=build PYTHONPATH=python fuzz/traces.py

Prints a report for each framework that is installed. What an implementation has no way to say (a mask, softmax scores)
leaves the script out.
"""
import importlib.metadata
import os
import tempfile

import torch
from torch.utils.checkpoint import checkpoint

import phibal


class Player:
    """What the frameworks share: a module whose bias is the state."""

    def run(self, logits, mask):
        raise NotImplementedError

    def forward(self, logits, mask, rank):
        self.run(torch.from_numpy(logits).requires_grad_(), torch.from_numpy(mask) != 0).sum().backward()

    def checkpointed(self, logits, mask, rank):
        x, mask = torch.from_numpy(logits).requires_grad_(), torch.from_numpy(mask) != 0
        checkpoint(lambda y: self.run(y, mask), x, use_reentrant=self.reentrant).sum().backward()

    def evaluate(self, logits, mask, rank):
        self.module.eval()
        with torch.no_grad():
            self.run(torch.from_numpy(logits), torch.from_numpy(mask) != 0)
        self.module.train()

    def save(self):
        return self.module.state_dict()

    def load(self, saved):
        self.module.load_state_dict(saved)

    def cast(self):
        self.module.bfloat16()


class Megatron(Player):
    """megatron-core: TopKRouter with moe_router_enable_expert_bias, finalize_model_grads' update."""

    def __init__(self, reentrant, groups, start, k, rate, gate, method, ranks):
        from megatron.core.transformer.moe.router import TopKRouter
        from megatron.core.transformer.transformer_config import TransformerConfig
        if gate != "sigmoid":
            raise NotImplementedError("expert bias needs sigmoid scores")
        E = len(start)
        config = TransformerConfig(num_layers=1, hidden_size=E, num_attention_heads=1, num_moe_experts=E, moe_router_topk=k,
                                   moe_router_load_balancing_type="none", moe_aux_loss_coeff=0.0, ffn_hidden_size=4,
                                   use_cpu_initialization=True, add_bias_linear=False, moe_router_dtype="fp32",
                                   moe_router_score_function="sigmoid", moe_router_enable_expert_bias=True,
                                   moe_router_bias_update_rate=rate)

        class OnCpu(TopKRouter):
            def gating(self, x):
                return x.float()
        self.module = OnCpu(config, groups).train()
        self.reentrant, self.rate = reentrant, rate
        self.module.expert_bias.copy_(torch.from_numpy(start))

    def run(self, x, mask):
        probs, _ = self.module(x.unsqueeze(1), None if bool(mask.all()) else (~mask).unsqueeze(1))
        return probs

    def step(self):
        from megatron.core.transformer.moe.moe_utils import get_updated_expert_bias
        m = self.module
        m.expert_bias.copy_(get_updated_expert_bias(m.local_tokens_per_expert, m.expert_bias, self.rate))
        m.local_tokens_per_expert.zero_()

    def state(self):
        return self.module.expert_bias


class Olmo(Player):
    """ai2-olmo-core: MoELinearRouter with bias_gamma, post_batch."""

    def __init__(self, reentrant, start, k, rate, gate, method, ranks):
        from olmo_core.nn.moe.router import MoELinearRouter, MoERouterGatingFunction
        if gate != "sigmoid":
            raise NotImplementedError("the bias is added to probabilities, not to logits")
        E = len(start)
        self.module = MoELinearRouter(d_model=E, num_experts=E, top_k=k, bias_gamma=rate, init_device="cpu",
                                      gating_function=MoERouterGatingFunction.sigmoid).train()
        torch.nn.init.eye_(self.module.weight.data.view(E, E))
        self.module.score_bias.copy_(torch.from_numpy(start))
        self.reentrant = reentrant

    def run(self, x, mask):
        if not mask.all():
            raise NotImplementedError("padding")
        return self.module(x.unsqueeze(0))[0]

    def step(self):
        self.module.post_batch()

    def state(self):
        return self.module.score_bias


def play(name, package, make, *arguments):
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        print(f"## {name}: {package} is not installed\n")
        return
    for reentrant in (True, False):
        def create(method, **case):
            return make(reentrant, *arguments, method=method, **case) if method == "loss-free" else None
        print(f"## {name} {version}, checkpointing {'reentrant' if reentrant else 'non-reentrant'}\n\n{phibal.play(create)}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("gloo", init_method=f"file://{os.path.join(folder, 'store')}", rank=0, world_size=1)
        try:
            from megatron.core import parallel_state
            from megatron.core.process_groups_config import ProcessGroupCollection
            parallel_state.initialize_model_parallel()
            torch.cuda.current_device = lambda: "cpu"  # where its buffers are made
            groups = [ProcessGroupCollection.use_mpu_process_groups()]
        except ImportError:
            groups = [None]
        play("Megatron-Core", "megatron-core", Megatron, *groups)
        play("OLMo-core", "ai2-olmo-core", Olmo)
        torch.distributed.destroy_process_group()
