"""phibal.torch.router beside PyTorch's softmax, topk and autograd, forward and backward, in one process.

  PHIBAL_BUILD=build PYTHONPATH=python python3 bench/router_autograd.py [--threads 1] [--rounds 15] [--tokens 8192]

Both take the same binary32 logits with a gradient, and give probabilities, the k best experts, and gates renormalised
over these; the gradient is that of a sum of the gates and of the mean probabilities with random weights, as a task's
loss and a balancing loss have it. phibal also sums the loads exactly and counts the routes. Each calls once a round, in
turn. Printed are the least processor time of each, of all threads together, and the median of the rounds' ratios; then
the wall time of a call with one token, which is overhead. The gradients have to agree within 2^-16 of the largest:
else status 1. Status 77: no PyTorch, or no package."""

import argparse
import os
import sys
import time
from statistics import median

from processor import processor

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait take no time of the other's

try:
    import torch

    import phibal
    import phibal.torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SHAPES = ((8, 2), (64, 8), (256, 8))  # experts, active


def ours(x, k):
    r = phibal.torch.router(x, k)
    return r.gates, r.loads


def theirs(x, k):
    p = torch.softmax(x, dim=-1)
    best, _ = torch.topk(p, k, dim=-1)
    return best / best.sum(-1, keepdim=True), p.mean(0)


def step(router, x, k, weights):
    gates, loads = router(x, k)
    x.grad = None
    ((gates * weights[0]).sum() + (loads * weights[1]).sum()).backward()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tokens", type=int, default=8192)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(f"{processor()}; {options.threads} thread{'s' * (options.threads != 1)}, {options.tokens} tokens; phibal: "
          f"{phibal.instruction_set()}; PyTorch {torch.__version__}: {torch.backends.cpu.get_cpu_capability()}\n")
    print("forward and backward, ms\n     E    k   phibal  PyTorch   ratio")
    for experts, active in SHAPES:
        x = torch.randn(options.tokens, experts, requires_grad=True)
        weights = torch.randn(options.tokens, active), torch.randn(experts)
        gradients = []
        for router in (ours, theirs):
            step(router, x, active, weights)
            gradients.append(x.grad)
        if (gradients[0] - gradients[1]).abs().max() > 2**-16 * gradients[0].abs().max():
            print(f"E = {experts}: the gradients differ")
            return 1
        times = []
        for _ in range(options.rounds):
            row = []
            for router in (ours, theirs):
                start = time.process_time_ns()
                step(router, x, active, weights)
                row.append((time.process_time_ns() - start) * 1e-6)
            times.append(row)
        print(f"{experts:6d} {active:4d} {min(t[0] for t in times):8.2f} {min(t[1] for t in times):8.2f} "
              f"{median(t[1] / t[0] for t in times):7.2f}")
    print("\none token, 64 experts, 8 active: microseconds a call")
    x, weights = torch.randn(1, 64, requires_grad=True), (torch.randn(1, 8), torch.randn(64))
    for name, call in (("forward", lambda router: router(x, 8)),
                       ("forward and backward", lambda router: step(router, x, 8, weights))):
        row = []
        for router in (ours, theirs):
            best = []
            for _ in range(20):
                start = time.perf_counter_ns()
                for _ in range(50):
                    call(router)
                best.append((time.perf_counter_ns() - start) / 50e3)
            row.append(min(best))
        print(f"  {name:<22} phibal {row[0]:7.1f}  PyTorch {row[1]:7.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
