/* Adapters on a device (moe/lora/lora.h): W = W0 + s B A of each matrix, with A [r][n] and B
   [m][r], where A and B are what is trained. A step has the gradients of all W; then

     dA = (s B)^T dW,  dB = dW (s A^T),  AdamW on A and B,  W = W0 + B (s A^T)^T

   in binary32, by the library of products alone, which knows no factor s: s B = B (s I) and
   s A^T = A^T (s I), whose numbers are sums of one product and zeros, each rounded once. In
   bfloat16 the copy of W that products multiply is then rounded again; W itself, and all that is
   above, is not.

   W0, s I, s A^T and s B stay on the device. W is made from W0 each time, so that what rounds away
   does not add up, and also at the beginning: a run that is resumed has the device's W and not the
   CPU's, which has other roundings. The host makes its own of A and B (lora_apply), which is what
   a checkpoint's reader makes. */
#include "device_internal.h"

#include <stdlib.h>

static int64_t base_size(const lora *l) {
  if (!l->count) return 0;
  const lora_matrix *last = &l->matrices[l->count - 1];
  return last->base + last->rows * last->columns;
}

void device_adapters_allocate(device *d, arena *a) {
  const lora *of = d->lora;
  if (!of) return;
  d->trained = arena_take(a, of->parameter_count, sizeof(float));
  d->trained_gradients = arena_take(a, of->parameter_count, sizeof(float));
  d->adapters.scaled = arena_take(a, of->parameter_count, sizeof(float));
  d->adapters.scale = arena_take(a, (int64_t)of->rank * of->rank, sizeof(float));
  d->adapters.base = arena_take(a, base_size(of), sizeof(float));
}

/* s A^T [n][r] in the place of A and s B [m][r] in that of B; then W. */
phibal_status device_adapters_apply(device *d) {
  const device_library *l = &d->library;
  const device_adapters *of = &d->adapters;
  const int64_t r = d->lora ? d->lora->rank : 0;
  const int32_t count = d->lora ? d->lora->count : 0;
  phibal_status status = PHIBAL_OK;
  int64_t begin = 0, end = 0; /* of weights that lie one behind the other */
  for (int32_t i = 0; i < count && !status; i++) {
    const lora_matrix *w = &d->lora->matrices[i];
    const int64_t m = w->rows, n = w->columns, at = w->weight - d->host->parameters;
    const float *a = d->trained + w->a, *b = d->trained + w->b;
    float *scaled_a = of->scaled + w->a, *scaled_b = of->scaled + w->b;
    status =
        l->linear_weight_gradient(r, n, r, PHIBAL_ROWS_F32, a, of->scale, scaled_a, 0, &d->call);
    RUN(l->linear(m, r, r, PHIBAL_ROWS_F32, b, of->scale, NULL, PHIBAL_ROWS_F32, scaled_b,
                  &d->call));
    RUN(l->linear(m, n, r, PHIBAL_ROWS_F32, b, scaled_a, of->base + w->base, PHIBAL_ROWS_F32,
                  d->model.parameters + at, &d->call));
    if (!d->narrow) continue;
    if (at != end && end > begin)
      RUN(l->narrow(end - begin, d->model.parameters + begin, d->narrow + begin, &d->call));
    if (at != end) begin = at;
    end = at + m * n;
  }
  if (end > begin)
    RUN(l->narrow(end - begin, d->model.parameters + begin, d->narrow + begin, &d->call));
  return check_call(d, status);
}

phibal_status device_adapters_gradients(device *d) {
  const device_library *l = &d->library;
  const int64_t r = d->lora ? d->lora->rank : 0;
  const int32_t count = d->lora ? d->lora->count : 0;
  phibal_status status = PHIBAL_OK;
  for (int32_t i = 0; i < count && !status; i++) {
    const lora_matrix *w = &d->lora->matrices[i];
    const float *gradient = d->model.gradients + (w->weight - d->host->parameters);
    const float *scaled_a = d->adapters.scaled + w->a, *scaled_b = d->adapters.scaled + w->b;
    status = l->linear_weight_gradient(w->rows, r, w->columns, PHIBAL_ROWS_F32, scaled_b, gradient,
                                       d->trained_gradients + w->a, 0, &d->call);
    RUN(l->linear_input_gradient(w->rows, w->columns, r, PHIBAL_ROWS_F32, gradient, scaled_a,
                                 PHIBAL_ROWS_F32, d->trained_gradients + w->b, &d->call));
  }
  return check_call(d, status);
}

phibal_status device_adapters_push(device *d) {
  const device_library *l = &d->library;
  const lora *of = d->lora;
  if (!of) return PHIBAL_OK;
  const size_t r = (size_t)of->rank;
  float *scale = calloc(r * r, sizeof *scale);
  if (!scale) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", d->name);
  for (size_t i = 0; i < r; i++) scale[i * r + i] = of->scale;
  phibal_status status = l->copy(d->adapters.scale, scale, sizeof *scale * r * r, &d->call);
  RUN(l->copy(d->adapters.base, of->base, sizeof *of->base * (size_t)base_size(of), &d->call));
  RUN(l->copy(d->trained, of->parameters, sizeof *of->parameters * (size_t)of->parameter_count,
              &d->call));
  RUN(l->wait(&d->call));
  free(scale);
  RUN(device_adapters_apply(d));
  return check_call(d, status);
}

phibal_status device_adapters_fetch(device *d) {
  if (!d->lora) return PHIBAL_OK;
  const size_t n = sizeof(float) * (size_t)d->lora->parameter_count;
  phibal_status status = d->library.copy(d->lora->parameters, d->trained, n, &d->call);
  RUN(d->library.wait(&d->call));
  if (!status) lora_apply(d->lora);
  return check_call(d, status);
}
