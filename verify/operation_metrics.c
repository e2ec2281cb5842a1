/* MaxVio, Gini and entropy. */
#include "judgement.h"
#include <phibal/metrics.h>
#include <phibal/reference_moe.h>

enum { PRECISION = 192 };
enum { STREAM_METRICS = 48 };

/* METRICS(ID, "name") */
#define METRICS_CASES(METRICS)                                                                     \
  METRICS(ONE_EXPERT, "one-expert")                                                                \
  METRICS(MOST_EXPERTS, "most-experts")                                                            \
  METRICS(UNIFORM, "uniform")                                                                      \
  METRICS(LARGE_COUNTS, "large-counts")                                                            \
  METRICS(COLLAPSED, "collapsed")                                                                  \
  METRICS(ORDINARY, "ordinary")                                                                    \
  METRICS(WIDE, "wide-loads")                                                                      \
  METRICS(HARD, "hard-to-round")                                                                   \
  METRICS(ALSO_ORDINARY, "ordinary")                                                               \
  METRICS(STILL_ORDINARY, "ordinary")

typedef enum metrics_kind {
#define METRICS(ID, name) METRICS_##ID,
  METRICS_CASES(METRICS)
#undef METRICS
      METRICS_KINDS
} metrics_kind;

static metrics_kind metrics_kind_of(uint64_t number) {
  metrics_kind kind = (metrics_kind)(number % METRICS_KINDS);
  return kind == METRICS_MOST_EXPERTS && case_is_small(number) ? METRICS_ORDINARY : kind;
}

const char *operation_kind_metrics(uint64_t number) {
  static const char *const names[] = {
#define METRICS(ID, name) name,
      METRICS_CASES(METRICS)
#undef METRICS
  };
  return names[metrics_kind_of(number)];
}

static int64_t choose_experts(metrics_kind kind, bool small, random_stream *r) {
  if (kind == METRICS_ONE_EXPERT) return 1;
  if (kind == METRICS_HARD) return random_integer(r, 8, small ? 9 : 64);
  return random_integer(r, 2, small ? 5 : kind == METRICS_MOST_EXPERTS ? 1024 : 64);
}

/* Two counts that are not 0, drawn until MaxVio, E count[0] / sum - 1 > 1, lies just above the
   middle between two binary64: its bits after the 53rd are 1 and ten 0, and only what follows says
   that it is no tie. One draw in 2^11 does. */
static void choose_hard_counts(random_stream *r, int64_t E, int64_t *count) {
  for (int64_t e = 2; e < E; e++) count[e] = 0;
  for (uint64_t bits = 0; bits != 0x400;) {
    count[0] = random_integer(r, INT64_C(1) << 51, (INT64_C(1) << 52) - 1);
    count[1] = random_integer(r, 1, count[0]);
    uint64_t sum = (uint64_t)(count[0] + count[1]), above = (uint64_t)(count[0] * E) - sum;
    unsigned __int128 quotient = ((unsigned __int128)above << 64) / sum;
    while (quotient >> 64) quotient >>= 1;
    bits = (uint64_t)quotient & 0x7ff;
  }
}

/* Mean probabilities; of the wide ones all but a few are equal, so that what the few add to the sum
   is all that MaxVio is about, and less than 2^-29 of it. */
static float choose_mean(metrics_kind kind, int64_t e, int64_t E, random_stream *r) {
  float drawn = (float)(random_unit(r) * random_unit(r) / (double)E);
  if (kind == METRICS_UNIFORM) return 1.0f / (float)E;
  if (kind != METRICS_WIDE) return drawn;
  return e % 4 == 1 ? drawn * 0x1p-30f : 1.0f / (float)E;
}

phibal_status operation_metrics_make(operation_case *c) {
  metrics_kind kind = metrics_kind_of(c->number);
  random_stream r = random_start(c->seed, STREAM_METRICS, c->number);
  int64_t E = choose_experts(kind, case_is_small(c->number), &r);
  case_integer(c, "experts", E);
  int64_t *count = case_add_input(c, "counts", TENSOR_I64, 1, E);
  float *mean = case_add_input(c, "loads", TENSOR_F32, 1, E);
  double *x = case_add_input(c, "x", TENSOR_F64, 1, E);
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  bool of_counts = random_integer(&r, 0, 1);
  for (int64_t e = 0; e < E; e++) {
    count[e] = kind == METRICS_UNIFORM ? 7 : random_integer(&r, 0, 1000);
    if (kind == METRICS_LARGE_COUNTS) count[e] *= INT64_C(1) << 30;
    if (kind == METRICS_COLLAPSED && e) count[e] = 0;
    mean[e] = choose_mean(kind, e, E, &r);
  }
  if (kind == METRICS_HARD) choose_hard_counts(&r, E, count);
  if (E == 1 || kind == METRICS_COLLAPSED) count[0] = 5;
  for (int64_t e = 0; e < E; e++) x[e] = of_counts ? (double)count[e] : (double)mean[e];
  if (E == 1 || kind == METRICS_COLLAPSED) x[0] = 5;
  case_add_output(c, OUTPUT_MAXVIO_COUNTS, "maxvio-loads", TENSOR_F64, 1, (int64_t)1);
  case_add_output(c, OUTPUT_MAXVIO_MEAN, "maxvio-mean", TENSOR_F64, 1, (int64_t)1);
  case_add_output(c, OUTPUT_GINI, "gini", TENSOR_F64, 1, (int64_t)1);
  case_add_output(c, OUTPUT_ENTROPY, "entropy", TENSOR_F64, 1, (int64_t)1);
  return PHIBAL_OK;
}

phibal_status operation_metrics_cpu(operation_case *c) {
  int32_t E = (int32_t)case_get_integer(c, "experts");
  const double *x = case_input_data(c, "x");
  phibal_status status =
      phibal_maxvio_counts(E, case_input_data(c, "counts"), case_output_data(c, "maxvio-loads"));
  if (status == PHIBAL_OK)
    status = phibal_maxvio_mean(E, case_input_data(c, "loads"), case_output_data(c, "maxvio-mean"));
  if (status == PHIBAL_OK) status = phibal_gini(E, x, case_output_data(c, "gini"));
  return status == PHIBAL_OK ? phibal_entropy(E, x, case_output_data(c, "entropy")) : status;
}

phibal_status operation_metrics_expected(const operation_case *c, judgement *j) {
  int32_t E = (int32_t)case_get_integer(c, "experts");
  const double *x = case_input_data(c, "x");
  phibal_enclosure truth, one;
  phibal_enclosure_init(&truth, PRECISION);
  phibal_enclosure_init(&one, PRECISION);
  /* The slack of maxvio-mean (a difference of numbers near 1) and entropy are absolute. */
  phibal_enclosure_set_si(&one, 1);
  phibal_status status =
      phibal_reference_maxvio_counts(E, case_input_data(c, "counts"), PRECISION, &truth);
  if (status == PHIBAL_OK) {
    judge_real(j, OUTPUT_MAXVIO_COUNTS, case_output(c, "maxvio-loads"), 0, &truth, NULL);
    status = phibal_reference_maxvio_mean(E, case_input_data(c, "loads"), PRECISION, &truth);
  }
  if (status == PHIBAL_OK) {
    judge_real(j, OUTPUT_MAXVIO_MEAN, case_output(c, "maxvio-mean"), 0, &truth, &one);
    status = phibal_reference_gini(E, x, PRECISION, &truth);
  }
  if (status == PHIBAL_OK) {
    judge_real(j, OUTPUT_GINI, case_output(c, "gini"), 0, &truth, &one);
    status = phibal_reference_entropy(E, x, PRECISION, &truth);
  }
  if (status == PHIBAL_OK)
    judge_real(j, OUTPUT_ENTROPY, case_output(c, "entropy"), 0, &truth, &one);
  phibal_enclosure_clear(&truth);
  phibal_enclosure_clear(&one);
  return status;
}
