"""torchtitan: TokenChoiceTopKRouter of its common models, on the CPU. The weights are the identity."""
import torch

from common import peer, refusal, tensors

from torchtitan.models.common.linear import Linear
from torchtitan.models.common.moe import TokenChoiceTopKRouter

NAME = "torchtitan"


@peer(NAME, "router-forward", "TokenChoiceTopKRouter", "--ties", "any", "--times", "128")
def router(p, i):
    x = tensors(i)
    sigmoid = p["gate"] == "sigmoid"
    if "mask" in x or len(x["logits"]) == 0 or ("bias" in x and not sigmoid) or (p["gate"] == "topk-softmax" and p["k"] == 1):
        return None
    E = x["logits"].shape[1]
    module = TokenChoiceTopKRouter.Config(num_experts=E, top_k=p["k"],
                                          gate=Linear.Config(in_features=E, out_features=E, bias=False),
                                          score_func="sigmoid" if sigmoid else "softmax", route_norm=p["gate"] != "probability",
                                          route_scale=p["scale"]).build()
    with torch.no_grad():
        module.gate.weight.copy_(torch.eye(E))
        gates, experts, _ = module(x["logits"].unsqueeze(0), x.get("bias"))
    gates, experts = gates[0], experts[0]
    score = (torch.sigmoid(x["logits"]) + x.get("bias", 0) if sigmoid else x["logits"]).gather(1, experts)
    order = torch.argsort(score, dim=-1, descending=True, stable=True)  # topk(sorted=False)
    return {"experts": experts.gather(1, order), "gates": gates.gather(1, order)}


peer(NAME, "router-refusal", "TokenChoiceTopKRouter: logits that are no numbers")(refusal(router))
