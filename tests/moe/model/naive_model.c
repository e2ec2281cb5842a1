#include "naive_model.h"

#include "moe/machine/random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef double row[NAIVE_WIDTH];

/* Sums over tokens of one layer. */
typedef struct tally {
  double probability[NAIVE_EXPERTS], selected[NAIVE_EXPERTS], tokens;
} tally;

static const double *tensor(const naive_model *n, const double *parameters, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static const double *tensor(const naive_model *n, const double *parameters, const char *format,
                            ...) {
  char name[64];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  for (int32_t i = 0; i < n->tensor_count; i++)
    if (strcmp(n->tensors[i].name, name) == 0) return parameters + n->tensors[i].offset;
  cr_assert_fail("no tensor %s", name);
  return NULL;
}

/* y [out] = W x, W [out][in] */
static void multiply(int out, int in, const double *w, const double *x, double *y) {
  for (int i = 0; i < out; i++) {
    y[i] = 0;
    for (int j = 0; j < in; j++) y[i] += w[i * in + j] * x[j];
  }
}

static void rms_norm(const naive_model *n, int width, const double *w, const double *x, double *y) {
  double square = 0;
  for (int j = 0; j < width; j++) square += x[j] * x[j];
  double r = 1 / sqrt(square / width + (double)n->config.norm_epsilon);
  for (int j = 0; j < width; j++) y[j] = x[j] * r * w[j];
}

static void rotate(const naive_model *n, int position, double *x) {
  int width = n->config.rope_width ? n->config.rope_width : n->config.head_width, half = width / 2;
  for (int i = 0; i < half; i++) {
    double angle = position * pow((double)n->config.rope_theta, -2.0 * i / width);
    double u = x[i], v = x[i + half];
    x[i] = u * cos(angle) - v * sin(angle);
    x[i + half] = v * cos(angle) + u * sin(angle);
  }
}

/* y [width] += the bias of a projection. */
static void add_bias(const naive_model *n, const double *p, int layer, const char *name, int width,
                     double *y) {
  if (!n->config.qkv_bias) return;
  const double *bias = tensor(n, p, "model.layers.%d.self_attn.%s.bias", layer, name);
  for (int j = 0; j < width; j++) y[j] += bias[j];
}

/* One sequence x [S][d] += attention. */
static void attend(const naive_model *n, const double *p, int layer, row *x) {
  const model_config *c = &n->config;
  int d = c->width, width = c->head_width, s = c->sequence, group = c->heads / c->key_value_heads;
  row q[NAIVE_TOKENS], k[NAIVE_TOKENS], v[NAIVE_TOKENS];
  for (int t = 0; t < s; t++) {
    row normed;
    memcpy(normed, x[t], sizeof normed);
    if (!c->post_norm)
      rms_norm(n, d, tensor(n, p, "model.layers.%d.input_layernorm.weight", layer), x[t], normed);
    multiply(c->heads * width, d, tensor(n, p, "model.layers.%d.self_attn.q_proj.weight", layer),
             normed, q[t]);
    multiply(c->key_value_heads * width, d,
             tensor(n, p, "model.layers.%d.self_attn.k_proj.weight", layer), normed, k[t]);
    multiply(c->key_value_heads * width, d,
             tensor(n, p, "model.layers.%d.self_attn.v_proj.weight", layer), normed, v[t]);
    add_bias(n, p, layer, "q_proj", c->heads * width, q[t]);
    add_bias(n, p, layer, "k_proj", c->key_value_heads * width, k[t]);
    add_bias(n, p, layer, "v_proj", c->key_value_heads * width, v[t]);
    for (int h = 0; h < c->heads; h++) {
      double *head = q[t] + h * width;
      if (c->qk_norm)
        rms_norm(n, width, tensor(n, p, "model.layers.%d.self_attn.q_norm.weight", layer), head,
                 head);
      rotate(n, t, head);
    }
    for (int h = 0; h < c->key_value_heads; h++) {
      double *head = k[t] + h * width;
      if (c->qk_norm)
        rms_norm(n, width, tensor(n, p, "model.layers.%d.self_attn.k_norm.weight", layer), head,
                 head);
      rotate(n, t, head);
    }
  }
  const bool full = c->full_attention_every && (layer + 1) % c->full_attention_every == 0;
  for (int t = 0; t < s; t++) {
    row out, projected;
    const int from = c->window && !full && t >= c->window ? t - c->window + 1 : 0;
    for (int h = 0; h < c->heads; h++) {
      double weight[NAIVE_TOKENS], sum = 0;
      if (c->sinks) sum = exp(tensor(n, p, "model.layers.%d.self_attn.sinks", layer)[h]);
      for (int j = from; j <= t; j++) {
        double score = 0;
        for (int i = 0; i < width; i++) score += q[t][h * width + i] * k[j][h / group * width + i];
        sum += weight[j] = exp(score / sqrt(width));
      }
      for (int i = 0; i < width; i++) {
        out[h * width + i] = 0;
        for (int j = from; j <= t; j++)
          out[h * width + i] += weight[j] / sum * v[j][h / group * width + i];
      }
    }
    multiply(d, c->heads * width, tensor(n, p, "model.layers.%d.self_attn.o_proj.weight", layer),
             out, projected);
    for (int j = 0; c->output_bias && j < d; j++)
      projected[j] += tensor(n, p, "model.layers.%d.self_attn.o_proj.bias", layer)[j];
    if (c->post_norm)
      rms_norm(n, d, tensor(n, p, "model.layers.%d.post_attention_layernorm.weight", layer),
               projected, projected);
    for (int j = 0; j < d; j++) x[t][j] += projected[j];
  }
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

/* How much nearer to a limit a number may be than scores of experts to each other. */
enum { CLEAR_OF_LIMITS = 10 };

/* y [d] += weight FFN(x) of one of gpt-oss's experts, whose biases lie as its matrices do. */
static void clamped_ffn(naive_model *n, const double *p, int layer, int expert, double weight,
                        const double *x, double *y) {
  static const char *const names[] = {"gate", "up", "down"};
  const model_config *c = &n->config;
  const int d = c->width, f = c->hidden;
  const double limit = (double)c->expert_limit;
  const double *w[3], *bias[3];
  row a, b, out;
  for (int i = 0; i < 3; i++) {
    w[i] = tensor(n, p, "model.layers.%d.mlp.experts.%s_proj.weight", layer, names[i]) +
           expert * f * d;
    bias[i] = tensor(n, p, "model.layers.%d.mlp.experts.%s_proj.bias", layer, names[i]) +
              expert * (i < 2 ? f : d);
  }
  multiply(f, d, w[0], x, a);
  multiply(f, d, w[1], x, b);
  for (int j = 0; j < f; j++) {
    /* A difference over a limit is no gradient. */
    n->margin = fmin(n->margin, CLEAR_OF_LIMITS * fabs(a[j] + bias[0][j] - limit));
    n->margin = fmin(n->margin, CLEAR_OF_LIMITS * fabs(fabs(b[j] + bias[1][j]) - limit));
    const double g = fmin(a[j] + bias[0][j], limit);
    const double u = fmax(fmin(b[j] + bias[1][j], limit), -limit);
    a[j] = (u + 1) * g * sigmoid((double)c->expert_slope * g);
  }
  multiply(d, f, w[2], a, out);
  for (int j = 0; j < d; j++) y[j] += weight * (out[j] + bias[2][j]);
}

/* y [d] += weight FFN(x) */
static void ffn(const naive_model *n, int hidden, const double *gate, const double *up,
                const double *down, double weight, const double *x, double *y) {
  int d = n->config.width;
  row a, b, out;
  multiply(hidden, d, gate, x, a);
  multiply(hidden, d, up, x, b);
  for (int j = 0; j < hidden; j++) {
    double z = a[j];
    if (n->config.activation == PHIBAL_ACTIVATION_GELU)
      a[j] = 0.5 * z * (1 + tanh(sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
    else
      a[j] = z * sigmoid(z);
    a[j] *= b[j];
  }
  multiply(d, hidden, down, a, out);
  for (int j = 0; j < d; j++) y[j] += weight * out[j];
}

/* (R2g): the scores of experts outside a token's best groups to -infinity. */
static void keep_groups(naive_model *n, double *score) {
  const model_config *c = &n->config;
  const int groups = c->expert_groups, of = groups > 1 ? c->experts / groups : 0;
  double sum[NAIVE_EXPERTS], raw[NAIVE_EXPERTS];
  if (!of) return;
  const int added = c->group_score == PHIBAL_GROUP_SHARE         ? c->active / c->active_groups
                    : c->group_score == PHIBAL_GROUP_TWO_LARGEST ? 2
                    : c->group_score == PHIBAL_GROUP_LARGEST     ? 1
                    : c->gate == PHIBAL_GATE_SIGMOID             ? 2
                    : c->gate == PHIBAL_GATE_SQRT_SOFTPLUS       ? 2
                                                                 : 1;
  memcpy(raw, score, sizeof raw);
  for (int g = 0; g < groups; g++) {
    sum[g] = 0;
    for (int e = g * of; e < (g + 1) * of; e++) {
      int above = 0;
      for (int o = g * of; o < (g + 1) * of; o++) above += raw[o] > raw[e];
      if (above < added) sum[g] += raw[e];
    }
  }
  int above[NAIVE_EXPERTS] = {0};
  for (int g = 0; g < groups; g++)
    for (int o = 0; o < groups; o++) above[g] += sum[o] > sum[g];
  for (int g = 0; g < groups; g++) {
    if (above[g] < c->active_groups) continue;
    for (int o = 0; o < groups; o++)
      if (above[o] < c->active_groups) n->margin = fmin(n->margin, sum[o] - sum[g]);
    for (int e = g * of; e < (g + 1) * of; e++) score[e] = -INFINITY;
  }
}

static bool hashed(const naive_model *n, int layer) {
  return layer - n->config.dense_layers < n->config.hash_layers;
}

/* All slots of the tokens up to this one, dealt one after another from packs of all experts. A pack
   is put back as it was, or shuffled where a token begins with it. */
static void hash(const naive_model *n, int layer, int32_t token, int *selected) {
  const model_config *c = &n->config;
  const uint64_t stream = ((uint64_t)6 << 32) + (uint64_t)(layer - c->dense_layers);
  int pack[NAIVE_EXPERTS];
  uint64_t shuffles = 0;
  for (int slot = 0; slot < (token + 1) * c->active; slot++) {
    const int at = slot % c->experts;
    if (at == 0 && slot % c->active == 0) {
      for (int e = 0; e < c->experts; e++) pack[e] = e;
      for (int e = c->experts - 1; e > 0; e--) {
        const uint64_t number = shuffles * (uint64_t)c->experts + (uint64_t)e;
        const double x = (double)(random_bits((uint64_t)c->hash_seed, stream, number) >> 32);
        const int other = (int)floor(x * 0x1p-32 * (e + 1)), kept = pack[e];
        pack[e] = pack[other];
        pack[other] = kept;
      }
      shuffles++;
    }
    if (slot / c->active == token) selected[pack[at]] = 1;
  }
}

/* (R1) to (R5), (R2p), (R5n), (R5e), (R5z) for one token: probabilities, selection (1 or 0), gates
   by expert. */
static void route(naive_model *n, int layer, int32_t token, const double *logits,
                  double *probability, int *selected, double *gate) {
  const model_config *c = &n->config;
  double score[NAIVE_EXPERTS], sum = 0, chosen = 0;
  const bool root = c->gate == PHIBAL_GATE_SQRT_SOFTPLUS;
  bool squash = c->gate == PHIBAL_GATE_SIGMOID || root;
  for (int e = 0; e < c->experts; e++) {
    double weight = root     ? sqrt(log1p(exp(logits[e])))
                    : squash ? sigmoid(logits[e])
                             : exp(logits[e]);
    sum += probability[e] = weight;
    score[e] = squash ? weight : logits[e];
    selected[e] = 0;
  }
  for (int e = 0; e < c->experts; e++) {
    if (c->selection_score == PHIBAL_SCORE_PROBABILITY) score[e] = probability[e] / sum;
    score[e] += n->bias[layer][e];
  }
  if (!hashed(n, layer)) keep_groups(n, score);
  const int counted =
      c->zero_gates == PHIBAL_ZERO_GATES_LEFT_OUT ? c->experts - c->zero_experts : c->experts;
  if (hashed(n, layer)) hash(n, layer, token, selected);
  for (int s = 0; s < c->active && !hashed(n, layer); s++) {
    int best = -1;
    for (int e = 0; e < c->experts; e++)
      if (!selected[e] && (best < 0 || score[e] > score[best])) best = e;
    selected[best] = 1;
  }
  for (int e = 0; e < counted; e++) chosen += selected[e] * probability[e];
  /* A difference over the floor is no gradient. */
  if (c->gate_floor > 0)
    n->margin = fmin(n->margin,
                     CLEAR_OF_LIMITS * fabs(chosen / (squash ? 1 : sum) - (double)c->gate_floor));
  double cut = -INFINITY;
  for (int e = 0; e < c->experts; e++)
    if (!selected[e]) cut = fmax(cut, score[e]);
  for (int e = 0; e < c->experts; e++)
    n->required[layer][n->routed[layer]][e] = cut - (score[e] - n->bias[layer][e]);
  n->routed[layer]++;
  for (int e = 0; e < c->experts; e++)
    for (int o = 0; o < c->experts; o++)
      if (selected[e] && !selected[o] && !hashed(n, layer))
        n->margin = fmin(n->margin, score[e] - score[o]);
  for (int e = 0; e < c->experts; e++) {
    bool whole = c->gate == PHIBAL_GATE_PROBABILITY ||
                 (c->gate == PHIBAL_GATE_TOPK_SOFTMAX && c->active == 1);
    double below = whole ? sum : chosen;
    if (c->gate_normalisation == PHIBAL_NORMALISATION_NONE) below = squash ? 1 : sum;
    if (c->gate_normalisation == PHIBAL_NORMALISATION_SUM)
      below = fmax(chosen, (double)c->gate_floor * (squash ? 1 : sum)) +
              (double)c->gate_epsilon * (squash ? 1 : sum);
    gate[e] = selected[e] ? probability[e] / below * (double)c->route_scale : 0;
    if (e >= counted) gate[e] = 0;
  }
  for (int e = 0; e < c->experts; e++) probability[e] /= sum;
}

/* (P.g) of each potential. */
static void potential_gradient(const phibal_potential *potential, int experts, const double *m,
                               double *q) {
  double a = potential->parameter, power = 0;
  for (int e = 0; e < experts; e++) power += pow(m[e], a);
  for (int e = 0; e < experts; e++) {
    double x = m[e];
    switch (potential->id) {
    case PHIBAL_POTENTIAL_LP:
      q[e] = pow(x, a - 1);
      break;
    case PHIBAL_POTENTIAL_NEGENTROPY:
      q[e] = log(x) + 1;
      break;
    case PHIBAL_POTENTIAL_TSALLIS:
      q[e] = (a * pow(x, a - 1) - 1) / (a - 1);
      break;
    case PHIBAL_POTENTIAL_RENYI:
      q[e] = a * pow(x, a - 1) / ((a - 1) * power);
      break;
#define POTENTIAL_FORMULAS(ID, dual, value, gradient, second, conjugate, conjugate_gradient)       \
  case PHIBAL_POTENTIAL_##ID:                                                                      \
    q[e] = gradient;                                                                               \
    break;
#include "tests/reference/potential_formulas.def"
#undef POTENTIAL_FORMULAS
    case PHIBAL_POTENTIAL_COUNT:
      cr_assert_fail("unknown potential");
    }
  }
}

/* The price of a tally, given that of the step so far (which holds it). */
static void set_price(naive_model *n, int layer, const tally *own, const tally *step, double *q) {
  const balance_config *b = &n->balance;
  int experts = n->config.experts;
  double k = n->config.active;
  if (b->method == BALANCE_PHI) {
    double m[NAIVE_EXPERTS], eta = (double)b->eta;
    for (int e = 0; e < experts; e++) {
      double load = b->track == TRACK_PROBABILITY ? step->probability[e] : step->selected[e] / k;
      m[e] = (1 - eta) * n->m[layer][e] + eta * load / step->tokens;
      n->next_m[layer][e] = m[e];
      if (b->start == START_ZERO_CORRECTED) m[e] /= 1 - pow(1 - eta, (double)(n->updates + 1));
    }
    potential_gradient(&b->potential, experts, m, q);
    return;
  }
  const tally *of = b->method == BALANCE_SWITCH_GLOBAL ? step : own;
  for (int e = 0; e < experts; e++) q[e] = of->selected[e] / (k * of->tokens);
}

static bool has_loss(balance_method method) {
  return method == BALANCE_PHI || method == BALANCE_SWITCH || method == BALANCE_SWITCH_GLOBAL ||
         method == BALANCE_SEQUENCE;
}

/* alpha E sum_e P_e q_e weighted by the tally's share of the global batch. */
static double priced(naive_model *n, int call, int layer, int slot, const tally *own,
                     const tally *step, double tokens) {
  if (own->tokens == 0 || !has_loss(n->balance.method) || hashed(n, layer)) return 0;
  double *q = n->price[call][layer][slot], sum = 0;
  if (!n->hold) set_price(n, layer, own, step, q);
  for (int e = 0; e < n->config.experts; e++) sum += own->probability[e] / own->tokens * q[e];
  return n->balance.alpha * n->config.experts * sum * own->tokens / tokens;
}

static void router_logits(naive_model *n, const double *p, int layer, const double *x,
                          double *logits) {
  const model_config *c = &n->config;
  multiply(c->experts, c->width, tensor(n, p, "model.layers.%d.mlp.gate.weight", layer), x, logits);
  for (int e = 0; c->expert_limit > 0 && e < c->experts; e++)
    logits[e] += tensor(n, p, "model.layers.%d.mlp.gate.bias", layer)[e];
}

/* One token through the FFN of a layer, counted in `own`; its number is -1 for padding. */
static void mix(naive_model *n, const double *p, int layer, int token, int32_t number,
                const double *x, double *y, tally *own, double tokens) {
  const model_config *c = &n->config;
  int d = c->width, f = c->hidden;
  if (n->balance.method == BALANCE_DENSE || layer < c->dense_layers) {
    ffn(n, c->dense_hidden, tensor(n, p, "model.layers.%d.mlp.gate_proj.weight", layer),
        tensor(n, p, "model.layers.%d.mlp.up_proj.weight", layer),
        tensor(n, p, "model.layers.%d.mlp.down_proj.weight", layer), 1, x, y);
    return;
  }
  if (c->shared_experts) {
    double z = INFINITY; /* a scale of 1 */
    if (c->shared_gate)
      multiply(1, d, tensor(n, p, "model.layers.%d.mlp.shared_expert_gate.weight", layer), x, &z);
    ffn(n, c->shared_experts * f,
        tensor(n, p, "model.layers.%d.mlp.shared_experts.gate_proj.weight", layer),
        tensor(n, p, "model.layers.%d.mlp.shared_experts.up_proj.weight", layer),
        tensor(n, p, "model.layers.%d.mlp.shared_experts.down_proj.weight", layer), sigmoid(z), x,
        y);
  }
  if (number < 0) return;
  double logits[NAIVE_EXPERTS], probability[NAIVE_EXPERTS], gate[NAIVE_EXPERTS], sum = 0;
  int selected[NAIVE_EXPERTS];
  router_logits(n, p, layer, x, logits);
  route(n, layer, number, logits, probability, selected, gate);
  for (int e = 0; e < c->experts; e++) {
    own->probability[e] += probability[e];
    own->selected[e] += selected[e];
    n->count[layer][e] += selected[e];
    sum += exp(logits[e]);
    if (c->expert_factor)
      gate[e] *= tensor(n, p, "model.layers.%d.mlp.gate.per_expert_scale", layer)[e];
    if (!selected[e] || n->dropped[token][e]) continue;
    if (e >= c->experts - c->zero_experts) {
      if (c->zero_output == ZERO_IDENTITY)
        for (int j = 0; j < d; j++) y[j] += gate[e] * x[j];
      continue;
    }
    if (c->expert_limit > 0)
      clamped_ffn(n, p, layer, e, gate[e], x, y);
    else
      ffn(n, f, tensor(n, p, "model.layers.%d.mlp.experts.gate_proj.weight", layer) + e * f * d,
          tensor(n, p, "model.layers.%d.mlp.experts.up_proj.weight", layer) + e * f * d,
          tensor(n, p, "model.layers.%d.mlp.experts.down_proj.weight", layer) + e * f * d, gate[e],
          x, y);
  }
  own->tokens++;
  n->z_loss += n->balance.z_coefficient * log(sum) * log(sum) / tokens;
}

static void absorb(tally *to, const tally *from) {
  for (int e = 0; e < NAIVE_EXPERTS; e++) {
    to->probability[e] += from->probability[e];
    to->selected[e] += from->selected[e];
  }
  to->tokens += from->tokens;
}

/* (E7), (E8): n->dropped, of all tokens of the call in one layer. The slot of an expert is the
   number of the token's gates above its own, which holds without biases. */
static void limit(naive_model *n, const double *p, int call, int layer, row *x) {
  const model_config *c = &n->config;
  const balance_config *b = &n->balance;
  const int rows = n->batch * c->sequence, routed = n->routed[layer];
  double gates[NAIVE_TOKENS][NAIVE_EXPERTS] = {0};
  int slot[NAIVE_TOKENS][NAIVE_EXPERTS], real = 0;
  memset(n->dropped, 0, sizeof n->dropped);
  if (!(b->capacity_factor > 0) || layer < c->dense_layers) return;
  for (int t = 0; t < rows; t++) {
    row read;
    double logits[NAIVE_EXPERTS], probability[NAIVE_EXPERTS];
    int selected[NAIVE_EXPERTS];
    if (n->tokens[call][t] < 0) continue;
    real++;
    memcpy(read, x[t], sizeof read);
    if (!c->post_norm)
      rms_norm(n, c->width, tensor(n, p, "model.layers.%d.post_attention_layernorm.weight", layer),
               x[t], read);
    router_logits(n, p, layer, read, logits);
    route(n, layer, n->tokens[call][t], logits, probability, selected, gates[t]);
    for (int e = 0; e < c->experts; e++) {
      slot[t][e] = 0;
      for (int o = 0; o < c->experts; o++) slot[t][e] += gates[t][o] > gates[t][e];
    }
  }
  n->routed[layer] = routed;
  const double most = fmax(ceil((double)b->capacity_factor * c->active * real / c->experts),
                           (double)b->capacity_minimum);
  for (int e = 0; e < c->experts; e++)
    for (int t = 0; t < rows; t++) {
      int before = 0;
      if (!(gates[t][e] > 0)) continue;
      for (int o = 0; o < rows; o++) {
        if (!(gates[o][e] > 0) || o == t) continue;
        before += b->capacity_policy == PHIBAL_CAPACITY_GATE ? gates[o][e] > gates[t][e]
                  : b->capacity_policy == PHIBAL_CAPACITY_SLOT
                      ? slot[o][e] < slot[t][e] || (slot[o][e] == slot[t][e] && o < t)
                      : o < t;
      }
      n->dropped[t][e] = before >= most;
      n->routes++;
      n->drops += n->dropped[t][e];
    }
  for (int e = 0; b->capacity_policy == PHIBAL_CAPACITY_GATE && e < c->experts; e++)
    for (int t = 0; t < rows; t++)
      for (int o = 0; o < rows; o++)
        if (n->dropped[t][e] && gates[o][e] > 0 && !n->dropped[o][e])
          n->margin = fmin(n->margin, gates[o][e] - gates[t][e]);
}

static void ffn_layer(naive_model *n, const double *p, int call, int layer, row *x, tally *step,
                      double tokens) {
  const model_config *c = &n->config;
  tally whole = {0};
  if (n->balance.method != BALANCE_DENSE) limit(n, p, call, layer, x);
  for (int s = 0; s < n->batch; s++) {
    tally own = {0};
    for (int t = s * c->sequence; t < (s + 1) * c->sequence; t++) {
      row read, added = {0};
      memcpy(read, x[t], sizeof read);
      if (!c->post_norm)
        rms_norm(n, c->width,
                 tensor(n, p, "model.layers.%d.post_attention_layernorm.weight", layer), x[t],
                 read);
      mix(n, p, layer, t, n->tokens[call][t], read, added, &own, tokens);
      if (c->post_norm)
        rms_norm(n, c->width,
                 tensor(n, p, "model.layers.%d.post_feedforward_layernorm.weight", layer), added,
                 added);
      for (int j = 0; j < c->width; j++) x[t][j] += added[j];
    }
    absorb(&whole, &own);
    if (n->balance.method == BALANCE_SEQUENCE)
      n->balance_loss += priced(n, call, layer, s, &own, NULL, tokens);
  }
  absorb(step, &whole);
  if (n->balance.method != BALANCE_SEQUENCE)
    n->balance_loss += priced(n, call, layer, 0, &whole, step, tokens);
}

static void predict(naive_model *n, const double *p, const double *x, int target) {
  const model_config *c = &n->config;
  row normed;
  double logits[NAIVE_VOCABULARY], sum = 0;
  rms_norm(n, c->width, tensor(n, p, "model.norm.weight"), x, normed);
  multiply(c->vocabulary, c->width, tensor(n, p, "model.embed_tokens.weight"), normed, logits);
  int best = 0;
  for (int v = 0; v < c->vocabulary; v++) {
    double cap = (double)c->logit_softcap;
    if (cap > 0) logits[v] = cap * tanh(logits[v] / cap);
    if (logits[v] > logits[best]) best = v;
    n->largest_logit = fmax(n->largest_logit, fabs(logits[v]));
    sum += exp(logits[v]);
  }
  n->cross_entropy += log(sum) - logits[target];
  n->correct += best == target;
}

static void run_call(naive_model *n, const double *p, int call, tally *step, double tokens) {
  const model_config *c = &n->config;
  int rows = n->batch * c->sequence;
  row x[NAIVE_TOKENS];
  const double *embedding = tensor(n, p, "model.embed_tokens.weight");
  for (int t = 0; t < rows; t++)
    for (int j = 0; j < c->width; j++)
      x[t][j] = n->tokens[call][t] < 0 ? 0 /* nobody sees it */
                                       : embedding[n->tokens[call][t] * c->width + j] *
                                             (c->embedding_scale ? sqrt(c->width) : 1.0);
  for (int layer = 0; layer < c->layers; layer++) {
    for (int s = 0; s < n->batch; s++) attend(n, p, layer, x + s * c->sequence);
    ffn_layer(n, p, call, layer, x, &step[layer], tokens);
  }
  for (int t = 0; t < rows; t++)
    if (n->targets[call][t] >= 0) predict(n, p, x[t], n->targets[call][t]);
}

double naive_loss(naive_model *n, const double *parameters) {
  tally step[NAIVE_LAYERS] = {0};
  n->cross_entropy = n->balance_loss = n->z_loss = n->largest_logit = 0;
  n->margin = INFINITY;
  n->routes = n->drops = 0;
  n->correct = n->target_count = n->token_count = 0;
  memset(n->count, 0, sizeof n->count);
  memset(n->routed, 0, sizeof n->routed);
  for (int call = 0; call < n->calls; call++)
    for (int t = 0; t < n->batch * n->config.sequence; t++) {
      n->target_count += n->targets[call][t] >= 0;
      n->token_count += n->tokens[call][t] >= 0;
    }
  double tokens = (double)n->token_count;
  for (int call = 0; call < n->calls; call++) run_call(n, parameters, call, step, tokens);
  return n->cross_entropy / (double)n->target_count + n->balance_loss + n->z_loss;
}

static int ascending(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* (L7), (L8) of one expert, from all that its tokens require. */
static double quantile(const naive_model *n, int layer, int expert, double low, double high) {
  const int tokens = n->routed[layer], bins = n->balance.quantile_bins;
  const double share = (double)n->config.active * tokens / n->config.experts;
  double sorted[NAIVE_CALLS * NAIVE_TOKENS];
  for (int t = 0; t < tokens; t++) sorted[t] = n->required[layer][t][expert];
  qsort(sorted, (size_t)tokens, sizeof *sorted, ascending);
  if (bins == 0) return sorted[(int)ceil(share) - 1];
  const double width = (high - low) / bins;
  double before = 0;
  for (int i = 0;; i++) {
    double count = 0;
    for (int t = 0; t < tokens; t++) count += fmin(bins - 1, floor((sorted[t] - low) / width)) == i;
    if (before + count >= share) return low + width * (i + (share - before) / count);
    before += count;
  }
}

void naive_next_bias(naive_model *n, int layer, double *bias) {
  const balance_config *b = &n->balance;
  const int experts = n->config.experts;
  double q[NAIVE_EXPERTS], mean = 0, total = 0, low = INFINITY, high = -INFINITY;
  if (hashed(n, layer)) {
    memcpy(bias, n->bias[layer], sizeof n->bias[layer]);
    return;
  }
  for (int e = 0; e < experts; e++) total += (double)n->count[layer][e];
  for (int e = 0; e < experts; e++) {
    if (n->config.gate == PHIBAL_GATE_SIGMOID) {
      low = fmin(low, n->bias[layer][e] - 1);
      high = fmax(high, n->bias[layer][e] + 1);
    }
    for (int t = 0; t < n->routed[layer] && n->config.gate != PHIBAL_GATE_SIGMOID; t++) {
      low = fmin(low, n->required[layer][t][e]);
      high = fmax(high, n->required[layer][t][e]);
    }
  }
  if (b->method == BALANCE_PHI_BIAS) {
    const double eta = (double)b->eta;
    for (int e = 0; e < experts; e++)
      q[e] = n->next_m[layer][e] =
          (1 - eta) * n->m[layer][e] + eta * (double)n->count[layer][e] / total;
    if (b->start == START_ZERO_CORRECTED)
      for (int e = 0; e < experts; e++) q[e] /= 1 - pow(1 - eta, (double)(n->updates + 1));
    double at[NAIVE_EXPERTS];
    memcpy(at, q, sizeof at);
    potential_gradient(&b->potential, experts, at, q);
  } else if (b->method == BALANCE_QUANTILE) {
    for (int e = 0; e < experts; e++) q[e] = quantile(n, layer, e, low, high);
  }
  for (int e = 0; e < experts; e++) mean += q[e] / experts;
  for (int e = 0; e < experts; e++) {
    const double old = n->bias[layer][e], over = total - experts * (double)n->count[layer][e];
    const double eta = (double)b->quantile_eta;
    bias[e] = b->method == BALANCE_LOSS_FREE
                  ? old + ((over > 0) - (over < 0)) * (double)b->bias_rate
              : b->method == BALANCE_PHI_BIAS ? -b->bias_scale * (q[e] - mean)
              : b->method == BALANCE_QUANTILE ? (1 - eta) * old + eta * (q[e] - mean)
                                              : old;
  }
}
