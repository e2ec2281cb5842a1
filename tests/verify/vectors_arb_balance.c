/* Prices, averages, losses and whole steps beside Arb. */
#include "tests/reference/arb_formula.h"
#include "vectors_arb_checks.h"
#include "vectors_arb_routing.h"

/* Potentials: (P.g) of m >= 0. */

static const char *const names[] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored) name,
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
};

static void power(arb_t z, const arb_t x, double exponent_of, double less) {
  if (arb_is_zero(x)) {
    arb_zero(z);
    return;
  }
  arb_t y;
  arb_init(y);
  arb_set_d(y, exponent_of);
  arb_set_d(z, less);
  arb_sub(y, y, z, ARB_BITS);
  arb_log(z, x, ARB_BITS);
  arb_mul(z, z, y, ARB_BITS);
  arb_exp(z, z, ARB_BITS);
  arb_clear(y);
}

/* The price's row of potential_formulas.def, or null. */
static const char *formula_of(const char *potential) {
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++)
    if (!strcmp(names[id], potential)) return potential_formulas[id][1];
  return NULL;
}

/* m[E] are changed where there is a floor; *floored counts those. */
static void prices(const char *potential, double a, int64_t E, arb_ptr m, arb_ptr q,
                   int64_t *floored) {
  arb_t s, t;
  arb_init(s);
  arb_init(t);
  bool renyi = !strcmp(potential, "renyi"), tsallis = !strcmp(potential, "tsallis");
  bool floors = !strcmp(potential, "negentropy") || renyi || (tsallis && a < 1);
  *floored = 0;
  int64_t maxima = 0, best = 0;
  for (int64_t e = 0; e < E; e++) {
    arb_set_d(t, 0x1p-126);
    if (floors && arb_lt(m + e, t)) {
      arb_set(m + e, t);
      ++*floored;
    }
    if (renyi) {
      power(t, m + e, a, 0);
      arb_add(s, s, t, ARB_BITS);
    }
    if (arb_gt(m + e, m + best)) best = e;
  }
  for (int64_t e = 0; e < E; e++) maxima += arb_equal(m + e, m + best);
  for (int64_t e = 0; e < E; e++) {
    arb_ptr z = q + e, x = m + e;
    arb_set_d(t, a);
    const char *text = formula_of(potential);
    if (text) {
      formula_evaluate(z, text, x, t, ARB_BITS);
    } else if (!strcmp(potential, "lp") && isinf(a)) {
      arb_set_si(z, arb_equal(x, m + best));
      arb_div_si(z, z, maxima, ARB_BITS);
    } else if (!strcmp(potential, "lp") && a == 1) {
      arb_set_si(z, arb_is_positive(x));
    } else if (!strcmp(potential, "lp")) {
      power(z, x, a, 1);
    } else if (!strcmp(potential, "negentropy")) {
      arb_log(z, x, ARB_BITS);
      arb_add_ui(z, z, 1, ARB_BITS);
    } else if (tsallis) {
      power(z, x, a, 1);
      arb_mul(z, z, t, ARB_BITS);
      arb_sub_ui(z, z, 1, ARB_BITS);
      arb_sub_ui(t, t, 1, ARB_BITS);
      arb_div(z, z, t, ARB_BITS);
    } else if (renyi) {
      power(z, x, a, 1);
      arb_mul(z, z, t, ARB_BITS);
      arb_sub_ui(t, t, 1, ARB_BITS);
      arb_mul(t, t, s, ARB_BITS);
      arb_div(z, z, t, ARB_BITS);
    } else {
      cr_assert_fail("no price of %s here", potential);
    }
  }
  arb_clear(s);
  arb_clear(t);
}

static void prices_of(const vector_case *c, int64_t E, arb_ptr m, arb_ptr q, int64_t *floored) {
  const char *potential = vector_text(c, "potential");
  prices(potential, vector_number(c, "parameter"), E, m, q, floored);
}

static void load_vector(arb_ptr to, const safetensors_tensor *t, int64_t first, int64_t n) {
  for (int64_t i = 0; i < n; i++) arb_set_d(to + i, vector_real(t, first + i));
}

/* q -= its mean. */
static void centre(arb_ptr q, int64_t E) {
  arb_t mean;
  arb_init(mean);
  for (int64_t e = 0; e < E; e++) arb_add(mean, mean, q + e, ARB_BITS);
  arb_div_si(mean, mean, E, ARB_BITS);
  for (int64_t e = 0; e < E; e++) arb_sub(q + e, q + e, mean, ARB_BITS);
  arb_clear(mean);
}

void check_price(vector_case *c) {
  const safetensors_tensor *given = vector_in(c, "m");
  int64_t E = given->elements, floored;
  arb_ptr m = _arb_vec_init(E), q = _arb_vec_init(E);
  arb_t largest, size;
  arb_init(largest);
  arb_init(size);
  load_vector(m, given, 0, E);
  prices_of(c, E, m, q, &floored);
  for (int64_t e = 0; e < E; e++) {
    vector_check(c, "price", e, q + e, NULL);
    arb_abs(size, q + e);
    if (arb_gt(size, largest)) arb_set(largest, size);
  }
  centre(q, E);
  for (int64_t e = 0; e < E; e++) vector_check(c, "centred", e, q + e, largest);
  for (int64_t i = 0; i < 2; i++) vector_check_integer(c, "floored", i, floored);
  arb_clear(largest);
  arb_clear(size);
  _arb_vec_clear(m, E);
  _arb_vec_clear(q, E);
}

/* (M1) to m. */
static void average(arb_ptr m, arb_srcptr P, double eta, int64_t E) {
  arb_t t;
  arb_init(t);
  for (int64_t e = 0; e < E; e++) {
    arb_sub(t, P + e, m + e, ARB_BITS);
    arb_t h;
    arb_init(h);
    arb_set_d(h, eta);
    arb_addmul(m + e, t, h, ARB_BITS);
    arb_clear(h);
  }
  arb_clear(t);
}

void check_ema(vector_case *c) {
  const safetensors_tensor *given = vector_in(c, "m");
  int64_t E = given->elements;
  arb_ptr m = _arb_vec_init(E), P = _arb_vec_init(E);
  load_vector(m, given, 0, E);
  load_vector(P, vector_in(c, "loads"), 0, E);
  average(m, P, vector_number(c, "eta"), E);
  for (int64_t e = 0; e < E; e++) vector_check(c, "m", e, m + e, NULL);
  _arb_vec_clear(m, E);
  _arb_vec_clear(P, E);
}

/* (L1), (L3): loss = alpha E sum q P; terms likewise of |q P|. */
static void loss_of(arb_t loss, arb_t terms, double alpha, int64_t E, arb_srcptr q, arb_srcptr P) {
  arb_t t;
  arb_init(t);
  arb_zero(loss);
  arb_zero(terms);
  for (int64_t e = 0; e < E; e++) {
    arb_mul(t, q + e, P + e, ARB_BITS);
    arb_add(loss, loss, t, ARB_BITS);
    arb_abs(t, t);
    arb_add(terms, terms, t, ARB_BITS);
  }
  arb_set_d(t, alpha);
  arb_mul_si(t, t, E, ARB_BITS);
  arb_mul(loss, loss, t, ARB_BITS);
  arb_mul(terms, terms, t, ARB_BITS);
  arb_clear(t);
}

void check_losses(vector_case *c) {
  bool is_switch = !strcmp(c->operation, "switch-loss");
  const safetensors_tensor *given = vector_in(c, is_switch ? "frequencies" : "m");
  int64_t E = given->elements, floored;
  arb_ptr m = _arb_vec_init(E), q = _arb_vec_init(E), P = _arb_vec_init(E);
  arb_t loss, terms;
  arb_init(loss);
  arb_init(terms);
  load_vector(m, given, 0, E);
  load_vector(P, vector_in(c, "loads"), 0, E);
  if (is_switch)
    _arb_vec_set(q, m, E);
  else
    prices_of(c, E, m, q, &floored);
  loss_of(loss, terms, vector_number(c, "alpha"), E, q, P);
  vector_check(c, "loss", 0, loss, terms);
  centre(q, E);
  for (int64_t e = 0; is_switch && e < E; e++) vector_check(c, "centred", e, q + e, NULL);
  arb_clear(loss);
  arb_clear(terms);
  _arb_vec_clear(m, E);
  _arb_vec_clear(q, E);
  _arb_vec_clear(P, E);
}

/* (L4) */
void check_sequence_loss(vector_case *c) {
  routing r = routing_of(c);
  int64_t sequences = vector_count(c, "sequences"), n = r.tokens / sequences, total = 0;
  int64_t count[EXPERTS_MAX];
  token t;
  token_init(&t, r.experts);
  arb_ptr P = _arb_vec_init(r.experts), f = _arb_vec_init(r.experts);
  arb_t loss, one, terms;
  arb_init(loss);
  arb_init(one);
  arb_init(terms);
  for (int64_t b = 0; b < sequences; b++) {
    int64_t counted = loads_of(&r, b * n, n, &t, P, count);
    if (!counted) continue;
    for (int64_t e = 0; e < r.experts; e++) frequency(f + e, count[e], r.active * counted);
    loss_of(one, terms, vector_number(c, "alpha"), r.experts, f, P);
    arb_addmul_si(loss, one, counted, ARB_BITS);
    total += counted;
  }
  if (total) arb_div_si(loss, loss, total, ARB_BITS);
  /* Below 2^-126 an error is absolute: of the mean probabilities 2^-149 each, and of the loss. */
  arb_set_d(terms, (vector_number(c, "alpha") * (double)r.experts + 1) * 0x1p-126);
  arb_add(terms, terms, loss, ARB_BITS);
  vector_check(c, "loss", 0, loss, terms);
  arb_clear(loss);
  arb_clear(one);
  arb_clear(terms);
  _arb_vec_clear(P, r.experts);
  _arb_vec_clear(f, r.experts);
  token_clear(&t, r.experts);
}

/* (L5) */
void check_z_loss(vector_case *c) {
  const safetensors_tensor *lse = vector_in(c, "logsumexp"), *mask = vector_in(c, "mask");
  int64_t n = 0;
  arb_t sum, x;
  arb_init(sum);
  arb_init(x);
  for (int64_t i = 0; i < lse->elements; i++) {
    if (vector_masked(mask, i)) continue;
    n++;
    arb_set_d(x, vector_real(lse, i));
    arb_addmul(sum, x, x, ARB_BITS);
  }
  arb_set_d(x, vector_number(c, "coefficient"));
  arb_mul(sum, sum, x, ARB_BITS);
  if (n) arb_div_si(sum, sum, n, ARB_BITS);
  vector_check(c, "loss", 0, sum, NULL);
  arb_clear(sum);
  arb_clear(x);
}

void check_frequencies(vector_case *c) {
  const safetensors_tensor *count = vector_in(c, "counts");
  arb_t f;
  arb_init(f);
  for (int64_t e = 0; e < count->elements; e++) {
    frequency(f, vector_integer(count, e), vector_count(c, "k") * vector_count(c, "tokens"));
    vector_check(c, "frequencies", e, f, NULL);
  }
  arb_clear(f);
}

/* Steps: (M5), (L1), (L2), (L3) of one layer. */
typedef struct step {
  vector_case *c;
  routing r;
  token t;
  int64_t layer, global; /* global: unmasked tokens */
  arb_ptr m, next, P, q, g;
  arb_t loss, one, scale;
} step;

static void step_price(step *s, int64_t first, int64_t n) {
  const vector_case *c = s->c;
  int64_t E = s->r.experts, count[EXPERTS_MAX], floored;
  const char *frequencies = vector_text(c, "frequencies");
  bool so_far = !frequencies || !strcmp(frequencies, "global");
  int64_t from = so_far ? 0 : first,
          counted = loads_of(&s->r, from, first + n - from, &s->t, s->P, count);
  if (frequencies) {
    for (int64_t e = 0; e < E; e++) frequency(s->q + e, count[e], s->r.active * counted);
    return;
  }
  _arb_vec_set(s->next, s->m, E);
  average(s->next, s->P, vector_number(c, "eta"), E);
  arb_ptr raised = _arb_vec_init(E);
  _arb_vec_set(raised, s->next, E);
  prices_of(c, E, raised, s->q, &floored);
  _arb_vec_clear(raised, E);
}

static void step_micro_batch(step *s, int64_t first, int64_t n) {
  vector_case *c = s->c;
  int64_t E = s->r.experts, count[EXPERTS_MAX];
  double alpha = vector_number(c, "alpha");
  int64_t counted = loads_of(&s->r, first, n, &s->t, s->P, count);
  if (!counted) return;
  step_price(s, first, n);
  loads_of(&s->r, first, n, &s->t, s->P, count);
  arb_t terms;
  arb_init(terms);
  loss_of(s->one, terms, alpha, E, s->q, s->P);
  arb_clear(terms);
  arb_mul_si(s->one, s->one, counted, ARB_BITS);
  arb_div_si(s->one, s->one, s->global, ARB_BITS);
  arb_add(s->loss, s->loss, s->one, ARB_BITS);
  arb_set_d(s->scale, alpha);
  arb_mul_si(s->scale, s->scale, E, ARB_BITS);
  arb_div_si(s->scale, s->scale, s->global, ARB_BITS);
  for (int64_t i = first; i < first + n; i++) {
    if (vector_masked(s->r.mask, i)) continue;
    token_probabilities(&s->r, i, &s->t);
    _arb_vec_zero(s->g, E);
    price_part(&s->r, &s->t, s->q, s->scale, s->g);
    for (int64_t e = 0; e < E; e++)
      vector_check(c, "logit-gradient", (s->layer * s->r.tokens + i) * E + e, s->g + e, NULL);
  }
}

static void step_layer(step *s) {
  vector_case *c = s->c;
  int64_t E = s->r.experts, A = vector_count(c, "micro-batches"), n = s->r.tokens / A;
  int64_t count[EXPERTS_MAX];
  s->r.base = s->layer * s->r.tokens * E;
  if (vector_in(c, "m")) load_vector(s->m, vector_in(c, "m"), s->layer * E, E);
  arb_zero(s->loss);
  for (int64_t a = 0; a < A; a++) step_micro_batch(s, a * n, n);
  vector_check(c, "loss", s->layer, s->loss, NULL);
  s->global = loads_of(&s->r, 0, s->r.tokens, &s->t, s->P, count);
  for (int64_t e = 0; e < E; e++) {
    vector_check_integer(c, "counts", s->layer * E + e, count[e]);
    vector_check(c, "m", s->layer * E + e, s->next + e, NULL);
  }
}

void check_step(vector_case *c) {
  step s = {.c = c, .r = routing_of(c)};
  int64_t E = s.r.experts, layers = vector_in(c, "logits")->shape[0];
  arb_ptr *vectors[] = {&s.m, &s.next, &s.P, &s.q, &s.g};
  for (int i = 0; i < 5; i++) *vectors[i] = _arb_vec_init(E);
  arb_init(s.loss);
  arb_init(s.one);
  arb_init(s.scale);
  token_init(&s.t, E);
  for (int64_t i = 0; i < s.r.tokens; i++) s.global += !vector_masked(s.r.mask, i);
  for (s.layer = 0; s.layer < layers; s.layer++) step_layer(&s);
  token_clear(&s.t, E);
  arb_clear(s.loss);
  arb_clear(s.one);
  arb_clear(s.scale);
  for (int i = 0; i < 5; i++) _arb_vec_clear(*vectors[i], E);
}
