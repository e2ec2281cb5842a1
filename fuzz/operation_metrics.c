/* MaxVio, Gini and entropy. */
#include "judgement.h"
#include <phibal/metrics.h>
#include <phibal/reference_moe.h>

enum { PRECISION = 192 };
enum { STREAM_METRICS = 48 };

const char *operation_kind_metrics(uint64_t number) {
  static const char *const names[] = {"one-expert", "most-experts", "uniform",  "large-counts",
                                      "collapsed",  "ordinary",     "ordinary", "ordinary"};
  bool large = number % 8 == 1 && case_is_small(number);
  return large ? "ordinary" : names[number % 8];
}

phibal_status operation_metrics_make(operation_case *c) {
  uint64_t number = c->number;
  random_stream r = random_start(c->seed, STREAM_METRICS, number);
  int64_t E = number % 8 == 0 ? 1
                              : random_integer(&r, 2,
                                               case_is_small(number) ? 5
                                               : number % 8 == 1     ? 1024
                                                                     : 64);
  case_integer(c, "experts", E);
  int64_t *count = case_add_input(c, "counts", TENSOR_I64, 1, E);
  float *mean = case_add_input(c, "loads", TENSOR_F32, 1, E);
  double *x = case_add_input(c, "x", TENSOR_F64, 1, E);
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  for (int64_t e = 0; e < E; e++) {
    count[e] = number % 8 == 2 ? 7 : random_integer(&r, 0, 1000);
    if (number % 8 == 3) count[e] *= INT64_C(1) << 30;
    if (number % 8 == 4 && e) count[e] = 0;
    mean[e] = (float)(random_unit(&r) * random_unit(&r) / (double)E);
    if (number % 8 == 2) mean[e] = 1.0f / (float)E;
    x[e] = number % 2 ? (double)mean[e] : (double)count[e];
  }
  if (E == 1 || number % 8 == 4) {
    count[0] = 5;
    x[0] = 5;
  }
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

phibal_status operation_metrics_truth(const operation_case *c, judgement *j) {
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
