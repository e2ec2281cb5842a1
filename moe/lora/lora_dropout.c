/* Dropout before adapters: y = W x + s B A D x, where D multiplies a number by 0 or by 1 / (1 - p).
   The model has the sum W + s B A, so that what is left to add is s B A (D - 1) x, and what a
   training without dropout and an evaluation compute is as it was. The gradients of A and B are
   those that follow from the sum's, and these products' own. */
#include "lora.h"

#include "moe/machine/random.h"

#include "kernels/cpu/gemm.h"

#include <stdlib.h>
#include <string.h>

/* A stream for each matrix, beside those of the initial weights. */
#define FIRST_STREAM (UINT64_C(2) << 32)

bool lora_keeps(const lora *l, int32_t matrix, int64_t token, int64_t column) {
  const uint64_t index = (uint64_t)token * (uint64_t)l->matrices[matrix].columns + (uint64_t)column;
  const uint64_t bits = random_bits(l->seed, FIRST_STREAM | (uint64_t)matrix, index);
  return (double)(bits >> 11) * 0x1p-53 >= l->dropout;
}

/* Matrices lie in the order of the weights. -1: no adapter. */
static int32_t find(const lora *l, const float *weight) {
  int32_t low = 0, high = l->count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (l->matrices[middle].weight < weight)
      low = middle + 1;
    else
      high = middle;
  }
  return low < l->count && l->matrices[low].weight == weight ? low : -1;
}

/* to[row][j] = (D - 1) of it times from[row][j], or that added to `to`, scaled. */
static void change(const lora *l, int32_t matrix, const model_product *p, const float *from,
                   bool add, float scale, float *to) {
  const int64_t columns = l->matrices[matrix].columns;
  const float kept = (float)(l->dropout / (1.0 - l->dropout));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->rows; i++) {
    const int64_t token = p->first_token + (p->source ? p->source[i] / p->active : i);
    const float *in = from + i * columns;
    float *out = to + i * columns;
    for (int64_t j = 0; j < columns; j++) {
      const float changed = (lora_keeps(l, matrix, token, j) ? kept : -1.0f) * in[j];
      out[j] = add ? out[j] + scale * changed : changed;
    }
  }
}

static void forward(void *context, const model_product *p, float *y) {
  lora *l = context;
  const int32_t i = find(l, p->weight);
  if (i < 0 || !p->rows) return;
  const lora_matrix *w = &l->matrices[i];
  const int64_t r = l->rank;
  const float *b = l->parameters + w->b;
  change(l, i, p, p->x, false, 0, l->changed);
  phibal_gemm_linear(p->rows, r, w->columns, l->changed, l->parameters + w->a, false, l->narrow);
  for (int64_t j = 0; j < p->rows * r; j++) l->narrow[j] *= l->scale;
#pragma omp parallel for schedule(dynamic)
  for (int64_t row = 0; row < p->rows; row += GEMM_TILE_ROWS)
    phibal_gemm_nt(smaller(GEMM_TILE_ROWS, p->rows - row), w->rows, r, l->narrow + row * r, r, b, r,
                   true, y + row * p->stride, p->stride);
}

/* The gradients of A and B are added up without s, which lora_gradients brings. */
static void backward(void *context, const model_product *p, const float *y_gradient,
                     float *x_gradient) {
  lora *l = context;
  const int32_t i = find(l, p->weight);
  if (i < 0 || !p->rows) return;
  const lora_matrix *w = &l->matrices[i];
  const int64_t r = l->rank, n = p->rows, out = w->rows, in = w->columns;
  const float *a = l->parameters + w->a, *b = l->parameters + w->b, *dy = y_gradient;
  if (p->stride != out) {
    for (int64_t row = 0; row < n; row++)
      memcpy(l->gathered + row * out, y_gradient + row * p->stride, (size_t)out * sizeof(float));
    dy = l->gathered;
  }
  change(l, i, p, p->x, false, 0, l->changed);
  phibal_gemm_linear(n, r, in, l->changed, a, false, l->narrow);
  phibal_gemm_linear_weight_gradient(n, out, r, dy, l->narrow, l->gradients + w->b);
  phibal_gemm_linear_input_gradient(n, out, r, dy, b, false, l->narrow);
  phibal_gemm_linear_weight_gradient(n, r, in, l->narrow, l->changed, l->gradients + w->a);
  phibal_gemm_linear_input_gradient(n, r, in, l->narrow, a, false, l->changed);
  change(l, i, p, l->changed, true, l->scale, x_gradient);
}

int64_t lora_dropout_bytes(const model_config *c, int32_t rank, int64_t rows) {
  const int64_t n = c->head_width, v = c->latent_width ? c->value_width : n, heads = c->heads;
  const int64_t sides[] = {c->width,
                           heads * n,
                           heads * v,
                           heads * (n - c->rope_width + v), /* of the latent's expansion */
                           c->latent_width + c->rope_width,
                           c->query_latent_width,
                           c->hidden,
                           (int64_t)c->shared_experts * c->hidden,
                           c->dense_hidden,
                           c->experts};
  int64_t widest = 0;
  for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
    if (sides[i] > widest) widest = sides[i];
  return rows * (2 * widest + rank) * (int64_t)sizeof(float);
}

phibal_status lora_dropout_create(lora *l, double dropout, uint64_t seed, int64_t rows) {
  int64_t columns = 0, out = 0;
  for (int32_t i = 0; i < l->count; i++) {
    if (l->matrices[i].columns > columns) columns = l->matrices[i].columns;
    if (l->matrices[i].rows > out) out = l->matrices[i].rows;
  }
  l->changed = malloc((size_t)(rows * (columns + out + l->rank)) * sizeof(float));
  if (!l->changed)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the adapters' dropout");
  l->gathered = l->changed + rows * columns;
  l->narrow = l->gathered + rows * out;
  l->dropout = dropout;
  l->seed = seed;
  l->adapters = (model_adapters){l, forward, backward};
  return PHIBAL_OK;
}

void lora_step_begin(lora *l) {
  if (l->dropout > 0) memset(l->gradients, 0, (size_t)l->parameter_count * sizeof(float));
}
