"""phi-balancing in torchtitan: one line after the trainer is built, before it trains.

    trainer = config.build()
    balancer = phibal.torchtitan.balance(trainer.model_parts, trainer.optimizers, alpha=0.01,
                                         micro_batches=trainer.gradient_accumulation_steps)
    trainer.checkpointer.states["phibal"] = balancer                # m is saved and loaded with the model

with load_balance_coeff=None in each MoE's configuration, and without torch.compile of the MoE blocks."""
from __future__ import annotations

from typing import Iterable, Optional

import torch
from torch.distributed.tensor import DTensor

from .torch import PhiBalancer, attach_loss


def balance(model_parts: Iterable[torch.nn.Module], optimizers: Optional[torch.optim.Optimizer], *, micro_batches: int = 1,
            **options) -> PhiBalancer:
    """Balances the router of each block whose moe_enabled is set, and returns the PhiBalancer.

    options: PhiBalancer's: potential, parameter, alpha, eta, track, start, process_group (the ranks that share a global
    batch). m moves after each step of `optimizers`; None leaves balancer.step() to the caller. micro_batches: of a step;
    each weighs one of so many, since torchtitan adds up the gradients of micro-batches and ranks. Refused: another
    balancing (load_balance_coeff), tensor parallelism, and track='frequency' where experts are selected in groups."""
    moes = [block.moe for part in model_parts for block in part.get_submodule("layers").children()
            if getattr(block, "moe_enabled", False)]
    if not moes:
        raise TypeError("expected a model with MoE blocks, found none with moe_enabled")
    if any(moe.load_balance_coeff is not None for moe in moes):
        raise ValueError("load_balance_coeff: expected None, since a bias would be moved at the same time")
    if options.get("track") == "frequency" and any(moe.router.num_expert_groups for moe in moes):
        raise ValueError("track: expected 'probability' where experts are selected in groups")
    if micro_batches < 1:
        raise ValueError(f"micro_batches: expected at least 1, got {micro_batches}")
    shapes = {(moe.router.num_experts, moe.router.top_k, moe.router.score_func) for moe in moes}
    if len(shapes) != 1:
        raise ValueError(f"expected routers of one shape, got {sorted(shapes)}")
    experts, k, score = shapes.pop()
    options.setdefault("gradients", "summed")
    balancer = PhiBalancer(len(moes), experts, k, gate="sigmoid" if score == "sigmoid" else "topk-softmax", **options)

    def attach(layer, router):
        seen = []

        def remember(_, positional, logits):
            seen[:] = [logits]

        def hook(_, positional, outputs):
            logits = seen.pop()
            if not router.training:
                return None
            if isinstance(logits, DTensor):
                raise ValueError("expected a router without tensor parallelism, got a DTensor")
            loss = balancer.loss(layer, logits.reshape(-1, experts).float().contiguous())
            return attach_loss(loss / micro_batches, *outputs)

        router.gate.register_forward_hook(remember)
        router.register_forward_hook(hook)

    for layer, moe in enumerate(moes):
        attach(layer, moe.router)
    if optimizers is not None:
        balancer.attach(optimizers)
    return balancer
