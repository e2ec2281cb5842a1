/* The library of matrix products on the host: loops, with the arguments that cuBLAS gets. Each
   element is the chain c <- fma(a_l, b_l, c) for l = 0 .. k-1 in binary32, from C where beta is 1,
   as phibal_gemm_nt makes it: the forward products have the CPU's bits. */
#include "kernels/cuda/products.h"

#include <cstdlib>
#include <vector>

/* Whether the library plays one that reads sizes on the device, cuBLAS from 13.4 on. */
extern "C" int cuda_on_host_reads_sizes;
int cuda_on_host_reads_sizes = 1;
/* What library_chunk_rows and library_separate_flops say. */
extern "C" int32_t cuda_on_host_chunk_rows;
int32_t cuda_on_host_chunk_rows = 0;
extern "C" int64_t cuda_on_host_separate_flops;
int64_t cuda_on_host_separate_flops = INT64_MAX;

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

/* Now, or where the graph is launched that the stream is captured for. */
template <class F> phibal_status submit(const phibal_cuda *call, F operation) {
  return (phibal_status)cuda_on_host::submit(call->stream, operation);
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

/* One product of a group. */
static phibal_status multiply_checked(const char *name, const library_product &p,
                                      library_types types, const void *a, const void *b, void *c,
                                      const library_product &first, library *l) {
  const uintptr_t places = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c;
  const char *what = refused(p, types, places);
  if (!what && types.in == PHIBAL_ROWS_BF16 && places % 16)
    what = "grouped bfloat16 that is not at a multiple of 16 bytes";
  if (!what && (p.a_transposed != first.a_transposed || p.b_transposed != first.b_transposed))
    what = "groups transposed one way and the other";
  if (what) return refuse(name, what);
  multiply(l, p, types, a, b, c, c);
  return PHIBAL_OK;
}

/* With the table of cublasGemmGroupedBatchedEx. */
phibal_status library_grouped(const char *name, int32_t count, const library_product *each,
                              library_types types, const void *const *a, const void *const *b,
                              void *const *c, const phibal_cuda *call) {
  const std::vector<library_product> products(each, each + count);
  library *l = (library *)call->products;
  return submit(call, [=]() -> int {
    cuda_on_host_started[2]++;
    if (types.in != types.out) return refuse(name, "a grouped result of another type");
    for (size_t i = 0; i < products.size(); i++)
      if (phibal_status status =
              multiply_checked(name, products[i], types, a[i], b[i], c[i], products[0], l);
          status != PHIBAL_OK)
        return status;
    return PHIBAL_OK;
  });
}

/* What is known of cuBLASLt's grouped products: bfloat16 operands, results in it or in binary32. */
bool library_takes_ragged(const library_ragged &, const library_types &types, uintptr_t places,
                          const phibal_cuda *) {
  return cuda_on_host_reads_sizes && types.in == PHIBAL_ROWS_BF16 && places % 16 == 0;
}

/* Sizes and pointers are read when it runs. */
phibal_status library_make_ragged(const char *name, const library_ragged &p, library_types types,
                                  const void *const *a, const void *const *b, void *const *c,
                                  const phibal_cuda *call) {
  if (!library_takes_ragged(p, types, 0, call)) return refuse(name, "sizes on the device");
  if (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) % 16)
    return refuse(name, "arrays of pointers that are not at multiples of 16 bytes");
  library *l = (library *)call->products;
  return submit(call, [=]() -> int {
    cuda_on_host_started[2]++;
    cuda_on_host::stream_next();
    for (int32_t e = 0; e < p.experts; e++) {
      library_product one = p.average;
      one.m = p.m[e], one.n = p.n[e], one.k = p.k[e];
      one.lda = p.lda[e], one.ldb = p.ldb[e], one.ldc = p.ldc[e];
      if (one.m == 0 || one.n == 0) continue;
      if (one.k == 0) continue; /* what is there then with beta = 0 is not relied on */
      const phibal_status status =
          multiply_checked(name, one, types, a[e], b[e], c[e], p.average, l);
      if (status != PHIBAL_OK) return status;
    }
    return PHIBAL_OK;
  });
}

int32_t library_chunk_rows(const phibal_cuda *) {
  return cuda_on_host_chunk_rows;
}

phibal_status library_batched(const char *name, int32_t count, const library_product &p,
                              library_types types, const void *const *a, const void *const *b,
                              void *const *c, const phibal_cuda *call) {
  const std::vector<library_product> each((size_t)count, p);
  return library_grouped(name, count, each.data(), types, a, b, c, call);
}

int64_t library_separate_flops(const phibal_cuda *) {
  return cuda_on_host_separate_flops;
}

phibal_status library_separate_begin(const char *, const phibal_cuda *) {
  return PHIBAL_OK;
}

phibal_status library_separate_end(const char *, const phibal_cuda *) {
  return PHIBAL_OK;
}

phibal_status library_separate(const char *name, int32_t count, const library_product *each,
                               library_types types, const void *const *a, const void *const *b,
                               void *const *c, const phibal_cuda *call) {
  phibal_status status = submit(call, [=] {
    cuda_on_host_started[3]++;
    cuda_on_host_started[1] -= count; /* these are no dense ones */
    return 0;
  });
  for (int32_t i = 0; i < count && status == PHIBAL_OK; i++)
    status = library_dense(name, each[i], types, a[i], b[i], c[i], c[i], call);
  return status;
}

phibal_status library_dense(const char *name, const library_product &p, library_types types,
                            const void *a, const void *b, const void *c, void *d,
                            const phibal_cuda *call) {
  const uintptr_t places = (uintptr_t)a | (uintptr_t)b;
  const char *what = refused(p, types, places);
  if (!what && ((uintptr_t)c | (uintptr_t)d) % (types.out == PHIBAL_ROWS_F32 ? 4 : 2))
    what = "a result that is not at a multiple of its numbers' size";
  if (what) return refuse(name, what);
  library *l = (library *)call->products;
  const library_product shape = p;
  return submit(call, [=] {
    cuda_on_host_started[1]++;
    multiply(l, shape, types, a, b, c, d);
    return 0;
  });
}
