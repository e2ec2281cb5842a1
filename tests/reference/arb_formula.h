/* The rows of potential_formulas.def in Arb: an expression of x and a, read and evaluated. */
#ifndef PHIBAL_TESTS_ARB_FORMULA_H
#define PHIBAL_TESTS_ARB_FORMULA_H

#include <arb.h>
#include <criterion/criterion.h>
#include <ctype.h>
#include <phibal/potential.h>
#include <stdlib.h>
#include <string.h>

/* Value, gradient, second derivative, conjugate and its gradient; null for what has no row. */
enum { FORMULAS = 5 };
static const char *const potential_formulas[PHIBAL_POTENTIAL_COUNT][FORMULAS] = {
#define POTENTIAL_FORMULAS(ID, dual, ...) [PHIBAL_POTENTIAL_##ID] = FORMULA_TEXTS(__VA_ARGS__),
#define FORMULA_TEXTS(value, gradient, second, conjugate, conjugate_gradient)                      \
  { #value, #gradient, #second, #conjugate, #conjugate_gradient }
#include "potential_formulas.def"
#undef POTENTIAL_FORMULAS
};

/* The cases of a switch for the potentials that have a row. */
#define CASES_OF_POTENTIAL_FORMULAS(ID, ...) case PHIBAL_POTENTIAL_##ID:

typedef struct formula {
  const char *text; /* what is not read yet */
  arb_srcptr x, a;
  slong precision;
} formula;

static inline void formula_sum(arb_ptr z, formula *f);

static inline bool formula_takes(formula *f, char c) {
  while (*f->text == ' ') f->text++;
  if (*f->text != c) return false;
  f->text++;
  return true;
}

/* x log x, which is 0 at 0. */
static inline void formula_xlogx(arb_t z, const arb_t x, slong precision) {
  arb_t t;
  arb_init(t);
  if (!arb_is_zero(x)) arb_log(t, x, precision);
  arb_mul(z, t, x, precision);
  arb_clear(t);
}

static inline void formula_fabs(arb_t z, const arb_t x, slong precision) {
  (void)precision;
  arb_abs(z, x);
}

/* x, a, or a function of one or two arguments; v: its arguments. */
static inline void formula_name(arb_ptr z, formula *f, arb_ptr v) {
  static const struct {
    const char *name;
    void (*of)(arb_t, const arb_t, slong);
  } functions[] = {{"fabs", formula_fabs}, {"sqrt", arb_sqrt},      {"exp", arb_exp},
                   {"log", arb_log},       {"log1p", arb_log1p},    {"sinh", arb_sinh},
                   {"cosh", arb_cosh},     {"tanh", arb_tanh},      {"asinh", arb_asinh},
                   {"atanh", arb_atanh},   {"xlogx", formula_xlogx}};
  const char *name = f->text;
  while (isalnum((unsigned char)*f->text)) f->text++;
  const size_t n = (size_t)(f->text - name);
  if (n == 1 && (*name == 'x' || *name == 'a')) {
    arb_set(z, *name == 'x' ? f->x : f->a);
    return;
  }
  cr_assert(formula_takes(f, '('), "a formula stops at %s", name);
  formula_sum(v, f);
  if (n == 3 && !strncmp(name, "pow", n)) {
    cr_assert(formula_takes(f, ','));
    formula_sum(v + 1, f);
    arb_pow(z, v, v + 1, f->precision);
  } else {
    size_t i = 0, all = sizeof functions / sizeof *functions;
    while (i < all && (strlen(functions[i].name) != n || strncmp(functions[i].name, name, n))) i++;
    cr_assert(i < all, "not a function of formulas: %s", name);
    functions[i].of(z, v, f->precision);
  }
  cr_assert(formula_takes(f, ')'));
}

static inline void formula_factor(arb_ptr z, formula *f) {
  if (formula_takes(f, '-')) {
    formula_factor(z, f);
    arb_neg(z, z);
  } else if (formula_takes(f, '(')) {
    formula_sum(z, f);
    cr_assert(formula_takes(f, ')'));
  } else if (isdigit((unsigned char)*f->text)) {
    char number[32];
    const size_t n = strspn(f->text, "0123456789.");
    cr_assert(n < sizeof number);
    memcpy(number, f->text, n);
    number[n] = 0;
    f->text += n;
    cr_assert_eq(arb_set_str(z, number, f->precision), 0, "not a number: %s", number);
  } else {
    arb_ptr v = _arb_vec_init(2);
    formula_name(z, f, v);
    _arb_vec_clear(v, 2);
  }
}

static inline void formula_product(arb_ptr z, formula *f) {
  arb_t t;
  arb_init(t);
  formula_factor(z, f);
  for (;;) {
    const bool times = formula_takes(f, '*'), over = !times && formula_takes(f, '/');
    if (!times && !over) break;
    formula_factor(t, f);
    (times ? arb_mul : arb_div)(z, z, t, f->precision);
  }
  arb_clear(t);
}

static inline void formula_sum(arb_ptr z, formula *f) {
  arb_t t;
  arb_init(t);
  formula_product(z, f);
  for (;;) {
    const bool plus = formula_takes(f, '+'), minus = !plus && formula_takes(f, '-');
    if (!plus && !minus) break;
    formula_product(t, f);
    (plus ? arb_add : arb_sub)(z, z, t, f->precision);
  }
  arb_clear(t);
}

/* z = the text's value at x with the parameter a; z is neither of them. */
static inline void formula_evaluate(arb_t z, const char *text, const arb_t x, const arb_t a,
                                    slong precision) {
  formula f = {text, x, a, precision};
  formula_sum(z, &f);
  cr_assert(formula_takes(&f, 0), "a formula goes on after its end: %s", f.text);
}

#endif
