"""phibal.torch.router: its operators by PyTorch's own checks, its values by the judge, its gradients by automatic
differentiation of the equations in binary64, and what it must refuse."""
import random
import unittest

from needs import need, run

need("numpy", "torch")
import numpy as np
import torch

import phibal
import phibal.torch as pt

GATES = ("topk-softmax", "probability", "sigmoid")


def written_out(x, k, gate, scale, bias=None, mask=None):
    """(R1)-(R8) in binary64 by PyTorch, differentiable; the selection is phibal's order (R2)."""
    real = torch.ones(len(x), dtype=torch.bool) if mask is None else mask.bool()
    x = torch.where(real[:, None], x, torch.zeros((), dtype=x.dtype))
    w = torch.nn.functional.logsigmoid(x) if gate == "sigmoid" else x
    score = torch.sigmoid(x).float().double() if gate == "sigmoid" else x
    order = torch.sort(score.detach() + (0 if bias is None else bias.double()), descending=True, stable=True).indices[:, :k]
    p = torch.softmax(w, -1)
    of_all = gate == "probability" or gate == "topk-softmax" and k == 1
    gates = p.gather(1, order) if of_all else torch.softmax(w.gather(1, order), -1)
    p, gates = p * real[:, None], gates * real[:, None] * scale
    return gates, p, p.sum(0) / max(int(real.sum()), 1), torch.logsumexp(x, -1) * real, torch.where(real[:, None], order, -1)


def cases():
    """Shapes, gates, bias and padding; logits a quarter apart, so that no selection is close."""
    g = torch.Generator().manual_seed(1)
    for gate in GATES:
        for T, E, k in ((1, 1, 1), (5, 4, 1), (7, 8, 3), (33, 64, 8), (3, 5, 5)):
            for special in (False, True):
                x = torch.stack([torch.randperm(E, generator=g) for _ in range(T)]).float() / 4
                bias = torch.randn(E, generator=g) * 0.1 if special else None
                mask = (torch.rand(T, generator=g) < 0.7) if special else None
                if special:
                    x[~mask] = float("nan")
                yield x, k, gate, 1.5 if special else 1.0, bias, mask


class Operators(unittest.TestCase):
    def test_judged(self):
        def forward(logits, k, gate, scale, bias=None, mask=None):
            r = pt.router(logits, k, gate=gate, scale=scale, bias=bias, mask=mask)
            answer = {"experts": r.experts, "gates": r.gates, "probabilities": r.probabilities, "logsumexp": r.logsumexp,
                      "counts": r.counts, "tokens": r.tokens.reshape(1)}
            if r.tokens:
                answer |= {"loads": r.loads, "frequencies": r.counts.double() / (k * r.tokens)}
            return answer
        report = phibal.judge("router-forward", forward, cases=100, to=torch.from_numpy)
        self.assertEqual((report.verdict, report.judged), ("verified", 100), str(report))

    def test_gradient_judged(self):
        """router-backward: the gradient of its gates, of its loads, and of lse^2."""
        def backward(logits, experts, k, gate, scale, price_scale, z_scale, mask=None, price=None, gate_gradient=None):
            x = logits.clone().requires_grad_()
            r = pt.router(x, k, gate=gate, scale=scale, mask=mask)
            if z_scale or not torch.equal(r.experts, experts.long()):
                return None  # lse^2 has rounded factors; a selection by a bias is tested below
            loss = torch.zeros(())
            if gate_gradient is not None:
                loss = loss + (r.gates * gate_gradient).sum()
            if price is not None:
                # The kernel gets the gradient of P, which is rounded: exact if its factor is a power of two.
                loss = loss + (r.loads * price).sum()
                if not r.tokens or price_scale != 1 / int(r.tokens):
                    return None
            if not loss.requires_grad:
                return None
            return {"logit-gradient": torch.autograd.grad(loss, x)[0]}
        report = phibal.judge("router-backward", backward, cases=200, to=torch.from_numpy)
        self.assertEqual(report.verdict, "verified", str(report))
        self.assertGreater(report.judged, 20)

    def test_gradients(self):
        """All four gradients, and their sum. Bounds: the kernel's 1.001 u of the terms, one more rounding for each of the
        other two parts, of p (u), of the sum (2 u): 8 u of the sum of the terms' sizes, of which each is at most
        |gradient| <= 1 scale."""
        g = torch.Generator().manual_seed(2)
        for x, k, gate, scale, bias, mask in cases():
            outputs = None
            for which in ((0,), (1,), (2,), (3,), (0, 1, 2, 3)):
                a, b = x.clone().requires_grad_(), x.double().requires_grad_()
                r = pt.router(a, k, gate=gate, scale=scale, bias=bias, mask=mask)
                w = written_out(b, k, gate, scale, bias, mask)
                self.assertTrue(torch.equal(r.experts, w[4]))
                ours = (r.gates, r.probabilities, r.loads, r.logsumexp)
                outputs = outputs or [torch.rand(t.shape, generator=g) * 2 - 1 for t in ours]
                sum((ours[i] * outputs[i]).sum() for i in which).backward()
                sum((w[i] * outputs[i]).sum() for i in which).backward()
                for one, exact in zip(ours, w):
                    torch.testing.assert_close(one.double(), exact, rtol=2**-23, atol=1e-37)
                torch.testing.assert_close(a.grad.double(), b.grad, rtol=0, atol=8 * 2**-24 * (1 + scale) * len(which))
                if mask is not None:
                    self.assertFalse(a.grad[~mask].any())

    def test_opcheck(self):
        for x, k, gate, scale, bias, mask in cases():
            x = torch.nan_to_num(x)  # opcheck compares with ==, and NaN is not itself
            number = pt.GATES[gate]
            torch.library.opcheck(torch.ops.phibal.router.default, (x.requires_grad_(), bias, mask, k, number, scale))
            r = pt.router(x.detach(), k, gate=gate, scale=scale, bias=bias, mask=mask)
            torch.library.opcheck(torch.ops.phibal.router_backward.default, (
                x.detach(), mask, r.experts.int(), r.tokens, r.gates, r.loads, r.probabilities, r.probabilities, r.logsumexp, k,
                number, scale))
            torch.library.opcheck(torch.ops.phibal.priced.default, (
                x.detach().requires_grad_(), mask, torch.ones(()), torch.rand(x.shape[1]), 0.5, number))

    def test_gradcheck(self):
        """By central differences of 2^-6 in binary32. Their error: h^2/6 of the third derivative, at most 2^-14 of it, which
        is below 2 for a softmax; and of rounding 2 u / (2 h) of outputs of at most 4: 2^-16. Together below 2^-12."""
        for gate in GATES:
            x = (torch.stack([torch.randperm(6, generator=torch.Generator().manual_seed(i)) for i in range(4)]) / 2).float()
            f = lambda t: (lambda r: (r.gates, r.probabilities, r.loads, r.logsumexp))(pt.router(t, 3, gate=gate))
            self.assertTrue(torch.autograd.gradcheck(f, x.requires_grad_(), eps=2**-6, atol=2**-12, rtol=0, nondet_tol=0))

    def test_compile(self):
        def loss(x, w):
            r = pt.router(x @ w, 2, mask=x[:, 0] > -9)
            return r.gates.square().sum() + (r.loads * r.loads).sum() + pt.z_loss(r, 0.1), r.experts
        whole = torch.compile(loss, fullgraph=True, backend="aot_eager")
        g = torch.Generator().manual_seed(3)
        for T in (16, 5):
            x, w = torch.randn(T, 8, generator=g), torch.randn(8, 8, generator=g)
            a, b = w.clone().requires_grad_(), w.clone().requires_grad_()
            one, experts = loss(x, a)
            other, compiled = whole(x, b)
            one.backward(), other.backward()
            self.assertTrue(torch.equal(experts, compiled))
            torch.testing.assert_close(one, other)
            torch.testing.assert_close(a.grad, b.grad)

    def test_threads_and_calls(self):
        """The same bits with two threads, from one call as from two."""
        x = torch.randn(300, 64, generator=torch.Generator().manual_seed(4))
        one = pt.router(x, 8)
        torch.set_num_threads(2)
        try:
            two = pt.router(x, 8)
        finally:
            torch.set_num_threads(1)
        halves = [pt.router(part.contiguous(), 8) for part in (x[:99], x[99:])]
        self.assertTrue(torch.equal(one.sums, two.sums) and torch.equal(one.gates, two.gates))
        self.assertTrue(torch.equal(one.gates, torch.cat([h.gates for h in halves])))
        self.assertTrue(torch.equal(one.counts, sum(h.counts for h in halves)))


class Refused(unittest.TestCase):
    def test_messages(self):
        x = torch.zeros(4, 8)
        for error, words, call in (
                (TypeError, "logits: expected a tensor, got list", lambda: pt.router([1.0], 1)),
                (TypeError, r"expected dtype torch.float32, got torch.bfloat16; .float\(\)", lambda: pt.router(x.bfloat16(), 1)),
                (TypeError, "got torch.float64", lambda: pt.router(x.double(), 1)),
                (ValueError, r"expected shape \(any, any\), got \(2, 4, 8\)", lambda: pt.router(torch.zeros(2, 4, 8), 1)),
                (ValueError, "expected a contiguous tensor", lambda: pt.router(torch.zeros(8, 4).T, 1)),
                (TypeError, "expected a dense tensor", lambda: pt.router(x.to_sparse(), 1)),
                (ValueError, "k: expected 1 to 8 of 8 experts, got 0", lambda: pt.router(x, 0)),
                (ValueError, "1 to 1024 experts, got 1025", lambda: pt.router(torch.zeros(2, 1025), 1)),
                (ValueError, r"mask: expected shape \(4\)", lambda: pt.router(x, 1, mask=torch.ones(5, dtype=torch.bool))),
                (TypeError, "mask: expected dtype torch.bool or torch.uint8", lambda: pt.router(x, 1, mask=torch.ones(4))),
                (ValueError, r"bias: expected shape \(8\)", lambda: pt.router(x, 1, bias=torch.ones(4))),
                (phibal.NonFiniteError, "token 0.*expert 1", lambda: pt.router(torch.tensor([[0.0, float("inf")]]), 1))):
            with self.assertRaisesRegex(error, words):
                call()

    def test_double_backward(self):
        """There is no second derivative: it is refused, not silently 0."""
        x = torch.randn(4, 8, requires_grad=True)
        first, = torch.autograd.grad(pt.router(x, 2).gates.square().sum(), x, create_graph=True)
        with self.assertRaises((RuntimeError, NotImplementedError)):
            first.sum().backward()

    def test_flush_to_zero(self):
        """Bounds hold in IEEE arithmetic: a thread that flushes subnormal numbers is told so."""
        if not torch.set_flush_denormal(True):
            self.skipTest("this processor does not flush")
        try:
            with self.assertRaisesRegex(phibal.UnsupportedError, "flush-to-zero|denormals-are-zero"):
                pt.router(torch.zeros(4, 8), 2)
        finally:
            torch.set_flush_denormal(False)

    def test_fuzzed(self):
        """Whatever the arguments: a result, or one of the documented exceptions."""
        r = random.Random(1)
        things = [torch.zeros(4, 8), torch.zeros(0, 8), torch.zeros(4, 0), torch.zeros(8), torch.zeros(8, 4).T,
                  torch.zeros(4, 8).double(), torch.full((4, 8), float("nan")), torch.ones(4, dtype=torch.bool),
                  torch.ones(4, dtype=torch.uint8), torch.ones(8), torch.zeros(4, 8).to_sparse(),
                  torch.zeros(1, 8).expand(4, 8), torch.zeros(4, 8, dtype=torch.complex64), None, 0, 1, 8, 2**70, 0.5,
                  "sigmoid", "a", [1], np.zeros((4, 8), np.float32), torch.nn.Parameter(torch.zeros(4, 8))]
        returned = 0
        for _ in range(5000):
            x = things[0] if r.random() < 0.5 else r.choice(things)
            k = 2 if r.random() < 0.5 else r.choice(things)
            try:
                pt.router(x, k, **{n: r.choice(things) for n in ("gate", "scale", "bias", "mask") if r.random() < 0.2})
                returned += 1
            except (TypeError, ValueError) as error:
                self.assertTrue(str(error))
        self.assertGreater(returned, 500)


run()
