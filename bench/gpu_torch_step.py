"""The training step of bench_train_step in PyTorch, on random tokens: the model of torch_model.py with its grouped
matrix product, autocast to bfloat16, fused AdamW on binary32 weights, eager and compiled. The same line.
  usage: gpu_torch_step.py CONFIG STEPS GFLOP [PEAK [VARIANT...]]     status 77 without a device or grouped_mm"""

import os
import sys
import time

try:
    import torch
    import torch.nn.functional as F

    import torch_model
except ImportError as error:
    print(f"no PyTorch: {error}")
    sys.exit(77)


def read_config(path):
    """The sections that the model and its optimizer have, flattened."""
    found, section = {}, ""
    for line in open(path):
        key, colon, value = line.split("#")[0].strip().partition(":")
        value = value.strip().strip('"')
        if not line.startswith(" "):
            section = key
        if not line.startswith(" ") or section not in ("model", "balance", "batch", "optimizer"):
            continue
        for kind in ({"true": True, "false": False}.__getitem__, int, float, str):
            try:
                found[key] = kind(value)
                break
            except (KeyError, ValueError):
                pass
    return found


def weights_of(c):
    d, hidden, n = c["width"], c["hidden"], c["heads"] * c["head_width"]
    matrix = lambda *shape: torch.randn(*shape, device="cuda").mul_(0.02)
    w = {"model.embed_tokens.weight": matrix(c["vocabulary"], d), "model.norm.weight": torch.ones(d, device="cuda")}
    for i in range(c["layers"]):
        stem = f"model.layers.{i}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            w[f"{stem}.{norm}.weight"] = torch.ones(d, device="cuda")
        for x in "qkv":
            w[f"{stem}.self_attn.{x}_proj.weight"] = matrix(n, d)
        w[f"{stem}.self_attn.o_proj.weight"] = matrix(d, n)
        w[f"{stem}.mlp.gate.weight"] = matrix(c["experts"], d)
        for which in ("gate", "up"):
            w[f"{stem}.mlp.experts.{which}_proj.weight"] = matrix(c["experts"], hidden, d)
        w[f"{stem}.mlp.experts.down_proj.weight"] = matrix(c["experts"], d, hidden)
    return w


def measure(name, c, variant, steps, flops, peak):
    sequences, micro = c["sequences"], c["micro_sequences"]
    model = torch_model.Model(c, weights_of(c), variant).cuda()
    adamw = torch.optim.AdamW(model.parameters(), lr=1e-5, betas=(c["beta1"], c["beta2"]), fused=True)
    times, n = [], sequences * c["sequence"]
    for i in range(-3, steps):
        tokens = torch.randint(c["vocabulary"], (sequences, c["sequence"] + 1), device="cuda")
        torch.cuda.synchronize()
        start = time.perf_counter()
        for at in range(0, sequences, micro):
            part = tokens[at : at + micro]
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss, balance = model.run(part[:, :-1], part[:, 1:])
            ((loss + balance) * (micro / sequences)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), c["clip"], foreach=True)
        adamw.step()
        adamw.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        if i >= 0:
            times.append(time.perf_counter() - start)
    times.sort()
    rate = n / times[len(times) // 2]
    print(f"{name}, PyTorch {variant}: {rate:.0f} tokens/s, MFU {100 * rate * flops / peak:.1f} % of "
          f"{peak * 1e-12:.1f} TFLOP/s; a step of {n} tokens {1e3 * times[len(times) // 2]:.1f} ms, "
          f"{flops * 1e-9:.3f} GFLOP a token", flush=True)


def main():
    c, steps, flops = read_config(sys.argv[1]), int(sys.argv[2]), 1e9 * float(sys.argv[3])
    name = os.path.basename(sys.argv[1]).partition(".")[0]
    peak = float(sys.argv[4]) if len(sys.argv) > 4 else 989.4e12
    if not torch.cuda.is_available() or not hasattr(F, "grouped_mm"):
        print("no CUDA device for PyTorch, or no grouped_mm")
        return 77
    for variant in sys.argv[5:] or ("grouped", "grouped+compiled"):
        try:
            measure(name, c, variant, steps, flops, peak)
        except Exception as error:  # the other one is still measured
            print(f"{name}, PyTorch {variant}: not measured: {type(error).__name__}: {str(error).splitlines()[0]}")
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
