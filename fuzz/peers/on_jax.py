"""JAX: a router in five lines."""
import jax
import jax.numpy as jnp
import numpy as np

from common import peer, refusal


@peer("jax", "router-forward", "jax.nn.softmax, lax.top_k, bincount, mean")
def router(p, i):
    if p["gate"] == "sigmoid" or "mask" in i or len(i["logits"]) == 0:
        return None
    logits, k = jnp.asarray(i["logits"]), p["k"]
    probabilities = jax.nn.softmax(logits, -1)
    _, experts = jax.lax.top_k(logits + i.get("bias", 0), k)
    chosen = jnp.take_along_axis(logits, experts, 1)
    gates = jax.nn.softmax(chosen, -1) if p["gate"] == "topk-softmax" and k > 1 else \
        jnp.take_along_axis(probabilities, experts, 1)
    counts = jnp.bincount(experts.flatten(), length=logits.shape[1])
    return {"experts": experts, "gates": gates * np.float32(p["scale"]),
            "probabilities": probabilities, "logsumexp": jax.nn.logsumexp(logits, -1),
            "counts": counts, "tokens": np.array([len(logits)]), "loads": probabilities.mean(0),
            "frequencies": counts / np.float32(k * len(logits))}


peer("jax", "router-refusal", "the same: logits that are no numbers")(refusal(router))
