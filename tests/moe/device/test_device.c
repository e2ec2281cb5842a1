/* Training on a device in bfloat16, on the host's CUDA, whose memory can be read: each array of a
   step is what the CPU makes in binary32 of the arrays before it, rounded once where it is
   bfloat16 and not at all elsewhere. */
#include "verify/recompute.h"
#include "device_arrays.h"
#include "moe/device/device_internal.h"
#include "moe/model/embedding.h"
#include "moe/model/norm.h"
#include "trained_models.h"

#include <dlfcn.h>
#include <stdio.h>

enum { BATCH = 2, CALLS = 2, LENGTH = 16, TOKENS = BATCH * LENGTH, V = 61, D = 24, E = 5, K = 2 };
enum { QUERIES = 4 * 8, KEYS = 2 * 8, ALL = QUERIES + 2 * KEYS, F = 12, DENSE = 20 };

static const model_config shape = {MIXED_MODEL, .layers = 2, .hidden = F};
static const double rate = 3e-3;

static int32_t tokens[CALLS * TOKENS], targets[CALLS * TOKENS];

/* Text that can be learned by heart; some tokens without a target, and padding. */
static model_batch make_batch(void) {
  for (int i = 0; i < CALLS * TOKENS; i++) {
    tokens[i] = (i * i + i / LENGTH) % V;
    targets[i] = i % 13 == 5 ? -1 : ((i + 1) * (i + 1) + i / LENGTH) % V;
    if (i / LENGTH == 2 && i % LENGTH >= LENGTH - 2) tokens[i] = targets[i] = -1;
  }
  return model_batch_count(CALLS * TOKENS, tokens, targets);
}

static float *normed(const float *x, const float *weight) {
  const norm_shape rows = {TOKENS, 1, D, shape.norm_epsilon};
  float inverse[TOKENS], *y = malloc(sizeof *y * TOKENS * D);
  norm_forward(&rows, x, D, weight, y, D, inverse);
  return y;
}

typedef struct training {
  model *host;
  optimizer optimizer;
  device *device;
} training;

/* Null: the CPU alone. The device keeps the optimizer's address. */
static void start_with(const model_config *config, int32_t batch, int32_t calls, const char *kind,
                       model_precision precision, training *t) {
  *t = (training){0};
  cr_assert_eq(model_create(config, &phi, batch, 11, &t->host), PHIBAL_OK, "%s",
               phibal_status_message());
  cr_assert_eq(optimizer_create(&adamw, model_tensor_count(t->host), model_tensors(t->host),
                                model_parameter_count(t->host), &t->optimizer),
               PHIBAL_OK);
  if (kind)
    cr_assert_eq(
        device_create(kind, t->host, NULL, &t->optimizer, precision, calls, NULL, &t->device),
        PHIBAL_OK, "%s", phibal_status_message());
}

static void start(const char *kind, model_precision precision, training *t) {
  start_with(&shape, BATCH, CALLS, kind, precision, t);
}

static void finish(training *t) {
  device_destroy(t->device);
  optimizer_destroy(&t->optimizer);
  model_destroy(t->host);
}

/* A gated FFN of n rows x, in bfloat16 at each stage; the masters of its weights. */
typedef struct ffn_rows {
  int64_t n, f;
  float *a, *b, *y;
} ffn_rows;

static ffn_rows ffn_of(int64_t n, int64_t f, const float *x, const float *gate, const float *up,
                       const float *down) {
  float *a = product(n, f, D, copied(x, n * D), narrowed(gate, f * D), NULL);
  float *b = product(n, f, D, copied(x, n * D), narrowed(up, f * D), NULL);
  ffn_rows r = {n, f, narrowed(a, n * f), narrowed(b, n * f), NULL};
  float *h = a;
  for (int64_t i = 0; i < n * f; i++) h[i] = core_silu32(r.a[i]).value * r.b[i];
  float *y = product(n, D, f, narrowed(h, n * f), narrowed(down, D * f), NULL);
  r.y = narrowed(y, n * D);
  free(y);
  free(a);
  free(b);
  return r;
}

static void ffn_free(ffn_rows *r) {
  free(r->a);
  free(r->b);
  free(r->y);
}

/* The forward pass of the last call. */
static void check_forward(device *d, const int32_t *of_call) {
  const model *m = &d->model;
  const model_weights *w = &m->weights;
  for (int l = 0; l < 2; l++) {
    const layer_weights *of = &w->layers[l];
    const layer_activations *on = &m->layers[l];
    check_rows("normed", normed(on->x, of->attention_norm), on->normed, TOKENS * D);
    float *qkv =
        product(TOKENS, ALL, D, widened(on->normed, TOKENS * D), narrowed(of->qkv, ALL * D), NULL);
    float *raw = malloc(sizeof *raw * TOKENS * (QUERIES + KEYS));
    for (int t = 0; t < TOKENS; t++)
      memcpy(raw + t * (QUERIES + KEYS), qkv + t * ALL, sizeof *raw * (QUERIES + KEYS));
    free(qkv);
    check_rows("queries and keys", raw, on->qk_raw, TOKENS * (QUERIES + KEYS));
    check_wide("stream after attention",
               product(TOKENS, D, QUERIES, widened(on->attended, TOKENS * QUERIES),
                       narrowed(of->o, D * QUERIES), on->x),
               on->middle, TOKENS * D);
    check_rows("FFN's input", normed(on->middle, of->ffn_norm), on->ffn_normed, TOKENS * D);
  }
  float *x = malloc(sizeof *x * TOKENS * D);
  embedding_forward(TOKENS, D, of_call, model_embedding_scale(&shape), w->embedding, x);
  check_wide("embedding", x, m->layers[0].x, TOKENS * D);
  const layer_activations *dense = &m->layers[0], *on = &m->layers[1];
  x = widened(dense->ffn_normed, TOKENS * D);
  const layer_weights *of = &w->layers[0];
  ffn_rows ffn = ffn_of(TOKENS, DENSE, x, of->gate, of->up, of->down);
  float *out = copied(dense->middle, TOKENS * D);
  for (int i = 0; i < TOKENS * D; i++) out[i] += ffn.y[i];
  ffn_free(&ffn);
  free(x);
  check_wide("dense layer", out, on->x, TOKENS * D);
  check_rows("output", normed(m->last, w->norm), m->scratch.output, TOKENS * D);
}

/* The router's layer of the last call, and its loads added to `loads`. */
static void check_router(device *d, phibal_loads *loads) {
  const model *m = &d->model;
  const layer_weights *of = &m->weights.layers[1];
  const layer_activations *on = &m->layers[1];
  float *logits =
      product(TOKENS, E, D, normed(on->middle, of->ffn_norm), copied(of->router, E * D), NULL);
  const phibal_router router = model_router(&shape);
  int32_t experts[TOKENS * K];
  float *gates = malloc(sizeof *gates * TOKENS * K);
  cr_assert_eq(phibal_router_forward(&router, TOKENS, logits, NULL, m->scratch.mask, NULL, experts,
                                     gates, NULL, loads),
               PHIBAL_OK);
  check_wide("logits", logits, on->logits, TOKENS * E);
  check_wide("gates", gates, on->gates, TOKENS * K);
  cr_assert_eq(memcmp(experts, on->experts, sizeof experts), 0, "other experts");
  const int64_t rows = on->offsets[E];
  float *x = widened(on->ffn_normed, TOKENS * D), *g = malloc(sizeof *g * (size_t)rows * D);
  phibal_gather(rows, K, D, on->source, x, g);
  float *y = malloc(sizeof *y * (size_t)rows * D), *out = copied(on->middle, TOKENS * D);
  for (int e = 0; e < E; e++) {
    const int64_t first = on->offsets[e], n = on->offsets[e + 1] - first;
    ffn_rows r =
        ffn_of(n, F, g + first * D, of->gate + e * F * D, of->up + e * F * D, of->down + e * D * F);
    memcpy(y + first * D, r.y, sizeof *y * (size_t)(n * D));
    ffn_free(&r);
  }
  ffn_rows shared = ffn_of(TOKENS, F, x, of->shared_gate, of->shared_up, of->shared_down);
  for (int i = 0; i < TOKENS * D; i++) out[i] += shared.y[i];
  ffn_free(&shared);
  phibal_combine(TOKENS, K, D, on->row, on->gates, y, out);
  free(y);
  free(g);
  free(x);
  check_wide("stream after the experts", out, m->last, TOKENS * D);
}

/* What o's products multiplied is the stream's gradient before attention's branch was added to it,
   rounded by u = 2^-8; that addition was rounded by 2^-24 of its result. */
static void check_stream(const device *d) {
  const model *m = &d->model;
  const model_scratch *s = &m->scratch;
  const layer_activations *on = &m->layers[0];
  const norm_shape rows = {TOKENS, 1, D, shape.norm_epsilon};
  float *dx = calloc(TOKENS * D, sizeof *dx), dw[D] = {0};
  double *scratch = malloc(sizeof *scratch * (size_t)norm_scratch(TOKENS, D));
  norm_backward(&rows, on->x, D, m->weights.layers[0].attention_norm, on->inverse,
                s->normed_gradient, D, 0, dx, D, dw, scratch);
  float *narrow = widened(s->narrow_gradient, TOKENS * D);
  for (int i = 0; i < TOKENS * D; i++) {
    const double after = (double)s->stream_gradient[i], before = after - (double)dx[i];
    cr_assert_leq(fabs((double)narrow[i] - before),
                  0x1p-8 * fabs(before) + 0x1.02p-24 * fabs(after), "stream's gradient, number %d",
                  i);
  }
  free(narrow);
  free(scratch);
  free(dx);
}

#define BEFORE(of) (before + ((of)-m->gradients))
/* Those of the experts' layer. Tokens' gradients are its own, so that all rows of one are alike. */
static void check_experts(const model *m, const float *before) {
  const model_scratch *s = &m->scratch;
  const layer_activations *on = &m->layers[1];
  const layer_weights *of = &m->weights.layers[1], *g = &m->weight_gradients.layers[1];
  const uint16_t *rows = (const uint16_t *)s->route_gradient;
  for (int t = 0; t < TOKENS * K; t++) {
    const int64_t row = on->row[t], next = t % K ? on->row[t - 1] : row;
    cr_assert(row >= 0 || s->gate_gradient[t] == 0);
    if (row >= 0) cr_assert_eq(memcmp(rows + row * D, rows + next * D, sizeof *rows * D), 0);
  }
  float *all = widened(on->ffn_normed, TOKENS * D), *x = malloc(sizeof *x * TOKENS * K * D);
  phibal_gather(on->offsets[E], K, D, on->source, all, x);
  for (int e = 0; e < E; e++) {
    const int64_t at = on->offsets[e], n = on->offsets[e + 1] - at, matrix = e * F * D;
    ffn_rows r = ffn_of(n, F, x + at * D, of->gate + matrix, of->up + matrix, of->down + matrix);
    float *w[] = {narrowed(of->gate + matrix, F * D), narrowed(of->up + matrix, F * D),
                  narrowed(of->down + matrix, F * D)};
    float *dy = widened(rows + at * D, n * D), *wide = transposed(n, D, F, dy, w[2], NULL);
    float *h = narrowed(wide, n * F), *dx;
    for (int64_t i = 0; i < n; i++) {
      const int64_t slot = on->source[at + i];
      const float gate = recompute_row16(PHIBAL_ACTIVATION_SILU, F, on->gates[slot], r.a + i * F,
                                         r.b + i * F, h + i * F);
      cr_assert_eq(s->gate_gradient[slot], gate, "gradient of slot %d's gate", (int)slot);
    }
    float *a = narrowed(r.a, n * F), *b = narrowed(r.b, n * F), *gh = narrowed(h, n * F);
    check_rows("dL/da", r.a, (uint16_t *)on->a + at * F, n * F);
    check_rows("dL/db", r.b, (uint16_t *)on->b + at * F, n * F);
    float *to[] = {g->gate + matrix, g->up + matrix, g->down + matrix};
    check_wide("gate's gradient", outer(n, F, D, a, x + at * D, BEFORE(to[0])), to[0], F * D);
    check_wide("up's gradient", outer(n, F, D, b, x + at * D, BEFORE(to[1])), to[1], F * D);
    check_wide("down's gradient", outer(n, D, F, dy, gh, BEFORE(to[2])), to[2], D * F);
    float *first = transposed(n, F, D, a, w[0], NULL);
    dx = narrowed(first, n * D);
    check_rows("rows' gradient", transposed(n, F, D, b, w[1], dx),
               (uint16_t *)s->gathered_gradient + at * D, n * D);
    float *const done[] = {r.y, w[0], w[1], w[2], dy, wide, h, a, b, gh, first, dx};
    for (size_t i = 0; i < sizeof done / sizeof *done; i++) free(done[i]);
  }
  free(x);
  free(all);
}

/* Gradients of the last call, of what its scratch still has; `before`: without them. */
static void check_gradients(device *d, const float *before) {
  const model *m = &d->model;
  const model_scratch *s = &m->scratch;
  const layer_weights *g = m->weight_gradients.layers;
  const layer_activations *first = &m->layers[0], *on = &m->layers[1];
  float *dy = widened(s->narrow_gradient, TOKENS * D);
  float *x = widened(first->attended, TOKENS * QUERIES);
  check_wide("o's gradient", outer(TOKENS, D, QUERIES, dy, x, BEFORE(g[0].o)), g[0].o, D * QUERIES);
  free(dy);
  free(x);
  check_stream(d);
  dy = widened(s->qkv_gradient, TOKENS * ALL);
  x = widened(first->normed, TOKENS * D);
  check_wide("qkv's gradient", outer(TOKENS, ALL, D, dy, x, BEFORE(g[0].qkv)), g[0].qkv, ALL * D);
  free(x);
  float *w = narrowed(m->weights.layers[0].qkv, ALL * D);
  float *dx = transposed(TOKENS, ALL, D, dy, w, NULL);
  check_wide("gradient of attention's input", dx, s->normed_gradient, TOKENS * D);
  free(w);
  free(dy);
  x = normed(on->middle, m->weights.layers[1].ffn_norm);
  check_wide("router's gradient", outer(TOKENS, E, D, s->logit_gradient, x, BEFORE(g[1].router)),
             g[1].router, E * D);
  free(x);
  const phibal_router router = model_router(&shape);
  const double global = (double)m->global.tokens;
  float *logits = malloc(sizeof *logits * TOKENS * E);
  cr_assert_eq(phibal_router_backward(&router, TOKENS, on->logits, s->mask, on->experts,
                                      s->gate_gradient, on->price, phi.alpha * E / global,
                                      2 * phi.z_coefficient / global, logits),
               PHIBAL_OK);
  check_wide("logits' gradient", logits, s->logit_gradient, TOKENS * E);
  check_experts(m, before);
  dy = widened(s->head_logits, TOKENS * V);
  x = widened(s->output, TOKENS * D);
  check_wide("head's gradient", outer(TOKENS, V, D, dy, x, BEFORE(m->weight_gradients.head)),
             m->weight_gradients.head, V * D);
  free(dy);
  free(x);
}

static void check_narrow(const device *d) {
  const int64_t n = d->model.parameter_count;
  check_rows("weights", copied(d->model.parameters, n), d->narrow, n);
}

/* Two steps; the masters are those that the CPU's optimizer makes of the gradients. */
Test(device, every_array_in_bfloat16) {
  const model_batch batch = make_batch();
  training t;
  start("host-cuda", PRECISION_BFLOAT16, &t);
  device *d = t.device;
  const int64_t n = d->model.parameter_count;
  const phibal_router router = model_router(&shape);
  training cpu;
  start(NULL, PRECISION_BINARY32, &cpu);
  for (int step = 0; step < 2; step++) {
    phibal_loads loads;
    cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
    /* What a step finds in the gradients does not matter. */
    for (int64_t i = 0; i < n; i++) d->model.gradients[i] = 1e30f;
    cr_assert_eq(device_step_begin(d, batch), PHIBAL_OK);
    float *m = copied(d->model.m, E);
    for (int call = 0; call < CALLS; call++) {
      check_narrow(d);
      float *before = copied(d->model.gradients, n);
      if (call == 0) memset(before, 0, sizeof *before * (size_t)n);
      cr_assert_eq(
          device_forward_backward(d, BATCH, tokens + call * TOKENS, targets + call * TOKENS),
          PHIBAL_OK, "%s", phibal_status_message());
      check_forward(d, tokens + call * TOKENS);
      check_router(d, &loads);
      check_gradients(d, before);
      free(before);
    }
    for (int64_t i = 0; i < n; i++)
      cr_assert_lt(fabsf(d->model.gradients[i]), 1e20f, "gradient %d is the last step's", (int)i);
    model_losses losses;
    double norm, norm2;
    cr_assert_eq(device_step_finish(d, rate, &losses, &norm), PHIBAL_OK, "%s",
                 phibal_status_message());
    cr_assert_eq(losses.targets, batch.targets);
    const phibal_loads *got = model_step_loads(t.host, 0);
    cr_assert_eq(got->tokens, loads.tokens);
    cr_assert_eq(memcmp(got->count, loads.count, sizeof *loads.count * E), 0);
    cr_assert_eq(memcmp(got->probability, loads.probability,
                        sizeof *loads.probability * E * PHIBAL_LOAD_LIMBS),
                 0, "loads");
    float mean[E];
    cr_assert_eq(phibal_loads_mean(&loads, mean), PHIBAL_OK);
    float *next = malloc(sizeof *next * E);
    cr_assert_eq(phibal_ema(E, phi.eta, m, mean, next), PHIBAL_OK);
    check_wide("m", next, d->model.m, E);
    free(m);
    phibal_loads_destroy(&loads);
    cr_assert_eq(optimizer_norm(&cpu.optimizer, d->model.gradients, &norm2), PHIBAL_OK);
    cr_assert_eq(norm, norm2);
    optimizer_update(&cpu.optimizer, rate, clip_scale(adamw.clip, norm), d->model.gradients,
                     cpu.host->parameters);
    check_wide("masters", copied(cpu.host->parameters, n), d->model.parameters, n);
    check_narrow(d);
  }
  cr_assert_eq(device_fetch(d), PHIBAL_OK);
  check_wide("the host's", copied(cpu.host->parameters, n), t.host->parameters, n);
  check_wide("the host's moments", copied(cpu.optimizer.first, n), t.optimizer.first, n);
  finish(&cpu);
  finish(&t);
}

/* The CPU's loss at these weights, with its gradients. */
static double cpu_loss(model *m, const float *weights, model_batch batch) {
  double sum = 0;
  if (weights) memcpy(m->parameters, weights, sizeof *weights * (size_t)model_parameter_count(m));
  cr_assert_eq(model_step_begin(m, batch), PHIBAL_OK);
  for (int call = 0; call < CALLS; call++) {
    model_losses losses;
    cr_assert_eq(
        model_forward_backward(m, BATCH, tokens + call * TOKENS, targets + call * TOKENS, &losses),
        PHIBAL_OK);
    sum += losses.cross_entropy;
  }
  return sum / (double)batch.targets;
}

/* How far bfloat16 may take the mean loss at equal weights. A logit is <y, w>, |y| and |w| being
   known; a row's loss is log sum exp z - z_t, so it moves by 2 max |dz| at most, and softcapping
   only brings logits together. Between the embedding and y a number is rounded 15 times a layer
   (inputs, weights and outputs of products, what lies between), and 3 times in the head, each time
   by u = 2^-8 of its size at most. To first order, where no stage makes a relative error larger and
   roundings are independent, y errs by the root of so many times u of its size. */
static double band(const device *d) {
  const float *head = d->model.weights.head, *weight = d->model.weights.norm;
  double most = 0, y = 0;
  for (int v = 0; v < V; v++) {
    double square = 0;
    for (int i = 0; i < D; i++) square += (double)head[v * D + i] * (double)head[v * D + i];
    most = fmax(most, sqrt(square));
  }
  for (int i = 0; i < D; i++) y = fmax(y, fabs((double)weight[i]));
  return 2 * sqrt(15 * 2 + 3) * 0x1p-8 * sqrt(D) * y * most;
}

/* Beside the CPU's training in binary32, each on its own way: the loss falls as far. */
Test(device, trains_in_bfloat16_as_in_binary32) {
  const model_batch batch = make_batch();
  training t, cpu;
  start("host-cuda", PRECISION_BFLOAT16, &t);
  start(NULL, PRECISION_BINARY32, &cpu);
  model *same;
  cr_assert_eq(model_create(&shape, &phi, BATCH, 11, &same), PHIBAL_OK);
  double first = 0, last = 0, widest = 0;
  for (int step = 0; step < 20; step++) {
    const double at_equal = cpu_loss(same, t.device->model.parameters, batch),
                 within = band(t.device);
    cr_assert_eq(device_step_begin(t.device, batch), PHIBAL_OK);
    for (int call = 0; call < CALLS; call++)
      cr_assert_eq(
          device_forward_backward(t.device, BATCH, tokens + call * TOKENS, targets + call * TOKENS),
          PHIBAL_OK);
    model_losses losses;
    double norm;
    cr_assert_eq(device_step_finish(t.device, rate, &losses, &norm), PHIBAL_OK);
    const double loss = losses.cross_entropy / (double)batch.targets;
    cr_assert_leq(fabs(loss - at_equal), within, "step %d: %g, in binary32 %g", step, loss,
                  at_equal);
    const double own = cpu_loss(cpu.host, NULL, batch);
    cr_assert_leq(fabs(loss - own), within, "step %d: %g, trained in binary32 %g", step, loss, own);
    cr_assert_eq(model_step_finish(cpu.host), PHIBAL_OK);
    cr_assert_eq(optimizer_norm(&cpu.optimizer, model_gradients(cpu.host), &norm), PHIBAL_OK);
    optimizer_update(&cpu.optimizer, rate, clip_scale(adamw.clip, norm), model_gradients(cpu.host),
                     cpu.host->parameters);
    if (step == 0) first = loss;
    last = loss, widest = fmax(widest, within);
  }
  cr_assert_gt(first - last, widest, "the loss fell from %g to %g only", first, last);
  model_destroy(same);
  finish(&cpu);
  finish(&t);
}

/* Logits exist for 2048 rows at a time: two blocks in one call, or one in each of two, whose rows
   the head's gradient adds up in one order. */
Test(device, head_of_two_blocks_in_bfloat16) {
  enum { MANY = 57, S = 1056, LENGTH_OF_MANY = 32, PARTS = S / LENGTH_OF_MANY };
  model_config wide = shape;
  wide.vocabulary = MANY;
  wide.width = 8;
  wide.layers = 1;
  wide.heads = wide.key_value_heads = 1;
  wide.sequence = LENGTH_OF_MANY;
  wide.dense_layers = 0;
  static int32_t words[2 * S], next[2 * S];
  for (int i = 0; i < 2 * S; i++) words[i] = i * 97 % MANY, next[i] = (i + 1) * 97 % MANY;
  const model_batch batch = model_batch_count(2 * S, words, next);
  training whole, parts;
  start_with(&wide, 2 * PARTS, 1, "host-cuda", PRECISION_BFLOAT16, &whole);
  start_with(&wide, PARTS, 2, "host-cuda", PRECISION_BFLOAT16, &parts);
  const head_shape of_whole = {2 * S, wide.width, MANY, wide.logit_softcap},
                   of_part = {S, wide.width, MANY, wide.logit_softcap};
  cr_assert(model_head_block(&whole.device->model, &of_whole) < 2 * S);
  cr_assert(model_head_block(&parts.device->model, &of_part) == S);
  cr_assert_eq(device_step_begin(whole.device, batch), PHIBAL_OK);
  cr_assert_eq(device_step_begin(parts.device, batch), PHIBAL_OK);
  cr_assert_eq(device_forward_backward(whole.device, 2 * PARTS, words, next), PHIBAL_OK, "%s",
               phibal_status_message());
  for (int call = 0; call < 2; call++) {
    cr_assert_eq(device_forward_backward(parts.device, PARTS, words + call * S, next + call * S),
                 PHIBAL_OK);
    cr_assert_eq(memcmp(parts.device->model.scratch.row_loss,
                        whole.device->model.scratch.row_loss + call * S, S * sizeof(double)),
                 0, "losses of call %d", call);
  }
  const int64_t n = MANY * 8;
  check_wide("head's gradient", copied(parts.device->model.weight_gradients.head, n),
             whole.device->model.weight_gradients.head, n);
  finish(&parts);
  finish(&whole);
}

Test(device, what_is_not_finite_in_bfloat16_is_named) {
  const model_batch batch = make_batch();
  training t;
  start("host-cuda", PRECISION_BFLOAT16, &t);
  device *d = t.device;
  float *weights = copied(d->model.parameters, d->model.parameter_count);
  d->narrow[d->model.weights.layers[1].o - d->model.parameters + 3] = 0x7f80; /* infinite */
  cr_assert_eq(device_step_begin(d, batch), PHIBAL_OK);
  cr_assert_eq(device_forward_backward(d, BATCH, tokens, targets), PHIBAL_ERROR_NONFINITE);
  cr_assert(strstr(phibal_status_message(), "layer 1"), "%s", phibal_status_message());
  check_wide("weights", weights, d->model.parameters, d->model.parameter_count);
  finish(&t);
}

/* The shape with experts whose products read their sizes on the device: rows and weights at
   multiples of 16 bytes. */
static model_config aligned_shape(void) {
  model_config c = shape;
  c.hidden = 16;
  c.layers = 3;
  return c;
}

static void start_aligned(training *t, bool sizes_on_device, int recompute) {
  model_config c = aligned_shape();
  c.recompute = recompute;
  start_with(&c, BATCH, CALLS, "host-cuda", PRECISION_BFLOAT16, t);
  cr_assert(t->device->sizes_on_device);
  t->device->sizes_on_device = sizes_on_device;
}

/* From device_step_begin to the last call. */
static void begin_and_calls(device *d, model_batch batch) {
  cr_assert_eq(device_step_begin(d, batch), PHIBAL_OK, "%s", phibal_status_message());
  for (int call = 0; call < CALLS; call++) {
    int32_t own[2 * TOKENS]; /* gone when the step goes on */
    memcpy(own, tokens + call * TOKENS, TOKENS * sizeof *own);
    memcpy(own + TOKENS, targets + call * TOKENS, TOKENS * sizeof *own);
    cr_assert_eq(device_forward_backward(d, BATCH, own, own + TOKENS), PHIBAL_OK, "%s",
                 phibal_status_message());
    memset(own, 0x7f, sizeof own);
  }
}

static void check_same(const char *what, const training *a, const training *b) {
  const model *m = &a->device->model, *n = &b->device->model;
  check_wide(what, copied(m->parameters, m->parameter_count), n->parameters, m->parameter_count);
  check_wide("m", copied(m->m, m->moe_layers * E), n->m, m->moe_layers * E);
  for (int32_t i = 0; i < m->moe_layers; i++) {
    const phibal_loads *x = model_step_loads(a->host, i), *y = model_step_loads(b->host, i);
    cr_assert(x->tokens == y->tokens && x->tokens > 0);
    cr_assert_eq(memcmp(x->count, y->count, sizeof *x->count * E), 0);
    cr_assert_eq(
        memcmp(x->probability, y->probability, sizeof *x->probability * E * PHIBAL_LOAD_LIMBS), 0);
  }
}

/* Captured, where nothing runs, then run as a graph; beside a step that waits in every layer. The
   second step has other rates, and tokens, so that it is captured anew. */
Test(device, a_step_is_a_graph) {
  for (int recompute = 0; recompute <= RECOMPUTE_LAYERS; recompute += RECOMPUTE_LAYERS) {
    model_batch batch = make_batch();
    training graph, plain;
    start_aligned(&graph, true, recompute);
    start_aligned(&plain, false, recompute);
    device *d = graph.device;
    for (int step = 0; step < 2; step++) {
      const double lr = rate * (step + 1);
      const int64_t n = d->model.parameter_count;
      float *before = copied(d->model.parameters, n);
      phibal_cuda_graph *captured;
      cr_assert_eq(d->library.capture_begin(&d->call), PHIBAL_OK);
      begin_and_calls(d, batch);
      cr_assert_eq(device_finish_start(d, lr), PHIBAL_OK);
      cr_assert_eq(d->library.capture_end(&d->call, &captured), PHIBAL_OK, "%s",
                   d->library.message());
      check_wide("weights, before the graph runs", before, d->model.parameters, n);
      cr_assert_eq(d->library.graph_launch(captured, &d->call), PHIBAL_OK, "%s",
                   d->library.message());
      model_losses losses, losses2;
      double norm, norm2;
      cr_assert_eq(device_finish_wait(d, &losses, &norm), PHIBAL_OK, "%s", phibal_status_message());
      d->library.graph_destroy(captured);
      begin_and_calls(plain.device, batch);
      cr_assert_eq(device_step_finish(plain.device, lr, &losses2, &norm2), PHIBAL_OK, "%s",
                   phibal_status_message());
      check_same("weights", &graph, &plain);
      cr_assert_eq(norm, norm2);
      cr_assert(losses.targets == batch.targets && losses.targets == losses2.targets);
      cr_assert(losses.cross_entropy == losses2.cross_entropy &&
                losses.balance == losses2.balance && losses.z == losses2.z && losses.z > 0);
      for (int i = 0; i < CALLS * TOKENS; i++)
        if (tokens[i] >= 0) tokens[i] = (tokens[i] + 7 * i + 1) % V;
    }
    finish(&plain);
    finish(&graph);
  }
}

/* The host takes no pointer of the device's for its own: two steps where it cannot reach memory of
   the device but by copies. */
Test(device, the_hosts_code_leaves_the_devices_memory_alone) {
  for (int half = 0; half < 2; half++) {
    const model_batch batch = make_batch();
    training t;
    start("host-cuda", half ? PRECISION_BFLOAT16 : PRECISION_BINARY32, &t);
    void (*close)(int);
    *(void **)&close = dlsym(t.device->library.handle, "cuda_on_host_close");
    cr_assert_not_null((void *)close);
    close(1);
    for (int step = 0; step < 2; step++) {
      model_losses losses;
      double norm;
      begin_and_calls(t.device, batch);
      cr_assert_eq(device_step_finish(t.device, rate, &losses, &norm), PHIBAL_OK, "%s",
                   phibal_status_message());
    }
    cr_assert_eq(device_fetch(t.device), PHIBAL_OK);
    close(0);
    finish(&t);
  }
}

/* A step that is given up in the middle, its calls still on their way, and then another one: as if
   only that had been. */
Test(device, a_step_that_is_given_up_leaves_nothing) {
  training twice, once;
  model_losses losses, losses2;
  double norm, norm2;
  start_aligned(&twice, true, 0);
  start_aligned(&once, true, 0);
  begin_and_calls(twice.device, make_batch());
  const model_batch batch = make_batch();
  for (int i = 0; i < CALLS * TOKENS; i++)
    if (tokens[i] >= 0) tokens[i] = (tokens[i] + 11 * i + 1) % V;
  begin_and_calls(twice.device, batch);
  cr_assert_eq(device_step_finish(twice.device, rate, &losses, &norm), PHIBAL_OK, "%s",
               phibal_status_message());
  begin_and_calls(once.device, batch);
  cr_assert_eq(device_step_finish(once.device, rate, &losses2, &norm2), PHIBAL_OK);
  check_same("weights", &twice, &once);
  cr_assert(norm == norm2 && losses.cross_entropy == losses2.cross_entropy);
  finish(&once);
  finish(&twice);
}

/* Where the sizes are needed on the host, the first layer with experts waits, which no graph holds;
   and it is said so. */
Test(device, a_step_with_sizes_on_the_host_is_no_graph) {
  const model_batch batch = make_batch();
  training t;
  start_aligned(&t, false, 0);
  device *d = t.device;
  phibal_cuda_graph *captured;
  cr_assert_eq(d->library.capture_begin(&d->call), PHIBAL_OK);
  cr_assert_eq(device_step_begin(d, batch), PHIBAL_OK);
  cr_assert_eq(device_forward_backward(d, BATCH, tokens, targets), PHIBAL_ERROR_IO);
  cr_assert(strstr(phibal_status_message(), "waiting for the device is no part of a graph"), "%s",
            phibal_status_message());
  cr_assert_eq(d->library.capture_end(&d->call, &captured), PHIBAL_ERROR_IO);
  cr_assert_null(captured);
  finish(&t);
}

/* Failures come at the end of the step, by layer, and no weight has moved: of an infinite weight,
   of a router's, and where a failure is all that there is and every gradient is finite. */
Test(device, a_failure_is_named_at_the_end_of_the_step) {
  for (int kind = 0; kind < 3; kind++) {
    const model_batch batch = make_batch();
    training t;
    start_aligned(&t, true, 0);
    device *d = t.device;
    const layer_weights *w = d->model.weights.layers;
    uint16_t *o = &d->narrow[w[1].o - d->model.parameters + 3];
    if (kind == 0) *o = 0x7f80;
    if (kind == 1) w[2].router[3] = INFINITY;
    float *weights = copied(d->model.parameters, d->model.parameter_count);
    begin_and_calls(d, batch);
    if (kind == 2) d->failures[1] = 7 << 16;
    model_losses losses;
    double norm;
    cr_assert_eq(device_step_finish(d, rate, &losses, &norm), PHIBAL_ERROR_NONFINITE);
    static const char *const named[] = {
        "layer 1: router: the logit of token", "layer 2: router: the logit of token",
        "layer 1: router: the logit of token 7 for expert 0 is nan"};
    cr_assert(strstr(phibal_status_message(), named[kind]), "%s", phibal_status_message());
    check_wide("weights", weights, d->model.parameters, d->model.parameter_count);
    /* And the next step begins as if nothing had been. */
    *o = 0;
    w[2].router[3] = 0;
    begin_and_calls(d, batch);
    cr_assert_eq(device_step_finish(d, rate, &losses, &norm), PHIBAL_OK, "%s",
                 phibal_status_message());
    finish(&t);
  }
}

/* Hashes route as on the CPU, and leave m, biases and the balancing loss alone; routes that are
   given are taken, and none that are wrong. */
Test(device, selections_that_are_given) {
  model_config c = shape;
  c.layers = 3;
  c.hash_layers = 1;
  static const balance_method methods[] = {BALANCE_PHI, BALANCE_SWITCH_GLOBAL, BALANCE_LOSS_FREE,
                                           BALANCE_PHI_BIAS, BALANCE_QUANTILE};
  for (size_t method = 0; method < sizeof methods / sizeof *methods; method++) {
    balance_config b = phi;
    b.method = methods[method];
    b.quantile_eta = 0.5f;
    b.bias_scale = 0.25;
    b.alpha = 1;
    b.bias_rate = 0.125f;
    const model_batch batch = make_batch();
    model *cpu;
    training t = {0};
    model_losses losses, sum = {0};
    double norm;
    cr_assert_eq(model_create(&c, &b, BATCH, 11, &cpu), PHIBAL_OK);
    cr_assert_eq(model_create(&c, &b, BATCH, 11, &t.host), PHIBAL_OK);
    model_bias(t.host, 0)[1] = 0.5f; /* which nobody reads */
    cr_assert_eq(optimizer_create(&adamw, model_tensor_count(t.host), model_tensors(t.host),
                                  model_parameter_count(t.host), &t.optimizer),
                 PHIBAL_OK);
    cr_assert_eq(device_create("host-cuda", t.host, NULL, &t.optimizer, PRECISION_BINARY32, CALLS,
                               NULL, &t.device),
                 PHIBAL_OK, "%s", phibal_status_message());
    cr_assert_eq(model_step_begin(cpu, batch), PHIBAL_OK);
    for (int call = 0; call < CALLS; call++) {
      cr_assert_eq(model_forward_backward(cpu, BATCH, tokens + call * TOKENS,
                                          targets + call * TOKENS, &losses),
                   PHIBAL_OK);
      sum.cross_entropy += losses.cross_entropy;
      sum.balance += losses.balance;
    }
    cr_assert_eq(model_step_finish(cpu), PHIBAL_OK);
    begin_and_calls(t.device, batch);
    cr_assert_eq(device_step_finish(t.device, rate, &losses, &norm), PHIBAL_OK, "%s",
                 phibal_status_message());
    cr_assert_eq(device_fetch(t.device), PHIBAL_OK);
    cr_expect_float_eq(losses.cross_entropy, sum.cross_entropy, 1e-5 * sum.cross_entropy);
    cr_expect_float_eq(losses.balance, sum.balance, 1e-5 * fabs(sum.balance), "%.9g %.9g",
                       losses.balance, sum.balance);
    for (int layer = 0; layer < 2; layer++)
      cr_expect_eq(memcmp(model_step_loads(cpu, layer)->count,
                          model_step_loads(t.host, layer)->count, E * sizeof(int64_t)),
                   0);
    for (int e = 0; e < E; e++) {
      cr_expect_eq(model_balance_state(t.host, 0)[e], 0.0f, "m of hashes");
      cr_expect_eq(model_bias(t.host, 0)[e], e == 1 ? 0.5f : 0.0f, "biases of hashes");
      cr_expect_float_eq(model_bias(t.host, 1)[e], model_bias(cpu, 1)[e], 1e-5f);
    }
    model_destroy(cpu);
    finish(&t);
  }
  static uint16_t given[CALLS][BATCH][2][LENGTH][K], taken[CALLS][BATCH][2][LENGTH][K];
  const model_batch batch = make_batch();
  training t;
  model_losses losses;
  double norm;
  for (int i = 0; i < CALLS * TOKENS; i++)
    for (int layer = 0; layer < 2; layer++)
      for (int s = 0; s < K; s++)
        given[i / TOKENS][i / LENGTH % BATCH][layer][i % LENGTH][s] =
            tokens[i] < 0 ? UINT16_MAX : (uint16_t)((i + layer + 3 * s) % E);
  c.hash_layers = 0;
  start_with(&c, BATCH, CALLS, NULL, PRECISION_BINARY32, &t);
  model_set_routes(t.host, &given[0][0][0][0][0], &taken[0][0][0][0][0]);
  cr_assert_eq(device_create("host-cuda", t.host, NULL, &t.optimizer, PRECISION_BINARY32, CALLS,
                             NULL, &t.device),
               PHIBAL_OK, "%s", phibal_status_message());
  for (int wrong = 2; wrong >= 0; wrong--) {
    cr_assert_eq(device_step_begin(t.device, batch), PHIBAL_OK);
    uint16_t *const routes = given[1][1][0][4];
    routes[1] = wrong == 1 ? E : wrong == 2 ? routes[0] : (uint16_t)((routes[0] + 3) % E);
    phibal_status status = PHIBAL_OK; /* known after a layer where sizes are on the host */
    for (int call = 0; call < CALLS && !status; call++) {
      model_set_routes(t.host, &given[call][0][0][0][0], &taken[call][0][0][0][0]);
      status =
          device_forward_backward(t.device, BATCH, tokens + call * TOKENS, targets + call * TOKENS);
    }
    if (!status) status = device_step_finish(t.device, rate, &losses, &norm);
    cr_expect_eq(status, wrong ? PHIBAL_ERROR_ARGUMENT : PHIBAL_OK);
    if (wrong)
      cr_expect(strstr(phibal_status_message(), "layer 1: router: token 20 is routed"), "%s",
                phibal_status_message());
  }
  cr_expect_eq(memcmp(given, taken, sizeof given), 0);
  /* A last call of fewer sequences, and nothing of another behind what it has taken. */
  memset(taken, 0x77, sizeof taken);
  for (size_t i = 0; i < sizeof given / sizeof(uint16_t); i++) { /* other ones than before */
    uint16_t *const route = &given[0][0][0][0][0] + i;
    if (*route != UINT16_MAX) *route = (uint16_t)((*route + 1) % E);
  }
  const int32_t fewer = TOKENS + LENGTH;
  cr_assert_eq(device_step_begin(t.device, model_batch_count(fewer, tokens, targets)), PHIBAL_OK);
  for (int call = 0; call < CALLS; call++) {
    model_set_routes(t.host, &given[call][0][0][0][0], &taken[call][0][0][0][0]);
    cr_assert_eq(device_forward_backward(t.device, call ? 1 : BATCH, tokens + call * TOKENS,
                                         targets + call * TOKENS),
                 PHIBAL_OK, "%s", phibal_status_message());
  }
  cr_assert_eq(device_step_finish(t.device, rate, &losses, &norm), PHIBAL_OK, "%s",
               phibal_status_message());
  cr_expect_eq(memcmp(given, taken, sizeof given / CALLS), 0, "taken in the first call");
  cr_expect_eq(memcmp(given[1], taken[1], sizeof given[1] / BATCH), 0, "taken in the last call");
  for (int i = 0; i < 2 * LENGTH * K; i++)
    cr_expect_eq((&taken[1][1][0][0][0])[i], 0x7777, "taken behind the last call");
  cr_assert_eq(device_step_begin(t.device, batch), PHIBAL_OK);
  model_set_routes(t.host, NULL, &taken[0][0][0][0][0]);
  cr_expect_eq(device_forward_backward(t.device, BATCH, tokens, targets), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "for all calls or none"), "%s",
            phibal_status_message());
  finish(&t);
}

/* What has no kernels is refused by name before anything is taken, and nothing else is. */
Test(device, what_a_device_lacks_is_refused_by_name) {
  static const struct {
    const char *named;
    size_t offset;
    int32_t value;
    size_t bytes;
  } lacking[] = {
#define OF(member, given_value, name)                                                              \
  {name, offsetof(model_config, member), given_value, sizeof(((model_config *)0)->member)}
      OF(latent_width, 8, "latent attention"),
      OF(rope_width, 4, "rope_width"),
      OF(qkv_bias, 1, "qkv_bias"),
      OF(post_norm, 1, "post_norm"),
      OF(shared_gate, 1, "shared_gate"),
      OF(window, 4, "window"),
      OF(sinks, 1, "sinks"),
      OF(output_bias, 1, "output_bias"),
      OF(heads, 1025, "more than 1024 heads"),
#undef OF
  };
  enum { NUMBERS = 5 }; /* those that are no integers, after the table */
  const size_t n = sizeof lacking / sizeof *lacking;
  for (size_t i = 0; i < n + NUMBERS; i++) {
    training t;
    start(NULL, PRECISION_BINARY32, &t);
    const char *named = i < n ? lacking[i].named : "";
    if (i < n)
      memcpy((unsigned char *)&t.host->config + lacking[i].offset, &lacking[i].value,
             lacking[i].bytes);
    if (i == n) t.host->config.expert_limit = 7, named = "expert_limit";
    if (i == n + 1)
      t.host->config.attention_multiplier = 0.5f, named = "scaled scores of attention";
    if (i == n + 2) t.optimizer.parts = (void *)&t, named = "sharded optimizer";
    if (i == n + 3) t.host->balance.external = (void *)&t, named = "a potential from a file";
    if (i == n + 4) {
      t.host->expert_ranks = (void *)&t, t.host->config.width = D + 1;
      named = "parallel.experts with rows in bfloat16 of an odd width";
    }
    device *d = NULL;
    const model_precision precision = i == n + 4 ? PRECISION_BFLOAT16 : PRECISION_BINARY32;
    cr_assert_eq(device_create("host-cuda", t.host, NULL, &t.optimizer, precision, CALLS, NULL, &d),
                 PHIBAL_ERROR_UNSUPPORTED, "%s is not refused", named);
    char whole[100];
    snprintf(whole, sizeof whole, "training on a device has no %s yet", named);
    cr_assert_str_eq(phibal_status_message(), whole);
    cr_assert_null(d);
  }
}
