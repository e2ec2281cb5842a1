/* Capacity (E7), (E8), (E9): the limit, which routes are kept under it, their places in the
   experts' buffers, and the gates with their gradient. */
#include "case_number.h"
#include "judgement.h"
#include "paired.h"
#include "shapes.h"
#include <math.h>
#include <phibal/expert.h>
#include <phibal/reference_capacity.h>
#include <phibal/router.h>

enum { PRECISION = 512 }; /* sums of products of binary32 numbers are exact */
enum { STREAM_CAPACITY = 128 };

static const char *const capacity_kinds[] = {
    "ordinary",        "slot-order",       "token-order",       "lowest-gate", "gate-ties",
    "near-ties",       "padding",          "capacity-fit",      "no-capacity", "kept-gates",
    "beyond-capacity", "capacity-padding", "capacity-rounding", "one-token",   "one-expert",
    "no-token",        "odd-experts",      "many-tokens",       "most-experts"};

enum { CAPACITY_KINDS = sizeof capacity_kinds / sizeof *capacity_kinds };

const char *operation_kind_capacity(uint64_t number) {
  const char *kind = case_is_paired(number) ? "ordinary" : capacity_kinds[number % CAPACITY_KINDS];
  const bool large = strcmp(kind, "many-tokens") == 0 || strcmp(kind, "most-experts") == 0;
  return large && case_is_small(number) ? "ordinary" : kind;
}

static const char *const policy_names[] = {"token-order", "slot-order", "lowest-gate"};

/* What a case is made of. The first three of the limits are given with the tokens of the fullest
   expert. */
enum { LIMIT_FIT, LIMIT_BELOW, LIMIT_ABOVE, LIMIT_ZERO, LIMIT_ONE, LIMIT_BEYOND, LIMIT_SHARE };
enum { GATES_SORTED, GATES_TIED, GATES_UNSORTED, GATES_SMALL, GATES_NEAR };
enum { PADDING_NONE, PADDING_SOME, PADDING_WITH_GATES, PADDING_FIRST };
typedef struct capacity_draw {
  int64_t tokens;
  int32_t experts, active;
  int policy, renormalise, limit, gates, padding;
} capacity_draw;

static capacity_draw draw_case(const operation_case *c, random_stream *r) {
  capacity_draw d;
  if (case_is_paired(c->number)) {
    static const int32_t experts[] = {8, 9, 12, 31, 33, 64, 130}, active[] = {1, 2, 3, 8};
    static const int64_t tokens[] = {5, 8, 32, 47, 96};
    d = (capacity_draw){.experts = experts[paired_level(c->number, 0, 7)],
                        .active = active[paired_level(c->number, 1, 4)],
                        .tokens = tokens[paired_level(c->number, 2, 5)],
                        .limit = paired_level(c->number, 3, 7),
                        .policy = paired_level(c->number, 4, 3),
                        .renormalise = paired_level(c->number, 5, 2),
                        .gates = paired_level(c->number, 6, 5),
                        .padding = paired_level(c->number, 7, 4)};
    return d;
  }
  static const int32_t odd[] = {3, 5, 7, 11, 13, 29, 61, 127, 251, 509, 1021};
  const bool small = case_is_small(c->number), first = c->number < CAPACITY_KINDS;
  d.experts = (int32_t)random_integer(r, 2, small ? 4 : 12);
  d.tokens = random_integer(r, 2, small ? 6 : 60);
  if (case_is_kind(c, "odd-experts")) d.experts = odd[random_integer(r, 0, small ? 1 : 10)];
  if (case_is_kind(c, "most-experts")) d.experts = PHIBAL_MAX_EXPERTS, d.tokens = first ? 200 : 20;
  if (case_is_kind(c, "many-tokens")) d.experts = 4, d.tokens = first ? 1500 : 300;
  if (case_is_kind(c, "one-token")) d.tokens = 1;
  if (case_is_kind(c, "no-token")) d.tokens = 0;
  if (case_is_kind(c, "one-expert")) d.experts = 1;
  d.active = (int32_t)random_integer(r, 1, d.experts < 8 ? d.experts : 8);
  d.policy = (int)random_integer(r, 0, 2);
  d.renormalise = (int)random_integer(r, 0, 1);
  d.limit = random_integer(r, 0, 1) ? LIMIT_SHARE : (int)random_integer(r, LIMIT_FIT, LIMIT_SHARE);
  d.gates = (int)random_integer(r, GATES_SORTED, GATES_NEAR);
  d.padding = random_integer(r, 0, 2) ? PADDING_NONE : (int)random_integer(r, 1, 3);
  if (case_is_kind(c, "ordinary")) d.padding = PADDING_NONE, d.gates = GATES_SORTED;
  if (case_is_kind(c, "ordinary") || case_is_kind(c, "many-tokens")) d.limit = LIMIT_SHARE;
  if (case_is_kind(c, "most-experts")) d.limit = LIMIT_ONE;
  if (case_is_kind(c, "token-order") || case_is_kind(c, "slot-order")) {
    d.policy = case_is_kind(c, "slot-order");
    if (d.active == 1) d.active = 2;
    d.limit = d.limit % 2 ? LIMIT_BELOW : LIMIT_SHARE;
  }
  if (case_is_kind(c, "near-ties")) {
    d.policy = PHIBAL_CAPACITY_GATE;
    d.gates = GATES_NEAR;
    d.limit = LIMIT_SHARE;
    if (!small) d.tokens += 8;
  }
  if (case_is_kind(c, "lowest-gate") || case_is_kind(c, "gate-ties")) {
    d.policy = PHIBAL_CAPACITY_GATE;
    d.gates = case_is_kind(c, "gate-ties") ? GATES_TIED : d.limit % 2 ? GATES_SORTED : GATES_NEAR;
    d.limit = d.limit % 2 ? LIMIT_BELOW : LIMIT_SHARE;
  }
  if (case_is_kind(c, "padding") || case_is_kind(c, "capacity-padding"))
    d.padding = (int)random_integer(r, PADDING_SOME, PADDING_FIRST);
  if (case_is_kind(c, "capacity-padding")) d.limit = LIMIT_SHARE;
  if (case_is_kind(c, "capacity-fit")) d.limit = (int)random_integer(r, LIMIT_FIT, LIMIT_ABOVE);
  if (case_is_kind(c, "no-capacity")) d.limit = LIMIT_ZERO;
  if (case_is_kind(c, "beyond-capacity")) d.limit = LIMIT_BEYOND;
  if (case_is_kind(c, "capacity-rounding")) d.limit = LIMIT_SHARE;
  if (case_is_kind(c, "kept-gates")) d.renormalise = 1, d.limit = LIMIT_SHARE;
  return d;
}

/* Distinct experts of each token, the first ones oftener than the last. */
static void draw_experts(random_stream *r, const capacity_draw *d, int32_t *experts) {
  for (int64_t t = 0; t < d->tokens; t++) {
    int32_t *own = experts + t * d->active;
    const bool padding = d->padding == PADDING_NONE    ? false
                         : d->padding == PADDING_FIRST ? t < d->tokens / 3
                                                       : t == 1 || random_integer(r, 0, 3) == 0;
    for (int32_t s = 0; s < d->active; s++) {
      const double u = random_unit(r);
      int32_t e = (int32_t)(u * u * u * u * d->experts);
      for (int32_t i = 0; i < s; i++)
        if (own[i] == e) {
          e = (e + 1) % d->experts;
          i = -1;
        }
      own[s] = e;
    }
    for (int32_t s = 0; padding && s < d->active; s++) own[s] = -1;
  }
}

/* Positive, but for some of the few; those of a token fall, unless a bias selects. */
static void draw_gates(random_stream *r, const capacity_draw *d, const int32_t *experts,
                       float *gates) {
  static const float few[] = {0.5f, 0.25f, 0.25f, 0.125f, 0.0f, -0.0f};
  for (int64_t t = 0; t < d->tokens; t++) {
    float *own = gates + t * d->active;
    for (int32_t s = 0; s < d->active; s++) {
      own[s] = d->gates == GATES_TIED ? few[random_integer(r, 0, 5)]
                                      : (float)(random_uniform(r, 0.01, 1) / d->active);
      if (d->gates == GATES_SMALL) own[s] *= 0x1p-70f;
      if (d->gates == GATES_NEAR) own[s] = 0.25f + own[s] * 0x1p-15f;
      for (int32_t i = s; d->gates != GATES_UNSORTED && i > 0 && own[i] > own[i - 1]; i--) {
        const float x = own[i];
        own[i] = own[i - 1];
        own[i - 1] = x;
      }
    }
    for (int32_t s = 0; s < d->active; s++)
      if (experts[t * d->active + s] < 0) own[s] = d->padding == PADDING_SOME ? 0 : 1;
  }
}

static int64_t unmasked(int64_t tokens, int32_t active, const int32_t *experts) {
  int64_t n = 0;
  for (int64_t t = 0; t < tokens; t++) n += experts[t * active] >= 0;
  return n;
}

/* The limit that is wished for; *fullest is that of the fullest expert. */
static int64_t wished_limit(const capacity_draw *d, const int32_t *experts, int64_t T) {
  int64_t count[PHIBAL_MAX_EXPERTS] = {0}, fullest = 0;
  for (int64_t i = 0; i < d->tokens * d->active; i++)
    if (experts[i] >= 0 && ++count[experts[i]] > fullest) fullest = count[experts[i]];
  const int64_t share = (d->active * T + d->experts - 1) / d->experts;
  switch (d->limit) {
  case LIMIT_FIT:
    return fullest;
  case LIMIT_BELOW:
    return fullest > 0 ? fullest - 1 : 0;
  case LIMIT_ABOVE:
    return fullest + 1;
  case LIMIT_ZERO:
    return 0;
  case LIMIT_ONE:
    return 1;
  case LIMIT_BEYOND:
    return d->tokens + 3;
  default:
    return share;
  }
}

/* A factor, a multiple of 2^-10, and a minimum that give the limit; by turns the one or the other
   decides. The factor is one of 1 where that gives it, so that products are whole numbers too. */
static int64_t draw_factor(const operation_case *c, random_stream *r, const capacity_draw *d,
                           int64_t wished, int64_t T, float *factor, int64_t *minimum) {
  const int64_t routes = d->active * T;
  const bool of_minimum = random_integer(r, 0, 3) == 0;
  int64_t limit = -1;
  *minimum = of_minimum ? wished : random_integer(r, 0, wished);
  *factor = 0;
  if (routes > 0 && wished > 0) {
    double exact = (double)wished * d->experts / (double)routes;
    if (of_minimum) exact *= random_uniform(r, 0.25, 0.9);
    *factor = (float)fmin(floor(exact * 1024) / 1024, 1024);
    if (d->limit == LIMIT_SHARE && !of_minimum)
      *factor = (float)random_integer(r, 5, case_is_paired(c->number) ? 8 : 13) / 8;
  }
  if (phibal_reference_capacity_limit(*factor, *minimum, T, d->active, d->experts, &limit))
    return -1;
  if (limit == wished || d->limit == LIMIT_SHARE) return limit;
  *minimum = wished; /* no such factor has it */
  if (limit > wished) *factor = 0;
  return wished;
}

/* Flags of the properties that the case has. */
static phibal_status set_flags(operation_case *c, const capacity_draw *d, int64_t limit,
                               double product, const int32_t *experts, const float *gates) {
  const int64_t slots = d->tokens * d->active;
  int32_t *by[3];
  for (int p = 0; p < 3; p++) {
    by[p] = arena_take(&c->memory, sizeof(int32_t) * (size_t)slots, 0);
    if (!by[p]) return arena_out_of_memory();
    phibal_status status = phibal_reference_capacity((phibal_capacity_policy)p, d->tokens,
                                                     d->active, limit, experts, gates, by[p]);
    if (status) return status;
  }
  const int32_t *kept = by[d->policy];
  bool other[3] = {false}, dropped = false, tied = false, fit = false, lost = false;
  int64_t count[PHIBAL_MAX_EXPERTS] = {0};
  for (int64_t i = 0; i < slots; i++) {
    for (int p = 0; p < 3; p++) other[p] |= by[p][i] != kept[i];
    if (experts[i] < 0) continue;
    count[experts[i]]++;
    /* With a top-k over all tokens a gate of 0 is that of a token that is not routed there. */
    tied |= !(gates[i] > 0) && limit > 0 && limit <= d->tokens;
    dropped |= kept[i] < 0;
    for (int64_t j = 0; kept[i] < 0 && j < slots && !tied; j++)
      tied = kept[j] == experts[i] && gates[j] >= gates[i] && gates[j] <= gates[i];
    for (int32_t s = 0; kept[i] < 0 && s < d->active; s++)
      lost |= kept[i / d->active * d->active + s] >= 0;
  }
  for (int32_t e = 0; e < d->experts; e++)
    fit |= limit > 0 && (count[e] == limit || count[e] == limit + 1);
  const bool padding = d->padding != PADDING_NONE;
  if (padding) case_flag(c, FLAG_PADDING);
  if (padding && limit > 0) case_flag(c, FLAG_CAPACITY_PADDING); /* there are places to take */
  if (d->policy == PHIBAL_CAPACITY_SLOT && other[PHIBAL_CAPACITY_TOKEN])
    case_flag(c, FLAG_SLOT_ORDER);
  if (d->policy == PHIBAL_CAPACITY_TOKEN && dropped) case_flag(c, FLAG_TOKEN_ORDER);
  if (d->policy == PHIBAL_CAPACITY_GATE && other[PHIBAL_CAPACITY_TOKEN])
    case_flag(c, FLAG_LOWEST_GATE);
  if (d->policy == PHIBAL_CAPACITY_GATE && tied) case_flag(c, FLAG_GATE_TIES);
  if (d->policy == PHIBAL_CAPACITY_GATE && d->gates == GATES_NEAR && dropped)
    case_flag(c, FLAG_NEAR_TIES);
  if (fit) case_flag(c, FLAG_CAPACITY_FIT);
  if (limit == 0) case_flag(c, FLAG_NO_CAPACITY);
  if (limit > d->tokens) case_flag(c, FLAG_BEYOND_CAPACITY);
  if (product > floor(product)) case_flag(c, FLAG_CAPACITY_ROUNDING);
  if (d->renormalise && dropped && lost) case_flag(c, FLAG_KEPT_GATES);
  if (dropped) case_flag(c, FLAG_DROPPED_COUNTS);
  if (d->active == 1) case_flag(c, FLAG_K_ONE);
  return PHIBAL_OK;
}

phibal_status operation_capacity_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_CAPACITY, c->number);
  const capacity_draw d = draw_case(c, &r);
  const int64_t k = d.active, E = d.experts;
  int32_t *experts = case_add_input(c, "experts", TENSOR_I32, 2, d.tokens, k);
  float *gates = case_add_input(c, "gates", TENSOR_F32, 2, d.tokens, k);
  float *gradient = case_add_input(c, "kept-gradient", TENSOR_F32, 2, d.tokens, k);
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  draw_experts(&r, &d, experts);
  draw_gates(&r, &d, experts, gates);
  fill_normal(&r, gradient, d.tokens * k);
  const int64_t T = unmasked(d.tokens, d.active, experts);
  float factor;
  int64_t minimum,
      limit = draw_factor(c, &r, &d, wished_limit(&d, experts, T), T, &factor, &minimum);
  case_integer(c, "experts", E);
  case_integer(c, "k", k);
  case_text(c, "policy", policy_names[d.policy]);
  case_integer(c, "renormalise", d.renormalise);
  case_real(c, "factor", (double)factor);
  case_integer(c, "minimum", minimum);
  case_integer(c, "limit", limit);
  phibal_status status =
      set_flags(c, &d, limit, (double)factor * (double)(k * T) / (double)E, experts, gates);
  if (status) return status;
  case_add_output(c, OUTPUT_CAPACITY, "capacity", TENSOR_I64, 1, (int64_t)1);
  case_add_output(c, OUTPUT_CAPACITY_KEPT, "kept", TENSOR_I32, 2, d.tokens, k);
  case_add_output(c, OUTPUT_CAPACITY_PLACE, "place", TENSOR_I64, 2, d.tokens, k)->optional = true;
  case_add_output(c, OUTPUT_CAPACITY_COUNTS, "counts", TENSOR_I64, 1, E);
  case_add_output(c, OUTPUT_CAPACITY_DROPPED, "dropped", TENSOR_I64, 1, E);
  case_add_output(c, OUTPUT_CAPACITY_GATES, "gates", TENSOR_F32, 2, d.tokens, k);
  case_add_output(c, OUTPUT_CAPACITY_GRADIENT, "gate-gradient", TENSOR_F32, 2, d.tokens, k);
  return PHIBAL_OK;
}

typedef struct capacity_case {
  phibal_capacity_policy policy;
  int64_t tokens, slots, limit;
  int32_t active, experts_count;
  bool renormalise;
  const int32_t *experts;
  const float *gates, *gradient;
} capacity_case;

static capacity_case capacity_of(const operation_case *c) {
  const tensor *experts = case_input(c, "experts");
  return (capacity_case){.policy =
                             (phibal_capacity_policy)case_get_choice(c, "policy", policy_names, 3),
                         .tokens = experts->shape[0],
                         .slots = tensor_size(experts),
                         .limit = case_get_integer(c, "limit"),
                         .active = (int32_t)case_get_integer(c, "k"),
                         .experts_count = (int32_t)case_get_integer(c, "experts"),
                         .renormalise = case_get_integer(c, "renormalise") != 0,
                         .experts = experts->data,
                         .gates = case_input_data(c, "gates"),
                         .gradient = case_input_data(c, "kept-gradient")};
}

phibal_status operation_capacity_cpu(operation_case *c) {
  const capacity_case q = capacity_of(c);
  int64_t offsets[PHIBAL_MAX_EXPERTS + 1];
  int64_t *source = arena_take(&c->memory, sizeof(int64_t) * (size_t)q.slots, 0x7f);
  int64_t *row = arena_take(&c->memory, sizeof(int64_t) * (size_t)q.slots, 0x7f);
  if (!source || !row) return arena_out_of_memory();
  int32_t *kept = case_output_data(c, "kept");
  phibal_status status =
      phibal_permutation(q.tokens, q.active, q.experts_count, q.experts, offsets, source, row);
  if (!status)
    status =
        phibal_capacity_limit((float)case_get_real(c, "factor"), case_get_integer(c, "minimum"),
                              unmasked(q.tokens, q.active, q.experts), q.active, q.experts_count,
                              case_output_data(c, "capacity"));
  if (!status)
    status = phibal_capacity(q.policy, q.tokens, q.active, q.experts_count, q.limit, offsets,
                             source, q.gates, kept, case_output_data(c, "place"));
  if (!status)
    status = phibal_capacity_gates(q.tokens, q.active, q.renormalise, kept, q.gates,
                                   case_output_data(c, "gates"));
  if (!status)
    status = phibal_capacity_gates_backward(q.tokens, q.active, q.renormalise, kept, q.gates,
                                            q.gradient, case_output_data(c, "gate-gradient"));
  int64_t *count = case_output_data(c, "counts"), *dropped = case_output_data(c, "dropped");
  for (int32_t e = 0; !status && e < q.experts_count; e++) {
    count[e] = offsets[e + 1] - offsets[e];
    dropped[e] = count[e] > q.limit ? count[e] - q.limit : 0;
  }
  return status;
}

/* The gates of one token and their gradient; copies are exact. */
static phibal_status judge_gates(judgement *j, const operation_case *c, const capacity_case *q,
                                 int64_t token, const int32_t *kept, phibal_enclosure *v) {
  const int64_t k = q->active, first = token * k;
  const tensor *gates = case_output(c, "gates"), *gradient = case_output(c, "gate-gradient");
  const phibal_reference_result back = {v + k, v + 2 * k};
  phibal_status status =
      phibal_reference_capacity_gates(q->active, q->renormalise, kept + first, q->gates + first,
                                      q->gradient + first, PRECISION, v, back);
  for (int64_t s = 0; !status && s < k; s++) {
    const int64_t i = first + s;
    if (q->renormalise && kept[i] >= 0) {
      judge_real(j, OUTPUT_CAPACITY_GATES, gates, i, &v[s], NULL);
      judge_real(j, OUTPUT_CAPACITY_GRADIENT, gradient, i, &v[k + s], &v[2 * k + s]);
    } else {
      judge_exact(j, OUTPUT_CAPACITY_GATES, gates, i, mpfr_get_d(v[s].lo, MPFR_RNDN));
      judge_exact(j, OUTPUT_CAPACITY_GRADIENT, gradient, i, mpfr_get_d(v[k + s].lo, MPFR_RNDN));
    }
  }
  return status;
}

phibal_status operation_capacity_expected(const operation_case *c, judgement *j) {
  const capacity_case q = capacity_of(c);
  arena a = {0};
  int32_t *kept = arena_take(&a, sizeof(int32_t) * (size_t)q.slots, 0);
  int64_t *place = arena_take(&a, sizeof(int64_t) * (size_t)q.slots, 0);
  phibal_enclosure *v = phibal_enclosure_vector(3 * (size_t)q.active, PRECISION);
  phibal_status status = a.failed || !v ? arena_out_of_memory() : PHIBAL_OK;
  int64_t limit;
  if (!status)
    status = phibal_reference_capacity_limit(
        (float)case_get_real(c, "factor"), case_get_integer(c, "minimum"),
        unmasked(q.tokens, q.active, q.experts), q.active, q.experts_count, &limit);
  if (!status) judge_integer(j, OUTPUT_CAPACITY, case_output(c, "capacity"), 0, limit);
  if (!status)
    status =
        phibal_reference_capacity(q.policy, q.tokens, q.active, q.limit, q.experts, q.gates, kept);
  if (!status) status = phibal_reference_capacity_place(q.policy, q.tokens, q.active, kept, place);
  for (int32_t e = 0; !status && e < q.experts_count; e++) {
    int64_t count = 0, stay = 0;
    for (int64_t i = 0; i < q.slots; i++) {
      count += q.experts[i] == e;
      stay += kept[i] == e;
    }
    judge_integer(j, OUTPUT_CAPACITY_COUNTS, case_output(c, "counts"), e, count);
    judge_integer(j, OUTPUT_CAPACITY_DROPPED, case_output(c, "dropped"), e, count - stay);
  }
  for (int64_t i = 0; !status && i < q.slots; i++) {
    judge_integer(j, OUTPUT_CAPACITY_KEPT, case_output(c, "kept"), i, kept[i]);
    judge_integer(j, OUTPUT_CAPACITY_PLACE, case_output(c, "place"), i, place[i]);
  }
  for (int64_t t = 0; !status && t < q.tokens; t++) status = judge_gates(j, c, &q, t, kept, v);
  if (v) phibal_enclosure_vector_clear(v, 3 * (size_t)q.active);
  arena_free(&a);
  return status;
}
