"""The router's forward and backward passes and the combination in PyTorch, eager and compiled, at the
shapes of gpu_bench.cu, and the rate of a bfloat16 matrix product. Prints one line each."""

import sys

import torch
import torch.nn.functional as F


def median_us(f, repetitions=30):
    for _ in range(5):
        f()
    times = []
    for _ in range(repetitions):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        f()
        end.record()
        torch.cuda.synchronize()
        times.append(1e3 * start.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def forward(x, k):
    p = torch.softmax(x.float(), -1)
    top, experts = torch.topk(x, k, dim=-1)
    gates = torch.softmax(top.float(), -1)
    counts = torch.bincount(experts.flatten(), minlength=x.shape[1])
    return p, gates, experts, p.mean(0), counts


def loss(x, k, price, weight):
    p = torch.softmax(x, -1)
    gates = torch.softmax(torch.topk(x, k, dim=-1).values, -1)
    z = torch.logsumexp(x, -1)
    return (p.mean(0) * price).sum() + 1e-3 * (z * z).mean() + (gates * weight).sum()


def combine(out, row, gates):
    return torch.einsum("tkd,tk->td", F.embedding(row, out), gates)


def main():
    if not torch.cuda.is_available():
        print("no CUDA device for PyTorch")
        return 77
    device = torch.device("cuda")
    a = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    us = median_us(lambda: a @ b)
    print(f"PyTorch {torch.__version__}; bfloat16 product of 8192: {2 * 8192**3 / us * 1e-6:.0f} TFLOP/s")
    print(f"{'operation':28} {'T':>7} {'E':>5} {'k':>3} {'eager us':>10} {'compiled us':>12}")
    for tokens in (4096, 65536):
        for experts in (8, 16, 64, 256):
            k = 2 if experts <= 16 else 8
            x = torch.randn(tokens, experts, device=device)
            price = torch.randn(experts, device=device)
            weight = torch.randn(tokens, k, device=device)
            out = torch.randn(tokens * k, 1024, device=device)
            row = torch.randperm(tokens * k, device=device).view(tokens, k)
            leaf = x.clone().requires_grad_()

            def backward(f):
                leaf.grad = None
                f(leaf, k, price, weight).backward()

            rows = (
                ("router forward", lambda f: f(x, k), forward),
                ("router forward + backward", backward, loss),
                ("combine, d = 1024", lambda f: f(out, row, weight), combine),
            )
            for name, call, f in rows:
                eager = median_us(lambda: call(f))
                compiled_f = torch.compile(f)
                compiled = median_us(lambda: call(compiled_f))
                print(f"{name:28} {tokens:7} {experts:5} {k:3} {eager:10.1f} {compiled:12.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
