#!/usr/bin/env python3
"""Audits a potential of one's own, phi(x) = sum x^2 - a x^3: what is proved of it, where its price leads, and where the
closed loop of router and balancing is stable. With matplotlib the last two become bent.png."""
import os
import tempfile

import numpy as np

import phibal

TEXT = """potential bent
parameter a in [0, 1/4] = 1/8
value    sum(x^2 - a*x^3)
gradient 2*x - 3*a*x^2
"""

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "bent.phi")
    with open(path, "w", encoding="utf-8") as file:
        file.write(TEXT)
    certificate = phibal.audit(path, "--quick")
    negentropy = phibal.audit("negentropy", "--quick", "--skip=convexity,legendre,gradient,conjugate,core")

for claim in certificate["claims"]:
    print(f"{claim['verdict']:<10} {claim['claim']}")
rows = [(c["name"], d["experts"], l["eta"], float(l["stable_below"]["lo"]), float(l["overshoots_above"]["lo"]))
        for c, part in (({"name": "bent"}, certificate), ({"name": "negentropy"}, negentropy))
        for d in part["dynamics"] for l in d["lr_alpha"]]
print(f"\n{'potential':<12} {'experts':>7} {'eta':>6} {'overshoots above':>17} {'stable below (lr alpha)':>24}")
for name, experts, eta, stable, overshoot in rows:
    print(f"{name:<12} {experts:7d} {eta:6g} {overshoot:17.4g} {stable:24.4g}")

try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError as error:
    print(f"\nno picture: {error}")
else:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    share = np.linspace(0.05, 8, 60)
    for name, price in (("bent", lambda x: 2 * x - 3 / 8 * x**2),
                        ("negentropy", lambda x: np.array(phibal.Potential("negentropy").gradient(list(x)).lo))):
        # The price at x less that at 1/E, in units of the slope at 1/E: equal strength.
        x, h = share / 64, 1e-4
        slope = (price(np.array([1 / 64 + h])) - price(np.array([1 / 64 - h]))) / (2 * h)
        left.plot(share, (price(x) - price(np.array([1 / 64]))) / slope, label=name)
        at = sorted((eta, stable) for n, experts, eta, stable, _ in rows if n == name and experts == 64)
        right.loglog(*zip(*at), "o-", label=name)
    left.set(xlabel="load, in shares of 1/64", ylabel="price at equal strength"), left.legend()
    right.set(xlabel="eta", ylabel="lr alpha: stable below", title="64 experts"), right.legend()
    figure.tight_layout()
    figure.savefig("bent.png")
    print("\nwrote bent.png")
