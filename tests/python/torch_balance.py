"""PhiBalancer, SwitchLoss and LossFree: judged as whole steps, bit for bit beside phibal's own kernels, and in the
situations where balancing goes wrong in training: micro-batches, padding, ranks, checkpointing, evaluation, casts."""
import functools
import json
import os
import subprocess
import tempfile
import unittest

from needs import need, run

need("numpy", "torch")
import numpy as np
import torch
from torch.utils.checkpoint import checkpoint

import phibal
import phibal.numpy as pn
import phibal.torch as pt


def parts(tensor, micro_batches):
    return tensor.split(len(tensor) // micro_batches) if tensor is not None else [None] * micro_batches


def step(make, logits, k, micro_batches, forward_passes, mask, reentrant=False):
    """A step of a balancer over [L, T, E] logits, its micro-batches in order: (balancer, loss [L], gradient)."""
    L, T, E = logits.shape
    x = logits.clone().requires_grad_()
    balancer = make(L, E, k)
    total = T if mask is None else int((mask != 0).sum())
    losses, counts = torch.zeros(L, dtype=torch.float64), None
    for rows, m in zip(range(micro_batches), parts(mask, micro_batches)):
        n = T // micro_batches
        for l in range(L):
            def forward(y):
                return balancer.loss(l, y, m, tokens=total)
            part = x[l, rows * n:rows * n + n]
            value = forward(part) if forward_passes == 1 else checkpoint(forward, part, use_reentrant=reentrant)
            value.backward()
            losses[l] += value.detach().double()
    counts = balancer.step_counts.clone()
    balancer.step()
    return balancer, losses, x.grad, counts


class Judged(unittest.TestCase):
    def phi(self, reentrant):
        def function(logits, m, k, micro_batches, ranks, forward_passes, alpha, eta, potential, parameter=None, mask=None):
            def make(L, E, k):
                b = pt.PhiBalancer(L, E, k, potential=potential, parameter=None if parameter is None else float(parameter),
                                   alpha=alpha, eta=eta)
                b.m.copy_(m)
                return b
            b, loss, gradient, counts = step(make, logits, k, micro_batches, forward_passes, mask, reentrant)
            return {"m": b.m, "loss": loss, "logit-gradient": gradient, "counts": counts}
        return function

    def test_balance_step(self):
        for reentrant in (False, True):
            report = phibal.judge("balance-step", self.phi(reentrant), cases=120, to=torch.from_numpy)
            self.assertEqual((report.verdict, report.judged), ("verified", 120), str(report))

    def test_switch_step(self):
        def function(logits, k, micro_batches, ranks, forward_passes, alpha, frequencies, mask=None):
            make = lambda L, E, k: pt.SwitchLoss(L, E, k, alpha=alpha, frequencies=frequencies)
            _, loss, gradient, counts = step(make, logits, k, micro_batches, forward_passes, mask)
            return {"loss": loss, "logit-gradient": gradient, "counts": counts}
        report = phibal.judge("switch-step", function, cases=120, to=torch.from_numpy)
        self.assertEqual((report.verdict, report.judged), ("verified", 120), str(report))

    def test_bits_of_the_kernels(self):
        """m and the gradient have the bits of the step that phibal's trainer makes of the same logits."""
        with tempfile.TemporaryDirectory() as folder:
            cases, results = os.path.join(folder, "cases.npz"), os.path.join(folder, "results.npz")
            subprocess.run([phibal._library.command(), "vectors", "--op=balance-step", "--cases=90", "--out", cases, "--results",
                            results], check=True)
            with open(cases[:-4] + ".json", encoding="utf-8") as file:
                manifest = json.load(file)
            kernels, vectors = np.load(results), np.load(cases)
            for c in manifest["cases"]:
                p = {n.replace("-", "_"): v for n, v in c["parameters"].items()}
                inputs = {n: torch.from_numpy(vectors[f"{c['prefix']}/in/{n}"]) for n in c["inputs"]}
                ours = self.phi(False)(**inputs, **p)
                for name in ("m", "logit-gradient"):
                    theirs = kernels[f"{c['prefix']}/out/{name}"]
                    self.assertEqual(ours[name].numpy().tobytes(), theirs.astype(np.float32).tobytes(), (c["id"], name))


class Training(unittest.TestCase):
    def logits(self, T=24, E=8, seed=1):
        return torch.randn(T, E, generator=torch.Generator().manual_seed(seed)) * 2

    def test_micro_batches_and_padding(self):
        """m after a step has the same bits however the batch is cut and padded."""
        x, states = self.logits(), []
        for cut in ([24], [12, 12], [1, 5, 0, 18]):
            b = pt.PhiBalancer(1, 8, 2, start="uniform")
            for part in x.split(cut):
                padded = torch.cat((part, torch.full((3, 8), float("nan"))))
                mask = torch.arange(len(padded)) < len(part)
                loss = b.loss(0, padded.requires_grad_(), mask)
                loss.backward()
                self.assertTrue(torch.isfinite(padded.grad).all())
            b.step()
            states.append(b.m.clone())
        for state in states:
            self.assertTrue(torch.equal(state, states[0]))

    def test_router_and_loss(self):
        """A Routing gives the loss of its logits, and gradients through both add up."""
        x = self.logits().requires_grad_()
        a, b = pt.PhiBalancer(1, 8, 2), pt.PhiBalancer(1, 8, 2)
        r = pt.router(x, 2)
        one, other = a.loss(0, r), b.loss(0, x)
        self.assertEqual(one.item(), other.item())
        both, = torch.autograd.grad(one + r.gates.square().sum(), x)
        parts = torch.autograd.grad(other, x)[0] + torch.autograd.grad(pt.router(x, 2).gates.square().sum(), x)[0]
        torch.testing.assert_close(both, parts)

    def test_checkpointing(self):
        """Two layers, both kinds of checkpointing: the same m, loss and gradients as without."""
        def model(x, w, b, kind):
            total = 0
            for l in range(2):
                f = lambda x, l=l: (lambda r: (torch.tanh(x) + r.gates.sum(-1, keepdim=True) * 0.1, b.loss(l, r)))(
                    pt.router(x @ w, 2))
                x, loss = f(x) if kind is None else checkpoint(f, x, use_reentrant=kind)
                total = total + loss
            return x.square().mean() + total
        found = []
        for kind in (None, False, True):
            w = torch.randn(8, 8, generator=torch.Generator().manual_seed(5)).requires_grad_()
            b = pt.PhiBalancer(2, 8, 2)
            for s in range(3):
                # A leaf that needs a gradient: without one reentrant checkpointing computes none.
                value = model(self.logits(seed=s).requires_grad_(), w, b, kind)
                value.backward()
                self.assertEqual(b.step_tokens.tolist(), [24, 24])
                b.step()
            found.append((b.m.clone(), float(value.detach()), w.grad.clone()))
        for m, value, gradient in found[1:]:
            self.assertTrue(torch.equal(m, found[0][0]))
            self.assertEqual(value, found[0][1])
            # Reentrant checkpointing adds the parts of w's gradient in another order: 6 sums, each within u of itself.
            torch.testing.assert_close(gradient, found[0][2], rtol=0, atol=6 * 2**-24 * float(found[0][2].abs().max()))

    def test_checkpointing_of_interleaved_micro_batches(self):
        """All forward passes first, then all backward passes, as pipelines do: each is priced as at first."""
        found = []
        for checkpointed in (False, True):
            b, xs = pt.PhiBalancer(1, 8, 2), [self.logits(seed=s).requires_grad_() for s in range(3)]
            losses = [checkpoint(lambda y: b.loss(0, y), x, use_reentrant=False) if checkpointed else b.loss(0, x) for x in xs]
            for loss in losses:
                loss.backward()
            found.append([x.grad for x in xs])
            b.step()
        for one, other in zip(*found):
            self.assertTrue(torch.equal(one, other))

    def test_recomputed_with_other_logits(self):
        b, x, calls = pt.PhiBalancer(1, 8, 2), self.logits().requires_grad_(), []
        def forward(y):
            calls.append(1)
            return b.loss(0, y * len(calls))
        loss = checkpoint(forward, x, use_reentrant=False)
        with self.assertRaisesRegex(RuntimeError, "with other logits than at first"):
            loss.backward()

    def test_evaluation(self):
        b, x = pt.PhiBalancer(1, 8, 2, start="uniform"), self.logits()
        b.loss(0, x)
        b.step()
        before = {n: t.clone() for n, t in b.state_dict().items()}
        b.eval()
        with torch.no_grad():
            value = b.loss(0, x)
        m = b.m[0].numpy().copy()
        self.assertEqual(float(value), float(pn.balance_loss("negentropy", b.alpha, pt.router(x, 2).loads.numpy(), m)))
        for n, t in b.state_dict().items():
            self.assertTrue(torch.equal(t, before[n]), n)
        with self.assertRaisesRegex(RuntimeError, "no token was counted"):
            b.step()

    def test_state_dict(self):
        """Resumed in the middle of a step, training goes on with the same bits."""
        for make in (lambda: pt.PhiBalancer(2, 8, 2, potential="tsallis", start="zero-corrected"),
                     lambda: pt.SwitchLoss(2, 8, 2, frequencies="global"), lambda: pt.LossFree(2, 8, 2, gate="topk-softmax")):
            a, b = make(), make()
            take = lambda n, l, s: n.count(l, pt.router(self.logits(seed=s), 2, bias=n.bias[l])) if isinstance(n, pt.LossFree) \
                else n.loss(l, self.logits(seed=s))
            for l in range(2):
                take(a, l, 1)
            a.step()
            take(a, 0, 2)
            with tempfile.TemporaryFile() as file:
                torch.save(a.state_dict(), file)
                file.seek(0)
                b.load_state_dict(torch.load(file, weights_only=True))
            for n in (a, b):
                for l in range(2):
                    take(n, l, 3)
                n.step()
            for (name, one), other in zip(a.state_dict().items(), b.state_dict().values()):
                self.assertTrue(torch.equal(one, other), name)

    def test_casts(self):
        """model.bfloat16() and .half() leave the state in binary32."""
        b = pt.PhiBalancer(1, 8, 2)
        b.loss(0, self.logits())
        b.step()
        m = b.m.clone()
        torch.nn.Sequential(b).bfloat16().half().double()
        self.assertEqual(b.m.dtype, torch.float32)
        self.assertTrue(torch.equal(b.m, m))

    def test_zero_corrected_and_frequencies(self):
        """(M6) by hand in binary64; frequency tracking by the counts."""
        b, x = pt.PhiBalancer(1, 8, 2, start="zero-corrected", eta=0.25), self.logits()
        loads, m = pt.router(x, 2).loads.numpy(), np.zeros(8)
        for t in range(1, 4):
            value = float(b.loss(0, x))
            b.step()
            m = 0.75 * m + 0.25 * loads
            exact = 0.01 * 8 * np.sum(loads * (np.log(m / (1 - 0.75**t)) + 1))
            self.assertLess(abs(value - exact), 1e-6 * abs(exact) + 1e-8)
        f = pt.PhiBalancer(1, 8, 2, track="frequency", eta=1.0)
        f.loss(0, x)
        f.step()
        self.assertTrue(np.array_equal(f.m[0].numpy(), (pt.router(x, 2).counts.numpy() / 48).astype(np.float32)))

    def test_loss_free(self):
        b, x = pt.LossFree(1, 8, 2, rate=0.5), self.logits()
        for n in (10, 14):
            b.count(0, pt.router(x[:n].contiguous(), 2, gate="sigmoid", bias=b.bias[0]))
        counts = b.step_counts[0].clone()
        b.step()
        self.assertTrue(torch.equal(b.bias[0], 0.5 * torch.sign(48 - 8 * counts).float()))
        b.eval()
        b.count(0, pt.router(x, 2, gate="sigmoid", bias=b.bias[0]))
        self.assertFalse(b.step_counts.any())

    def test_balances(self):
        """A router that prefers two experts is balanced by the loss alone, and a hook of the optimizer steps."""
        g = torch.Generator().manual_seed(7)
        w = (torch.randn(16, 8, generator=g) * 0.1).requires_grad_()
        bias = torch.tensor([3.0, 3.0, 0, 0, 0, 0, 0, 0]).requires_grad_()
        b, optimizer = pt.PhiBalancer(1, 8, 2, alpha=0.1), torch.optim.Adam([w, bias], lr=0.05)
        b.attach(optimizer)
        violation = []
        for _ in range(150):
            r = pt.router(torch.randn(256, 16, generator=g) @ w + bias, 2)
            optimizer.zero_grad()
            b.loss(0, r).backward()
            optimizer.step()
            violation.append(pn.maxvio_counts(r.counts.numpy()))
        self.assertGreater(violation[0], 2.5)
        self.assertLess(violation[-1], 0.5)
        self.assertEqual(int(b.steps), 150)

    def test_compiled_model(self):
        """A model with a balancer compiles; the loss itself runs uncompiled."""
        w = torch.randn(8, 8, generator=torch.Generator().manual_seed(1)).requires_grad_()
        b, plain = pt.PhiBalancer(1, 8, 2), pt.PhiBalancer(1, 8, 2)
        f = lambda n, x: (lambda r: r.gates.square().sum() + n.loss(0, r))(pt.router(x @ w, 2))
        whole = torch.compile(lambda x: f(b, x), backend="aot_eager")
        for s in range(2):
            one, other = whole(self.logits(seed=s)), f(plain, self.logits(seed=s))
            torch.testing.assert_close(one, other)
            b.step(), plain.step()
        self.assertTrue(torch.equal(b.m, plain.m))

    def test_refused(self):
        b, x = pt.PhiBalancer(2, 8, 2), self.logits()
        for error, words, call in (
                (ValueError, "layer: expected 0 to 1, got 2", lambda: b.loss(2, x)),
                (ValueError, r"2 of 8 experts .* got one to 3 of 8", lambda: b.loss(0, pt.router(x, 3))),
                (ValueError, "2 of 8 experts", lambda: b.loss(0, self.logits(E=4))),
                (ValueError, "mask: the routing has a mask",
                 lambda: b.loss(0, pt.router(x, 2), torch.ones(24, dtype=torch.bool))),
                (ValueError, "tokens: expected those of the global batch", lambda: b.loss(0, x, tokens=5)),
                (ValueError, "eta: expected a number in", lambda: pt.PhiBalancer(1, 8, 2, eta=0)),
                (ValueError, "unknown potential 'x'", lambda: pt.PhiBalancer(1, 8, 2, potential="x")),
                (ValueError, "track: expected one of", lambda: pt.PhiBalancer(1, 8, 2, track="loads")),
                (ValueError, "alpha", lambda: pt.PhiBalancer(1, 8, 2, alpha=-1)),
                (ValueError, "layers: expected at least 1", lambda: pt.PhiBalancer(0, 8, 2)),
                (ValueError, "k: expected 1 to 8", lambda: pt.PhiBalancer(1, 8, 9))):
            with self.assertRaisesRegex(error, words):
                call()
        self.assertFalse(b.step_tokens[1].any())


def rank(number, ranks, folder, wrapper):
    """One process of the test below, DDP or FSDP over gloo: three steps of two micro-batches of unequal padding. It ends
    without the interpreter's clean-up: gloo's threads may abort there when the other process has gone before."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store-{ranks}", rank=number, world_size=ranks)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.randn(8, 8, generator=torch.Generator().manual_seed(1)))
            self.balancer = pt.PhiBalancer(1, 8, 2, alpha=0.1)
            self.free = pt.LossFree(1, 8, 2, gate="topk-softmax")

        def forward(self, x, mask):
            def block(x):
                r = pt.router(x @ self.w, 2, mask=mask)
                self.free.count(0, r)
                return self.balancer.loss(0, r)
            return checkpoint(block, x, use_reentrant=False)
    model = Model()
    if wrapper == "DDP":
        whole = torch.nn.parallel.DistributedDataParallel(model)
    else:
        from torch.distributed.fsdp import fully_shard
        whole = fully_shard(model, mesh=torch.distributed.init_device_mesh("cpu", (ranks,)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    after = []
    for s in range(3):
        optimizer.zero_grad()
        for a in range(2):
            x = torch.randn(16, 8, generator=torch.Generator().manual_seed(10 * s + a))
            mask = torch.arange(16) % 5 != 0
            n = 16 // ranks
            own = slice(number * n, number * n + n)
            (whole(x[own].contiguous(), mask[own].contiguous()) / 2).backward()
        optimizer.step()
        model.balancer.step()
        model.free.step()
        after.append(model.balancer.m.clone())
    w = model.w.data if wrapper == "DDP" else model.w.data.full_tensor()
    torch.save({"first": after[0], "m": after[-1], "w": w, "bias": model.free.bias},
               os.path.join(folder, f"{ranks}-{number}"))
    torch.distributed.barrier()
    os._exit(0)


class Ranks(unittest.TestCase):
    def test_gloo(self):
        """Two processes, and one with the whole batch: after the first step m has the same bits, then weights differ by
        rounding; the ranks have the same bits among themselves."""
        for wrapper in ("DDP", "FSDP"):
            with self.subTest(wrapper), tempfile.TemporaryDirectory() as folder:
                for ranks in (1, 2):
                    torch.multiprocessing.spawn(rank, (ranks, folder, wrapper), nprocs=ranks)
                one, first, second = (torch.load(os.path.join(folder, n)) for n in ("1-0", "2-0", "2-1"))
                for name in one:
                    self.assertTrue(torch.equal(first[name], second[name]), name)
                    # Ranks' gradients, 8 terms at most of at most 1, are added in another order: 2^-20 a step of rate 1/2.
                    torch.testing.assert_close(first[name], one[name], rtol=0, atol=3 * 2**-20)
                self.assertTrue(torch.equal(first["first"], one["first"]))


class Played(unittest.TestCase):
    """Traces (phibal.play), and with one fault at a time the kind of event that the judge must name."""

    class Player:
        """A balancer of one layer; ranks add up in one process, as one rank with all of their tokens."""
        faults = ()

        def __init__(self, make, k, start):
            self.balancer = make(len(start), k)
            self.tokens = 0
            self.name = "m" if isinstance(self.balancer, pt.PhiBalancer) else "bias"
            getattr(self.balancer, self.name).copy_(torch.as_tensor(start))

        def layer(self, logits, mask, run=lambda forward, x: forward(x)):
            b, mask = self.balancer, torch.as_tensor(mask)
            def forward(x):
                if self.name == "m":
                    return b.loss(0, x, mask, tokens=max(1, int(mask.sum())))
                b.count(0, pt.router(x, b.k, gate=b.gate, bias=b.bias[0], mask=mask))
                return x.sum()
            return run(forward, torch.as_tensor(logits).requires_grad_())

        def forward(self, logits, mask, rank):
            self.tokens += int(mask.sum())
            self.layer(logits, mask).backward()

        def checkpointed(self, logits, mask, rank):
            self.tokens += int(mask.sum())
            if "recomputation" in self.faults:
                self.layer(logits, mask)
            reentrant = self.tokens % 2 == 0
            self.layer(logits, mask, functools.partial(checkpoint, use_reentrant=reentrant)).backward()

        def evaluate(self, logits, mask, rank):
            self.balancer.train("evaluation" in self.faults)
            self.layer(logits, mask)
            self.balancer.train()

        def step(self):
            if self.tokens:
                self.balancer.step()
            self.tokens = 0

        def state(self):
            return getattr(self.balancer, self.name)[0]

        def save(self):
            return {} if "saving" in self.faults else self.balancer.state_dict()

        def load(self, saved):
            if saved:
                self.balancer.load_state_dict(saved)

        def cast(self):
            if "casting" in self.faults:
                self.state().copy_(self.state().bfloat16().float())
            self.balancer.bfloat16()

    def report(self, *faults):
        Player = type("Player", (self.Player,), {"faults": faults})
        def create(method, k, ranks, start, eta=None, track=None, rate=None, gate=None, **computed):
            if method in ("quantile", "phi-bias"):
                return None
            if method == "phi":
                return Player(lambda E, k: pt.PhiBalancer(1, E, k, eta=eta, track=track), k, start)
            return Player(lambda E, k: pt.LossFree(1, E, k, rate=rate, gate=gate), k, start)
        return phibal.play(create)

    def test_traces(self):
        report = self.report()
        self.assertEqual(report.verdict, "verified", str(report))
        self.assertEqual((report.judged, report.not_answered), (185, 114))

    def test_faults(self):
        for fault, cause in (("evaluation", "evaluation"), ("recomputation", "recomputation"), ("saving", "reloading"),
                             ("casting", "casting")):
            report = self.report(fault)
            self.assertEqual((report.verdict, report.causes[0].flag), ("mismatch", cause), str(report))

    class Losses:
        """SwitchLoss, of one rank: gradients of micro-batches' own means, weighted at the step."""
        faults = ()

        def __init__(self, method, k, start, gate, alpha, E, weights):
            frequencies = "global" if method == "switch-global" else "micro-batch"
            self.balancer = pt.SwitchLoss(1, E, k, alpha=alpha, frequencies=frequencies, gate=gate)
            self.start, self.alike, self.passes = start, weights == "micro-batches", []

        def layer(self, logits, mask, run=lambda forward, x: forward(x)):
            b, mask = self.balancer, torch.as_tensor(mask)
            bias = None if self.start is None or "map" in self.faults else torch.as_tensor(self.start)
            x, counts = torch.as_tensor(logits).requires_grad_(), []
            def forward(x):
                r = pt.router(x, b.k, gate=b.gate, bias=bias, mask=mask)
                counts.append(r.counts)
                return b.loss(0, r)
            loss = run(forward, x)
            return int(mask.sum()), loss, x, counts[0]

        def keep(self, tokens, loss, x, counts):
            loss.backward()
            self.passes.append((tokens, loss.detach().double(), x.grad.double(), counts))

        def forward(self, logits, mask, rank):
            self.keep(*self.layer(logits, mask))

        def checkpointed(self, logits, mask, rank):
            run = functools.partial(checkpoint, use_reentrant=len(self.passes) % 2 == 0)
            self.keep(*self.layer(logits, mask, run))
            if "recomputation" in self.faults:  # as a buffer that each forward pass adds to
                self.passes[-1] = (*self.passes[-1][:3], 2 * self.passes[-1][3])

        def evaluate(self, logits, mask, rank):
            self.balancer.train("evaluation" in self.faults)
            self.layer(logits, mask)
            self.balancer.train()

        def step(self):
            total = sum(p[0] for p in self.passes)
            w = [1 / len(self.passes) if self.alike else p[0] / total if total else 0 for p in self.passes]
            if total:
                self.balancer.step()
            passes, self.passes = self.passes, []
            return {"gradients": [a * p[2] for a, p in zip(w, passes)], "losses": [p[1] for p in passes],
                    "loss": sum(a * p[1] for a, p in zip(w, passes)), "counts": sum(p[3] for p in passes)}

        def save(self):
            return self.balancer.state_dict()

        def load(self, saved):
            self.balancer.load_state_dict(saved)

        def cast(self):
            self.balancer.bfloat16()

    def losses(self, *faults):
        Losses = type("Losses", (self.Losses,), {"faults": faults})
        class Late:  # E is known with the first logits
            def __init__(self, **given):
                self.given, self.player = given, None
            def __getattr__(self, name):
                def call(*arguments):
                    if self.player is None and name in ("forward", "checkpointed", "evaluate"):
                        self.player = Losses(E=arguments[0].shape[1], **self.given)
                    return getattr(self.player, name)(*arguments) if self.player else None
                return call
        def create(method, k, ranks, start, gate, weights, sequences, alpha):
            if ranks > 1 or not method.startswith("switch"):
                return None
            return Late(method=method, k=k, start=start, gate=gate, alpha=alpha, weights=weights)
        return phibal.play(create, op="loss-trace")

    def test_losses(self):
        report = self.losses()
        self.assertEqual(report.verdict, "verified", str(report))
        self.assertGreater(report.judged, 150)

    def test_faulty_losses(self):
        for fault, cause in (("evaluation", "evaluation"), ("recomputation", "recomputation"), ("map", "routing-map")):
            report = self.losses(fault)
            self.assertEqual((report.verdict, report.causes[0].flag), ("mismatch", cause), str(report))


if __name__ == "__main__":
    run()
