"""What polynomials leave of the functions they stand for, in exact rational arithmetic.

The difference of a polynomial and a power series cut at a high degree is a polynomial too. On each of
many small intervals, expanded about its centre c, it is at most sum |a_i| h^i in size (h the half
width); what the series was cut by is bounded by a geometric series. No rounding, no trust in a
library of functions."""
from fractions import Fraction
from math import factorial, log2
import re

import model

TERMS = 30  # of the series
PIECES = 256


class Polynomial:
    """Coefficients from the constant up."""

    def __init__(self, coefficients):
        self.c = list(coefficients)

    def __add__(self, other):
        n = max(len(self.c), len(other.c))
        pad = lambda p: p.c + [Fraction(0)] * (n - len(p.c))
        return Polynomial(a + b for a, b in zip(pad(self), pad(other)))

    def __neg__(self):
        return Polynomial(-a for a in self.c)

    def __sub__(self, other):
        return self + Polynomial(-a for a in other.c)

    def __mul__(self, other):
        c = [Fraction(0)] * (len(self.c) + len(other.c) - 1)
        for i, a in enumerate(self.c):
            for j, b in enumerate(other.c):
                c[i + j] += a * b
        return Polynomial(c)

    def about(self, centre):
        """The coefficients in powers of x - centre."""
        c = list(self.c)
        for i in range(len(c)):
            for j in range(len(c) - 2, i - 1, -1):
                c[j] += centre * c[j + 1]
        return c


def number(text):
    """A decimal or hexadecimal constant, exactly."""
    if text.startswith("0x"):
        return Fraction(float.fromhex(text))
    return Fraction(text)


def from_header(header, name, core=None):
    """The polynomial that a function of the cores evaluates."""
    (variable,), _ = model.function(header, name, core)
    m = model.Model(core)
    m.function(header, name, [], {})
    values = {variable: Polynomial([Fraction(0), Fraction(1)])}
    for line in m.lines:
        left, right = line.rstrip(";").split(" = ")
        if not left.startswith("M"):
            continue
        constants = {}

        def constant(match):
            constants[f"constant_{len(constants)}"] = Polynomial([number(match[0])])
            return f"constant_{len(constants) - 1}"

        right = re.sub(r"\b0x[0-9a-f.]+p[+-]?\d+|\b\d+\.?\d*\b", constant, right)
        values[left] = eval(right, {}, {**values, **constants})
    return values["Mvalue"]


def largest(p, low, high):
    """A bound of |p| on low .. high."""
    h = (high - low) / (2 * PIECES)
    worst = Fraction(0)
    for i in range(PIECES):
        size, power = Fraction(0), Fraction(1)
        for a in p.about(low + (2 * i + 1) * h):
            size += abs(a) * power
            power *= h
        worst = max(worst, size)
    return worst


def exp_tail(bounds, core=None):
    """|q(r) - (e^r - 1 - r) / r^2| for |r| <= exp_range."""
    limit = number(bounds["exp_range"])
    series = Polynomial(Fraction(1, factorial(i + 2)) for i in range(TERMS))
    rest = 2 * limit**TERMS / factorial(TERMS + 2)
    return rest + largest(from_header("exp64.h", "core_exp_tail", core) - series, -limit, limit)


def exp2_slope(bounds, core=None):
    """|r p(r) - (2^r - 1)| / 2^r for |r| <= 1/2"""
    # As exp_tail_relative, in fewer terms, and with log 2 to 96 bits, which moves the difference by
    # less than 2^-96.
    half, terms, log2 = Fraction(1, 2), 20, Fraction(int(log_two()[0] * 2**96), 2**96)
    series = Polynomial([Fraction(0)] + [log2**i / factorial(i) for i in range(1, terms)])
    inverse = Polynomial((-log2) ** i / factorial(i) for i in range(terms))
    difference = Polynomial([0, 1]) * from_header("exp2.h", "core_exp2_slope", core) - series
    rest = 4 * half**terms / factorial(terms) + Fraction(1, 2**94)
    return rest + largest(difference * inverse, -half, half)


def log_tail(bounds, core=None):
    """|L(z) - (log((1 + s) / (1 - s)) - 2 s) / s^3| for 0 <= z = s^2 <= log_range."""
    limit = number(bounds["log_range"])
    series = Polynomial(Fraction(2, 2 * i + 3) for i in range(TERMS))
    rest = 2 * limit**TERMS / (2 * TERMS + 3) / (1 - limit)
    return rest + largest(from_header("log64.h", "core_log_tail", core) - series, Fraction(0), limit)


def exp_tail_relative(bounds, core=None):
    """|r^2 q(r) - (e^r - 1 - r)| / e^r for |r| <= exp_range."""
    # e^-r as a series too; what both series are cut by is far below the last coefficients.
    limit = number(bounds["exp_range"])
    tail = Polynomial(Fraction(1, factorial(i + 2)) for i in range(TERMS))
    inverse = Polynomial(Fraction((-1) ** i, factorial(i)) for i in range(TERMS))
    square = Polynomial([Fraction(0), Fraction(0), Fraction(1)])
    difference = square * (from_header("exp64.h", "core_exp_tail", core) - tail)
    rest = 4 * limit**TERMS / factorial(TERMS)
    return rest + largest(difference * inverse, -limit, limit)


def turn_tail(bounds, name, first, least, core):
    """The relative error of a polynomial in z = r^2 <= 1/64: the series has the terms first, first + 2, ..
    of e^(2 pi i r), and is at least `least` in size."""
    limit, terms = Fraction(1, 64), 20
    eight, cut = eight_over_pi()
    assert cut < Fraction(1, 2**99)
    middle = Fraction(round(16 / eight * 2**100), 2**100)  # 2 pi
    sign = lambda n: (-1) ** (n // 2)
    series = Polynomial(sign(first + 2 * i) * middle ** (first + 2 * i) / factorial(first + 2 * i) for i in range(terms))
    # 2 pi is off by less than 2^-96, and each term by that times its power; 7^n / n! z^(n/2) is below 50.
    rest = Fraction(1, 2**80) + 2 * 7 ** (first + 2 * terms) * limit**terms / factorial(first + 2 * terms)
    return (rest + largest(from_header("cos_turn64.h", name, core) - series, Fraction(0), limit)) / Fraction(least)


def sin_turn_tail(bounds, core=None):
    """|S(z) / (sin(2 pi r) / r) - 1| for 0 <= z = r^2 <= 1/64."""
    return turn_tail(bounds, "core_sin_turn_tail", 1, "5.65", core)


def cos_turn_tail(bounds, core=None):
    """|C(z) / ((cos(2 pi r) - 1) / r^2) - 1| for 0 <= z = r^2 <= 1/64."""
    return turn_tail(bounds, "core_cos_turn_tail", 2, "18.7", core)


def log2_low(bounds, core=None):
    """log 2, above log2_low;"""
    low = number(bounds["log2_low"])
    return low if low < log_two()[0] else low + 1


def log2_high(bounds, core=None):
    """log 2"""
    value, cut = log_two()
    return value + cut


def exp_shift(bounds, core=None):
    """|e^x - 1| for |x| <= exp_reduction"""
    x = number(bounds["exp_reduction"])
    return x + x * x


def log_two():
    """log 2 = 2 artanh(1/3), and by how much the series is cut."""
    terms = 80
    value = sum(Fraction(2, (2 * i + 1) * 3 ** (2 * i + 1)) for i in range(terms))
    return value, Fraction(1, 3 ** (2 * terms))


def eight_over_pi():
    """8 / pi within 2^-100, by Machin's formula."""
    def arctan(n):
        return sum(Fraction((-1) ** i, (2 * i + 1) * n ** (2 * i + 1)) for i in range(60))
    return 8 / (16 * arctan(5) - 4 * arctan(239)), Fraction(1, 2**100)


def gelu_a_low(bounds, core=None):
    """2 sqrt(2 / pi), above gelu_a_low;"""
    value, cut = eight_over_pi()
    low = number(bounds["gelu_a_low"])
    return low if low**2 < value - cut else low + 1


def gelu_a_high(bounds, core=None):
    """2 sqrt(2 / pi)"""
    value, cut = eight_over_pi()
    high = number(bounds["gelu_a_high"])
    return high if high**2 > value + cut else high + 1


def shift(bounds, t):
    return number(bounds[t]) * (1 + 321 * number(bounds[t])) * (1 + number(bounds["exp2"]))


def silu_shift(bounds, core=None):
    """|e^(w x) - 1| (1 + exp2) / x for |w| <= silu_t and 0 < x <= 320,"""
    return shift(bounds, "silu_t")


def gelu_shift(bounds, core=None):
    """|e^(w x) - 1| (1 + exp2) / x for |w| <= gelu_t and 0 < x <= 320,"""
    return shift(bounds, "gelu_t")


def fast_path(bounds, core=None):
    """the largest relative error of exp64, expm164, log64, log1p64, sigmoid64 and tanh64"""
    # Beyond 2^53, 1 + d is rounded, and log(1 + d) is at least 36.
    names = "exp64", "expm1_near", "expm1", "log64_near", "log64", "log1p_small", "sigmoid64", "tanh64"
    return max(number(bounds[n]) for n in names) + Fraction(1, 2**58)


BOUNDS = {f.__name__: f for f in (log2_low, log2_high, exp_tail, exp_tail_relative, exp_shift, exp2_slope, log_tail,
                                 fast_path, sin_turn_tail, cos_turn_tail,
                                 silu_shift, gelu_a_low, gelu_a_high, gelu_shift)}
