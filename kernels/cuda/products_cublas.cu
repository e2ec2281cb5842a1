/* Matrix products by cuBLAS: ragged ones in one grouped call, dense ones by cuBLASLt. Both in the
   call's stream, with memory taken once, so that a step allocates nothing; binary32 sums, no
   TensorFloat-32. test_products_cublas.cpp plays the libraries and their streams.

   From 13.4 on cuBLASLt has grouped products whose sizes are on the device too, on compute
   capability 9 with one alpha and beta for all; they are experimental there, 13.7.0 to 13.8.0 have
   spoilt results of separate matrices by the account of another library's authors, and are not
   asked. Elsewhere cublasGemmGroupedBatchedEx takes the sizes of groups from the host and the
   pointers from the device. It has no bfloat16 product with a binary32 result, which the gradients
   of weights are; and its kernel for bfloat16 is compute capability 8's, on an H200 too (cuBLAS
   13.0: cutlass_80_tensorop_bf16_s16816gemm_bf16_grouped_128x64_64x3). On an H200 with cuBLAS 13.1,
   experts' rows differing by up to 15 %, TFLOP/s of the forward product of a gate:
     E, rows of each, width, hidden        grouped   by themselves   dense
     16, 2048, 512, 2048                       257             474     624
     32, 2560, 768, 1024                       282             528     691
     16, 1024, 1536, 6144                      310             647     756
     128, 2560, 768, 256                       276             252     649
   By themselves the last take the host 870 us and the device 510.

   So the gradients of weights, and on compute capability 9 all products of bfloat16 that are large
   enough, are made each by itself by cuBLASLt, over several streams that wait for the call's and
   that the call's waits for: one fills a device only now and then, and the next begins where the
   last one ends. Each stream has a workspace of its own; two and seven were as fast as four, to a
   few per cent. Asking for an algorithm takes the host 97 us, longer than such a product takes, and
   experts' rows are never the same again: the algorithm is the one for some more rows, at most a
   fourth, and kept (rounded_rows). Products took 0.87 to 1.11 of the time that they took with the
   algorithms for their own rows. Whatever rows it is for, an algorithm is a way to divide the
   result among blocks; where the library does not take it for these rows, it is asked for one. */
#include "products.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <new>

namespace {

constexpr size_t LIBRARY_BYTES = (size_t)64
                                 << 20; /* of which cuBLAS has half; Hopper wants 32 MiB */
constexpr int PLANS = 512;
constexpr size_t SCALARS_BYTES = 256; /* 0 and 1 on the device */
constexpr int SIDES = 4;              /* streams for products that are made each by itself */
constexpr size_t SIDE_BYTES = LIBRARY_BYTES / 2; /* of a plan too */
/* What a product by itself has at least, on average, on compute capability SEPARATE_MAJOR and
   above. On an H200 16 products of 10 GFLOP took 265 us so, 323 in chunks and 525 grouped, of 19
   GFLOP 470, 501 and 988; of 4 GFLOP chunks were as fast or faster: 16 took 142, 139 and 267 us, 32
   took 245, 219 and 456, and 32 launches keep the host for 250 us. */
constexpr int64_t SEPARATE_FLOPS = 7000000000;
constexpr int SEPARATE_MAJOR = 9;
/* Of products in chunks, from SEPARATE_MAJOR on. 128 experts of 2560 rows, 768 by 256, took 234 us
   so, 514 each by itself (for the host 1220), 470 grouped; with 512 rows 84 us and 112 grouped.
   Chunks of 256 rows or more were slower nearly everywhere. */
constexpr int32_t CHUNK_ROWS = 128;

/* An algorithm that the heuristic has found for a dense product, or for a ragged one of so many
   experts, whose average `shape` is. */
struct plan {
  library_product shape;
  library_types types;
  uint32_t alignment;
  cublasLtMatmulAlgo_t algorithm;
  int32_t experts;
};

struct library {
  cublasHandle_t blas;
  cublasLtHandle_t lt;
  void *workspace; /* LIBRARY_BYTES, then SIDE_BYTES for each side, then SCALARS_BYTES */
  bool reads_sizes;
  int major;            /* of the compute capability */
  const float *scalars; /* device: 0 and 1 */
  cudaStream_t stream[SIDES];
  cudaEvent_t begun, done[SIDES];
  int next_side; /* for the next product by itself */
  int plans, ragged_plans;
  plan planned[PLANS], ragged[PLANS];
  /* The grouped call's arrays. */
  cublasOperation_t a_operation[PHIBAL_MAX_EXPERTS], b_operation[PHIBAL_MAX_EXPERTS];
  int m[PHIBAL_MAX_EXPERTS], n[PHIBAL_MAX_EXPERTS], k[PHIBAL_MAX_EXPERTS];
  int lda[PHIBAL_MAX_EXPERTS], ldb[PHIBAL_MAX_EXPERTS], ldc[PHIBAL_MAX_EXPERTS];
  int size[PHIBAL_MAX_EXPERTS];
  float alpha[PHIBAL_MAX_EXPERTS], beta[PHIBAL_MAX_EXPERTS];
};

phibal_status failed(const char *name, cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", name, cublasGetStatusString(status));
}

cudaDataType_t type_of(phibal_rows type) {
  return type == PHIBAL_ROWS_F32 ? CUDA_R_32F : CUDA_R_16BF;
}

cublasOperation_t operation_of(bool transposed) {
  return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

bool too_large(const library_product &p) {
  return p.m > INT32_MAX || p.n > INT32_MAX || p.k > INT32_MAX;
}

bool same_plan(const plan &p, const library_product &shape, const library_types &types,
               uint32_t alignment) {
  const library_product &s = p.shape;
  return s.n == shape.n && s.k == shape.k && s.m == shape.m && p.alignment == alignment &&
         s.a_transposed == shape.a_transposed && s.b_transposed == shape.b_transposed &&
         s.lda == shape.lda && s.ldb == shape.ldb && s.ldc == shape.ldc && p.types.in == types.in &&
         p.types.out == types.out && p.types.beta == types.beta;
}

/* A product as cuBLASLt has it; whoever derives from this describes the matrices. */
struct lt_product {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasStatus_t status;
  explicit lt_product(const library_product &p) {
    const cublasOperation_t ta = operation_of(p.a_transposed), tb = operation_of(p.b_transposed);
    status = cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    good(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta));
    good(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb));
  }
  ~lt_product() {
    if (c) cublasLtMatrixLayoutDestroy(c);
    if (b) cublasLtMatrixLayoutDestroy(b);
    if (a) cublasLtMatrixLayoutDestroy(a);
    if (operation) cublasLtMatmulDescDestroy(operation);
  }
  lt_product(const lt_product &) = delete;
  lt_product &operator=(const lt_product &) = delete;
  void good(cublasStatus_t s) {
    if (status == CUBLAS_STATUS_SUCCESS) status = s;
  }
};

/* Of one dense product; `sizes` makes it that of another, which differs in m, n and k alone. */
struct description : lt_product {
  description(const library_product &p, const library_types &types) : lt_product(p) {
    const uint64_t m = (uint64_t)p.m, n = (uint64_t)p.n, k = (uint64_t)p.k;
    good(cublasLtMatrixLayoutCreate(&a, type_of(types.in), p.a_transposed ? k : m,
                                    p.a_transposed ? m : k, p.lda));
    good(cublasLtMatrixLayoutCreate(&b, type_of(types.in), p.b_transposed ? n : k,
                                    p.b_transposed ? k : n, p.ldb));
    good(cublasLtMatrixLayoutCreate(&c, type_of(types.out), m, n, p.ldc));
  }
  void sizes(const library_product &p) {
    const uint64_t m = (uint64_t)p.m, n = (uint64_t)p.n, k = (uint64_t)p.k;
    size(a, p.a_transposed ? k : m, p.a_transposed ? m : k);
    size(b, p.b_transposed ? n : k, p.b_transposed ? k : n);
    size(c, m, n);
  }

private:
  void size(cublasLtMatrixLayout_t matrix, uint64_t rows, uint64_t columns) {
    good(cublasLtMatrixLayoutSetAttribute(matrix, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows));
    good(cublasLtMatrixLayoutSetAttribute(matrix, CUBLASLT_MATRIX_LAYOUT_COLS, &columns,
                                          sizeof columns));
  }
};

/* Of all matrices, in bytes: the heuristic takes 256 for granted where it is not told, and a
   matrix of bfloat16 weights begins wherever the tensors before it end. */
uint32_t alignment_of(const void *a, const void *b, const void *c, const void *d) {
  const uintptr_t places = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d | 256;
  return (uint32_t)(places & (~places + 1));
}

/* The first algorithm of the heuristic for p, kept for the next such product. d has the sizes of p
   after it, if it was not kept. */
cublasStatus_t plan_find(library *l, const library_product &p, const library_types &types,
                         uint32_t alignment, description &d, cublasLtMatmulAlgo_t *algorithm) {
  for (int i = 0; i < l->plans; i++)
    if (same_plan(l->planned[i], p, types, alignment)) {
      *algorithm = l->planned[i].algorithm;
      return CUBLAS_STATUS_SUCCESS;
    }
  d.sizes(p);
  if (d.status != CUBLAS_STATUS_SUCCESS) return d.status;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulHeuristicResult_t result = {};
  const size_t bytes = SIDE_BYTES;
  int found = 0;
  cublasStatus_t status = cublasLtMatmulPreferenceCreate(&preference);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
  for (cublasLtMatmulPreferenceAttributes_t matrix :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    if (status == CUBLAS_STATUS_SUCCESS)
      status =
          cublasLtMatmulPreferenceSetAttribute(preference, matrix, &alignment, sizeof alignment);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmulAlgoGetHeuristic(l->lt, d.operation, d.a, d.b, d.c, d.c, preference, 1,
                                            &result, &found);
  if (preference) cublasLtMatmulPreferenceDestroy(preference);
  if (status == CUBLAS_STATUS_SUCCESS && found == 0) status = CUBLAS_STATUS_NOT_SUPPORTED;
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  *algorithm = result.algo;
  if (l->plans < PLANS) l->planned[l->plans++] = {p, types, alignment, result.algo, 0};
  return status;
}

phibal_status cuda_failed(const char *name, cudaError_t error) {
  if (error == cudaSuccess) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", name, cudaGetErrorString(error));
}

/* The product that another's algorithm is found for: with some more rows, in 4 to 8 steps from a
   power of two to the next. */
library_product rounded_rows(library_product p) {
  int64_t &rows = p.b_transposed ? p.k : p.n;
  int64_t step = 1;
  while (8 * step < rows) step *= 2;
  rows = (rows + step - 1) / step * step;
  return p;
}

unsigned char *side_workspace(const library *l, int side) {
  return (unsigned char *)l->workspace + LIBRARY_BYTES + (size_t)side * SIDE_BYTES;
}

/* The side streams and their events. */
phibal_status sides_create(const char *name, library *l) {
  cudaError_t error = cudaEventCreateWithFlags(&l->begun, cudaEventDisableTiming);
  for (int s = 0; s < SIDES && error == cudaSuccess; s++) {
    error = cudaStreamCreateWithFlags(&l->stream[s], cudaStreamNonBlocking);
    if (error == cudaSuccess) error = cudaEventCreateWithFlags(&l->done[s], cudaEventDisableTiming);
  }
  return cuda_failed(name, error);
}

/* Whether cuBLASLt takes sizes from the device, and the scalars that it then takes from there. */
phibal_status sizes_create(const char *name, library *l) {
  int device = 0;
  float *scalars = (float *)((unsigned char *)l->workspace + LIBRARY_BYTES + SIDES * SIDE_BYTES);
  static const float values[2] = {0.0f, 1.0f};
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&l->major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess)
    error = cudaMemcpy(scalars, values, sizeof values, cudaMemcpyHostToDevice);
  const size_t version = cublasLtGetVersion();
  l->scalars = scalars;
  l->reads_sizes = CUBLAS_VERSION >= 130400 && version >= 130400 &&
                   !(version >= 130700 && version < 130801) && l->major == 9;
  return cuda_failed(name, error);
}

} // namespace

phibal_status phibal_cuda_products_create(phibal_cuda *call) {
  const char *name = "cuBLAS";
  if (!call) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: the call is null", name);
  library *l = new (std::nothrow) library();
  if (!l) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory", name);
  call->products = l;
  const size_t bytes = LIBRARY_BYTES + SIDES * SIDE_BYTES + SCALARS_BYTES;
  if (cudaMalloc(&l->workspace, bytes) != cudaSuccess) {
    phibal_cuda_products_destroy(call);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no device memory for %zu bytes", name,
                             bytes);
  }
  cublasStatus_t status = cublasCreate(&l->blas);
  if (status == CUBLAS_STATUS_SUCCESS) status = cublasLtCreate(&l->lt);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasSetStream(l->blas, (cudaStream_t)call->stream);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasSetWorkspace(l->blas, l->workspace, LIBRARY_BYTES / 2);
  phibal_status result = failed(name, status);
  if (result == PHIBAL_OK) result = sides_create(name, l);
  if (result == PHIBAL_OK) result = sizes_create(name, l);
  if (result != PHIBAL_OK) phibal_cuda_products_destroy(call);
  return result;
}

void phibal_cuda_products_destroy(phibal_cuda *call) {
  library *l = call ? (library *)call->products : nullptr;
  if (!l) return;
  for (int s = 0; s < SIDES; s++) {
    if (l->stream[s]) cudaStreamDestroy(l->stream[s]);
    if (l->done[s]) cudaEventDestroy(l->done[s]);
  }
  if (l->begun) cudaEventDestroy(l->begun);
  if (l->lt) cublasLtDestroy(l->lt);
  if (l->blas) cublasDestroy(l->blas);
  if (l->workspace) cudaFree(l->workspace);
  delete l;
  call->products = nullptr;
}

phibal_status library_grouped(const char *name, int32_t count, const library_product *each,
                              library_types types, const void *const *a, const void *const *b,
                              void *const *c, const phibal_cuda *call) {
  library *l = (library *)call->products;
  for (int32_t i = 0; i < count; i++) {
    if (too_large(each[i])) return failed(name, CUBLAS_STATUS_NOT_SUPPORTED);
    l->a_operation[i] = operation_of(each[i].a_transposed);
    l->b_operation[i] = operation_of(each[i].b_transposed);
    l->m[i] = (int)each[i].m;
    l->n[i] = (int)each[i].n;
    l->k[i] = (int)each[i].k;
    l->lda[i] = (int)each[i].lda;
    l->ldb[i] = (int)each[i].ldb;
    l->ldc[i] = (int)each[i].ldc;
    l->size[i] = 1;
    l->alpha[i] = 1.0f;
    l->beta[i] = types.beta;
  }
  cublasStatus_t status = cublasGemmGroupedBatchedEx(
      l->blas, l->a_operation, l->b_operation, l->m, l->n, l->k, l->alpha, a, type_of(types.in),
      l->lda, b, type_of(types.in), l->ldb, l->beta, c, type_of(types.out), l->ldc, count, l->size,
      CUBLAS_COMPUTE_32F);
  return failed(name, status);
}

#if CUBLAS_VERSION >= 130400
namespace {

/* Of a ragged product, and the first algorithm for it. The average sizes only guide its choice. */
struct ragged_description : lt_product {
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulAlgo_t algorithm;
  ragged_description(library *l, const library_ragged &p, const library_types &types)
      : lt_product(p.average) {
    const library_product &one = p.average;
    const cublasLtPointerMode_t mode = CUBLASLT_POINTER_MODE_DEVICE;
    const uint32_t rows = (uint32_t)one.m, columns = (uint32_t)one.n, sum = (uint32_t)one.k;
    const uint32_t alignment = 16;
    good(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode,
                                        sizeof mode));
    good(cublasLtGroupedMatrixLayoutCreate(&a, type_of(types.in), p.experts,
                                           one.a_transposed ? p.k : p.m,
                                           one.a_transposed ? p.m : p.k, p.lda));
    good(cublasLtGroupedMatrixLayoutCreate(&b, type_of(types.in), p.experts,
                                           one.b_transposed ? p.n : p.k,
                                           one.b_transposed ? p.k : p.n, p.ldb));
    good(cublasLtGroupedMatrixLayoutCreate(&c, type_of(types.out), p.experts, p.m, p.n, p.ldc));
    for (int i = 0; i < l->ragged_plans && status == CUBLAS_STATUS_SUCCESS; i++)
      if (l->ragged[i].experts == p.experts && same_plan(l->ragged[i], one, types, alignment)) {
        algorithm = l->ragged[i].algorithm;
        return;
      }
    const size_t bytes = LIBRARY_BYTES / 2;
    cublasLtMatmulHeuristicResult_t result = {};
    int found = 0;
    good(cublasLtMatmulPreferenceCreate(&preference));
    good(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &bytes, sizeof bytes));
    good(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_ROWS, &rows, sizeof rows));
    good(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_COLS, &columns, sizeof columns));
    good(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_GROUPED_AVERAGE_REDUCTION_DIM, &sum, sizeof sum));
    for (cublasLtMatmulPreferenceAttributes_t matrix :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      good(cublasLtMatmulPreferenceSetAttribute(preference, matrix, &alignment, sizeof alignment));
    good(cublasLtMatmulAlgoGetHeuristic(l->lt, operation, a, b, c, c, preference, 1, &result,
                                        &found));
    if (status == CUBLAS_STATUS_SUCCESS && found == 0) status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (status != CUBLAS_STATUS_SUCCESS) return;
    algorithm = result.algo;
    if (l->ragged_plans < PLANS)
      l->ragged[l->ragged_plans++] = {one, types, alignment, algorithm, p.experts};
  }
  ~ragged_description() {
    if (preference) cublasLtMatmulPreferenceDestroy(preference);
  }
};

} // namespace
#endif

/* An algorithm is asked for here, so that a step does not find that there is none. */
bool library_takes_ragged(const library_ragged &p, const library_types &types, uintptr_t places,
                          const phibal_cuda *call) {
  library *l = (library *)call->products;
  if (!l->reads_sizes || types.in != PHIBAL_ROWS_BF16 || places % 16 || too_large(p.average))
    return false;
#if CUBLAS_VERSION >= 130400
  return ragged_description(l, p, types).status == CUBLAS_STATUS_SUCCESS;
#else
  return false;
#endif
}

phibal_status library_make_ragged(const char *name, const library_ragged &p, library_types types,
                                  const void *const *a, const void *const *b, void *const *c,
                                  const phibal_cuda *call) {
#if CUBLAS_VERSION >= 130400
  library *l = (library *)call->products;
  const float *alpha = l->scalars + 1, *beta = l->scalars + (types.beta != 0.0f ? 1 : 0);
  ragged_description d(l, p, types);
  cublasStatus_t status = d.status;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmul(l->lt, d.operation, alpha, (const void *)a, d.a, (const void *)b, d.b,
                            beta, (const void *)c, d.c, (void *)c, d.c, &d.algorithm,
                            (unsigned char *)l->workspace + LIBRARY_BYTES / 2, LIBRARY_BYTES / 2,
                            (cudaStream_t)call->stream);
  return failed(name, status);
#else
  (void)p, (void)types, (void)a, (void)b, (void)c, (void)call;
  return failed(name, CUBLAS_STATUS_NOT_SUPPORTED);
#endif
}

int32_t library_chunk_rows(const phibal_cuda *call) {
  return ((const library *)call->products)->major >= SEPARATE_MAJOR ? CHUNK_ROWS : 0;
}

phibal_status library_batched(const char *name, int32_t count, const library_product &p,
                              library_types types, const void *const *a, const void *const *b,
                              void *const *c, const phibal_cuda *call) {
  const library *l = (const library *)call->products;
  const float alpha = 1.0f;
  if (too_large(p)) return failed(name, CUBLAS_STATUS_NOT_SUPPORTED);
  return failed(name, cublasGemmBatchedEx(
                          l->blas, operation_of(p.a_transposed), operation_of(p.b_transposed),
                          (int)p.m, (int)p.n, (int)p.k, &alpha, a, type_of(types.in), (int)p.lda, b,
                          type_of(types.in), (int)p.ldb, &types.beta, c, type_of(types.out),
                          (int)p.ldc, count, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

int64_t library_separate_flops(const phibal_cuda *call) {
  return ((const library *)call->products)->major >= SEPARATE_MAJOR ? SEPARATE_FLOPS : INT64_MAX;
}

phibal_status library_separate_begin(const char *name, const phibal_cuda *call) {
  library *l = (library *)call->products;
  cudaError_t error = cudaEventRecord(l->begun, (cudaStream_t)call->stream);
  for (int s = 0; s < SIDES && error == cudaSuccess; s++)
    error = cudaStreamWaitEvent(l->stream[s], l->begun, 0);
  l->next_side = 0;
  return cuda_failed(name, error);
}

phibal_status library_separate_end(const char *name, const phibal_cuda *call) {
  library *l = (library *)call->products;
  const cudaStream_t stream = (cudaStream_t)call->stream;
  cudaError_t error = cudaSuccess;
  for (int s = 0; s < SIDES && error == cudaSuccess; s++) {
    error = cudaEventRecord(l->done[s], l->stream[s]);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(stream, l->done[s], 0);
  }
  return cuda_failed(name, error);
}

phibal_status library_separate(const char *name, int32_t count, const library_product *each,
                               library_types types, const void *const *a, const void *const *b,
                               void *const *c, const phibal_cuda *call) {
  library *l = (library *)call->products;
  const float alpha = 1.0f;
  description d(each[0], types);
  cublasStatus_t status = d.status;
  for (int32_t i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; i++) {
    const int s = l->next_side++ % SIDES;
    const uint32_t aligned = alignment_of(a[i], b[i], c[i], c[i]);
    const uint32_t alignment = aligned < 16 ? aligned : 16; /* an expert's rows begin anywhere */
    const auto by = [&](const library_product &found_for) {
      cublasLtMatmulAlgo_t algorithm;
      cublasStatus_t made = plan_find(l, found_for, types, alignment, d, &algorithm);
      d.sizes(each[i]);
      if (made == CUBLAS_STATUS_SUCCESS) made = d.status;
      return made != CUBLAS_STATUS_SUCCESS
                 ? made
                 : cublasLtMatmul(l->lt, d.operation, &alpha, a[i], d.a, b[i], d.b, &types.beta,
                                  c[i], d.c, c[i], d.c, &algorithm, side_workspace(l, s),
                                  SIDE_BYTES, l->stream[s]);
    };
    status = by(rounded_rows(each[i]));
    if (status == CUBLAS_STATUS_INVALID_VALUE || status == CUBLAS_STATUS_NOT_SUPPORTED)
      status = by(each[i]);
  }
  return failed(name, status);
}

phibal_status library_dense(const char *name, const library_product &p, library_types types,
                            const void *a, const void *b, const void *c, void *to,
                            const phibal_cuda *call) {
  library *l = (library *)call->products;
  const float alpha = 1.0f;
  description d(p, types);
  cublasLtMatmulAlgo_t algorithm;
  cublasStatus_t status = d.status;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = plan_find(l, p, types, alignment_of(a, b, c, to), d, &algorithm);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmul(l->lt, d.operation, &alpha, a, d.a, b, d.b, &types.beta, c, d.c, to,
                            d.c, &algorithm, (unsigned char *)l->workspace + LIBRARY_BYTES / 2,
                            LIBRARY_BYTES / 2, (cudaStream_t)call->stream);
  return failed(name, status);
}
