/* EMA, prices, losses and biases: vectors over the experts. */
#include "judgement.h"
#include "case_potential.h"
#include "paired.h"
#include <math.h>
#include <phibal/reference_moe.h>
#include <stdlib.h>

/* Centred prices are differences of nearly equal numbers, so the reference works with enough bits
   to see 2^-90 of the largest price with 2^-60 of relative width to spare. */
enum { PRECISION = 256 };

enum { STREAM_EMA = 16, STREAM_PRICE, STREAM_LOSS, STREAM_SWITCH, STREAM_Z, STREAM_LOSS_FREE };

/* LOADS(ID, "name") */
#define LOADS_CASES(LOADS)                                                                         \
  LOADS(ORDINARY, "ordinary")                                                                      \
  LOADS(NEAR_UNIFORM, "near-uniform")                                                              \
  LOADS(UNIFORM, "uniform")                                                                        \
  LOADS(ONE_ULP_OFF, "one-ulp-off")                                                                \
  LOADS(ONE_HOT, "one-hot")                                                                        \
  LOADS(ZEROS, "zero-loads")                                                                       \
  LOADS(TINY, "tiny-loads")                                                                        \
  LOADS(WIDE, "wide-loads")                                                                        \
  LOADS(SUBNORMAL, "subnormal")                                                                    \
  LOADS(ONE_EXPERT, "one-expert")                                                                  \
  LOADS(ODD_EXPERTS, "odd-experts")                                                                \
  LOADS(MOST_EXPERTS, "most-experts")

typedef enum loads_kind {
#define LOADS(ID, name) LOADS_##ID,
  LOADS_CASES(LOADS)
#undef LOADS
      LOADS_KINDS
} loads_kind;

/* A paired case of loads: PAIRED_CASES + (potential, parameter's place in the list, kind), four
   bits each; a later potential is the row. The kind after the others has several largest loads. */
enum { PAIR_BITS = 4, KIND_TIED_MAXIMA = LOADS_KINDS, PAIRED_KINDS };

static uint64_t paired_part(uint64_t number, int place) {
  return (case_base(number) - PAIRED_CASES) >> (place * PAIR_BITS) & 15;
}

static bool has_tied_maxima(uint64_t number) {
  return case_is_paired(number) && paired_part(number, 0) == KIND_TIED_MAXIMA;
}

static loads_kind loads_kind_of(uint64_t number) {
  if (case_is_paired(number)) {
    const uint64_t kind = paired_part(number, 0);
    return kind < LOADS_KINDS && kind != LOADS_MOST_EXPERTS ? (loads_kind)kind : LOADS_ORDINARY;
  }
  loads_kind kind = (loads_kind)(case_base(number) % LOADS_KINDS);
  return kind == LOADS_MOST_EXPERTS && case_is_small(number) ? LOADS_ORDINARY : kind;
}

const char *operation_kind_loads(uint64_t number) {
  static const char *const names[] = {
#define LOADS(ID, name) name,
      LOADS_CASES(LOADS)
#undef LOADS
  };
  return names[loads_kind_of(number)];
}

/* In every other round of the kinds, loads that are one unit off are so just below a power of two.
 */
static bool below_power(uint64_t number) {
  if (case_is_paired(number)) return false;
  uint64_t round = case_base(number) / LOADS_KINDS;
  if (!(number >> CASE_ROW_BITS)) round /= CASE_FIRST_POTENTIALS;
  return loads_kind_of(number) == LOADS_ONE_ULP_OFF && round % 2;
}

static int32_t choose_experts(loads_kind kind, bool small, random_stream *r) {
  static const int32_t odd[] = {3, 5, 7, 13, 61, 127, 509};
  switch (kind) {
  case LOADS_ONE_EXPERT:
    return 1;
  case LOADS_ODD_EXPERTS:
    return odd[random_integer(r, 0, small ? 1 : 6)];
  case LOADS_MOST_EXPERTS:
    return PHIBAL_MAX_EXPERTS;
  default:
    return (int32_t)random_integer(r, 2, small ? 5 : 64);
  }
}

/* A vector of mean loads: nonnegative, near the simplex where the kind allows. */
static void choose_loads(uint64_t number, random_stream *r, int32_t E, float *m) {
  loads_kind kind = loads_kind_of(number);
  double sum = 0, draw[PHIBAL_MAX_EXPERTS];
  for (int32_t e = 0; e < E; e++) sum += draw[e] = random_unit(r) * random_unit(r) + 1e-3;
  float uniform = 1.0f / (float)E;
  int32_t favourite = (int32_t)random_integer(r, 0, E - 1);
  for (int32_t e = 0; e < E; e++) {
    m[e] = (float)(draw[e] / sum);
    switch (kind) {
    case LOADS_NEAR_UNIFORM:
      m[e] = (float)((double)uniform * (1 + 1e-5 * random_normal(r)));
      break;
    case LOADS_UNIFORM:
      m[e] = uniform;
      break;
    case LOADS_ONE_ULP_OFF:
      m[e] = e == favourite
                 ? nextafterf(uniform, random_integer(r, 0, 1) || below_power(number) ? 0.0f : 1.0f)
                 : uniform;
      break;
    case LOADS_ONE_HOT:
      m[e] = e == favourite ? 1.0f : 0.0f;
      break;
    case LOADS_ZEROS:
      if (random_integer(r, 0, 2) == 0) m[e] = 0;
      break;
    case LOADS_TINY:
      m[e] *= 0x1p-60f;
      break;
    case LOADS_WIDE:
      m[e] = (float)ldexp(1 + random_unit(r), (int)random_integer(r, -126, -1));
      break;
    case LOADS_SUBNORMAL:
      m[e] = (float)ldexp(random_unit(r), -127);
      break;
    default:
      break;
    }
  }
  if (has_tied_maxima(number))
    for (int32_t e = 0; e < E; e++)
      if (e % 3 == favourite % 3 || random_integer(r, 0, 3) == 0) m[e] = 0.5f;
}

/* Parameters from the places where formulas cancel or overflow; none where a potential has none. */
typedef struct parameters {
  int count;
  double value[9];
  bool is_scale; /* of the loads */
} parameters;

#define SCALES                                                                                     \
  { 6, {1e-6, 0.01, 0.1, 1, 10, 1e4}, true }
static const parameters tried[PHIBAL_POTENTIAL_COUNT] = {
    [PHIBAL_POTENTIAL_LP] = {7, {1, 1.5, 2, 3, 10, 100, INFINITY}, false},
    [PHIBAL_POTENTIAL_TSALLIS] = {9,
                                  {0.05, 0.5, 0.999, 0.999999, 1.000001, 1.001, 1.1, 2, 20},
                                  false},
    [PHIBAL_POTENTIAL_RENYI] = {5, {0.05, 0.5, 0.95, 0.999, 0.999999}, false},
    [PHIBAL_POTENTIAL_SOFT_L1] = SCALES,
    [PHIBAL_POTENTIAL_PSEUDO_HUBER] = SCALES,
    [PHIBAL_POTENTIAL_LOG_COSH] = SCALES,
};

/* Every potential in turn. PHIBAL_ERROR_UNSUPPORTED for a row whose parameters are not above. */
static phibal_status choose_potential(uint64_t number, random_stream *r, phibal_potential *p) {
  const uint64_t turn =
      case_is_paired(number) ? paired_part(number, 2) : case_base(number) / LOADS_KINDS;
  *p = (phibal_potential){case_potential_id(number, turn), 0};
  const parameters *of = &tried[p->id];
  const phibal_potential_info *info = phibal_potential_describe(p->id);
  if (!of->count && info->parameter[0])
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "verify/operation_balance.c lists no values of %s's parameter %s",
                             info->name, info->parameter);
  if (!of->count) return PHIBAL_OK;
  if (case_is_paired(number)) {
    p->parameter = of->value[paired_part(number, 1) % (uint64_t)of->count];
    return PHIBAL_OK;
  }
  p->parameter = of->value[random_integer(r, 0, of->count - 1)];
  /* As small as the last place of a load, so that load + delta is one or the other side of the
     power of two, and with bits that are lost in it. */
  if (of->is_scale && below_power(number))
    p->parameter = ldexp(1 + random_unit(r), -(int)random_integer(r, 26, 34));
  return PHIBAL_OK;
}

static int64_t values_of(int potential) {
  return tried[potential].count ? tried[potential].count : 1;
}

int64_t loads_paired_count(void) {
  int64_t n = 0;
  for (int p = 0; p < PHIBAL_POTENTIAL_COUNT; p++) n += values_of(p) * PAIRED_KINDS;
  return n;
}

uint64_t loads_paired_number(int64_t i) {
  int p = 0;
  for (; i >= values_of(p) * PAIRED_KINDS; p++) i -= values_of(p) * PAIRED_KINDS;
  const uint64_t value = (uint64_t)i / PAIRED_KINDS, kind = (uint64_t)i % PAIRED_KINDS;
  const uint64_t row = p < CASE_FIRST_POTENTIALS ? 0 : (uint64_t)p;
  return (row << CASE_ROW_BITS) + PAIRED_CASES +
         (((row ? 0 : (uint64_t)p) << 2 * PAIR_BITS) | value << PAIR_BITS | kind);
}

/* Two vectors of loads, and the stream for what else an operation needs. */
typedef struct loads_case {
  random_stream random;
  int32_t experts;
  float *first, *second;
} loads_case;

/* second may be null: its numbers are drawn all the same. */
static void loads_case_start(operation_case *c, uint64_t stream, const char *first,
                             const char *second, loads_case *l) {
  float unused[PHIBAL_MAX_EXPERTS];
  l->random = random_start(c->seed, stream, c->number);
  loads_kind kind = loads_kind_of(c->number);
  l->experts = choose_experts(kind, case_is_small(c->number), &l->random);
  while (below_power(c->number) && l->experts & (l->experts - 1)) l->experts &= l->experts - 1;
  case_integer(c, "experts", l->experts);
  l->first = first ? case_add_input(c, first, TENSOR_F32, 1, (int64_t)l->experts) : NULL;
  l->second = second ? case_add_input(c, second, TENSOR_F32, 1, (int64_t)l->experts) : NULL;
  choose_loads(c->number, &l->random, l->experts, l->first ? l->first : unused);
  choose_loads(c->number, &l->random, l->experts, l->second ? l->second : unused);
  if (kind == LOADS_SUBNORMAL) case_flag(c, FLAG_TINY); /* an epsilon beside them is seen as well */
}

static int32_t experts_of(const operation_case *c) {
  return (int32_t)case_get_integer(c, "experts");
}

static void judge_vector(judgement *j, output_id promise, const tensor *output, int32_t n,
                         const phibal_enclosure *truth, const phibal_enclosure *terms) {
  for (int32_t e = 0; e < n; e++) judge_real(j, promise, output, e, &truth[e], terms);
}

phibal_status operation_ema_make(operation_case *c) {
  loads_case l;
  loads_case_start(c, STREAM_EMA, "m", "loads", &l);
  float eta = random_integer(&l.random, 0, 3) ? (float)random_uniform(&l.random, 1e-6, 1) : 1.0f;
  if (random_integer(&l.random, 0, 7) == 0) eta = 0x1p-40f;
  case_real(c, "eta", (double)eta);
  case_add_output(c, OUTPUT_EMA, "m", TENSOR_F32, 1, (int64_t)l.experts);
  if (case_status(c) == PHIBAL_OK && memcmp(l.first, l.second, sizeof(float) * (size_t)l.experts))
    case_flag(c, FLAG_NEW_STATE);
  return PHIBAL_OK;
}

phibal_status operation_ema_cpu(operation_case *c) {
  return phibal_ema(experts_of(c), (float)case_get_real(c, "eta"), case_input_data(c, "m"),
                    case_input_data(c, "loads"), case_output_data(c, "m"));
}

phibal_status operation_ema_expected(const operation_case *c, judgement *j) {
  int32_t E = experts_of(c);
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)E, PRECISION);
  if (!truth) return arena_out_of_memory();
  phibal_status status =
      phibal_reference_ema(E, (float)case_get_real(c, "eta"), case_input_data(c, "m"),
                           case_input_data(c, "loads"), PRECISION, truth);
  if (status == PHIBAL_OK) judge_vector(j, OUTPUT_EMA, case_output(c, "m"), E, truth, NULL);
  phibal_enclosure_vector_clear(truth, (size_t)E);
  return status;
}

phibal_status operation_price_make(operation_case *c) {
  loads_case l;
  loads_case_start(c, STREAM_PRICE, "m", NULL, &l);
  phibal_potential potential;
  phibal_status status = choose_potential(c->number, &l.random, &potential);
  if (status != PHIBAL_OK) return status;
  case_add_potential(c, potential);
  case_add_output(c, OUTPUT_PRICE, "price", TENSOR_F32, 1, (int64_t)l.experts);
  case_add_output(c, OUTPUT_PRICE_CENTRED, "centred", TENSOR_F32, 1, (int64_t)l.experts);
  /* How many loads were raised to the smallest: as the price says, and as the centred one does. */
  case_add_output(c, OUTPUT_PRICE_FLOORED, "floored", TENSOR_I32, 1, (int64_t)2)->optional = true;
  return PHIBAL_OK;
}

phibal_status operation_price_cpu(operation_case *c) {
  phibal_potential potential = case_get_potential(c);
  const float *m = case_input_data(c, "m");
  int32_t *floored = case_output_data(c, "floored");
  phibal_status status =
      phibal_price(&potential, experts_of(c), m, case_output_data(c, "price"), &floored[0]);
  if (status != PHIBAL_OK) return status;
  return phibal_price_centred(&potential, experts_of(c), m, case_output_data(c, "centred"),
                              &floored[1]);
}

phibal_status operation_price_expected(const operation_case *c, judgement *j) {
  int32_t E = experts_of(c), floored;
  phibal_potential potential = case_get_potential(c);
  const float *m = case_input_data(c, "m");
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)E + 1, PRECISION);
  if (!truth) return arena_out_of_memory();
  phibal_enclosure *largest = &truth[E];
  phibal_status status = phibal_reference_price(&potential, E, m, PRECISION, truth, &floored);
  if (status == PHIBAL_OK) {
    judge_vector(j, OUTPUT_PRICE, case_output(c, "price"), E, truth, NULL);
    for (int i = 0; i < 2; i++)
      judge_integer(j, OUTPUT_PRICE_FLOORED, case_output(c, "floored"), i, floored);
    status = phibal_reference_price_centred(&potential, E, m, PRECISION, truth, largest, NULL);
  }
  if (status == PHIBAL_OK)
    judge_vector(j, OUTPUT_PRICE_CENTRED, case_output(c, "centred"), E, truth, largest);
  phibal_enclosure_vector_clear(truth, (size_t)E + 1);
  return status;
}

phibal_status operation_balance_loss_make(operation_case *c) {
  loads_case l;
  loads_case_start(c, STREAM_LOSS, "m", "loads", &l);
  phibal_potential potential;
  phibal_status status = choose_potential(c->number, &l.random, &potential);
  if (status != PHIBAL_OK) return status;
  case_add_potential(c, potential);
  case_real(c, "alpha", random_uniform(&l.random, 0.001, 1));
  case_add_output(c, OUTPUT_BALANCE_LOSS, "loss", TENSOR_F32, 1, (int64_t)1);
  return PHIBAL_OK;
}

phibal_status operation_balance_loss_cpu(operation_case *c) {
  phibal_potential potential = case_get_potential(c);
  return phibal_balance_loss(&potential, experts_of(c), case_get_real(c, "alpha"),
                             case_input_data(c, "loads"), case_input_data(c, "m"),
                             case_output_data(c, "loss"));
}

phibal_status operation_balance_loss_expected(const operation_case *c, judgement *j) {
  phibal_potential potential = case_get_potential(c);
  phibal_enclosure truth, terms;
  phibal_enclosure_init(&truth, PRECISION);
  phibal_enclosure_init(&terms, PRECISION);
  phibal_status status = phibal_reference_balance_loss(
      &potential, experts_of(c), case_get_real(c, "alpha"), case_input_data(c, "loads"),
      case_input_data(c, "m"), PRECISION, &truth, &terms);
  if (status == PHIBAL_OK)
    judge_real(j, OUTPUT_BALANCE_LOSS, case_output(c, "loss"), 0, &truth, &terms);
  phibal_enclosure_clear(&truth);
  phibal_enclosure_clear(&terms);
  return status;
}

phibal_status operation_switch_loss_make(operation_case *c) {
  loads_case l;
  loads_case_start(c, STREAM_SWITCH, "frequencies", "loads", &l);
  case_real(c, "alpha", random_uniform(&l.random, 0.001, 1));
  case_add_output(c, OUTPUT_SWITCH_LOSS, "loss", TENSOR_F32, 1, (int64_t)1);
  case_add_output(c, OUTPUT_SWITCH_PRICE, "centred", TENSOR_F32, 1, (int64_t)l.experts);
  return PHIBAL_OK;
}

phibal_status operation_switch_loss_cpu(operation_case *c) {
  const float *frequencies = case_input_data(c, "frequencies");
  phibal_status status =
      phibal_switch_loss(experts_of(c), case_get_real(c, "alpha"), frequencies,
                         case_input_data(c, "loads"), case_output_data(c, "loss"));
  if (status != PHIBAL_OK) return status;
  return phibal_frequency_centred(experts_of(c), frequencies, case_output_data(c, "centred"));
}

phibal_status operation_switch_loss_expected(const operation_case *c, judgement *j) {
  int32_t E = experts_of(c);
  const float *frequencies = case_input_data(c, "frequencies");
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)E, PRECISION);
  if (!truth) return arena_out_of_memory();
  phibal_status status =
      phibal_reference_switch_loss(E, case_get_real(c, "alpha"), frequencies,
                                   case_input_data(c, "loads"), PRECISION, truth, NULL);
  if (status == PHIBAL_OK) {
    judge_real(j, OUTPUT_SWITCH_LOSS, case_output(c, "loss"), 0, truth, NULL);
    status = phibal_reference_frequency_centred(E, frequencies, PRECISION, truth);
  }
  if (status == PHIBAL_OK)
    judge_vector(j, OUTPUT_SWITCH_PRICE, case_output(c, "centred"), E, truth, NULL);
  phibal_enclosure_vector_clear(truth, (size_t)E);
  return status;
}

const char *operation_kind_z_loss(uint64_t number) {
  return number == 3 ? "many-tokens" : number % 2 ? "padding" : "ordinary";
}

phibal_status operation_z_loss_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_Z, c->number);
  static const double sizes[] = {1e-3, 1, 10, 1e4, 1e30};
  int64_t tokens =
      c->number == 3 ? 100000 : random_integer(&r, 0, case_is_small(c->number) ? 5 : 300);
  double size = sizes[random_integer(&r, 0, 4)], coefficient = random_uniform(&r, 1e-4, 1);
  bool masked = c->number % 2;
  case_real(c, "coefficient", coefficient);
  float *logsumexp = case_add_input(c, "logsumexp", TENSOR_F32, 1, tokens);
  uint8_t *mask = masked ? case_add_input(c, "mask", TENSOR_U8, 1, tokens) : NULL;
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  for (int64_t t = 0; t < tokens; t++) {
    logsumexp[t] = (float)(size * random_normal(&r));
    bool real = random_integer(&r, 0, 3) > 0;
    if (mask) mask[t] = real;
  }
  case_flag(c, FLAG_T_NORMALISATION);
  case_add_output(c, OUTPUT_Z_LOSS, "loss", TENSOR_F32, 1, (int64_t)1);
  return PHIBAL_OK;
}

phibal_status operation_z_loss_cpu(operation_case *c) {
  return phibal_z_loss(case_input(c, "logsumexp")->shape[0], case_get_real(c, "coefficient"),
                       case_input_data(c, "logsumexp"), case_input_data(c, "mask"),
                       case_output_data(c, "loss"));
}

phibal_status operation_z_loss_expected(const operation_case *c, judgement *j) {
  phibal_enclosure truth;
  phibal_enclosure_init(&truth, PRECISION);
  phibal_status status = phibal_reference_z_loss(
      case_input(c, "logsumexp")->shape[0], case_get_real(c, "coefficient"),
      case_input_data(c, "logsumexp"), case_input_data(c, "mask"), PRECISION, &truth);
  if (status == PHIBAL_OK) judge_real(j, OUTPUT_Z_LOSS, case_output(c, "loss"), 0, &truth, NULL);
  phibal_enclosure_clear(&truth);
  return status;
}

/* Counts and biases are drawn anew: of the loads' kinds only the number of experts is left. */
const char *operation_kind_loss_free(uint64_t number) {
  if (case_is_paired(number)) return "ordinary";
  return loads_kind_of(number) >= LOADS_ONE_EXPERT ? operation_kind_loads(number) : "ordinary";
}

/* Counts around sizes where 31, 32 and 24 bits end, a few units from their mean. */
static phibal_status make_paired_loss_free(operation_case *c) {
  static const int32_t experts[] = {2, 5, 8, 33, 66};
  static const int64_t sizes[] = {0, (1 << 24) - 1, INT32_MAX, INT64_C(2147483647) * 2,
                                  INT64_C(1) << 40};
  static const double rates[] = {0x1p-10, 1e-5, 1e-2}, spreads[] = {2, 5, 100};
  random_stream r = random_start(c->seed, STREAM_LOSS_FREE, c->number);
  const int32_t E = experts[paired_level(c->number, 0, 5)];
  const int64_t size = sizes[paired_level(c->number, 1, 5)];
  const int64_t spread = (int64_t)spreads[paired_level(c->number, 3, 3)];
  case_integer(c, "experts", E);
  case_real(c, "rate", (double)(float)rates[paired_level(c->number, 2, 3)]);
  int64_t *count = case_add_input(c, "counts", TENSOR_I64, 1, (int64_t)E);
  float *bias = case_add_input(c, "bias", TENSOR_F32, 1, (int64_t)E);
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  for (int32_t e = 0; e < E; e++) {
    count[e] = size + random_integer(&r, 0, spread);
    bias[e] = (float)random_normal(&r) * (paired_level(c->number, 4, 2) ? 1.0f : 0x1p-8f);
    if (count[e] != count[0]) case_flag(c, FLAG_LOSS_FREE_SIGN);
  }
  if (size > 1000) case_flag(c, FLAG_LARGE_COUNTS);
  case_add_output(c, OUTPUT_LOSS_FREE, "bias", TENSOR_F32, 1, (int64_t)E);
  return PHIBAL_OK;
}

phibal_status operation_loss_free_make(operation_case *c) {
  if (case_is_paired(c->number)) return make_paired_loss_free(c);
  loads_case l;
  loads_case_start(c, STREAM_LOSS_FREE, NULL, NULL, &l);
  int64_t *count = case_add_input(c, "counts", TENSOR_I64, 1, (int64_t)l.experts);
  float *bias = case_add_input(c, "bias", TENSOR_F32, 1, (int64_t)l.experts);
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  case_real(c, "rate", (double)(float)random_uniform(&l.random, 1e-5, 1e-2));
  bool large = random_integer(&l.random, 0, 3) == 0;
  for (int32_t e = 0; e < l.experts; e++) {
    count[e] = random_integer(&l.random, 0, 4);
    if (large) count[e] += INT64_C(1) << 40;
    bias[e] = (float)random_normal(&l.random);
    if (count[e] != count[0]) case_flag(c, FLAG_LOSS_FREE_SIGN);
  }
  if (large) case_flag(c, FLAG_LARGE_COUNTS);
  case_add_output(c, OUTPUT_LOSS_FREE, "bias", TENSOR_F32, 1, (int64_t)l.experts);
  return PHIBAL_OK;
}

phibal_status operation_loss_free_cpu(operation_case *c) {
  float *bias = case_output_data(c, "bias");
  memcpy(bias, case_input_data(c, "bias"), sizeof(float) * (size_t)experts_of(c));
  return phibal_loss_free_update(experts_of(c), (float)case_get_real(c, "rate"),
                                 case_input_data(c, "counts"), bias);
}

phibal_status operation_loss_free_expected(const operation_case *c, judgement *j) {
  int32_t E = experts_of(c);
  float expected[PHIBAL_MAX_EXPERTS];
  phibal_status status = phibal_reference_loss_free_update(E, (float)case_get_real(c, "rate"),
                                                           case_input_data(c, "counts"),
                                                           case_input_data(c, "bias"), expected);
  if (status != PHIBAL_OK) return status;
  for (int32_t e = 0; e < E; e++)
    judge_exact(j, OUTPUT_LOSS_FREE, case_output(c, "bias"), e, (double)expected[e]);
  return PHIBAL_OK;
}
