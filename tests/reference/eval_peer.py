"""`phibal eval` against mpmath: the potentials from their definitions at 300 digits.

usage: eval_peer.py PHIBAL

Every function of every potential is compared with its formula, evaluated here without regard to
cancellation. At interior points derivatives are taken from the value alone by mpmath.diff too, and
a conjugate is confirmed by what makes it the supremum: x = grad phi*(y) is where the concave
<x, y> - phi(x) is stationary. An enclosure must hold the truth and be as narrow as it claims.
"""
import json
import subprocess
import sys
from fractions import Fraction

sys.dont_write_bytecode = True
try:
    from mpmath import mp, mpf
except ImportError:
    print("skipped: no mpmath")
    sys.exit(77)
from binary_formats import FORMATS, corners, exact, rational, rounded
from formula_rows import CATALOGUE, ROWS
from potential_formulas import FAMILIES, INF, Separable

DIFF_DPS = 120  # of derivatives by differences; mpmath raises its working precision itself
DIGITS = 40
MARGIN = mpf(10) ** -80  # relative; truths are good to 100 digits or more
counts = {"calls": 0, "numbers": 0, "refusals": 0, "derivatives": 0, "suprema": 0, "roundings": 0}
failures = []


def real(text):
    if text == "inf":
        return INF
    q = exact(text)
    return mpf(q.numerator) / q.denominator


def expect(condition, what):
    if not condition:
        failures.append(what)


def run(name, parameter, function, at, *more):
    """Exit status, object printed (or None), what standard error says."""
    counts["calls"] += 1
    command = [PHIBAL, "eval", "--json", "--potential", name, "--fn", function,
               "--at=" + ",".join(at), *more]
    if parameter[1]:
        command += ["--param", f"{parameter[0]}={parameter[1]}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def expect_contained(lo, hi, truths, what, digits=DIGITS, decided=True, margin=MARGIN):
    expect(len(lo) == len(hi) == len(truths), f"{what}: {len(lo)} numbers for {len(truths)}")
    for i, (low, high, t) in enumerate(zip(map(mpf, lo), map(mpf, hi), truths)):
        counts["numbers"] += 1
        slack = 0 if mp.isinf(t) else abs(t) * margin
        expect(low - slack <= t <= high + slack,
               f"{what}: [{lo[i]}, {hi[i]}] lacks {mp.nstr(t, 45)} at {i + 1}")
        if decided:
            narrow = low == high if mp.isinf(t) else high - low <= abs(t) * mpf(10) ** (1 - digits)
            expect(narrow, f"{what}: [{lo[i]}, {hi[i]}] is not {digits} digits")


def expect_refused(status, output, message, truths, at, what):
    counts["refusals"] += 1
    expect(status == 2 and output is None, f"{what}: exit {status} where there is no derivative")
    part = "domain"
    if truths is not None:
        i = truths.index(None)
        part = f"coordinate {i + 1} of {len(at)} ({shown(at[i])}"
    expect(part in message, f"{what}: the message does not say '{part}': {message}")


def shown(text):
    """How a message quotes a coordinate: itself, or an interval where binary cannot hold it."""
    q = exact(text)
    return f"{float(q):g})" if q.denominator & (q.denominator - 1) == 0 else "in ["


def truths_of(phi, function, at):
    """A list, with None for a missing derivative by one coordinate; None where it is the vector."""
    truths = getattr(phi, function.replace("-", "_"))(list(map(real, at)))
    return [truths] if isinstance(truths, mpf) else truths


def check(name, parameter, phi, function, at, digits=DIGITS, undecided=False):
    """One call against the formula; `undecided` where intervals cannot see an equality."""
    what = f"{name} {parameter[1]} {function} at {','.join(at)}"
    truths = truths_of(phi, function, at)
    status, output, message = run(name, parameter, function, at, "--digits", str(digits))
    if undecided and status == 1:
        if output:
            expect_contained(output["lo"], output["hi"], truths, what, decided=False)
    elif truths is None or None in truths:
        expect_refused(status, output, message, truths, at, what)
    else:
        expect(status == 0 and output and output["decided"], f"{what}: exit {status}: {message}")
        if output:
            expect_contained(output["lo"], output["hi"], truths, what, digits)


def partial(phi, x, *indices):
    """The derivative of phi's value by differences."""
    orders = tuple(sum(i == j for i in indices) for j in range(len(x)))
    if len(x) == 1:
        return mp.diff(lambda t: phi.value([t]), x[0], orders[0])
    return mp.diff(lambda *t: phi.value(t), tuple(x), orders)


def differences(phi, x):
    """Gradient and Hessian (its diagonal if separable) from the value alone."""
    blocks = [[t] for t in x] if isinstance(phi, Separable) else [x]
    with mp.workdps(DIFF_DPS):
        return ([partial(phi, b, i) for b in blocks for i in range(len(b))],
                [partial(phi, b, i, j) for b in blocks
                 for i in range(len(b)) for j in range(len(b))])


def check_derivatives(name, parameter, phi, at):
    first, second = differences(phi, list(map(real, at)))
    for function, truths in (("gradient", first), ("hessian", second)):
        _, output, message = run(name, parameter, function, at, "--digits", str(DIGITS))
        what = f"{name} {parameter[1]} {function} by differences at {','.join(at)}"
        expect(output, f"{what}: {message}")
        if output:
            counts["derivatives"] += len(truths)
            expect_contained(output["lo"], output["hi"], truths, what, margin=mpf(10) ** -60)


def check_supremum(name, parameter, phi, at):
    """phi*(y) = <x, y> - phi(x) where grad phi(x) = y. An error d of x costs d' H d / 2."""
    y = list(map(real, at))
    what = f"{name} {parameter[1]} supremum at {','.join(at)}"
    _, maximiser, _ = run(name, parameter, "conjugate-gradient", at, "--digits", "60")
    _, conjugate, _ = run(name, parameter, "conjugate", at, "--digits", str(DIGITS))
    if not maximiser or not conjugate:
        return expect(False, f"{what}: no answer")
    counts["suprema"] += 1
    x = list(map(mpf, maximiser["lo"]))
    if min(map(abs, x)) < mpf("1e-20") or max(map(abs, x)) > 10 ** 6:
        return expect(False, f"{what}: not an interior point: {maximiser['lo']}")
    error = max(abs(t) for t in x) * mpf(10) ** -58
    first, second = differences(phi, x)
    steep = max(map(abs, second)) * len(x)  # at least the norm of the Hessian
    for slope, target in zip(first, y):
        expect(abs(slope - target) <= steep * error + mpf(10) ** -60, f"{what}: not stationary")
    truth = mp.fsum(s * t for s, t in zip(x, y)) - phi.value(x)
    margin = steep * error ** 2 / abs(truth) + MARGIN
    return expect_contained(conjugate["lo"], conjugate["hi"], [truth], what, margin=margin)


def objective(phi, m, loads, eta, start, q):
    """(M4) <P - m, q> - D_phi*(q, q_t)/eta, by its definition."""
    back = phi.conjugate_gradient(start)
    divergence = phi.conjugate(q) - phi.conjugate(start) - mp.fsum(
        b * (s - t) for b, s, t in zip(back, q, start))
    return mp.fsum((p - s) * t for p, s, t in zip(loads, m, q)) - divergence / eta


def check_mirror_step(name, parameter, phi, at, loads, eta):
    what = f"{name} {parameter[1]} mirror-step from {at} to {loads} by {eta}"
    m, p, h = list(map(real, at)), list(map(real, loads)), real(eta)
    after = [(1 - h) * s + h * t for s, t in zip(m, p)]
    start, price = phi.gradient(m), phi.gradient(after)
    status, o, message = run(name, parameter, "mirror-step", at, "--loads=" + ",".join(loads),
                             "--eta", eta, "--digits", str(DIGITS))
    if None in start + price:
        return expect_refused(status, o, message, start if None in start else price,
                              at if None in start else ["0"] * len(at), what)
    if status != 0:
        return expect(False, f"{what}: exit {status}: {message}")
    for key, truths in (("next_average", after), ("next_argmax", after),
                        ("price_average", price), ("price_argmax", price)):
        expect_contained(o[key]["lo"], o[key]["hi"], truths, f"{what}: {key}")
    expect_contained(o["lo"], o["hi"], price, what)
    for key in ("next_distance", "price_distance"):
        expect(mpf(o[key]["lo"]) == 0 and mpf(o[key]["hi"]) < mpf(10) ** (2 - DIGITS) *
               max(map(abs, after + price)), f"{what}: {key} {o[key]}")
    q = list(map(mpf, o["price_argmax"]["lo"]))
    top = objective(phi, m, p, h, start, q)
    for e, t in enumerate(q):
        for step in (mpf(10) ** -12, -mpf(10) ** -12):
            moved = q[:e] + [t + step] + q[e + 1:]
            expect(objective(phi, m, p, h, start, moved) < top, f"{what}: no argmax in {e + 1}")
    return None


def check_rounding(name, parameter, phi, function, at):
    # The corners are exact; nothing else here is near a tie without being one.
    truths = list(map(exact, at) if name == "euclid" else
                  map(rational, truths_of(phi, function, at)))
    for form, (precision, largest) in FORMATS.items():
        for direction in ("nearest", "down", "up", "zero"):
            status, o, message = run(name, parameter, function, at, "--round", form,
                                     "--direction", direction)
            what = f"{name} {parameter[1]} {function} {form} {direction} at {','.join(at)}"
            expect(status == 0 and o and len(o["rounded"]) == len(truths), f"{what}: {message}")
            for text, q in zip(o["rounded"] if o else [], truths):
                counts["roundings"] += 1
                want = rounded(q, precision, largest, direction)
                good = abs(float.fromhex(text)) == want and text.startswith("-") == (q < 0)
                expect(good, f"{what}: {text}, not {'-' if q < 0 else ''}{want.hex()}")


REALS = ["1/3", "0", "-1/3", "0.7", "1", "-2.5", "1e-9", "-1e-30", "40", "-1000", "0x1.8p-3"]
HALF_LINE = ["1/3", "0", "0.7", "1", "2.5", "1e-9", "1e-30", "40", "1000", "0x1.8p-3"]
BALL = ["0", "1/3", "-0.99", "0.999999999", "1e-9", "-1e-30", "0.5", "1", "-1", "1.5", "-2"]
UNIT = ["1/3", "0", "1", "0.5", "1e-30", "0.999999999", "-0.25", "1.5"]
# Parameters beside the default, where there is one.
MORE = {"lp": ("1.5", "2", "100", "1.01", "1"), "soft-l1": ("1e-6", "1e6"),
        "tsallis": ("0.999", "1.001", "0.5", "2", "3", "1/3", "1.5"), "pseudo-huber": ("1e-6", "1e6"),
        "log-cosh": ("1e-6", "1e6", "2")}
# name: parameters ("" for the default, which is the next entry), points, dual points
SEPARABLE = {
    name: ((row.parameter or None, "", row.fallback, *MORE.get(name, ())),
           HALF_LINE + ["-0.5"] if name in ("negentropy", "tsallis") else REALS,
           {"BALL": BALL, "UNIT": UNIT}.get(ROWS[name].dual if name in ROWS else None, REALS))
    for name, row in CATALOGUE.items() if row.separable == "1"}


def parameters(row):
    """(name, text, number) for each; the default has no text."""
    return [(row[0], text, real(text or row[2])) for text in row[1:] if row[0] or not text]


def check_points(name, parameter, phi, function, points, undecided=()):
    """Each refused point between good ones, each sum alone and together, maps in one call."""
    is_sum = function in ("value", "conjugate")
    good = [t for t in points if t not in undecided and
            truths_of(phi, function, [t])[0] not in (None, INF if is_sum else None)]
    check(name, parameter, phi, function, good)
    for i, t in enumerate(points):
        if t in undecided:
            check(name, parameter, phi, function, [t], undecided=True)
        elif t not in good:
            at = i % 3
            check(name, parameter, phi, function, good[:at] + [t] + good[at:at + 2])
        elif is_sum:
            check(name, parameter, phi, function, [t])
    check(name, parameter, phi, function, good[:2], digits=150)


def dual_ends(name, text):
    """Tsallis' y = 1/(1-a), points around it, and whether binary arithmetic can tell that end."""
    if name != "tsallis":
        return [], []
    a = exact(text)
    end = 1 / (1 - a)
    return [str(end * k / 4) for k in (3, 4, 5, 8)], ([] if a.denominator in (1, 2) else [str(end)])


def check_separable(name, row, points, dual):
    for parameter in parameters(row):
        phi = FAMILIES[name](parameter[2])
        more, undecided = dual_ends(name, parameter[1] or row[2])
        steep = (name, parameter[1]) == ("log-cosh", "1e6")
        for function in ("value", "gradient"):
            check_points(name, parameter, phi, function, points)
        # 1/cosh(1e9)^2 is below the smallest number of MPFR.
        check_points(name, parameter, phi, "hessian", points, ["-1000"] if steep else [])
        for function in ("conjugate", "conjugate-gradient"):
            check_points(name, parameter, phi, function, dual + more, undecided)
        if (name, parameter[1]) != ("lp", "1"):
            check_inside(name, parameter, phi, Fraction(1, 10 ** 6 if steep else 1),
                         ["-5/4"] if "-1000" in points else [])


def check_inside(name, parameter, phi, unit, more=()):
    def scaled(*points):
        return [str(exact(t) * unit) for t in points]
    inside = scaled("1/3", "0.7", "5/2", *more)
    check_derivatives(name, parameter, phi, inside)
    check_supremum(name, parameter, phi,
                   [mp.nstr(t, 60) for t in phi.gradient(list(map(real, inside)))])
    start, loads = scaled("0.2", "0.3", "0.5"), scaled("0.6", "0", "2/5")
    for eta in ("0.3", "1e-3", "1/2"):
        check_mirror_step(name, parameter, phi, start, loads, eta)
    check_mirror_step(name, parameter, phi, start, scaled("0.6", "0.1", "3/10"), "1")
    if None in phi.gradient([mpf(0), mpf(1)]):
        check_mirror_step(name, parameter, phi, scaled("0.25", "0.75"), ["1", "0"], "1")
        check_mirror_step(name, parameter, phi, ["0", "1"], scaled("1", "1"), "1/2")


def check_renyi():
    for parameter in parameters(("alpha", "", "0.95", "0.999", "0.5", "1/3", "0.01")):
        phi = FAMILIES["renyi"](parameter[2])
        for at in (["1/3", "0.7", "5/2"], ["0.2", "1e-30"], ["0.25"] * 4, ["7"], ["0", "1"],
                   ["3", "0", "1000"], ["0", "0"], ["1", "0.5", "-0.5"], ["1e9", "1e-9", "2"]):
            for function in ("value", "gradient", "hessian"):
                check("renyi", parameter, phi, function, at)
        check("renyi", parameter, phi, "value", ["1/9", "4/9"], undecided=parameter[1] == "0.5")
        for at in (["-1/3", "-0.7", "-5/2"], ["-1e-9", "-1e3"], ["-2"], ["-1", "0"],
                   ["0.5", "-1", "-1"], ["-3"] * 4, ["0", "0"]):
            check("renyi", parameter, phi, "conjugate", at)
            check("renyi", parameter, phi, "conjugate-gradient", at)
        check_inside("renyi", parameter, phi, Fraction(1))
    for alpha in ("1", "1.001", "2", "0"):
        status, output, message = run("renyi", ("alpha", alpha), "value", ["1", "2"])
        expect(status == 2 and not output and f"alpha={alpha}" in message, f"renyi {alpha}")


def check_lp_max():
    parameter = ("p", "inf", INF)
    phi = FAMILIES["lp"](INF)
    for at in (["0.25", "-0.75", "0.75"], ["0", "0", "0"], ["0.3", "-0.7"], ["-5"], ["1", "2", "4"],
               ["0.5", "0.5", "-0.5", "0.1"]):
        for function in ("value", "gradient", "hessian"):
            check("lp", parameter, phi, function, at)
    check("lp", parameter, phi, "gradient", ["0.1", "0.7", "0.7"], undecided=True)
    for at in (["0.25", "-0.75"], ["0.25", "-0.5"], ["0.3", "-0.8"], ["0"], ["1"], ["0.6", "0.6"]):
        check("lp", parameter, phi, "conjugate", at)
        check("lp", parameter, phi, "conjugate-gradient", at)
    check("lp", parameter, phi, "conjugate", ["0.3", "0.7"], undecided=True)


def check_roundings():
    for name, text, function, at in (
            ("euclid", "", "gradient", list(corners())),
            ("softplus", "", "gradient", ["0", "-16.6", "1/3", "20", "-80", "-110"]),
            ("negentropy", "", "gradient", ["1/3", "1e-30", "1", "0.36787944117144233"]),
            ("tsallis", "1.001", "hessian", ["1/3", "1e-9", "70000", "1e39"]),
            ("log-cosh", "2", "value", ["0.1", "1/3"]),
            ("pseudo-huber", "4", "value", ["3"]),
            ("renyi", "0.5", "hessian", ["0.2", "0.3", "1e-9"]),
            ("lp", "1.5", "conjugate-gradient", ["-1/3", "1e-20", "-300"])):
        key = {"tsallis": "alpha", "renyi": "alpha", "log-cosh": "beta", "lp": "p",
               "pseudo-huber": "delta"}.get(name)
        check_rounding(name, (key, text), FAMILIES[name](real(text or "0")), function, at)


def main():
    for name, (row, points, dual) in SEPARABLE.items():
        check_separable(name, row, points, dual)
    check_renyi()
    check_lp_max()
    check_roundings()
    print(", ".join(f"{n} {what}" for what, n in counts.items()) + f", {len(failures)} failures")
    print("\n".join(failures[:40]))
    return 1 if failures else 0


if __name__ == "__main__":
    PHIBAL = sys.argv[1]
    sys.exit(main())
