/* RMSNorm and its gradients, with the CPU's bits: a vector is summed in the sixteen interleaved
   binary64 sums of moe/machine/lanes.h; the weight's gradient is summed over the rows of a chunk in
   order, a thread for each column, and over the chunks in order.

   A vector of 512, 768 or 1024 numbers is a warp's, which keeps it in registers between its sum and
   its result. Any other is half a warp's, a sum a lane, and is read twice, the second time from the
   cache as long as a multiprocessor's vectors fit there.

   Bytes of a number in binary32 (half of it in bfloat16, 6 from one to the other, 10 to both):
   forward must move 8, backward 12, or 16 where it adds; it moves 8 more, because the weight's
   gradient reads x and dy by itself: a chunk's sum has one order, and the columns of 128 rows are
   too few threads to share them with the rows. For 65536 vectors of 1024 an H200 takes 145 us
   forward and 353 backward; read twice, and with a division for each row of a column, 182 and 724.
 */
#include "trainer.h"
#include "vector.h"

enum {
  NORM_LANES = 16,
  NORM_THREADS = 128,
  NORM_PER_MULTIPROCESSOR = 8,
  NORM_CHUNK = 128, /* rows, as the CPU's BLOCK_ROWS */
  SHARE_THREADS = 32,
  SHARE_TOGETHER = 32,
  SHARE_PER_MULTIPROCESSOR = 32,
};

typedef struct norm_arguments {
  int64_t vectors, heads, n;
  float epsilon;
  const void *x, *y_gradient;
  int64_t x_stride, y_stride, gradient_stride;
  const float *weight;
  void *y, *narrow, *x_gradient;
  float *inverse, *weight_gradient;
  double *share; /* [chunks][n] */
} norm_arguments;

/* All lanes get the first's sum: the halving tree of lanes_reduce, whose additions commute. */
static __device__ __forceinline__ double lanes_reduce(double sum) {
#pragma unroll
  for (int s = NORM_LANES / 2; s >= 1; s /= 2)
    sum += __shfl_xor_sync(ALL_LANES, sum, s, NORM_LANES);
  return sum;
}

/* Vector v of half a warp; both halves make as many rounds. */
#define EACH_VECTOR(v, vectors)                                                                    \
  const int64_t half = threadIdx.x / NORM_LANES, halves = NORM_THREADS / NORM_LANES;               \
  const int64_t first = (int64_t)blockIdx.x * halves + half;                                       \
  for (int64_t v = first; v - half % 2 < (vectors); v += (int64_t)gridDim.x * halves)

static __device__ __forceinline__ int64_t vector_place(const norm_arguments &a, int64_t v,
                                                       int64_t stride) {
  if (a.heads == 1) return v * stride;
  return v / a.heads * stride + v % a.heads * a.n;
}

template <class S, class T, int N, bool BOTH = false>
static __global__ void __launch_bounds__(NORM_THREADS) norm_forward_kernel(norm_arguments a) {
  const int lane = (int)threadIdx.x % NORM_LANES;
  EACH_VECTOR(v, a.vectors) {
    const bool there = v < a.vectors;
    const S *in = (const S *)a.x + (there ? vector_place(a, v, a.x_stride) : 0);
    double sum = 0.0;
    if (there) {
#pragma unroll 8
      for (int64_t j = lane; j < a.n; j += NORM_LANES) {
        double x = (double)widen(in[j]);
        sum = CORE_FMA(x, x, sum);
      }
    }
    sum = lanes_reduce(sum);
    __syncwarp(); /* all have read x, so that y may take its place */
    if (!there) continue;
    const float r = (float)(1.0 / CORE_SQRT(sum / (double)a.n + (double)a.epsilon));
    if (lane == 0) a.inverse[v] = r;
    T *out = (T *)a.y + vector_place(a, v, a.y_stride);
    for (int64_t j = (int64_t)lane * N; j < a.n; j += NORM_LANES * N) {
      floats<N> x = floats_load<N>(in + j), w = floats_load<N>(a.weight + j);
#pragma unroll
      for (int l = 0; l < N; l++) x.x[l] = x.x[l] * r * w.x[l];
      floats_store<N>(out + j, x);
      if (BOTH) floats_store<N>((bfloat16 *)a.narrow + vector_place(a, v, a.y_stride) + j, x);
    }
  }
}

template <class S, int N, bool ADD>
static __global__ void __launch_bounds__(NORM_THREADS) norm_backward_kernel(norm_arguments a) {
  const int lane = (int)threadIdx.x % NORM_LANES;
  EACH_VECTOR(v, a.vectors) {
    const bool there = v < a.vectors;
    const S *in = (const S *)a.x + (there ? vector_place(a, v, a.x_stride) : 0);
    const S *dy = (const S *)a.y_gradient + (there ? vector_place(a, v, a.y_stride) : 0);
    double sum = 0.0;
    if (there) {
#pragma unroll 4
      for (int64_t j = lane; j < a.n; j += NORM_LANES)
        sum += (double)__ldg(a.weight + j) * (double)widen(dy[j]) * (double)widen(in[j]);
    }
    sum = lanes_reduce(sum);
    __syncwarp(); /* all have read dy, so that dx may take its place */
    if (!there) continue;
    const float r = a.inverse[v];
    const float along = (float)(sum * (double)r * (double)r / (double)a.n);
    S *dx = (S *)a.x_gradient + vector_place(a, v, a.gradient_stride);
    for (int64_t j = (int64_t)lane * N; j < a.n; j += NORM_LANES * N) {
      floats<N> x = floats_load<N>(in + j), w = floats_load<N>(a.weight + j);
      floats<N> g = floats_load<N>(dy + j), to = {};
      if (ADD) to = floats_load<N>(dx + j);
#pragma unroll
      for (int l = 0; l < N; l++) {
        float gradient = r * (w.x[l] * g.x[l] - x.x[l] * along);
        to.x[l] = ADD ? to.x[l] + gradient : gradient;
      }
      floats_store<N>(dx + j, to);
    }
  }
}

/* Vectors of n = 128 R numbers, R small: a warp holds one in its registers, so that it is read
   once, 16 bytes of a thread at a time. Terms change threads in shared memory: of 128, number 4 L +
   l of thread L is at 36 l + L, where neither writing nor reading asks a bank twice. */
enum { ROW_WARPS = NORM_THREADS / WARP, ROW_PLACES = 4 * 36 };

/* The sum of the warp's places, by lane % 16 as above; all lanes get it. */
template <class D, int R>
static __device__ __forceinline__ double places_sum(shared_pointer<D> place, bool square) {
  const int lane = (int)threadIdx.x % NORM_LANES, first = 36 * (lane % 4) + lane / 4;
  double sum = 0.0;
  __syncwarp(); /* all are there */
#pragma unroll
  for (int i = 0; i < R; i++)
#pragma unroll
    for (int k = 0; k < 8; k++) {
      const double x = (double)place[i * ROW_PLACES + first + 4 * k];
      sum = square ? CORE_FMA(x, x, sum) : sum + x;
    }
  __syncwarp(); /* all have read them */
  return lanes_reduce(sum);
}

/* Vector v of a warp, and number 128 i + 4 lane of it. */
#define EACH_ROW_OF_WARP(v, vectors) EACH_OF_WARP(v, vectors, NORM_THREADS)

template <class S, class T, int R, bool BOTH = false>
static __global__ void __launch_bounds__(NORM_THREADS) norm_forward_row_kernel(norm_arguments a) {
  SHARED_ARRAY(float, places, ROW_WARPS *R *ROW_PLACES);
  const int lane = (int)threadIdx.x % WARP;
  const shared_pointer<float> place = places + (int)threadIdx.x / WARP * R * ROW_PLACES;
  EACH_ROW_OF_WARP(v, a.vectors) {
    const S *in = (const S *)a.x + vector_place(a, v, a.x_stride) + 4 * lane;
    floats<4> x[R];
#pragma unroll
    for (int i = 0; i < R; i++) x[i] = floats_load<4>(in + 128 * i);
#pragma unroll
    for (int i = 0; i < R; i++)
#pragma unroll
      for (int l = 0; l < 4; l++) place[i * ROW_PLACES + 36 * l + lane] = x[i].x[l];
    const double sum = places_sum<float, R>(place, true);
    const float r = (float)(1.0 / CORE_SQRT(sum / (double)a.n + (double)a.epsilon));
    if (lane == 0) a.inverse[v] = r;
    const int64_t at = vector_place(a, v, a.y_stride) + 4 * lane;
#pragma unroll
    for (int i = 0; i < R; i++) {
      const floats<4> w = floats_load<4>(a.weight + 128 * i + 4 * lane);
#pragma unroll
      for (int l = 0; l < 4; l++) x[i].x[l] = x[i].x[l] * r * w.x[l];
      floats_store<4>((T *)a.y + at + 128 * i, x[i]);
      if (BOTH) floats_store<4>((bfloat16 *)a.narrow + at + 128 * i, x[i]);
    }
  }
}

template <class S, int R, bool ADD>
static __global__ void __launch_bounds__(NORM_THREADS) norm_backward_row_kernel(norm_arguments a) {
  SHARED_ARRAY(double, places, ROW_WARPS *R *ROW_PLACES);
  const int lane = (int)threadIdx.x % WARP;
  const shared_pointer<double> place = places + (int)threadIdx.x / WARP * R * ROW_PLACES;
  EACH_ROW_OF_WARP(v, a.vectors) {
    const S *in = (const S *)a.x + vector_place(a, v, a.x_stride) + 4 * lane;
    const S *dy = (const S *)a.y_gradient + vector_place(a, v, a.y_stride) + 4 * lane;
    S *dx = (S *)a.x_gradient + vector_place(a, v, a.gradient_stride) + 4 * lane;
    floats<4> x[R], g[R], to[R];
#pragma unroll
    for (int i = 0; i < R; i++) {
      x[i] = floats_load<4>(in + 128 * i), g[i] = floats_load<4>(dy + 128 * i);
      if (ADD) to[i] = floats_load<4>(dx + 128 * i);
    }
    const float r = a.inverse[v];
#pragma unroll
    for (int i = 0; i < R; i++) {
      const floats<4> w = floats_load<4>(a.weight + 128 * i + 4 * lane);
#pragma unroll
      for (int l = 0; l < 4; l++) {
        place[i * ROW_PLACES + 36 * l + lane] =
            (double)w.x[l] * (double)g[i].x[l] * (double)x[i].x[l];
        g[i].x[l] = w.x[l] * g[i].x[l];
      }
    }
    const double sum = places_sum<double, R>(place, false);
    const float along = (float)(sum * (double)r * (double)r / (double)a.n);
#pragma unroll
    for (int i = 0; i < R; i++) {
#pragma unroll
      for (int l = 0; l < 4; l++) {
        const float gradient = r * (g[i].x[l] - x[i].x[l] * along);
        to[i].x[l] = ADD ? to[i].x[l] + gradient : gradient;
      }
      floats_store<4>(dx + 128 * i, to[i]);
    }
  }
}

/* share[chunk][j] = sum of dy x r over the chunk's rows, and a row's heads, in order. ONE head:
   what TOGETHER rows have is on its way at once. */
template <class S, bool ONE, int TOGETHER>
static __global__ void __launch_bounds__(SHARE_THREADS) norm_share_kernel(norm_arguments a) {
  const int64_t rows = a.vectors / a.heads, chunks = (rows + NORM_CHUNK - 1) / NORM_CHUNK;
  const int64_t across = (a.n + SHARE_THREADS - 1) / SHARE_THREADS;
  for (int64_t i = blockIdx.x; i < chunks * across; i += gridDim.x) {
    const int64_t chunk = i / across, j = i % across * SHARE_THREADS + threadIdx.x;
    if (j >= a.n) continue;
    const int64_t row = chunk * NORM_CHUNK;
    const int count = rows - row < NORM_CHUNK ? (int)(rows - row) : (int)NORM_CHUNK;
    const int64_t heads = ONE ? 1 : a.heads;
    const S *in = (const S *)a.x + row * a.x_stride + j;
    const S *gradient = (const S *)a.y_gradient + row * a.y_stride + j;
    const float *inverse = a.inverse + row * heads;
    double sum = 0.0;
#pragma unroll TOGETHER
    for (int v = 0; v < count; v++) {
#pragma unroll 8
      for (int64_t head = 0; head < heads; head++) {
        const float x = widen(in[head * a.n]), dy = widen(gradient[head * a.n]);
        sum += (double)(dy * (x * __ldg(inverse + head)));
      }
      in += a.x_stride;
      gradient += a.y_stride;
      inverse += heads;
    }
    a.share[chunk * a.n + j] = sum;
  }
}

static __global__ void __launch_bounds__(WARP) norm_shares_kernel(norm_arguments a) {
  const int64_t of_chunk = NORM_CHUNK * a.heads, chunks = (a.vectors + of_chunk - 1) / of_chunk;
  for (int64_t j = (int64_t)blockIdx.x * WARP + threadIdx.x; j < a.n;
       j += (int64_t)gridDim.x * WARP) {
    double sum = 0.0;
#pragma unroll 32
    for (int64_t c = 0; c < chunks; c++) sum += a.share[c * a.n + j];
    a.weight_gradient[j] += (float)sum;
  }
}

static phibal_status norm_check(const char *name, const phibal_cuda_norm *norm, bool null,
                                size_t bytes, const phibal_cuda *call) {
  if (!norm || norm->rows < 0 || norm->heads < 1 || norm->n < 1 ||
      (norm->type != PHIBAL_ROWS_F32 && norm->type != PHIBAL_ROWS_BF16))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null or invalid shape of rows and heads",
                             name);
  if (norm->rows > 0 && null)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a null array", name);
  return call_check(name, call, norm->rows > 0 ? bytes : 0);
}

static norm_arguments norm_arguments_of(const phibal_cuda_norm *norm) {
  norm_arguments a = {};
  a.vectors = norm->rows * norm->heads;
  a.heads = norm->heads;
  a.n = norm->n;
  a.epsilon = norm->epsilon;
  return a;
}

typedef void norm_function(norm_arguments);

/* `one` and `four` take half a warp for a vector, `rows` a warp, for n = 512, 768 and 1024. */
typedef struct norm_kernels {
  norm_function *one, *four, *rows[3];
} norm_kernels;
#define NORM_FORWARD(S, T, BOTH)                                                                   \
  {                                                                                                \
    norm_forward_kernel<S, T, 1, BOTH>, norm_forward_kernel<S, T, 4, BOTH>, {                      \
      norm_forward_row_kernel<S, T, 4, BOTH>, norm_forward_row_kernel<S, T, 6, BOTH>,              \
          norm_forward_row_kernel<S, T, 8, BOTH>                                                   \
    }                                                                                              \
  }
#define NORM_BACKWARD(S, ADD)                                                                      \
  {                                                                                                \
    norm_backward_kernel<S, 1, ADD>, norm_backward_kernel<S, 4, ADD>, {                            \
      norm_backward_row_kernel<S, 4, ADD>, norm_backward_row_kernel<S, 6, ADD>,                    \
          norm_backward_row_kernel<S, 8, ADD>                                                      \
    }                                                                                              \
  }

static phibal_status norm_launch(const char *name, const norm_kernels &kernels, bool four,
                                 const norm_arguments &a, const phibal_cuda *call) {
  const bool rows = four && (a.n == 512 || a.n == 768 || a.n == 1024);
  const int64_t of_block = rows ? ROW_WARPS : NORM_THREADS / NORM_LANES;
  launch_shape shape = {
      blocks_for(call, (a.vectors + of_block - 1) / of_block, NORM_PER_MULTIPROCESSOR),
      NORM_THREADS, 0, rows};
  return launch(name,
                rows   ? kernels.rows[a.n / 256 - 2]
                : four ? kernels.four
                       : kernels.one,
                shape, call, a);
}

phibal_status phibal_cuda_norm_forward(const phibal_cuda_norm *norm, const void *x,
                                       int64_t x_stride, const float *weight, phibal_rows y_type,
                                       void *y, int64_t y_stride, float *inverse,
                                       const phibal_cuda *call) {
  const char *name = "RMSNorm";
  phibal_status status = norm_check(name, norm, !x || !weight || !y || !inverse, 0, call);
  if (status == PHIBAL_OK &&
      ((y_type != PHIBAL_ROWS_F32 && y_type != PHIBAL_ROWS_BF16) || y_type < norm->type))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no result of type %d from type %d", name,
                             (int)y_type, (int)norm->type);
  if (status != PHIBAL_OK || norm->rows == 0) return status;
  norm_arguments a = norm_arguments_of(norm);
  a.x = x;
  a.x_stride = x_stride;
  a.weight = weight;
  a.y = y;
  a.y_stride = y_stride;
  a.inverse = inverse;
  const bool four = norm->n % 4 == 0 && x_stride % 4 == 0 && y_stride % 4 == 0 && aligned16(x) &&
                    aligned16(y) && aligned16(weight);
  static const norm_kernels kernels[3] = {NORM_FORWARD(float, float, false),
                                          NORM_FORWARD(float, bfloat16, false),
                                          NORM_FORWARD(bfloat16, bfloat16, false)};
  return norm_launch(name, kernels[norm->type + y_type], four, a, call);
}

phibal_status phibal_cuda_norm_forward_both(const phibal_cuda_norm *norm, const float *x,
                                            int64_t x_stride, const float *weight, float *y,
                                            void *narrow, int64_t y_stride, float *inverse,
                                            const phibal_cuda *call) {
  const char *name = "RMSNorm";
  phibal_status status =
      norm_check(name, norm, !x || !weight || !y || !narrow || !inverse, 0, call);
  if (status == PHIBAL_OK && norm->type != PHIBAL_ROWS_F32)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: two results of type %d", name,
                             (int)norm->type);
  if (status != PHIBAL_OK || norm->rows == 0) return status;
  norm_arguments a = norm_arguments_of(norm);
  a.x = x;
  a.x_stride = x_stride;
  a.weight = weight;
  a.y = y;
  a.narrow = narrow;
  a.y_stride = y_stride;
  a.inverse = inverse;
  const bool four = norm->n % 4 == 0 && x_stride % 4 == 0 && y_stride % 4 == 0 && aligned16(x) &&
                    aligned16(y) && aligned16(narrow) && aligned16(weight);
  static const norm_kernels kernels = NORM_FORWARD(float, float, true);
  return norm_launch(name, kernels, four, a, call);
}

size_t phibal_cuda_norm_backward_workspace(const phibal_cuda_norm *norm) {
  if (!norm || norm->rows < 1) return 0;
  return sizeof(double) * (size_t)((norm->rows + NORM_CHUNK - 1) / NORM_CHUNK * norm->n);
}

phibal_status phibal_cuda_norm_backward(const phibal_cuda_norm *norm, const void *x,
                                        int64_t x_stride, const float *weight, const float *inverse,
                                        const void *y_gradient, int64_t y_stride, int add,
                                        void *x_gradient, int64_t gradient_stride,
                                        float *weight_gradient, const phibal_cuda *call) {
  const char *name = "RMSNorm backward";
  const bool null = !x || !weight || !inverse || !y_gradient || !x_gradient || !weight_gradient;
  phibal_status status =
      norm_check(name, norm, null, phibal_cuda_norm_backward_workspace(norm), call);
  if (status != PHIBAL_OK || norm->rows == 0) return status;
  norm_arguments a = norm_arguments_of(norm);
  a.x = x;
  a.x_stride = x_stride;
  a.weight = weight;
  a.inverse = (float *)inverse;
  a.y_gradient = y_gradient;
  a.y_stride = y_stride;
  a.x_gradient = x_gradient;
  a.gradient_stride = gradient_stride;
  a.weight_gradient = weight_gradient;
  a.share = (double *)call->workspace;
  const bool four = norm->n % 4 == 0 && x_stride % 4 == 0 && y_stride % 4 == 0 &&
                    gradient_stride % 4 == 0 && aligned16(x) && aligned16(y_gradient) &&
                    aligned16(x_gradient) && aligned16(weight);
  /* The weight's gradient first: dx may take dy's place. */
  static norm_function *const shares[2][2] = {
      {norm_share_kernel<float, false, 1>, norm_share_kernel<float, true, SHARE_TOGETHER>},
      {norm_share_kernel<bfloat16, false, 1>, norm_share_kernel<bfloat16, true, SHARE_TOGETHER>}};
  const int64_t chunks = (norm->rows + NORM_CHUNK - 1) / NORM_CHUNK;
  const int64_t across = (a.n + SHARE_THREADS - 1) / SHARE_THREADS;
  const launch_shape columns = {blocks_for(call, chunks * across, SHARE_PER_MULTIPROCESSOR),
                                SHARE_THREADS, 0};
  status = launch(name, shares[norm->type][norm->heads == 1], columns, call, a);
  const launch_shape sums = {blocks_for(call, (a.n + WARP - 1) / WARP, 16), WARP, 0};
  if (status == PHIBAL_OK) status = launch(name, norm_shares_kernel, sums, call, a);
  if (status != PHIBAL_OK) return status;
  static const norm_kernels kernels[2][2] = {
      {NORM_BACKWARD(float, false), NORM_BACKWARD(float, true)},
      {NORM_BACKWARD(bfloat16, false), NORM_BACKWARD(bfloat16, true)}};
  return norm_launch(name, kernels[norm->type][add != 0], four, a, call);
}
