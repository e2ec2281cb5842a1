"""nemo-automodel: its Gate, on the CPU. The weights are the identity."""
import torch

from common import BiasPlayer, bug, counted, finite, peer, summed, tensors

from nemo_automodel.components.moe.config import MoEConfig
from nemo_automodel.components.moe.layers import Gate

NAME = "nemo-automodel"


def make(E, k, score, **options):
    given = dict(n_routed_experts=E, n_shared_experts=0, n_activated_experts=k, n_expert_groups=1, n_limited_groups=1,
                 train_gate=True, gate_bias_update_factor=0.0, aux_loss_coeff=0.0, score_func=score, route_scale=1.0, dim=E,
                 inter_dim=4, moe_inter_dim=4, norm_topk_prob=False, dtype=torch.float32)
    given.update(options)
    module = Gate(MoEConfig(**given))
    torch.nn.init.eye_(module.weight)
    return module.train()


def ranked(x, weights, experts, score):
    order = torch.argsort(score.gather(1, experts), dim=-1, descending=True, stable=True)
    return {"experts": experts.gather(1, order), "gates": weights.gather(1, order)}


@peer(NAME, "router-forward", "Gate", "--ties", "any", "--times", "128")
def router(p, i):
    x = tensors(i)
    sigmoid = p["gate"] == "sigmoid"
    if "mask" in x or len(x["logits"]) == 0 or ("bias" in x and not sigmoid) or (p["k"] == 1 and p["gate"] != "probability"):
        return None
    E = x["logits"].shape[1]
    module = make(E, p["k"], "sigmoid_with_bias" if sigmoid else "softmax", softmax_before_topk=p["gate"] == "probability",
                  norm_topk_prob=sigmoid, route_scale=p["scale"], force_e_score_correction_bias="bias" in x)
    if "bias" in x:
        module.e_score_correction_bias.copy_(x["bias"])
    with torch.no_grad():
        weights, experts, _ = module(x["logits"], torch.ones(len(x["logits"]), dtype=torch.bool), None)
    return ranked(x, weights, experts, torch.sigmoid(x["logits"]) + x.get("bias", 0) if sigmoid else x["logits"])


def described(p, i):
    """Of described routers, softmax_with_bias: probabilities and a bias select (R2p), in groups by their two largest."""
    x, back = counted(p, i)
    T, E = x["logits"].shape
    scores = x["logits"].softmax(-1)
    of_sum = p["normalisation"] == "sum"
    if p["gate"] != "probability" or p.get("score") != "probability" or p.get("zero-gates") == "left-out" or T == 0 or \
            p["group-score"] not in ("none", "two-largest") or (of_sum and (p["k"] == 1 or not summed(p, 1e-20, scores))):
        return None
    bias = x.get("bias", torch.zeros(E))
    module = make(E, p["k"], "softmax_with_bias", force_e_score_correction_bias=True, norm_topk_prob=of_sum,
                  route_scale=p["scale"], n_expert_groups=max(p["groups"], 1), n_limited_groups=max(p["active-groups"], 1))
    module.e_score_correction_bias.copy_(bias)
    with torch.no_grad():
        weights, experts, _ = module(x["logits"], torch.ones(T, dtype=torch.bool), None)
    return back(*ranked(x, weights, experts, scores + bias).values())


peer(NAME, "described-router", "Gate, softmax_with_bias (R2p), groups by the two largest", "--ties", "any", "--times",
     "128")(described)


@bug(19, NAME, "Gate with softmax_with_bias multiplies the scores of other groups by 0, which wins over negative biased scores", "",
     "router-forward",
     "a second group whose biased scores are lower, one group allowed, a bias of -1.5 for each of the case's experts", "without groups")
def groups_of_zero(p, i, broken):
    x = tensors(i)
    if p["gate"] != "probability" or "mask" in x or "bias" in x or len(x["logits"]) == 0 or x["logits"].shape[1] < 2:
        return None
    T, E = x["logits"].shape
    groups = dict(n_expert_groups=2, n_limited_groups=1) if broken else {}
    module = make(2 * E, p["k"], "softmax_with_bias", force_e_score_correction_bias=True, route_scale=p["scale"], **groups)
    module.e_score_correction_bias.copy_(torch.cat([torch.full((E,), -1.5), torch.full((E,), -1e6)]))
    wide = torch.cat([x["logits"], torch.full((T, E), -1e30)], 1)
    with torch.no_grad():
        weights, experts, _ = module(wide, torch.ones(T, dtype=torch.bool), None)
    return ranked(x, weights, experts, wide)


@peer(NAME, "switch-step", "Gate's auxiliary loss", "--ties", "any")
def switch(p, i):
    x = tensors(i)
    if p["micro-batches"] != 1 or x["logits"].shape[1] == 0 or not finite(x):
        return None
    mask = x["mask"] != 0 if "mask" in x else torch.ones(x["logits"].shape[1], dtype=torch.bool)
    losses, gradients = [], []
    for layer in x["logits"]:
        leaf = layer.clone().requires_grad_()
        module = make(leaf.shape[1], p["k"], "softmax", softmax_before_topk=True, aux_loss_coeff=p["alpha"])
        weights, _, loss = module(leaf, mask, None)
        (weights * 0).sum().backward()
        losses.append(p["alpha"] * loss.detach())
        gradients.append(leaf.grad)
    return {"loss": torch.stack(losses), "logit-gradient": torch.stack(gradients)}


class LossFree(BiasPlayer):
    """A trace's player: e_score_correction_bias and update_bias."""
    bias = "e_score_correction_bias"

    def __init__(self, method, k, ranks, start, rate, gate):
        if gate != "sigmoid" or ranks > 1:
            raise NotImplementedError
        self.module = make(len(start), k, "sigmoid_with_bias", gate_bias_update_factor=rate)
        self.module.e_score_correction_bias.copy_(torch.from_numpy(start))

    def run(self, x, mask):
        self.module(x, mask, None)

    def forward(self, logits, mask, rank):
        self.run(torch.from_numpy(logits), torch.from_numpy(mask) != 0)

    def step(self):
        if self.module._cumulative_expert_load is not None:
            self.module.update_bias()


peer(NAME, "trace", "Gate's e_score_correction_bias and update_bias")(LossFree.offered)
