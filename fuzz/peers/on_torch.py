"""PyTorch: a router in five lines, a z-loss."""
import torch

from common import peer, refusal, tensors


@peer("torch", "router-forward", "softmax, topk, bincount, mean: a router in five lines")
def router(p, i):
    x = tensors(i)
    if p["gate"] == "sigmoid" or "mask" in x or len(x["logits"]) == 0:
        return None
    logits, k = x["logits"], p["k"]
    probabilities = torch.softmax(logits, -1)
    _, experts = torch.topk(logits + x.get("bias", 0), k, -1)
    chosen = logits.gather(1, experts)
    gates = torch.softmax(chosen, -1) if p["gate"] == "topk-softmax" and k > 1 else \
        probabilities.gather(1, experts)
    counts = torch.bincount(experts.flatten(), minlength=logits.shape[1])
    return {"experts": experts, "gates": gates * p["scale"], "probabilities": probabilities,
            "logsumexp": torch.logsumexp(logits, -1), "counts": counts,
            "tokens": torch.tensor([len(logits)]), "loads": probabilities.mean(0),
            "frequencies": counts / (k * len(logits))}


peer("torch", "router-forward", "the same, held to 64 ULP and to some order of equal scores", "--ties", "any", "--times",
     "128")(router)
peer("torch", "router-refusal", "the same: logits that are no numbers")(refusal(router))


@peer("torch", "z-loss", "coefficient * (logsumexp ** 2)[mask].mean()", "--times", "8")
def z_loss(p, i):
    x = tensors(i)
    squares = x["logsumexp"] ** 2
    if "mask" in x:
        squares = squares[x["mask"] != 0]
    return {"loss": (p["coefficient"] * squares.mean()).reshape(1)} if len(squares) else None
