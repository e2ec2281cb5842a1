/* Where a number that is not finite came from: looked for once, after something has failed. Weights
   first, for whatever is computed from them is not finite either; then what the last call has made,
   in the order in which it was made. */
#include "model_internal.h"

#include <math.h>
#include <stdio.h>

static int64_t elements(const model_tensor *t) {
  return t->shape[0] * t->shape[1] * t->shape[2];
}

/* The first of x[n] that is not finite, or n. */
static int64_t first_bad(const float *x, int64_t n) {
  int64_t i = 0;
  while (i < n && isfinite(x[i])) i++;
  return i;
}

phibal_status model_check_weights(const model *m) {
  for (int32_t i = 0; i < m->tensor_count; i++) {
    const model_tensor *t = &m->tensors[i];
    const int64_t n = elements(t);
    const float *x = m->parameters + t->offset;
    int bad = 0;
#pragma omp parallel for reduction(| : bad) schedule(static)
    for (int64_t j = 0; j < n; j++) bad |= !isfinite(x[j]);
    if (!bad) continue;
    const int64_t at = first_bad(x, n), row = t->shape[1] * t->shape[2];
    const long long place[3] = {at / row + t->first, at / t->shape[2] % t->shape[1],
                                at % t->shape[2]};
    char index[80] = "";
    for (int d = 0, used = 0; d < t->dimensions; d++)
      used += snprintf(index + used, sizeof index - (size_t)used, "[%lld]", place[d]);
    return phibal_status_set(PHIBAL_ERROR_NONFINITE, "the weight %s%s is %g", t->name, index,
                             (double)x[at]);
  }
  return PHIBAL_OK;
}

/* One array of the call, [rows][width]; a row's token decides whether it counts. */
typedef struct made {
  const char *what;
  const float *x; /* null: not kept */
  int64_t width;
  bool routes; /* a row for each route, not for each token */
} made;

void model_name_origin(const model *m, int32_t batch, char text[MODEL_ORIGIN]) {
  const model_config *c = &m->config;
  const int64_t tokens = model_call_rows(m, batch), d = c->width;
  *text = 0;
  if (model_check_weights(m)) {
    snprintf(text, MODEL_ORIGIN, "%s", phibal_status_message());
    return;
  }
  if (m->on_device) return;
  const attention_shape attention = model_attention_shape(m, m->batch);
  const int64_t row = attention_row(&attention);
  for (int32_t l = 0; l <= m->reached; l++) {
    const layer_activations *on = l < c->layers ? &m->layers[l] : NULL;
    /* Where layers are recomputed, the last one's work is what is left of all of them. */
    const bool whole = on && (c->recompute != RECOMPUTE_LAYERS || l + 1 == c->layers);
    const bool dense = on && layer_is_dense(c, m->balance.method, l);
    const int64_t routes =
        on && !dense && whole && l < m->reached ? on->offsets[model_real_experts(c)] : 0;
    const int64_t f = dense ? c->dense_hidden : c->hidden;
    const int64_t shared = (int64_t)c->shared_experts * c->hidden;
    enum { LOGITS = 6 };
    const made order[] = {
        {l ? "the residual stream into it" : "the embedding", on ? on->x : NULL, d, false},
        {"the input of attention", whole ? on->normed : NULL, d, false},
        {"queries, keys or values", whole ? on->qkv + m->first * row : NULL, row, false},
        {"the output of attention", whole ? on->attended : NULL,
         (int64_t)c->heads * attention.value_width, false},
        {"the residual stream after attention", whole ? on->middle : NULL, d, false},
        {dense ? "the FFN's input" : "the router's input", whole ? on->ffn_normed : NULL, d, false},
        {"the router's logits", on && !dense ? on->logits : NULL, c->experts, false},
        {"the gates", on && !dense ? on->gates : NULL, c->active, false},
        {dense ? "the FFN's gate" : "the experts' gate", whole ? on->a : NULL, f, !dense},
        {dense ? "the FFN's rows" : "the experts' rows", whole ? on->b : NULL, f, !dense},
        {dense ? "the FFN's product" : "the experts' product", whole ? on->h : NULL, f, !dense},
        {"the experts' output", whole && !dense ? on->expert_output : NULL, d, true},
        {"the shared experts' rows", whole && !dense ? on->shared_h : NULL, shared, false},
        {"the residual stream", on ? NULL : m->last, d, false},
        {"the head's input", on ? NULL : m->scratch.output, d, false},
    };
    /* What failed, failed at the router. */
    const size_t count = on && l == m->reached ? LOGITS + 1 : sizeof order / sizeof *order;
    for (size_t i = 0; i < count; i++) {
      const int64_t rows = order[i].routes ? routes : tokens, n = order[i].width;
      for (int64_t t = 0; order[i].x && t < rows; t++) {
        if (!order[i].routes && !m->scratch.mask[t]) continue;
        const float *x = order[i].x + t * n;
        const int64_t at = first_bad(x, n);
        if (at == n) continue;
        if (on)
          snprintf(text, MODEL_ORIGIN, "%s of layer %d is %g, at %s %lld, element %lld",
                   order[i].what, l, (double)x[at], order[i].routes ? "route" : "token",
                   (long long)t, (long long)at);
        else
          snprintf(text, MODEL_ORIGIN, "%s after the last layer is %g, at token %lld, element %lld",
                   order[i].what, (double)x[at], (long long)t, (long long)at);
        return;
      }
    }
  }
}

const char *model_origin(const model *m) {
  return m->origin;
}
