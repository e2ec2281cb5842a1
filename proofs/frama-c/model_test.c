/* Holds the contracts of the model, include/{mpfr,gmp,model_math,model_infinity}.h, against the
   libraries that the product uses.

     model_test HEADER...             checks every clause of every contract in the headers
     model_test --fault HEADER...     calls the library with up and down exchanged, and asks that
                                      every clause that speaks of a direction is found broken

   Arguments are random and special (zeros of both signs, infinities, NaN, integers), of 1 to 200
   bits, with MPFR's own range of exponents and with one so narrow that results overflow and
   underflow. What a result ought to be is computed exactly by GMP's rationals, or enclosed by Arb
   for the elementary functions; MPFR's digits are only read. A clause is exercised when its premise
   is true. One that never is, or is not known here, is a failure. */
#include <stdio.h>
#include <mpfr.h>
#include <arb.h>
#include <ctype.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

enum { ROUNDS = 20000, CLAUSES = 400, NAME = 64, MOST_BITS = 200, NARROW = 60, BALL_LIMIT = 8192 };

/* -1 and 1: the infinities, 0: the real number q, 2: NaN, as in the model. */
typedef struct value {
  int kind;
  mpq_t q;
  mpfr_prec_t precision;
} value;

typedef struct clause {
  char name[2 * NAME];
  long exercised, broken;
  bool directed;
} clause;

static clause clauses[CLAUSES];
static int clause_count;
static const char *function;
static bool fault, narrow;
static gmp_randstate_t randomness;

/* Arguments, the place of the result (x itself now and then), and what they were before and after.
 */
static mpfr_t x, y, free_place;
static mpfr_ptr z;
static value X, Y, Z;
static mpfr_rnd_t rnd;
static long n;
static double d;
static mpq_t exact;
static mpq_t rational;

static unsigned long below(unsigned long limit) {
  return gmp_urandomm_ui(randomness, limit);
}

static clause *find(const char *name) {
  for (int i = 0; i < clause_count; i++)
    if (strcmp(clauses[i].name, name) == 0) return &clauses[i];
  if (clause_count == CLAUSES) abort();
  clause *c = &clauses[clause_count++];
  snprintf(c->name, sizeof c->name, "%s", name);
  return c;
}

static void record(const char *name, bool premise, bool holds, bool directed) {
  char whole[2 * NAME];
  snprintf(whole, sizeof whole, "%s.%s", function, name);
  clause *c = find(whole);
  c->directed = directed;
  if (!premise) return;
  c->exercised++;
  if (!holds) c->broken++;
  if (!holds && !fault && c->broken == 1)
    mpfr_fprintf(stderr, "broken: %s: x = %Re, y = %Re, n = %ld, d = %a, z = %Re, rounding %d\n",
                 whole, x, y, n, d, z, (int)rnd);
}

static void expect(const char *name, bool premise, bool holds) {
  record(name, premise, holds, false);
}

/* Values. */

static void read_value(value *v, mpfr_srcptr a) {
  v->precision = mpfr_get_prec(a);
  v->kind = mpfr_nan_p(a) ? 2 : !mpfr_inf_p(a) ? 0 : mpfr_signbit(a) ? -1 : 1;
  if (v->kind != 0) return;
  mpq_set_ui(v->q, 0, 1);
  if (mpfr_zero_p(a)) return;
  mpfr_exp_t e = mpfr_get_z_2exp(mpq_numref(v->q), a);
  if (e >= 0)
    mpz_mul_2exp(mpq_numref(v->q), mpq_numref(v->q), (mp_bitcnt_t)e);
  else
    mpz_mul_2exp(mpq_denref(v->q), mpq_denref(v->q), (mp_bitcnt_t)-e);
  mpq_canonicalize(v->q);
}

static bool is_number(const value *v) {
  return v->kind <= 1;
}

static bool is_infinite(const value *v) {
  return v->kind == 1 || v->kind == -1;
}

static bool is_real(const value *v, long number) {
  return v->kind == 0 && mpq_cmp_si(v->q, number, 1) == 0;
}

/* The order of the extended reals; never for NaN. */
static int compare(const value *a, const value *b) {
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  return a->kind == 0 ? mpq_cmp(a->q, b->q) : 0;
}

static int sign(const value *v) {
  return v->kind == 0 ? mpq_sgn(v->q) : v->kind;
}

static bool same(const value *a, const value *b) {
  return a->kind == b->kind && a->precision == b->precision &&
         (a->kind != 0 || mpq_equal(a->q, b->q));
}

/* The model's `rounded`: against 0 and the exact number, whose order to the result is given. */
static bool rounded_by(int to_exact, int exact_sign) {
  if (Z.kind < -1 || Z.kind > 1) return false;
  if (rnd == MPFR_RNDD && !(Z.kind <= 0 && (Z.kind != 0 || to_exact <= 0))) return false;
  if (rnd == MPFR_RNDU && !(Z.kind >= 0 && (Z.kind != 0 || to_exact >= 0))) return false;
  if (exact_sign >= 0 && sign(&Z) < 0) return false;
  return exact_sign > 0 || sign(&Z) <= 0;
}

static bool rounded(const mpq_t e) {
  return rounded_by(Z.kind == 0 ? mpq_cmp(Z.q, e) : 0, mpq_sgn(e));
}

static void directed(const char *name, bool premise) {
  record(name, premise, premise && rounded(exact), true);
}

static void directed_number(const char *name, bool premise, const value *v) {
  record(name, premise, premise && (v->kind == 0 ? rounded(v->q) : Z.kind == v->kind), true);
}

/* Numbers known only through balls. */
typedef void (*ball_function)(arb_t r, const arb_t a, const arb_t b, slong precision);

static void ball_of(arb_t r, mpfr_srcptr a) {
  arf_set_mpfr(arb_midref(r), a);
  mag_zero(arb_radref(r));
}

/* The order of the result to the function's value, 2 where no precision tells. */
static int order_to_ball(ball_function f, const arb_t a, const arb_t b, int *exact_sign) {
  arb_t r, result;
  arb_init(r);
  arb_init(result);
  if (Z.kind == 0) ball_of(result, z);
  int order = 2;
  *exact_sign = 2;
  for (slong p = 64 + Z.precision; p <= BALL_LIMIT && (order == 2 || *exact_sign == 2); p *= 4) {
    f(r, a, b, p);
    *exact_sign = arb_is_positive(r) ? 1 : arb_is_negative(r) ? -1 : arb_is_zero(r) ? 0 : 2;
    order = arb_lt(result, r)                         ? -1
            : arb_gt(result, r)                       ? 1
            : arb_is_exact(r) && arb_equal(result, r) ? 0
                                                      : 2;
  }
  arb_clear(r);
  arb_clear(result);
  return order;
}

static arb_t ball_x, ball_y;

static void directed_ball(const char *name, bool premise, ball_function f) {
  int exact_sign = 0, order = premise ? order_to_ball(f, ball_x, ball_y, &exact_sign) : 0;
  bool known = order != 2 && exact_sign != 2;
  record(name, premise && known, premise && known && rounded_by(order, exact_sign), true);
}

/* Arguments. */

static void random_number(mpfr_t a) {
  static const long bits[] = {1, 2, 3, 24, 53, 64, 65, 128, MOST_BITS};
  mpfr_set_prec(a, below(2) ? bits[below(9)] : 1 + (long)below(MOST_BITS));
  unsigned long pick = below(20);
  if (pick == 0) {
    mpfr_set_zero(a, below(2) ? 1 : -1);
  } else if (pick == 1) {
    mpfr_set_inf(a, below(2) ? 1 : -1);
  } else if (pick == 2) {
    below(2) ? mpfr_set_nan(a) : mpfr_set_inf(a, 1);
  } else if (pick < 6) {
    mpfr_set_si(a, (long)below(7) - 3, MPFR_RNDN);
  } else {
    do mpfr_urandomb(a, randomness);
    while (mpfr_zero_p(a));
    long spread = pick < 12 ? 4 : pick < 18 ? 12 : narrow ? NARROW : 2 * NARROW;
    mpfr_set_exp(a, (long)below(2 * (unsigned long)spread + 1) - spread);
    if (below(2)) mpfr_neg(a, a, MPFR_RNDN);
  }
}

static double random_double(void) {
  static const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, 0x1p-30, 3.0};
  if (below(3) == 0) return special[below(8)];
  double m = ldexp((double)below(1ul << 53), -52) - 1.0;
  return ldexp(m, (int)below(2 * NARROW) - NARROW);
}

static void random_arguments(void) {
  static const mpfr_rnd_t roundings[] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDU, MPFR_RNDD, MPFR_RNDA};
  rnd = roundings[below(5)];
  narrow = below(2);
  mpfr_set_emin(narrow ? -NARROW : mpfr_get_emin_min());
  mpfr_set_emax(narrow ? NARROW : mpfr_get_emax_max());
  random_number(x);
  if (below(8) == 0) {
    mpfr_set_prec(y, mpfr_get_prec(x));
    mpfr_set(y, x, MPFR_RNDN);
  } else {
    random_number(y);
  }
  mpfr_set_prec(free_place, 1 + (long)below(below(2) ? 8 : MOST_BITS));
  n = (long)below(below(2) ? 5 : 200) * (below(2) ? 1 : -1);
  d = random_double();
  mpq_set_si(rational, (long)below(2001) - 1000, 1 + below(1000));
  mpq_canonicalize(rational);
  read_value(&X, x);
  read_value(&Y, y);
  if (X.kind != 2) ball_of(ball_x, x);
  if (Y.kind != 2) ball_of(ball_y, y);
}

/* Calls. The arguments are read anew afterwards: only the result may have changed. */

static mpfr_rnd_t used(void) {
  if (!fault || (rnd != MPFR_RNDU && rnd != MPFR_RNDD)) return rnd;
  return rnd == MPFR_RNDU ? MPFR_RNDD : MPFR_RNDU;
}

static mpfr_prec_t place_precision;

static void begin(const char *name, bool may_alias) {
  static mpfr_t copy;
  static bool made;
  if (made) mpfr_clear(copy);
  made = true;
  mpfr_init2(copy, mpfr_get_prec(x));
  mpfr_set(copy, x, MPFR_RNDN);
  function = name;
  z = may_alias && below(4) == 0 ? copy : free_place;
  place_precision = mpfr_get_prec(z);
}

static void end(void) {
  value a;
  mpq_init(a.q);
  read_value(&Z, z);
  expect("w", true, Z.precision == place_precision);
  read_value(&a, x);
  if (!same(&a, &X)) fprintf(stderr, "%s wrote x\n", function), abort();
  read_value(&a, y);
  if (!same(&a, &Y)) fprintf(stderr, "%s wrote y\n", function), abort();
  mpq_clear(a.q);
}

/* z stands for x where it is a copy of x: what a call does in place is then what it does to x. */
#define SOURCE (z == free_place ? (mpfr_srcptr)x : (mpfr_srcptr)z)
#define UNARY(f) (begin("mpfr_" #f, true), (void)mpfr_##f(z, SOURCE, used()), end())
#define BINARY(f) (begin("mpfr_" #f, true), (void)mpfr_##f(z, SOURCE, y, used()), end())
#define SET(f, ...) (begin("mpfr_" #f, false), (void)mpfr_##f(z, __VA_ARGS__), end())

static void check_assignments(void) {
  UNARY(set);
  directed_number("number", X.kind != 2, &X);
  expect("exact", X.kind == 0 && X.precision <= Z.precision, Z.kind == 0 && mpq_equal(Z.q, X.q));
  SET(set_si, n, used());
  mpq_set_si(exact, n, 1);
  directed("real", true);
  unsigned long u = (unsigned long)labs(n);
  SET(set_ui, u, used());
  mpq_set_ui(exact, u, 1);
  directed("real", true);
  SET(set_d, d, used());
  if (isfinite(d)) mpq_set_d(exact, d);
  directed("real", isfinite(d));
  expect("plus", d == (double)INFINITY, Z.kind == 1);
  expect("minus", d == -(double)INFINITY, Z.kind == -1);
  SET(set_q, rational, used());
  mpq_set(exact, rational);
  directed("real", true);
  SET(set_si_2exp, n, (mpfr_exp_t)below(200) - 100, used());
  expect("sign", n != 0, is_number(&Z));
  expect("plus", n > 0, sign(&Z) >= 0);
  expect("minus", n < 0, sign(&Z) <= 0);
}

static void check_constants(void) {
  int s = (int)n;
  SET(set_zero, s);
  expect("zero", true, is_real(&Z, 0));
  SET(set_inf, s);
  expect("plus", s >= 0, Z.kind == 1);
  expect("minus", s < 0, Z.kind == -1);
  begin("mpfr_set_nan", false);
  mpfr_set_nan(z);
  end();
  expect("nan", true, Z.kind == 2);
}

static void check_sums(void) {
  bool real = X.kind == 0 && Y.kind == 0;
  BINARY(add);
  if (real) mpq_add(exact, X.q, Y.q);
  directed("real", real);
  expect("plus", (X.kind == 1 && (Y.kind == 0 || Y.kind == 1)) || (X.kind == 0 && Y.kind == 1),
         Z.kind == 1);
  expect("minus", (X.kind == -1 && (Y.kind == 0 || Y.kind == -1)) || (X.kind == 0 && Y.kind == -1),
         Z.kind == -1);
  BINARY(sub);
  if (real) mpq_sub(exact, X.q, Y.q);
  directed("real", real);
  expect("plus", (X.kind == 1 && (Y.kind == 0 || Y.kind == -1)) || (X.kind == 0 && Y.kind == -1),
         Z.kind == 1);
  expect("minus", (X.kind == -1 && (Y.kind == 0 || Y.kind == 1)) || (X.kind == 0 && Y.kind == 1),
         Z.kind == -1);
}

static void check_products(void) {
  bool real = X.kind == 0 && Y.kind == 0, numbers = is_number(&X) && is_number(&Y);
  bool infinite = is_infinite(&X) || is_infinite(&Y);
  int s = numbers ? sign(&X) * sign(&Y) : 0;
  BINARY(mul);
  if (real) mpq_mul(exact, X.q, Y.q);
  directed("real", real);
  expect("plus", infinite && s > 0, Z.kind == 1);
  expect("minus", infinite && s < 0, Z.kind == -1);
  BINARY(div);
  bool divides = real && mpq_sgn(Y.q) != 0;
  if (divides) mpq_div(exact, X.q, Y.q);
  directed("real", divides);
  expect("plus", is_infinite(&X) && Y.kind == 0 && s > 0, Z.kind == 1);
  expect("minus", is_infinite(&X) && Y.kind == 0 && s < 0, Z.kind == -1);
  expect("zero", X.kind == 0 && is_infinite(&Y), is_real(&Z, 0));
  UNARY(sqr);
  if (X.kind == 0) mpq_mul(exact, X.q, X.q);
  directed("real", X.kind == 0);
  expect("plus", is_infinite(&X), Z.kind == 1);
}

static void check_signs(void) {
  UNARY(neg);
  if (X.kind == 0) mpq_neg(exact, X.q);
  directed("real", X.kind == 0);
  expect("infinite", is_infinite(&X), Z.kind == -X.kind);
  UNARY(abs);
  if (X.kind == 0) mpq_abs(exact, X.q);
  directed("real", X.kind == 0);
  expect("plus", is_infinite(&X), Z.kind == 1);
}

#define WITH_INTEGER(f, ...) (begin("mpfr_" #f, true), (void)mpfr_##f(__VA_ARGS__), end())

static void check_with_integers(void) {
  mpq_t m;
  mpq_init(m);
  mpq_set_si(m, n, 1);
  bool real = X.kind == 0;
  WITH_INTEGER(add_si, z, SOURCE, n, used());
  if (real) mpq_add(exact, X.q, m);
  directed("real", real);
  expect("infinite", is_infinite(&X), Z.kind == X.kind);
  WITH_INTEGER(sub_si, z, SOURCE, n, used());
  if (real) mpq_sub(exact, X.q, m);
  directed("real", real);
  expect("infinite", is_infinite(&X), Z.kind == X.kind);
  WITH_INTEGER(si_sub, z, n, SOURCE, used());
  if (real) mpq_sub(exact, m, X.q);
  directed("real", real);
  expect("infinite", is_infinite(&X), Z.kind == -X.kind);
  unsigned long u = (unsigned long)labs(n);
  mpq_set_ui(m, u, 1);
  WITH_INTEGER(div_ui, z, SOURCE, u, used());
  if (real && u > 0) mpq_div(exact, X.q, m);
  directed("real", real && u > 0);
  expect("infinite", is_infinite(&X) && u > 0, Z.kind == X.kind);
  mpq_clear(m);
}

static void check_powers_of_two(void) {
  bool real = X.kind == 0;
  unsigned long u = (unsigned long)labs(n);
  WITH_INTEGER(div_2ui, z, SOURCE, u, used());
  if (real) mpq_div_2exp(exact, X.q, u);
  directed("real", real);
  expect("infinite", is_infinite(&X), Z.kind == X.kind);
  WITH_INTEGER(mul_2si, z, SOURCE, n, used());
  bool roomy = real && mpq_sgn(X.q) != 0 && X.precision <= Z.precision;
  long e = roomy ? mpfr_get_exp(x) : 0;
  if (real && n >= 0) mpq_mul_2exp(exact, X.q, u);
  directed("real", real && n >= 0);
  expect("exact", roomy && n >= 0 && e + n <= 53, Z.kind == 0 && mpq_equal(Z.q, exact));
  if (real && n < 0) mpq_div_2exp(exact, X.q, u);
  directed("part", real && n < 0);
  expect("exact_part", roomy && n < 0 && e + n >= -53, Z.kind == 0 && mpq_equal(Z.q, exact));
  expect("infinite", is_infinite(&X), Z.kind == X.kind);
}

static void check_integer_power(void) {
  unsigned long u = (unsigned long)labs(n) % 40;
  WITH_INTEGER(pow_ui, z, SOURCE, u, used());
  mpq_set_ui(exact, 1, 1);
  for (unsigned long i = 0; X.kind == 0 && i < u; i++) mpq_mul(exact, exact, X.q);
  directed("real", X.kind == 0);
  expect("plus", X.kind == 1 && u > 0, Z.kind == 1);
}

static void check_extremes(void) {
  bool numbers = is_number(&X) && is_number(&Y);
  int order = numbers ? compare(&X, &Y) : 0;
  BINARY(min);
  directed_number("first", numbers && order <= 0, &X);
  directed_number("second", numbers && order > 0, &Y);
  BINARY(max);
  directed_number("first", numbers && order >= 0, &X);
  directed_number("second", numbers && order < 0, &Y);
}

static void check_neighbours(void) {
  /* In MPFR's own range the neighbours of 0 and of infinity are beyond rationals in memory. */
  if (X.kind == 2 || (!narrow && !mpfr_regular_p(x))) return;
  begin("mpfr_nextabove", false);
  mpfr_set(z, x, MPFR_RNDN);
  mpfr_nextabove(z);
  end();
  expect("number", true, is_number(&Z));
  begin("mpfr_nextbelow", false);
  mpfr_set(z, x, MPFR_RNDN);
  mpfr_nextbelow(z);
  end();
  expect("number", true, is_number(&Z));
}

/* Elementary functions. */

static void ball_exp(arb_t r, const arb_t a, const arb_t b, slong p) {
  (void)b;
  arb_exp(r, a, p);
}
static void ball_expm1(arb_t r, const arb_t a, const arb_t b, slong p) {
  (void)b;
  arb_expm1(r, a, p);
}
static void ball_log(arb_t r, const arb_t a, const arb_t b, slong p) {
  (void)b;
  arb_log(r, a, p);
}
static void ball_log1p(arb_t r, const arb_t a, const arb_t b, slong p) {
  (void)b;
  arb_log1p(r, a, p);
}
static void ball_tanh(arb_t r, const arb_t a, const arb_t b, slong p) {
  (void)b;
  arb_tanh(r, a, p);
}
/* The model's words: exp(y log x). */
static void ball_pow(arb_t r, const arb_t a, const arb_t b, slong p) {
  arb_log(r, a, p);
  arb_mul(r, r, b, p);
  arb_exp(r, r, p);
}
static void ball_pi(arb_t r, const arb_t a, const arb_t b, slong p) {
  (void)a;
  (void)b;
  arb_const_pi(r, p);
}

/* z against the root of q >= 0, by squares. */
static bool rounded_root(const mpq_t q) {
  int order = 0;
  if (Z.kind == 0) {
    mpq_mul(exact, Z.q, Z.q);
    order = mpq_sgn(Z.q) < 0 ? -1 : mpq_cmp(exact, q);
  }
  return rounded_by(order, mpq_sgn(q));
}

static void check_root(void) {
  UNARY(sqrt);
  bool real = X.kind == 0 && mpq_sgn(X.q) >= 0;
  record("real", real, real && rounded_root(X.q), true);
  expect("plus", X.kind == 1, Z.kind == 1);
}

static void check_exponentials(void) {
  /* exp(2^60) is beyond what is reasonable; overflow is met in the narrow range of exponents. */
  bool reasonable = X.kind != 0 || mpfr_zero_p(x) || mpfr_get_exp(x) <= 16;
  if (!reasonable) return;
  UNARY(exp);
  directed_ball("real", X.kind == 0, ball_exp);
  expect("plus", X.kind == 1, Z.kind == 1);
  expect("zero", X.kind == -1, is_real(&Z, 0));
  UNARY(expm1);
  directed_ball("real", X.kind == 0, ball_expm1);
  expect("plus", X.kind == 1, Z.kind == 1);
  mpq_set_si(exact, -1, 1);
  expect("minus", X.kind == -1, rounded(exact));
  UNARY(tanh);
  directed_ball("real", X.kind == 0, ball_tanh);
  expect("minus", X.kind == -1, rounded(exact));
  mpq_set_si(exact, 1, 1);
  expect("plus", X.kind == 1, rounded(exact));
}

static void check_logarithms(void) {
  UNARY(log);
  directed_ball("real", X.kind == 0 && mpq_sgn(X.q) > 0, ball_log);
  expect("plus", X.kind == 1, Z.kind == 1);
  expect("zero", is_real(&X, 0) && !mpfr_signbit(x), Z.kind == -1);
  expect("zero", is_real(&X, 0), Z.kind == -1);
  UNARY(log1p);
  directed_ball("real", X.kind == 0 && mpq_cmp_si(X.q, -1, 1) > 0, ball_log1p);
  expect("plus", X.kind == 1, Z.kind == 1);
  expect("minus", is_real(&X, -1), Z.kind == -1);
}

static void check_pow(void) {
  if (Y.kind == 0 && !mpfr_zero_p(y) && mpfr_get_exp(y) > 16) return;
  BINARY(pow);
  bool base = X.kind == 0 && mpq_sgn(X.q) > 0;
  int one = X.kind == 0 ? mpq_cmp_si(X.q, 1, 1) : 0;
  directed_ball("real", base && Y.kind == 0, ball_pow);
  expect("base", X.kind == 1 && Y.kind != 2 && sign(&Y) > 0, Z.kind == 1);
  expect("base0", X.kind == 1 && Y.kind != 2 && sign(&Y) < 0, is_real(&Z, 0));
  expect("up", Y.kind == 1 && (X.kind == 1 || (base && one > 0)), Z.kind == 1);
  expect("down", Y.kind == 1 && base && one < 0, is_real(&Z, 0));
  expect("up0", Y.kind == -1 && base && one > 0, is_real(&Z, 0));
  expect("down1", Y.kind == -1 && base && one < 0, Z.kind == 1);
}

static void check_pi(void) {
  begin("mpfr_const_pi", false);
  mpfr_const_pi(z, used());
  end();
  directed_ball("real", true, ball_pi);
}

/* Comparisons. */

#define IFF(a, b) ((bool)(a) == (bool)(b))

static void check_order(void) {
  bool numbers = is_number(&X) && is_number(&Y);
  int order = numbers ? compare(&X, &Y) : 2;
  function = "mpfr_cmp";
  int r = numbers ? mpfr_cmp(x, y) : 0;
  expect("less", numbers, IFF(r < 0, order < 0));
  expect("greater", numbers, IFF(r > 0, order > 0));
  function = "mpfr_cmpabs";
  r = numbers ? mpfr_cmpabs(x, y) : 0;
  if (X.kind == 0 && Y.kind == 0) {
    mpq_abs(exact, X.q);
    mpq_abs(rational, Y.q);
    expect("real", true, IFF(r > 0, mpq_cmp(exact, rational) > 0));
  }
  expect("first", numbers && X.kind != 0 && Y.kind == 0, r > 0);
  expect("second", numbers && Y.kind != 0, r <= 0);
  function = "mpfr_less_p";
  expect("iff", true, IFF(mpfr_less_p(x, y), numbers && order < 0));
  function = "mpfr_lessequal_p";
  expect("iff", true, IFF(mpfr_lessequal_p(x, y), numbers && order <= 0));
  function = "mpfr_greater_p";
  expect("iff", true, IFF(mpfr_greater_p(x, y), numbers && order > 0));
  function = "mpfr_greaterequal_p";
  expect("iff", true, IFF(mpfr_greaterequal_p(x, y), numbers && order >= 0));
  function = "mpfr_equal_p";
  expect("iff", true, IFF(mpfr_equal_p(x, y), numbers && order == 0));
}

static void check_order_to_integers(void) {
  if (X.kind == 2) return;
  long m = below(3) ? (long)below(7) - 3 : n;
  function = "mpfr_cmp_si";
  int order = X.kind != 0 ? X.kind : mpq_cmp_si(X.q, m, 1), r = mpfr_cmp_si(x, m);
  expect("less", true, IFF(r < 0, order < 0));
  expect("greater", true, IFF(r > 0, order > 0));
  expect("bounded", true, r >= -2147483647);
  function = "mpfr_cmp_ui";
  unsigned long u = (unsigned long)labs(m);
  order = X.kind != 0 ? X.kind : mpq_cmp_ui(X.q, u, 1);
  r = mpfr_cmp_ui(x, u);
  expect("less", true, IFF(r < 0, order < 0));
  expect("greater", true, IFF(r > 0, order > 0));
  expect("bounded", true, r >= -2147483647);
}

static void check_order_to_doubles(void) {
  if (X.kind == 2) return;
  function = "mpfr_cmp_d";
  int r = mpfr_cmp_d(x, d);
  if (isfinite(d)) {
    mpq_set_d(exact, d);
    int order = X.kind != 0 ? X.kind : mpq_cmp(X.q, exact);
    expect("less", true, IFF(r < 0, order < 0));
    expect("greater", true, IFF(r > 0, order > 0));
  }
  expect("plus", d == (double)INFINITY, IFF(r < 0, X.kind < 1) && r <= 0);
  expect("minus", d == -(double)INFINITY, IFF(r > 0, X.kind > -1) && r >= 0);
}

static void check_kinds(void) {
  if (X.kind != 2) {
    function = "mpfr_sgn";
    int r = mpfr_sgn(x);
    expect("negative", true, IFF(r < 0, sign(&X) < 0));
    expect("positive", true, IFF(r > 0, sign(&X) > 0));
    expect("unit", true, -1 <= r && r <= 1);
  }
  function = "mpfr_number_p";
  expect("iff", true, IFF(mpfr_number_p(x), X.kind == 0));
  function = "mpfr_inf_p";
  expect("iff", true, IFF(mpfr_inf_p(x), is_infinite(&X)));
  function = "mpfr_zero_p";
  expect("iff", true, IFF(mpfr_zero_p(x), is_real(&X, 0)));
  function = "mpfr_regular_p";
  expect("iff", true, IFF(mpfr_regular_p(x), X.kind == 0 && mpq_sgn(X.q) != 0));
}

/* Conversions. */

/* The order of |x| 2^e to 1. */
static int scaled_to_one(long e) {
  mpq_abs(exact, X.q);
  if (e >= 0)
    mpq_mul_2exp(exact, exact, (mp_bitcnt_t)e);
  else
    mpq_div_2exp(exact, exact, (mp_bitcnt_t)-e);
  return mpq_cmp_si(exact, 1, 1);
}

static void check_exponent(void) {
  if (X.kind != 0 || mpq_sgn(X.q) == 0) return;
  function = "mpfr_get_exp";
  long e = mpfr_get_exp(x);
  expect("exponent", true, scaled_to_one(-e) < 0 && scaled_to_one(1 - e) >= 0);
  expect("range", true, -4611686018427387903 <= e && e <= 4611686018427387903);
  expect("small", e <= 0, scaled_to_one(-e) < 0);
  expect("least", e <= 1, scaled_to_one(1 - e) >= 0);
  expect("size", e >= 0, scaled_to_one(-e) < 0);
  expect("most", e >= 1, scaled_to_one(1 - e) >= 0);
}

static void check_to_integer(void) {
  if (X.kind == 2) return;
  function = "mpfr_get_si";
  bool fits = X.kind == 0 && scaled_to_one(-53) <= 0;
  long r = mpfr_get_si(x, rnd);
  if (!fits) return;
  mpq_set_si(exact, r, 1);
  mpq_sub(exact, exact, X.q); /* the error */
  bool nearest = mpq_cmp_si(exact, 1, 2) <= 0 && mpq_cmp_si(exact, -1, 2) >= 0;
  bool tie = mpq_cmp_si(exact, 1, 2) == 0 || mpq_cmp_si(exact, -1, 2) == 0;
  bool down = mpq_sgn(exact) <= 0 && mpq_cmp_si(exact, -1, 1) > 0;
  bool up = mpq_sgn(exact) >= 0 && mpq_cmp_si(exact, 1, 1) < 0;
  expect("nearest", rnd == MPFR_RNDN, nearest);
  expect("even", rnd == MPFR_RNDN && tie, r % 2 == 0);
  expect("down", rnd == MPFR_RNDD, down);
  expect("up", rnd == MPFR_RNDU, up);
  expect("zero", rnd == MPFR_RNDZ && mpq_sgn(X.q) >= 0, down);
  expect("zero_up", rnd == MPFR_RNDZ && mpq_sgn(X.q) <= 0, up);
}

static void check_to_double(void) {
  function = "mpfr_get_d";
  double r = mpfr_get_d(x, rnd);
  if (isfinite(r)) mpq_set_d(exact, r);
  bool real = X.kind == 0 && isfinite(r);
  expect("down", real && rnd == MPFR_RNDD, real && mpq_cmp(exact, X.q) <= 0);
  expect("up", real && rnd == MPFR_RNDU, real && mpq_cmp(X.q, exact) <= 0);
  expect("number", X.kind != 2, !isnan(r));
}

static void check_to_text(void) {
  if (X.kind != 0 || mpq_sgn(X.q) == 0) return;
  function = "mpfr_get_str";
  char text[64 + 2];
  mpfr_exp_t e;
  size_t digits = 1 + below(64), first = mpq_sgn(X.q) < 0;
  memset(text, '?', sizeof text);
  expect("same", true, mpfr_get_str(text, &e, 10, digits, x, rnd) == text);
  bool decimal = true;
  for (size_t i = first; i < first + digits; i++)
    decimal = decimal && isdigit((unsigned char)text[i]);
  expect("digits", true, decimal);
  expect("null", true, text[first + digits] == 0);
  expect("minus", first == 1, text[0] == '-');
  expect("range", true, -4611686018427387904 <= e && e <= 4611686018427387904);
}

static void check_life(void) {
  function = "mpfr_init2";
  mpfr_t a, b;
  long p = 1 + (long)below(MOST_BITS);
  mpfr_init2(a, p);
  mpfr_init2(b, MOST_BITS);
  expect("nan", true, mpfr_nan_p(a) && mpfr_get_prec(a) == p);
  function = "mpfr_get_prec";
  expect("precision", true, mpfr_get_prec(a) == p);
  expect("range", true, MPFR_PREC_MIN <= mpfr_get_prec(a) && mpfr_get_prec(a) <= MPFR_PREC_MAX);
  function = "mpfr_swap";
  mpfr_set_si(b, 5, MPFR_RNDN);
  mpfr_swap(a, b);
  expect("swapped", true,
         mpfr_nan_p(b) && mpfr_get_prec(b) == p && mpfr_cmp_si(a, 5) == 0 &&
             mpfr_get_prec(a) == MOST_BITS);
  mpfr_clear(a);
  mpfr_clear(b);
}

/* GMP, with numbers that the compiler's 128 bits hold. */

static bool holds_integer(mpz_srcptr a, __int128 v) {
  mpz_t high;
  mpz_init_set_si(high, (long)(v >> 64));
  mpz_mul_2exp(high, high, 64);
  mpz_add_ui(high, high, (unsigned long)v);
  bool same_number = mpz_cmp(high, a) == 0;
  mpz_clear(high);
  return same_number;
}

/* q = a / b, b != 0, whatever the terms of q. */
static bool holds_quotient(mpq_srcptr q, __int128 a, __int128 b) {
  __int128 p = mpz_get_si(mpq_numref(q)), r = mpz_get_si(mpq_denref(q));
  return r != 0 && p * b == a * r;
}

static long random_integer(void) {
  return (long)below(below(2) ? 7 : 2000000000) - (below(2) ? 3 : 1000000000);
}

static void check_integers(void) {
  mpz_t a, b;
  function = "mpz_init";
  mpz_init(a);
  mpz_init(b);
  expect("zero", true, mpz_size(a) == 0);
  long u = random_integer(), v = random_integer();
  function = "mpz_set_ui";
  mpz_set_ui(a, (unsigned long)u);
  expect("value", true, holds_integer(a, (unsigned long)u));
  mpz_set_si(a, u);
  function = "mpz_set";
  mpz_set(b, a);
  expect("value", true, holds_integer(b, u));
  function = "mpz_sgn";
  expect("zero", true, IFF(mpz_sgn(a) == 0, u == 0));
  expect("sign", true, IFF(mpz_sgn(a) < 0, u < 0) && IFF(mpz_sgn(a) > 0, u > 0));
  mpz_set_si(b, v);
  function = "mpz_mul";
  mpz_mul(a, a, b);
  expect("value", true, holds_integer(a, (__int128)u * v));
  unsigned long base = below(10) + 1, e = below(30);
  __int128 power = 1;
  for (unsigned long i = 0; i < e; i++) power *= (__int128)base;
  function = "mpz_ui_pow_ui";
  mpz_ui_pow_ui(a, base, e);
  expect("value", true, holds_integer(a, power));
  expect("positive", true, mpz_size(a) > 0 && a->_mp_size > 0);
  mpz_clear(a);
  mpz_clear(b);
}

static void check_digits(void) {
  mpz_t a;
  mpz_init(a);
  char text[32];
  int base = below(2) ? 10 : 16;
  unsigned long digits = 1 + below(25);
  __int128 value_of_digits = 0;
  for (unsigned long i = 0; i < digits; i++) {
    int one = (int)below((unsigned long)base);
    text[i] = (below(2) ? "0123456789abcdef" : "0123456789ABCDEF")[one];
    value_of_digits = base * value_of_digits + one;
  }
  text[digits] = 0;
  function = "mpz_set_str";
  expect("live", true, mpz_set_str(a, text, base) == 0);
  expect("value", true, holds_integer(a, value_of_digits));
  mpz_clear(a);
}

static void check_rationals(void) {
  mpq_t q, r;
  function = "mpq_init";
  mpq_init(q);
  mpq_init(r);
  expect("zero", true, holds_integer(mpq_numref(q), 0) && holds_integer(mpq_denref(q), 1));
  long a = random_integer(), b = random_integer(), c = random_integer(), e = random_integer();
  if (b == 0) b = -6;
  if (e == 0) e = 4;
  function = "mpq_canonicalize";
  mpz_set_si(mpq_numref(q), a);
  mpz_set_si(mpq_denref(q), b);
  mpq_canonicalize(q);
  expect("value", true, holds_quotient(q, a, b));
  expect("positive", true, mpq_denref(q)->_mp_size > 0);
  function = "mpq_sgn";
  int s = (a > 0) - (a < 0);
  if (b < 0) s = -s;
  expect("zero", true, IFF(mpq_sgn(q) == 0, s == 0));
  expect("sign", true, IFF(mpq_sgn(q) < 0, s < 0) && IFF(mpq_sgn(q) > 0, s > 0));
  mpz_set_si(mpq_numref(r), c);
  mpz_set_si(mpq_denref(r), e);
  mpq_canonicalize(r);
  function = "mpq_neg";
  long denominator = mpz_get_si(mpq_denref(q));
  mpq_neg(q, q);
  expect("value", true,
         holds_quotient(q, -(__int128)a, b) && mpz_cmp_si(mpq_denref(q), denominator) == 0);
  function = "mpq_div";
  if (c != 0) mpq_div(exact, q, r);
  mpq_mul(rational, c != 0 ? exact : q, r);
  expect("value", c != 0, mpq_equal(rational, q) != 0);
  expect("positive", c != 0, mpq_denref(exact)->_mp_size > 0);
  mpq_clear(q);
  mpq_clear(r);
}

/* The functions of <math.h>. */

/* Any double: of random bits, a whole number, or special. */
static double any_double(void) {
  if (below(50) == 0) return (double)NAN;
  if (below(4) == 0) return random_double();
  if (below(3) == 0) {
    double whole = (double)(below(1ul << (1 + below(53))) + below(2));
    return below(2) ? whole : -whole;
  }
  mpz_t bits;
  mpz_init(bits);
  mpz_urandomb(bits, randomness, 64);
  unsigned long u = mpz_get_ui(bits);
  mpz_clear(bits);
  double v;
  memcpy(&v, &u, sizeof v);
  return v;
}

/* exact = v 2^e. */
static void scale_exactly(double v, long e) {
  mpq_set_d(exact, v);
  if (e >= 0)
    mpq_mul_2exp(exact, exact, (mp_bitcnt_t)e);
  else
    mpq_div_2exp(exact, exact, (mp_bitcnt_t)-e);
}

/* The order of |v| 2^e to 1. */
static int scaled_double_to_one(double v, long e) {
  scale_exactly(fabs(v), e);
  return mpq_cmp_si(exact, 1, 1);
}

static void check_frexp(double v) {
  function = "model_frexp";
  int e = 0;
  double m = frexp(v, &e);
  bool real = isfinite(v), regular = real && v != 0;
  expect("range", regular, -1073 <= e && e <= 1024);
  expect("zero", real, isfinite(m) && IFF(m == 0, v == 0));
  if (!real) return;
  expect("small", e <= 0, scaled_double_to_one(v, -e) < 0);
  expect("size", e >= 0, scaled_double_to_one(v, -e) < 0);
  expect("least", regular && e <= 1, scaled_double_to_one(v, 1 - e) >= 0);
  expect("most", regular && e >= 1, scaled_double_to_one(v, 1 - e) >= 0);
}

static void check_ldexp(double v) {
  function = "model_ldexp";
  int e = (int)below(2100) - 1075;
  if (below(3) == 0) e = 1024 - (v != 0 && isfinite(v) ? ilogb(v) : 0) - (int)below(3);
  double r = ldexp(v, e);
  expect("number", !isnan(v), !isnan(r));
  expect("zero", v == 0, r == 0);
  if (!isfinite(v) || rint(v) != v || fabs(v) > 0x1p53) return;
  bool small = scaled_double_to_one(v, e - 1024) < 0, real = isfinite(r);
  if (real) mpq_set_d(rational, r);
  scale_exactly(v, e);
  bool right = real && mpq_equal(rational, exact);
  expect("up", 0 <= e && e <= 1023 && small, right);
  expect("down", -1074 <= e && e <= 0, right);
}

static void check_doubles(void) {
  double v = any_double();
  bool real = v - v == 0;
  function = "model_finite";
  expect("iff", true, IFF(isfinite(v), real));
  function = "model_finitef";
  float f = (float)v;
  expect("iff", true, IFF(isfinite(f), f - f == 0));
  function = "model_fabs";
  expect("value", real, fabs(v) == (v < 0 ? -v : v));
  expect("infinite", isinf(v), fabs(v) > DBL_MAX);
  expect("nan", isnan(v), isnan(fabs(v)));
  function = "model_infinity";
  expect("infinite", true, HUGE_VAL > DBL_MAX);
  function = "model_infinityf";
  expect("infinite", true, INFINITY > FLT_MAX);
  check_frexp(v);
  check_ldexp(v);
}

/* What spec/acsl/narrowing.h says of C: a finite result is the nearest number, the even one of two. */
static void check_narrowing(void) {
  double v = below(2) ? any_double() : (double)FLT_MAX + (double)below(1ul << 52) * 0x1p52;
  float f = (float)v;
  if (!isfinite(v) || !isfinite(f) || (double)f == v) return;
  float next = nextafterf(f, v > (double)f ? INFINITY : -INFINITY);
  double beyond = isfinite(next) ? fabs((double)next) : 0x1p128;
  double near = fabs((double)fabsf(f) - fabs(v)), far = fabs(beyond - fabs(v)); /* both exact */
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  function = "narrowing";
  expect("nearest", true, near < far || (near == far && bits % 2 == 0));
}

/* The header's clauses: "ensures NAME:" until the prototype that they belong to. */

static bool must_be_exercised(const char *name) {
  const clause *c = find(name);
  if (c->exercised == 0) fprintf(stderr, "never exercised: %s\n", name);
  if (fault && c->directed && c->broken == 0) fprintf(stderr, "fault not noticed: %s\n", name);
  return c->exercised > 0 && (!fault || !c->directed || c->broken > 0);
}

/* The name of the function that a line declares, or null. */
static const char *declared(const char *line, char *name) {
  const char *end = strchr(line, '('), *at = end;
  while (at > line && (isalnum((unsigned char)at[-1]) || at[-1] == '_')) at--;
  bool known = end && (strncmp(at, "mpfr_", 5) == 0 || strncmp(at, "mpz_", 4) == 0 ||
                       strncmp(at, "mpq_", 4) == 0 || strncmp(at, "model_", 6) == 0);
  if (!islower((unsigned char)line[0]) || !known || end - at >= NAME) return NULL;
  snprintf(name, NAME, "%.*s", (int)(end - at), at);
  return name;
}

/* True if all of them were exercised; *count grows by their number. */
static bool check_header(FILE *header, int *count) {
  char line[2000], pending[20][NAME], name[NAME];
  int waiting = 0;
  bool good = true;
  while (fgets(line, sizeof line, header)) {
    const char *at = strstr(line, "ensures ");
    if (at && waiting < 20)
      snprintf(pending[waiting++], NAME, "%.*s", (int)strcspn(at + 8, ": "), at + 8);
    if (!declared(line, name)) continue;
    for (int i = 0; i < waiting; i++, ++*count) {
      char whole[2 * NAME];
      strcat(strcat(strcpy(whole, name), "."), pending[i]);
      good = must_be_exercised(whole) && good;
    }
    waiting = 0;
  }
  return good;
}

static void check_all(void) {
  random_arguments();
  check_assignments();
  check_constants();
  check_sums();
  check_products();
  check_signs();
  check_with_integers();
  check_powers_of_two();
  check_integer_power();
  check_extremes();
  check_neighbours();
  check_root();
  check_exponentials();
  check_logarithms();
  check_pow();
  check_pi();
  check_order();
  check_order_to_integers();
  check_order_to_doubles();
  check_kinds();
  check_exponent();
  check_to_integer();
  check_to_double();
  check_to_text();
  check_life();
  check_integers();
  check_digits();
  check_rationals();
  check_doubles();
  check_narrowing();
}

static void start(void) {
  gmp_randinit_default(randomness);
  gmp_randseed_ui(randomness, 20240229);
  mpfr_inits2(53, x, y, free_place, (mpfr_ptr)0);
  mpq_inits(X.q, Y.q, Z.q, exact, rational, (mpq_ptr)0);
  arb_init(ball_x);
  arb_init(ball_y);
}

int main(int argc, char **argv) {
  fault = argc > 1 && strcmp(argv[1], "--fault") == 0;
  if (argc < 2 + fault) {
    fprintf(stderr, "usage: model_test [--fault] HEADER...\n");
    return 2;
  }
  start();
  for (int i = 0; i < ROUNDS; i++) check_all();
  int count = 0;
  bool good = true;
  for (int i = 1 + fault; i < argc; i++) {
    FILE *header = fopen(argv[i], "r");
    int before = count;
    good = header && check_header(header, &count) && count > before && good;
    if (header) fclose(header);
  }
  long checks = 0, broken = 0;
  for (int i = 0; i < clause_count; i++) {
    checks += clauses[i].exercised;
    broken += clauses[i].broken > 0;
  }
  printf("%d clauses of the model, %ld checks, %ld clauses broken\n", count, checks, broken);
  return good && (fault || broken == 0) ? 0 : 1;
}
