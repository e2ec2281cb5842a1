#include "benchmark.h"
#include "kernels/cpu/gemm.h"
#include "moe/machine/clock.h"
#include "moe/data/sampler.h"
#include "moe/machine/processor.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

const char *const benchmark_section_names[BENCHMARK_SECTIONS] = {
    [SECTION_ROUTER] = "router",       [SECTION_PERMUTATION] = "permutation",
    [SECTION_EXPERTS] = "experts",     [SECTION_ATTENTION] = "attention",
    [SECTION_EMBEDDING] = "embedding", [SECTION_HEAD] = "head",
    [SECTION_OPTIMIZER] = "optimizer", [SECTION_OTHER] = "other"};

/* A linear layer's three products on all threads, FLOP a second: Y = X W^T, dX = dY W and
   dW += dY^T X, with X [rows][in], W [out][in]. Each the best of a few rounds, because anything
   else that the machine does can only slow one down. */
static phibal_status measure_products(const int64_t shape[3], double flops[3]) {
  enum { ROUNDS = 3 };
  const int64_t rows = shape[0], out = shape[1], in = shape[2];
  const int64_t numbers = rows * in + out * in + rows * out;
  float *memory = malloc(2 * (size_t)numbers * sizeof *memory);
  if (!memory) return phibal_status_set(PHIBAL_ERROR_MEMORY, "bench: out of memory");
  for (int64_t i = 0; i < 2 * numbers; i++) memory[i] = (float)(i % 7 - 3);
  const float *x = memory, *w = x + rows * in, *dy = w + out * in;
  float *dx = memory + numbers, *dw = dx + rows * in, *y = dw + out * in;
  const double work = 2.0 * (double)rows * (double)out * (double)in;
  const int repeats = 1 + (int)(1e9 / work); /* some 10 ms */
  for (int round = 0; round < ROUNDS; round++)
    for (int form = 0; form < 3; form++) {
      const double start = seconds_now();
      for (int i = 0; i < repeats; i++)
        if (form == 0)
          phibal_gemm_linear(rows, out, in, x, w, 0, y);
        else if (form == 1)
          phibal_gemm_linear_input_gradient(rows, out, in, dy, w, 0.0f, dx);
        else
          phibal_gemm_linear_weight_gradient(rows, out, in, dy, x, dw);
      const double rate = work * repeats / (seconds_now() - start);
      if (rate > flops[form]) flops[form] = rate;
    }
  free(memory);
  return PHIBAL_OK;
}

static phibal_status measure_copy(int threads, double *bytes) {
  enum { ROUNDS = 5 };
  const size_t each = (size_t)64 << 20;
  char *memory = malloc(2 * each * (size_t)threads);
  if (!memory) return phibal_status_set(PHIBAL_ERROR_MEMORY, "bench: out of memory");
  memset(memory, 1, 2 * each * (size_t)threads);
  double best = 0;
  for (int round = 0; round < ROUNDS; round++) {
    double start = seconds_now();
#pragma omp parallel num_threads(threads)
    {
      char *mine = memory + 2 * each * (size_t)omp_get_thread_num();
      memcpy(mine, mine + each, each);
    }
    double rate = 2.0 * (double)each * threads / (seconds_now() - start);
    if (rate > best) best = rate;
  }
  free(memory);
  *bytes = best;
  return PHIBAL_OK;
}

/* Weights of one layer's projections. */
static double attention_weights(const model_config *m) {
  const double width = m->width, queries = (double)m->heads * (double)m->head_width;
  if (!m->latent_width)
    return width * (2.0 * queries + 2.0 * (double)m->key_value_heads * (double)m->head_width);
  const double narrow = m->query_latent_width, latent = m->latent_width, heads = m->heads;
  return (narrow > 0 ? narrow * (width + queries) : width * queries) +
         width * (latent + (double)m->rope_width) +
         latent * heads * ((double)m->head_width - (double)m->rope_width + (double)m->value_width) +
         width * heads * (double)m->value_width;
}

/* Products of one step: forward, and two for each in the backward pass. */
static void count_flops(const run_config *c, double *flops) {
  const model_config *m = &c->model;
  const double tokens = (double)c->batch.sequences * (double)m->sequence, width = m->width;
  const double moe_layers =
      c->balance.method == BALANCE_DENSE ? 0 : (double)(m->layers - m->dense_layers);
  const double dense_layers = (double)m->layers - moe_layers;
  const double value_width = m->latent_width ? m->value_width : m->head_width;
  const double heads = 0.5 * (double)m->heads * ((double)m->head_width + value_width);
  const double real = (double)m->active * model_real_experts(m) / m->experts; /* at even loads */
  const double hidden = moe_layers * (real + (double)m->shared_experts) * (double)m->hidden +
                        dense_layers * (double)m->dense_hidden;
  const double step = 3.0 * 2.0 * tokens;
  flops[SECTION_ROUTER] = step * moe_layers * width * (double)m->experts;
  flops[SECTION_EXPERTS] = step * 3.0 * width * hidden;
  flops[SECTION_ATTENTION] =
      step * (double)m->layers * (attention_weights(m) + heads * ((double)m->sequence + 1.0));
  flops[SECTION_HEAD] = step * width * (double)m->vocabulary;
}

typedef struct bench {
  const run_config *config;
  model *model;
  optimizer optimizer;
  sampler sampler; /* with a file */
  int32_t *tokens, *targets;
  int64_t next;
} bench;

/* Tokens of a skewed, repeating kind, so that routing is neither even nor degenerate. */
static void make_tokens(const bench *b, int64_t index, int32_t *tokens, int32_t *targets) {
  const int32_t n = b->config->model.sequence;
  uint64_t state = (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (int32_t i = 0; i < n; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t r = state >> 33, skewed = (r % 251) * ((r >> 8) % 251) / 251;
    tokens[i] = (int32_t)(skewed % (uint64_t)b->config->model.vocabulary);
    if (i) targets[i - 1] = tokens[i];
  }
  targets[n - 1] = -1;
}

static phibal_status bench_step(bench *b, const token_file *file, double *seconds) {
  const run_config *c = b->config;
  const int64_t sequence = c->model.sequence;
  for (int32_t i = 0; i < c->batch.sequences; i++, b->next++) {
    int32_t *tokens = b->tokens + i * sequence, *target = b->targets + i * sequence;
    if (file)
      sampler_training_sequence(&b->sampler, b->next, tokens, target, NULL);
    else
      make_tokens(b, b->next, tokens, target);
  }
  double start = seconds_now();
  const model_batch batch = model_batch_count(c->batch.sequences * sequence, b->tokens, b->targets);
  phibal_status status = model_step_begin(b->model, batch);
  for (int32_t i = 0; !status && i < c->batch.sequences; i += c->batch.micro_sequences) {
    int32_t n = c->batch.sequences - i;
    if (n > c->batch.micro_sequences) n = c->batch.micro_sequences;
    model_losses losses;
    status = model_forward_backward(b->model, n, b->tokens + i * sequence,
                                    b->targets + i * sequence, &losses);
  }
  if (!status) status = model_step_finish(b->model);
  double computed = seconds_now(), norm = 0;
  if (!status) status = optimizer_norm(&b->optimizer, model_gradients(b->model), &norm);
  if (status) return status;
  optimizer_update(&b->optimizer, c->optimizer.peak_lr, clip_scale(c->optimizer.clip, norm),
                   model_gradients(b->model), model_parameters(b->model));
  double end = seconds_now();
  const model_times *t = model_step_times(b->model);
  seconds[SECTION_ROUTER] = t->router;
  seconds[SECTION_PERMUTATION] = t->permutation;
  seconds[SECTION_EXPERTS] = t->experts;
  seconds[SECTION_ATTENTION] = t->attention;
  seconds[SECTION_EMBEDDING] = t->embedding;
  seconds[SECTION_HEAD] = t->head;
  seconds[SECTION_OPTIMIZER] = end - computed;
  seconds[SECTION_OTHER] = computed - start - t->router - t->permutation - t->experts -
                           t->attention - t->embedding - t->head;
  return PHIBAL_OK;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts x. */
static double median(double *x, int32_t n) {
  qsort(x, (size_t)n, sizeof *x, by_value);
  return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

static phibal_status bench_steps(bench *b, const token_file *file, benchmark *r) {
  enum { UNCOUNTED = 2, TOTAL = BENCHMARK_SECTIONS, COLUMNS };
  const size_t steps = (size_t)r->steps;
  double *times = malloc(COLUMNS * steps * sizeof *times); /* [COLUMNS][steps] */
  if (!times) return phibal_status_set(PHIBAL_ERROR_MEMORY, "bench: out of memory");
  phibal_status status = PHIBAL_OK;
  for (int32_t step = -UNCOUNTED; !status && step < r->steps; step++) {
    double seconds[COLUMNS] = {0};
    status = bench_step(b, file, seconds);
    for (int s = 0; s < BENCHMARK_SECTIONS; s++) seconds[TOTAL] += seconds[s];
    for (size_t s = 0; step >= 0 && s < COLUMNS; s++) times[s * steps + (size_t)step] = seconds[s];
  }
  for (size_t s = 0; !status && s < BENCHMARK_SECTIONS; s++)
    r->section_seconds[s] = median(times + s * steps, r->steps);
  double *total = times + TOTAL * steps;
  if (!status) {
    r->step_seconds[0] = median(total, r->steps);
    r->step_seconds[1] = total[0];
    r->step_seconds[2] = total[steps - 1];
  }
  free(times);
  return status;
}

phibal_status benchmark_run(const run_config *config, const token_file *file, int32_t steps,
                            benchmark *result) {
  if (config->training.threads) omp_set_num_threads(config->training.threads);
  benchmark r = {.threads = omp_get_max_threads(),
                 .steps = steps,
                 .step_tokens = (int64_t)config->batch.sequences * config->model.sequence};
  bench b = {.config = config};
  if (steps < 1) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "bench: at least one step");
  if (config->training.precision != PRECISION_BINARY32)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "bench: the CPU trains in binary32, not in the run file's "
                             "training.precision: bfloat16");
  /* Of an expert's matrix, on the tokens of a micro-batch, or as many of them as there are in a
     common one. */
  const int64_t tokens = (int64_t)config->batch.micro_sequences * config->model.sequence;
  r.product_shape[0] = smaller(tokens, 2048);
  r.product_shape[1] = config->model.hidden;
  r.product_shape[2] = config->model.width;
  /* In turn, so that both meet the same of what else the machine does. */
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < 3 && !status; i++) {
    const double peak = processor_peak(r.threads);
    if (peak > r.peak_flops) r.peak_flops = peak;
    status = measure_products(r.product_shape, r.product_flops);
  }
  if (!status) status = measure_copy(r.threads, &r.copy_bytes);
  if (!status && file)
    status =
        sampler_create(file, config->model.sequence, (uint64_t)config->training.seed, &b.sampler);
  if (!status)
    status = model_create(&config->model, &config->balance, config->batch.micro_sequences,
                          (uint64_t)config->training.seed, &b.model);
  if (!status)
    status = optimizer_create(&config->optimizer, model_tensor_count(b.model),
                              model_tensors(b.model), model_parameter_count(b.model), &b.optimizer);
  b.tokens = malloc(2 * (size_t)r.step_tokens * sizeof *b.tokens);
  b.targets = b.tokens ? b.tokens + r.step_tokens : NULL;
  if (!status && !b.tokens)
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "bench: no memory for a batch");
  if (!status) {
    r.optimizer_bytes = 7.0 * (double)sizeof(float) * (double)model_parameter_count(b.model);
    count_flops(config, r.section_flops);
    status = bench_steps(&b, file, &r);
  }
  free(b.tokens);
  optimizer_destroy(&b.optimizer);
  if (b.model) model_destroy(b.model);
  if (!status) *result = r;
  return status;
}
