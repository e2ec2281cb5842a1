#!/usr/bin/env python3
"""Trains a small mixture-of-experts model in PyTorch without balancing, with Switch's loss, and with phi-balancing.

The model classifies points of 32 clusters, of which four make up most of the data: without a balancing loss the
router sends everything to few experts. Printed are the loss, and MaxVio (0: all experts are equally loaded)."""
import torch
from torch import nn

import phibal.numpy
import phibal.torch

EXPERTS, ACTIVE, WIDTH, HIDDEN, CLUSTERS, TOKENS, STEPS = 16, 2, 32, 64, 32, 256, 200


class MoE(nn.Module):
    """A router and its experts; with balancing the loss of the layer is returned beside the output."""

    def __init__(self, layer, balancer):
        super().__init__()
        self.layer, self.balancer = layer, balancer
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, HIDDEN) / WIDTH**0.5)
        self.down = nn.Parameter(torch.randn(EXPERTS, HIDDEN, WIDTH) / HIDDEN**0.5)

    def forward(self, x):
        routing = phibal.torch.router(self.router(x), ACTIVE)
        # All experts of all tokens: a model of this size does not gain from leaving out those with gate 0.
        gates = torch.zeros(len(x), EXPERTS).scatter(1, routing.experts, routing.gates)
        hidden = torch.relu(torch.einsum("tw,ewh->teh", x, self.up)) * gates[:, :, None]
        y = torch.einsum("teh,ehw->tw", hidden, self.down)
        loss = self.balancer.loss(self.layer, routing) if self.balancer else 0
        return x + y, loss, routing.counts


def train(balancer):
    torch.manual_seed(1)
    layers = nn.ModuleList(MoE(l, balancer) for l in range(2))
    head = nn.Linear(WIDTH, CLUSTERS)
    with torch.no_grad():
        for moe in layers:
            moe.router.weight[:2] *= 8  # an unlucky start: two experts stand out
    optimizer = torch.optim.AdamW([*layers.parameters(), *head.parameters()], lr=3e-3)
    centres = torch.randn(CLUSTERS, WIDTH)
    often = torch.tensor([0.15] * 4 + [0.4 / (CLUSTERS - 4)] * (CLUSTERS - 4))
    for step in range(STEPS):
        label = torch.multinomial(often, TOKENS, replacement=True)
        x, balance, violation = centres[label] + 0.7 * torch.randn(TOKENS, WIDTH), 0, []
        for moe in layers:
            x, loss, counts = moe(x)
            balance = balance + loss
            violation.append(phibal.numpy.maxvio_counts(counts.numpy()))
        task = nn.functional.cross_entropy(head(x), label)
        optimizer.zero_grad()
        (task + balance).backward()
        optimizer.step()
        if balancer:
            balancer.step()
    return task.item(), violation


torch.set_num_threads(2)
print(f"{'method':<16} {'loss':>8} {'MaxVio of layer 0':>18} {'of layer 1':>11}")
for name, balancer in (("none", None), ("Switch", phibal.torch.SwitchLoss(2, EXPERTS, ACTIVE, alpha=0.01)),
                       ("phi, negentropy", phibal.torch.PhiBalancer(2, EXPERTS, ACTIVE, alpha=0.01))):
    loss, (first, second) = train(balancer)
    print(f"{name:<16} {loss:8.4f} {first:18.3f} {second:11.3f}")
