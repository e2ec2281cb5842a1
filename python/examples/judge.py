#!/usr/bin/env python3
"""Judges a router in numpy with a bug that many routers have had: the selection bias, which is for the choice of the
experts alone, enters the gates too. The judge finds it, names it, and accepts the router without it."""
import numpy as np

import phibal


def make(bug):
    def router(logits, k, gate, scale, bias=None, mask=None):
        if gate == "sigmoid" or mask is not None:
            return None  # not offered: such cases are left out
        x = logits.astype(np.float64)
        score = x if bias is None else x + bias
        experts = np.argsort(-score, axis=-1, kind="stable")[:, :k]
        weight = score if bug else x
        e = np.exp(weight - weight.max(-1, keepdims=True))
        probabilities = e / e.sum(-1, keepdims=True)
        gates = np.take_along_axis(probabilities, experts, -1)
        if gate == "topk-softmax" and k > 1:
            chosen = np.take_along_axis(weight, experts, -1)
            e = np.exp(chosen - chosen.max(-1, keepdims=True))
            gates = e / e.sum(-1, keepdims=True)
        counts = np.bincount(experts.ravel(), minlength=x.shape[1])
        answer = {"experts": experts, "gates": gates * scale, "probabilities": probabilities, "counts": counts}
        if len(x):
            answer |= {"loads": probabilities.mean(0), "frequencies": counts / (k * len(x))}
        return answer
    return router


for bug in (True, False):
    print("with the bug:" if bug else "\nwithout it:")
    print(phibal.judge("router-forward", make(bug), cases=100))
