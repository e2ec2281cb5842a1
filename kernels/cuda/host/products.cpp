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
  cuda_on_host::stream_next();
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

/* What cuBLAS refuses of a product, named; null for nothing. */
const char *refused(const library_product &p, library_types types, uintptr_t places) {
  const int64_t a_rows = p.a_transposed ? p.k : p.m, b_rows = p.b_transposed ? p.n : p.k;
  const uintptr_t size = types.in == PHIBAL_ROWS_F32 ? 4 : 2;
  if (types.in != PHIBAL_ROWS_F32 && types.in != PHIBAL_ROWS_BF16) return "a type of operands";
  if (types.out != PHIBAL_ROWS_F32 && types.out != types.in) return "a type of the result";
  if (p.m < 1 || p.n < 1 || p.k < 1) return "a side below 1";
  if (p.m > INT32_MAX || p.n > INT32_MAX || p.k > INT32_MAX) return "a side beyond 32 bits";
  if (p.lda < a_rows || p.ldb < b_rows || p.ldc < p.m) return "a leading dimension below the rows";
  if (p.lda > INT32_MAX || p.ldb > INT32_MAX || p.ldc > INT32_MAX)
    return "a leading dimension beyond 32 bits";
  if (places % size) return "an operand that is not at a multiple of its numbers' size";
  return nullptr;
}

phibal_status refuse(const char *name, const char *what) {
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: the library of products refuses %s", name, what);
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

/* With the table of cublasGemmGroupedBatchedEx. */
phibal_status library_grouped(const char *name, int32_t count, const library_product *each,
                              library_types types, const void *const *a, const void *const *b,
                              void *const *c, const phibal_cuda *call) {
  cuda_on_host_started[2]++;
  if (types.in != types.out) return refuse(name, "a grouped result of another type");
  for (int32_t i = 0; i < count; i++) {
    const uintptr_t places = (uintptr_t)a[i] | (uintptr_t)b[i] | (uintptr_t)c[i];
    const char *what = refused(each[i], types, places);
    if (!what && types.in == PHIBAL_ROWS_BF16 && places % 16)
      what = "grouped bfloat16 that is not at a multiple of 16 bytes";
    if (!what && (each[i].a_transposed != each[0].a_transposed ||
                  each[i].b_transposed != each[0].b_transposed))
      what = "groups transposed one way and the other";
    if (what) return refuse(name, what);
    multiply((library *)call->products, each[i], types, a[i], b[i], c[i], c[i]);
  }
  return PHIBAL_OK;
}

phibal_status library_separate(const char *name, int32_t count, const library_product *each,
                               library_types types, const void *const *a, const void *const *b,
                               void *const *c, const phibal_cuda *call) {
  cuda_on_host_started[3]++;
  const int64_t dense = cuda_on_host_started[1];
  phibal_status status = PHIBAL_OK;
  for (int32_t i = 0; i < count && status == PHIBAL_OK; i++)
    status = library_dense(name, each[i], types, a[i], b[i], c[i], c[i], call);
  cuda_on_host_started[1] = dense;
  return status;
}

phibal_status library_dense(const char *name, const library_product &p, library_types types,
                            const void *a, const void *b, const void *c, void *d,
                            const phibal_cuda *call) {
  cuda_on_host_started[1]++;
  const uintptr_t places = (uintptr_t)a | (uintptr_t)b;
  const char *what = refused(p, types, places);
  if (!what && ((uintptr_t)c | (uintptr_t)d) % (types.out == PHIBAL_ROWS_F32 ? 4 : 2))
    what = "a result that is not at a multiple of its numbers' size";
  if (what) return refuse(name, what);
  multiply((library *)call->products, p, types, a, b, c, d);
  return PHIBAL_OK;
}
