/* The whole training step of a run file on a device, on random tokens: tokens a second and the
   fraction of a peak that they are, by the FLOPs that `phibal plan` counts for a token. Nothing is
   read but the run file and nothing written.
     usage: bench_train_step CONFIG DEVICE SEQUENCES MICRO STEPS [PEAK]
   SEQUENCES of a step, MICRO of them at a time; PEAK in FLOP/s (989.4e12, an H100's and H200's in
   bfloat16). With phi-balancing and without, each twice, one after the other, from the same
   weights; two steps are made before those that are timed. (With host-cuda, which is to try this
   program, once and none.) Without steps: prints the run file with all its keys. */
#include "moe/machine/clock.h"
#include "moe/config/config.h"
#include "moe/device/device.h"
#include "moe/model/model_internal.h"
#include "moe/plan/plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(phibal_status status) {
  if (status == PHIBAL_OK) return;
  fprintf(stderr, "bench_train_step: %s\n", phibal_status_message());
  exit(1);
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void step(device *d, const run_config *c, const int32_t *tokens, const int32_t *targets) {
  const int64_t length = c->model.sequence;
  model_losses losses = {0};
  double norm;
  require(device_step_begin(d, model_batch_count(c->batch.sequences * length, tokens, targets)));
  for (int32_t i = 0; i < c->batch.sequences; i += c->batch.micro_sequences)
    require(device_forward_backward(d, c->batch.micro_sequences, tokens + i * length,
                                    targets + i * length));
  require(device_step_finish(d, 1e-5, &losses, &norm));
}

/* The median time of a step; a line with that and what it means. */
static double measure(const run_config *c, const char *kind, model *m, int before, int steps,
                      double peak) {
  const double begin = seconds_now();
  const int32_t calls = c->batch.sequences / c->batch.micro_sequences;
  optimizer o;
  device *d;
  require(optimizer_create(&c->optimizer, model_tensor_count(m), model_tensors(m),
                           model_parameter_count(m), &o));
  require(device_create(kind, m, NULL, &o, PRECISION_BFLOAT16, calls, NULL, &d));
  const double prepared = seconds_now() - begin;
  const size_t n = (size_t)c->batch.sequences * (size_t)c->model.sequence;
  int32_t *tokens = malloc((n + 1) * sizeof *tokens);
  double *times = malloc((size_t)steps * sizeof *times);
  if (!tokens || !times) require(phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory"));
  uint64_t state = 88172645463325252u;
  for (int i = -before; i < steps; i++) {
    for (size_t t = 0; t <= n; t++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      tokens[t] = (int32_t)(state % (uint64_t)c->model.vocabulary);
    }
    const double from = seconds_now();
    step(d, c, tokens, tokens + 1);
    if (i >= 0) times[i] = seconds_now() - from;
  }
  qsort(times, (size_t)steps, sizeof *times, compare);
  const double median = times[steps / 2], rate = (double)n / median;
  const double flops = plan_compute(c).token_flops;
  printf("%s, %s: %.0f tokens/s, MFU %.2f %% of %.1f TFLOP/s; a step of %zu tokens %.1f ms (%.1f "
         "to %.1f), %.4f GFLOP a token; attention by %s; prepared in %.0f s\n",
         c->name, c->balance.method == BALANCE_NONE ? "none" : "phi", rate,
         100 * rate * flops / peak, peak * 1e-12, n, 1e3 * median, 1e3 * times[0],
         1e3 * times[steps - 1], flops * 1e-9, device_attention_by(d), prepared);
  fflush(stdout);
  free(times);
  free(tokens);
  device_destroy(d);
  optimizer_destroy(&o);
  return median;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: bench_train_step CONFIG DEVICE SEQUENCES MICRO STEPS [PEAK]\n");
    return 2;
  }
  const double peak = argc > 6 ? atof(argv[6]) : 989.4e12;
  const int steps = atoi(argv[5]);
  const config_override set[] = {{"batch.sequences", argv[3], "SEQUENCES"},
                                 {"batch.micro_sequences", argv[4], "MICRO"},
                                 {"training.precision", "bfloat16", "bfloat16"}};
  run_config c;
  require(run_config_load(argv[1], set, sizeof set / sizeof *set, &c));
  if (steps < 1) {
    run_config_write(&c, stdout);
    return 0;
  }
  if (c.batch.sequences % c.batch.micro_sequences) {
    fprintf(stderr, "bench_train_step: micro-batches have to be whole\n");
    return 2;
  }
  model *m;
  require(model_create(&c.model, &c.balance, c.batch.micro_sequences, 1, &m));
  double least[2] = {1e300, 1e300}; /* phi, none */
  const bool trial = strcmp(argv[2], "cuda") != 0;
  for (int i = 0; i < (trial ? 2 : 4); i++) {
    c.balance.method = m->balance.method = i % 2 ? BALANCE_NONE : BALANCE_PHI;
    const double median = measure(&c, argv[2], m, trial ? 0 : 2, steps, peak);
    if (median < least[i % 2]) least[i % 2] = median;
  }
  printf("%s: phi-balancing costs %.2f %% of the step without\n", c.name,
         100 * (least[0] / least[1] - 1));
  model_destroy(m);
  return 0;
}
