/* The model's working memory. For T tokens a call, each layer keeps, in numbers of 4 bytes:
     attention   T (3 d + (2 heads + 2 kv heads) n + 2 heads + 1), and with qk_norm another
                 T (heads + kv heads) (n + 1); with MLA, T (3 d + heads (2 n + 2 v + 2) + 2 c + r +
                 2 cq + 3)
     dense FFN   T (d + 3 f + 1)
     MoE         T (d + E + 2) + T k (2 d + 3 f + 6), and with shared experts 3 T f shared
   with shared_gate another T (d + 1); with post_norm the norms' inputs are those that the layer has
   anyway, and 2 T d for their outputs' inputs in their place; with sinks T heads for all layers;
   with expert_factor another T k of a MoE layer, with gate_floor T; and one layer's gradients, T (4
   d + (2 heads + 2 kv heads) n + E) + T k (2 d + f + 1), are shared by all layers. Where ranks
   divide the experts, T k (d + 3 f) of a MoE layer and T k f of the gradients are those of the rows
   that reach this rank's experts, in model_exchange.c. Scores of attention and logits of the head
   are made in blocks.

   A device keeps of the FFN its input and the pre-activations a and b alone: 2 f in the place of
   3 f, and T k (2 f + 6) for the experts' routes, so that experts of half the width, twice as many
   for a token, cost T (E + 6 k) more and no row. Rows by expert and h lie in the scratch of the
   gradients, which is as large as on the host. Where ranks divide the experts, their rows' inputs
   are kept beside a and b. Of attention it keeps one number a head, not two. In bfloat16 rows take
   2 bytes; inverses, logits, what a route has, and 2 d a token of the residual stream stay
   binary32. Where layers are recomputed, each keeps T (d + E + 1) + 6 T k, a dense one T d, and the
   rest is that of the largest; with post_norm T (d + 1) more.

   A layer with hash routing has a table of V k numbers of 2 bytes, on the host.
 */
#include "model_internal.h"

#include "norm.h"

#define TAKE(count, type) ((type *)arena_take(a, (count), sizeof(type)))
/* Rows that products multiply. */
#define ROWS(count)                                                                                \
  ((float *)arena_take(a, (count), m->precision == PRECISION_BFLOAT16 ? 2 : sizeof(float)))

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* What a layer has of its own even where the rest is made again. */
static void allocate_saved(const model *m, layer_activations *to, bool dense, int64_t tokens,
                           arena *a) {
  const model_config *c = &m->config;
  const int64_t routes = tokens * c->active;
  const int64_t prices = m->balance.method == BALANCE_SEQUENCE ? m->batch : 1;
  to->x = TAKE(tokens * c->width, float);
  if (c->post_norm) {
    to->ffn_output = TAKE(tokens * c->width, float);
    to->ffn_inverse = TAKE(tokens, float);
  }
  if (dense) return;
  to->logits = TAKE(tokens * c->experts, float);
  to->gates = TAKE(routes, float);
  if (c->gate_floor > 0) to->gate_sum = TAKE(tokens, float);
  if (c->expert_factor) to->scaled_gates = TAKE(routes, float);
  to->logsumexp = TAKE(tokens, float);
  to->experts = TAKE(routes, int32_t);
  to->offsets = TAKE(c->experts + 1, int64_t);
  to->source = TAKE(routes, int64_t);
  to->row = TAKE(routes, int64_t);
  to->price = TAKE(prices * c->experts, float);
}

static void allocate_attention(const model *m, layer_activations *to, int64_t tokens, arena *a) {
  const model_config *c = &m->config;
  int64_t d = c->width, n = c->head_width;
  to->normed = c->post_norm ? to->x : ROWS(tokens * d);
  if (c->post_norm) to->attention_output = TAKE(tokens * d, float);
  to->inverse = TAKE(tokens, float);
  const attention_shape shape = model_attention_shape(m, m->batch);
  to->qkv = ROWS(tokens * attention_row(&shape));
  if (c->latent_width) {
    to->latent = TAKE(tokens * (c->latent_width + c->rope_width), float);
    to->latent_normed = TAKE(tokens * c->latent_width, float);
    to->latent_inverse = TAKE(tokens, float);
    to->q_latent = TAKE(tokens * c->query_latent_width, float);
    to->q_latent_normed = TAKE(tokens * c->query_latent_width, float);
    to->q_latent_inverse = TAKE(tokens, float);
  } else if (c->qk_norm) {
    to->qk_raw = ROWS(tokens * (c->heads + c->key_value_heads) * n);
    to->q_inverse = TAKE(tokens * c->heads, float);
    to->k_inverse = TAKE(tokens * c->key_value_heads, float);
  }
  to->attended = ROWS(tokens * c->heads * shape.value_width);
  if (m->on_device) {
    to->attention_logsumexp = TAKE(tokens * c->heads, float);
  } else {
    to->largest = TAKE(tokens * c->heads, float);
    to->inverse_sum = TAKE(tokens * c->heads, float);
  }
  to->middle = TAKE(tokens * d, float);
}

static void allocate_ffn(const model *m, layer_activations *to, bool dense, int64_t tokens,
                         arena *a) {
  const model_config *c = &m->config;
  int64_t d = c->width, routes = tokens * c->active;
  int64_t rows = dense ? tokens : routes, f = dense ? c->dense_hidden : c->hidden;
  to->ffn_normed = c->post_norm ? to->middle : ROWS(tokens * d);
  if (!c->post_norm) to->ffn_inverse = TAKE(tokens, float);
  bool elsewhere = !dense && m->expert_ranks; /* model_exchange.c has their rows */
  if (!elsewhere) {
    to->a = ROWS(rows * f);
    to->b = ROWS(rows * f);
    if (!m->on_device) to->h = ROWS(rows * f);
  }
  if (dense) return;
  if (!elsewhere && !m->on_device) to->gathered = ROWS(routes * d);
  if (!m->on_device) to->expert_output = ROWS(routes * d);
  int64_t shared = (int64_t)c->shared_experts * c->hidden;
  if (shared) {
    to->shared_a = ROWS(tokens * shared);
    to->shared_b = ROWS(tokens * shared);
    if (!m->on_device) to->shared_h = ROWS(tokens * shared);
    if (c->shared_gate) {
      to->shared_logit = TAKE(tokens, float);
      to->shared_output = TAKE(tokens * d, float);
    }
  }
}

static void allocate_scratch(model *m, int64_t tokens, arena *a) {
  const model_config *c = &m->config;
  model_scratch *to = &m->scratch;
  int64_t d = c->width, n = c->head_width, routes = tokens * c->active;
  const attention_shape attention = model_attention_shape(m, m->batch);
  const int64_t rotated = model_rope_width(c);
  head_shape head = {tokens, c->width, c->vocabulary, c->logit_softcap};
  to->rotation_cosine = TAKE((int64_t)c->sequence * (rotated / 2), float);
  to->rotation_sine = TAKE((int64_t)c->sequence * (rotated / 2), float);
  to->mask = TAKE(tokens, uint8_t);
  to->stream_gradient = TAKE(tokens * d, float);
  to->normed_gradient = TAKE(tokens * d, float);
  if (c->post_norm) to->branch_gradient = TAKE(tokens * d, float);
  to->branch = ROWS(tokens * d);
  if (m->precision == PRECISION_BFLOAT16) {
    to->router_input = TAKE(tokens * d, float);
    to->narrow_gradient = ROWS(tokens * d);
  }
  to->qkv_gradient = ROWS(tokens * attention_row(&attention));
  to->attended_gradient = ROWS(tokens * c->heads * attention.value_width);
  if (c->sinks) to->sink_gradient = TAKE(tokens * c->heads, float);
  if (c->latent_width) {
    const int64_t plain = n - c->rope_width + c->value_width;
    to->projected = TAKE(tokens * c->heads * larger(n, plain), float);
    to->latent_gradient =
        TAKE(tokens * larger(c->latent_width + c->rope_width, c->query_latent_width), float);
    to->latent_normed_gradient = TAKE(tokens * c->latent_width, float);
  }
  if (!m->on_device) to->attention = TAKE(m->threads * attention_scratch(&attention), float);
  to->h_gradient =
      ROWS(larger(m->expert_ranks ? 0 : routes * c->hidden,
                  tokens * larger(c->dense_hidden, (int64_t)c->shared_experts * c->hidden)));
  if (m->moe_layers) {
    to->route_gradient = ROWS(routes * d);
    to->gathered_gradient = ROWS(routes * d);
    to->logit_gradient = TAKE(tokens * c->experts, float);
    to->gate_gradient = TAKE(routes, float);
  }
  to->output = ROWS(tokens * d);
  to->output_inverse = TAKE(tokens, float);
  to->head_logits = ROWS(model_head_block(m, &head) * c->vocabulary);
  to->row_loss = TAKE(tokens, double);
  if (m->on_device) return;
  const int64_t projection = c->qk_norm == QK_NORM_PROJECTION ? c->heads * n : n;
  const int64_t latent = larger(c->latent_width, c->query_latent_width);
  to->norm = TAKE(norm_scratch(tokens, (int32_t)larger(d, larger(projection, latent))), double);
}

void model_allocate_activations(model *m, arena *a) {
  const model_config *c = &m->config;
  const int64_t tokens = (int64_t)m->batch * c->sequence;
  for (int32_t layer = 0; layer < c->layers; layer++) {
    layer_activations cut = {0};
    allocate_saved(m, &cut, layer_is_dense(c, m->balance.method, layer), tokens, a);
    if (m->layers) m->layers[layer] = cut;
  }
  const size_t from = a->used;
  size_t behind = from; /* where layers share what follows, the largest of them */
  for (int32_t layer = 0; layer < c->layers; layer++) {
    layer_activations cut = m->layers ? m->layers[layer] : (layer_activations){0};
    if (c->recompute == RECOMPUTE_LAYERS) a->used = from;
    allocate_attention(m, &cut, tokens, a);
    allocate_ffn(m, &cut, layer_is_dense(c, m->balance.method, layer), tokens, a);
    if (m->layers) m->layers[layer] = cut;
    if (a->used > behind) behind = a->used;
  }
  a->used = behind;
  m->last = TAKE(tokens * c->width, float);
  allocate_scratch(m, tokens, a);
  if (c->hash_layers && !m->on_device)
    m->hash = TAKE((int64_t)c->hash_layers * c->vocabulary * c->active, uint16_t);
}
