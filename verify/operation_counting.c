/* Loads alone, and frequencies from counts alone: what accumulates over tokens. Probabilities are
   powers of two (but for 2^-200), so that a batch of the ordinary cases adds up exactly even in
   bfloat16, and only long batches show in what type an implementation accumulates. */
#include "judgement.h"
#include "paired.h"
#include "selection.h"
#include "vectors.h"
#include <math.h>
#include <phibal/reference_moe.h>

enum { PRECISION = 96 };
enum { STREAM_LOADS = 96, STREAM_FREQUENCIES };

/* The first long batch of a run or of a file, and the others. */
enum { LONG_BATCH = 65536, LATER_BATCH = 4096 };

static const char *const counting_kinds[] = {"ordinary",    "padding",  "many-tokens",
                                             "dead-expert", "ordinary", "k-equals-e"};

enum { COUNTING_KINDS = sizeof counting_kinds / sizeof *counting_kinds };

/* What a paired case is made of. Its logits are bell-shaped, so that sums in binary32 round. */
enum { PAIR_K, PAIR_MASK, PAIR_TOKENS, PAIR_EXPERTS, PAIR_DEAD };

const char *operation_kind_counting(uint64_t number) {
  if (case_is_paired(number))
    return paired_level(number, PAIR_DEAD, 2) ? "dead-expert" : "ordinary";
  const char *kind = counting_kinds[number % COUNTING_KINDS];
  return case_is_small(number) && strcmp(kind, "many-tokens") == 0 ? "ordinary" : kind;
}

/* A token wants 1, 2 or 4 of the experts, equally; `first` .. E-1 are those that may be wanted. */
static void draw_token(random_stream *r, int32_t E, int32_t first, float *logits) {
  int32_t wanted = (int32_t)(INT64_C(1) << random_integer(r, 0, 2));
  while (wanted > E - first) wanted /= 2;
  for (int32_t e = 0; e < E; e++) logits[e] = -150;
  for (int32_t n = 0; n < wanted;) {
    int64_t e = random_integer(r, first, E - 1);
    if (logits[e] < 0) logits[e] = 0, n++;
  }
}

phibal_status operation_loads_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_LOADS, c->number);
  const bool paired = case_is_paired(c->number);
  bool many = case_is_kind(c, "many-tokens"), dead = case_is_kind(c, "dead-expert");
  bool small = case_is_small(c->number);
  int32_t E = many ? 2 : (int32_t)random_integer(&r, dead ? 2 : 1, small ? 5 : 12);
  bool first = c->number % VECTORS_FIRST < COUNTING_KINDS;
  int64_t T = many ? first ? LONG_BATCH : LATER_BATCH : random_integer(&r, 2, small ? 4 : 64);
  int64_t k = case_is_kind(c, "k-equals-e") ? E : random_integer(&r, 1, E < 4 ? E : 4);
  int padding = case_is_kind(c, "padding") ? 1 : 0; /* 2: with finite logits */
  if (paired) {
    static const int32_t experts[] = {3, 8, 12, 33, 66};
    static const int64_t tokens[] = {2, 3, 7, 50, 300, 1};
    E = experts[paired_level(c->number, PAIR_EXPERTS, 5)];
    T = tokens[paired_level(c->number, PAIR_TOKENS, 6)];
    const int64_t active[] = {1, 2, E < 8 ? E : 8};
    k = active[paired_level(c->number, PAIR_K, 3)];
    padding = paired_level(c->number, PAIR_MASK, 3);
    if (T == 1) case_flag(c, FLAG_ONE_TOKEN);
    if (padding && T > 1) case_flag(c, FLAG_PADDING);
    if (k == E) case_flag(c, FLAG_K_EQUALS_E);
    if (k == 1) case_flag(c, FLAG_K_ONE);
  }
  case_integer(c, "k", k);
  float *logits = case_add_input(c, "logits", TENSOR_F32, 2, T, (int64_t)E);
  uint8_t *mask = padding ? case_add_input(c, "mask", TENSOR_U8, 1, T) : NULL;
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  for (int64_t t = 0; !paired && t < T; t++) draw_token(&r, E, dead ? 1 : 0, logits + t * E);
  for (int64_t i = 0; paired && i < T * E; i++)
    logits[i] = (float)(2 * random_normal(&r)) - (dead && i % E == 0 ? 90 : 0);
  for (int64_t t = 0; mask && t < T; t++) {
    mask[t] = t == 0 || (t < T - 1 && random_integer(&r, 0, 2) > 0);
    if (!mask[t] && padding == 1)
      logits[t * E] = (float)NAN;
    else if (!mask[t])
      logits[t * E + E - 1] += 9;
  }
  /* Powers of two add up in 8 bits, unless there are too many. */
  if ((paired || many) && E > 1) case_flag(c, FLAG_HALF_SUMS);
  case_add_output(c, OUTPUT_LOADS_LOADS, "loads", TENSOR_F32, 1, (int64_t)E);
  case_add_output(c, OUTPUT_LOADS_FREQUENCIES, "frequencies", TENSOR_F32, 1, (int64_t)E);
  case_add_output(c, OUTPUT_LOADS_COUNTS, "counts", TENSOR_I64, 1, (int64_t)E);
  return PHIBAL_OK;
}

static phibal_router router_of(const operation_case *c) {
  return (phibal_router){.experts = (int32_t)case_input(c, "logits")->shape[1],
                         .active = (int32_t)case_get_integer(c, "k"),
                         .gate = PHIBAL_GATE_PROBABILITY,
                         .scale = 1};
}

phibal_status operation_loads_cpu(operation_case *c) {
  phibal_router router = router_of(c);
  int64_t T = case_input(c, "logits")->shape[0];
  size_t slots = (size_t)(T * router.active);
  phibal_loads loads;
  phibal_status status = phibal_loads_create(&router, &loads);
  if (status != PHIBAL_OK) return status;
  int32_t *experts = arena_take(&c->memory, sizeof(int32_t) * slots, 0);
  float *gates = arena_take(&c->memory, sizeof(float) * slots, 0);
  status = case_status(c);
  if (status == PHIBAL_OK)
    status = phibal_router_forward(&router, T, case_input_data(c, "logits"), NULL,
                                   case_input_data(c, "mask"), NULL, experts, gates, NULL, &loads);
  if (status == PHIBAL_OK) status = phibal_loads_mean(&loads, case_output_data(c, "loads"));
  if (status == PHIBAL_OK)
    status = phibal_loads_frequency(&loads, case_output_data(c, "frequencies"));
  if (status == PHIBAL_OK)
    memcpy(case_output_data(c, "counts"), loads.count, sizeof(int64_t) * (size_t)router.experts);
  phibal_loads_destroy(&loads);
  return status;
}

static void judge_frequencies(judgement *j, output_id promise, const operation_case *c, int32_t E,
                              const phibal_enclosure *truth) {
  for (int32_t e = 0; e < E; e++)
    judge_real(j, promise, case_output(c, "frequencies"), e, &truth[e], NULL);
}

phibal_status operation_loads_expected(const operation_case *c, judgement *j) {
  phibal_router router = router_of(c);
  int32_t E = router.experts;
  int64_t count[PHIBAL_MAX_EXPERTS], counted;
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)E, PRECISION);
  if (!truth) return arena_out_of_memory();
  phibal_status status =
      phibal_reference_loads((phibal_reference_batch){&router, case_input_data(c, "logits"), NULL,
                                                      case_input_data(c, "mask")},
                             case_input(c, "logits")->shape[0], PRECISION, truth, count, &counted);
  const tensor *experts = case_input(c, "experts"); /* another selection than (R2)'s */
  if (experts) selection_count(experts->data, tensor_size(experts), E, count);
  if (status == PHIBAL_OK) {
    for (int32_t e = 0; e < E; e++) {
      judge_real(j, OUTPUT_LOADS_LOADS, case_output(c, "loads"), e, &truth[e], NULL);
      judge_integer(j, OUTPUT_LOADS_COUNTS, case_output(c, "counts"), e, count[e]);
    }
    status = phibal_reference_frequency(E, router.active, counted, count, truth);
  }
  if (status == PHIBAL_OK) judge_frequencies(j, OUTPUT_LOADS_FREQUENCIES, c, E, truth);
  phibal_enclosure_vector_clear(truth, (size_t)E);
  return status;
}

static const char *const frequency_kinds[] = {"ordinary", "large-counts", "k-not-dividing",
                                              "collapsed"};

enum { FREQUENCY_KINDS = sizeof frequency_kinds / sizeof *frequency_kinds };

const char *operation_kind_frequencies(uint64_t number) {
  if (case_is_paired(number)) return paired_level(number, 1, 5) > 1 ? "large-counts" : "ordinary";
  return frequency_kinds[number % FREQUENCY_KINDS];
}

/* Counts beyond what 24, 31, 32 and 53 bits hold, none of them a multiple of a power of two. */
static phibal_status make_paired_frequencies(operation_case *c) {
  static const int64_t sizes[] = {60, 100000, INT64_C(1) << 26, INT64_C(1) << 33, INT64_C(1) << 55};
  static const int64_t experts[] = {4, 7, 8, 33, 66};
  random_stream r = random_start(c->seed, STREAM_FREQUENCIES, c->number);
  const int64_t E = experts[paired_level(c->number, 0, 5)];
  const int64_t most = sizes[paired_level(c->number, 1, 5)], k = 1 + paired_level(c->number, 2, 4);
  const bool dropped = paired_level(c->number, 3, 2), dead = paired_level(c->number, 4, 2);
  int64_t *count = case_add_input(c, "counts", TENSOR_I64, 1, E), sum = 0;
  if (!count) return arena_out_of_memory();
  for (int64_t e = 0; e < E; e++) {
    count[e] = dead && e % 3 == 0 ? 0 : random_integer(&r, most / 2, most) | 1;
    sum += count[e];
  }
  /* Filled up to a multiple of k, or where a slot was dropped to one less. */
  const int64_t filled = (k - sum % k) % k, lost = dropped && k > 1;
  count[E - 1] += filled - lost;
  sum += filled;
  if (count[E - 1] < 0) count[E - 1] += k, sum += k;
  case_integer(c, "k", k);
  case_integer(c, "tokens", sum / k);
  if (k > 1) case_flag(c, FLAG_K_NORMALISATION);
  if (lost) case_flag(c, FLAG_K_NOT_DIVIDING);
  if (dead) case_flag(c, FLAG_DEAD_EXPERT);
  case_add_output(c, OUTPUT_FREQUENCIES, "frequencies", TENSOR_F32, 1, E);
  return PHIBAL_OK;
}

/* Tokens wholly routed have k T slots; where some were dropped, fewer, and a number that k does not
   divide. */
phibal_status operation_frequencies_make(operation_case *c) {
  if (case_is_paired(c->number)) return make_paired_frequencies(c);
  random_stream r = random_start(c->seed, STREAM_FREQUENCIES, c->number);
  int64_t E = random_integer(&r, 4, case_is_small(c->number) ? 5 : 16),
          k = random_integer(&r, 2, 4);
  int64_t unit = case_is_kind(c, "large-counts") ? (INT64_C(1) << 33) + 1 : 1, sum = 0;
  int64_t *count = case_add_input(c, "counts", TENSOR_I64, 1, E);
  if (!count) return arena_out_of_memory();
  bool collapsed = case_is_kind(c, "collapsed");
  for (int64_t e = 0; e < E; e++) {
    count[e] = collapsed ? (e < k ? 50 : 0) : random_integer(&r, 0, 60) * unit;
    sum += count[e];
  }
  /* Filled up to a multiple of k, or to one less than that. */
  count[E - 1] += collapsed ? 0 : k - sum % k;
  sum += collapsed ? 0 : k - sum % k;
  if (case_is_kind(c, "k-not-dividing")) {
    int64_t most = 0;
    for (int64_t e = 0; e < E; e++)
      if (count[e] > count[most]) most = e;
    count[most]--;
  }
  case_integer(c, "k", k);
  case_integer(c, "tokens", sum / k);
  case_flag(c, FLAG_K_NORMALISATION);
  case_add_output(c, OUTPUT_FREQUENCIES, "frequencies", TENSOR_F32, 1, E);
  return PHIBAL_OK;
}

phibal_status operation_frequencies_cpu(operation_case *c) {
  phibal_loads loads = {.experts = (int32_t)case_input(c, "counts")->shape[0],
                        .active = (int32_t)case_get_integer(c, "k"),
                        .tokens = case_get_integer(c, "tokens"),
                        .count = case_input_data(c, "counts")};
  return phibal_loads_frequency(&loads, case_output_data(c, "frequencies"));
}

phibal_status operation_frequencies_expected(const operation_case *c, judgement *j) {
  int32_t E = (int32_t)case_input(c, "counts")->shape[0];
  phibal_enclosure *truth = phibal_enclosure_vector((size_t)E, PRECISION);
  if (!truth) return arena_out_of_memory();
  phibal_status status = phibal_reference_frequency(E, (int32_t)case_get_integer(c, "k"),
                                                    case_get_integer(c, "tokens"),
                                                    case_input_data(c, "counts"), truth);
  if (status == PHIBAL_OK) judge_frequencies(j, OUTPUT_FREQUENCIES, c, E, truth);
  phibal_enclosure_vector_clear(truth, (size_t)E);
  return status;
}
