"""What gpu_bench.cu and gpu_bench_step.cu measure, in PyTorch, eager and compiled, at their shapes: the
router's forward and backward passes, the combination, the kernels of a training step, the experts' products
by its grouped matrix product; and the rate of a bfloat16 matrix product. Prints one line each.
  usage: gpu_torch.py [--eager] [TOKENS...]     status 77 without a device; --eager: without
  the compiled column, which takes minutes"""

import sys

import torch
import torch.nn.functional as F


COMPILES = "--eager" not in sys.argv


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


def compare(name, tokens, width, active, call, f):
    """A line for `call` with f eager and compiled; width: of a row, or how many experts."""
    eager = median_us(lambda: call(f))
    print(f"{name:28} {tokens:7} {width:5} {active:>3} {eager:10.1f}", end="" if COMPILES else "\n", flush=True)
    if COMPILES:
        compiled_f = torch.compile(f)
        print(f" {median_us(lambda: call(compiled_f)):12.1f}", flush=True)


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
    lengths = [int(x) for x in sys.argv[1:] if x.isdigit()] or [4096, 65536]
    for tokens in lengths:
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
                compare(name, tokens, experts, k, call, f)
    step(device, lengths)
    return 0


def step(device, lengths):
    """The kernels of a training step beside the router's."""
    for tokens in lengths:
        x = torch.randn(tokens, 1024, device=device, requires_grad=True)
        w = torch.ones(1024, device=device, requires_grad=True)
        dy = torch.randn(tokens, 1024, device=device)
        norm = lambda x: F.rms_norm(x, (1024,), w, 1e-6)
        compare("RMSNorm", tokens, 1024, "", lambda f: f(x), norm)
        compare("RMSNorm forward + backward", tokens, 1024, "", lambda f: f(x).backward(dy), norm)
    for dtype in (torch.float32, torch.bfloat16):
        z = torch.randn(4096, 102400, device=device, dtype=dtype, requires_grad=True)
        targets = torch.randint(102400, (4096,), device=device)
        loss = lambda z: F.cross_entropy(z.float(), targets)
        name = "cross-entropy" if dtype == torch.float32 else "cross-entropy, bfloat16"
        compare(name, 4096, 102400, "", lambda f: f(z).backward(), loss)
        del z
    weights = torch.nn.Parameter(torch.randn(111000000, device=device))
    weights.grad = torch.randn_like(weights)
    adam = torch.optim.AdamW([weights], fused=True)
    print(f"{'AdamW, fused':28} {111:7} {'':5}     {median_us(adam.step):10.1f}")
    del weights, adam
    if hasattr(torch, "_grouped_mm"):
        experts_rows(device)


def experts_rows(device):
    """The experts' gated FFN by the grouped matrix product, forward and backward, balanced."""
    for experts, active, hidden in ((32, 2, 1024), (128, 8, 256)):
        tokens, width = 40960, 768
        rows = tokens * active
        half = {"device": device, "dtype": torch.bfloat16}
        x = torch.randn(rows, width, **half, requires_grad=True)
        dy = torch.randn(rows, width, **half)
        inward = [torch.randn(experts, width, hidden, **half, requires_grad=True) for _ in range(2)]
        outward = torch.randn(experts, hidden, width, **half, requires_grad=True)
        ends = torch.arange(1, experts + 1, device=device, dtype=torch.int32) * (rows // experts)

        def ffn(x):
            h = F.silu(torch._grouped_mm(x, inward[0], offs=ends)) * torch._grouped_mm(x, inward[1], offs=ends)
            return torch._grouped_mm(h, outward, offs=ends)

        flops = 6 * rows * width * hidden
        forward_us = median_us(lambda: ffn(x))
        whole_us = median_us(lambda: ffn(x).backward(dy))
        for name, us, work in (("experts forward", forward_us, flops), ("forward + backward", whole_us, 3 * flops)):
            print(f"{name:28} {tokens:7} {experts:5} {active:3} {us:10.1f} us {work / us * 1e-6:8.1f} TFLOP/s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
