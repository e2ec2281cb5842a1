/* What a product means to the library: row-major matrices are its transposed ones, so that
     y^T  = w x^T      (w transposed)       out by n
     dx^T = w^T dy^T                        in by n
     dw^T = x^T dy     (dy transposed)      in by out
   and the pointers of the experts that have rows, which a block finds on the device; or those of
   all experts with their sizes, where the library reads sizes there. */
#include "products.h"
#include "trainer.h"

enum {
  POINTER_THREADS = 1024, /* at most: an expert each, PHIBAL_MAX_EXPERTS */
  CLEAR_THREADS = 1024,
  CHUNKS = 16,    /* of an expert, at most on average */
  FEW_CHUNKS = 4, /* so many at least, or they are not worth it */
};

/* Operand i of expert e lies at base[i] + offsets[e] by_row[i] + e by_expert[i]. Where products are
   made in chunks of so many rows, `chunks` points to those, and `pointers` to what is left of each
   expert behind them. */
typedef struct pointer_arguments {
  int32_t experts;
  const int64_t *offsets;
  unsigned char *base[3];
  int64_t by_row[3], by_expert[3]; /* bytes */
  unsigned char **pointers;        /* [3][E'], those of experts with rows one after another */
  unsigned char **chunks;          /* [3][all_chunks] */
  int32_t chunk, all_chunks;       /* rows, 0: no chunks; of all experts */
  int32_t *sizes;                  /* null, or [3][E]: rows, out and in, and pointers of all */
  int32_t out, in;
} pointer_arguments;

/* E', even: cuBLASLt wants arrays of pointers to begin at multiples of 16 bytes. */
static __host__ __device__ int32_t pointer_stride(int32_t experts) {
  return experts + experts % 2;
}

static __global__ void __launch_bounds__(POINTER_THREADS) pointer_kernel(pointer_arguments a) {
  SHARED_ARRAY(int32_t, part, WARP);
  SHARED_ARRAY(int32_t, chunks_of, WARP);
  const int e = (int)threadIdx.x, warp = e / WARP, lane = e % WARP;
  int64_t first = e < a.experts ? a.offsets[e] : 0;
  int64_t rows = e < a.experts ? a.offsets[e + 1] - first : 0;
  const int32_t chunks = a.chunk ? (int32_t)(rows / a.chunk) : 0;
  rows -= (int64_t)chunks * a.chunk;
  const bool filled = a.sizes ? e < a.experts : rows > 0;
  const unsigned ballot = __ballot_sync(ALL_LANES, filled);
  int32_t end = chunks; /* of this expert's chunks in the warp's */
  for (int s = 1; s < WARP; s *= 2) {
    const int32_t before = __shfl_up_sync(ALL_LANES, end, s);
    if (lane >= s) end += before;
  }
  if (lane == 0) part[warp] = __popc(ballot);
  if (lane == WARP - 1) chunks_of[warp] = end;
  __syncthreads();
  int place = __popc(ballot & ((1u << lane) - 1u)), chunk = end - chunks;
  for (int w = 0; w < warp; w++) place += part[w], chunk += chunks_of[w];
  for (int32_t last = chunk + chunks; chunk < last; chunk++, first += a.chunk)
#pragma unroll
    for (int i = 0; i < 3; i++)
      a.chunks[(int64_t)i * a.all_chunks + chunk] =
          a.base[i] + first * a.by_row[i] + e * a.by_expert[i];
  if (!filled) return;
#pragma unroll
  for (int i = 0; i < 3; i++)
    a.pointers[i * pointer_stride(a.experts) + place] =
        a.base[i] + first * a.by_row[i] + e * a.by_expert[i];
  if (!a.sizes) return;
  a.sizes[e] = (int32_t)rows;
  a.sizes[a.experts + e] = a.out;
  a.sizes[2 * a.experts + e] = a.in;
}

static int64_t bytes_of(phibal_rows type) {
  return type == PHIBAL_ROWS_F32 ? 4 : 2;
}

static library_product library_product_of(const product &p, int64_t rows) {
  switch (p.form) {
  case PRODUCT_FORWARD:
    return {true, false, p.out, rows, p.in, p.in, p.in, p.out};
  case PRODUCT_INPUT_GRADIENT:
    return {false, false, p.in, rows, p.out, p.in, p.out, p.in};
  default:
    return {false, true, p.in, p.out, rows, p.in, p.out, p.in};
  }
}

static library_types library_types_of(const product &p) {
  return {p.type, p.to, p.add ? 1.0f : 0.0f};
}

static pointer_arguments pointers_of(const product &p, const product_groups &groups,
                                     const phibal_cuda *call) {
  const int64_t size = bytes_of(p.type), result = bytes_of(p.to), weights = p.out * p.in;
  pointer_arguments a = {};
  a.experts = groups.experts;
  a.offsets = groups.offsets;
  a.base[0] = (unsigned char *)p.with;
  a.base[1] = (unsigned char *)p.rows;
  a.base[2] = (unsigned char *)p.result;
  a.pointers = (unsigned char **)call->workspace;
  if (!groups.host_offsets) a.sizes = (int32_t *)(a.pointers + 3 * pointer_stride(groups.experts));
  a.out = (int32_t)p.out, a.in = (int32_t)p.in;
  switch (p.form) {
  case PRODUCT_FORWARD:
    a.by_expert[0] = weights * size, a.by_row[1] = p.in * size, a.by_row[2] = p.out * result;
    break;
  case PRODUCT_INPUT_GRADIENT:
    a.by_expert[0] = weights * size, a.by_row[1] = p.out * size, a.by_row[2] = p.in * result;
    break;
  default:
    a.by_row[0] = p.in * size, a.by_row[1] = p.out * size, a.by_expert[2] = weights * result;
  }
  return a;
}

bool library_groups(const library_types &types, uintptr_t places) {
  return types.in == types.out && (types.in == PHIBAL_ROWS_F32 || places % 16 == 0);
}

/* The bits of all addresses and steps. */
static uintptr_t places_of(const pointer_arguments &a) {
  uintptr_t places = 0;
  for (int i = 0; i < 3; i++)
    places |= (uintptr_t)a.base[i] | (uintptr_t)a.by_row[i] | (uintptr_t)a.by_expert[i];
  return places;
}

/* Whether products that the library groups are faster each by itself. Both ways cost the device the
   same FLOPs, at the rate of the kernels that the library has for each; a product by itself costs
   the host a launch too, and a small one does not last as long. So the FLOPs of the average product
   decide: 2 rows out in / count. */
static bool library_separates(const product &p, int64_t rows, int32_t count,
                              const phibal_cuda *call) {
  return p.type == PHIBAL_ROWS_BF16 && 2.0 * (double)rows * (double)(p.out * p.in) >=
                                           (double)count * (double)library_separate_flops(call);
}

/* The rows of a chunk, where smaller products than those are faster in chunks: equal products of
   one call, for which the library has better kernels than for a grouped one. What is left behind an
   expert's last chunk, half a chunk on average, is grouped: an eighth of the rows at most, on
   average. The gradients of weights have no chunks, as they would be added up. 0: no chunks. */
static int32_t library_chunk(const product &p, int64_t rows, int32_t count,
                             const phibal_cuda *call) {
  int64_t chunk = library_chunk_rows(call);
  if (chunk == 0 || p.type != PHIBAL_ROWS_BF16 || p.form == PRODUCT_WEIGHT_GRADIENT ||
      rows < FEW_CHUNKS * chunk * count)
    return 0;
  while (CHUNKS * chunk * count < rows) chunk *= 2;
  return chunk > INT32_MAX ? 0 : (int32_t)chunk;
}

/* What pointer_kernel does, on the host, for products each by itself. */
static phibal_status separate(const char *name, const product &p, const product_groups &groups,
                              const phibal_cuda *call) {
  const pointer_arguments a = pointers_of(p, groups, call);
  library_product each[POINTER_THREADS];
  void *pointers[3][POINTER_THREADS];
  int32_t count = 0;
  for (int32_t e = 0; e < groups.experts; e++) {
    const int64_t first = groups.host_offsets[e], rows = groups.host_offsets[e + 1] - first;
    if (rows == 0) continue;
    for (int i = 0; i < 3; i++)
      pointers[i][count] = a.base[i] + first * a.by_row[i] + e * a.by_expert[i];
    each[count++] = library_product_of(p, rows);
  }
  return library_separate(name, count, each, library_types_of(p), pointers[0], pointers[1],
                          pointers[2], call);
}

size_t products_workspace(int32_t experts) {
  if (experts < 1) return 0;
  /* Sizes, or chunks: rows / chunk <= CHUNKS times the experts that have rows. */
  return 3 * sizeof(void *) * (size_t)pointer_stride(experts) +
         3 * sizeof(void *) * CHUNKS * (size_t)experts;
}

/* The product of all experts: which of m, n and k are the rows, `out` and `in` is as for one. */
static library_ragged ragged_of(const product &p, const product_groups &groups,
                                const pointer_arguments &a) {
  const int32_t *rows = a.sizes, *out = a.sizes + groups.experts, *in = out + groups.experts;
  const int64_t some = groups.most / groups.experts;
  const library_product average = library_product_of(p, some < 1 ? 1 : some);
  switch (p.form) {
  case PRODUCT_FORWARD:
    return {average, groups.experts, out, rows, in, in, in, out};
  case PRODUCT_INPUT_GRADIENT:
    return {average, groups.experts, in, rows, out, in, out, in};
  default:
    return {average, groups.experts, in, out, rows, in, out, in};
  }
}

/* 0 in the results of the experts without rows, [E][numbers]. */
static __global__ void __launch_bounds__(CLEAR_THREADS)
    clear_kernel(int32_t experts, const int64_t *offsets, int64_t numbers, float *result) {
  for (int32_t e = (int32_t)blockIdx.x; e < experts; e += (int32_t)gridDim.x) {
    if (__ldg(offsets + e + 1) > __ldg(offsets + e)) continue;
    for (int64_t i = threadIdx.x; i < numbers; i += CLEAR_THREADS) result[e * numbers + i] = 0.0f;
  }
}

phibal_status products_clear(const char *name, const product &p, const product_groups &groups,
                             const phibal_cuda *call) {
  if (groups.experts == 1 && groups.host_offsets && groups.host_offsets[1] > 0) return PHIBAL_OK;
  launch_shape shape = {blocks_for(call, groups.experts, 2), CLEAR_THREADS, 0};
  return launch(name, clear_kernel, shape, call, groups.experts, groups.offsets, p.out * p.in,
                (float *)p.result);
}

bool products_sizes_on_device(const product &p, const product_groups &groups,
                              const phibal_cuda *call) {
  if (!call || !call->products || p.out > INT32_MAX || p.in > INT32_MAX ||
      groups.most > INT32_MAX || groups.experts < 1)
    return false;
  const pointer_arguments a = pointers_of(p, groups, call);
  return library_takes_ragged(ragged_of(p, groups, a), library_types_of(p), places_of(a), call);
}

phibal_status products_check(const char *name, const phibal_cuda *call, size_t bytes) {
  phibal_status status = call_check(name, call, bytes);
  if (status != PHIBAL_OK || call->products) return status;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "%s: no library of products; phibal_cuda_products_create makes one",
                           name);
}

static bool made_separately(const product &p, const product_groups &groups,
                            const phibal_cuda *call) {
  if (!groups.host_offsets) return false;
  int32_t count = 0;
  for (int32_t e = 0; e < groups.experts; e++)
    count += groups.host_offsets[e + 1] > groups.host_offsets[e];
  return !library_groups(library_types_of(p), places_of(pointers_of(p, groups, call))) ||
         library_separates(p, groups.host_offsets[groups.experts], count, call);
}

static phibal_status make_grouped(const char *name, const product &p, const product_groups &groups,
                                  const phibal_cuda *call) {
  launch_shape one = {1, (groups.experts + WARP - 1) / WARP * WARP, 0};
  const int32_t stride = pointer_stride(groups.experts);
  pointer_arguments a = pointers_of(p, groups, call);
  const void *const *at = (const void *const *)a.pointers;
  void *const *to = (void *const *)(a.pointers + 2 * stride);
  if (!groups.host_offsets) {
    if (!products_sizes_on_device(p, groups, call))
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: the library of products needs the experts' offsets on the host",
                               name);
    phibal_status status = launch(name, pointer_kernel, one, call, a);
    if (status != PHIBAL_OK) return status;
    return library_make_ragged(name, ragged_of(p, groups, a), library_types_of(p), at, at + stride,
                               to, call);
  }
  library_product each[POINTER_THREADS];
  int32_t count = 0, with_rows = 0;
  for (int32_t e = 0; e < groups.experts; e++)
    with_rows += groups.host_offsets[e + 1] > groups.host_offsets[e];
  if (with_rows == 0) return PHIBAL_OK;
  a.chunk = library_chunk(p, groups.host_offsets[groups.experts], with_rows, call);
  a.chunks = a.pointers + 3 * stride;
  for (int32_t e = 0; e < groups.experts; e++) {
    int64_t rows = groups.host_offsets[e + 1] - groups.host_offsets[e];
    if (a.chunk) a.all_chunks += (int32_t)(rows / a.chunk), rows %= a.chunk;
    if (rows > 0) each[count++] = library_product_of(p, rows);
  }
  phibal_status status = launch(name, pointer_kernel, one, call, a);
  if (status == PHIBAL_OK && a.all_chunks > 0)
    status = library_batched(name, a.all_chunks, library_product_of(p, a.chunk),
                             library_types_of(p), (const void *const *)a.chunks,
                             (const void *const *)(a.chunks + a.all_chunks),
                             (void *const *)(a.chunks + 2 * (int64_t)a.all_chunks), call);
  if (status != PHIBAL_OK || count == 0) return status;
  return library_grouped(name, count, each, library_types_of(p), at, at + stride, to, call);
}

phibal_status products_independent(const char *name, const product *products, int32_t count,
                                   const product_groups &groups, const phibal_cuda *call) {
  phibal_status status = products_check(name, call, products_workspace(groups.experts));
  uint32_t separately = 0; /* bit i: product i */
  for (int32_t i = 0; i < count && status == PHIBAL_OK; i++)
    if (made_separately(products[i], groups, call))
      separately |= 1u << i;
    else
      status = make_grouped(name, products[i], groups, call);
  if (separately == 0 || status != PHIBAL_OK || groups.host_offsets[groups.experts] == 0)
    return status;
  status = library_separate_begin(name, call);
  if (status != PHIBAL_OK) return status;
  for (int32_t i = 0; i < count && status == PHIBAL_OK; i++)
    if (separately >> i & 1) status = separate(name, products[i], groups, call);
  const phibal_status ended = library_separate_end(name, call);
  return status != PHIBAL_OK ? status : ended;
}

phibal_status products_grouped(const char *name, const product &p, const product_groups &groups,
                               const phibal_cuda *call) {
  return products_independent(name, &p, 1, groups, call);
}

phibal_status products_dense(const char *name, const product &p, int64_t rows, const void *to,
                             const phibal_cuda *call) {
  phibal_status status = products_check(name, call, 0);
  if (status != PHIBAL_OK || rows == 0) return status;
  return library_dense(name, library_product_of(p, rows), library_types_of(p), p.with, p.rows, to,
                       p.result, call);
}

static phibal_status linear(const char *name, const product &p, int64_t rows, const void *to,
                            const phibal_cuda *call) {
  const bool types = (p.type == PHIBAL_ROWS_F32 || p.type == PHIBAL_ROWS_BF16) &&
                     (p.to == PHIBAL_ROWS_F32 || p.to == p.type);
  if (types) return products_dense(name, p, rows, to, call);
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no result of type %d from type %d", name,
                           (int)p.to, (int)p.type);
}

phibal_status phibal_cuda_linear(int64_t rows, int64_t out, int64_t in, phibal_rows type,
                                 const void *x, const void *w, const void *to, phibal_rows y_type,
                                 void *y, const phibal_cuda *call) {
  return linear("linear", {PRODUCT_FORWARD, type, y_type, out, in, x, w, y, to != nullptr}, rows,
                to ? to : y, call);
}

phibal_status phibal_cuda_linear_input_gradient(int64_t rows, int64_t out, int64_t in,
                                                phibal_rows type, const void *y_gradient,
                                                const void *w, phibal_rows x_type, void *x_gradient,
                                                const phibal_cuda *call) {
  return linear("linear, gradient of its input",
                {PRODUCT_INPUT_GRADIENT, type, x_type, out, in, y_gradient, w, x_gradient, false},
                rows, x_gradient, call);
}

phibal_status phibal_cuda_linear_weight_gradient(int64_t rows, int64_t out, int64_t in,
                                                 phibal_rows type, const void *y_gradient,
                                                 const void *x, float *w_gradient, int add,
                                                 const phibal_cuda *call) {
  if (rows == 0 && !add) /* a sum of nothing */
    return phibal_cuda_zero(w_gradient, sizeof(float) * (size_t)(out * in), call);
  return linear("linear, gradient of its weights",
                {PRODUCT_WEIGHT_GRADIENT, type, PHIBAL_ROWS_F32, out, in, y_gradient, x, w_gradient,
                 add != 0},
                rows, w_gradient, call);
}
