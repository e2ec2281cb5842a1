/* The order of a pass over the layers (model_internal.h). */
#include "model_internal.h"

phibal_status model_pass_forward(const model_pass *pass, void *of, const model *m, int32_t batch) {
  const int32_t layers = m->config.layers;
  int32_t moe_layer = 0;
  phibal_status status = pass->embedding(of, batch);
  for (int32_t layer = 0; layer < layers && !status; layer++) {
    float *out = layer + 1 < layers ? m->layers[layer + 1].x : m->last;
    status = pass->attention(of, layer, batch);
    if (!status) status = pass->ffn(of, layer, moe_layer, batch, out);
    if (m->weights.layers[layer].router) moe_layer++;
  }
  return status ? status : pass->norm(of, batch);
}

phibal_status model_pass_backward(const model_pass *pass, void *of, const model *m, int32_t batch) {
  const int32_t layers = m->config.layers;
  phibal_status status = PHIBAL_OK;
  for (int32_t layer = layers - 1; layer >= 0 && !status; layer--) {
    /* Nothing has written over the last layer's. */
    if (m->config.recompute == RECOMPUTE_LAYERS && layer + 1 < layers)
      status = pass->recompute(of, layer, batch);
    if (!status) status = pass->ffn_backward(of, layer, batch);
    if (!status) status = pass->attention_backward(of, layer, batch);
  }
  return status ? status : pass->embedding_backward(of, batch);
}
