"""phi-balancing in Megatron-Core: a router class for the layer specification, and a hook at the end of a global batch.

    balancer = phibal.torch.PhiBalancer(config.num_layers, config.num_moe_experts, config.moe_router_topk, alpha=0.01)
    spec.submodules.mlp.submodules.router = functools.partial(PhiRouter, balancer=balancer)
    config.finalize_model_grads_func = end_of_batch(balancer, finalize_model_grads)

The loss is attached as Megatron's own auxiliary losses are (MoEAuxLossAutoScaler), so that the schedule's factors, the
number of micro-batches and loss scaling, hold for it. Set moe_router_load_balancing_type='none'."""
from __future__ import annotations

from typing import Optional

import torch
from megatron.core.transformer.moe.moe_utils import MoEAuxLossAutoScaler
from megatron.core.transformer.moe.router import TopKRouter

from .torch import PhiBalancer


class PhiRouter(TopKRouter):
    """Megatron's router with the balancing loss of `balancer` in place of its auxiliary losses.

    Row layer_number - 1 of the balancer's m is this layer's. Softmax and sigmoid scores, groups, expert bias, capacity and
    padding masks are Megatron's; P is the mean of the (normalised) scores before the selection. The balancer's process
    group is that of the ranks that share a global batch and whose gradients are averaged, tp_dp_cp; with
    calculate_per_token_loss ranks are taken to have equally many tokens. Refused: tensor parallelism, whose ranks add
    their gradients of the router's weights; other auxiliary losses at the same time; track='frequency' with a bias or
    groups."""

    def __init__(self, config, pg_collection=None, *, balancer: PhiBalancer):
        super().__init__(config=config, pg_collection=pg_collection)
        if self.is_aux_loss_enabled() or self.routing_type == "sinkhorn":
            raise ValueError(f"moe_router_load_balancing_type: expected 'none', got {self.routing_type!r}")
        if pg_collection.tp.size() > 1:
            raise ValueError(f"expected tensor parallelism of 1, got {pg_collection.tp.size()}")
        if (balancer.experts, balancer.k) != (config.num_moe_experts, config.moe_router_topk):
            raise ValueError(f"balancer: expected one of {config.moe_router_topk} of {config.num_moe_experts} experts, "
                             f"got {balancer.k} of {balancer.experts}")
        if (balancer.gate == "sigmoid") != (config.moe_router_score_function == "sigmoid"):
            raise ValueError(f"balancer: expected a gate for {config.moe_router_score_function} scores, got {balancer.gate}")
        if balancer.track == "frequency" and (config.moe_router_enable_expert_bias or config.moe_router_num_groups):
            raise ValueError("balancer: expected track='probability' where Megatron selects by a bias or in groups")
        self._balancer = [balancer]  # in a list: no submodule of this layer, since all layers share it

    def routing(self, logits: torch.Tensor, padding_mask: Optional[torch.Tensor] = None):
        """(probs, routing_map) as Megatron's, the loss attached to probs. padding_mask: True is padding."""
        probs, routing_map = super().routing(logits, padding_mask=padding_mask)
        if not self.training:
            return probs, routing_map
        rows = logits.reshape(-1, self.config.num_moe_experts).float()
        mask = None if padding_mask is None else ~padding_mask.reshape(-1).bool()
        loss = self._balancer[0].loss(self.layer_number - 1, rows.contiguous(), mask)
        if torch.is_grad_enabled():
            if self.calculate_per_token_loss:
                loss = loss * (len(rows) if mask is None else mask.sum())
            probs = MoEAuxLossAutoScaler.apply(probs, loss)
        return probs, routing_map


def end_of_batch(balancer: PhiBalancer, finalize):
    """For config.finalize_model_grads_func: `finalize`, and then balancer.step()."""
    def finalize_and_step(*positional, **named):
        result = finalize(*positional, **named)
        balancer.step()
        return result
    return finalize_and_step
