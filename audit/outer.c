/* F of a section with its first and second partial derivatives in the sums, in enclosures: the
   rules of jets in several variables. A derivative of which it is certain that it vanishes
   identically is left out of products. */
#include "evaluation.h"

typedef struct context {
  const phibal_enclosure *parameters, *sums;
  mpfr_prec_t precision;
  int r;
  bool *exhausted; /* set when memory is out */
} context;

/* A value at d[0], partials at d[1 + i], second partials at second(c, i, j). */
typedef struct node {
  phibal_enclosure *d; /* null when memory is out */
  int known;
  int degree;    /* as in phi_jet, in all sums together */
  unsigned uses; /* bit i: depends on sum i */
} node;

static size_t entries(const context *c) {
  return 1 + (size_t)c->r + (size_t)(c->r * (c->r + 1) / 2);
}

/* The place of the second partial in sums i and j. */
static size_t second(const context *c, int i, int j) {
  const int low = i < j ? i : j, high = i < j ? j : i;
  return 1 + (size_t)c->r + (size_t)(high * (high + 1) / 2 + low);
}

/* Null, and noted, when memory is out. */
static phibal_enclosure *places(const context *c, size_t n) {
  phibal_enclosure *d = phibal_enclosure_vector(n, c->precision);
  if (!d) *c->exhausted = true;
  return d;
}

static void node_init(const context *c, node *z) {
  *z = (node){.d = places(c, entries(c)), .degree = 4};
}

static void node_clear(const context *c, node *z) {
  phibal_enclosure_vector_clear(z->d, entries(c));
}

static void evaluate(const context *c, const expression *e, node *z);

static bool has_first(const node *a, int i) {
  return a->degree >= 1 && (a->uses >> i & 1);
}

static bool has_second(const node *a, int i, int j) {
  return a->degree >= 2 && (a->uses >> i & 1) && (a->uses >> j & 1);
}

/* Sets the partial, or the second partial, of z from its operands; false outside the domain. */
typedef struct operation {
  const context *c;
  const node *a, *b;
  const phibal_enclosure *f; /* derivatives of a function of one argument, at a */
  int f_degree;
  bool (*first)(const struct operation *o, int i, node *z);
  bool (*second)(const struct operation *o, int i, int j, node *z);
} operation;

static bool all_first(const operation *o, node *z) {
  for (int i = 0; i < o->c->r; i++) {
    phibal_enclosure_set_si(&z->d[1 + i], 0);
    if ((z->uses >> i & 1) && !o->first(o, i, z)) return false;
  }
  return true;
}

static bool all_second(const operation *o, node *z) {
  for (int i = 0; i < o->c->r; i++)
    for (int j = 0; j <= i; j++) {
      phibal_enclosure_set_si(&z->d[second(o->c, i, j)], 0);
      if ((z->uses >> i & 1) && (z->uses >> j & 1) && !o->second(o, i, j, z)) return false;
    }
  return true;
}

/* The derivatives of z, whose value is set; at most `most` of value, first, second are known. */
static void differentiate(const operation *o, node *z, int most, int degree) {
  z->uses = o->a->uses | (o->b ? o->b->uses : 0);
  z->degree = z->uses == 0 ? 0 : degree < 4 ? degree : 4;
  z->known = most < 1 ? 0 : 1;
  if (z->uses == 0 && most >= 1) most = 3;
  if (most >= 2 && all_first(o, z)) z->known = 2;
  if (most >= 3 && z->known == 2 && all_second(o, z)) z->known = 3;
}

static int less(int a, int b) {
  return a < b ? a : b;
}

static int both_known(const node *a, const node *b) {
  return less(a->known, b->known);
}

static const phibal_enclosure *first_of(const node *a, int i) {
  return &a->d[1 + i];
}

/* z = z + n a b, where the derivatives exist; null for one that vanishes. */
static bool gather(phibal_enclosure *z, long n, const phibal_enclosure *a,
                   const phibal_enclosure *b) {
  return !a || !b || evaluation_add_products(z, n, a, b, NULL);
}

static const phibal_enclosure *d1(const node *a, int i) {
  return has_first(a, i) ? first_of(a, i) : NULL;
}

static const phibal_enclosure *d2(const operation *o, const node *a, int i, int j) {
  return has_second(a, i, j) ? &a->d[second(o->c, i, j)] : NULL;
}

/* a + b or a - b: f[0] is the factor of b. */
static bool add_terms(const operation *o, const phibal_enclosure *a, const phibal_enclosure *b,
                      phibal_enclosure *z) {
  if (a) phibal_enclosure_set(z, a);
  return gather(z, 1, o->f, b);
}

static bool sum_first(const operation *o, int i, node *z) {
  return add_terms(o, d1(o->a, i), d1(o->b, i), &z->d[1 + i]);
}

static bool sum_second(const operation *o, int i, int j, node *z) {
  return add_terms(o, d2(o, o->a, i, j), d2(o, o->b, i, j), &z->d[second(o->c, i, j)]);
}

static bool product_first(const operation *o, int i, node *z) {
  return gather(&z->d[1 + i], 1, d1(o->a, i), &o->b->d[0]) &&
         gather(&z->d[1 + i], 1, &o->a->d[0], d1(o->b, i));
}

static bool product_second(const operation *o, int i, int j, node *z) {
  phibal_enclosure *t = &z->d[second(o->c, i, j)];
  return gather(t, 1, d2(o, o->a, i, j), &o->b->d[0]) && gather(t, 1, d1(o->a, i), d1(o->b, j)) &&
         gather(t, 1, d1(o->a, j), d1(o->b, i)) && gather(t, 1, &o->a->d[0], d2(o, o->b, i, j));
}

/* z = a/b: b z_i = a_i - z b_i, b z_ij = a_ij - z_i b_j - z_j b_i - z b_ij */
static bool quotient_first(const operation *o, int i, node *z) {
  phibal_enclosure *t = &z->d[1 + i];
  if (d1(o->a, i)) phibal_enclosure_set(t, d1(o->a, i));
  return gather(t, -1, &z->d[0], d1(o->b, i)) &&
         phibal_enclosure_div(t, t, &o->b->d[0]) == PHIBAL_OK;
}

static bool quotient_second(const operation *o, int i, int j, node *z) {
  phibal_enclosure *t = &z->d[second(o->c, i, j)];
  if (d2(o, o->a, i, j)) phibal_enclosure_set(t, d2(o, o->a, i, j));
  return gather(t, -1, d1(z, i), d1(o->b, j)) && gather(t, -1, d1(z, j), d1(o->b, i)) &&
         gather(t, -1, &z->d[0], d2(o, o->b, i, j)) &&
         phibal_enclosure_div(t, t, &o->b->d[0]) == PHIBAL_OK;
}

static bool chain_first(const operation *o, int i, node *z) {
  return o->f_degree < 1 || gather(&z->d[1 + i], 1, &o->f[1], d1(o->a, i));
}

static bool chain_second(const operation *o, int i, int j, node *z) {
  phibal_enclosure *t = &z->d[second(o->c, i, j)];
  const phibal_enclosure *a = d1(o->a, i), *b = d1(o->a, j);
  if (o->f_degree >= 2 && a && i == j && !evaluation_add_power(t, &o->f[2], a, 2)) return false;
  if (o->f_degree >= 2 && a && b && i != j && !evaluation_add_products(t, 1, &o->f[2], a, b))
    return false;
  return o->f_degree < 1 || gather(t, 1, &o->f[1], d2(o, o->a, i, j));
}

static void forget_rest(const context *c, node *z) {
  const size_t known = z->known == 0 ? 0 : z->known == 1 ? 1 : 1 + (size_t)c->r;
  for (size_t i = known; i < entries(c) && z->known < 3; i++) function_forget(&z->d[i]);
}

static void constant(const context *c, const phibal_enclosure *value, node *z) {
  for (size_t i = 1; i < entries(c); i++) phibal_enclosure_set_si(&z->d[i], 0);
  if (value) phibal_enclosure_set(&z->d[0], value);
  z->known = 3;
  z->degree = 0;
  z->uses = 0;
}

static void sum_node(const context *c, int index, node *z) {
  constant(c, &c->sums[index], z);
  phibal_enclosure_set_si(&z->d[1 + index], 1);
  z->degree = 1;
  z->uses = 1u << index;
}

/* z = a + factor b */
static void add(const context *c, const node *a, const node *b, long factor, node *z) {
  phibal_enclosure f;
  phibal_enclosure_init(&f, 2);
  phibal_enclosure_set_si(&f, factor);
  const operation o = {c, a, b, &f, 0, sum_first, sum_second};
  const phibal_status status = factor < 0 ? phibal_enclosure_sub(&z->d[0], &a->d[0], &b->d[0])
                                          : phibal_enclosure_add(&z->d[0], &a->d[0], &b->d[0]);
  const int degree = a->degree > b->degree ? a->degree : b->degree;
  differentiate(&o, z, status == PHIBAL_OK ? both_known(a, b) : 0, degree);
  phibal_enclosure_clear(&f);
}

static void multiply(const context *c, const node *a, const node *b, node *z) {
  const operation o = {c, a, b, NULL, 0, product_first, product_second};
  const phibal_status status = phibal_enclosure_mul(&z->d[0], &a->d[0], &b->d[0]);
  differentiate(&o, z, status == PHIBAL_OK ? both_known(a, b) : 0, a->degree + b->degree);
}

static void divide(const context *c, const node *a, const node *b, node *z) {
  const operation o = {c, a, b, NULL, 0, quotient_first, quotient_second};
  const phibal_status status = phibal_enclosure_div(&z->d[0], &a->d[0], &b->d[0]);
  differentiate(&o, z, status == PHIBAL_OK ? both_known(a, b) : 0, b->degree == 0 ? a->degree : 4);
}

/* f(a) from f[0..known-1] */
static void chain(const context *c, const phibal_enclosure *f, int known, int f_degree,
                  const node *a, node *z) {
  const operation o = {c, a, NULL, f, f_degree, chain_first, chain_second};
  if (known > 0) phibal_enclosure_set(&z->d[0], &f[0]);
  differentiate(&o, z, less(known, a->known),
                f_degree >= 4 || a->degree >= 4 ? 4 : f_degree * a->degree);
}

static void function(const context *c, expression_kind kind, const node *a, node *z) {
  phibal_enclosure *f = places(c, 3);
  if (!f) return;
  const int known = function_derivatives(kind, a->degree ? 2 : 0, &a->d[0], f);
  chain(c, f, known, 4, a, z);
  phibal_enclosure_vector_clear(f, 3);
}

static void power_constant(const context *c, const node *a, const phibal_enclosure *exponent,
                           mpz_srcptr integer, node *z) {
  phibal_enclosure *f = places(c, 3);
  int degree;
  if (!f) return;
  const int known =
      function_power_derivatives(a->degree ? 2 : 0, &a->d[0], exponent, integer, f, &degree);
  chain(c, f, known, degree, a, z);
  phibal_enclosure_vector_clear(f, 3);
}

/* a^b = e^(b log a), its value by the rule of powers. */
static void power_variable(const context *c, const node *a, const node *b, node *z) {
  node logarithm, product;
  node_init(c, &logarithm);
  node_init(c, &product);
  if (logarithm.d && product.d) {
    function(c, EXPRESSION_LOG, a, &logarithm);
    if (logarithm.known) multiply(c, b, &logarithm, &product);
    if (product.known) function(c, EXPRESSION_EXP, &product, z);
    if (phibal_enclosure_pow(&z->d[0], &a->d[0], &b->d[0]) != PHIBAL_OK)
      z->known = 0;
    else if (z->known == 0)
      z->known = 1;
  }
  node_clear(c, &logarithm);
  node_clear(c, &product);
}

static void power(const context *c, const expression *e, const node *a, const node *b, node *z) {
  if (b->degree == 0)
    power_constant(c, a, &b->d[0], evaluation_integer(e->argument[1]), z);
  else
    power_variable(c, a, b, z);
}

static void copy(const context *c, const node *from, node *z) {
  for (size_t i = 0; i < entries(c); i++) phibal_enclosure_set(&z->d[i], &from->d[i]);
  z->known = from->known;
  z->degree = from->degree;
  z->uses = from->uses;
}

static void maximum(const context *c, const node *a, const node *b, node *z) {
  if (phibal_enclosure_is_less(&b->d[0], &a->d[0])) {
    copy(c, a, z);
  } else if (phibal_enclosure_is_less(&a->d[0], &b->d[0])) {
    copy(c, b, z);
  } else {
    if (!(a->uses | b->uses)) constant(c, NULL, z);
    function_max(&z->d[0], &a->d[0], &b->d[0]);
    if (a->uses | b->uses) z->known = 1;
  }
}

static void negate(const context *c, const node *a, node *z) {
  copy(c, a, z);
  for (size_t i = 0; i < entries(c); i++) phibal_enclosure_neg(&z->d[i], &z->d[i]);
}

static void combine(const context *c, const expression *e, const node *a, const node *b, node *z) {
  switch (e->kind) {
  case EXPRESSION_NEGATE:
    negate(c, a, z);
    return;
  case EXPRESSION_ADD:
    add(c, a, b, 1, z);
    return;
  case EXPRESSION_SUBTRACT:
    add(c, a, b, -1, z);
    return;
  case EXPRESSION_MULTIPLY:
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
    function(c, e->kind, a, z);
  }
}

static void inner_node(const context *c, const expression *e, node *z) {
  const bool two = expression_arguments(e->kind) == 2;
  node a, b = {0};
  node_init(c, &a);
  if (a.d) evaluate(c, e->argument[0], &a);
  if (two) {
    node_init(c, &b);
    if (b.d) evaluate(c, e->argument[1], &b);
  }
  z->uses = a.uses | b.uses;
  if (a.known > 0 && (!two || b.known > 0)) combine(c, e, &a, two ? &b : NULL, z);
  node_clear(c, &a);
  if (two) node_clear(c, &b);
}

static void evaluate(const context *c, const expression *e, node *z) {
  switch (e->kind) {
  case EXPRESSION_NUMBER:
    constant(c, NULL, z);
    phibal_enclosure_set_q(&z->d[0], e->number);
    break;
  case EXPRESSION_PARAMETER:
    constant(c, &c->parameters[e->index], z);
    break;
  case EXPRESSION_SUM:
    sum_node(c, e->index, z);
    break;
  case EXPRESSION_VARIABLE: /* has no one value here */
    break;
  default:
    inner_node(c, e, z);
  }
  forget_rest(c, z);
}

phibal_status phi_outer_eval(const phi_section *section, const phibal_enclosure *parameters,
                             const phibal_enclosure *sums, phibal_enclosure *value,
                             phibal_enclosure *partials, phibal_enclosure *second_partials,
                             int *known) {
  bool exhausted = false;
  context c = {.parameters = parameters, .sums = sums, .exhausted = &exhausted};
  c.r = section->sums;
  c.precision = evaluation_precision(value, NULL);
  node z;
  node_init(&c, &z);
  *known = 0;
  if (z.d) {
    evaluate(&c, section->expression, &z);
    *known = exhausted ? 0 : z.known;
    phibal_enclosure_set(value, &z.d[0]);
    for (int i = 0; i < c.r; i++) {
      if (partials) phibal_enclosure_set(&partials[i], first_of(&z, i));
      for (int j = 0; j < c.r && second_partials; j++)
        phibal_enclosure_set(&second_partials[i * c.r + j], &z.d[second(&c, i, j)]);
    }
  }
  node_clear(&c, &z);
  return exhausted ? phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory") : PHIBAL_OK;
}
