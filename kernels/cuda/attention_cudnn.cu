/* Attention by cuDNN, for rows in bfloat16: which operations it is made of, and the plans for the
   shapes that a call was given. cuDNN looks for the pattern of a fused attention in the graph: S =
   Q K^T in binary32, scaled, what is beyond the diagonal replaced by the lowest number, and the
   softmax as maximum, exponential, sum and quotient, rounded to bfloat16 for P V. The backward pass
   makes P again from the logsumexp, and takes sum_j P dP as the sum over a row of dO O.

   Deterministic: dQ is the product dS K itself, with dS in the workspace, and no sum in binary32
   that blocks add to in whatever order; and engines that cuDNN notes as nondeterministic are not
   taken. How it calls cuDNN, and what the graph means, is tried without
   (tests/kernels/cuda/test_attention_cudnn.cpp); on a device it has not run yet. */
#include "attention_library.h"
#include "device.h"

#include <cmath>

#if PHIBAL_HAVE_CUDNN

#include "cudnn_graph.h"

#include <memory>
#include <new>

namespace {

using cudnn::extents;
using cudnn::graph;
using cudnn::tensor;

/* Before 9.16 a sequence whose length 128 does not divide needed a mask of its own. */
constexpr size_t OLDEST = 91600;

/* Real tensors. SUMS: of dO O, in the workspace. */
enum slot { Q = 1, K, V, O, STATS, DO, DQ, DK, DV, SUMS, SCALE, ONE, LOWEST, SLOTS };

constexpr cudnnDataType_t NARROW = CUDNN_DATA_BFLOAT16, SINGLE = CUDNN_DATA_FLOAT;

struct plans {
  phibal_cuda_attention shape;
  std::unique_ptr<graph> forward, backward; /* null: refused */
  char by[160];
};

struct library {
  cudnnHandle_t handle = nullptr;
  float one = 1, lowest = -3.402823466e38f;
  std::vector<std::unique_ptr<plans>> each;
  ~library() {
    each.clear(); /* before the handle */
    if (handle) cudnnDestroy(handle);
  }
};

/* Where the tensors of one shape lie in rows of queries, keys and values. */
struct layout {
  int64_t b, s, h, kv, n, row;
  explicit layout(const phibal_cuda_attention &a)
      : b(a.batch), s(a.sequence), h(a.heads), kv(a.key_value_heads), n(a.head_width),
        row((h + 2 * kv) * n) {}
  tensor heads(graph *g, slot which, int64_t count) const {
    return g->real(which, {{b, count, s, n}}, {{s * row, n, row, 1}}, NARROW);
  }
  /* The same memory as columns: K^T or V^T. */
  tensor columns(graph *g, slot which) const {
    return g->real(which, {{b, kv, n, s}}, {{s * row, n, 1, row}}, NARROW);
  }
  tensor rows_of_out(graph *g, slot which) const {
    return g->real(which, {{b, h, s, n}}, {{s * h * n, n, h * n, 1}}, NARROW);
  }
  extents squares() const {
    return {{b, h, s, s}};
  }
  extents of_rows() const {
    return {{b, h, s, 1}};
  }
  tensor row_numbers(graph *g, slot which) const {
    return g->real(which, of_rows(), cudnn::packed(of_rows()), SINGLE);
  }
};

/* scores where column <= row, and the lowest number elsewhere. */
tensor causal(graph *g, const tensor &scores) {
  const tensor row = g->between(scores.dims, CUDNN_DATA_INT32);
  const tensor column = g->between(scores.dims, CUDNN_DATA_INT32);
  const tensor seen = g->between(scores.dims, CUDNN_DATA_BOOLEAN);
  const tensor lowest = g->scalar(LOWEST), masked = g->between(scores.dims);
  g->each(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, nullptr, row, SINGLE, 2);
  g->each(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, nullptr, column, SINGLE, 3);
  g->each(CUDNN_POINTWISE_CMP_GE, row, &column, nullptr, seen, CUDNN_DATA_BOOLEAN);
  g->each(CUDNN_POINTWISE_BINARY_SELECT, scores, &lowest, &seen, masked);
  return masked;
}

bool build_forward(const layout &at, graph *g) {
  const tensor q = at.heads(g, Q, at.h), k = at.columns(g, K), v = at.heads(g, V, at.kv);
  const tensor o = at.rows_of_out(g, O), stats = at.row_numbers(g, STATS);
  const tensor products = g->between(at.squares()), scale = g->scalar(SCALE);
  g->multiply(q, k, products);
  const tensor scores = causal(g, g->each(CUDNN_POINTWISE_MUL, products, &scale));
  const tensor largest = g->between(at.of_rows()), sum = g->between(at.of_rows());
  g->reduce(CUDNN_REDUCE_TENSOR_MAX, scores, largest);
  const tensor below = g->each(CUDNN_POINTWISE_SUB, scores, &largest);
  const tensor exponentials = g->each(CUDNN_POINTWISE_EXP, below);
  g->reduce(CUDNN_REDUCE_TENSOR_ADD, exponentials, sum);
  const tensor logarithm = g->each(CUDNN_POINTWISE_LOG, sum);
  g->each(CUDNN_POINTWISE_ADD, largest, &logarithm, nullptr, stats);
  const tensor p = g->between(at.squares(), NARROW);
  g->each(CUDNN_POINTWISE_DIV, exponentials, &sum, nullptr, p);
  g->multiply(p, v, o);
  return g->plan();
}

/* dK or dV: squares^T times rows, summed over the heads of a group. */
void transposed_product(const layout &at, graph *g, const tensor &squares, const tensor &rows,
                        const tensor &to) {
  const tensor turned = g->turn(squares, NARROW);
  if (at.h == at.kv) {
    g->multiply(turned, rows, to);
    return;
  }
  const tensor of_heads = g->between({{at.b, at.h, at.s, at.n}}, NARROW);
  g->multiply(turned, rows, of_heads);
  g->reduce(CUDNN_REDUCE_TENSOR_ADD, of_heads, to);
}

bool build_backward(const layout &at, graph *g) {
  const tensor q = at.heads(g, Q, at.h), k = at.columns(g, K), v = at.columns(g, V);
  const tensor o = at.rows_of_out(g, O), dout = at.rows_of_out(g, DO);
  const tensor stats = at.row_numbers(g, STATS), sums = at.row_numbers(g, SUMS);
  const tensor dq = at.heads(g, DQ, at.h), dk = at.heads(g, DK, at.kv), dv = at.heads(g, DV, at.kv);
  const tensor scale = g->scalar(SCALE), one = g->scalar(ONE);
  const tensor along = g->each(CUDNN_POINTWISE_MUL, dout, &o), sum = g->between(at.of_rows());
  g->reduce(CUDNN_REDUCE_TENSOR_ADD, along, sum);
  g->each(CUDNN_POINTWISE_MUL, sum, &one, nullptr, sums);

  const tensor products = g->between(at.squares());
  g->multiply(q, k, products);
  const tensor scores = g->each(CUDNN_POINTWISE_MUL, products, &scale);
  const tensor p =
      g->each(CUDNN_POINTWISE_EXP, causal(g, g->each(CUDNN_POINTWISE_SUB, scores, &stats)));
  transposed_product(at, g, p, dout, dv);

  const tensor dp = g->between(at.squares());
  g->multiply(dout, v, dp);
  const tensor less = g->each(CUDNN_POINTWISE_SUB, dp, &sums);
  const tensor with_p = g->each(CUDNN_POINTWISE_MUL, less, &p);
  const tensor ds = g->each(CUDNN_POINTWISE_MUL, with_p, &scale);
  transposed_product(at, g, ds, q, dk);
  g->multiply(ds, g->turn(k, SINGLE), dq);
  return g->plan();
}

bool same(const phibal_cuda_attention &a, const phibal_cuda_attention &b) {
  return a.batch == b.batch && a.sequence == b.sequence && a.heads == b.heads &&
         a.key_value_heads == b.key_value_heads && a.head_width == b.head_width &&
         a.type == b.type && !a.starts == !b.starts;
}

const plans *find(const phibal_cuda_attention *shape, const phibal_cuda *call) {
  const library *l = shape && call ? (const library *)call->attention : nullptr;
  for (size_t i = 0; l && i < l->each.size(); i++)
    if (same(l->each[i]->shape, *shape)) return l->each[i].get();
  return nullptr;
}

int64_t sums_bytes(const phibal_cuda_attention &a) {
  return ((int64_t)a.batch * a.heads * a.sequence * 4 + 255) / 256 * 256;
}

/* Why cuDNN is not asked; null if it is. */
const char *excluded(const phibal_cuda_attention &a, int major) {
  if (a.type != PHIBAL_ROWS_BF16) return "binary32";
  if (a.starts) return "isolated documents";
  if (cudnnGetVersion() < OLDEST) return "cuDNN is older than 9.16";
  if (major != 8 && major != 9) return "cuDNN has no known deterministic attention for this device";
  if (a.head_width % 8 || a.head_width > (major == 9 ? 256 : 128))
    return "the head width is too large for cuDNN, or not a multiple of 8";
  return nullptr;
}

void make(library *l, int major, plans *p) {
  const size_t version = cudnnGetVersion();
  const layout at(p->shape);
  const char *why = excluded(p->shape, major);
  char text[120];
  if (!why) {
    p->forward.reset(new graph(l->handle));
    p->backward.reset(new graph(l->handle));
    const bool good = build_forward(at, p->forward.get());
    if (good && build_backward(at, p->backward.get())) {
      snprintf(p->by, sizeof p->by, "cuDNN %zu.%zu.%zu", version / 10000, version / 100 % 100,
               version % 100);
      return;
    }
    (good ? p->backward : p->forward)->reason(text, sizeof text);
    why = text;
    p->backward.reset();
    p->forward.reset();
  }
  snprintf(p->by, sizeof p->by, "matrix products: %s", why);
}

phibal_status run(const char *name, const phibal_cuda_attention *shape, const graph &g,
                  void *const *memory, const phibal_cuda *call) {
  library *l = (library *)call->attention;
  int64_t numbers[SLOTS];
  void *used[SLOTS];
  int64_t count = 0;
  float scale = (float)(1.0 / std::sqrt((double)shape->head_width));
  for (int i = Q; i < SLOTS; i++) {
    void *p = i == SCALE ? &scale : i == ONE ? &l->one : i == LOWEST ? &l->lowest : memory[i];
    if (!p || (i == ONE && !memory[SUMS])) continue;
    if (i < SCALE && (uintptr_t)p % 16)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: an array is not aligned to 16 bytes",
                               name);
    numbers[count] = i;
    used[count++] = p;
  }
  cudnnStatus_t status = cudnnSetStream(l->handle, (cudaStream_t)call->stream);
  unsigned char *workspace = (unsigned char *)call->workspace + sums_bytes(*shape);
  if (status == CUDNN_STATUS_SUCCESS) status = g.run(count, numbers, used, workspace);
  if (status == CUDNN_STATUS_SUCCESS) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: cuDNN: %s", name, cudnnGetErrorString(status));
}

/* Queries, keys and values within rows. */
void split(const phibal_cuda_attention *shape, const void *rows, slot first, void **memory) {
  unsigned char *p = (unsigned char *)rows;
  memory[first] = p;
  memory[first + 1] = p + (int64_t)shape->heads * shape->head_width * 2;
  memory[first + 2] = p + (int64_t)(shape->heads + shape->key_value_heads) * shape->head_width * 2;
}

} // namespace

phibal_status phibal_cuda_attention_create(const phibal_cuda_attention *shape, phibal_cuda *call) {
  const char *name = "attention's plans";
  if (!shape || !call || !attention_is_good(*shape) || shape->batch < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a null argument, or an invalid shape",
                             name);
  if (find(shape, call)) return PHIBAL_OK;
  library *l = (library *)call->attention;
  if (!l) {
    call->attention = l = new (std::nothrow) library();
    if (!l) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory", name);
    const cudnnStatus_t status = cudnnCreate(&l->handle);
    if (status != CUDNN_STATUS_SUCCESS) {
      phibal_cuda_attention_destroy(call);
      return phibal_status_set(PHIBAL_ERROR_IO, "cuDNN: %s", cudnnGetErrorString(status));
    }
  }
  int device = 0, major = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error != cudaSuccess)
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", name, cudaGetErrorString(error));
  std::unique_ptr<plans> p(new plans{*shape, nullptr, nullptr, ""});
  make(l, major, p.get());
  l->each.push_back(std::move(p));
  return PHIBAL_OK;
}

void phibal_cuda_attention_destroy(phibal_cuda *call) {
  if (!call) return;
  delete (library *)call->attention;
  call->attention = nullptr;
}

const char *phibal_cuda_attention_by(const phibal_cuda_attention *shape, const phibal_cuda *call) {
  const plans *p = find(shape, call);
  return p ? p->by : "matrix products";
}

bool library_attention_has(const phibal_cuda_attention *shape, const phibal_cuda *call,
                           size_t *workspace) {
  const plans *p = find(shape, call);
  if (!p || !p->forward) return false;
  const size_t a = p->forward->workspace(), b = p->backward->workspace();
  *workspace = (size_t)sums_bytes(*shape) + (a > b ? a : b);
  return true;
}

phibal_status library_attention_forward(const phibal_cuda_attention *shape, const void *qkv,
                                        void *out, float *logsumexp, const phibal_cuda *call) {
  void *memory[SLOTS] = {};
  split(shape, qkv, Q, memory);
  memory[O] = out;
  memory[STATS] = logsumexp;
  return run("attention", shape, *find(shape, call)->forward, memory, call);
}

phibal_status library_attention_backward(const phibal_cuda_attention *shape, const void *qkv,
                                         const void *out, const float *logsumexp,
                                         const void *out_gradient, void *qkv_gradient,
                                         const phibal_cuda *call) {
  void *memory[SLOTS] = {};
  split(shape, qkv, Q, memory);
  split(shape, qkv_gradient, DQ, memory);
  memory[O] = (void *)out;
  memory[DO] = (void *)out_gradient;
  memory[STATS] = (void *)logsumexp;
  memory[SUMS] = call->workspace;
  return run("attention backward", shape, *find(shape, call)->backward, memory, call);
}

#else /* without cuDNN */

phibal_status phibal_cuda_attention_create(const phibal_cuda_attention *shape, phibal_cuda *call) {
  if (shape && call && attention_is_good(*shape) && shape->batch > 0) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "attention's plans: a null argument, or an invalid shape");
}

void phibal_cuda_attention_destroy(phibal_cuda *) {}

const char *phibal_cuda_attention_by(const phibal_cuda_attention *, const phibal_cuda *) {
  return "matrix products: no cuDNN in this build";
}

bool library_attention_has(const phibal_cuda_attention *, const phibal_cuda *, size_t *) {
  return false;
}

phibal_status library_attention_forward(const phibal_cuda_attention *, const void *, void *,
                                        float *, const phibal_cuda *) {
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "attention: no cuDNN in this build");
}

phibal_status library_attention_backward(const phibal_cuda_attention *, const void *, const void *,
                                         const float *, const void *, void *, const phibal_cuda *) {
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "attention: no cuDNN in this build");
}

#endif
