"""phi-balancing in OLMo-core: one line after the model is built, before it is wrapped or compiled.

    balancer = phibal.olmo_core.balance(model, alpha=0.01)      # with lb_loss_weight=None in the MoE's configuration

The loss takes the place of the auxiliary loss that a MoERouter returns; m moves in model.post_batch(), which OLMo-core's
train modules call once a batch, before the optimizer's step."""
from __future__ import annotations

import torch
from olmo_core.nn.moe.router import MoERouter, MoERouterGatingFunction

from .torch import PhiBalancer


def balance(model: torch.nn.Module, **options) -> PhiBalancer:
    """Balances every MoERouter of an olmo_core.nn.transformer.MoETransformer, and returns the PhiBalancer.

    options: PhiBalancer's: potential, parameter, alpha, eta, track, start, process_group. A micro-batch weighs
    (its tokens) / loss_div_factor, as in OLMo-core's own losses. Refused: a model with another load-balancing loss,
    tensor parallelism, random or uniform assignment, and track='frequency' beside bias_gamma."""
    routers = [m for m in model.modules() if isinstance(m, MoERouter)]
    if not routers:
        raise TypeError(f"{type(model).__name__}: none of its modules is a MoERouter")
    for r in routers:
        if r.lb_loss_weight is not None:
            raise ValueError(f"lb_loss_weight: expected None, got {r.lb_loss_weight}")
        if r.tp_mesh is not None:
            raise ValueError("expected a model without tensor parallelism")
        if r.random_expert_assignment or r.uniform_expert_assignment:
            raise ValueError("expected a router that selects by its scores")
        if options.get("track") == "frequency" and r.bias_gamma is not None:
            raise ValueError("track: expected 'probability' beside bias_gamma")
    shapes = {(r.num_experts, r.top_k, r.gating_function == MoERouterGatingFunction.sigmoid) for r in routers}
    if len(shapes) != 1:
        raise ValueError(f"expected routers of one shape, got {sorted(shapes)}")
    experts, k, sigmoid = shapes.pop()
    balancer = PhiBalancer(len(routers), experts, k, gate="sigmoid" if sigmoid else "topk-softmax", **options)

    def attach(layer, router):
        compute, seen = router.get_expert_logits, []

        def get_expert_logits(x):
            seen[:] = [compute(x)]
            return seen[0]

        def hook(_, positional, named, outputs):
            logits = seen.pop()
            if not router.training:
                return None
            *routing, other = outputs
            rows = logits.reshape(-1, experts).float().contiguous()
            loss, whole = balancer.loss(layer, rows), named.get("loss_div_factor")
            if whole is not None:
                loss = loss * (len(rows) / whole)
            return *routing, loss if other is None else loss + other

        router.get_expert_logits = get_expert_logits
        router.register_forward_hook(hook, with_kwargs=True)

    for layer, router in enumerate(routers):
        attach(layer, router)
    post_batch = model.post_batch

    def step(dry_run: bool = False):
        post_batch(dry_run=dry_run)
        if not dry_run:
            balancer.step()
        else:
            balancer.discard()

    model.post_batch = step
    return balancer
