/* Training of adapters on the host's CUDA, whose memory can be read: what each part of a step makes
   of the arrays before it, and the losses beside the CPU's training. */
#include "device_arrays.h"
#include "moe/device/device_internal.h"
#include "moe/hf/hf_architecture.h"
#include "trained_models.h"

#include <stdio.h>

enum { BATCH = 2, CALLS = 2, LENGTH = 16, TOKENS = BATCH * LENGTH, V = 61, STEPS = 10 };

/* Of width 16 experts' products read their sizes on the device. */
static const model_config shape = {MIXED_MODEL, .layers = 3, .hidden = 16};
static const hf_architecture named = {.model_type = "test",
                                      .class_name = "Test",
                                      .router = "mlp.gate.weight",
                                      .expert = "mlp.experts",
                                      .gate = "gate_proj",
                                      .up = "up_proj",
                                      .down = "down_proj",
                                      .shared = "mlp.shared_experts"};
static const double rate = 5e-3;

#define ATTENTION "q_proj,k_proj,v_proj,o_proj"
#define FFN "gate_proj,up_proj,down_proj"

/* Scales alpha / r that are no powers of two; a rank above every side; matrices of every kind, and
   few of them, so that most stay as they are. */
typedef struct variant {
  lora_config config;
  double clip;
  int recompute;
} variant;
static const variant variants[] = {
    {{3, 5, ATTENTION, 0}, 0.05, RECOMPUTE_NONE},
    {{3, 5, ATTENTION "," FFN ",mlp.gate,embed_tokens,lm_head", 0}, 0.05, RECOMPUTE_LAYERS},
    {{70, 49, "k_proj,experts.1.down_proj,shared_experts.up_proj,lm_head", 0}, 0, RECOMPUTE_NONE}};

static int32_t tokens[CALLS * TOKENS], targets[CALLS * TOKENS];

/* Other text each step; some tokens without a target, and padding. */
static model_batch make_batch(int step) {
  for (int i = 0; i < CALLS * TOKENS; i++) {
    tokens[i] = (i * i + 5 * step + i / LENGTH) % V;
    targets[i] = i % 13 == 5 ? -1 : ((i + 1) * (i + 1) + 5 * step + i / LENGTH) % V;
    if (i / LENGTH == 2 && i % LENGTH >= LENGTH - 2) tokens[i] = targets[i] = -1;
  }
  return model_batch_count(CALLS * TOKENS, tokens, targets);
}

typedef struct training {
  model *host;
  lora l;
  optimizer optimizer;
  device *device;
} training;

/* Null: the CPU alone. B is not 0, as of a run that goes on. */
static void start(const char *kind, const variant *of, model_precision precision, training *t) {
  model_config c = shape;
  c.recompute = of->recompute;
  optimizer_config o = adamw;
  o.weight_decay = 0.3;
  o.clip = of->clip;
  *t = (training){0};
  cr_assert_eq(model_create(&c, &phi, BATCH, 11, &t->host), PHIBAL_OK);
  cr_assert_eq(lora_create(&of->config, &named, &c, t->host, 7, &t->l), PHIBAL_OK, "%s",
               phibal_status_message());
  for (int32_t i = 0; i < t->l.count; i++)
    for (int64_t j = 0; j < t->l.matrices[i].rows * t->l.rank; j++)
      t->l.parameters[t->l.matrices[i].b + j] = (float)((j * 37 + i) % 19 - 9) * 0x1p-9f;
  lora_apply(&t->l);
  cr_assert_eq(
      optimizer_create(&o, 2 * t->l.count, t->l.tensors, t->l.parameter_count, &t->optimizer),
      PHIBAL_OK);
  if (kind)
    cr_assert_eq(
        device_create(kind, t->host, &t->l, &t->optimizer, precision, CALLS, NULL, &t->device),
        PHIBAL_OK, "%s", phibal_status_message());
}

static void finish(training *t) {
  device_destroy(t->device);
  optimizer_destroy(&t->optimizer);
  lora_destroy(&t->l);
  model_destroy(t->host);
}

static void calls(training *t, model_batch batch, double *loss) {
  cr_assert_eq(t->device ? device_step_begin(t->device, batch) : model_step_begin(t->host, batch),
               PHIBAL_OK);
  for (int call = 0; call < CALLS; call++) {
    const int32_t *from = tokens + call * TOKENS, *to = targets + call * TOKENS;
    model_losses losses = {0};
    cr_assert_eq(t->device ? device_forward_backward(t->device, BATCH, from, to)
                           : model_forward_backward(t->host, BATCH, from, to, &losses),
                 PHIBAL_OK, "%s", phibal_status_message());
    *loss += losses.cross_entropy;
  }
}

/* The CPU's loss and norm at these factors. */
static double cpu_step(training *t, const float *factors, model_batch batch, double *loss) {
  double norm;
  *loss = 0;
  memcpy(t->l.parameters, factors, sizeof *factors * (size_t)t->l.parameter_count);
  lora_apply(&t->l);
  calls(t, batch, loss);
  cr_assert_eq(model_step_finish(t->host), PHIBAL_OK);
  lora_gradients(&t->l);
  cr_assert_eq(optimizer_norm(&t->optimizer, t->l.gradients, &norm), PHIBAL_OK);
  return norm;
}

/* |got - sum of n terms x_i y_i, and of `first`| within (n + 5) u times the sum of their sizes: of
   a product n roundings, one of each factor that s is in, and two of what the CPU would do. */
typedef struct sum {
  double value, size;
} sum;
static void add(sum *s, double x) {
  s->value += x;
  s->size += fabs(x);
}
static void check_sum(const char *what, sum s, int64_t n, float got) {
  cr_assert_leq(fabs((double)got - s.value), (double)(n + 5) * 0x1p-24 * s.size + 0x1p-140,
                "%s: %g, not %g", what, (double)got, s.value);
}

/* dA = s B^T dW and dB = s dW A^T, of the factors before the step. */
static void check_gradients(const training *t, const float *factors) {
  const device *d = t->device;
  const double s = (double)t->l.scale;
  const int32_t r = t->l.rank;
  for (int32_t i = 0; i < t->l.count; i++) {
    const lora_matrix *w = &t->l.matrices[i];
    const float *g = d->model.gradients + (w->weight - t->host->parameters);
    const float *a = factors + w->a, *b = factors + w->b;
    for (int32_t k = 0; k < r; k++)
      for (int64_t j = 0; j < w->columns; j++) {
        sum of = {0};
        for (int64_t o = 0; o < w->rows; o++)
          add(&of, s * (double)b[o * r + k] * (double)g[o * w->columns + j]);
        check_sum("A's gradient", of, w->rows, d->trained_gradients[w->a + k * w->columns + j]);
      }
    for (int64_t o = 0; o < w->rows; o++)
      for (int32_t k = 0; k < r; k++) {
        sum of = {0};
        for (int64_t j = 0; j < w->columns; j++)
          add(&of, s * (double)g[o * w->columns + j] * (double)a[k * w->columns + j]);
        check_sum("B's gradient", of, w->columns, d->trained_gradients[w->b + o * r + k]);
      }
  }
}

/* W = W0 + s B A where there is an adapter, and the first weights to the bit elsewhere; in bfloat16
   the copy is what they are after rounding. */
static void check_weights(const training *t, const float *first) {
  const device *d = t->device;
  const int64_t n = d->model.parameter_count;
  const int32_t r = t->l.rank;
  bool *adapted = calloc((size_t)n, sizeof *adapted);
  for (int32_t i = 0; i < t->l.count; i++) {
    const lora_matrix *w = &t->l.matrices[i];
    const int64_t at = w->weight - t->host->parameters;
    const float *a = d->trained + w->a, *b = d->trained + w->b;
    for (int64_t o = 0; o < w->rows; o++)
      for (int64_t j = 0; j < w->columns; j++) {
        sum of = {0};
        add(&of, (double)t->l.base[w->base + o * w->columns + j]);
        for (int32_t k = 0; k < r; k++)
          add(&of, (double)t->l.scale * (double)b[o * r + k] * (double)a[k * w->columns + j]);
        check_sum("a weight", of, r, d->model.parameters[at + o * w->columns + j]);
        adapted[at + o * w->columns + j] = true;
      }
  }
  int64_t frozen = 0;
  for (int64_t i = 0; i < n; i++) {
    if (adapted[i]) continue;
    frozen++;
    cr_assert_eq(core_bits32(first[i]), core_bits32(d->model.parameters[i]), "frozen weight %d",
                 (int)i);
  }
  cr_assert(frozen > 0 && frozen < n);
  if (d->narrow) check_rows("weights", copied(d->model.parameters, n), d->narrow, n);
  free(adapted);
}

/* Ten steps; in binary32 the CPU's loss and norm at the same factors are within 1e-6 and 1e-5. In
   bfloat16 the products from the weights to their gradients are those of test_device.c. */
static void train(const variant *of, model_precision precision) {
  training t, cpu;
  start("host-cuda", of, precision, &t);
  start(NULL, of, PRECISION_BINARY32, &cpu);
  device *d = t.device;
  const int64_t n = t.l.parameter_count;
  float *first = copied(cpu.host->parameters, d->model.parameter_count);
  optimizer same; /* of the device's gradients */
  cr_assert_eq(optimizer_create(&t.optimizer.config, 2 * t.l.count, t.l.tensors, n, &same),
               PHIBAL_OK);
  int clipped = 0;
  double fell = 0;
  for (int step = 0; step < STEPS; step++) {
    const model_batch batch = make_batch(0);
    float *factors = copied(d->trained, n),
          *weights = copied(d->model.parameters, d->model.parameter_count);
    double loss = 0, norm, own;
    model_losses losses;
    check_weights(&t, first);
    calls(&t, batch, &loss);
    check_wide("weights before the update", weights, d->model.parameters, d->model.parameter_count);
    cr_assert_eq(device_step_finish(d, rate, &losses, &norm), PHIBAL_OK, "%s",
                 phibal_status_message());
    check_gradients(&t, factors);
    if (precision == PRECISION_BINARY32) {
      const double cpu_norm = cpu_step(&cpu, factors, batch, &own);
      cr_assert_leq(fabs(losses.cross_entropy - own), 1e-6 * own, "step %d: loss", step);
      cr_assert_leq(fabs(norm - cpu_norm), 1e-5 * cpu_norm, "step %d: norm %g, CPU's %g", step,
                    norm, cpu_norm);
    }
    cr_assert_eq(optimizer_norm(&same, d->trained_gradients, &own), PHIBAL_OK);
    cr_assert_eq(norm, own, "the norm is not the adapters'");
    const double scale = clip_scale(of->clip, norm);
    clipped += scale < 1;
    optimizer_update(&same, rate, scale, d->trained_gradients, factors);
    check_wide("A and B", factors, d->trained, n);
    if (step == 0) fell = losses.cross_entropy;
    if (step == STEPS - 1) fell -= losses.cross_entropy;
  }
  cr_assert_eq(clipped, of->clip > 0 ? STEPS : 0);
  cr_assert_gt(fell, 1, "the loss fell by %g nats only", fell);
  check_weights(&t, first);
  cr_assert_eq(device_fetch(d), PHIBAL_OK);
  check_wide("the host's A and B", copied(d->trained, n), t.l.parameters, n);
  check_wide("first moments", copied(same.first, n), t.optimizer.first, n);
  check_wide("second moments", copied(same.second, n), t.optimizer.second, n);
  float *hosts = copied(first, d->model.parameter_count), *at = t.host->parameters;
  for (int32_t i = 0; i < t.l.count; i++) /* as lora_apply makes them */
    t.l.matrices[i].weight += hosts - at;
  lora_apply(&t.l);
  for (int32_t i = 0; i < t.l.count; i++) t.l.matrices[i].weight -= hosts - at;
  check_wide("the host's weights", hosts, at, d->model.parameter_count);
  /* One that begins with what the host has now begins with these weights. */
  device *next;
  cr_assert_eq(
      device_create("host-cuda", t.host, &t.l, &t.optimizer, precision, CALLS, NULL, &next),
      PHIBAL_OK);
  check_wide("weights of a run that is resumed",
             copied(d->model.parameters, d->model.parameter_count), next->model.parameters,
             d->model.parameter_count);
  check_wide("its moments", copied(d->second, n), next->second, n);
  device_destroy(next);
  optimizer_destroy(&same);
  free(first);
  finish(&cpu);
  finish(&t);
}

Test(device, adapters_in_binary32) {
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
    train(&variants[i], PRECISION_BINARY32);
}

Test(device, adapters_in_bfloat16) {
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
    train(&variants[i], PRECISION_BFLOAT16);
}

/* Captured, where nothing runs, then run as a graph; beside a step that waits in every layer, and
   without layers that are recomputed. */
Test(device, a_step_is_a_graph_with_adapters) {
  training graph, plain;
  variant of = variants[1];
  start("host-cuda", &of, PRECISION_BFLOAT16, &graph);
  of.recompute = RECOMPUTE_NONE;
  start("host-cuda", &of, PRECISION_BFLOAT16, &plain);
  device *d = graph.device;
  cr_assert(d->sizes_on_device);
  plain.device->sizes_on_device = false;
  for (int step = 0; step < 2; step++) {
    const model_batch batch = make_batch(step);
    const int64_t n = graph.l.parameter_count, all = d->model.parameter_count;
    double unused = 0, norm, norm2;
    model_losses losses, losses2;
    phibal_cuda_graph *captured;
    float *before = copied(d->model.parameters, all);
    cr_assert_eq(d->library.capture_begin(&d->call), PHIBAL_OK);
    calls(&graph, batch, &unused);
    cr_assert_eq(device_finish_start(d, rate), PHIBAL_OK, "%s", phibal_status_message());
    cr_assert_eq(d->library.capture_end(&d->call, &captured), PHIBAL_OK, "%s",
                 d->library.message());
    check_wide("weights, before the graph runs", before, d->model.parameters, all);
    cr_assert_eq(d->library.graph_launch(captured, &d->call), PHIBAL_OK);
    cr_assert_eq(device_finish_wait(d, &losses, &norm), PHIBAL_OK, "%s", phibal_status_message());
    d->library.graph_destroy(captured);
    calls(&plain, batch, &unused);
    cr_assert_eq(device_step_finish(plain.device, rate, &losses2, &norm2), PHIBAL_OK);
    check_wide("A and B", copied(plain.device->trained, n), d->trained, n);
    check_wide("weights", copied(plain.device->model.parameters, all), d->model.parameters, all);
    cr_assert(norm == norm2 && losses.cross_entropy == losses2.cross_entropy);
  }
  finish(&plain);
  finish(&graph);
}

/* Nothing has moved after a failure, whether a gradient shows it or not. */
Test(device, a_failure_with_adapters_moves_nothing) {
  for (int kind = 0; kind < 2; kind++) {
    const model_batch batch = make_batch(0);
    training t;
    start("host-cuda", &variants[0], PRECISION_BFLOAT16, &t);
    device *d = t.device;
    const int64_t n = t.l.parameter_count, all = d->model.parameter_count;
    float *factors = copied(d->trained, n), *weights = copied(d->model.parameters, all);
    float *second = copied(d->second, n);
    uint16_t *frozen = &d->narrow[d->model.weights.layers[1].up - d->model.parameters];
    if (kind == 0) *frozen = 0x7f80;
    double unused = 0, norm;
    calls(&t, batch, &unused);
    if (kind == 1) d->failures[1] = 7 << 16;
    model_losses losses;
    cr_assert_eq(device_step_finish(d, rate, &losses, &norm), PHIBAL_ERROR_NONFINITE);
    check_wide("A and B", factors, d->trained, n);
    check_wide("weights", weights, d->model.parameters, all);
    check_wide("moments", second, d->second, n);
    finish(&t);
  }
}

/* What a dry run counts, at most where a name is not phibal's. */
Test(device, numbers_of_adapters_are_counted) {
  for (int i = 0; i < 3; i++) {
    training t;
    double base, factors;
    start(NULL, &variants[i], PRECISION_BINARY32, &t);
    const lora_matrix *last = &t.l.matrices[t.l.count - 1];
    cr_assert(lora_size(&variants[i].config, &t.host->config, phi.method, &base, &factors));
    const bool exact = i < 2;
    cr_assert(exact ? factors == (double)t.l.parameter_count
                    : factors > (double)t.l.parameter_count);
    cr_assert_eq(exact, base == (double)(last->base + last->rows * last->columns));
    finish(&t);
  }
}

Test(device, dropout_of_adapters_is_refused_by_name) {
  training t;
  start(NULL, &variants[0], PRECISION_BINARY32, &t);
  cr_assert_eq(lora_dropout_create(&t.l, 0.1, 1, TOKENS), PHIBAL_OK);
  cr_assert_eq(device_create("host-cuda", t.host, &t.l, &t.optimizer, PRECISION_BINARY32, CALLS,
                             NULL, &t.device),
               PHIBAL_ERROR_UNSUPPORTED);
  cr_assert_str_eq(phibal_status_message(), "training on a device has no lora.dropout yet");
  cr_assert_null(t.device);
  finish(&t);
}
