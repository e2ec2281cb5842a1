/* The library of matrix products on the host: loops, with the arguments that cuBLAS gets. Each
   element is the chain c <- fma(a_l, b_l, c) for l = 0 .. k-1 in binary32, from C where beta is 1,
   as phibal_gemm_nt makes it: the forward products have the CPU's bits. */
#include "kernels/cuda/products.h"

#include <cstdlib>
#include <vector>

namespace {

struct library {
  std::vector<float> a, b, sums; /* A's columns, a column of B, one of C */
};

float load(const void *p, int64_t i, phibal_rows type) {
  if (type == PHIBAL_ROWS_F32) return ((const float *)p)[i];
  return core_float((uint32_t)((const uint16_t *)p)[i] << 16);
}

void store(void *p, int64_t i, phibal_rows type, float x) {
  if (type == PHIBAL_ROWS_F32) {
    ((float *)p)[i] = x;
    return;
  }
  const uint32_t u = core_bits32(x); /* to nearest, ties to even */
  const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
  ((uint16_t *)p)[i] = (uint16_t)(nan ? u >> 16 | 0x40u : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

void multiply(library *l, const library_product &p, library_types types, const void *a,
              const void *b, const void *c, void *d) {
  const size_t m = (size_t)p.m;
  l->a.resize(m * (size_t)p.k);
  l->b.resize((size_t)p.k);
  l->sums.resize(m);
  for (int64_t j = 0; j < p.k; j++)
    for (int64_t i = 0; i < p.m; i++)
      l->a[(size_t)j * m + (size_t)i] =
          load(a, p.a_transposed ? i * p.lda + j : j * p.lda + i, types.in);
  for (int64_t j = 0; j < p.n; j++) {
    float *__restrict sums = l->sums.data();
    for (int64_t i = 0; i < p.m; i++)
      sums[i] = types.beta != 0.0f ? types.beta * load(c, j * p.ldc + i, types.out) : 0.0f;
    for (int64_t t = 0; t < p.k; t++) {
      const float factor = load(b, p.b_transposed ? t * p.ldb + j : j * p.ldb + t, types.in);
      const float *__restrict column = l->a.data() + (size_t)t * m;
      for (int64_t i = 0; i < p.m; i++) sums[i] = __builtin_fmaf(column[i], factor, sums[i]);
    }
    for (int64_t i = 0; i < p.m; i++) store(d, j * p.ldc + i, types.out, sums[i]);
  }
}

} // namespace

phibal_status phibal_cuda_products_create(phibal_cuda *call) {
  if (!call) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "products: the call is null");
  call->products = new library();
  return PHIBAL_OK;
}

void phibal_cuda_products_destroy(phibal_cuda *call) {
  if (!call) return;
  delete (library *)call->products;
  call->products = nullptr;
}

phibal_status library_grouped(const char *, int32_t count, const library_product *each,
                              library_types types, const void *const *a, const void *const *b,
                              void *const *c, const phibal_cuda *call) {
  cuda_on_host_started[2]++;
  for (int32_t i = 0; i < count; i++)
    multiply((library *)call->products, each[i], types, a[i], b[i], c[i], c[i]);
  return PHIBAL_OK;
}

phibal_status library_dense(const char *, const library_product &p, library_types types,
                            const void *a, const void *b, const void *c, void *d,
                            const phibal_cuda *call) {
  cuda_on_host_started[1]++;
  multiply((library *)call->products, p, types, a, b, c, d);
  return PHIBAL_OK;
}
