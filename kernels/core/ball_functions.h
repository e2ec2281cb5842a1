/* The rest of the functions, once for each of ball64.h and ball_dd.h: include with BALL_TYPE the
   type, BALL_TIED the names' stem, as in core_##stem##_mul. There is no guard.

   A function that is composed of others is first composed at the argument's value, with error 0:
   the operations' bounds then are that of the composition's roundings. What the argument's error t
   adds is bounded by the function's derivative, and stated beside it. */
#define BALL_PASTE(stem, name) core_##stem##_##name
#define BALL_NAME(stem, name) BALL_PASTE(stem, name)
#define BALL(name) BALL_NAME(BALL_TIED, name)

/* The same value, taken to be exact. */
CORE_FUNCTION BALL_TYPE BALL(centre)(BALL_TYPE a) {
  return BALL(make)(a.value, 0.0);
}

/* |sgn| <= 1: where the sign is not certain it is off by 2 at most. */
CORE_FUNCTION BALL_TYPE BALL(sgn)(BALL_TYPE a) {
  int sign = BALL(sign)(a);
  int certain = BALL(least)(a) > a.error || (sign == 0 && a.error == 0.0);
  return BALL(make)(BALL(point)((double)sign).value, certain ? 0.0 : 2.0);
}

/* max moves by at most what its arguments move by. */
CORE_FUNCTION BALL_TYPE BALL(max)(BALL_TYPE a, BALL_TYPE b) {
  BALL_TYPE larger = BALL(sign)(BALL(sub)(a, b)) < 0 ? b : a;
  return BALL(make)(larger.value, core_ball_up(a.error + b.error));
}

/* sigmoid = 1 / (1 + e^-a); log sigmoid has a derivative in (0, 1), so that sigmoid grows by e^t at
   most. */
CORE_FUNCTION BALL_TYPE BALL(sigmoid)(BALL_TYPE a) {
  BALL_TYPE one = BALL(point)(1.0);
  BALL_TYPE power = BALL(exp)(BALL(neg)(BALL(abs)(BALL(centre)(a))));
  BALL_TYPE r = BALL(div)(BALL(sign)(a) < 0 ? power : one, BALL(add)(power, one));
  return BALL(widen)(r, BALL(magnitude)(r) * core_ball_growth(a.error));
}

/* tanh = s / (s + 2) with s = e^2|a| - 1, and 1 beyond 300, within 2^-800. 0 < tanh' <= 1. */
CORE_FUNCTION BALL_TYPE BALL(tanh)(BALL_TYPE a) {
  BALL_TYPE twice = BALL(scale)(BALL(abs)(BALL(centre)(a)), 2.0);
  if (BALL(least)(twice) > 600.0) twice = BALL(make)(BALL(point)(600.0).value, twice.error);
  BALL_TYPE s = BALL(expm1)(twice);
  BALL_TYPE r = BALL(div)(s, BALL(add)(s, BALL(point)(2.0)));
  if (BALL(sign)(a) < 0) r = BALL(neg)(r);
  return BALL(widen)(r, a.error + 0x1p-800);
}

/* softplus = max(a, 0) + log1p(e^-|a|); its derivative is in (0, 1), and so is its logarithm's. */
CORE_FUNCTION BALL_TYPE BALL(softplus)(BALL_TYPE a) {
  BALL_TYPE r = BALL(log1p)(BALL(exp)(BALL(neg)(BALL(abs)(BALL(centre)(a)))));
  if (BALL(sign)(a) > 0) r = BALL(add)(r, BALL(centre)(a));
  double grown = BALL(magnitude)(r) * core_ball_growth(a.error);
  return BALL(widen)(r, grown < a.error ? grown : a.error);
}

/* cosh = (e^|a| + e^-|a|) / 2, which grows by e^t at most. */
CORE_FUNCTION BALL_TYPE BALL(cosh)(BALL_TYPE a) {
  BALL_TYPE power = BALL(exp)(BALL(abs)(BALL(centre)(a)));
  BALL_TYPE r = BALL(scale)(BALL(add)(power, BALL(div)(BALL(point)(1.0), power)), 0.5);
  return BALL(widen)(r, BALL(magnitude)(r) * core_ball_growth(a.error));
}

/* sinh = (s + s / (s + 1)) / 2 with s = e^|a| - 1. sinh' = cosh <= (1 + |sinh a|) e^t within t, and
   t e^t <= t + 2 t^2 for t <= 1. */
CORE_FUNCTION BALL_TYPE BALL(sinh)(BALL_TYPE a) {
  BALL_TYPE s = BALL(expm1)(BALL(abs)(BALL(centre)(a)));
  BALL_TYPE r = BALL(add)(s, BALL(div)(s, BALL(add)(s, BALL(point)(1.0))));
  r = BALL(scale)(BALL(sign)(a) < 0 ? BALL(neg)(r) : r, 0.5);
  double t = a.error <= 1.0 ? CORE_FMA(2.0 * a.error, a.error, a.error) : CORE_INFINITY;
  return BALL(widen)(r, (1.0 + BALL(magnitude)(r)) * t);
}

/* log cosh = log1p(2 sinh^2(a / 2)), and where that would lose digits or overflow |a| - log 2 +
   log1p(e^-2|a|). |tanh| <= min(1, |a|). */
CORE_FUNCTION BALL_TYPE BALL(logcosh)(BALL_TYPE a) {
  BALL_TYPE x = BALL(abs)(BALL(centre)(a)), r;
  if (BALL(least)(x) < 1.0) {
    BALL_TYPE s = BALL(sinh)(BALL(scale)(x, 0.5));
    r = BALL(log1p)(BALL(scale)(BALL(mul)(s, s), 2.0));
  } else {
    r = BALL(log1p)(BALL(exp)(BALL(scale)(BALL(neg)(x), 2.0)));
    r = BALL(add)(BALL(sub)(x, BALL(log2)()), r);
  }
  double slope = BALL(magnitude)(a);
  return BALL(widen)(r, slope < 1.0 ? slope * a.error : a.error);
}

/* t log t, and 0 at 0. Within t <= a / 2 of a its derivative |log + 1| is at most |log a| + 1.7. */
CORE_FUNCTION BALL_TYPE BALL(xlogx)(BALL_TYPE a) {
  if (BALL(sign)(a) == 0 && a.error == 0.0) return a;
  BALL_TYPE x = BALL(centre)(a), log_x = BALL(log)(x);
  double slope = BALL(magnitude)(log_x) + 1.7;
  BALL_TYPE r = BALL(mul)(x, log_x);
  return BALL(widen)(r, 2.0 * a.error <= BALL(least)(a) ? slope * a.error : CORE_INFINITY);
}

/* a^n, n >= 0, by squaring. */
CORE_FUNCTION BALL_TYPE BALL(power_natural)(BALL_TYPE a, int n) {
  BALL_TYPE r = BALL(point)(1.0);
  for (; n > 1; n >>= 1) {
    if (n & 1) r = BALL(mul)(r, a);
    a = BALL(mul)(a, a);
  }
  return n ? BALL(mul)(r, a) : r;
}

CORE_FUNCTION BALL_TYPE BALL(power_integer)(BALL_TYPE a, int n) {
  if (n >= 0) return BALL(power_natural)(a, n);
  return BALL(div)(BALL(point)(1.0), BALL(power_natural)(a, -n));
}

/* a^b = e^(b log a) for A > 0; 0^B is 0 for B > 0. */
CORE_FUNCTION BALL_TYPE BALL(power)(BALL_TYPE a, BALL_TYPE b) {
  if (BALL(sign)(a) == 0 && a.error == 0.0 && BALL(sign)(b) > 0 && BALL(least)(b) > b.error)
    return BALL(point)(0.0);
  return BALL(exp)(BALL(mul)(b, BALL(log)(a)));
}

/* a^b - 1, as e^(b log a) - 1: keeps its digits where a^b is near 1. */
CORE_FUNCTION BALL_TYPE BALL(power_minus_one)(BALL_TYPE a, BALL_TYPE b) {
  if (BALL(sign)(a) == 0 && a.error == 0.0 && BALL(sign)(b) > 0 && BALL(least)(b) > b.error)
    return BALL(point)(-1.0);
  return BALL(expm1)(BALL(mul)(b, BALL(log)(a)));
}

#undef BALL_PASTE
#undef BALL_NAME
#undef BALL
