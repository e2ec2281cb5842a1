/* Expressions of one variable with three derivatives, in enclosures: the rules of Leibniz and of
   Faa di Bruno at every node. Terms in which a derivative vanishes identically are left out, so
   that nothing is 0 times infinity without need at the end of a domain. */
#include "evaluation.h"

typedef struct context {
  const phibal_enclosure *parameters, *sums, *x;
  mpfr_prec_t precision;
  int order;   /* the highest derivative that is asked for */
  bool report; /* where a value is not defined, the message is to say which operation failed */
} context;

void phi_jet_init(phi_jet *j, mpfr_prec_t precision) {
  for (int i = 0; i < 4; i++) phibal_enclosure_init(&j->d[i], precision);
  j->known = 0;
  j->degree = 4;
}

void phi_jet_clear(phi_jet *j) {
  for (int i = 0; i < 4; i++) phibal_enclosure_clear(&j->d[i]);
}

/* Inner nodes have room for what is asked for only. */
static void node_init(const context *c, phi_jet *j) {
  for (int i = 0; i <= c->order; i++) phibal_enclosure_init(&j->d[i], c->precision);
}

static void node_clear(const context *c, phi_jet *j) {
  for (int i = 0; i <= c->order; i++) phibal_enclosure_clear(&j->d[i]);
}

static void evaluate(const context *c, const expression *e, phi_jet *z);

/* Completes z, whose derivatives up to the degree are set, as far as they are known. */
static void finish(const context *c, phi_jet *z, int known, int degree) {
  if (known > c->order + 1) known = c->order + 1;
  z->degree = degree < 4 ? degree : 4;
  if (known == z->degree + 1) known = c->order + 1;
  for (int i = z->degree + 1; i <= c->order && i < known; i++) phibal_enclosure_set_si(&z->d[i], 0);
  for (int i = known; i <= c->order; i++) function_forget(&z->d[i]);
  z->known = known;
}

static void constant(const context *c, phi_jet *z) {
  finish(c, z, 1, 0);
}

static int less(int a, int b) {
  return a < b ? a : b;
}

static int greater(int a, int b) {
  return a > b ? a : b;
}

static void variable(const context *c, phi_jet *z) {
  if (!c->x) {
    finish(c, z, 0, 4);
    return;
  }
  phibal_enclosure_set(&z->d[0], c->x);
  if (c->order >= 1) phibal_enclosure_set_si(&z->d[1], 1);
  finish(c, z, 2, 1);
}

static void negate(const context *c, const phi_jet *a, phi_jet *z) {
  const int known = a->known;
  for (int i = 0; i < known; i++) phibal_enclosure_neg(&z->d[i], &a->d[i]);
  finish(c, z, known, a->degree);
}

static void add(const context *c, const phi_jet *a, const phi_jet *b, bool subtract, phi_jet *z) {
  int known = 0;
  for (; known < less(a->known, b->known); known++) {
    const phibal_status status =
        subtract ? phibal_enclosure_sub(&z->d[known], &a->d[known], &b->d[known])
                 : phibal_enclosure_add(&z->d[known], &a->d[known], &b->d[known]);
    if (status != PHIBAL_OK) break;
  }
  finish(c, z, known, greater(a->degree, b->degree));
}

static const long binomial[4][4] = {{1, 0, 0, 0}, {1, 1, 0, 0}, {1, 2, 1, 0}, {1, 3, 3, 1}};

/* Does derivative i vanish identically? */
static bool vanishes(const phi_jet *a, int i) {
  return i > a->degree;
}

static void multiply(const context *c, const phi_jet *a, const phi_jet *b, phi_jet *z) {
  int known = 0;
  for (; known < less(a->known, b->known); known++) {
    bool good = true;
    phibal_enclosure_set_si(&z->d[known], 0);
    for (int i = 0; i <= known && good; i++)
      if (!vanishes(a, i) && !vanishes(b, known - i))
        good = evaluation_add_products(&z->d[known], binomial[known][i], &a->d[i], &b->d[known - i],
                                       NULL);
    if (!good) break;
  }
  finish(c, z, known, a->degree + b->degree);
}

/* q = a/b: b q_j = a_j - sum_{i < j} (j over i) q_i b_{j-i} */
static void divide(const context *c, const phi_jet *a, const phi_jet *b, phi_jet *z) {
  int known = 0;
  for (; known < less(a->known, b->known); known++) {
    bool good = true;
    phibal_enclosure_set_si(&z->d[known], 0);
    for (int i = 0; i < known && good; i++)
      if (!vanishes(b, known - i))
        good = evaluation_add_products(&z->d[known], -binomial[known][i], &z->d[i],
                                       &b->d[known - i], NULL);
    if (!good) break;
    if (!vanishes(a, known) &&
        phibal_enclosure_add(&z->d[known], &z->d[known], &a->d[known]) != PHIBAL_OK)
      break;
    if (phibal_enclosure_div(&z->d[known], &z->d[known], &b->d[0]) != PHIBAL_OK) break;
  }
  finish(c, z, known, b->degree == 0 ? a->degree : 4);
}

/* Derivative j of f(u), for j >= 1. */
static bool chain_term(int j, const phibal_enclosure *f, int f_degree, const phi_jet *u,
                       phibal_enclosure *z) {
  const phibal_enclosure *d = u->d;
  const bool curved = !vanishes(u, 2);
  bool good = true;
  phibal_enclosure_set_si(z, 0);
  if (j <= f_degree) /* f_j u'^j */
    good = j == 1   ? evaluation_add_products(z, 1, &f[1], &d[1], NULL)
           : j == 2 ? evaluation_add_power(z, &f[2], &d[1], 2)
                    : evaluation_add_power(z, &f[3], &d[1], 3);
  if (good && j == 2 && curved && f_degree >= 1)
    good = evaluation_add_products(z, 1, &f[1], &d[2], NULL);
  if (good && j == 3 && curved && f_degree >= 2)
    good = evaluation_add_products(z, 3, &f[2], &d[1], &d[2]);
  if (good && j == 3 && !vanishes(u, 3) && f_degree >= 1)
    good = evaluation_add_products(z, 1, &f[1], &d[3], NULL);
  return good;
}

/* f(u) from the derivatives f[0..f_known-1] of f at u. */
static void chain(const context *c, const phibal_enclosure *f, int f_known, int f_degree,
                  const phi_jet *u, phi_jet *z) {
  int known = 0;
  if (f_known > 0) phibal_enclosure_set(&z->d[known++], &f[0]);
  if (u->degree == 0) {
    finish(c, z, known, 0);
    return;
  }
  while (known > 0 && known < less(f_known, u->known) &&
         chain_term(known, f, f_degree, u, &z->d[known]))
    known++;
  finish(c, z, known, f_degree >= 4 || u->degree >= 4 ? 4 : f_degree * u->degree);
}

/* Loads are not negative: at the coordinate 0, |x| is x, differentiated from the right. */
static bool is_nonnegative_coordinate(const context *c, const expression *e) {
  return e->kind == EXPRESSION_VARIABLE && c->x && mpfr_sgn(c->x->lo) >= 0;
}

static void function(const context *c, const expression *e, const phi_jet *u, phi_jet *z) {
  phi_jet f;
  if (u->known == 0) {
    finish(c, z, 0, 4);
  } else if (e->kind == EXPRESSION_ABS && is_nonnegative_coordinate(c, e->argument[0])) {
    variable(c, z);
  } else {
    const int order = u->degree == 0 ? 0 : c->order;
    const bool affine = e->kind == EXPRESSION_ABS || e->kind == EXPRESSION_SGN;
    node_init(c, &f);
    const int known = function_derivatives(e->kind, order, &u->d[0], f.d);
    chain(c, f.d, known, affine && known > 1 ? 1 : 4, u, z);
    node_clear(c, &f);
  }
}

static void maximum(const context *c, const phi_jet *a, const phi_jet *b, phi_jet *z) {
  if (a->known == 0 || b->known == 0) {
    finish(c, z, 0, 4);
    return;
  }
  const bool left = phibal_enclosure_is_less(&b->d[0], &a->d[0]);
  const bool right = phibal_enclosure_is_less(&a->d[0], &b->d[0]);
  if (left || right) {
    const phi_jet *from = left ? a : b;
    for (int i = 0; i < from->known; i++) phibal_enclosure_set(&z->d[i], &from->d[i]);
    finish(c, z, from->known, from->degree);
    return;
  }
  function_max(&z->d[0], &a->d[0], &b->d[0]);
  finish(c, z, 1, a->degree == 0 && b->degree == 0 ? 0 : 4);
}

/* u^exponent with an exponent that does not depend on x. */
static void power_constant(const context *c, const phi_jet *u, const phibal_enclosure *exponent,
                           mpz_srcptr integer, phi_jet *z) {
  phi_jet f;
  int degree;
  node_init(c, &f);
  const int known = function_power_derivatives(u->degree == 0 ? 0 : c->order, &u->d[0], exponent,
                                               integer, f.d, &degree);
  chain(c, f.d, known, degree, u, z);
  node_clear(c, &f);
}

/* u^v = e^(v log u); its value by the rule of powers, which has 0^v too. */
static void power_variable(const context *c, const phi_jet *u, const phi_jet *v, phi_jet *z) {
  phi_jet f, logarithm, product;
  node_init(c, &f);
  node_init(c, &logarithm);
  node_init(c, &product);
  int known = function_derivatives(EXPRESSION_LOG, u->degree == 0 ? 0 : c->order, &u->d[0], f.d);
  chain(c, f.d, known, 4, u, &logarithm);
  multiply(c, v, &logarithm, &product);
  known = product.known ? function_derivatives(EXPRESSION_EXP, c->order, &product.d[0], f.d) : 0;
  chain(c, f.d, known, 4, &product, z);
  if (phibal_enclosure_pow(&f.d[0], &u->d[0], &v->d[0]) == PHIBAL_OK) {
    phibal_enclosure_swap(&z->d[0], &f.d[0]);
    if (z->known == 0) finish(c, z, 1, 4);
  } else {
    finish(c, z, 0, 4);
  }
  node_clear(c, &f);
  node_clear(c, &logarithm);
  node_clear(c, &product);
}

static void power(const context *c, const expression *e, const phi_jet *a, const phi_jet *b,
                  phi_jet *z) {
  if (a->known == 0 || b->known == 0)
    finish(c, z, 0, 4);
  else if (b->degree == 0)
    power_constant(c, a, &b->d[0], evaluation_integer(e->argument[1]), z);
  else
    power_variable(c, a, b, z);
}

/* a a, which is never negative. */
static void square(const context *c, const phi_jet *a, phi_jet *z) {
  phibal_enclosure two;
  mpz_t integer;
  phibal_enclosure_init(&two, 2);
  phibal_enclosure_set_si(&two, 2);
  mpz_init_set_ui(integer, 2);
  if (a->known)
    power_constant(c, a, &two, integer, z);
  else
    finish(c, z, 0, 4);
  mpz_clear(integer);
  phibal_enclosure_clear(&two);
}

static bool is_square(const expression *e) {
  return e->kind == EXPRESSION_MULTIPLY && expression_equal(e->argument[0], e->argument[1]);
}

static void combine(const context *c, const expression *e, const phi_jet *a, const phi_jet *b,
                    phi_jet *z) {
  switch (e->kind) {
  case EXPRESSION_NEGATE:
    negate(c, a, z);
    return;
  case EXPRESSION_ADD:
  case EXPRESSION_SUBTRACT:
    add(c, a, b, e->kind == EXPRESSION_SUBTRACT, z);
    return;
  case EXPRESSION_MULTIPLY:
    if (is_square(e))
      square(c, a, z);
    else
      multiply(c, a, b, z);
    return;
  case EXPRESSION_DIVIDE:
    divide(c, a, b, z);
    return;
  case EXPRESSION_POWER:
    power(c, e, a, b, z);
    return;
  case EXPRESSION_MAX:
    maximum(c, a, b, z);
    return;
  default:
    function(c, e, a, z);
  }
}

static void inner_node(const context *c, const expression *e, phi_jet *z) {
  const bool two = expression_arguments(e->kind) == 2 && !is_square(e);
  phi_jet a, b;
  node_init(c, &a);
  evaluate(c, e->argument[0], &a);
  if (two) {
    node_init(c, &b);
    evaluate(c, e->argument[1], &b);
  }
  combine(c, e, &a, two ? &b : NULL, z);
  if (c->report && z->known == 0 && a.known > 0 && (!two || b.known > 0)) evaluation_locate(e);
  if (two) node_clear(c, &b);
  node_clear(c, &a);
}

static void evaluate(const context *c, const expression *e, phi_jet *z) {
  switch (e->kind) {
  case EXPRESSION_NUMBER:
    phibal_enclosure_set_q(&z->d[0], e->number);
    constant(c, z);
    return;
  case EXPRESSION_PARAMETER:
    phibal_enclosure_set(&z->d[0], &c->parameters[e->index]);
    constant(c, z);
    return;
  case EXPRESSION_SUM:
    if (c->sums) phibal_enclosure_set(&z->d[0], &c->sums[e->index]);
    finish(c, z, c->sums ? 1 : 0, 0);
    return;
  case EXPRESSION_VARIABLE:
    variable(c, z);
    return;
  default:
    inner_node(c, e, z);
  }
}

static void evaluate_rounded(const context *c, const expression *e, phi_jet *j) {
  phi_jet z;
  node_init(c, &z);
  evaluate(c, e, &z);
  for (int i = 0; i <= c->order; i++) phibal_enclosure_set(&j->d[i], &z.d[i]);
  j->known = z.known;
  j->degree = z.degree;
  node_clear(c, &z);
}

void evaluation_jet(const expression *e, const phibal_enclosure *parameters,
                    const phibal_enclosure *sums, const phibal_enclosure *x, int order,
                    phi_jet *j) {
  context c = {.parameters = parameters, .sums = sums, .x = x, .order = order, .report = true};
  c.precision = evaluation_precision(&j->d[0], x);
  evaluate_rounded(&c, e, j);
}

void phi_jet_eval(const expression *e, const phibal_enclosure *parameters,
                  const phibal_enclosure *sums, const phibal_enclosure *x, phi_jet *j) {
  context c = {.parameters = parameters, .sums = sums, .x = x, .order = 3};
  c.precision = evaluation_precision(&j->d[0], x);
  evaluate_rounded(&c, e, j);
}

phibal_status phi_eval(const expression *e, const phibal_enclosure *parameters,
                       const phibal_enclosure *sums, const phibal_enclosure *x,
                       phibal_enclosure *value) {
  context c = {.parameters = parameters, .sums = sums, .x = x, .order = 0, .report = true};
  c.precision = evaluation_precision(value, x);
  phi_jet z;
  node_init(&c, &z);
  evaluate(&c, e, &z);
  phibal_enclosure_set(value, &z.d[0]);
  node_clear(&c, &z);
  return z.known ? PHIBAL_OK : PHIBAL_ERROR_DOMAIN;
}
