"""Numbers as `phibal eval` reads and rounds them, by integers, and those that are hard to round."""
from fractions import Fraction


def exact(text):
    return Fraction(float.fromhex(text)) if "0x" in text else Fraction(text)


# Bits of the significand, and the exponent of the largest numbers.
FORMATS = {"binary64": (53, 1023), "binary32": (24, 127), "bfloat16": (8, 127),
           "binary16": (11, 15)}


def rounded(q, precision, largest_exponent, direction):
    """The number of the format that the rational q rounds to, in integers; inf past the largest."""
    magnitude = abs(q)
    exponent = 1 - largest_exponent  # of the smallest normal number
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    quantum = Fraction(2) ** (exponent - precision + 1)
    steps, rest = divmod(magnitude, quantum)
    away = {"zero": False, "up": q > 0, "down": q < 0,
            "nearest": 2 * rest > quantum or (2 * rest == quantum and steps % 2 == 1)}[direction]
    result = (steps + (rest > 0 and away)) * quantum
    largest = (2 - Fraction(2) ** (1 - precision)) * 2 ** largest_exponent
    if result > largest:
        return float("inf") if away or direction == "nearest" else float(largest)
    return float(result)


def rational(t):
    sign, mantissa, exponent, _ = t._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


def corners():
    """Ties, the ends of the normal and subnormal numbers and of the finite ones, of each format."""
    for precision, largest in FORMATS.values():
        unit, smallest = Fraction(2) ** -precision, Fraction(2) ** (2 - largest - precision)
        top = Fraction(2) ** (largest + 1)
        for q in (1 + unit, 1 + 3 * unit, 1 + unit + unit ** 3, 1 + 3 * unit - unit ** 3,
                  smallest / 2, smallest * 3 / 2, smallest / 3, smallest * 2 ** (precision - 1)
                  - smallest / 2, top * (1 - unit / 2), top * (1 - unit * 2 / 3), top * 2):
            yield str(q)
            yield str(-q)
