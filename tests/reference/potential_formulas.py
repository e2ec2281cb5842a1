"""The potentials from their definitions, for mpmath numbers, as SPEC.md section P has them and without regard to
cancellation: the working precision makes up for that."""
from mpmath import mp, mpf

from formula_rows import ROWS, inside

mp.dps = 300
INF = mp.inf
ROUNDED_ZERO = mpf(10) ** -280  # a rational zero, computed from numbers below 1e10 at 300 digits


def snap(t):
    return mpf(0) if abs(t) < ROUNDED_ZERO else t


def power(x, e):
    """x^e for x >= 0 with the specification's values at 0."""
    if x == 0:
        return INF if e < 0 else mpf(e == 0)
    return x ** e


def xlogx(x):
    return x * mp.log(x) if x > 0 else mpf(0)


class Separable:
    """phi(x) = sum psi(x_e). None stands for `no derivative here`."""

    def __init__(self, value, gradient, second, conjugate, conjugate_gradient):
        self.psi = value, gradient, second, conjugate, conjugate_gradient

    def value(self, x):
        return mp.fsum(map(self.psi[0], x))

    def gradient(self, x):
        return list(map(self.psi[1], x))

    def hessian(self, x):
        return list(map(self.psi[2], x))

    def conjugate(self, y):
        return mp.fsum(map(self.psi[3], y))

    def conjugate_gradient(self, y):
        return list(map(self.psi[4], y))


def lp(p):
    if p == INF:
        return LpMax()
    if p == 1:
        return Separable(abs, lambda x: mp.sign(x) if x != 0 else None,
                         lambda x: mpf(0) if x != 0 else None,
                         lambda y: mpf(0) if abs(y) <= 1 else INF,
                         lambda y: mpf(0) if abs(y) < 1 else None)
    r = p / (p - 1)
    return Separable(lambda x: power(abs(x), p) / p,
                     lambda x: mp.sign(x) * power(abs(x), p - 1),
                     lambda x: (p - 1) * power(abs(x), p - 2),
                     lambda y: power(abs(y), r) / r, lambda y: mp.sign(y) * power(abs(y), r - 1))


def negentropy(_):
    return Separable(lambda x: xlogx(x) if x >= 0 else INF,
                     lambda x: mp.log(x) + 1 if x > 0 else None,
                     lambda x: 1 / x if x > 0 else None,
                     lambda y: mp.exp(y - 1), lambda y: mp.exp(y - 1))


def tsallis(a):
    def derivative(f):
        return lambda x: None if x < 0 or (x == 0 and a < 1) else f(x)

    def dual(e, outside):
        def f(y):
            base = snap(1 + (a - 1) * y) / a
            return base ** e if base > 0 else (mpf(0) if a > 1 else outside)
        return f
    return Separable(lambda x: (power(x, a) - x) / (a - 1) if x >= 0 else INF,
                     derivative(lambda x: (a * power(x, a - 1) - 1) / (a - 1)),
                     derivative(lambda x: a * power(x, a - 2)),
                     dual(a / (a - 1), INF), dual(1 / (a - 1), None))


NAMES = {name: getattr(mp, name) for name in "fabs sqrt exp log log1p sinh cosh tanh asinh atanh".split()}
NAMES.update(pow=mp.power, xlogx=xlogx)


def written(row):
    """The potential of a row, for a parameter."""
    def function(text, outside, whole, a):
        def f(x):
            return mpf(eval(text, NAMES, {"x": x, "a": a})) if whole(x) else outside
        return f

    def everywhere(_):
        return True

    def closed(y):
        return inside(row.dual, y, True)

    def opened(y):
        return inside(row.dual, y, False)
    return lambda a: Separable(
        *(function(text, None, everywhere, a) for text in (row.value, row.gradient, row.second)),
        function(row.conjugate, INF, closed, a), function(row.conjugate_gradient, None, opened, a))


class LpMax:
    """(P2.inf) max |x_e|, with the symmetric subgradient."""

    def value(self, x):
        return max(map(abs, x))

    def gradient(self, x):
        top = self.value(x)
        n = sum(abs(t) == top for t in x)
        return [(mpf(1) if t >= 0 else mpf(-1)) / n if abs(t) == top else mpf(0) for t in x]

    def hessian(self, x):
        top = self.value(x)
        return [mpf(0)] * len(x) if top > 0 and sum(abs(t) == top for t in x) == 1 else None

    def conjugate(self, y):
        return mpf(0) if snap(mp.fsum(map(abs, y)) - 1) <= 0 else INF

    def conjugate_gradient(self, y):
        return [mpf(0)] * len(y) if snap(mp.fsum(map(abs, y)) - 1) < 0 else None


class Renyi:
    def __init__(self, a):
        self.a, self.c = a, a / (1 - a)

    def power_sum(self, x):
        return mp.fsum(power(t, self.a) for t in x)

    def value(self, x):
        if min(x) < 0 or max(x) == 0:
            return INF
        return snap(mp.log(self.power_sum(x))) / (self.a - 1)

    def gradient(self, x):
        a, s = self.a, self.power_sum([max(t, 0) for t in x])
        return [a * t ** (a - 1) / ((a - 1) * s) if t > 0 else None for t in x]

    def hessian(self, x):
        """d/dx_j of a x_i^(a-1) / ((a-1) S), row by row."""
        if min(x) <= 0:
            return [mpf(1) if t > 0 else None for t in x]
        a, s = self.a, self.power_sum(x)
        return [a * u ** (a - 2) / s * (i == j) - a * a * (u * v) ** (a - 1) / ((a - 1) * s * s)
                for i, u in enumerate(x) for j, v in enumerate(x)]

    def conjugate(self, y):
        if max(y) >= 0:
            return INF
        c = self.c
        return c * (mp.log(c) - 1) + mp.log(mp.fsum((-t) ** -c for t in y))

    def conjugate_gradient(self, y):
        c, s = self.c, mp.fsum((-t) ** -self.c for t in y if t < 0)
        return [c * (-t) ** (-c - 1) / s if t < 0 else None for t in y]


FAMILIES = {name: written(row) for name, row in ROWS.items()}
FAMILIES.update({"lp": lp, "negentropy": negentropy, "tsallis": tsallis, "renyi": Renyi})
