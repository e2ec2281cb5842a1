/* Experts that compute nothing (E10): the dispatch without them, what identities add to the layer's
   output, and the gradients. */
#include "case_number.h"
#include "judgement.h"
#include "shapes.h"
#include <math.h>
#include <phibal/reference_zero_experts.h>
#include <phibal/router.h>
#include <phibal/zero_experts.h>
#include <string.h>

enum { PRECISION = 640 };
enum { STREAM_ZERO_EXPERTS = 152 };

static const char *const zero_kinds[] = {
    "ordinary",   "zero-experts", "null-experts", "zero-scale", "several-identities", "padding",
    "cancelling", "one-token",    "no-token",     "one-expert", "odd-experts",        "k-one"};

enum { ZERO_KINDS = sizeof zero_kinds / sizeof *zero_kinds };

const char *operation_kind_zero_experts(uint64_t number) {
  return zero_kinds[number % ZERO_KINDS];
}

typedef struct zero_draw {
  int64_t tokens, width;
  int32_t experts, zeros, active;
  bool identity, padding;
  float scale;
} zero_draw;

static zero_draw draw_case(const operation_case *c, random_stream *r) {
  static const int32_t odd[] = {3, 5, 7, 11, 13, 29, 61, 127, 251, 509, 1021};
  static const float scales[] = {1, 1, 2.5f, 6, 0.5f};
  const bool small = case_is_small(c->number);
  zero_draw d = {.tokens = random_integer(r, 2, small ? 4 : 40),
                 .width = random_integer(r, 1, small ? 4 : 50),
                 .experts = (int32_t)random_integer(r, 2, small ? 5 : 16)};
  if (case_is_kind(c, "odd-experts")) d.experts = odd[random_integer(r, 0, small ? 1 : 10)];
  if (case_is_kind(c, "one-token")) d.tokens = 1;
  if (case_is_kind(c, "no-token")) d.tokens = 0;
  if (case_is_kind(c, "one-expert")) d.experts = 1;
  d.zeros = (int32_t)random_integer(r, 0, d.experts);
  d.active = (int32_t)random_integer(r, 1, d.experts < 8 ? d.experts : 8);
  d.identity = random_integer(r, 0, 3) > 0;
  d.padding = case_is_kind(c, "padding") || random_integer(r, 0, 3) == 0;
  d.scale = scales[random_integer(r, 0, 4)];
  if (case_is_kind(c, "ordinary")) d.padding = false;
  if (case_is_kind(c, "k-one")) d.active = 1;
  if (case_is_kind(c, "null-experts")) d.identity = false;
  if (case_is_kind(c, "zero-scale")) d.scale = 2.5f;
  if (case_is_kind(c, "several-identities") && d.active < 2) d.active = 2;
  if (case_is_kind(c, "several-identities") || case_is_kind(c, "zero-scale") ||
      case_is_kind(c, "cancelling") || case_is_kind(c, "padding"))
    d.identity = true;
  if (d.zeros == 0) d.zeros = (d.experts + 1) / 2;
  /* A layer has none: what is wrong there is not for their sake. */
  const bool turn = c->number / ZERO_KINDS % 2 == 0;
  if ((case_is_kind(c, "ordinary") && turn) || case_is_kind(c, "one-expert") ||
      (case_is_kind(c, "odd-experts") && !turn))
    d.zeros = 0;
  if (case_is_kind(c, "several-identities") && d.zeros < 2) d.zeros = 2;
  return d;
}

/* Distinct experts of each token; the last one of padding would compute nothing. */
static void draw_routes(random_stream *r, const zero_draw *d, int32_t *experts, float *gates) {
  for (int64_t t = 0; t < d->tokens; t++) {
    int32_t *own = experts + t * d->active;
    const bool whole = d->padding && (t == 1 || random_integer(r, 0, 4) == 0);
    for (int32_t s = 0; s < d->active; s++) {
      int32_t e = (int32_t)random_integer(r, 0, d->experts - 1);
      for (int32_t i = 0; i < s; i++)
        if (own[i] == e) {
          e = (e + 1) % d->experts;
          i = -1;
        }
      own[s] = e;
      gates[t * d->active + s] = d->scale * (float)(random_uniform(r, 0.05, 1) / (double)d->active);
    }
    for (int32_t s = 0; d->padding && s < d->active; s++)
      if (whole || random_integer(r, 0, 5) == 0) own[s] = -1;
  }
}

static void set_flags(operation_case *c, const zero_draw *d, const int32_t *experts) {
  bool padding = false, zero = false, several = false;
  for (int64_t t = 0; t < d->tokens; t++) {
    int zeros = 0;
    for (int32_t s = 0; s < d->active; s++) {
      padding |= experts[t * d->active + s] < 0;
      zeros += experts[t * d->active + s] >= d->experts - d->zeros;
    }
    zero |= zeros > 0;
    several |= zeros > 1;
  }
  if (padding) case_flag(c, FLAG_PADDING);
  if (zero) case_flag(c, FLAG_ZERO_EXPERTS);
  if (zero && !d->identity) case_flag(c, FLAG_NULL_EXPERTS);
  if (zero && d->identity && (d->scale < 1 || d->scale > 1)) case_flag(c, FLAG_ZERO_SCALE);
  if (several && d->identity) case_flag(c, FLAG_SEVERAL_IDENTITIES);
}

phibal_status operation_zero_experts_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_ZERO_EXPERTS, c->number);
  const zero_draw d = draw_case(c, &r);
  const int64_t k = d.active, cells = d.tokens * d.width;
  int32_t *experts = case_add_input(c, "experts", TENSOR_I32, 2, d.tokens, k);
  float *gates = case_add_input(c, "gates", TENSOR_F32, 2, d.tokens, k);
  float *x = case_add_input(c, "x", TENSOR_F32, 2, d.tokens, d.width);
  float *y = case_add_input(c, "y", TENSOR_F32, 2, d.tokens, d.width);
  float *y_gradient = case_add_input(c, "y-gradient", TENSOR_F32, 2, d.tokens, d.width);
  float *x_gradient = case_add_input(c, "x-gradient", TENSOR_F32, 2, d.tokens, d.width);
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  draw_routes(&r, &d, experts, gates);
  fill_normal(&r, x, cells);
  fill_normal(&r, y, cells);
  fill_normal(&r, y_gradient, cells);
  fill_normal(&r, x_gradient, cells);
  /* What is added cancels, but for a rounding. */
  for (int64_t t = 0; case_is_kind(c, "cancelling") && t < d.tokens; t++) {
    double sum = 0;
    for (int64_t i = t * k; i < (t + 1) * k; i++)
      if (experts[i] >= d.experts - d.zeros) sum += (double)gates[i];
    for (int64_t i = t * d.width; i < (t + 1) * d.width; i++) {
      y[i] = (float)(-sum * (double)x[i]);
      x_gradient[i] = (float)(-sum * (double)y_gradient[i]);
    }
  }
  case_integer(c, "experts", d.experts);
  case_integer(c, "zero-experts", d.zeros);
  case_integer(c, "k", k);
  case_text(c, "output", d.identity ? "identity" : "null");
  case_real(c, "scale", (double)d.scale);
  set_flags(c, &d, experts);
  case_add_output(c, OUTPUT_ZERO_REAL, "real", TENSOR_I32, 2, d.tokens, k);
  case_add_output(c, OUTPUT_ZERO_Y, "y", TENSOR_F32, 2, d.tokens, d.width);
  case_add_output(c, OUTPUT_ZERO_X_GRADIENT, "x-gradient", TENSOR_F32, 2, d.tokens, d.width);
  case_add_output(c, OUTPUT_ZERO_GATE_GRADIENT, "gate-gradient", TENSOR_F32, 2, d.tokens, k);
  return PHIBAL_OK;
}

typedef struct zero_case {
  phibal_zero_output output;
  int64_t tokens, width;
  int32_t active, experts_count, zeros;
  const int32_t *experts;
  const float *gates, *x, *y, *y_gradient, *x_gradient;
} zero_case;

static zero_case zero_of(const operation_case *c) {
  const tensor *x = case_input(c, "x"), *experts = case_input(c, "experts");
  const bool identity = strcmp(case_get_text(c, "output"), "identity") == 0;
  return (zero_case){.output = identity ? PHIBAL_ZERO_IDENTITY : PHIBAL_ZERO_NULL,
                     .tokens = x->shape[0],
                     .width = x->shape[1],
                     .active = (int32_t)experts->shape[1],
                     .experts_count = (int32_t)case_get_integer(c, "experts"),
                     .zeros = (int32_t)case_get_integer(c, "zero-experts"),
                     .experts = experts->data,
                     .gates = case_input_data(c, "gates"),
                     .x = x->data,
                     .y = case_input_data(c, "y"),
                     .y_gradient = case_input_data(c, "y-gradient"),
                     .x_gradient = case_input_data(c, "x-gradient")};
}

phibal_status operation_zero_experts_cpu(operation_case *c) {
  const zero_case z = zero_of(c);
  float *y = case_output_data(c, "y"), *x_gradient = case_output_data(c, "x-gradient");
  float *gate_gradient = case_output_data(c, "gate-gradient");
  const size_t bytes = sizeof(float) * (size_t)(z.tokens * z.width);
  if (bytes) memcpy(y, z.y, bytes);
  if (bytes) memcpy(x_gradient, z.x_gradient, bytes);
  for (int64_t i = 0; i < z.tokens * z.active; i++) gate_gradient[i] = 0;
  phibal_status status = phibal_zero_experts_dispatch(z.tokens, z.active, z.experts_count, z.zeros,
                                                      z.experts, case_output_data(c, "real"));
  if (!status)
    status = phibal_zero_experts(z.output, z.tokens, z.active, z.experts_count, z.zeros, z.width,
                                 z.experts, z.gates, z.x, y);
  if (!status)
    status = phibal_zero_experts_backward(z.output, z.tokens, z.active, z.experts_count, z.zeros,
                                          z.width, z.experts, z.gates, z.x, z.y_gradient,
                                          x_gradient, gate_gradient);
  return status;
}

/* One token; what identities add nothing to is a copy. v [4 d + 2]. */
static phibal_status judge_token(judgement *j, const operation_case *c, const zero_case *z,
                                 int64_t t, phibal_enclosure *v) {
  const int64_t d = z->width, k = z->active;
  const int32_t *own = z->experts + t * k, first = z->experts_count - z->zeros;
  phibal_enclosure *y_terms = v + d, *back = v + 2 * d, *back_terms = v + 3 * d, *gate = v + 4 * d;
  const phibal_reference_zero_token token = {.active = z->active,
                                             .first_zero = first,
                                             .width = d,
                                             .experts = own,
                                             .gates = z->gates + t * k,
                                             .x = z->x + t * d,
                                             .y = z->y + t * d,
                                             .y_gradient = z->y_gradient + t * d,
                                             .x_gradient = z->x_gradient + t * d};
  const phibal_reference_zero_results results = {
      {v, y_terms}, {back, back_terms}, {gate, gate + 1}};
  phibal_status status = phibal_reference_zero_experts(z->output, token, PRECISION, results);
  if (status) return status;
  bool some = false;
  for (int64_t s = 0; s < k; s++) {
    const int64_t i = t * k + s;
    const bool identity = own[s] >= first && z->output == PHIBAL_ZERO_IDENTITY;
    some |= identity;
    judge_integer(j, OUTPUT_ZERO_REAL, case_output(c, "real"), i, own[s] < first ? own[s] : -1);
    if (identity)
      judge_real(j, OUTPUT_ZERO_GATE_GRADIENT, case_output(c, "gate-gradient"), i, gate, gate + 1);
    else
      judge_exact(j, OUTPUT_ZERO_GATE_GRADIENT, case_output(c, "gate-gradient"), i, 0);
  }
  const tensor *y = case_output(c, "y"), *x_gradient = case_output(c, "x-gradient");
  for (int64_t i = t * d; i < (t + 1) * d; i++) {
    if (some) { /* k additions, a product, and one more addition */
      const int64_t n = i - t * d;
      gamma_bound(&y_terms[n], &y_terms[n], k + 1);
      gamma_bound(&back_terms[n], &back_terms[n], k + 1);
      judge_real(j, OUTPUT_ZERO_Y, y, i, &v[n], &y_terms[n]);
      judge_real(j, OUTPUT_ZERO_X_GRADIENT, x_gradient, i, &back[n], &back_terms[n]);
    } else {
      judge_exact(j, OUTPUT_ZERO_Y, y, i, (double)z->y[i]);
      judge_exact(j, OUTPUT_ZERO_X_GRADIENT, x_gradient, i, (double)z->x_gradient[i]);
    }
  }
  return PHIBAL_OK;
}

phibal_status operation_zero_experts_expected(const operation_case *c, judgement *j) {
  const zero_case z = zero_of(c);
  const size_t n = 4 * (size_t)z.width + 2;
  phibal_enclosure *v = phibal_enclosure_vector(n, PRECISION);
  if (!v) return arena_out_of_memory();
  phibal_status status = PHIBAL_OK;
  for (int64_t t = 0; !status && t < z.tokens; t++) status = judge_token(j, c, &z, t, v);
  phibal_enclosure_vector_clear(v, n);
  return status;
}
