"""The trainer's model in PyTorch on the CPU, binary32: what `phibal train` computes with method phi and
negentropy, in the ways that people write it. One token sequence a row; every position has a target.

  Model(config, weights, variant)   config: {key: value} of a run file's sections, flat; weights: {name: tensor}
  Model(..., exact=GAP)             the same with its arithmetic in binary64: weights and moments are in binary32
                                    between the steps, as they are in both programs
  train(model, batches, rates)      a list of {loss, balance_loss, gradient_norm, seconds, processor}

Variants of the experts (each a product of equal flops, but `padded`, which computes the padding too):
  loop      a loop over experts, each with matrices of its own: index_select, linear, index_add
  grouped   the rows sorted by expert, three calls of torch.nn.functional.grouped_mm
  padded    the rows sorted and padded to the largest group, three calls of bmm
`compiled` after a plus sign passes everything through torch.compile: `loop+compiled`.
With `exact` a layer is computed in binary64 from its weights, which are converted for it alone, and once more for
its gradients, and the head a few rows at a time, so that little more memory is needed than in binary32; the
gradients are rounded to binary32 as they leave a layer. A selected logit that is nearer than GAP to one that is not
raises Tie.
`mistake` names one of MISTAKES, for the check that the comparison would notice it."""

import time

import torch
import torch.nn.functional as F
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint

VARIANTS = ("loop", "grouped", "padded")
HEAD_ROWS = 256  # of the logits at a time, with `exact`
MISTAKES = ("embedding_scale", "gelu_erf", "rope_interleaved", "attention_scale", "not_causal", "norm_epsilon",
            "gates", "active", "balance", "alpha", "eta", "clip", "decay", "beta1", "beta2", "untied", "one_expert")


class Tie(Exception):
    """With the distance of the two logits."""


def rotation(sequence, width, theta):
    pairs = torch.arange(width // 2, dtype=torch.float64)
    angle = torch.outer(torch.arange(sequence, dtype=torch.float64), theta ** (-2 * pairs / width))
    return angle.cos().float(), angle.sin().float()


def rotate(x, cosine, sine):
    low, high = x.chunk(2, -1)
    return torch.cat((low * cosine - high * sine, high * cosine + low * sine), -1)


class Experts(torch.nn.Module):
    """x [T, d], experts [T, k], gates [T, k]: the gated sum of the experts' outputs [T, d]."""

    def __init__(self, c, weights, stem, variant, mistake):
        super().__init__()
        self.variant, self.mistake = variant, mistake
        names = [f"{stem}.experts.{which}_proj.weight" for which in ("gate", "up", "down")]
        if variant == "loop":
            self.gate, self.up, self.down = (
                torch.nn.ParameterList(torch.nn.Parameter(w.clone()) for w in weights[name]) for name in names)
        else:
            self.gate, self.up, self.down = (torch.nn.Parameter(weights[name].clone()) for name in names)
        self.approximate = "none" if mistake == "gelu_erf" else "tanh"
        self.silu = c["activation"] == "silu"

    def act(self, x):
        return F.silu(x) if self.silu else F.gelu(x, approximate=self.approximate)

    def forward(self, x, experts, gates):
        k, count = experts.shape[1], len(self.gate)
        order = torch.argsort(experts.flatten(), stable=True)
        source = order // k
        gate = gates.flatten().index_select(0, order).unsqueeze(1)
        sizes = torch.bincount(experts.flatten(), minlength=count)
        if self.variant == "loop":
            out, first = torch.zeros_like(x), 0
            for e, n in enumerate(sizes.tolist()):
                rows = slice(first, first + n)
                first += n
                # Without rows too: gradients of 0, without which AdamW would leave an idle expert alone.
                at = x.index_select(0, source[rows])
                h = self.act(F.linear(at, self.gate[e])) * F.linear(at, self.up[e])
                out.index_add_(0, source[rows], F.linear(h, self.down[e]) * gate[rows])
            return out
        rows = x.index_select(0, source)
        if self.variant == "grouped":
            ends = sizes.cumsum(0).int()
            # Autocast does not know it.
            kind = torch.bfloat16 if torch.is_autocast_enabled("cuda") else x.dtype
            product = lambda a, w: F.grouped_mm(a.to(kind), w.to(kind).transpose(1, 2), offs=ends)
            y = product(self.act(product(rows, self.gate)) * product(rows, self.up), self.down)
        else:
            largest = int(sizes.max())
            starts = sizes.cumsum(0) - sizes
            sorted_expert = experts.flatten().index_select(0, order)
            place = sorted_expert * largest + torch.arange(len(order)) - starts.index_select(0, sorted_expert)
            padded = x.new_zeros(count * largest, x.shape[1]).index_copy(0, place, rows).view(count, largest, -1)
            product = lambda a, w: torch.bmm(a, w.transpose(1, 2))
            y = product(self.act(product(padded, self.gate)) * product(padded, self.up), self.down)
            y = y.flatten(0, 1).index_select(0, place)
        return torch.zeros_like(x).index_add(0, source, y * gate)


class Layer(torch.nn.Module):
    def __init__(self, c, weights, layer, variant, mistake, exact):
        super().__init__()
        self.c, self.mistake = c, mistake
        stem = f"model.layers.{layer}"
        parameter = lambda name: torch.nn.Parameter(weights[f"{stem}.{name}"].clone())
        self.attention_norm = parameter("input_layernorm.weight")
        self.ffn_norm = parameter("post_attention_layernorm.weight")
        self.qkv = torch.nn.Parameter(torch.cat([weights[f"{stem}.self_attn.{x}_proj.weight"] for x in "qkv"]))
        self.o = parameter("self_attn.o_proj.weight")
        self.router = parameter("mlp.gate.weight")
        self.experts = Experts(c, weights, f"{stem}.mlp", variant, mistake)
        self.exact = exact
        self.register_buffer("m", torch.zeros(c["experts"], dtype=torch.float64 if exact else torch.float32))

    def forward(self, x, cosine, sine):
        c, mistake = self.c, self.mistake
        batch, sequence, d = x.shape
        epsilon = 1e-3 if mistake == "norm_epsilon" else c["norm_epsilon"]
        heads = (batch, sequence, c["heads"], c["head_width"])
        normed = F.rms_norm(x, (d,), self.attention_norm, epsilon)
        q, k, v = (part.view(heads).transpose(1, 2) for part in F.linear(normed, self.qkv).chunk(3, -1))
        if mistake == "rope_interleaved":
            swap = lambda t: t.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)
            q, k = swap(q), swap(k)
        scale = c["head_width"] ** (-0.45 if mistake == "attention_scale" else -0.5)
        attended = F.scaled_dot_product_attention(rotate(q, cosine, sine), rotate(k, cosine, sine), v,
                                                  is_causal=mistake != "not_causal", scale=scale)
        x = x + F.linear(attended.transpose(1, 2).reshape(batch, sequence, -1), self.o)

        normed = F.rms_norm(x, (d,), self.ffn_norm, epsilon).flatten(0, 1)
        logits = F.linear(normed, self.router)
        p = torch.softmax(logits, -1)
        active = c["active"] - 1 if mistake == "active" else c["active"]
        top, experts = torch.topk(logits, active, -1)
        gates = p.gather(1, experts) if mistake == "gates" else torch.softmax(top, -1)
        if mistake == "one_expert":
            experts = experts.clone()
            experts[0, 0] = (experts[0, 0] + 1) % c["experts"]
        if logits.dtype == torch.float64:
            best = torch.topk(logits.detach(), c["active"] + 1, -1).values
            gap = (best[:, -2] - best[:, -1]).min().item()
            if gap < self.exact:
                raise Tie(gap)
        mean = p.mean(0)
        with torch.no_grad():
            eta = 0.5 * c["eta"] if mistake == "eta" else c["eta"]
            self.m.lerp_(mean, eta)
            price = torch.log(self.m) + 1
        alpha = 1.1 * c["alpha"] if mistake == "alpha" else c["alpha"]
        loss = alpha * c["experts"] * torch.dot(mean, price)
        x = x + self.experts(normed, experts, gates).view_as(x)
        return x, loss.detach() if mistake == "balance" else loss

    def exactly(self, x, cosine, sine):
        """forward in binary64, which the backward pass computes a second time, with the m from before."""
        before, after = self.m.clone(), []

        def run(x):
            after[:] = [before.clone()]
            weights = {name: w.double() for name, w in self.named_parameters()}
            return functional_call(self, {**weights, "m": after[0]}, (x, cosine, sine))

        out = checkpoint(run, x, use_reentrant=False)
        self.m.copy_(after[0])
        return out


class Model(torch.nn.Module):
    def __init__(self, c, weights, variant="loop", mistake="", exact=0.0):
        super().__init__()
        variant, _, compiled = variant.partition("+")
        if (c["method"], c["potential"], c["gate"]) != ("phi", "negentropy", "topk_softmax") or variant not in VARIANTS:
            raise ValueError("only phi with negentropy, gates topk_softmax, and the variants " + ", ".join(VARIANTS))
        self.c, self.mistake, self.exact = c, mistake, exact
        self.embedding = torch.nn.Parameter(weights["model.embed_tokens.weight"].clone())
        self.head = torch.nn.Parameter(weights["model.embed_tokens.weight"].clone()) if mistake == "untied" else None
        self.layers = torch.nn.ModuleList(Layer(c, weights, i, variant, mistake, exact) for i in range(c["layers"]))
        self.norm = torch.nn.Parameter(weights["model.norm.weight"].clone())
        for name, table in zip(("cosine", "sine"), rotation(c["sequence"], c["head_width"], c["rope_theta"])):
            self.register_buffer(name, table.to(torch.float64 if exact else torch.float32))
        self.run = torch.compile(self.losses, dynamic=True) if compiled else self.losses

    def losses(self, tokens, targets):
        """Mean cross-entropy, and the layers' balancing losses."""
        c, embedding = self.c, self.embedding.double() if self.exact else self.embedding
        x = F.embedding(tokens, embedding)
        if c["embedding_scale"] and self.mistake != "embedding_scale":
            x = x * c["width"] ** 0.5
        balance = 0
        for layer in self.layers:
            x, loss = (layer.exactly if self.exact else layer)(x, self.cosine, self.sine)
            balance = balance + loss
        norm = self.norm.double() if self.exact else self.norm
        x = F.rms_norm(x, (c["width"],), norm, c["norm_epsilon"]).flatten(0, 1)
        head = embedding if self.head is None else self.head
        if not self.exact:
            return F.cross_entropy(F.linear(x, head), targets.flatten()), balance
        rows = lambda x, targets: F.cross_entropy(F.linear(x, head), targets, reduction="sum")
        parts = zip(x.split(HEAD_ROWS), targets.flatten().split(HEAD_ROWS))
        return sum(checkpoint(rows, *part, use_reentrant=False) for part in parts) / len(x), balance


def exact_norm(parameters):
    """Of the gradients, in binary64: PyTorch's own sum of 10^6 binary32 squares is off by 1e-4 and more."""
    parts = (part for w in parameters for part in w.grad.flatten().split(1 << 16))
    return sum(part.double().square().sum().item() for part in parts) ** 0.5


def train(model, batches, rates, checked=0):
    """A step for each of batches [(tokens, targets)], at the learning rates `rates`; gradient_norm is exact in
    the first `checked` steps, which takes none of their time."""
    c, mistake = model.c, model.mistake
    matrices = [w for w in model.parameters() if w.dim() > 1]
    vectors = [w for w in model.parameters() if w.dim() == 1]
    decay = 0.0 if mistake == "decay" else c["weight_decay"]
    betas = (0.8 if mistake == "beta1" else c["beta1"], 0.99 if mistake == "beta2" else c["beta2"])
    adamw = torch.optim.AdamW([{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}],
                              lr=1.0, betas=betas, eps=c["epsilon"], fused=True)
    clip = 1e9 if mistake == "clip" else c["clip"]
    lines = []
    for (tokens, targets), rate in zip(batches, rates):
        start, processor = time.perf_counter(), time.process_time()
        for group in adamw.param_groups:
            group["lr"] = rate
        loss, balance = model.run(tokens, targets)
        (loss + balance).backward()
        if len(lines) < checked:
            start, processor = start - time.perf_counter(), processor - time.process_time()
            exact = exact_norm(model.parameters())
            start, processor = start + time.perf_counter(), processor + time.process_time()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip, foreach=True)
        adamw.step()
        adamw.zero_grad(set_to_none=True)
        lines.append({"loss": loss.item(), "balance_loss": balance.item(), "gradient_norm": norm.item()})
        if len(lines) <= checked:
            lines[-1]["gradient_norm"] = exact
        lines[-1].update(seconds=time.perf_counter() - start, processor=time.process_time() - processor)
    return lines
