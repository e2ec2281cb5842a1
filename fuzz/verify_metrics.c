/* MaxVio, Gini and entropy against the reference. */
#include "random.h"
#include "verify.h"
#include <phibal/metrics.h>
#include <phibal/reference_moe.h>

enum { PRECISION = 192 };
enum { OPERATION_METRICS = 48 };

phibal_status verify_metrics(uint64_t seed, uint64_t number, tally *tallies) {
  random_stream r = random_start(seed, OPERATION_METRICS, number);
  int32_t E = number % 8 == 0 ? 1 : (int32_t)random_integer(&r, 2, number % 8 == 1 ? 1024 : 64);
  int64_t count[1024];
  float mean[1024];
  double x[1024], maxvio = -9, maxvio_mean = -9, gini = -9, entropy = -9;
  for (int32_t e = 0; e < E; e++) {
    count[e] = number % 8 == 2 ? 7 : random_integer(&r, 0, 1000);
    if (number % 8 == 3) count[e] *= INT64_C(1) << 30;
    if (number % 8 == 4 && e) count[e] = 0;
    mean[e] = (float)(random_unit(&r) * random_unit(&r) / E);
    if (number % 8 == 2) mean[e] = 1.0f / (float)E;
    x[e] = number % 2 ? (double)mean[e] : (double)count[e];
  }
  if (E == 1 || number % 8 == 4) {
    count[0] = 5;
    x[0] = 5;
  }
  phibal_enclosure truth, one;
  phibal_enclosure_init(&truth, PRECISION);
  phibal_enclosure_init(&one, PRECISION);
  /* The slacks of maxvio-mean (a difference of numbers near 1) and entropy are absolute. */
  phibal_enclosure_set_si(&one, 1);
  phibal_status status = phibal_maxvio_counts(E, count, &maxvio);
  if (status == PHIBAL_OK) status = phibal_reference_maxvio_counts(E, count, PRECISION, &truth);
  if (status == PHIBAL_OK) {
    tally_real(&tallies[OUTPUT_MAXVIO_COUNTS], 0, &truth, NULL, maxvio);
    status = phibal_maxvio_mean(E, mean, &maxvio_mean);
  }
  if (status == PHIBAL_OK) status = phibal_reference_maxvio_mean(E, mean, PRECISION, &truth);
  if (status == PHIBAL_OK) {
    tally_real(&tallies[OUTPUT_MAXVIO_MEAN], 0, &truth, &one, maxvio_mean);
    status = phibal_gini(E, x, &gini);
  }
  if (status == PHIBAL_OK) status = phibal_reference_gini(E, x, PRECISION, &truth);
  if (status == PHIBAL_OK) {
    tally_real(&tallies[OUTPUT_GINI], 0, &truth, &one, gini);
    status = phibal_entropy(E, x, &entropy);
  }
  if (status == PHIBAL_OK) status = phibal_reference_entropy(E, x, PRECISION, &truth);
  if (status == PHIBAL_OK) tally_real(&tallies[OUTPUT_ENTROPY], 0, &truth, &one, entropy);
  phibal_enclosure_clear(&truth);
  phibal_enclosure_clear(&one);
  return status;
}
