"""ai2-olmo-core: MoELinearRouter of its first MoE, on the CPU. The weights are the identity, so that logits are the case's."""
import torch
from torch.utils.checkpoint import checkpoint

from common import BiasPlayer, bug, finite, peer, tensors

from olmo_core.nn.moe.loss import MoELoadBalancingLossGranularity, router_z_loss
from olmo_core.nn.moe.router import MoELinearRouter, MoERouterGatingFunction

NAME = "ai2-olmo-core"


def make(E, k, **options):
    module = MoELinearRouter(d_model=E, num_experts=E, top_k=k, init_device="cpu", **options).train()
    torch.nn.init.eye_(module.weight.data.view(E, E))
    return module


@peer(NAME, "router-forward", "MoELinearRouter", "--ties", "any", "--times", "128")
def router(p, i):
    x = tensors(i)
    sigmoid = p["gate"] == "sigmoid"
    if "mask" in x or len(x["logits"]) == 0 or ("bias" in x and not sigmoid):
        return None
    module = make(x["logits"].shape[1], p["k"], bias_gamma=1e-3 if "bias" in x else None,
                  normalize_expert_weights=None if p["gate"] == "probability" else 1.0,
                  gating_function=MoERouterGatingFunction.sigmoid if sigmoid else MoERouterGatingFunction.softmax)
    if "bias" in x:
        module.score_bias.copy_(x["bias"])
    if p["gate"] == "topk-softmax" and p["k"] == 1:
        return None
    with torch.no_grad():
        gates, experts, counts, _ = module(x["logits"].unsqueeze(0))
    return {"experts": experts[0], "gates": gates[0] * p["scale"], "counts": counts}


def step(p, x, reentrant=None):
    _, T, E = x["logits"].shape
    n, sums = T // p["micro-batches"], {"loss": [], "logit-gradient": [], "counts": []}
    for layer in x["logits"]:
        module = make(E, p["k"], lb_loss_weight=p["alpha"])
        leaf, one = layer.clone().requires_grad_(), torch.ones((), requires_grad=True)
        for part in leaf.split(n):
            def call(y):  # as in a layer the loss is attached to the gates, and a product follows that saves its factors,
                # so that recomputation does not end before the router does; without gradients there is no loss
                gates, _, _, loss = module(y.unsqueeze(0), loss_div_factor=float(T))
                return (gates.sum() * 0 + (0 if loss is None else loss)) * one
            (call(part) if reentrant is None else checkpoint(call, part, use_reentrant=reentrant)).backward()
        metrics = module.compute_metrics(reset=False)
        sums["loss"].append(metrics["load balancing loss"][0])
        sums["logit-gradient"].append(leaf.grad)
        sums["counts"].append(module.batch_size_per_expert.clone().long())
    return {name: torch.stack(values) for name, values in sums.items()}


@peer(NAME, "switch-step", "MoELinearRouter's balancing loss, its logged sum and its counts", "--ties", "any")
def switch(p, i):
    x = tensors(i)
    return step(p, x) if "mask" not in x and p["frequencies"] == "micro-batch" and x["logits"].shape[1] else None


@bug(20, NAME, "recomputation without reentrance: logged losses and counts are doubled", "", "switch-step",
     "cases with two forward passes, under checkpoint(use_reentrant=False)", "use_reentrant=True")
def recomputed(p, i, broken):
    x = tensors(i)
    if "mask" in x or p["frequencies"] != "micro-batch" or p["forward-passes"] != 2:
        return None
    return step(p, x, not broken)


@peer(NAME, "sequence-loss", "MoELinearRouter, granularity instance", "--ties", "any", "--times", "128", "--format",
      "binary32")
def sequence(p, i):
    x = tensors(i)
    T, E = x["logits"].shape
    if "mask" in x or "bias" in x or T == 0 or T % p["sequences"]:
        return None
    module = make(E, p["k"], lb_loss_weight=p["alpha"], lb_loss_granularity=MoELoadBalancingLossGranularity.instance,
                  gating_function=MoERouterGatingFunction.sigmoid if p["gate"] == "sigmoid" else MoERouterGatingFunction.softmax)
    loss = module(x["logits"].view(p["sequences"], -1, E).requires_grad_())[3]
    return {"loss": loss.reshape(1)}


@peer(NAME, "z-loss", "router_z_loss", "--times", "8")
def z_loss(p, i):
    x = tensors(i)
    if "mask" in x or len(x["logsumexp"]) == 0:
        return None
    return {"loss": (p["coefficient"] * router_z_loss(expert_logits=x["logsumexp"].float().view(1, -1, 1))).reshape(1)}


class LossFree(BiasPlayer):
    """A trace's player: bias_gamma and post_batch."""
    bias = "score_bias"

    def __init__(self, method, k, ranks, start, rate, gate):
        if gate != "sigmoid":
            raise NotImplementedError("the bias is added to probabilities, not to logits")
        self.module = make(len(start), k, bias_gamma=rate, gating_function=MoERouterGatingFunction.sigmoid)
        self.module.score_bias.copy_(torch.from_numpy(start))

    def run(self, x, mask):
        if not mask.all():
            raise NotImplementedError("padding")
        return self.module(x.unsqueeze(0))[0]

    def forward(self, logits, mask, rank):
        self.run(torch.from_numpy(logits).requires_grad_(), mask).sum().backward()

    def checkpointed(self, logits, mask, rank):
        checkpoint(lambda y: self.run(y, mask), torch.from_numpy(logits).requires_grad_(), use_reentrant=True).sum().backward()

    def step(self):
        self.module.post_batch()


peer(NAME, "trace", "MoELinearRouter's score_bias and post_batch")(LossFree.offered)
