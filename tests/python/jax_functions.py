"""phibal.jax: the judge, and the kernels' bits, under jit, grad, vmap and two devices; and what it must refuse."""
import os
import re
import sys
import unittest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
from needs import need, run

need("numpy", "jax")
import jax
import jax.numpy as jnp
import numpy as np

import phibal
import phibal.jax as pj
import phibal.numpy as pn

GATES = ("topk-softmax", "probability", "sigmoid")


def random(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Judged(unittest.TestCase):
    def test_router(self):
        def forward(logits, k, gate, scale, bias=None, mask=None):
            r = jax.jit(lambda x, b, m: pj.router(x, k, gate=gate, scale=scale, bias=b, mask=m))(logits, bias, mask)
            answer = {"experts": r.experts, "gates": r.gates, "probabilities": r.probabilities, "logsumexp": r.logsumexp,
                      "counts": np.asarray(r.sums.counts).astype(np.int64), "tokens": np.asarray(r.sums.tokens, np.int64).reshape(1)}
            if r.sums.tokens:
                answer |= {"loads": r.loads, "frequencies": np.asarray(r.sums.counts) / (k * int(r.sums.tokens))}
            return {name: np.asarray(a) for name, a in answer.items()}
        report = phibal.judge("router-forward", forward, cases=60)
        self.assertEqual((report.verdict, report.judged), ("verified", 60), str(report))

    def steps(self, make):
        """A step's micro-batches under jit and grad, as balance-step and switch-step have them."""
        def function(logits, k, micro_batches, mask=None, **given):
            L, T, E = logits.shape
            total, n = T if mask is None else int((mask != 0).sum()), T // micro_batches
            loss, gradient, counts, states = np.zeros(L), np.zeros_like(logits), np.zeros((L, E), np.int64), []
            for l in range(L):
                so_far = pj.Loads.zero(E, k)
                value_of = make(l, k, E, given)
                for a in range(micro_batches):
                    rows = slice(a * n, a * n + n)

                    def f(x, so_far, mask):
                        r = pj.router(x, k, mask=mask)
                        so_far = pj.add(so_far, r.sums)
                        return value_of(so_far, r, total), so_far
                    (value, so_far), g = jax.jit(jax.value_and_grad(f, has_aux=True))(
                        logits[l, rows], so_far, None if mask is None else mask[rows])
                    loss[l] += float(value)
                    gradient[l, rows] = g
                counts[l] = so_far.counts
                states.append(so_far)
            answer = {"loss": loss, "logit-gradient": gradient, "counts": counts}
            if "m" in given:
                answer["m"] = np.stack([pj.ema(m, s, given["eta"]) for m, s in zip(given["m"], states)])
            return answer
        return function

    def test_balance_step(self):
        def make(l, k, E, given):
            phi = given["potential"], None if given.get("parameter") is None else float(given["parameter"])
            return lambda so_far, r, total: pj.balance_loss(phi, given["alpha"], given["eta"], given["m"][l], so_far, r,
                                                            tokens=total)
        report = phibal.judge("balance-step", self.steps(make), cases=60)
        self.assertEqual((report.verdict, report.judged), ("verified", 60), str(report))

    def test_switch_step(self):
        def make(l, k, E, given):
            return lambda so_far, r, total: pj.switch_loss(
                given["alpha"], so_far if given["frequencies"] == "global" else r.sums, r, tokens=total)
        report = phibal.judge("switch-step", self.steps(make), cases=60)
        self.assertEqual((report.verdict, report.judged), ("verified", 60), str(report))


class Gradients(unittest.TestCase):
    def test_bits(self):
        """Through gates and loads: the kernel's bits, with padding and a bias."""
        for gate in GATES:
            for special in (False, True):
                x, g, price = random(9, 8), random(9, 3, seed=2), random(8, seed=3)
                mask = np.arange(9) % 4 != 0 if special else None
                bias = random(8, seed=4) if special else None
                if special:
                    x[~mask] = np.nan

                def f(x):
                    r = pj.router(x, 3, gate=gate, scale=1.5, bias=bias, mask=mask)
                    return (r.gates * g).sum() + (r.loads * price).sum()
                forward = pn.router_forward(x, 3, gate=gate, scale=1.5, bias=bias, mask=mask)
                exact = pn.router_backward(x, forward.experts, gate=gate, scale=1.5, mask=mask, gate_gradient=g, price=price,
                                           price_scale=1 / forward.loads.tokens)
                for function in (jax.grad(f), jax.jit(jax.grad(f))):
                    self.assertEqual(np.asarray(function(jnp.asarray(x))).tobytes(), exact.tobytes())

    def test_other_outputs(self):
        """Through probabilities and logsumexp, beside the equations in binary64; 4 u of terms of at most 1 and two sums."""
        for gate in GATES:
            x, g, h = random(7, 6), random(7, 6, seed=2), random(7, seed=3)
            found = jax.grad(lambda x: (lambda r: (r.probabilities * g).sum() + (r.logsumexp * h).sum())(pj.router(x, 2, gate=gate)))(
                jnp.asarray(x))
            y = x.astype(float)
            w = 1 / (1 + np.exp(-y)) if gate == "sigmoid" else np.exp(y)
            p = w / w.sum(-1, keepdims=True)
            slope = p * (1 - w) if gate == "sigmoid" else p
            soft = np.exp(y) / np.exp(y).sum(-1, keepdims=True)
            exact = slope * (g - (p * g).sum(-1, keepdims=True)) + soft * h[:, None]
            self.assertLess(np.abs(found - exact).max(), 4 * 2**-24 * (2 * np.abs(g).max() + np.abs(h).max()))

    def test_vmap(self):
        x = random(3, 5, 8)
        together = jax.vmap(lambda x: pj.router(x, 2).gates)(jnp.asarray(x))
        for one, rows in zip(together, x):
            self.assertTrue(np.array_equal(one, pn.router_forward(rows, 2).gates))


class Devices(unittest.TestCase):
    def test_two(self):
        """Two devices: loads, m, loss and gradients of the whole batch."""
        from jax.sharding import Mesh, PartitionSpec
        x, m = random(16, 8), np.full(8, 1 / 8, np.float32)
        mesh = Mesh(np.array(jax.devices()[:2]), ("data",))

        def part(x):
            def f(x):
                r = pj.router(x, 2)
                now = pj.all_devices(r.sums, "data")
                return pj.balance_loss("tsallis", 0.1, 0.5, m, now, r, now=now), now
            (value, now), gradient = jax.value_and_grad(f, has_aux=True)(x)
            return value[None], gradient, pj.ema(m, now, 0.5)[None]
        spec = PartitionSpec("data")
        shards = jax.shard_map(part, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
        value, gradient, states = jax.jit(shards)(jnp.asarray(x))

        def whole(x):
            r = pj.router(x, 2)
            return pj.balance_loss("tsallis", 0.1, 0.5, m, r.sums, r)
        exact, one = jax.value_and_grad(whole)(jnp.asarray(x))
        self.assertEqual(value.tolist(), [float(exact)] * 2)
        self.assertTrue(np.array_equal(gradient, one))
        loads = pn.router_forward(x, 2).loads
        for state in states:
            self.assertEqual(np.asarray(state).tobytes(), pn.ema(m, loads.mean(), 0.5).tobytes())


class Manual(unittest.TestCase):
    def test_block(self):
        """The block of python/README.md, with x and w."""
        with open(os.path.join(sys.argv[1], "python/README.md"), encoding="utf-8") as file:
            block, = (b for b in re.findall(r"(?ms)^```py\n(.*?)^```", file.read()) if "phibal.jax" in b)
        names = {"jax": jax, "jnp": jnp, "x": random(32, 8), "w": random(8, 16, seed=2)}
        exec(compile(block, "python/README.md", "exec"), names)
        self.assertEqual(names["gradient"].shape, (8, 16))
        exact = pn.ema(np.zeros(16, np.float32), pn.router_forward(np.asarray(names["x"] @ jnp.asarray(names["w"])), 2).loads.mean(), 0.65)
        self.assertLess(np.abs(names["m"] - exact).max(), 1e-6)


class Refused(unittest.TestCase):
    def test_refused(self):
        x = jnp.asarray(random(4, 8))
        r = pj.router(x, 2)
        m = jnp.full(8, 1 / 8, jnp.float32)
        for error, words, call in (
                (TypeError, "logits: expected dtype float32, got bfloat16", lambda: pj.router(x.astype(jnp.bfloat16), 2)),
                (ValueError, "logits: expected shape", lambda: pj.router(x[0], 2)),
                (ValueError, "k: expected 1 to 8", lambda: pj.router(x, 9)),
                (ValueError, "bias: expected shape", lambda: pj.router(x, 2, bias=m[:3])),
                (TypeError, "mask: expected dtype bool", lambda: pj.router(x, 2, mask=jnp.ones(4))),
                (jax.errors.JaxRuntimeError, "token 1.*expert 2|logit", lambda: pj.router(x.at[1, 2].set(jnp.nan), 2).gates.block_until_ready()),
                (ValueError, "unknown potential 'x'", lambda: pj.balance_loss("x", 0.1, 0.5, m, r.sums, r)),
                (ValueError, "alpha", lambda: pj.balance_loss("tsallis", -1.0, 0.5, m, r.sums, r)),
                (ValueError, "m: expected shape", lambda: pj.balance_loss("tsallis", 0.1, 0.5, m[:3], r.sums, r)),
                (jax.errors.JaxRuntimeError, "tokens: expected those of the global batch",
                 lambda: pj.balance_loss("tsallis", 0.1, 0.5, m, r.sums, r, tokens=3).block_until_ready()),
                (ValueError, "expected loads of 2 of", lambda: pj.add(r.sums, pj.router(x, 3).sums))):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


if __name__ == "__main__":
    run()
