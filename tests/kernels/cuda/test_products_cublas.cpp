/* How products_cublas.cu calls cuBLAS and cuBLASLt: on which streams, after what and before what,
   in which workspace, with which algorithm; and that the results are the products. The libraries
   are played here. What is asked of a stream is done late, when `finish` says so, by a seeded
   choice among all streams whose next work may begin, each product in two steps; a stream waits for
   an event as on a device. So a missing wait, or two products in one workspace at a time, shows.
   Refused is what the libraries refuse by their documentation: types of grouped products, matrices
   less aligned than an algorithm was asked for, workspaces that are not aligned, or that a call to
   cublasSetStream has taken away. An algorithm is taken for a fourth fewer rows than it was found
   for, but not for all: for odd ones it is refused. */
#include "cuda_device.h"
#include "kernels/cuda/products.h"
#include "kernels/cuda/trainer.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <deque>
#include <functional>
#include <string>

struct fake_event {
  int recorded = 0, passed = 0;
};
/* Work of two steps; or an event that is recorded, or waited for. */
struct step {
  std::function<void()> begin, end;
  fake_event *event = nullptr;
  int version = 0;
  bool waits = false, begun = false;
};
struct fake_stream {
  std::deque<step> queue;
};
struct fake_handle {
  cudaStream_t stream = nullptr;
  unsigned char *workspace = nullptr;
  size_t bytes = 0;
};
struct fake_lt {
  int unused;
};
struct fake_product {
  bool a_transposed = false, b_transposed = false;
  cublasLtPointerMode_t mode = CUBLASLT_POINTER_MODE_HOST;
};
struct fake_layout {
  cudaDataType_t type;
  int64_t rows, columns, ld;
  int groups; /* 0: one matrix */
  const int32_t *of_rows, *of_columns, *of_ld;
};
struct fake_preference {
  uint64_t bytes = 0, alignment[4] = {256, 256, 256, 256};
};

namespace {

constexpr uint64_t SEED = 97;

struct memory {
  unsigned char *from;
  size_t bytes;
};

struct play {
  size_t version = 130400;
  int major = 9;
  int fails_at = -1; /* the call that makes something and fails: the n-th */
  int made = 0, living = 0, batched = 0;
  std::vector<fake_stream *> streams;  /* the call's, which is first, and others */
  std::vector<memory> allocated, used; /* `used`: workspaces of products that have begun */
  std::string misuse;                  /* the first */
} now;
fake_stream calls; /* the call's stream */
void *call_stream; /* its name there */

void restart() {
  now = play();
  calls.queue.clear();
  now.streams.push_back(&calls);
}

void misused(const char *what) {
  if (now.misuse.empty()) now.misuse = what;
}

/* Whether what is to be made can be. */
bool makes() {
  if (now.made++ == now.fails_at) return false;
  now.living++;
  return true;
}

bool on_device(const void *p, size_t bytes) {
  for (const memory &m : now.allocated)
    if ((const unsigned char *)p >= m.from && (const unsigned char *)p + bytes <= m.from + m.bytes)
      return true;
  return false;
}

fake_stream *stream_of(cudaStream_t s) {
  if (!s) misused("the default stream");
  return !s || s == call_stream ? &calls : s;
}

/* A product, with the workspace it has to itself from its first step to its last. */
void product_later(cudaStream_t stream, unsigned char *workspace, size_t bytes,
                   std::function<void()> compute) {
  if (!on_device(workspace, bytes)) misused("a workspace that is not on the device");
  step s;
  s.begin = [=] {
    for (const memory &m : now.used)
      if (workspace < m.from + m.bytes && m.from < workspace + bytes)
        misused("two products in one workspace at a time");
    now.used.push_back({workspace, bytes});
  };
  s.end = [=] {
    compute();
    now.used.erase(std::find_if(now.used.begin(), now.used.end(),
                                [=](const memory &m) { return m.from == workspace; }));
  };
  stream_of(stream)->queue.push_back(std::move(s));
}

void later(std::function<void()> what) {
  step s;
  s.begin = [] {};
  s.end = std::move(what);
  calls.queue.push_back(std::move(s));
}

/* Runs the streams until all is done that the call's stream was asked for. */
void finish(uint64_t seed) {
  random_stream r = random_start(SEED, 1, seed);
  while (!calls.queue.empty()) {
    std::vector<fake_stream *> ready;
    for (fake_stream *s : now.streams)
      if (!s->queue.empty() &&
          (!s->queue.front().waits || s->queue.front().event->passed >= s->queue.front().version))
        ready.push_back(s);
    if (ready.empty()) return misused("streams that wait for each other");
    fake_stream *s = ready[(size_t)random_integer(&r, 0, (int64_t)ready.size() - 1)];
    step &head = s->queue.front();
    if (head.event) {
      if (!head.waits) head.event->passed = head.version;
      s->queue.pop_front();
    } else if (!head.begun) {
      head.begun = true;
      head.begin();
    } else {
      head.end();
      s->queue.pop_front();
    }
  }
  for (fake_stream *s : now.streams)
    if (!s->queue.empty() && !s->queue.front().event)
      misused("work that the call's stream does not wait for");
}

double element(const void *x, cudaDataType_t type, int64_t i) {
  return type == CUDA_R_32F ? (double)((const float *)x)[i]
                            : (double)wide(((const uint16_t *)x)[i]);
}

void set_element(void *x, cudaDataType_t type, int64_t i, double value) {
  if (type == CUDA_R_32F)
    ((float *)x)[i] = (float)value;
  else
    ((uint16_t *)x)[i] = half_of((float)value);
}

struct blas_product {
  bool ta, tb;
  int64_t m, n, k, lda, ldb, ldc;
  cudaDataType_t in, out;
};

/* D = alpha op(A) op(B) + beta C, by columns; C is not read where beta is 0. */
void multiply(const blas_product &p, double alpha, const void *a, const void *b, double beta,
              const void *c, void *d) {
  for (int64_t j = 0; j < p.n; j++)
    for (int64_t i = 0; i < p.m; i++) {
      double sum = 0;
      for (int64_t l = 0; l < p.k; l++)
        sum += element(a, p.in, p.ta ? l + i * p.lda : i + l * p.lda) *
               element(b, p.in, p.tb ? j + l * p.ldb : l + j * p.ldb);
      const int64_t at = i + j * p.ldc;
      set_element(d, p.out, at, alpha * sum + (beta == 0 ? 0 : beta * element(c, p.out, at)));
    }
}

bool sound(const blas_product &p) {
  return p.m >= 0 && p.n >= 0 && p.k >= 0 && p.lda >= std::max<int64_t>(1, p.ta ? p.k : p.m) &&
         p.ldb >= std::max<int64_t>(1, p.tb ? p.n : p.k) && p.ldc >= std::max<int64_t>(1, p.m);
}

bool aligned(const void *p, uint64_t bytes) {
  return (uintptr_t)p % bytes == 0;
}

/* What an algorithm was found for, but for the rows: n, or k where b is transposed. */
uint64_t digest(const fake_product *p, const fake_layout *a, const fake_layout *b,
                const fake_layout *c) {
  uint64_t h = (uint64_t)p->a_transposed + 2 * (uint64_t)p->b_transposed;
  for (const fake_layout *l : {a, b, c})
    for (int64_t x : {(int64_t)l->type, l->rows, l == a && !p->b_transposed ? l->columns : 0, l->ld,
                      (int64_t)l->groups})
      h = (h ^ (uint64_t)x) * 1099511628211u;
  return p->b_transposed ? h ^ (uint64_t)c->columns : h;
}

} // namespace

cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
  *value = now.major;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void **p, size_t bytes) {
  if (!makes()) return cudaErrorUnknown;
  *p = aligned_alloc(256, (bytes + 255) / 256 * 256);
  now.allocated.push_back({(unsigned char *)*p, bytes});
  return cudaSuccess;
}
cudaError_t cudaFree(void *p) {
  now.living--;
  now.allocated.erase(std::find_if(now.allocated.begin(), now.allocated.end(),
                                   [=](const memory &m) { return m.from == p; }));
  free(p);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
  if (!on_device(to, bytes)) misused("a copy to what is not on the device");
  memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  if (!makes()) return cudaErrorUnknown;
  if (flags != cudaStreamNonBlocking) misused("a stream that waits for the default one");
  *stream = new fake_stream;
  now.streams.push_back(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  now.living--;
  now.streams.erase(std::find(now.streams.begin(), now.streams.end(), stream));
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  if (!makes()) return cudaErrorUnknown;
  *event = new fake_event;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  now.living--;
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  step s;
  s.event = event;
  s.version = ++event->recorded;
  stream_of(stream)->queue.push_back(std::move(s));
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  step s;
  s.event = event;
  s.version = event->recorded;
  s.waits = true;
  stream_of(stream)->queue.push_back(std::move(s));
  return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t) {
  return "a CUDA error";
}

const char *cublasGetStatusString(cublasStatus_t) {
  return "a status of cuBLAS";
}
cublasStatus_t cublasCreate(cublasHandle_t *handle) {
  if (!makes()) return CUBLAS_STATUS_ALLOC_FAILED;
  *handle = new fake_handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  now.living--;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
/* "Resets the cuBLAS library workspace back to the default workspace pool". */
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  *handle = {stream, nullptr, 0};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes) {
  if (!aligned(workspace, 256)) return CUBLAS_STATUS_INVALID_VALUE;
  handle->workspace = (unsigned char *)workspace;
  handle->bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

/* Results have the operands' type alone, and bfloat16 begins at multiples of 16 bytes. */
cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t ta[],
                                          const cublasOperation_t tb[], const int m[],
                                          const int n[], const int k[], const void *alpha,
                                          const void *const a[], cudaDataType_t a_type,
                                          const int lda[], const void *const b[],
                                          cudaDataType_t b_type, const int ldb[], const void *beta,
                                          void *const c[], cudaDataType_t c_type, const int ldc[],
                                          int groups, const int sizes[], cublasComputeType_t) {
  if (a_type != b_type || a_type != c_type) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!handle->workspace) misused("a workspace of cuBLAS's own");
  std::vector<blas_product> each;
  std::vector<double> by, add;
  for (int g = 0; g < groups; g++) {
    each.push_back({ta[g] == CUBLAS_OP_T, tb[g] == CUBLAS_OP_T, m[g], n[g], k[g], lda[g], ldb[g],
                    ldc[g], a_type, c_type});
    by.push_back((double)((const float *)alpha)[g]);
    add.push_back((double)((const float *)beta)[g]);
    if (!sound(each.back()) || sizes[g] != 1) return CUBLAS_STATUS_INVALID_VALUE;
  }
  product_later(handle->stream, handle->workspace, handle->bytes, [=] {
    for (size_t g = 0; g < each.size(); g++) {
      if (a_type == CUDA_R_16BF && !(aligned(a[g], 16) && aligned(b[g], 16) && aligned(c[g], 16)))
        misused("grouped bfloat16 that is not aligned");
      multiply(each[g], by[g], a[g], b[g], add[g], c[g], c[g]);
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t ta,
                                   cublasOperation_t tb, int m, int n, int k, const void *alpha,
                                   const void *const a[], cudaDataType_t a_type, int lda,
                                   const void *const b[], cudaDataType_t b_type, int ldb,
                                   const void *beta, void *const c[], cudaDataType_t c_type,
                                   int ldc, int count, cublasComputeType_t, cublasGemmAlgo_t) {
  const blas_product p = {
      ta == CUBLAS_OP_T, tb == CUBLAS_OP_T, m, n, k, lda, ldb, ldc, a_type, c_type};
  if (!sound(p) || count < 1) return CUBLAS_STATUS_INVALID_VALUE;
  if (a_type != b_type || (a_type == CUDA_R_32F && c_type != CUDA_R_32F))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!handle->workspace) misused("a workspace of cuBLAS's own");
  const double by = (double)*(const float *)alpha, add = (double)*(const float *)beta;
  now.batched += count;
  product_later(handle->stream, handle->workspace, handle->bytes, [=] {
    for (int i = 0; i < count; i++) {
      if (a_type == CUDA_R_16BF && !(aligned(a[i], 16) && aligned(b[i], 16) && aligned(c[i], 16)))
        misused("batched bfloat16 that is not aligned");
      multiply(p, by, a[i], b[i], add, c[i], c[i]);
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion() {
  return now.version;
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t *lt) {
  if (!makes()) return CUBLAS_STATUS_ALLOC_FAILED;
  *lt = new fake_lt{};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t lt) {
  now.living--;
  delete lt;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product, cublasComputeType_t,
                                        cudaDataType_t) {
  *product = new fake_product;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete product;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes) {
  if (bytes != 4) return CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == CUBLASLT_MATMUL_DESC_POINTER_MODE)
    product->mode = *(const cublasLtPointerMode_t *)value;
  else
    (attribute == CUBLASLT_MATMUL_DESC_TRANSA ? product->a_transposed : product->b_transposed) =
        *(const cublasOperation_t *)value == CUBLAS_OP_T;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  if (ld < (int64_t)rows) return CUBLAS_STATUS_INVALID_VALUE;
  *layout =
      new fake_layout{type, (int64_t)rows, (int64_t)columns, ld, 0, nullptr, nullptr, nullptr};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtGroupedMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                                 cudaDataType_t type, int groups, const void *rows,
                                                 const void *columns, const void *ld) {
  *layout = new fake_layout{
      type, 0, 0, 0, groups, (const int32_t *)rows, (const int32_t *)columns, (const int32_t *)ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void *value, size_t bytes) {
  const int64_t side = *(const int64_t *)value;
  if (bytes != 8 || (attribute == CUBLASLT_MATRIX_LAYOUT_ROWS && layout->ld < side))
    return CUBLAS_STATUS_INVALID_VALUE;
  (attribute == CUBLASLT_MATRIX_LAYOUT_ROWS ? layout->rows : layout->columns) = side;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = new fake_preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t bytes) {
  const bool of_bytes = attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
  if (bytes != (of_bytes ? sizeof(uint64_t) : sizeof(uint32_t))) return CUBLAS_STATUS_INVALID_VALUE;
  if (of_bytes)
    preference->bytes = *(const uint64_t *)value;
  else if (attribute <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
    preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES] =
        *(const uint32_t *)value;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int *found) {
  uint64_t *data = results[0].algo.data;
  data[0] = digest(product, a, b, c);
  data[1] = preference->bytes;
  data[6] = (uint64_t)b->columns;
  for (int i = 0; i < 4; i++) data[2 + i] = preference->alignment[i];
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t la, const void *b,
                              cublasLtMatrixLayout_t lb, const void *beta, const void *c,
                              cublasLtMatrixLayout_t lc, void *d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t bytes,
                              cudaStream_t stream) {
  const uint64_t *data = algorithm->data;
  const uint64_t rows = (uint64_t)lb->columns;
  if (data[0] != digest(product, la, lb, lc) || 4 * data[6] > 5 * rows + 3 || data[6] < rows)
    misused("an algorithm for another product");
  if (data[6] != rows && rows % 2) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (bytes < data[1]) misused("a workspace too small for the algorithm");
  if (la->type != lb->type || lc != ld) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool device = product->mode == CUBLASLT_POINTER_MODE_DEVICE;
  if (device && !(on_device(alpha, sizeof(float)) && on_device(beta, sizeof(float))))
    misused("scalars that are not on the device");
  const float host_alpha = device ? 0 : *(const float *)alpha,
              host_beta = device ? 0 : *(const float *)beta;
  const fake_product how = *product;
  const fake_layout A = *la, B = *lb, C = *lc;
  std::vector<uint64_t> promised(data + 2, data + 6);
  const auto checked = [=](const void *x, const void *y, const void *from, const void *to) {
    const void *all[] = {x, y, from, to};
    for (size_t i = 0; i < 4; i++)
      if (!aligned(all[i], promised[i])) misused("a matrix that is not aligned as the algorithm's");
  };
  const auto compute = [=] {
    const double by = (double)(device ? *(const float *)alpha : host_alpha);
    const double add = (double)(device ? *(const float *)beta : host_beta);
    if (!A.groups) {
      const blas_product p = {how.a_transposed,
                              how.b_transposed,
                              C.rows,
                              C.columns,
                              how.a_transposed ? A.rows : A.columns,
                              A.ld,
                              B.ld,
                              C.ld,
                              A.type,
                              C.type};
      if ((how.a_transposed ? A.columns : A.rows) != p.m ||
          (how.b_transposed ? B.rows : B.columns) != p.n ||
          (how.b_transposed ? B.columns : B.rows) != p.k || !sound(p))
        misused("matrices that do not fit each other");
      checked(a, b, c, d);
      multiply(p, by, a, b, add, c, d);
      return;
    }
    if (A.groups != B.groups || A.groups != C.groups) misused("unequal numbers of groups");
    for (int g = 0; g < A.groups; g++) {
      const blas_product p = {how.a_transposed,
                              how.b_transposed,
                              C.of_rows[g],
                              C.of_columns[g],
                              how.a_transposed ? A.of_rows[g] : A.of_columns[g],
                              A.of_ld[g],
                              B.of_ld[g],
                              C.of_ld[g],
                              A.type,
                              C.type};
      if ((how.a_transposed ? A.of_columns[g] : A.of_rows[g]) != p.m ||
          (how.b_transposed ? B.of_rows[g] : B.of_columns[g]) != p.n ||
          (how.b_transposed ? B.of_columns[g] : B.of_rows[g]) != p.k)
        misused("matrices that do not fit each other");
      if (p.m == 0 || p.n == 0 || p.k == 0) continue;
      const void *x = ((const void *const *)a)[g], *y = ((const void *const *)b)[g];
      const void *from = ((const void *const *)c)[g];
      void *to = ((void *const *)d)[g];
      if (!sound(p)) misused("leading dimensions that are too small");
      checked(x, y, from, to);
      multiply(p, by, x, y, add, from, to);
    }
  };
  if (A.groups && !(aligned(a, 16) && aligned(b, 16) && aligned(c, 16) && aligned(d, 16)))
    misused("arrays of pointers that are not aligned");
  product_later(stream, (unsigned char *)workspace, bytes, compute);
  return CUBLAS_STATUS_SUCCESS;
}

namespace {

cudaDataType_t type_of(phibal_rows type) {
  return type == PHIBAL_ROWS_F32 ? CUDA_R_32F : CUDA_R_16BF;
}
size_t size_of(phibal_rows type) {
  return type == PHIBAL_ROWS_F32 ? 4 : 2;
}

/* Numbers that arrive in the call's stream: until then there are others. */
struct operand {
  phibal_rows type;
  size_t n;
  std::vector<unsigned char> memory, value;
  unsigned char *live;
  operand(random_stream *r, phibal_rows t, int64_t count, size_t shift)
      : type(t), n((size_t)count), memory(n * size_of(t) + 512, 0xee), value(n * size_of(t)) {
    const uintptr_t begin = ((uintptr_t)memory.data() + 255) / 256 * 256 + shift;
    live = memory.data() + (begin - (uintptr_t)memory.data());
    for (size_t i = 0; i < n; i++)
      set_element(value.data(), type_of(type), (int64_t)i,
                  (double)wide(half_of((float)random_normal(r))));
  }
  operand(const operand &) = delete;
  void arrive() {
    later([this] { memcpy(live, value.data(), value.size()); });
  }
  double initial(int64_t i) const {
    return element(value.data(), type_of(type), i);
  }
};

struct problem {
  product p;
  std::vector<int64_t> offsets;
  operand rows, with, result;
  std::vector<unsigned char> fetched;

  problem(random_stream *r, product_form form, phibal_rows type, phibal_rows to, bool add,
          const std::vector<int64_t> &groups, int64_t out, int64_t in, size_t shift)
      : p{form, type, to, out, in, nullptr, nullptr, nullptr, add}, offsets(groups),
        rows(r, type, groups.back() * (form == PRODUCT_FORWARD ? in : out), shift),
        with(r, type, form == PRODUCT_WEIGHT_GRADIENT ? groups.back() * in : experts() * out * in,
             shift),
        result(r, to,
               form == PRODUCT_FORWARD          ? groups.back() * out
               : form == PRODUCT_INPUT_GRADIENT ? groups.back() * in
                                                : experts() * out * in,
               shift) {
    p.rows = rows.live;
    p.with = with.live;
    p.result = result.live;
  }
  int64_t experts() const {
    return (int64_t)offsets.size() - 1;
  }
  product_groups groups(bool on_host) const {
    return {(int32_t)experts(), offsets.data(), on_host ? offsets.data() : nullptr, 128};
  }
  void arrive() {
    rows.arrive();
    with.arrive();
    result.arrive();
  }
  void fetch() {
    later([this] { fetched.assign(result.live, result.live + result.value.size()); });
  }
  /* y[i][j], dx[i][j] or dw[e][i][j] of expert e, and the sum of the terms' magnitudes. */
  double exact(int64_t e, int64_t i, int64_t j, double *size) const {
    const int64_t first = offsets[(size_t)e], count = offsets[(size_t)e + 1] - first;
    const int64_t n = p.form == PRODUCT_FORWARD          ? p.in
                      : p.form == PRODUCT_INPUT_GRADIENT ? p.out
                                                         : count;
    double sum = 0;
    for (int64_t l = 0; l < n; l++) {
      const double term =
          p.form == PRODUCT_FORWARD
              ? rows.initial(i * p.in + l) * with.initial((e * p.out + j) * p.in + l)
          : p.form == PRODUCT_INPUT_GRADIENT
              ? rows.initial(i * p.out + l) * with.initial((e * p.out + l) * p.in + j)
              : rows.initial((first + l) * p.out + i) * with.initial((first + l) * p.in + j);
      sum += term;
      *size += fabs(term);
    }
    return sum;
  }
  /* Computed in binary64 here and rounded once. Results of experts without rows may be anything:
     products_clear is another call. */
  void judge(int times, const char *text) const {
    const bool weights = p.form == PRODUCT_WEIGHT_GRADIENT;
    const double u = p.to == PHIBAL_ROWS_F32 ? ldexp(1, -24) : ldexp(1, -8);
    const int64_t width = p.form == PRODUCT_FORWARD ? p.out : p.in;
    for (int64_t e = 0; e < experts(); e++) {
      const int64_t first = weights ? 0 : offsets[(size_t)e];
      const int64_t end = weights ? p.out : offsets[(size_t)e + 1];
      if (offsets[(size_t)e] == offsets[(size_t)e + 1]) continue;
      for (int64_t i = first; i < end; i++)
        for (int64_t j = 0; j < width; j++) {
          const int64_t at = ((weights ? e * p.out : 0) + i) * width + j;
          double size = 0, wanted = times * exact(e, i, j, &size);
          if (p.add) wanted += result.initial(at), size += fabs(result.initial(at));
          const double got = element(fetched.data(), type_of(p.to), at);
          cr_assert(fabs(got - wanted) <= 2 * times * u * (size + fabs(wanted)),
                    "%s: form %d, expert %ld, element %ld, %ld: %g is not %g", text, (int)p.form,
                    (long)e, (long)i, (long)j, got, wanted);
        }
    }
  }
};

/* A call with the libraries as they are played. */
struct played {
  phibal_cuda call = {};
  std::vector<uint64_t> workspace;
  explicit played(size_t version = 130400, int major = 9) : workspace(4096) {
    restart();
    now.version = version;
    now.major = major;
    OK(phibal_cuda_describe(&call));
    OK(phibal_cuda_stream_create(&call));
    call_stream = call.stream;
    void *aligned_place = workspace.data();
    size_t room = workspace.size() * 8;
    call.workspace = std::align(256, 16384, aligned_place, room);
    call.workspace_bytes = 16384;
    OK(phibal_cuda_products_create(&call));
  }
  played(const played &) = delete;
  ~played() {
    phibal_cuda_products_destroy(&call);
    phibal_cuda_stream_destroy(&call);
    cr_expect_eq(now.living, 0, "%d things were not destroyed", now.living);
    cr_expect(now.misuse.empty(), "%s", now.misuse.c_str());
  }
};

/* Of 9 and more rows algorithms are found for some more. */
const std::vector<int64_t> some_groups = {0, 3, 3, 8, 9, 9, 16, 20, 37, 56, 66, 77};

} // namespace

/* Gradients of bfloat16 weights, which cuBLAS does not group, over several streams: they begin when
   the call's stream has their operands, which an earlier product may have changed, and are there
   before it goes on. */
Test(products_cublas, separate_products_keep_the_calls_order) {
  for (uint64_t seed = 0; seed < 60; seed++) {
    played c(130100);
    random_stream r = random_start(SEED, 0, seed);
    problem w(&r, PRODUCT_WEIGHT_GRADIENT, PHIBAL_ROWS_BF16, PHIBAL_ROWS_F32, true, some_groups, 8,
              16, 0);
    w.arrive();
    OK(products_grouped("test", w.p, w.groups(true), &c.call));
    OK(products_grouped("test", w.p, w.groups(true), &c.call));
    w.fetch();
    finish(seed);
    cr_assert(now.misuse.empty(), "seed %lu: %s", (unsigned long)seed, now.misuse.c_str());
    w.judge(2, "twice");
  }
}

/* Each form and pair of types, aligned and not, by the way that the library has for it. */
Test(products_cublas, grouped_and_separate) {
  static const phibal_rows types[][2] = {{PHIBAL_ROWS_F32, PHIBAL_ROWS_F32},
                                         {PHIBAL_ROWS_BF16, PHIBAL_ROWS_BF16},
                                         {PHIBAL_ROWS_BF16, PHIBAL_ROWS_F32}};
  uint64_t seed = 100;
  for (const phibal_rows *type : types)
    for (int form = PRODUCT_FORWARD; form <= PRODUCT_WEIGHT_GRADIENT; form++)
      for (size_t shift : {0, 4})
        for (bool add : {false, true})
          for (int64_t width : {8, 7}) {
            if (form == PRODUCT_WEIGHT_GRADIENT && type[1] != PHIBAL_ROWS_F32) continue;
            played c(130100);
            random_stream r = random_start(SEED, 0, ++seed);
            problem a(&r, (product_form)form, type[0], type[1], add, some_groups, width, 16, shift);
            a.arrive();
            OK(products_grouped("test", a.p, a.groups(true), &c.call));
            a.fetch();
            finish(seed);
            a.judge(1, "sizes on the host");
          }
}

/* Chunks of the rows on compute capability 9, and what is left of each expert; one has less than a
   chunk, one nothing but chunks. On 8 no chunks. */
Test(products_cublas, chunks) {
  static const std::vector<int64_t> groups = {0, 1300, 1300, 1301, 3349, 6005};
  uint64_t seed = 600;
  for (int major : {8, 9})
    for (int form = PRODUCT_FORWARD; form <= PRODUCT_INPUT_GRADIENT; form++)
      for (bool add : {false, true}) {
        played c(130100, major);
        random_stream r = random_start(SEED, 0, ++seed);
        problem a(&r, (product_form)form, PHIBAL_ROWS_BF16, PHIBAL_ROWS_BF16, add, groups, 8, 16,
                  0);
        a.arrive();
        OK(products_grouped("test", a.p, a.groups(true), &c.call));
        a.fetch();
        finish(seed);
        a.judge(1, "chunks");
        cr_expect_eq(now.batched, major == 9 ? 1300 / 128 + 2048 / 128 + 2656 / 128 : 0, "%d",
                     now.batched);
      }
}

/* Sizes on the device: compute capability 9, from 13.4 on, but not 13.7.0 to 13.8.0, bfloat16 at
   multiples of 16 bytes; the results are those of sizes on the host. */
Test(products_cublas, ragged) {
  static const struct {
    size_t version;
    int major;
    bool ragged;
  } libraries[] = {{130400, 9, true},  {130100, 9, false}, {130400, 10, false}, {130400, 8, false},
                   {130700, 9, false}, {130800, 9, false}, {130801, 9, true},   {130600, 9, true}};
  uint64_t seed = 200;
  for (const auto &l : libraries)
    for (int form = PRODUCT_FORWARD; form <= PRODUCT_WEIGHT_GRADIENT; form++)
      for (bool add : {false, true})
        for (int64_t width : {8, 7}) {
          played c(l.version, l.major);
          random_stream r = random_start(SEED, 0, ++seed);
          const phibal_rows to =
              form == PRODUCT_WEIGHT_GRADIENT ? PHIBAL_ROWS_F32 : PHIBAL_ROWS_BF16;
          problem a(&r, (product_form)form, PHIBAL_ROWS_BF16, to, add, some_groups, width, 24, 0);
          const bool takes = products_sizes_on_device(a.p, a.groups(false), &c.call);
          cr_assert_eq(takes, l.ragged && width == 8, "version %zu, major %d, width %ld", l.version,
                       l.major, (long)width);
          if (!takes) {
            cr_expect_eq(products_grouped("test", a.p, a.groups(false), &c.call),
                         PHIBAL_ERROR_UNSUPPORTED);
            continue;
          }
          a.arrive();
          OK(products_grouped("test", a.p, a.groups(false), &c.call));
          a.fetch();
          finish(seed);
          a.judge(1, "sizes on the device");
        }
}

/* One after another with all shapes again, so that algorithms are found once and kept: each for its
   shape, its types and its alignment. */
Test(products_cublas, dense) {
  static const int64_t shapes[][3] = {{5, 8, 16}, {5, 16, 8}, {8, 5, 16}, {1, 1, 1}, {16, 8, 5}};
  played c;
  uint64_t seed = 300;
  for (int again = 0; again < 2; again++)
    for (const int64_t *s : shapes)
      for (int form = PRODUCT_FORWARD; form <= PRODUCT_WEIGHT_GRADIENT; form++)
        for (phibal_rows type : {PHIBAL_ROWS_F32, PHIBAL_ROWS_BF16})
          for (phibal_rows to : {PHIBAL_ROWS_F32, PHIBAL_ROWS_BF16})
            for (size_t shift : {0, 4, 8})
              for (bool add : {false, true}) {
                if (type == PHIBAL_ROWS_F32 && to != PHIBAL_ROWS_F32) continue;
                random_stream r = random_start(SEED, 0, ++seed);
                problem a(&r, (product_form)form, type, to, add, {0, s[0]}, s[1], s[2], shift);
                a.arrive();
                OK(products_dense("test", a.p, s[0], a.p.result, &c.call));
                a.fetch();
                finish(seed);
                a.judge(1, "dense");
              }
}

/* Gradients of several weights, those of one grouped because they are binary32: all are made behind
   their operands and before what follows. */
Test(products_cublas, independent_products_run_beside_each_other) {
  for (uint64_t seed = 0; seed < 30; seed++) {
    played c(130100);
    random_stream r = random_start(SEED, 0, 500 + seed);
    problem a(&r, PRODUCT_WEIGHT_GRADIENT, PHIBAL_ROWS_BF16, PHIBAL_ROWS_F32, false, some_groups, 8,
              16, 0);
    problem b(&r, PRODUCT_WEIGHT_GRADIENT, PHIBAL_ROWS_F32, PHIBAL_ROWS_F32, false, some_groups, 8,
              16, 0);
    problem d(&r, PRODUCT_WEIGHT_GRADIENT, PHIBAL_ROWS_BF16, PHIBAL_ROWS_F32, true, some_groups, 24,
              8, 0);
    const product all[] = {a.p, b.p, d.p};
    for (problem *p : {&a, &b, &d}) p->arrive();
    OK(products_independent("test", all, 3, a.groups(true), &c.call));
    for (problem *p : {&a, &b, &d}) p->fetch();
    finish(seed);
    for (problem *p : {&a, &b, &d}) p->judge(1, "beside each other");
  }
}

/* Products that cuBLAS groups, each by itself; and where that is faster. */
Test(products_cublas, separate_as_grouped) {
  for (int major : {8, 9, 10}) {
    played c(130100, major);
    cr_expect_eq(library_separate_flops(&c.call) == INT64_MAX, major < 9, "%d.0", major);
    cr_expect_gt(library_separate_flops(&c.call), 1 << 20);
    random_stream r = random_start(SEED, 0, (uint64_t)(400 + major));
    problem a(&r, PRODUCT_FORWARD, PHIBAL_ROWS_BF16, PHIBAL_ROWS_BF16, true, some_groups, 8, 16, 0);
    std::vector<library_product> each;
    std::vector<void *> of[3];
    for (int64_t e = 0; e < a.experts(); e++) {
      const int64_t first = a.offsets[(size_t)e], rows = a.offsets[(size_t)e + 1] - first;
      if (rows == 0) continue;
      each.push_back({true, false, 8, rows, 16, 16, 16, 8});
      of[0].push_back(a.with.live + e * 8 * 16 * 2);
      of[1].push_back(a.rows.live + first * 16 * 2);
      of[2].push_back(a.result.live + first * 8 * 2);
    }
    a.arrive();
    OK(library_separate_begin("test", &c.call));
    OK(library_separate("test", (int32_t)each.size(), each.data(),
                        {PHIBAL_ROWS_BF16, PHIBAL_ROWS_BF16, 1.0f}, of[0].data(), of[1].data(),
                        of[2].data(), &c.call));
    OK(library_separate_end("test", &c.call));
    a.fetch();
    finish((uint64_t)major);
    a.judge(1, "each by itself");
  }
}

/* Whatever cannot be made: an error, and nothing is left. */
Test(products_cublas, failures_leave_nothing) {
  int calls = 0;
  {
    played c;
    calls = now.made;
  }
  cr_assert_gt(calls, 10);
  for (int n = 0; n < calls; n++) {
    restart();
    now.fails_at = n;
    phibal_cuda call = {};
    OK(phibal_cuda_describe(&call));
    cr_expect_neq(phibal_cuda_products_create(&call), PHIBAL_OK, "call %d fails", n);
    cr_expect_null(call.products);
    cr_expect_eq(now.living, 0, "call %d fails: %d things are left", n, now.living);
  }
}
