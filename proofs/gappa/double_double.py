"""The error bounds of dd_elementary.h and dd_sine.h from those of the operations in dd.h, in rational arithmetic.

Bounds are relative. What an operation makes of its arguments' errors is added up step by step, for
the whole range of the argument; the product (1 + a) (1 + b) .. - 1 stands for several. Each function
is compared with its text below: what is changed there must be thought through again here."""
import re
from fractions import Fraction
from math import factorial

import model
from approximation import log_two, number

U = Fraction(1, 2**53)

TEXTS = {
    "core_dd_sub_log2": """x = core_dd_add_d(x, -k * CORE_LOG2_HIGH); x = core_dd_add_d(x, -k * CORE_LOG2_MIDDLE);
        return core_dd_add_d(x, -k * CORE_LOG2_LOW);""",
    "core_dd_expm1_reduced": """core_dd b = core_dd_from(1.0); for (int j = 24; j >= 1; j--)
        b = core_dd_add_d(core_dd_mul(core_dd_div_d(r, (double)(j + 1)), b), 1.0);
        return core_dd_mul(r, b);""",
    "core_dd_exp": """if (y.hi < -708.0) return core_dd_from(0.0);
        if (y.hi > 709.0) return core_dd_from(CORE_INFINITY); double k = core_nearest_log2(y.hi);
        core_dd t = core_dd_add_d(core_dd_expm1_reduced(core_dd_sub_log2(y, k)), 1.0);
        return core_dd_scale(t, core_power_of_two((int)k));""",
    "core_dd_expm1": """if (y.hi < -708.0) return core_dd_from(-1.0);
        if (y.hi > 709.0) return core_dd_from(CORE_INFINITY); double k = core_nearest_log2(y.hi);
        if (k == 0.0) return core_dd_expm1_reduced(y); double scale = core_power_of_two((int)k);
        core_dd t = core_dd_scale(core_dd_expm1_reduced(core_dd_sub_log2(y, k)), scale);
        return core_dd_add(core_two_sum(scale, -1.0), t);""",
    "core_dd_log_ratio": """core_dd z = core_dd_mul(s, s); core_dd a = core_dd_from(0.0); for (int j = 22; j >= 1; j--)
        a = core_dd_add(core_dd_mul(z, a), core_dd_odd_reciprocal(j));
        a = core_dd_add_d(core_dd_mul(z, a), 1.0); return core_dd_scale(core_dd_mul(s, a), 2.0);""",
    "core_dd_log": """uint64_t u = core_bits64(x); int64_t k = (int64_t)(u - 0x3fe6a09e667f3bcdu) >> 52;
        double f = core_double(u - ((uint64_t)k << 52)) - 1.0;
        core_dd s = core_dd_div(core_dd_from(f), core_two_sum(2.0, f));
        return core_dd_sub_log2(core_dd_log_ratio(s), (double)-k);""",
    "core_dd_log1p": """if (x > -0.2928 && x < 0.4142)
        return core_dd_log_ratio(core_dd_div(core_dd_from(x), core_two_sum(2.0, x)));
        core_dd t = core_two_sum(1.0, x); return core_dd_add_d(core_dd_log(t.hi), t.lo / t.hi);""",
    "core_dd_tanh": """if (y.hi > 350.0) return core_dd_from(1.0);
        core_dd t = core_dd_expm1(core_dd_scale(y, 2.0)); return core_dd_div(t, core_dd_add_d(t, 2.0));""",
    "core_dd_power": "return core_dd_exp(core_dd_mul_d(core_dd_log(x), y));",
    "core_dd_reduce_half_pi": """const double shifter = 0x1.8p52;
        double k = CORE_FMA(x, 0x1.45f306dc9c883p-1, shifter) - shifter; *quarters = (int64_t)k;
        double d = CORE_FMA(-k, CORE_HALF_PI_1, x); core_dd second = core_two_product(-k, CORE_HALF_PI_2);
        core_dd r = core_dd_add_d(core_two_sum(d, second.hi), second.lo);
        return core_dd_add(r, core_dd_mul_d(core_dd_make(CORE_HALF_PI_3, CORE_HALF_PI_4), -k));""",
    "core_dd_alternating": """core_dd b = core_dd_from(1.0); for (int j = 14; j >= 1; j--) {
        double divisor = (double)((n + 2 * j - 2) * (n + 2 * j - 1));
        b = core_dd_add_d(core_dd_neg(core_dd_div_d(core_dd_mul(z, b), divisor)), 1.0); } return b;""",
    "core_dd_sine": """int64_t k; core_dd r = core_dd_reduce_half_pi(x, &k);
        int quadrant = (int)((k + quarters) & 3); core_dd z = core_dd_mul(r, r);
        core_dd s = quadrant & 1 ? core_dd_alternating(z, 1) : core_dd_mul(r, core_dd_alternating(z, 2));
        return quadrant & 2 ? core_dd_neg(s) : s;""",
    "core_dd_sigmoid": """core_dd e = core_dd_exp(core_dd_from(-core_abs(x)));
        return core_dd_div(x < 0 ? e : core_dd_from(1.0), core_dd_add_d(e, 1.0));""",
    "core_pseudo_huber_quotient": """if (delta > 0x1p400) return core_dd_from(m / delta);
        core_dd square = core_dd_add_d(core_two_product(delta, delta), m * m);
        return core_dd_div(core_dd_from(m), core_dd_sqrt(square));""",
}
HEADERS = {"core_dd_reduce_half_pi": "dd_sine.h", "core_dd_alternating": "dd_sine.h", "core_dd_sine": "dd_sine.h",
           "core_dd_sigmoid": "sigmoid.h", "core_pseudo_huber_quotient": "potentials/pseudo_huber.h"}


def text_stands(name, core):
    if model.body(HEADERS.get(name, "dd_elementary.h"), name, core) != " ".join(TEXTS[name].split()):
        raise model.Unmodelled(f"{name} is not what its bound was derived for")


def together(*errors):
    product = Fraction(1)
    for e in errors:
        product *= 1 + e
    return product - 1


def exp_bounds(r):
    """Bounds of e^r, from its series."""
    value = sum(r**i / factorial(i) for i in range(20))
    rest = 2 * abs(r) ** 20 / factorial(20)
    return value - rest, value + rest


def dd_log2(bounds, core=None):
    """|log 2 - HIGH - MIDDLE - LOW|, the products of HIGH and MIDDLE with 11 bits being exact,"""
    parts = model.Model(core).constants("dd_elementary.h")
    high, middle, low = (number(parts["CORE_LOG2_" + n]) for n in ("HIGH", "MIDDLE", "LOW"))
    # 42 bits from 2^-1 down, 41 from 2^-45 down.
    if (high * 2**42).denominator != 1 or (middle * 2**85).denominator != 1:
        raise model.Unmodelled("HIGH or MIDDLE has too many bits")
    value, cut = log_two()
    return abs(value - high - middle - low) + cut


def dd_sub_log2(bounds, core=None):
    """what dd_sub_log2 adds to |k| 2^-138, relative to x - k log 2,"""
    # Three sums. The first two are relative to partial results, which are larger than the last by at
    # most |k| (MIDDLE + LOW) <= 2^-33: 4 u^2 2^-33 = 2^-137, relative to 1/4; where the result is
    # smaller than that, x cancels k HIGH and the first sum is exact, and the second's share 2^-75.
    # The product -k LOW rounds, and LOW is cut: |k| (u LOW + 2^-140) <= |k| 2^-138.
    text_stands("core_dd_sub_log2", core)
    add = number(bounds["dd_add_d"])
    parts = model.Model(core).constants("dd_elementary.h")
    if U * number(parts["CORE_LOG2_LOW"]) + number(bounds["dd_log2"]) > Fraction(1, 2**138):
        return Fraction(1)
    return together(add, add, add) + 4 * add * Fraction(1, 2**33)


def dd_expm1_reduced(bounds, core=None):
    """expm1_reduced for |r| <= 0.36,"""
    text_stands("core_dd_expm1_reduced", core)
    divide, multiply, add = (number(bounds["dd_" + n]) for n in ("div_d", "mul", "add_d"))
    r, worst = Fraction(36, 100), Fraction(0)
    for sign in 1, -1:
        error, largest = Fraction(0), Fraction(1)  # of B_(j+1), and B_(j+1) itself
        for j in range(24, 0, -1):
            term = r / (j + 1) * largest
            # The term's weight in B_j = 1 + term, with the term's sign that of r.
            weight = term / (1 + term) if sign > 0 else term / (1 - term)
            error = together(weight * together(divide, multiply, error), add)
            largest = 1 + term if sign > 0 else Fraction(1)
        # What the series leaves out, beside r B_1 >= 0.83 r.
        rest = 2 * r**25 / factorial(26)
        worst = max(worst, together(error, multiply) + rest)
    return worst


def dd_exp(bounds, core=None):
    """exp, for an exact argument above -660,"""
    text_stands("core_dd_exp", core)
    r = Fraction(34665, 100000)
    reduction = number(bounds["dd_sub_log2"]) * r + Fraction(1, 2**128)
    share = max(exp_bounds(-r)[1] ** -1, 1) - 1  # |e^r - 1| / e^r <= e^|r| - 1
    share = max(share, exp_bounds(r)[1] - 1)
    e = together(reduction + reduction**2, number(bounds["dd_expm1_reduced"]) * share)
    return together(e, number(bounds["dd_add_d"]))


def dd_expm1(bounds, core=None):
    """expm1, for an exact argument,"""
    text_stands("core_dd_expm1", core)
    reduced, reduction = number(bounds["dd_expm1_reduced"]), number(bounds["dd_sub_log2"])
    worst, pieces, r = reduced, 64, Fraction(34665, 100000)
    for i in range(pieces):
        ends = [-r + 2 * r * n / pieces for n in (i, i + 1)]
        low, high = exp_bounds(ends[0])[0], exp_bounds(ends[1])[1]
        shift = reduction * max(map(abs, ends)) + Fraction(1, 2**128)
        t = together(shift + shift**2, 0) * high + reduced * (1 + 2 * shift) * max(abs(low - 1), abs(high - 1))
        # 2^k t + (2^k - 1) beside 2^k e^r - 1, divided by 2^k: for k = 1, 2, 3, then all that follow, with
        # 2^-k = 0 and the distance from e^r at least what it is for k = 3.
        for inverse in (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)):
            worst = max(worst, t / (low - inverse))
        # For k = -1 and below, 2^k at most 1/2.
        worst = max(worst, t / 2 / (1 - high / 2))
    return together(worst, number(bounds["dd_add"]))


def odd_reciprocals(core):
    """The largest error of core_dd_odd_reciprocal, from its table."""
    pair = r"\{(-?0x[0-9a-f.]+p-?\d+), (-?0x[0-9a-f.]+p-?\d+)\},"
    text = model.body("dd_elementary.h", "core_dd_odd_reciprocal", core)
    table = re.findall(pair, text)
    if re.sub(pair, "", text).split() != ("static const double part[22][2] = { }; "
                                          "return core_dd_make(part[j - 1][0], part[j - 1][1]);").split():
        raise model.Unmodelled("core_dd_odd_reciprocal is not what its bound was derived for")
    return max(abs(sum(Fraction(float.fromhex(part)) for part in parts) * n - 1)
               for n, parts in zip(range(3, 46, 2), table, strict=True))


def dd_log_ratio(bounds, core=None):
    """log_ratio, for an exact argument |s| <= 0.1716,"""
    text_stands("core_dd_log_ratio", core)
    multiply, add, add_d = (number(bounds["dd_" + n]) for n in ("mul", "add", "add_d"))
    constant = odd_reciprocals(core)
    z = Fraction(1716, 10000) ** 2
    error, a = Fraction(0), Fraction(0)
    for j in range(22, -1, -1):
        c = Fraction(1, 2 * j + 1)
        weight = z * a / (z * a + c)  # largest for the largest z
        own = constant if j else Fraction(0)
        error = together(max(weight * together(multiply, multiply, error) + (1 - weight) * own, own), add if j else add_d)
        a = z * a + c
    return together(error, multiply) + z**23 / (47 * (1 - z))


def dd_log(bounds, core=None):
    """log,"""
    text_stands("core_dd_log", core)
    # The relative error of s counts s / ((1 - s^2) artanh s) <= 1 / (1 - s^2) times.
    s = number(bounds["dd_div"]) / (1 - Fraction(1716, 10000) ** 2) * (1 + U)
    ratio = together(s, number(bounds["dd_log_ratio"]))
    # k is not 0: |log(1 + f)| <= 0.34658, the result at least 0.34657.
    whole = ratio * Fraction(34658, 34657) + Fraction(1024, 2**138) * 3
    return max(ratio, together(whole, number(bounds["dd_sub_log2"])))


def dd_log1p(bounds, core=None):
    """log1p,"""
    text_stands("core_dd_log1p", core)
    # l / h: rounded, u^2; the next term of the series, u^2 / 2; beside at least 0.34.
    return together(number(bounds["dd_log"]) * (1 + 3 * U) + Fraction(3, 2) * U**2 * (1 + U) / Fraction(34, 100),
                    number(bounds["dd_add_d"]))


def dd_power(bounds, core=None):
    """x^y beside 1 + |y log x|, for |y log x| <= 660,"""
    text_stands("core_dd_power", core)
    w = together(number(bounds["dd_log"]), number(bounds["dd_mul_d"]))
    # e^w's argument is off by w |y log x| =: d, e^d - 1 <= d + d^2; what does not grow with y log x is exp's own.
    largest = 660 * w
    return max(number(bounds["dd_exp"]), w) * (1 + largest) * (1 + number(bounds["dd_exp"]))


def half_pi():
    """pi / 2 and by how much it is off, by Machin's formula."""
    def arctan(n):
        return sum(Fraction((-1) ** i, (2 * i + 1) * n ** (2 * i + 1)) for i in range(60))
    return 8 * arctan(5) - 2 * arctan(239), Fraction(1, 2**270)


def dd_half_pi(bounds, core=None):
    """|pi/2 - its four parts|, the first a multiple of 2^-52, the second of 2^-106,"""
    parts = model.Model(core).constants("dd_sine.h")
    part = [(-1 if parts[n].startswith("-") else 1) * number(parts[n].lstrip("-"))
            for n in ("CORE_HALF_PI_%d" % i for i in (1, 2, 3, 4))]
    if (part[0] * 2**52).denominator != 1 or (part[1] * 2**106).denominator != 1:
        raise model.Unmodelled("the first parts of pi/2 have too many bits")
    value, cut = half_pi()
    return abs(value - sum(part)) + cut


def nearest_half_pi(bounds, core=None):
    """1 / the distance of a binary64 in 2^-1 .. 2^31 from a multiple of pi/2"""
    # x = m 2^j, 2^52 <= m < 2^53. Where k / m is no convergent of a = 2^j / (pi/2), |m a - k| >= 1 / (2 m) (Legendre);
    # else m is a multiple of the convergent's denominator.
    value, cut = half_pi()
    least = Fraction(1, 2**54)
    for j in range(-53, -21):
        a = rest = Fraction(2) ** j / value
        p, q, before = 1, 0, (0, 1)
        while True:
            whole = rest.numerator // rest.denominator
            p, q, before = whole * p + before[0], whole * q + before[1], (p, q)
            if q >= 2**53:
                break
            times = max(1, -(-(2**52) // q))
            least = min(least, times * abs(q * a - p) - Fraction(2**53, 2**200))
            rest = 1 / (rest - whole)
    return 1 / (least * value)


def dd_reduce_half_pi(bounds, core=None):
    """x - k pi/2, |x| <= 2^31,"""
    text_stands("core_dd_reduce_half_pi", core)
    k = Fraction(2**31) * 2 / 3
    tail = k * Fraction(2, 2**110)  # k (P_3 + P_4)
    off = number(bounds["dd_mul_d"]) * tail + k * number(bounds["dd_half_pi"])
    return together(number(bounds["dd_add"]), off * number(bounds["nearest_half_pi"]))


def dd_alternating(bounds, core=None, n=2):
    """sin r / r, beside the error of r,"""
    text_stands("core_dd_alternating", core)
    divide, multiply, add = (number(bounds["dd_" + o]) for o in ("div_d", "mul", "add_d"))
    z = Fraction(7855, 10000) ** 2
    error, b = Fraction(0), Fraction(1)
    for j in range(14, 0, -1):
        # B_j falls as z grows, so that the weight of its other term, (1 - B_j) / B_j, is largest for the largest z.
        b = 1 - z / ((n + 2 * j - 2) * (n + 2 * j - 1)) * b
        error = together((1 - b) / b * together(multiply, multiply, divide, error), add)
    return error + 2 * z**15 / factorial(29 + (n == 2)) / (1 - z / (n * (n + 1)))


def dd_alternating_cosine(bounds, core=None):
    """cos r, beside the error of r,"""
    return dd_alternating(bounds, core, 1)


def dd_sine(bounds, core=None):
    """sine and cosine, |x| <= 2^31,"""
    text_stands("core_dd_sine", core)
    r = number(bounds["dd_reduce_half_pi"])
    # |r cot r| <= 1; |r tan r| <= 0.7855 tan 0.7855 < 0.787.
    sine = together(r + r**2, number(bounds["dd_alternating"]), number(bounds["dd_mul"]))
    cosine = together(Fraction(787, 1000) * r + r**2, number(bounds["dd_alternating_cosine"]))
    return max(sine, cosine)


def quotient(bounds, e):
    """a / (a + constant) where a's error counts at most once."""
    return together(e, number(bounds["dd_add_d"]), 2 * number(bounds["dd_add_d"]) ** 2, number(bounds["dd_div"]), e**2)


def dd_tanh(bounds, core=None):
    """tanh, for an exact argument,"""
    text_stands("core_dd_tanh", core)
    return quotient(bounds, number(bounds["dd_expm1"]))


def dd_sigmoid(bounds, core=None):
    """sigmoid,"""
    text_stands("core_dd_sigmoid", core)
    return quotient(bounds, number(bounds["dd_exp"]))


def dd_pseudo_huber(bounds, core=None):
    """m / sqrt(m^2 + delta^2),"""
    text_stands("core_pseudo_huber_quotient", core)
    return together(number(bounds["dd_add_d"]) / 2 * (1 + U), number(bounds["dd_sqrt"]), number(bounds["dd_div"]), U**3)


BOUNDS = {f.__name__: f for f in (dd_log2, dd_sub_log2, dd_expm1_reduced, dd_exp, dd_expm1, dd_log_ratio,
                                 dd_log, dd_log1p, dd_tanh, dd_sigmoid, dd_pseudo_huber, dd_power, dd_half_pi,
                                 nearest_half_pi, dd_reduce_half_pi, dd_alternating, dd_alternating_cosine, dd_sine)}
