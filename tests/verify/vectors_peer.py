"""An independent implementation, naive and in binary64, for vectors_faults.py and ties.py: right, it passes golden vectors;
with one fault at a time the judge notices, and names what is wrong. It shares no code with phibal: only the files that
`phibal vectors` writes and `phibal judge` reads, and with other tests the formulas of potentials."""
import math
import os
import random
import struct
import sys
from decimal import Decimal, DivisionByZero, InvalidOperation, localcontext
from fractions import Fraction

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reference"))
from formula_rows import ROWS
from tensor_file import load, save

CODES = {"F32": "f", "F64": "d", "I32": "i", "I64": "q", "U8": "B"}


class Tensor:
    def __init__(self, dtype, shape, values):
        self.dtype, self.shape, self.values = dtype, shape, values


def read_tensors(path):
    values = lambda code, data: list(struct.unpack("<%d%s" % (len(data) // struct.calcsize(code), code), data))
    return {name: Tensor(dtype, shape, values(CODES[dtype], data)) for name, (dtype, shape, data) in load(path).items()}


def pack(dtype, values):
    if dtype != "F32":
        return struct.pack("<%d%s" % (len(values), CODES[dtype]), *values)
    out = b""
    for x in values:
        try:
            out += struct.pack("<f", x)
        except OverflowError:
            out += struct.pack("<f", math.copysign(math.inf, x))
    return out


def write_tensors(path, tensors):
    save(path, {name: (t.dtype, t.shape, pack(t.dtype, t.values)) for name, t in tensors.items()})


def f32(x):
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def bf16(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


class Case:
    """A case's inputs and parameters, and the outputs that an operation gives."""

    def __init__(self, described, tensors):
        self.prefix, self.parameters = described["prefix"], described["parameters"]
        self.inputs = {name: tensors["%s/in/%s" % (self.prefix, name)] for name in described["inputs"]}
        self.described, self.outputs = described["outputs"], {}

    def values(self, name):
        return self.inputs[name].values if name in self.inputs else None

    def rows(self, name, layer=0):
        shape, values = self.inputs[name].shape, self.inputs[name].values
        n, width = shape[-2], shape[-1]
        first = layer * n * width
        return [values[first + i * width : first + (i + 1) * width] for i in range(n)]

    def give(self, name, values):
        if name not in self.described:
            return
        d = self.described[name]
        flat = []
        for v in values:
            flat.extend(v) if isinstance(v, list) else flat.append(v)
        self.outputs["%s/out/%s" % (self.prefix, name)] = Tensor(d["dtype"], d["shape"], flat)


def softmax(x, fault=""):
    top = 0.0 if fault.startswith("softmax without a shift") else max(x)
    try:
        w = [math.exp(v - top) for v in x]
    except OverflowError:
        return [math.nan] * len(x)
    if fault == "softmax without a shift, in binary32" and math.fsum(w) > 3.4e38:
        return [math.nan] * len(x)
    if fault == "the maximum begun at 0, and an epsilon":
        w = [math.exp(v - max(top, 0.0)) for v in x]
        return [v / (math.fsum(w) + 1e-20) for v in w]
    total = math.fsum(w)
    return [v / total if total else math.nan for v in w]


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def log_softplus(x):
    """log(log(1 + e^x)), x itself but for e^x where that is small."""
    return x - math.exp(x) / 2 if x < -20 else math.log(softplus(x))


def log_sigmoid(x):
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))


def top_k(scores, k, fault=""):
    sign = -1 if fault == "ties to the higher index" else 1
    return sorted(range(len(scores)), key=lambda e: (-scores[e], sign * e))[:k]


def router_forward(case, fault):
    p = case.parameters
    k, gate, scale = p["k"], p["gate"], p["scale"]
    mask, bias = case.values("mask"), case.values("bias")
    experts, gates, probabilities, lse = [], [], [], []
    T = 0
    width = case.inputs["logits"].shape[1]
    counts, sums = [0] * width, [[] for _ in range(width)]
    for i, x in enumerate(case.rows("logits")):
        if mask and not mask[i]:
            experts.append([-1] * k)
            gates.append([0.0] * k)
            probabilities.append([0.0] * width)
            lse.append(0.0)
            continue
        T += 1
        if gate == "sigmoid":
            # Up to a common factor, so that they do not all vanish for very negative logits.
            logs = [log_sigmoid(v) for v in x]
            s = [math.exp(v - max(logs)) for v in logs]
            total = math.fsum(s)
            prob, score = [v / total for v in s], [f32(sigmoid(v)) for v in x]
        else:
            prob, score, s = softmax(x, fault), list(x), None
            if fault == "bfloat16 scores":
                score = [bf16(v) for v in prob]
        if bias:
            score = [v + (bf16(b) if fault == "bias in bfloat16" else b) for v, b in zip(score, bias)]
            if fault == "unset scores are 0":
                score = [max(v, 0.0) for v in score]
        if fault == "experts padded with 0":
            chosen = [min(e, width - 1) for e in top_k(score + [0.0] * (-width % 32), k)]
        else:
            chosen = top_k(score, k, fault)
            if fault == "a threshold between least and greatest" and max(score) == min(score):
                chosen = list(range(width - k, width))
        if gate == "sigmoid":
            some = [logs[e] for e in chosen]
            part = [math.exp(v - max(some)) for v in some]
            g = [v / math.fsum(part) for v in part]
            if fault == "epsilon in the sum of sigmoids":
                part = [sigmoid(x[e]) for e in chosen]
                g = [v / (math.fsum(part) + 1e-20) for v in part]
            if fault == "bias in the gates" and bias:
                part = [sigmoid(x[e]) + bias[e] for e in chosen]
                g = [v / math.fsum(part) for v in part]
            if fault == "gates from biased scores" and bias:
                part = [f32(f32(f32(sigmoid(x[e])) + bias[e]) - bias[e]) for e in chosen]
                g = [v / math.fsum(part) if math.fsum(part) else math.nan for v in part]
        elif gate == "topk-softmax" and k > 1 and fault != "gates not renormalised":
            logits = [x[e] for e in chosen]
            if bias and fault == "bias in the gates":
                logits = [x[e] + bias[e] for e in chosen]
            g = softmax(logits, fault)
        else:
            g = [prob[e] for e in chosen]
        if fault == "in the logits' format" and "logits-format" in p:
            g = [bf16(v) for v in g]
        if fault == "E = 128 and k = 8" and width == 128 and k == 8:
            g[7] = g[6]
        if fault == "gates below 1e-30 dropped":
            g = [v if v >= 1e-30 else 0.0 for v in g]
        if fault != "no routed scaling":
            g = [scale * v for v in g]
        experts.append(chosen)
        gates.append(g)
        probabilities.append(prob)
        top = max(x)
        lse.append(top + math.log(math.fsum(math.exp(v - top) for v in x)))
        for e in chosen:
            counts[e] += 1
        for e in range(width):
            sums[e].append(prob[e])
    case.give("experts", experts)
    case.give("gates", gates)
    case.give("probabilities", probabilities)
    case.give("logsumexp", lse)
    case.give("tokens", [T])
    case.give("counts", counts)
    if T:
        case.give("loads", [math.fsum(s) / T for s in sums])
        case.give("frequencies", [n / (k * T) for n in counts])


def groups_left(score, p, fault):
    """The experts of the best groups: ranked by a sum of largest scores, from the largest down."""
    G, g, k, how = p["groups"], p["active-groups"], p["k"], p["group-score"]
    if not G or fault == "all groups":
        return range(len(score))
    each = len(score) // G
    n = {"largest": 1, "two-largest": 2, "share": k // g}[how]
    if fault == "groups by the largest":
        n = 1
    total = []
    for i in range(G):
        of = sorted(score[i * each : (i + 1) * each], reverse=True)[:n]
        total.append(of[0])
        for v in of[1:]:
            total[i] += v
    best = top_k(total, g, fault)
    return [e for e in range(len(score)) if e // each in best]


def described_choice(score, p, fault):
    """(R2), (R2g) of a described router."""
    return sorted(groups_left(score, p, fault), key=lambda e: (-score[e], e))[:p["k"]]


def described_router(case, fault):
    p = case.parameters
    k, gate, scale, how = p["k"], p["gate"], p["scale"], p["normalisation"]
    epsilon = 0.0 if fault == "no epsilon" else p["epsilon"]
    by_probability = p.get("score") == "probability"
    zero, left_out = p.get("zero-experts", 0), p.get("zero-gates") == "left-out"
    if fault == "zero experts counted":
        left_out = False
    if fault == "zero experts left out":
        left_out = zero > 0
    if fault == "sigmoids divided" and how == "none":
        how = "of-gate"
    if (gate == "probability" and how == "of-gate") or (gate == "topk-softmax" and k == 1):
        how = "none"
    mask, bias, price = case.values("mask"), case.values("bias"), case.values("price")
    given = case.rows("given") if "given" in case.inputs else None
    width = case.inputs["logits"].shape[1]
    experts, gates, gradient, counts = [], [], [], [0] * width
    for i, (x, dg) in enumerate(zip(case.rows("logits"), case.rows("gate-gradient"))):
        if mask and not mask[i]:
            experts.append([-1] * k)
            gates.append([0.0] * k)
            gradient.append([0.0] * width)
            continue
        if gate == "sigmoid":
            y, slope = [sigmoid(v) for v in x], [sigmoid(-v) for v in x]  # 1 - sigma
            logs = [log_sigmoid(v) for v in x]
            score = [f32(v) for v in y]
        elif gate == "sqrt-softplus":
            logs = [log_softplus(v) / 2 for v in x]
            slope = [sigmoid(v) / softplus(v) / 2 if v > -20 else sigmoid(-v) / (2 - math.exp(v)) for v in x]
            if fault == "softplus without the root":
                logs, slope = [2 * v for v in logs], [2 * v for v in slope]
            if fault == "sigmoid for sqrt(softplus)":
                logs, slope = [log_sigmoid(v) for v in x], [sigmoid(-v) for v in x]
            if fault == "no slope of sqrt(softplus)":
                slope = [1.0] * width
            y = [math.exp(v) for v in logs]
            score = [f32(v) for v in y]
        else:
            y, score, logs = softmax(x), list(x), list(x)
            slope = [1.0] * width
            if (by_probability and fault != "bias on logits") or (bias and fault == "bias on probabilities"):
                score = y if fault == "probabilities not rounded" else [f32(v) for v in y]
        if bias:
            score = [v + b for v, b in zip(score, bias)]
        chosen = described_choice(score, p, fault)
        if given:
            chosen = list(given[i])
            if fault == "given routes in order":
                chosen.sort(key=lambda e: (-score[e], e))
        counts_in = [not (left_out and e >= width - zero) for e in chosen]
        some = [y[e] if c else 0.0 for e, c in zip(chosen, counts_in)]
        if fault == "zero gates in the sum":
            some = [y[e] for e in chosen]
        if how == "none":
            g, through = some, [Fraction(scale) * Fraction(v) for v in dg]  # and dL/dy
        elif how == "sum" and epsilon > 0:
            # In rational numbers: what epsilon leaves of the sum of g (dg - mean) is far below its terms.
            some = [Fraction(v) for v in some]
            total = sum(some) + Fraction(epsilon)
            g = [v / total for v in some]
            mean = sum(a * Fraction(b) for a, b in zip(g, dg))
            through = [Fraction(scale) * (Fraction(v) - mean) / total for v in dg]
            g = [float(v) for v in g]
        else:  # shares, which do not change with a common factor, that keeps them from vanishing
            summed = counts_in if fault != "zero gates in the sum" else [True] * k
            top = max((logs[e] for e, c in zip(chosen, summed) if c), default=0.0)
            part = [math.exp(logs[e] - top) if c else 0.0 for e, c in zip(chosen, summed)]
            g = [v / (math.fsum(part) or 1.0) for v in part]
            through = None
        if fault == "zero gates in the sum":
            g = [v if c else 0.0 for v, c in zip(g, counts_in)]
        if left_out:
            dg = [v if c else 0.0 for v, c in zip(dg, counts_in)]
            through = through and [v if c else 0 for v, c in zip(through, counts_in)]
        d = [0.0] * width
        if through is None:
            mean = math.fsum(a * b for a, b in zip(g, dg))
            for e, share, v in zip(chosen, g, dg):
                d[e] = scale * share * (v - mean) * slope[e]
        elif gate in ("sigmoid", "sqrt-softplus"):
            for e, v in zip(chosen, through):
                d[e] = float(v * Fraction(y[e])) * slope[e]
        else:  # dp_e / dx_j = p_j ([j = e] - p_e)
            common = sum(Fraction(y[e]) * Fraction(v) for e, v in zip(chosen, through))
            d = [Fraction(v) * -common for v in y]
            for e, v in zip(chosen, through):
                d[e] += Fraction(y[e]) * Fraction(v)
            d = [float(v) for v in d]
        prob = y
        if gate in ("sigmoid", "sqrt-softplus"):
            part = [math.exp(v - max(logs)) for v in logs]
            prob = [v / math.fsum(part) for v in part]
        common = math.fsum(v * q for v, q in zip(prob, price)) if price else 0.0
        top = max(x)
        lse = top + math.log(math.fsum(math.exp(v - top) for v in x))
        for e in range(width):
            if price:
                d[e] += p["price-scale"] * prob[e] * slope[e] * (price[e] - common)
            d[e] += p["z-scale"] * lse * prob[e] if p["z-scale"] else 0.0
        experts.append(chosen)
        gates.append([scale * v for v in g])
        gradient.append(d)
        for e in chosen:
            counts[e] += 1
    case.give("experts", experts)
    case.give("gates", gates)
    case.give("counts", counts)
    case.give("logit-gradient", gradient)


def tracked(rows, mask, k, fault):
    """Mean probabilities, frequencies, counts and the number of tokens."""
    width = len(rows[0])
    counts, T = [0] * width, 0
    sums = [0.0] * width if "bfloat16" in fault else [[] for _ in range(width)]
    for i, x in enumerate(rows):
        if mask and not mask[i]:
            if fault != "loads over padded tokens":
                continue
            x = [v if math.isfinite(v) else 0.0 for v in x]
        T += 1
        p = softmax(x, fault)
        for e in top_k(x, k):
            counts[e] += 1
        for e in range(width):
            if "bfloat16" in fault:
                sums[e] = bf16(sums[e] + p[e])
            else:
                sums[e].append(p[e])
    total = sums if "bfloat16" in fault else [math.fsum(s) for s in sums]
    if T == 0:  # a micro-batch of padding
        return [0.0] * width, [0.0] * width, counts, 0
    divide = 1 if fault == "frequencies not divided by k" else k
    return [s / T for s in total], [n / (divide * T) for n in counts], counts, T


def sequence_loss(case, fault):
    p, mask, bias = case.parameters, case.values("mask"), case.values("bias")
    rows, k, n = case.rows("logits"), p["k"], p["sequences"]
    E, length = case.inputs["logits"].shape[1], len(rows) // n
    total, T = [], 0
    for b in range(n):
        kept = [x for i, x in enumerate(rows[b * length : (b + 1) * length]) if not mask or mask[b * length + i]]
        T += len(kept)
        counts, sums = [0] * E, [[] for _ in range(E)]
        for x in kept:
            if p["gate"] == "sigmoid":
                logs = [log_sigmoid(v) for v in x]
                s = [math.exp(v - max(logs)) for v in logs]
                prob, score = [v / math.fsum(s) for v in s], [f32(sigmoid(v)) for v in x]
            else:
                prob, score = softmax(x), list(x)
            if bias and fault != "the map without the bias":
                score = [v + b for v, b in zip(score, bias)]
            for e in top_k(score, k):
                counts[e] += 1
            for e in range(E):
                sums[e].append(prob[e])
        if kept:
            total += [c / (k * len(kept)) * math.fsum(s) for c, s in zip(counts, sums)]
    case.give("loss", [p["alpha"] * E * math.fsum(total) / T if T else 0.0])


def loads(case, fault):
    P, f, counts, T = tracked(case.rows("logits"), case.values("mask"), case.parameters["k"], fault)
    if fault == "one token's row taken for a column" and case.inputs["logits"].shape[0] == 1:
        P = [math.fsum(P) / len(P)] * len(P)
    case.give("loads", P)
    case.give("frequencies", f)
    case.give("counts", counts)


def frequencies(case, fault):
    k, T, n = case.parameters["k"], case.parameters["tokens"], case.values("counts")
    if fault == "tokens from the counts":
        T = sum(n) // k
    if fault == "counts in 32 bits":
        n = [(c + 2**31) % 2**32 - 2**31 for c in n]
    if fault == "experts without tokens left out":
        n = [c for c in n if c] + [c for c in n if not c]
    if fault == "an expert of all tokens in no bin":
        n = [c if c != T else 0 for c in n]
    divide = 1 if fault == "frequencies not divided by k" else k
    case.give("frequencies", [c / (divide * T) for c in n])


def ema(case, fault):
    eta = case.parameters["eta"]
    if fault == "eta and 1 - eta exchanged":
        eta = 1 - eta
    before, now = case.values("m"), case.values("loads")
    if fault == "subnormal numbers flushed to zero":
        before, now = ([v if v >= 2.0**-126 else 0.0 for v in part] for part in (before, now))
    after = [math.fsum([m, -eta * m, eta * p]) for m, p in zip(before, now)]
    case.give("m", after[:512] + before[512:] if fault == "512 experts at most" else after)


def loss_free(case, fault):
    n, b, u = case.values("counts"), case.values("bias"), case.parameters["rate"]
    total, E = sum(n), len(n)
    out = []
    for c, x in zip(n, b):
        sign = (total > E * c) - (total < E * c)
        if fault == "loss-free sign reversed":
            sign = -sign
        out.append(f32(x + u * sign))
    case.give("bias", out)


def nearest32(x):
    """The binary32 number nearest to a fraction, in one rounding."""
    x = Fraction(x)
    if not x:
        return 0.0
    size = abs(x)
    e = size.numerator.bit_length() - size.denominator.bit_length()
    e -= size < Fraction(2) ** e
    unit = Fraction(2) ** max(e - 23, -149)
    return float(round(x / unit) * unit)


def exact_sigmoid(x):
    with localcontext() as context:
        context.prec = 60
        return nearest32(Fraction(1 / (1 + (-Decimal(x)).exp())))


def quantile(case, fault):
    """(L7) in fractions; binary64 where the equations say so. (L8), and that the two are in one bin."""
    p = case.parameters
    k, eta, bias, mask = p["k"], Fraction(p["eta"]), case.values("bias"), case.values("mask")
    T, E = case.inputs["logits"].shape
    required = [[math.inf] * T for _ in range(E)]
    for t, x in enumerate(case.rows("logits")):
        if mask and not mask[t]:
            continue
        s = [exact_sigmoid(v) for v in x] if p["gate"] == "sigmoid" else x
        z = [v + b for v, b in zip(s, bias)] if bias else s
        cut = sorted(z)[-k if fault == "cut-off of the k-th score" else -k - 1]
        for e, v in enumerate(z if fault == "required of biased scores" else s):
            required[e][t] = f32(cut - v)
    case.give("required", required)

    def order_statistic(row):
        n = len(row) if fault == "place among padding too" else len([r for r in row if r < math.inf])
        m = k * n // E if fault == "place rounded down" else -(-k * n // E)
        return sorted(row)[max(m, 1) - 1] if n else 0.0

    Q = [order_statistic(row) for row in required]
    if fault == "quantiles of micro-batches averaged":
        size = T // p["micro-batches"]
        Q = [f32(math.fsum(order_statistic(row[i : i + size]) for i in range(0, T, size)) / (T // size)) for row in required]
    mean = 0 if fault == "quantiles not centred" or math.inf in Q else sum(map(Fraction, Q)) / E
    c = [Fraction(q) - mean if q < math.inf else Fraction(0) for q in Q]
    case.give("quantile", Q)
    case.give("centred", [nearest32(v) for v in c])
    case.give("bias", [nearest32((1 - eta) * Fraction(b) + eta * v) for v, b in zip(c, bias or [0.0] * E)])
    low, high, bins = p["low"], p["high"], p["bins"]
    width = (high - low) / bins
    counts, by_histogram = [], []
    for q, row in zip(Q, required):
        count = [0] * bins
        for r in row:
            if r < math.inf:
                place = (r - low) / width
                i = math.ceil(place) - 1 if fault == "edges in the bin below" else math.floor(place)
                count[min(max(i, 0), bins - 1)] += 1
        wanted, i, before = Fraction(k * sum(count), E), 0, 0
        while before + count[i] < wanted:
            before += count[i]
            i += 1
        value = Fraction(low) + (i + (wanted - before) / count[i]) * Fraction(width)
        if not fault and abs(value - Fraction(q)) > Fraction(width) * (1 + Fraction(1, 2**20)):
            sys.exit("not ok: quantile/%s: %g and %g are not in one bin of %g" % (case.prefix, value, q, width))
        counts.append(count)
        by_histogram.append(nearest32(value))
    case.give("histogram", counts)
    case.give("histogram-quantile", by_histogram)


def router_refusal(case, fault):
    """(R9)"""
    mask, bias, rows = case.values("mask"), case.values("bias"), case.rows("logits")
    if fault == "padding looked at":
        mask = None
    if fault == "the bias not looked at":
        bias = None
    if fault == "the last columns not looked at":
        rows = [x[:len(x) // 8 * 8] if len(x) > 8 else x for x in rows]
    good = lambda v: not math.isnan(v) if fault == "infinities routed" else not math.isinf(v) if fault == "NaN routed" else (
        abs(v) <= 3e38 if fault == "large logits refused" else math.isfinite(v))
    bad = [(-1, e) for e, v in enumerate(bias or []) if not math.isfinite(v)]
    bad += [(t, e) for t, x in enumerate(rows) if not mask or mask[t] for e, v in enumerate(x) if not good(v)]
    if fault == "all is routed":
        bad = []
    if fault == "padding not counted in the place" and mask:
        bad = [(t if t < 0 else sum(mask[:t]), e) for t, e in bad]
    case.give("refused", [int(bad != [])])
    case.give("place", bad[-1 if fault == "the last one named" else 0] if bad else [-1, -1])


def sinkhorn(case, fault):
    """(L10) in decimals of 40 digits, whose exponents hold every exponential."""
    mask, rows = case.values("mask"), case.rows("logits")
    E = case.inputs["logits"].shape[1]
    with localcontext() as context:
        context.prec = 40
        context.Emin, context.Emax = -10**9, 10**9
        context.traps[InvalidOperation] = context.traps[DivisionByZero] = False
        live = [i for i in range(len(rows)) if not mask or mask[i] or fault == "padding scaled too"]
        rows = [[v if math.isfinite(v) else 0.0 for v in x] for x in rows]
        K = {i: [Decimal(v).exp() for v in rows[i]] for i in live}
        if fault == "exp in binary32":
            K = {i: [Decimal(f32(math.exp(v))) if v < 700 else Decimal("inf") for v in rows[i]] for i in live}
        T, d, r = len(live), [Decimal(1)] * E, {}
        epsilon = Decimal("1e-8") if fault == "epsilon in the sums" else 0
        rounds = case.parameters["rounds"] + (fault == "one round more")
        for n in range(rounds):
            for i in live:
                r[i] = 1 / (T * (sum(k * v for k, v in zip(K[i], d)) + epsilon))
            if fault == "rows last" and n + 1 == rounds:
                break
            for e in range(E):
                d[e] = 1 / (E * (sum(r[i] * K[i][e] for i in live) + epsilon)) if live else d[e]
        plan = [[float(r[i] * k * v) for k, v in zip(K[i], d)] if i in r else [0.0] * E for i in range(len(rows))]
    case.give("plan", plan)


def zero_experts(case, fault):
    """(E10) in fractions."""
    p = case.parameters
    k, E, Z, scale = p["k"], p["experts"], p["zero-experts"], Fraction(p["scale"])
    e, gates = case.values("experts"), case.values("gates")
    identity = p["output"] == "identity" or fault == "null experts return the token"
    none = lambda v: E - Z <= v < E
    if fault == "the first experts compute nothing":
        none = lambda v: 0 <= v < Z
    if fault == "padding returns the token":
        none = lambda v: v < 0 and Z > 0 or v >= E - Z
    kept = lambda v: v if not none(v) else E - Z - 1 if fault == "clipped to the last real expert" else -1
    case.give("real", e if fault == "dispatched all the same" else [kept(v) for v in e])
    power = {"identities without the scale": 1 / scale, "identities scaled twice": scale}.get(fault, Fraction(1))
    y, back, gate_gradient = [], [], []
    for t, (x, before, dy, dx) in enumerate(zip(*map(case.rows, ("x", "y", "y-gradient", "x-gradient")))):
        slots = [i for i in range(t * k, t * k + k) if none(e[i]) and identity]
        if fault == "one identity of a token":
            slots = slots[-1:]
        c = sum(Fraction(gates[i]) for i in slots) * power
        if fault == "gates in bfloat16":
            c = sum(Fraction(bf16(gates[i])) for i in slots)
        start = 0 if fault == "the output replaced" and slots else 1
        y.append([nearest32(c * Fraction(v) + start * Fraction(b)) for v, b in zip(x, before)])
        back.append([nearest32((c if fault != "no gradient of the token" else 0) * Fraction(v) + Fraction(b))
                     for v, b in zip(dy, dx)])
        dot = nearest32(sum(Fraction(a) * Fraction(b) for a, b in zip(x, dy)))
        gate_gradient += [dot if i in slots and fault != "no gradient of the gates" else 0.0 for i in range(t * k, t * k + k)]
    case.give("y", y)
    case.give("x-gradient", back)
    case.give("gate-gradient", gate_gradient)


def gate_factor(case, fault):
    """(R5f) in fractions."""
    k, E = case.parameters["k"], case.inputs["factor"].shape[0]
    e, g, factor, gradient = (case.values(n) for n in ("experts", "gates", "factor", "scaled-gradient"))
    if fault == "factors in bfloat16":
        factor = [bf16(v) for v in factor]
    flush = lambda v: 0.0 if fault == "subnormal gates flushed" and abs(v) < 2.0**-126 else v
    scaled, back, sums = [], [], [Fraction(0)] * E
    for i, expert in enumerate(e):
        if expert < 0:
            last = fault == "padding has the last expert" and math.isfinite(g[i]) and math.isfinite(gradient[i])
            scaled.append(f32(g[i] * factor[-1]) if last else 0.0)
            back.append(0.0)
            sums[-1] += Fraction(g[i]) * Fraction(gradient[i]) if last else 0
            continue
        f = Fraction(factor[i % k % E] if fault == "factor of the slot" else factor[expert])
        product = Fraction(g[i]) * Fraction(gradient[i])
        out = Fraction(g[i]) * f
        if fault == "normalised after the factor":
            live = [j for j in range(i - i % k, i - i % k + k) if e[j] >= 0]
            total = sum(Fraction(g[j]) * Fraction(factor[e[j]]) for j in live)
            out = out * sum(Fraction(g[j]) for j in live) / total if total else out
        scaled.append(flush(nearest32(out)))
        back.append(gradient[i] if fault == "gradient without the factor" else flush(nearest32(Fraction(gradient[i]) * f)))
        if fault == "gradient of the scaled gate":
            product *= f
        if fault == "gradient by a division" and not f:
            product = Fraction(0)
        sums[expert] = (product if fault == "the last slot's gradient" else
                        Fraction(f32(float(sums[expert]) + f32(float(product)))) if fault == "sums in binary32" else
                        sums[expert] + product)
    case.give("scaled", scaled)
    case.give("gate-gradient", back)
    case.give("factor-gradient", [nearest32(v) for v in sums])


def capacity(case, fault):
    """(E7) in fractions, (E8) by sorting each expert's routes, (E9) in fractions."""
    p = case.parameters
    k, E, C, policy = p["k"], p["experts"], p["limit"], p["policy"]
    e, g, gradient = case.values("experts"), case.values("gates"), case.values("kept-gradient")
    T = len(e) // k
    real = T if fault == "padding in the limit" else sum(v >= 0 for v in e[::k])
    of_factor = Fraction(p["factor"]) * k * real / E
    ceiling = {"limit rounded down": math.floor, "limit to nearest": round}.get(fault, math.ceil)(of_factor)
    case.give("capacity", [max(p["minimum"], ceiling) if fault != "minimum left out" else ceiling])
    if fault == "no limit where it is 0" and C == 0:
        C = T
    if fault == "one place too few":
        C = max(C - 1, 0)
    if fault == "one place too many" and C:
        C += 1
    if fault == "a top-k of too many" and C > T:
        return
    by_token, by_slot, by_gate = (lambda i: i), (lambda i: (i % k, i)), (lambda i: (-g[i], i))
    order = {"token-order": by_token, "slot-order": by_slot, "lowest-gate": by_gate}[policy]
    if fault == "slots by tokens" and policy == "slot-order":
        order = by_token
    if fault == "tokens by slots" and policy == "token-order":
        order = by_slot
    if fault == "last tokens kept" and policy == "token-order":
        order = lambda i: -i
    if fault == "gates by position" and policy == "lowest-gate":
        order = by_token
    if fault == "highest gates dropped" and policy == "lowest-gate":
        order = lambda i: (g[i], i)
    if fault == "gates in bfloat16" and policy == "lowest-gate":
        order = lambda i: (-bf16(g[i]), i)
    if fault == "ties to the later token" and policy == "lowest-gate":
        order = lambda i: (-g[i], -i)
    kept, place, counts, stay = [-1] * len(e), [-1] * len(e), [0] * E, [0] * E
    for expert in range(E):
        routes = sorted((i for i in range(len(e)) if e[i] == expert), key=order)
        counts[expert] = len(routes)
        if fault == "padding takes places":  # it was routed to the first experts
            routes = sorted(routes + [i for i in range(len(e)) if e[i] < 0 and i % k == expert], key=order)
        left = routes[:C]
        if fault == "a full expert drops one" and len(routes) == C:
            left = routes[: C - 1] if C else []
        if fault == "one beyond the limit kept" and C and len(routes) == C + 1:
            left = routes
        if fault == "equal gates kept" and policy == "lowest-gate" and left:
            left = [i for i in routes if g[i] >= g[left[-1]]]
        if fault == "gates of 0 are no routes" and policy == "lowest-gate" and C <= T:
            left = [i for i in left if g[i] > 0]
        left = [i for i in left if e[i] == expert]
        if fault == "places in the order of gates" or policy != "lowest-gate":
            numbered = left
        else:
            numbered = sorted(left)
        stay[expert] = len(left)
        for n, i in enumerate(numbered):
            kept[i], place[i] = expert, n + (fault == "places from 1")
    case.give("kept", kept)
    case.give("place", place)
    case.give("counts", stay if fault == "counts after dropping" else [max(counts)] * E if fault == "counts padded" else counts)
    case.give("dropped", [a - b for a, b in zip(counts, stay)])
    after, back = [], []
    for t in range(T):
        slots = range(t * k, t * k + k)
        live = [i for i in slots if kept[i] >= 0]
        among = [i for i in slots if e[i] >= 0] if fault == "sum of the dropped too" else live
        total = sum(Fraction(g[i]) for i in among)
        if fault == "epsilon in the sum":
            total += Fraction(1, 10**20)
        inner = sum(Fraction(g[i]) * Fraction(gradient[i]) for i in live)
        if fault == "gradient through the sum left out":
            inner = Fraction(0)
        for i in slots:
            if kept[i] < 0:
                after.append(g[i] if fault == "gates of the dropped" and e[i] >= 0 else
                             math.nan if fault == "0 by 0" and p["renormalise"] and not live and e[i] >= 0 else 0.0)
                back.append(gradient[i] if fault == "gradient of the dropped" and e[i] >= 0 else 0.0)
            elif p["renormalise"] and fault != "not renormalised":
                after.append(nearest32(Fraction(g[i]) / total) if total else 0.0)
                back.append(nearest32((Fraction(gradient[i]) - inner / total) / total) if total else 0.0)
            else:
                after.append(g[i])
                back.append(gradient[i])
    case.give("gates", after)
    case.give("gate-gradient", back)


FORWARD, RECOMPUTE, EVALUATE, STEP, RELOAD, CAST = range(6)


def trace(case, fault):
    p, events, rank = case.parameters, case.values("events"), case.values("rank")
    E, T = case.inputs["event-logits"].shape[2], case.inputs["event-logits"].shape[1]
    method, bias = p["method"], p["method"] != "phi"
    begin = list(case.values("bias") or [0.0] * E) if bias else list(case.values("m"))
    state, average, tokens, out, cast = list(begin), list(case.values("m") or []), [], [], False

    def update():
        """From the tokens of the step so far, scores and logits: the state, and m behind a bias."""
        counts = [0] * E
        for score, _, _ in tokens:
            for e in top_k(score, p["k"]):
                counts[e] += 1
        if any(map(math.isnan, state)):
            return state, average
        if method == "loss-free":
            if cast and fault == "counts in bfloat16":
                counts = [bf16(n) for n in counts]
            total = sum(counts)
            return [f32(b + p["rate"] * ((total > E * n) - (total < E * n))) for b, n in zip(state, counts)], average
        if not tokens:
            return [math.nan] * E if fault == "an empty batch divided by" else state, average
        if method == "quantile":
            required = [[] for _ in range(E)]
            for z, _, s in tokens:
                cut = sorted(z)[-p["k"] if fault == "cut-off of the k-th score" else -p["k"] - 1]
                for e in range(E):
                    required[e].append(f32(cut - s[e]))
            m = -(-p["k"] * len(tokens) // E)
            Q = [Fraction(sorted(row)[m - 1]) for row in required]
            mean, eta = sum(Q) / E, Fraction(p["eta"])
            return [nearest32((1 - eta) * Fraction(b) + eta * (q - mean)) for b, q in zip(state, Q)], average
        probabilities = [softmax(x) for _, x, _ in tokens]
        load = [math.fsum(q[e] for q in probabilities) / len(tokens) for e in range(E)]
        if p.get("track", "frequency") == "frequency":
            load = [n / (p["k"] * len(tokens)) for n in counts]
        m = [math.fsum([m, -p["eta"] * m, p["eta"] * v]) for m, v in zip(average, load)]
        if method == "phi":
            return m, m
        q, _ = price(p["potential"], p.get("parameter"), m if fault != "price from the old m" else average)
        q = list(q)
        sign = 1 if fault == "biases of the wrong sign" else -1
        return [f32(sign * p["strength"] * (v - math.fsum(q) / E)) for v in q], m

    for i, event in enumerate(events):
        counted = event == FORWARD or (event == RECOMPUTE and fault == "recomputation counted") or \
            (event == EVALUATE and fault == "evaluation counted")
        cast |= event == CAST
        if fault == "the first rank alone" and rank[i] > 0:
            counted = False
        if counted:
            if fault == "only the last micro-batch" and rank[i] == 0:
                tokens = []
            mask = case.values("event-mask")[i * T : (i + 1) * T]
            for x, live in zip(case.rows("event-logits", i), mask):
                if live or fault == "padding counted":
                    score = [exact_sigmoid(v) for v in x] if p.get("gate") == "sigmoid" else x
                    tokens.append(([v + b for v, b in zip(score, state)] if bias else x, x, score))
            if fault == "an update for each forward pass" or (fault == "an update for each micro-batch" and
                                                              rank[i] == p["ranks"] - 1):
                (state, average), tokens = update(), []
        elif event == STEP and not fault.startswith("an update for each"):
            (state, average), tokens = update(), []
        elif event == RELOAD and fault == "the state not saved":
            state, average = list(begin), list(case.values("m") or [])
        elif event == CAST and fault == "the state cast":
            state, average = [bf16(v) for v in state], [bf16(v) for v in average]
        if case.values("observe")[i]:
            out.append(list(state))
    case.give("bias" if bias else "m", out)


def loss_trace(case, fault):
    """Steps one after the other: first what their forward passes count, then losses and gradients."""
    p, events, rank, bias = case.parameters, case.values("events"), case.values("rank"), case.values("bias")
    method, k, alpha, alike = p["method"], p["k"], p["alpha"], p["weights"] == "micro-batches"
    N, T, E = case.inputs["event-logits"].shape
    length, sigmoid_gate = T // p["sequences"], p["gate"] == "sigmoid"
    mask = case.values("event-mask")
    losses, per_step, counts, gradients, cast = [], [], [], [], False

    def token(x):
        if sigmoid_gate:
            s = [sigmoid(v) for v in x]
            total = math.fsum(s) + (1e-20 if fault == "epsilon in the sum of sigmoids" else 0)
            score, slope, prob = [exact_sigmoid(v) for v in x], [sigmoid(-v) for v in x], [v / total for v in s]
        else:
            score, slope, prob = x, [1.0] * E, softmax(x)
            if fault == "softmax twice":
                prob = softmax(prob)
        routed = score if fault == "the map without the bias" or not bias else [v + b for v, b in zip(score, bias)]
        lse = max(x) + math.log(math.fsum(math.exp(v - max(x)) for v in x)) if method == "z-loss" else 0
        return x, prob, slope, top_k(routed, k), lse

    def count(tokens):
        n = [0] * E
        for t in tokens:
            for e in t[3] if t else []:
                n[e] += 1
        return n

    def passes_of(first, last):
        """Of each forward pass: its rank, and its sequences' tokens, None for padding."""
        out = []
        for i in range(first, last):
            again = events[i] == RECOMPUTE and fault == "recomputation counted"
            looked = events[i] == EVALUATE and fault == "evaluation counted"
            if events[i] == FORWARD or again or looked:
                rows = [token(x) if mask[i * T + t] or fault == "padding counted" else None
                        for t, x in enumerate(case.rows("event-logits", i))]
                out.append((rank[i], [rows[a : a + length] for a in range(0, T, length)], events[i] == FORWARD))
        return out

    first = 0
    before = [0] * E
    for last in [i for i, event in enumerate(events) if event == STEP]:
        cast |= CAST in events[first:last] and fault in ("counts in bfloat16", "micro-batches counted in bfloat16")
        all_passes = passes_of(first, last)
        A, R = len(all_passes), p["ranks"]
        live = lambda sequences: [t for s in sequences for t in s if t]
        tokens = sum(len(live(s)) for _, s, _ in all_passes)
        so_far, seen, prefix, passed = list(before) if fault == "counts kept over the step" else [0] * E, 0, 0, 0
        step_loss = 0.0
        for a, (r, sequences, real) in enumerate(all_passes):
            while seen <= a or (seen < A and all_passes[seen][0] > all_passes[seen - 1][0] and fault != "other ranks not counted"):
                n = count(live(all_passes[seen][1]))
                so_far = [bf16(x + y) if cast and "counts" in fault else x + y for x, y in zip(so_far, n)]
                prefix += len(live(all_passes[seen][1]))
                passed = bf16(passed + 1) if cast else passed + 1
                seen += 1
            own, B = 0.0, len(sequences)
            mine = len(live(sequences))
            if fault == "sequences pooled" and method == "sequence":
                sequences, B = [[t for s in sequences for t in s]], 1
            for s in sequences:
                kept = [t for t in s if t]
                n = len(kept)
                if not n:
                    if fault == "an empty batch divided by":
                        own, part = math.nan, math.nan
                        gradients += [[math.nan] * E] * len(s) if real else []
                    else:
                        gradients += [[0.0] * E] * len(s) if real else []
                    continue
                P = [math.fsum(t[1][e] for t in kept) / n for e in range(E)]
                f = [v / (k * n) for v in count(kept)]
                over = n
                if method == "switch-global":
                    f = [v / (k * prefix) for v in so_far]
                    if fault == "the prefix over the current tokens":  # and the passes so far, as if all had as many
                        f = [v / (k * n * passed) for v in so_far]
                    if fault == "micro-batches counted in bfloat16":
                        f = [v / (k * (prefix / seen) * passed) for v in so_far]
                    if fault == "a prefix over the current tokens":
                        f = [v / (k * n) for v in so_far]
                if method == "sequence" and fault == "sequences taken to be as long":
                    f, over = [v * n / (mine / B) for v in f], mine / B
                    P = [v * n / over for v in P]
                if fault == "frequencies not divided by k":
                    f = [v * k for v in f]
                loss = alpha / n * math.fsum(t[4] ** 2 for t in kept) if method == "z-loss" else \
                    alpha * E * math.fsum(x * y for x, y in zip(f, P))
                share = 1 / B if alike else n / mine
                weight = 1 / (A * B) if alike else n / tokens
                if fault == "micro-batches weigh alike":
                    weight = n / mine / A
                if fault == "averaged over micro-batches again":
                    weight /= A // R
                if fault == "not averaged over micro-batches":
                    weight *= A // R
                own += share * loss
                step_loss += weight * loss
                if fault == "gradient divided by the ranks":
                    weight /= R
                if fault == "gradient times the ranks":
                    weight *= R
                if fault == "gradient divided by the sequences":
                    weight /= B
                if fault == "no gradient":
                    weight = 0.0
                for t in s if real else []:
                    if not t:
                        gradients.append([0.0] * E)
                    elif method == "z-loss":
                        gradients.append([weight * 2 * alpha / n * t[4] * q for q in t[1]])
                    else:
                        mean = math.fsum(x * y for x, y in zip(t[1], f))
                        gradients.append([weight * alpha * E / over * q * d * (v - mean)
                                          for q, d, v in zip(t[1], t[2] if fault != "no 1 - sigma" else [1.0] * E, f)])
            if real:
                losses.append(own)
            if fault == "losses logged twice" and a == 0 and RECOMPUTE in events[first:last]:
                step_loss *= 2
        counts.append(so_far)
        before = so_far
        per_step.append(step_loss)
        first = last + 1
    case.give("counts", [[int(v) for v in row] for row in counts])
    case.give("losses", losses)
    case.give("loss", per_step)
    case.give("logit-gradient", gradients)


def decimal_functions():
    """As FORMULAS has them, in the digits of the context. Small arguments by their series."""
    one, exp = Decimal(1), Decimal.exp
    log1p = lambda x: (1 + x).ln() if abs(x) > Decimal("1e-15") else x - x * x / 2 + x * x * x / 3
    expm1 = lambda x: x.exp() - 1 if abs(x) > Decimal("1e-15") else x + x * x / 2 + x * x * x / 6
    tanh = lambda x: x - x * x * x / 3 if abs(x) < Decimal("1e-15") else one.copy_sign(x) * (1 - 2 / (1 + (2 * abs(x)).exp()))
    power = lambda x, y: x ** y if isinstance(y, int) or y != 0 else one
    return {"fabs": abs, "sqrt": Decimal.sqrt, "exp": exp, "log": Decimal.ln, "log1p": log1p, "expm1": expm1, "tanh": tanh,
            "pow": power, "cosh": lambda x: (x.exp() + (-x).exp()) / 2}


def core(name):
    """(N3): the function's value, rounded once."""
    def value(x, fault):
        if math.isnan(x) or x < {"log": 0, "log1p": -1}.get(name, -math.inf):
            return math.nan
        if fault == "no infinity" and math.isinf(x):
            return math.nan
        if fault == "a quotient of 32 bits" and abs(x) >= 2.0**32 and math.isfinite(x):
            return 0.0
        if x == {"log": 0, "log1p": -1}.get(name):
            return -math.inf
        if abs(x) > 200 and name in ("exp", "expm1", "tanh", "sigmoid"):
            high = x > 0
            return {"exp": math.inf if high else 0.0, "expm1": math.inf if high else -1.0, "tanh": math.copysign(1, x),
                    "sigmoid": float(high)}[name]
        if math.isinf(x):
            return x
        X = Decimal(x)
        if fault == "1 + x - 1" and 1 + x - 1 != 0:
            X = Decimal(1 + x) - 1
        if fault == "two terms of the series at 1" and abs(x - 1) < 2.0**-9:
            y = (X - 1) - (X - 1) ** 2 / 2
        else:
            y = 1 / (1 + (-X).exp()) if name == "sigmoid" else FUNCTIONS[name](X)
        if not y:
            return 0.0
        if fault == "rounded twice":
            y = Decimal(math.ldexp(round(math.ldexp(math.frexp(float(y))[0], 45)), math.frexp(float(y))[1] - 45))
        return nearest32(y) if abs(y) < Decimal("3.5e38") else math.copysign(math.inf, y)

    def run(case, fault):
        with localcontext() as context:
            context.prec = 60
            case.give("value", [value(x, fault) for x in case.values("x")])
    return run


def price_of(case, fault):
    """(M2), (M3) in decimals of 60 digits, floored as (P.k) says."""
    p, m = case.parameters, case.values("m")
    name, a = p["potential"], float(p["parameter"]) if "parameter" in p else None
    E, floor = len(m), 2.0**-126
    bits = {"prices of 40 bits": 40, "prices of 46 bits": 46}.get(fault)
    if fault == "loads as integers of one scale":
        m = [v if v > max(m) * 2.0**-30 else 0.0 for v in m]

    def rounded(v, bits):
        mantissa, e = math.frexp(float(v))
        return Decimal(math.ldexp(round(math.ldexp(mantissa, bits)), e - bits)) if v else v

    with localcontext() as context:
        context.prec = 60
        context.Emin, context.Emax = -10**9, 10**9
        raised = name in ("negentropy", "renyi") or (name == "tsallis" and a < 1)
        if fault == "an epsilon beside the loads":
            m = [v + 2.0**-64 if v else v for v in m]
        if raised:
            m = [max(v, floor) if v or fault != "loads of 0 not floored" else 0.0 for v in m]
        if raised and not all(m):
            return case.give("price", [math.nan] * E) or case.give("centred", [math.nan] * E)
        X, A = [Decimal(v) for v in m], None if a is None or a == math.inf else Decimal(a)
        power = FUNCTIONS["pow"]
        if name in ROWS:
            values = {}
            for v in X:
                if v not in values:
                    large = name == "log-cosh" and A * v > 200
                    values[v] = Decimal(1) - 2 * (-2 * A * v).exp() if large else eval(
                        ROWS[name].gradient, FUNCTIONS, {"x": v, "a": A})
            q = [values[v] for v in X]
        elif name == "lp" and a == math.inf:
            q = [Decimal(v == max(X)) / X.count(max(X)) for v in X]
        elif name == "lp":
            q = [power(v, A - 1) if v else Decimal(0) for v in X]
        elif name == "negentropy":
            q = [v.ln() + 1 for v in X]
        else:
            powers = [power(v, A - 1) if v else Decimal(0) for v in X]
            if fault == "1/(alpha - 1) as it stands":
                powers = [rounded(v, 40) for v in powers]
            if name == "tsallis":
                q = [(A * v - 1) / (A - 1) for v in powers]
            else:
                S = sum(v * w for v, w in zip(powers, X))
                q = [A * v / ((A - 1) * S) for v in powers]
        narrow = [rounded(v, bits) for v in q] if bits else q
        mean = sum(narrow) / E
        if fault == "the mean by a reciprocal":
            mean = sum(narrow) * Decimal(1 / E)
        centred = [v - mean for v in narrow]
        small = Decimal("1e-60")
        to_32 = lambda v: math.copysign(math.inf, v) if abs(v) > Decimal("3.4028235678e38") else nearest32(v) if abs(v) > small else 0.0
        case.give("price", [to_32(v) for v in q])
        case.give("centred", [to_32(v) for v in centred])


FUNCTIONS = decimal_functions()
FORMULAS = {name: getattr(math, name) for name in "fabs sqrt exp log log1p sinh cosh tanh asinh atanh pow".split()}


def price(name, a, m):
    """grad phi and the diagonal of the Hessian (up to what is not separable)."""
    if name in ROWS:
        return ([eval(text, FORMULAS, {"x": v, "a": a}) for v in m] for text in (ROWS[name].gradient, ROWS[name].second))
    if name == "lp":
        return [v ** (a - 1) for v in m], [(a - 1) * v ** (a - 2) for v in m]
    if name == "negentropy":
        return [math.log(v) + 1 for v in m], [1 / v for v in m]
    if name == "tsallis":
        return [(a * v ** (a - 1) - 1) / (a - 1) for v in m], [a * v ** (a - 2) for v in m]
    assert name == "renyi", name
    s = math.fsum(v**a for v in m)
    return ([a * v ** (a - 1) / ((a - 1) * s) for v in m], [a * v ** (a - 2) / s for v in m])


def add_gradient(rows, mask, q, scale, out, fault):
    mean = math.fsum(q) / len(q)
    c = [v - mean for v in q]
    for i, x in enumerate(rows):
        if mask and not mask[i]:
            out.append([0.0] * len(x))
            continue
        p = softmax(x, fault)
        inner = math.fsum(a * b for a, b in zip(p, c))
        if fault == "price not centred by the token":
            inner = 0.0
        if fault == "no gradient":
            scale = 0.0
        out.append([scale * a * (b - inner) for a, b in zip(p, c)])


def step(case, fault, layer_price):
    """The part of both steps that is the same: micro-batches, layers, counts, loss, gradient.
    layer_price(layer, a, P of the batch so far, P, f so far, f) gives the price, and what of its
    slope flows where the gradient may not."""
    p = case.parameters
    L, T, E = case.inputs["logits"].shape
    A, k, alpha = p["micro-batches"], p["k"], p["alpha"]
    mask = case.values("mask")
    n = T // A
    global_T = T if not mask or fault == "loads over padded tokens" else sum(mask)
    all_counts, losses, gradients = [], [], []
    for l in range(L):
        rows = case.rows("logits", l)
        loss, counts = 0.0, None
        for a in range(A):
            cut, before = slice(a * n, (a + 1) * n), slice(0, (a + 1) * n)
            here = tracked(rows[cut], mask[cut] if mask else None, k, fault)
            so_far = tracked(rows[before], mask[before] if mask else None, k, fault)
            share = here[3] / global_T
            if fault == "layers pooled":
                pooled = [r for other in range(L) for r in case.rows("logits", other)[cut]]
                here = tracked(pooled, mask[cut] * L if mask else None, k, fault)
            q, slope = layer_price(l, a, so_far, here)
            scale = alpha * E / global_T
            if fault == "gradient not divided by T":
                scale = alpha * E
            if fault == "divided by the ranks":
                scale, share = scale / p["ranks"], share / p["ranks"]
            if fault == "not divided by the micro-batches":
                scale, share = scale * A, share * A
            loss += share * alpha * E * math.fsum(x * y for x, y in zip(here[0], q))
            moved = [x + y for x, y in zip(q, slope)]
            add_gradient(case.rows("logits", l)[a * n : (a + 1) * n],
                         mask[a * n : (a + 1) * n] if mask else None, moved, scale, gradients, fault)
        counts = so_far[2]
        if fault == "forward passes counted twice":
            counts = [c * p["forward-passes"] for c in counts]
        all_counts.append(counts)
        losses.append(loss)
    if fault == "sums in the order of arrival":  # which is another one each time
        REPEATED.append(1)
        order = random.Random(len(REPEATED))
        gradients = [[f32(v) * (1 + order.randrange(2) * 1.01 * 2.0**-24) for v in row] for row in gradients]
    case.give("counts", all_counts)
    case.give("loss", losses)
    case.give("logit-gradient", gradients)


REPEATED = []


def switch_step(case, fault):
    def layer_price(l, a, so_far, here):
        f = so_far[1] if case.parameters["frequencies"] == "global" else here[1]
        if fault == "prefix divided by the micro-batch" and case.parameters["frequencies"] == "global":
            f = [v * (a + 1) for v in f]
        return f, [0.0] * len(f)

    step(case, fault, layer_price)
    if fault == "remembered by a sum over the experts":
        key = repr((case.parameters, case.inputs["logits"].shape, math.fsum(case.values("logits"))))
        first = REMEMBERED.setdefault(key, case.outputs)
        case.outputs = {n: first[f] for n, f in zip(case.outputs, first)}


REMEMBERED = {}


def balance_step(case, fault):
    p = case.parameters
    eta, E = p["eta"], case.inputs["logits"].shape[2]
    states = [case.values("m")[l * E : (l + 1) * E] for l in range(case.inputs["m"].shape[0])]
    new = [list(m) for m in states]

    def layer_price(l, a, so_far, here):
        old = states[l]
        step = 1 - eta if fault == "eta and 1 - eta exchanged" else eta
        if fault == "EMA at each micro-batch":
            m = [(1 - step) * x + step * y for x, y in zip(new[l], here[0])]
        else:
            m = [(1 - step) * x + step * y for x, y in zip(old, so_far[0])]
        new[l] = m
        at = old if fault == "price from the old m" else m
        if min(at) <= 0:
            at = [max(v, 2.0**-126) for v in at]
        q, slope = price(p["potential"], p.get("parameter"), at)
        through = [eta * x * s for x, s in zip(here[0], slope)]
        if fault != "gradient through the price":
            through = [0.0] * E
        return q, through

    step(case, fault, layer_price)
    case.give("m", new)


def activation(name, a, fault):
    """act(a) and act'(a)."""
    if name == "silu":
        s = sigmoid(a)
        return a * s, s * (1 + a * (1 - s))
    if fault == "gelu by erf":
        g = 0.5 * (1 + math.erf(a / math.sqrt(2)))
        return a * g, g + a * math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    c = math.sqrt(2 / math.pi)
    t = math.tanh(c * (a + 0.044715 * a**3))
    slope = 0.5 * (1 + t) + 0.5 * a * (1 - t * t) * c * (1 + 3 * 0.044715 * a * a)
    return 0.5 * a * (1 + t), slope


def times(m, x):
    return [math.fsum(a * b for a, b in zip(row, x)) for row in m]


def transpose(m):
    return [list(column) for column in zip(*m)]


def ffn_weights(case, e, fault):
    E, f, d = case.inputs["w-gate"].shape
    gate, up, down = (case.rows("w-gate", e), case.rows("w-up", e), case.rows("w-down", e))
    if fault == "transposed weights" and f == d:
        up = transpose(up)
    if fault == "transposed fused weights" and 2 * f == d:
        fused = transpose(gate + up)
        gate, up = fused[:f], fused[f:]
    return gate, up, down


def expert_ffn(case, fault):
    name, offsets = case.parameters["activation"], case.values("offsets")
    x, y_gradient = case.rows("x"), case.rows("y-gradient")
    E, f, d = case.inputs["w-gate"].shape
    weights = {n: list(case.values(n)) for n in ("w-gate-gradient", "w-up-gradient", "w-down-gradient")}
    y, x_gradient = [], []
    for e in range(E):
        gate, up, down = ffn_weights(case, e, fault)
        back = transpose(down), transpose(gate), transpose(up)
        for n in range(offsets[e], offsets[e + 1]):
            a, b = times(gate, x[n]), times(up, x[n])
            if fault == "rows scaled by their sum":
                total = math.fsum(x[n])
                a = [v / total * total if total else math.nan for v in a]
            both = [activation(name, v, fault) for v in a]
            h = [v[0] * w for v, w in zip(both, b)]
            y.append(times(down, h))
            dh = times(back[0], y_gradient[n])
            da = [g * w * v[1] for g, w, v in zip(dh, b, both)]
            db = [g * v[0] for g, v in zip(dh, both)]
            x_gradient.append([p + q for p, q in zip(times(back[1], da), times(back[2], db))])
            if fault == "last expert frozen" and e == E - 1:
                continue
            for i in range(f):
                for j in range(d):
                    at = (e * f + i) * d + j
                    weights["w-gate-gradient"][at] += da[i] * x[n][j]
                    weights["w-up-gradient"][at] += db[i] * x[n][j]
                    weights["w-down-gradient"][(e * d + j) * f + i] += y_gradient[n][j] * h[i]
    if fault == "a tile's last column not written":
        y = [row[:-1] + [0.0] if d > 64 and d % 64 else row for row in y]
    if fault == "sizes of 1 squeezed" and len(y) == E == f == d == 1:
        y = [[0.0]]
    if fault == "no row: gradients not set" and not y:
        weights = {n: [0.0] * len(v) for n, v in weights.items()}
    case.give("y", y)
    case.give("x-gradient", x_gradient)
    for n, values in weights.items():
        case.give(n, values)


def router_backward(case, fault):
    p, mask = case.parameters, case.values("mask")
    k, gate, scale, E = p["k"], p["gate"], p["scale"], case.inputs["logits"].shape[1]
    price, gates_gradient, chosen = case.values("price"), case.values("gate-gradient"), case.values("experts")
    out = []
    for i, x in enumerate(case.rows("logits")):
        if mask and not mask[i]:
            out.append([0.0] * E)
            continue
        if gate == "sigmoid":
            logs = [log_sigmoid(v) for v in x]
            w = [math.exp(v - max(logs)) for v in logs]
            slope = [sigmoid(-v) for v in x]  # 1 - sigma
        else:
            w, slope = [math.exp(v - max(x)) for v in x], [1.0] * E
        prob = [v / math.fsum(w) for v in w]
        terms = [[] for _ in range(E)]
        if price:
            inner = math.fsum(a * b for a, b in zip(prob, price))
            if fault == "price's mean left in":
                inner = 0.0
            for e in range(E):
                terms[e].append(p["price-scale"] * prob[e] * slope[e] * (price[e] - inner))
        if p["z-scale"] and fault != "no z gradient":
            lse = max(x) + math.log(math.fsum(math.exp(v - max(x)) for v in x))
            for e in range(E):
                terms[e].append(p["z-scale"] * (2 if fault == "z gradient twice" else 1) * lse * prob[e])
        if gates_gradient:
            experts, g = chosen[i * k : i * k + k], gates_gradient[i * k : i * k + k]
            rho = 1.0 if fault == "no scale in the gate's gradient" else scale
            if gate == "probability" or gate == "topk-softmax" and k == 1 and fault != "k = 1 renormalised":
                at = dict(zip(experts, g))
                inner = math.fsum(prob[e] * v for e, v in at.items())
                if fault == "gate's gradient at the selected only":
                    for e, v in at.items():
                        terms[e].append(rho * prob[e] * (v - inner))
                else:
                    for e in range(E):
                        terms[e].append(rho * prob[e] * (at.get(e, 0.0) - inner))
            else:
                if gate == "sigmoid":
                    logits = [logs[e] for e in experts]
                else:
                    logits = [x[e] for e in experts]
                part = [math.exp(v - max(logits)) for v in logits]
                part = [v / math.fsum(part) for v in part]
                inner = math.fsum(a * b for a, b in zip(part, g))
                if fault == "gates' gradient through the sum left out":
                    inner = 0.0
                for e, a, v in zip(experts, part, g):
                    through = slope[e] if fault != "no 1 - sigma" else 1.0
                    terms[e].append(rho * a * through * (v - inner))
        out.append([math.fsum(t) for t in terms])
    case.give("logit-gradient", out)


def switch_loss(case, fault):
    f, P, alpha = case.values("frequencies"), case.values("loads"), case.parameters["alpha"]
    E = len(f)
    factor = 1 if fault == "no factor E" else E
    products = [a * b for a, b in zip(f, P)]
    if fault == "products flushed to zero":
        products = [v if v >= 2.0**-126 else 0.0 for v in products]
    case.give("loss", [factor * alpha * math.fsum(products)])
    mean = 0 if fault == "frequencies not centred" else sum(map(Fraction, f)) / E
    case.give("centred", [float(Fraction(v) - mean) for v in f])


def permutation(case, fault):
    p, E = case.parameters, case.parameters["experts"]
    T, k = case.inputs["experts"].shape
    flat, x, before = case.values("experts"), case.rows("x"), case.rows("x-gradient")
    if fault == "padding goes to expert 0":
        flat = [max(e, 0) for e in flat]
    d = case.inputs["x"].shape[1]
    slots = sorted((i for i in range(T * k) if flat[i] >= 0), key=lambda i: (flat[i], i if fault != "slots first" else i % k))
    offsets, row = [0] * (E + 1), [-1] * (T * k)
    for n, i in enumerate(slots):
        row[i] = n
        offsets[flat[i] + 1] = n + 1
    for e in range(E):
        offsets[e + 1] = max(offsets[e + 1], offsets[e])
    if fault == "empty experts begin at 0":
        offsets = [0 if e < E and offsets[e + 1] == offsets[e] else v for e, v in enumerate(offsets[:-1])] + offsets[-1:]
    gathered = [x[i // k] for i in slots]
    gradient = case.rows("gathered-gradient") if slots else []
    if fault == "padding goes to expert 0":  # and what does not fit into the tensors is lost
        slots = slots[: len(gradient)]
        gathered, row = gathered[: len(gradient)], [n if n < len(gradient) else -1 for n in row]
    if fault == "activations for the gradient":
        gradient = gathered
    back = [list(r) for r in before]
    if fault == "gradient replaces":
        back = [[0.0] * d for _ in before]
    for t in range(T):
        for s in range(k):
            if row[t * k + s] >= 0:
                back[t] = [a + b for a, b in zip(back[t], gradient[row[t * k + s]])]
                if fault == "first slot only":
                    break
    case.give("offsets", offsets)
    case.give("source", slots)
    case.give("row", row)
    case.give("gathered", gathered)
    case.give("x-gradient", back)


def combine(case, fault):
    T, k = case.inputs["experts"].shape
    row, g, output = case.values("row"), case.values("gates"), case.rows("expert-output")
    y, dy = case.rows("y"), case.rows("y-gradient")
    d = case.inputs["y"].shape[1]
    out, gate, expert = [], [], [[0.0] * d for _ in output]
    for t in range(T):
        terms = [[v] for v in (y[t] if fault != "y replaced" else [0.0] * d)]
        for s in range(k):
            n = row[t * k + s]
            if n < 0:
                gate.append(0.0)
                continue
            w = g[t * k + s] if fault != "gates left out" else 1.0
            for j in range(d):
                terms[j].append(w * output[n][j])
            expert[n] = [(w if fault != "no gate in the gradient" else 1.0) * v for v in dy[t]]
            gate.append(math.fsum(a * b for a, b in zip(dy[t], output[n])))
        out.append([math.fsum(v) for v in terms])
    case.give("y", out)
    case.give("expert-gradient", expert)
    case.give("gate-gradient", gate)


def z_loss(case, fault):
    mask, lse = case.values("mask"), case.values("logsumexp")
    kept = [v for i, v in enumerate(lse) if not mask or mask[i]]
    n = len(lse) if fault == "padding in the divisor" else len(kept)
    case.give("loss", [case.parameters["coefficient"] / n * math.fsum(v * v for v in kept) if n else 0])


OPERATIONS = {"router-forward": router_forward, "described-router": described_router, "loads": loads,
              "frequencies": frequencies, "ema": ema, "loss-free": loss_free,
              "switch-step": switch_step, "balance-step": balance_step,
              "expert-ffn": expert_ffn, "z-loss": z_loss, "sequence-loss": sequence_loss,
              "router-backward": router_backward, "switch-loss": switch_loss,
              "permutation": permutation, "combine": combine,
              "quantile": quantile, "trace": trace, "loss-trace": loss_trace, "capacity": capacity, "sinkhorn": sinkhorn,
              "gate-factor": gate_factor, "zero-experts": zero_experts,
              "router-refusal": router_refusal, "price": price_of,
              **{name: core(name) for name in ("exp", "expm1", "log", "log1p", "tanh", "sigmoid")}}

# What is done wrong, where, and the flag that should be the judge's first guess.
FAULTS = [
    ("frequencies not divided by k", "switch-step", "k-normalisation"),
    ("loads over padded tokens", "loads", "padding"),
    ("loads over padded tokens", "switch-step", "padding"),
    ("loads over padded tokens", "balance-step", "padding"),
    ("gates not renormalised", "router-forward", "renormalised-gates"),
    ("gradient through the price", "balance-step", "constant-price"),
    ("price from the old m", "balance-step", "new-state"),
    ("eta and 1 - eta exchanged", "ema", "new-state"),
    ("loads accumulated in bfloat16", "loads", "half-sums"),
    ("one token's row taken for a column", "loads", "one-token"),
    ("ties to the higher index", "router-forward", "ties"),
    ("EMA at each micro-batch", "balance-step", "micro-batches"),
    ("loss-free sign reversed", "loss-free", "loss-free-sign"),
    ("no gradient", "switch-step", "aux-gradient"),
    ("gradient not divided by T", "switch-step", "t-normalisation"),
    ("not divided by the micro-batches", "switch-step", "micro-batches"),
    ("not divided by the micro-batches", "balance-step", "micro-batches"),
    ("prefix divided by the micro-batch", "switch-step", "running-prefix"),
    ("divided by the ranks", "switch-step", "ranks"),
    ("layers pooled", "switch-step", "layers"),
    ("forward passes counted twice", "switch-step", "recomputation"),
    ("tokens from the counts", "frequencies", "k-not-dividing"),
    ("counts in 32 bits", "frequencies", "large-counts"),
    ("frequencies not divided by k", "frequencies", "k-normalisation"),
    ("softmax without a shift", "router-forward", "within-1e4"),
    ("bias in the gates", "router-forward", "bias"),
    ("unset scores are 0", "router-forward", "negative-bias"),
    ("epsilon in the sum of sigmoids", "router-forward", "sigmoid-epsilon"),
    ("experts padded with 0", "router-forward", "all-negative"),
    ("bias in bfloat16", "router-forward", "bias-precision"),
    ("gates from biased scores", "router-forward", "biased-gates"),
    ("in the logits' format", "router-forward", "half-logits"),
    ("padding goes to expert 0", "permutation", "replayed-padding"),
    ("the map without the bias", "sequence-loss", "routing-map"),
    ("softmax twice", "loss-trace", "double-softmax"),
    # Rounding makes ties everywhere, so that no flag stands out.
    ("bfloat16 scores", "router-forward", None),
    ("E = 128 and k = 8", "router-forward", "e128-k8"),
    ("no routed scaling", "router-forward", "routed-scaling"),
    ("all groups", "described-router", "groups"),
    ("groups by the largest", "described-router", "group-sum"),
    ("no epsilon", "described-router", "gate-epsilon"),
    ("sigmoids divided", "described-router", "gates-as-they-are"),
    ("given routes in order", "described-router", "given-selection"),
    ("bias on logits", "described-router", "probability-scores"),
    ("probabilities not rounded", "described-router", None),  # shows in near ties of such routers alone
    ("bias on probabilities", "described-router", "logit-scores"),
    ("zero experts counted", "described-router", "zero-gates"),
    ("zero gates in the sum", "described-router", "zero-gates"),
    ("zero experts left out", "described-router", "zero-gates-counted"),
    ("sigmoid for sqrt(softplus)", "described-router", "sqrt-softplus"),
    ("softplus without the root", "described-router", "sqrt-softplus"),
    ("no slope of sqrt(softplus)", "described-router", "sqrt-softplus"),
    ("transposed weights", "expert-ffn", "square"),
    ("transposed fused weights", "expert-ffn", "half-square"),
    ("last expert frozen", "expert-ffn", "frozen-experts"),
    ("gelu by erf", "expert-ffn", None),
    ("padding in the divisor", "z-loss", "padding"),
    ("price not centred by the token", "balance-step", "aux-gradient"),
    ("cut-off of the k-th score", "quantile", "quantile"),
    ("quantiles not centred", "quantile", "quantile"),
    ("required of biased scores", "quantile", "biased-quantile"),
    ("place rounded down", "quantile", "quantile-place"),
    ("place among padding too", "quantile", "padding"),
    ("quantiles of micro-batches averaged", "quantile", "micro-batches"),
    ("edges in the bin below", "quantile", "bin-edges"),
    ("NaN routed", "router-refusal", "not-a-number"),
    ("infinities routed", "router-refusal", "infinite-logits"),
    ("the bias not looked at", "router-refusal", "infinite-bias"),
    ("padding looked at", "router-refusal", "padding"),
    ("large logits refused", "router-refusal", "overflow"),
    ("the last columns not looked at", "router-refusal", "odd-experts"),
    ("all is routed", "router-refusal", None),
    ("padding not counted in the place", "router-refusal", None),
    ("the last one named", "router-refusal", None),
    ("the first experts compute nothing", "zero-experts", "zero-experts"),
    ("clipped to the last real expert", "zero-experts", "zero-experts"),
    ("dispatched all the same", "zero-experts", "zero-experts"),
    ("null experts return the token", "zero-experts", "null-experts"),
    ("padding returns the token", "zero-experts", "padding"),
    ("identities without the scale", "zero-experts", "zero-scale"),
    ("identities scaled twice", "zero-experts", "zero-scale"),
    ("one identity of a token", "zero-experts", "several-identities"),
    ("gates in bfloat16", "zero-experts", None),
    ("the output replaced", "zero-experts", None),
    ("no gradient of the token", "zero-experts", None),
    ("no gradient of the gates", "zero-experts", None),
    ("factor of the slot", "gate-factor", "factor-index"),
    ("normalised after the factor", "gate-factor", "factor-sum"),
    ("padding has the last expert", "gate-factor", "padding"),
    ("the last slot's gradient", "gate-factor", "repeated-experts"),
    ("gradient by a division", "gate-factor", "zero-factor"),
    ("subnormal gates flushed", "gate-factor", "subnormal"),
    ("gradient without the factor", "gate-factor", None),
    ("gradient of the scaled gate", "gate-factor", None),
    ("factors in bfloat16", "gate-factor", None),
    ("sums in binary32", "gate-factor", "repeated-experts"),
    ("padding scaled too", "sinkhorn", "padding"),
    ("epsilon in the sums", "sinkhorn", None),
    ("one round more", "sinkhorn", "sinkhorn"),
    ("rows last", "sinkhorn", "sinkhorn"),
    ("exp in binary32", "sinkhorn", None),
    ("padding in the limit", "capacity", "capacity-padding"),
    ("limit rounded down", "capacity", "capacity-rounding"),
    ("limit to nearest", "capacity", "capacity-rounding"),
    ("minimum left out", "capacity", None),
    ("no limit where it is 0", "capacity", "no-capacity"),
    ("one place too few", "capacity", None),
    ("one place too many", "capacity", "dropped-counts"),
    ("a top-k of too many", "capacity", "beyond-capacity"),
    ("slots by tokens", "capacity", "slot-order"),
    ("tokens by slots", "capacity", "token-order"),
    ("last tokens kept", "capacity", "token-order"),
    ("gates by position", "capacity", "lowest-gate"),
    ("highest gates dropped", "capacity", "lowest-gate"),
    ("gates in bfloat16", "capacity", "near-ties"),
    ("ties to the later token", "capacity", "gate-ties"),
    ("equal gates kept", "capacity", "gate-ties"),
    ("gates of 0 are no routes", "capacity", "gate-ties"),
    ("padding takes places", "capacity", "capacity-padding"),
    ("places in the order of gates", "capacity", "lowest-gate"),
    ("places from 1", "capacity", None),
    ("counts after dropping", "capacity", "dropped-counts"),
    ("counts padded", "capacity", None),
    ("sum of the dropped too", "capacity", "kept-gates"),
    ("epsilon in the sum", "capacity", None),
    ("gradient through the sum left out", "capacity", None),
    ("gates of the dropped", "capacity", "dropped-counts"),
    ("0 by 0", "capacity", None),
    ("gradient of the dropped", "capacity", "dropped-counts"),
    ("not renormalised", "capacity", "renormalise=1"),
    ("recomputation counted", "trace", "recomputation"),
    ("evaluation counted", "trace", "evaluation"),
    ("the state not saved", "trace", "reloading"),
    ("the state cast", "trace", "casting"),
    ("the first rank alone", "trace", "ranks"),
    ("only the last micro-batch", "trace", "micro-batches"),
    ("an update for each micro-batch", "trace", "micro-batches"),
    ("an update for each forward pass", "trace", None),  # of ranks too
    ("padding counted", "trace", "padding"),
    ("an empty batch divided by", "trace", "no-token"),
    ("counts in bfloat16", "trace", "many-tokens"),
    ("cut-off of the k-th score", "trace", "quantile"),
    ("biases of the wrong sign", "trace", "method=phi-bias"),
    ("price from the old m", "trace", "new-state"),
    ("the prefix over the current tokens", "loss-trace", "uneven-tokens"),
    ("a prefix over the current tokens", "loss-trace", "running-prefix"),
    ("gradient divided by the ranks", "loss-trace", "ranks"),
    ("gradient times the ranks", "loss-trace", "ranks"),
    ("averaged over micro-batches again", "loss-trace", "micro-batches"),
    ("not averaged over micro-batches", "loss-trace", "micro-batches"),
    ("other ranks not counted", "loss-trace", "running-prefix"),
    ("an empty batch divided by", "loss-trace", "no-token"),
    ("padding counted", "loss-trace", "padding"),
    ("sequences taken to be as long", "loss-trace", "uneven-sequences"),
    ("sequences pooled", "loss-trace", "sequences"),
    ("counts in bfloat16", "loss-trace", "casting"),
    ("micro-batches counted in bfloat16", "loss-trace", "casting"),
    ("recomputation counted", "loss-trace", "recomputation"),
    ("losses logged twice", "loss-trace", "recomputation"),
    ("evaluation counted", "loss-trace", "evaluation"),
    ("counts kept over the step", "loss-trace", None),
    ("the map without the bias", "loss-trace", "routing-map"),
    ("epsilon in the sum of sigmoids", "loss-trace", "sigmoid-epsilon"),
    ("micro-batches weigh alike", "loss-trace", "uneven-weights"),
    ("no gradient", "loss-trace", "aux-gradient"),
    ("no 1 - sigma", "loss-trace", "gate=sigmoid"),
    ("frequencies not divided by k", "loss-trace", "k-normalisation"),
    ("gradient divided by the sequences", "loss-trace", "sequences"),
    ("a quotient of 32 bits", "tanh", "any-bits"),
    ("1 + x - 1", "log1p", "small-arguments"),
    ("two terms of the series at 1", "log", "around-one"),
    ("no infinity", "tanh", "special-values"),
    ("rounded twice", "expm1", "hard-to-round"),
    ("the maximum begun at 0, and an epsilon", "router-forward", "within-80"),
    ("gates below 1e-30 dropped", "router-forward", "near-underflow"),
    ("softmax without a shift, in binary32", "switch-step", "shifted-logits"),
    ("sums in the order of arrival", "switch-step", "repeats"),
    ("remembered by a sum over the experts", "switch-step", "permuted-experts"),
    ("subnormal numbers flushed to zero", "ema", "subnormal"),
    ("512 experts at most", "ema", "most-experts"),
    ("products flushed to zero", "switch-loss", "tiny-loads"),
    ("loads as integers of one scale", "price", "wide-loads"),
    ("prices of 40 bits", "price", "near-uniform"),
    ("prices of 46 bits", "price", "one-ulp-off"),
    ("the mean by a reciprocal", "price", "uniform"),
    ("an epsilon beside the loads", "price", "tiny-loads"),
    ("loads of 0 not floored", "price", "zero-loads one-hot"),
    ("1/(alpha - 1) as it stands", "price", "alpha-near-1"),
    ("a threshold between least and greatest", "router-forward", "all-equal"),
    ("experts without tokens left out", "frequencies", "dead-expert"),
    ("an expert of all tokens in no bin", "frequencies", "collapsed"),
    ("a full expert drops one", "capacity", "capacity-fit"),
    ("one beyond the limit kept", "capacity", "capacity-fit"),
    ("a tile's last column not written", "expert-ffn", "tile-edges"),
    ("no row: gradients not set", "expert-ffn", "empty"),
    ("sizes of 1 squeezed", "expert-ffn", "one-by-one"),
    ("rows scaled by their sum", "expert-ffn", "cancelling"),
]
