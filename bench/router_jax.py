"""phibal.jax.router beside JAX's softmax, top_k and gradient, jitted, in one process on the CPU.

  PHIBAL_BUILD=build PYTHONPATH=python python3 bench/router_jax.py [--rounds 15] [--tokens 8192]

As bench/router_autograd.py does for PyTorch: the same logits, a gradient of weighted gates and mean probabilities. Each calls
once a round, in turn; printed are the least wall times and the median of the ratios, since XLA has threads of its own (as
many as processors; phibal takes OMP_NUM_THREADS, one where it is not set); then a call with one token. Status 77: no JAX."""

import argparse
import os
import sys
import time
from statistics import median

from processor import processor

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

try:
    import jax
    import jax.numpy as jnp

    import phibal
    import phibal.jax
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def ours(x, k):
    r = phibal.jax.router(x, k)
    return r.gates, r.loads


def theirs(x, k):
    p = jax.nn.softmax(x, axis=-1)
    best, _ = jax.lax.top_k(p, k)
    return best / best.sum(-1, keepdims=True), p.mean(0)


def step(router, k, weights):
    def loss(x):
        gates, loads = router(x, k)
        return (gates * weights[0]).sum() + (loads * weights[1]).sum()
    return jax.jit(jax.grad(loss))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tokens", type=int, default=8192)
    options = parser.parse_args()
    print(f"{processor()}, {os.cpu_count()} processors; phibal: {phibal.instruction_set()}; JAX {jax.__version__}\n\n"
          "forward and backward, ms\n     E    k   tokens   phibal      JAX   ratio")
    for tokens, experts, active in ((options.tokens, 8, 2), (options.tokens, 64, 8), (options.tokens, 256, 8), (1, 64, 8)):
        keys = jax.random.split(jax.random.key(1), 3)
        x, weights = jax.random.normal(keys[0], (tokens, experts)), (jax.random.normal(keys[1], (tokens, active)),
                                                                     jax.random.normal(keys[2], (experts,)))
        steps, times = [step(router, active, weights) for router in (ours, theirs)], []
        found = [s(x).block_until_ready() for s in steps]
        if jnp.abs(found[0] - found[1]).max() > 2**-16 * jnp.abs(found[0]).max():
            print(f"E = {experts}: the gradients differ")
            return 1
        for _ in range(options.rounds * (20 if tokens == 1 else 1)):
            row = []
            for s in steps:
                start = time.perf_counter_ns()
                s(x).block_until_ready()
                row.append((time.perf_counter_ns() - start) * 1e-6)
            times.append(row)
        print(f"{experts:6d} {active:4d} {tokens:8d} {min(t[0] for t in times):8.3f} {min(t[1] for t in times):8.3f} "
              f"{median(t[1] / t[0] for t in times):7.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
