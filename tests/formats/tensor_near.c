/* Whether two safetensors files hold the same tensors to a band: for each of binary32 whose name
   begins with PREFIX, |a - b| <= BAND |b| in the Euclidean norm.
   usage: tensor_near BAND PREFIX A B */
#include "formats/safetensors.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double distance(const float *a, const float *b, int64_t n, double *norm) {
  double difference = 0, sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const double d = (double)a[i] - (double)b[i];
    difference += d * d;
    sum += (double)b[i] * (double)b[i];
  }
  *norm = sqrt(sum);
  return sqrt(difference);
}

int main(int argc, char **argv) {
  safetensors_file a, b;
  if (argc != 5 || safetensors_open(argv[3], &a) || safetensors_open(argv[4], &b)) {
    fprintf(stderr, "tensor_near: %s\n", phibal_status_message());
    return 2;
  }
  const double band = strtod(argv[1], NULL);
  double worst = 0;
  int64_t compared = 0, wrong = a.count != b.count;
  for (int64_t i = 0; i < b.count; i++) {
    const safetensors_tensor *want = &b.tensors[i], *got;
    if (want->dtype != SAFETENSORS_F32 || strncmp(want->name, argv[2], strlen(argv[2]))) continue;
    compared++;
    if (safetensors_get(&a, want->name, SAFETENSORS_F32, want->dimensions, want->shape, &got)) {
      fprintf(stderr, "%s\n", phibal_status_message());
      wrong++;
      continue;
    }
    double norm;
    const double d = distance(got->data, want->data, want->elements, &norm);
    if (!(norm > 0) || !(d <= band * norm)) {
      fprintf(stderr, "%s: differs by %g of its norm, %g\n", want->name, d / norm, norm);
      wrong++;
    }
    if (d / norm > worst) worst = d / norm;
  }
  if (!compared) fprintf(stderr, "tensor_near: no tensor '%s...'\n", argv[2]);
  printf("%lld tensors, %g at most\n", (long long)compared, worst);
  safetensors_close(&a);
  safetensors_close(&b);
  return wrong || !compared;
}
