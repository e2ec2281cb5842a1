/* A plugin for `phibal verify`: a router and the loss-free bias, in plain C.

     cc -O2 -fPIC -shared router.c -o router.so -lm $(pkg-config --cflags phibal)
     phibal verify --plugin ./router.so

   Probabilities are computed in binary64 and rounded once, which keeps the promised 0.501 ULP. */
#include <math.h>
#include <phibal/plugin.h>
#include <stdlib.h>

typedef struct router {
  int64_t tokens, experts, active;
  const char *gate;
  double scale;
  const float *logits, *bias; /* bias may be null */
  const uint8_t *mask;        /* may be null */
} router;

typedef struct routes {
  int32_t *experts;                         /* [T][k] */
  float *gates, *probabilities, *logsumexp; /* [T][k], [T][E], [T]; logsumexp may be null */
  int64_t *tokens, *counts;                 /* [1], [E]; counts, loads, frequencies null: T = 0 */
  float *loads, *frequencies;               /* [E] */
} routes;

static double sigmoid(double x) {
  double e = exp(-fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

/* The largest score is taken k times; of equal ones the first. */
static void select_experts(const router *r, const float *x, double *score, int32_t *selected) {
  int is_sigmoid = strcmp(r->gate, "sigmoid") == 0;
  for (int64_t e = 0; e < r->experts; e++)
    score[e] = (is_sigmoid ? (float)sigmoid(x[e]) : x[e]) + (r->bias ? (double)r->bias[e] : 0.0);
  for (int64_t s = 0; s < r->active; s++) {
    int64_t best = 0;
    for (int64_t e = 1; e < r->experts; e++)
#ifdef PLUGIN_FAULT /* ties to the higher index */
      if (score[e] >= score[best]) best = e;
#else
      if (score[e] > score[best]) best = e;
#endif
    selected[s] = (int32_t)best;
    score[best] = -INFINITY;
  }
}

static double log_sum_exp(const router *r, const float *x) {
  double most = x[0], sum = 0;
  for (int64_t e = 1; e < r->experts; e++)
    if (x[e] > most) most = x[e];
  for (int64_t e = 0; e < r->experts; e++) sum += exp(x[e] - most);
  return most + log(sum);
}

/* p of one token. Sigmoids are divided by their sum; all of them by the same e^m, so that they
   cannot all be 0. */
static void probabilities(const router *r, const float *x, double *p) {
  int is_sigmoid = strcmp(r->gate, "sigmoid") == 0;
  double most = x[0], sum = 0;
  for (int64_t e = 1; e < r->experts; e++)
    if (x[e] > most) most = x[e];
  double m = most < 0 ? most : 0;
  for (int64_t e = 0; e < r->experts; e++) {
    double low = x[e] < 0 ? x[e] : 0;
    p[e] = is_sigmoid ? exp(low - m) / (1 + exp(-fabs(x[e]))) : exp(x[e] - most);
    sum += p[e];
  }
  for (int64_t e = 0; e < r->experts; e++) p[e] /= sum;
}

/* Gates: p, or the same of the selected logits alone. */
static void gates(const router *r, const double *p, const float *x, const int32_t *selected,
                  float *gate) {
  int as_they_are = strcmp(r->gate, "probability") == 0 ||
                    (strcmp(r->gate, "topk-softmax") == 0 && r->active == 1);
  router of_selection = *r;
  float chosen[1024];
  double w[1024];
  of_selection.experts = r->active;
  for (int64_t s = 0; s < r->active; s++) {
    chosen[s] = x[selected[s]];
    w[s] = p[selected[s]];
  }
  if (!as_they_are) probabilities(&of_selection, chosen, w);
  for (int64_t s = 0; s < r->active; s++) gate[s] = (float)(w[s] * r->scale);
}

static void route_token(const router *r, int64_t t, routes *out, double *p, double *mean) {
  int64_t E = r->experts, k = r->active;
  double score[1024];
  const float *x = r->logits + t * E;
  if (r->mask && !r->mask[t]) {
    for (int64_t s = 0; s < k; s++) out->experts[t * k + s] = -1, out->gates[t * k + s] = 0;
    for (int64_t e = 0; e < E; e++) out->probabilities[t * E + e] = 0;
    if (out->logsumexp) out->logsumexp[t] = 0;
    return;
  }
  probabilities(r, x, p);
  if (out->logsumexp) out->logsumexp[t] = (float)log_sum_exp(r, x);
  select_experts(r, x, score, out->experts + t * k);
  gates(r, p, x, out->experts + t * k, out->gates + t * k);
  for (int64_t e = 0; e < E; e++) {
    out->probabilities[t * E + e] = (float)p[e];
    mean[e] += p[e];
  }
  for (int64_t s = 0; out->counts && s < k; s++) out->counts[out->experts[t * k + s]]++;
  ++*out->tokens;
}

static void route(const router *r, routes *out) {
  double p[1024], mean[1024] = {0};
  *out->tokens = 0;
  for (int64_t e = 0; out->counts && e < r->experts; e++) out->counts[e] = 0;
  for (int64_t t = 0; t < r->tokens; t++) route_token(r, t, out, p, mean);
  for (int64_t e = 0; out->loads && e < r->experts; e++) {
    out->loads[e] = (float)(mean[e] / (double)*out->tokens);
    out->frequencies[e] = (float)((double)out->counts[e] / (double)(*out->tokens * r->active));
  }
}

static int router_forward(phibal_plugin_case *c) {
  router r = {.tokens = phibal_plugin_extent(c, "logits", 0),
              .experts = phibal_plugin_extent(c, "logits", 1),
              .active = phibal_plugin_integer(c, "k"),
              .gate = phibal_plugin_text(c, "gate"),
              .scale = phibal_plugin_real(c, "scale"),
              .logits = phibal_plugin_input(c, "logits", PHIBAL_PLUGIN_F32),
              .bias = phibal_plugin_input(c, "bias", PHIBAL_PLUGIN_F32),
              .mask = phibal_plugin_input(c, "mask", PHIBAL_PLUGIN_U8)};
  routes out = {.experts = phibal_plugin_output(c, "experts", PHIBAL_PLUGIN_I32),
                .gates = phibal_plugin_output(c, "gates", PHIBAL_PLUGIN_F32),
                .probabilities = phibal_plugin_output(c, "probabilities", PHIBAL_PLUGIN_F32),
                .logsumexp = phibal_plugin_output(c, "logsumexp", PHIBAL_PLUGIN_F32),
                .tokens = phibal_plugin_output(c, "tokens", PHIBAL_PLUGIN_I64),
                .counts = phibal_plugin_output(c, "counts", PHIBAL_PLUGIN_I64),
                .loads = phibal_plugin_output(c, "loads", PHIBAL_PLUGIN_F32),
                .frequencies = phibal_plugin_output(c, "frequencies", PHIBAL_PLUGIN_F32)};
  if (c->misuse[0]) return 1;
  if (r.experts > 1024) {
    strcpy(c->message, "more than 1024 experts");
    return 1;
  }
  route(&r, &out);
  return 0;
}

static int loss_free(phibal_plugin_case *c) {
  int64_t E = phibal_plugin_extent(c, "counts", 0), total = 0;
  float rate = (float)phibal_plugin_real(c, "rate");
  const int64_t *count = phibal_plugin_input(c, "counts", PHIBAL_PLUGIN_I64);
  const float *bias = phibal_plugin_input(c, "bias", PHIBAL_PLUGIN_F32);
  float *next = phibal_plugin_output(c, "bias", PHIBAL_PLUGIN_F32);
  if (c->misuse[0]) return 1;
  for (int64_t e = 0; e < E; e++) total += count[e];
  for (int64_t e = 0; e < E; e++)
    next[e] = count[e] * E < total   ? bias[e] + rate
              : count[e] * E > total ? bias[e] - rate
                                     : bias[e];
  return 0;
}

/* Outputs that are not computed may be left out: "loads logsumexp". */
#ifndef PLUGIN_WITHOUT
#define PLUGIN_WITHOUT NULL
#endif

static const phibal_plugin_operation operations[] = {
    {"router-forward", router_forward, PLUGIN_WITHOUT},
    {"loss-free", loss_free, NULL},
    {NULL, NULL, NULL},
};

static const phibal_plugin plugin = {
    .version = PHIBAL_PLUGIN_VERSION, .name = "router.c, an example", .operations = operations};

const phibal_plugin *phibal_plugin_get(void) {
  return &plugin;
}
