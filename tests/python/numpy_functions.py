"""phibal.numpy and phibal.reference: judged like any other implementation, and asked for what they must refuse."""
import itertools
import random
import re
import subprocess
import unittest

from needs import need, run

need("numpy")
import numpy as np

import phibal
import phibal.numpy as pn


def router_forward(logits, k, gate, scale, bias=None, mask=None):
    r = pn.router_forward(logits, k, gate=gate, scale=scale, bias=bias, mask=mask)
    answer = {"experts": r.experts, "gates": r.gates, "probabilities": r.probabilities, "logsumexp": r.logsumexp,
              "tokens": np.array([r.loads.tokens]), "counts": r.loads.count}
    if r.loads.tokens:
        answer |= {"loads": r.loads.mean(), "frequencies": r.loads.frequency()}
    return answer


def loads(logits, k, mask=None):
    half = len(logits) // 2
    sums = pn.Loads(logits.shape[1], k)
    for part in (slice(0, half), slice(half, None)):
        sums.add(pn.router_forward(logits[part], k, mask=None if mask is None else mask[part]).loads)
    return {"loads": sums.mean(), "frequencies": sums.frequency(), "counts": sums.count}


def router_backward(logits, experts, k, gate, scale, price_scale, z_scale, mask=None, price=None, gate_gradient=None):
    return {"logit-gradient": pn.router_backward(logits, experts, gate=gate, scale=scale, mask=mask, price=price,
                                                 gate_gradient=gate_gradient, price_scale=price_scale, z_scale=z_scale)}


def price(m, potential, parameter=None):
    phi = pn.potential(potential, None if parameter is None else float(parameter))
    of = pn.price(phi, m)
    centred = pn.price_centred(phi, m)
    return {"price": of.price, "floored": np.array([of.floored, centred.floored]), "centred": centred.price}


def balance_loss(m, loads, potential, alpha, parameter=None):
    return {"loss": pn.balance_loss(pn.potential(potential, None if parameter is None else float(parameter)), alpha, loads, m)}


def permutation(experts_count, k, experts, x, x_gradient, gathered_gradient):
    p = pn.permutation(experts, experts_count)
    return {"offsets": p.offsets, "source": p.source, "row": p.row, "gathered": pn.gather(x, p),
            "x-gradient": x_gradient + pn.gather_backward(gathered_gradient, p)}


def expert_ffn(activation, offsets, x, y_gradient, w_gate, w_up, w_down, w_gate_gradient, w_up_gradient, w_down_gradient):
    forward = pn.ffn_forward(offsets, x, w_gate, w_up, w_down, activation=activation)
    g = pn.ffn_backward(offsets, x, w_gate, w_up, w_down, forward, y_gradient, activation=activation)
    return {"y": forward.y, "x-gradient": g.x, "w-gate-gradient": w_gate_gradient + g.w_gate,
            "w-up-gradient": w_up_gradient + g.w_up, "w-down-gradient": w_down_gradient + g.w_down}


def combine(experts_count, k, experts, row, gates, expert_output, y, y_gradient):
    expert_gradient, gate_gradient = pn.combine_backward(expert_output, gates, row.reshape(gates.shape), y_gradient)
    return {"y": pn.combine(expert_output, gates, row.reshape(gates.shape), y), "expert-gradient": expert_gradient,
            "gate-gradient": gate_gradient}


def balance_step(logits, m, k, micro_batches, ranks, forward_passes, alpha, eta, potential, parameter=None, mask=None):
    L, T, E = logits.shape
    mask = np.ones(T, np.uint8) if mask is None else mask
    phi = pn.potential(potential, None if parameter is None else float(parameter))
    n, total = T // micro_batches, int(mask.sum())
    answer = {"m": m.copy(), "counts": np.zeros((L, E), np.int64), "loss": np.zeros(L),
              "logit-gradient": np.zeros_like(logits)}
    for l in range(L):
        so_far = pn.Loads(E, k)
        for part in (slice(a * n, a * n + n) for a in range(micro_batches)):
            r = pn.router_forward(logits[l, part], k, mask=mask[part])
            so_far.add(r.loads)
            if not r.loads.tokens:
                continue
            step = pn.balance_step(phi, alpha, eta, m[l], so_far, r.loads)
            answer["loss"][l] += float(step.loss) * r.loads.tokens / total
            answer["logit-gradient"][l, part] = pn.router_backward(logits[l, part], r.experts, mask=mask[part],
                                                                   price=step.centred, price_scale=alpha * E / total)
        answer["m"][l], answer["counts"][l] = step.m, so_far.count
    return answer


def metrics(experts, counts, loads, x):
    return {"maxvio-loads": pn.maxvio_counts(counts), "maxvio-mean": pn.maxvio_mean(loads), "gini": pn.gini(x),
            "entropy": pn.entropy(x)}


def quantile(logits, k, gate, micro_batches, eta, low, high, bins, bias=None, mask=None):
    parts = np.split(np.arange(len(logits)), micro_batches)
    required = np.concatenate([pn.quantile_required(logits[i], k, gate=gate, bias=bias, mask=None if mask is None else mask[i])
                               for i in parts], axis=1)
    count = sum(pn.quantile_histogram(np.ascontiguousarray(required[:, i]), low, high, bins) for i in parts)
    q, none = pn.quantile(required, k), np.zeros(logits.shape[1], np.float32)
    return {"required": required, "quantile": q, "centred": pn.quantile_bias(none, q),
            "bias": pn.quantile_bias(none if bias is None else bias, q, eta), "histogram": count,
            "histogram-quantile": pn.quantile_interpolated(count, k, low, high)}


def capacity(experts_count, k, policy, renormalise, factor, minimum, limit, experts, gates, kept_gradient):
    c = pn.capacity(experts, gates, experts_count, limit, policy, bool(renormalise))
    real = int((experts[:, 0] >= 0).sum())
    return c._asdict() | {"capacity": np.array([pn.capacity_limit(factor, real, k, experts_count, minimum)]),
                          "gate-gradient": pn.capacity_backward(c.kept, gates, kept_gradient, bool(renormalise))}


def router_refusal(logits, k, gate, scale, bias=None, mask=None):
    try:
        pn.router_forward(logits, k, gate=gate, bias=bias, mask=mask)
    except phibal.NonFiniteError as error:
        token, expert = (re.search(word + r" (\d+)", str(error)) for word in ("token", "expert"))
        return {"refused": np.array([1]), "place": np.array([int(token[1]) if token else -1, int(expert[1])])}
    return {"refused": np.array([0]), "place": np.array([-1, -1])}


def gate_factor(experts, gates, factor, scaled_gradient, k):
    back, factor_gradient = pn.gate_factor_backward(experts, gates, factor, scaled_gradient)
    return {"scaled": pn.gate_factor(experts, gates, factor), "gate-gradient": back, "factor-gradient": factor_gradient}


def zero_experts(experts_count, zero_experts, k, output, scale, experts, gates, x, y, y_gradient, x_gradient):
    back, of_gates = pn.zero_experts_backward(experts, gates, x, y_gradient, x_gradient, np.zeros_like(gates), experts_count,
                                              zero_experts, output)
    return {"real": pn.zero_experts_dispatch(experts, experts_count, zero_experts),
            "y": pn.zero_experts(experts, gates, x, y, experts_count, zero_experts, output), "x-gradient": back,
            "gate-gradient": of_gates}


JUDGED = {
    "zero-experts": zero_experts,
    "gate-factor": gate_factor,
    "router-forward": router_forward,
    "router-refusal": router_refusal,
    "router-backward": router_backward,
    "loads": loads,
    "ema": lambda m, loads, eta: {"m": pn.ema(m, loads, eta)},
    "price": price,
    "balance-loss": balance_loss,
    "switch-loss": lambda frequencies, loads, alpha: {"loss": pn.switch_loss(alpha, frequencies, loads),
                                                      "centred": pn.frequency_centred(frequencies)},
    "sequence-loss": lambda logits, k, gate, scale, sequences, alpha, bias=None, mask=None: {
        "loss": pn.sequence_loss(logits, k, sequences, alpha, gate=gate, bias=bias, mask=mask)},
    "z-loss": lambda logsumexp, coefficient, mask=None: {"loss": pn.z_loss(logsumexp, coefficient, mask)},
    "loss-free": lambda counts, bias, rate: {"bias": pn.loss_free_update(bias, counts, rate)},
    "quantile": quantile,
    "capacity": capacity,
    "sinkhorn": lambda logits, rounds, mask=None: {"plan": pn.sinkhorn(logits, rounds, mask)},
    "permutation": permutation,
    "expert-ffn": expert_ffn,
    "combine": combine,
    "balance-step": balance_step,
    "metrics": metrics,
}


class Judged(unittest.TestCase):
    def test_operations(self):
        for op, function in JUDGED.items():
            with self.subTest(op):
                report = phibal.judge(op, function, cases=90)
                self.assertEqual(report.verdict, "verified", str(report))
                self.assertEqual(report.judged, 90)

    def test_permutation_and_combine(self):
        """The rows of experts, there and back: exact where a sum has one term."""
        r = np.random.default_rng(1)
        experts = np.stack([r.permutation(5)[:2] for _ in range(7)]).astype(np.int32)
        experts[3] = -1
        x = r.standard_normal((7, 3)).astype(np.float32)
        p = pn.permutation(experts, 5)
        flat = experts.ravel()
        order = np.argsort(np.where(flat < 0, 5, flat), kind="stable")[:12]
        np.testing.assert_array_equal(p.source, order)
        np.testing.assert_array_equal(p.offsets, np.concatenate(([0], np.cumsum(np.bincount(flat[flat >= 0], minlength=5)))))
        rows = pn.gather(x, p)
        np.testing.assert_array_equal(rows, x[order // 2])
        gates = np.tile(np.array([[1, 0]], np.float32), (7, 1))
        expected = x.copy()
        expected[3] = 0
        np.testing.assert_array_equal(pn.combine(rows, gates, p.row), expected)
        row_gradient, gate_gradient = pn.combine_backward(rows, gates, p.row, x)
        np.testing.assert_array_equal(row_gradient, rows * gates.ravel()[order][:, None])
        np.testing.assert_allclose(gate_gradient[:, 0], (expected * x).sum(1), rtol=1e-6)
        np.testing.assert_array_equal(pn.gather_backward(rows, p), 2 * expected)

    def test_wrong_ones_are_found(self):
        """The judge is not content with a bias that is left out, nor with what raises."""
        without = phibal.judge("router-forward", lambda logits, k, gate, scale, bias=None, mask=None:
                               router_forward(logits, k, gate, scale, None, mask), cases=60)
        self.assertEqual({f.kind for f in without.failures}, {"bias"})
        self.assertIn("selection bias", without.causes[0].bug)
        raising = phibal.judge("ema", lambda m, loads, eta: 1 // 0, cases=4)
        self.assertEqual((raising.verdict, len(raising.failures)), ("mismatch", 4))
        self.assertEqual(phibal.judge("ema", lambda m, loads, eta: None, cases=4).verdict, "not verified")

    def test_given_selections(self):
        """A function with an argument `experts` gets (R2)'s selection, and ties decide nothing: losses with other ties fail
        without it, and only those."""
        def sequence_loss(logits, k, gate, scale, sequences, alpha, bias=None, mask=None, experts=None):
            T, E = logits.shape
            live = np.ones(T, bool) if mask is None else mask != 0
            x = np.where(live[:, None], logits, 0).astype(float)
            score = x if gate != "sigmoid" else (1 / (1 + np.exp(-np.clip(x, -700, None)))).astype(np.float32).astype(float)
            x = x if gate != "sigmoid" else -np.logaddexp(0, -x)
            if experts is None:  # of equal scores the higher index
                experts = E - 1 - np.argsort(-(score + (0 if bias is None else bias))[:, ::-1], axis=1, kind="stable")[:, :k]
            p = np.exp(x - x.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            loss = 0.0
            for rows in np.split(np.arange(T), sequences):
                rows = rows[live[rows]]
                if len(rows):
                    loss += np.bincount(experts[rows].ravel(), minlength=E) @ p[rows].sum(0) / (k * len(rows))
            return {"loss": np.array([alpha * E * loss / max(live.sum(), 1)])}
        without = phibal.judge("sequence-loss", lambda logits, k, gate, scale, sequences, alpha, bias=None, mask=None:
                               sequence_loss(logits, k, gate, scale, sequences, alpha, bias, mask))
        self.assertEqual(without.verdict, "mismatch")
        self.assertEqual(phibal.judge("sequence-loss", sequence_loss).verdict, "verified")
        for op in ("loads", "switch-step", "balance-step"):
            for case in phibal.vectors(op, cases=20):
                shape = case.inputs["logits"].shape
                self.assertEqual(case.experts.shape, (int(np.prod(shape[:-1])), case.parameters["k"]))

    def test_what_raises_refuses(self):
        """An exception is the answer where a refusal is expected, and a failure elsewhere."""
        def routes(logits, k, gate, scale, bias=None, mask=None):
            pn.router_forward(logits, k, gate=gate, bias=bias, mask=mask)
            return {"refused": np.array([0])}
        self.assertEqual(phibal.judge("router-refusal", routes).verdict, "verified")
        always = phibal.judge("router-refusal", lambda logits, k, gate, scale, bias=None, mask=None: 1 // 0)
        expected = [int(c.expected["refused"][0]) for c in phibal.vectors("router-refusal")]
        self.assertEqual((always.verdict, len(always.failures)), ("mismatch", expected.count(0)))
        self.assertTrue(all("ZeroDivisionError" in f.words for f in always.failures))
        never = phibal.judge("router-refusal", lambda logits, k, gate, scale, bias=None, mask=None: {"refused": np.array([0])})
        self.assertEqual(len(never.failures), expected.count(1))
        misnamed = phibal.judge("router-refusal", lambda logits, k, gate, scale, bias=None, mask=None: {"gates": logits})
        self.assertEqual(len(misnamed.failures), len(expected))  # what this package raises itself is no refusal

    def test_times_and_left_out(self):
        """Three roundings to binary32 in place of one keep 8 times the bound and not the bound itself; outputs may be left
        out."""
        def softmax32(logits, k, gate, scale, bias=None, mask=None):
            if mask is not None or gate != "topk-softmax" or not len(logits):
                return None
            x = logits.astype(float)
            e = np.exp(x - x.max(1, keepdims=True))
            return {"probabilities": e.astype(np.float32) / e.sum(1, keepdims=True).astype(np.float32)}
        rest = ("experts", "gates", "counts", "loads", "frequencies")
        self.assertEqual(phibal.judge("router-forward", softmax32, cases=60, times=8, without=rest).verdict, "verified")
        strict = phibal.judge("router-forward", softmax32, cases=60, without=rest)
        self.assertEqual(strict.verdict, "mismatch")
        self.assertEqual(tuple(o["output"] for o in strict.outputs if o["elements"]), ("probabilities",))

    def test_vectors(self):
        first, again = list(phibal.vectors("price", seed=3, cases=5)), list(phibal.vectors("price", seed=3, cases=5))
        self.assertEqual(len(first), 5)
        for a, b in zip(first, again):
            self.assertEqual(a.id, b.id)
            np.testing.assert_array_equal(a.inputs["m"], b.inputs["m"])
        with self.assertRaisesRegex(ValueError, "no operation"):
            next(phibal.vectors("prices"))


class Reference(unittest.TestCase):
    def test_against_eval(self):
        """The command encloses the same numbers by other digits: what it rounds to nearest lies between lo and hi."""
        for name, value, at in (("negentropy", None, "0.2,0.3,0.5"), ("tsallis", "1/3", "0.25,0.75"),
                                ("log-cosh", "2", "0.1,0.7"), ("renyi", "0.5", "0.1,0.9")):
            for function in ("gradient", "value"):
                parameter = ["--param", f"{'alpha' if name != 'log-cosh' else 'beta'}={value}"] if value else []
                text = subprocess.run([phibal._library.command(), "eval", "--potential", name, *parameter, "--fn", function,
                                       "--at", at, "--round", "binary64"], capture_output=True, text=True, check=True).stdout
                enclosed = getattr(phibal.Potential(name, value), function)(at.split(","))
                for lo, hi, word in zip(*enclosed, text.replace(",", " ").split()):
                    # Of 128 bits: two neighbours, or three where the value is next to a binary64 number.
                    self.assertLessEqual(hi, np.nextafter(np.nextafter(lo, np.inf), np.inf))
                    self.assertTrue(lo <= float.fromhex(word) <= hi, (name, function))

    def test_legendre(self):
        """phi(x) + phi*(y) >= <x, y>, and equality at y = grad phi(x), in enclosures."""
        rows = itertools.takewhile(bool, map(phibal._library.kernels.phibal_potential_describe, itertools.count()))
        names = [row.contents.name.decode() for row in rows]
        self.assertGreaterEqual(len(names), 9)
        for name in names:
            phi, x = phibal.Potential(name), np.array([0.125, 0.25, 0.625])
            y = phi.gradient(x).lo
            gap = phi.value(x).hi[0] + phi.conjugate(y).hi[0] - float(np.dot(x, y))
            self.assertLess(abs(gap), 1e-14, name)
            back = phi.conjugate_gradient(y)
            np.testing.assert_allclose(back.lo, x, rtol=1e-12)

    def test_infinite_and_refused(self):
        self.assertEqual(phibal.Potential("negentropy").value([-1.0]), (np.inf, np.inf))
        for error, call in ((phibal.DomainError, lambda: phibal.Potential("negentropy").gradient([0.0])),
                            (phibal.ArgumentError, lambda: phibal.Potential("negentropi")),
                            (phibal.ArgumentError, lambda: phibal.Potential("tsallis", 1.0)),
                            (phibal.ArgumentError, lambda: phibal.Potential("euclid", 1.0)),
                            (ValueError, lambda: phibal.Potential("euclid").value([])),
                            (ValueError, lambda: phibal.Potential("euclid").value([float("nan")])),
                            (ValueError, lambda: phibal.Potential("euclid").value(["a"])),
                            (TypeError, lambda: phibal.Potential("euclid").value("0.5")),
                            (ValueError, lambda: phibal.Potential("euclid", precision=5))):
            with self.assertRaises(error):
                call()


class Refused(unittest.TestCase):
    def test_messages(self):
        x = np.zeros((4, 8), np.float32)
        for error, words, call in (
                (TypeError, "logits: expected a numpy array of float32, got list", lambda: pn.router_forward([[1.0]], 1)),
                (TypeError, "logits: expected dtype float32, got float64", lambda: pn.router_forward(x.astype(float), 1)),
                (ValueError, r"logits: expected shape \(any, any\), got \(8,\)", lambda: pn.router_forward(x[0], 1)),
                (ValueError, "expected a C-contiguous array", lambda: pn.router_forward(x.T, 1)),
                (ValueError, "k: expected 1 to 8 of 8 experts, got 9", lambda: pn.router_forward(x, 9)),
                (ValueError, "gate: expected one of topk-softmax", lambda: pn.router_forward(x, 2, gate="softmax")),
                (TypeError, "mask: expected dtype uint8, got int64", lambda: pn.router_forward(x, 2, mask=np.ones(4, int))),
                (ValueError, r"bias: expected shape \(8\)", lambda: pn.router_forward(x, 2, bias=np.zeros(7, np.float32))),
                (phibal.NonFiniteError, "token 1.*expert 2", lambda: pn.router_forward(np.where(
                    np.arange(32).reshape(4, 8) == 10, np.float32("nan"), x), 2)),
                (TypeError, "eta: expected a number, got str", lambda: pn.ema(x[0], x[0], "a")),
                (ValueError, "eta", lambda: pn.ema(x[0], x[0], 2.0)),
                (TypeError, "m: expected a numpy array", lambda: pn.price("euclid", [0.5])),
                (ValueError, "no token was counted", lambda: pn.Loads(8, 2).mean()),
                (ValueError, "row: expected -1 for padding, or rows from 0 to 3",
                 lambda: pn.combine(x, x, np.full((4, 8), 99)))):
            with self.assertRaisesRegex(error, words):
                call()

    def test_fuzzed(self):
        """Whatever the arguments, a call returns or raises one of the documented exceptions: no crash, no other."""
        r = random.Random(1)
        things = [np.zeros((4, 8), np.float32), np.zeros((0, 8), np.float32), np.zeros((4, 0), np.float32),
                  np.zeros(8, np.float32), np.full((4, 8), np.nan, np.float32), np.full((4, 2), 99, np.int32),
                  np.full((4, 2), -1, np.int32), np.zeros((4, 2), np.float32), np.ones(4, np.uint8), np.ones(4, bool),
                  np.zeros(8, np.int64), np.zeros(0, np.float32), np.zeros((4, 8), ">f4"), np.zeros((8, 4), np.float32).T,
                  np.zeros((4, 2), np.int64), np.zeros(8), None, 1, -1, 2**70, 0.5, float("nan"), "negentropy", [1.0], object(),
                  np.float32(1), np.zeros((2, 2, 2), np.float32)]
        functions = [pn.router_forward, pn.router_backward, pn.ema, pn.price, pn.price_centred, pn.balance_loss,
                     pn.switch_loss, pn.frequency_centred, pn.sequence_loss, pn.z_loss, pn.loss_free_update, pn.permutation,
                     pn.quantile_required, pn.quantile, pn.quantile_histogram, pn.quantile_interpolated, pn.quantile_bias,
                     pn.sinkhorn, pn.zero_experts_dispatch, pn.zero_experts, pn.zero_experts_backward, pn.gate_factor, pn.gate_factor_backward, pn.capacity_limit, pn.capacity, pn.capacity_backward,
                     pn.combine, pn.combine_backward, pn.ffn_forward, pn.maxvio_counts, pn.maxvio_mean, pn.gini, pn.entropy,
                     pn.potential]
        keywords = {pn.router_forward: ("gate", "scale", "bias", "mask"),
                    pn.quantile_required: ("gate", "bias", "mask"),
                    pn.router_backward: ("gate", "scale", "mask", "gate_gradient", "price", "price_scale", "z_scale")}
        x, vector = np.zeros((4, 8), np.float32), np.full(8, 0.125, np.float32)
        valid = dict(logits=x, k=2, experts=np.tile(np.arange(2, dtype=np.int32), (4, 1)), m=vector, loads=vector, eta=0.5,
                     potential="tsallis", alpha=0.1, frequency=vector, sequences=2, logsumexp=vector, coefficient=0.1,
                     bias=vector, count=np.ones(8, np.int64), rate=0.1, mean=vector, x=np.ones(8), rows=x,
                     gates=x[:, :2].copy(), row=np.zeros((4, 2), np.int64), y_gradient=x, name="negentropy", parameter=None,
                     y=None, rounds=3, factor=1.25, zero_experts=1, output="identity", x_gradient=x, gate_gradient=x[:, :2].copy(), factors=vector, scaled_gradient=x[:, :2].copy(), tokens=4, limit=2, minimum=0, policy="slot-order", renormalise=True,
                     kept=np.zeros((4, 2), np.int32), gradient=x[:, :2].copy(), required=np.zeros((8, 4), np.float32), low=-1.0, high=1.0, bins=8,
                     quantile=vector, offsets=np.array([0, 2, 4]), w_gate=np.zeros((2, 3, 8), np.float32),
                     w_up=np.zeros((2, 3, 8), np.float32), w_down=np.zeros((2, 8, 3), np.float32))
        returned = 0
        for _ in range(20000):
            f = r.choice(functions)
            positional = f.__code__.co_argcount
            names = f.__code__.co_varnames[:positional]
            arguments = [valid[n] if n in valid and r.random() < 0.8 else r.choice(things) for n in names]
            named = {n: r.choice(things) for n in keywords.get(f, ()) if r.random() < 0.2}
            try:
                f(*arguments, **named)
                returned += 1
            except (TypeError, ValueError) as error:
                self.assertTrue(str(error))
        self.assertGreater(returned, 2000)


run()
