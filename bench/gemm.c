/* What phibal's matrix products cost (kernels/cpu/gemm.h) beside other libraries' sgemm, on the
   shapes of the trainer's configurations, in the three forms of a linear layer:
     Y = X W^T,  dX = dY W,  dW += dY^T X,  with X [rows][in], W [out][in], Y [rows][out].

   usage: bench_gemm [--check] [LIBRARY ...]
   A library is any with sgemm_, by the name that dlopen takes; without one OpenBLAS and MKL, where
   they are found. MKL is in the package mkl of PyPI (libmkl_rt.so.3) and in PyTorch
   (torch/lib/libtorch_cpu.so), which multiplies binary32 by it. OMP_NUM_THREADS is the number of
   threads. PHIBAL_ISA=x86-64-v3 holds all of them to AVX2.

   Every library computes the same product by turns; rates are of medians. On one thread the time is
   the processor's, so that what else runs on the machine takes none of it, on several the wall's.
   The peak is that of fused multiply-adds (processor_peak).

   Entries are integers of -3 to 3. A sum of n <= 2^20 products of them is an integer below 2^24, so
   that it is the same binary32 number in every order, and results have to be equal. --check does
   nothing but that, on the smaller shapes. */
#include "kernels/cpu/gemm.h"
#include "moe/machine/processor.h"
#include <dlfcn.h>
#include <omp.h>
#include <phibal/isa.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 7, LIBRARIES = 4, FORMS = 3, MOST_GROUPS = 16 };
static const char *const forms[FORMS] = {"Y = X W^T", "dX = dY W", "dW += dY^T X"};

/* A linear layer of every row. An expert's, of ragged groups of rows: each group has a W of its
   own. A block of rows of every head of attention, with keys and values for X and W: what lies in
   memory beside a head's are the other heads'. */
typedef enum kind { LAYER, GROUPS, HEADS } kind;
typedef struct shape {
  const char *model, *what;
  kind kind;
  int64_t groups, rows, out, in; /* rows: of all groups; of each head */
} shape;
static const shape shapes[] = {
    {"tiny", "router", LAYER, 1, 1024, 8, 128},
    {"tiny", "queries, keys, values", LAYER, 1, 1024, 384, 128},
    {"tiny", "attention's output", LAYER, 1, 1024, 128, 128},
    {"tiny", "attention, 4 heads", HEADS, 4, 64, 128, 32},
    {"tiny", "expert, up", LAYER, 1, 256, 256, 128},
    {"tiny", "expert, down", LAYER, 1, 256, 128, 256},
    {"tiny", "8 uneven experts, up", GROUPS, 8, 2048, 256, 128},
    {"tiny", "head", LAYER, 1, 1024, 257, 128},
    {"111M", "router", LAYER, 1, 2048, 16, 512},
    {"111M", "queries, keys, values", LAYER, 1, 2048, 1536, 512},
    {"111M", "attention's output", LAYER, 1, 2048, 512, 512},
    {"111M", "attention, 8 heads", HEADS, 8, 64, 2048, 64},
    {"111M", "expert, up", LAYER, 1, 256, 2048, 512},
    {"111M", "expert, down", LAYER, 1, 256, 512, 2048},
    {"111M", "16 uneven experts, up", GROUPS, 16, 4096, 2048, 512},
    {"111M", "head, 256 rows", LAYER, 1, 256, 100352, 512},
    {"588M", "router", LAYER, 1, 2048, 16, 1280},
    {"588M", "queries, keys, values", LAYER, 1, 2048, 3840, 1280},
    {"588M", "attention's output", LAYER, 1, 2048, 1280, 1280},
    {"588M", "attention, 10 heads", HEADS, 10, 64, 2048, 128},
    {"588M", "expert, up", LAYER, 1, 256, 5120, 1280},
    {"588M", "expert, down", LAYER, 1, 256, 1280, 5120},
};

typedef void sgemm_function(const char *, const char *, const int *, const int *, const int *,
                            const float *, const float *, const int *, const float *, const int *,
                            const float *, float *, const int *);
typedef struct library {
  const char *name;
  sgemm_function *sgemm; /* null: phibal's */
  /* Threads of its own: null where it follows OpenMP. */
  void (*set_threads)(int);
} library;

/* Operands of a shape: for group g, at x + x_at[g] and so on. */
typedef struct operands {
  int64_t rows[MOST_GROUPS], x_at[MOST_GROUPS], w_at[MOST_GROUPS], y_at[MOST_GROUPS];
  int64_t x_numbers, w_numbers, y_numbers;
  int x_stride, w_stride, y_stride;
  float *x, *w, *y;    /* read */
  float *result, *own; /* the largest of the three; phibal's result, for the comparison */
} operands;

static operands operands_of(const shape *s) {
  operands o = {.x_stride = (int)s->in, .w_stride = (int)s->in, .y_stride = (int)s->out};
  double sum = 0;
  for (int64_t g = 0; g < s->groups; g++) sum += 1.0 / (double)(g + 1);
  int64_t left = s->rows, first = 0;
  if (s->kind == HEADS) o.x_stride = o.w_stride = (int)(3 * s->groups * s->in);
  for (int64_t g = s->groups - 1; g >= 0; g--) {
    /* Of uneven groups the g-th has about 1 / (g + 1) of the first one's rows. */
    const int64_t share = (int64_t)((double)s->rows / sum / (double)(g + 1));
    o.rows[g] = s->kind == HEADS ? s->rows : g ? share : left;
    left -= share;
    o.x_at[g] = s->kind == HEADS ? g * s->in : first * s->in;
    o.w_at[g] = s->kind == HEADS ? (s->groups + g) * s->in : g * s->out * s->in;
    o.y_at[g] = first * s->out;
    first += o.rows[g];
  }
  o.x_numbers = s->kind == HEADS ? s->rows * o.x_stride : first * s->in;
  o.w_numbers = s->kind == HEADS ? s->out * o.w_stride : s->groups * s->out * s->in;
  o.y_numbers = first * s->out;
  int64_t most = o.x_numbers > o.w_numbers ? o.x_numbers : o.w_numbers;
  if (o.y_numbers > most) most = o.y_numbers;
  const int64_t all = o.x_numbers + o.w_numbers + o.y_numbers + 2 * most;
  o.x = malloc((size_t)all * sizeof *o.x);
  if (!o.x) {
    fprintf(stderr, "bench gemm: no memory for %lld numbers\n", (long long)all);
    exit(1);
  }
  uint64_t state = 1;
  for (int64_t i = 0; i < all; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    o.x[i] = (float)((int)((state >> 33) % 7) - 3);
  }
  o.w = o.x + o.x_numbers;
  o.y = o.w + o.w_numbers;
  o.result = o.y + o.y_numbers;
  o.own = o.result + most;
  return o;
}

static int64_t result_numbers(const operands *o, int form) {
  return form == 0 ? o->y_numbers : form == 1 ? o->x_numbers : o->w_numbers;
}

/* Rows first .. first + n - 1 of group g in one call, on the calling thread or on what threads the
   library takes. Row-major C = A B^T is column-major C^T = B A^T; the others likewise. */
static void product(const library *by, int form, const shape *s, const operands *o, int64_t g,
                    int64_t first, int64_t n, float *result) {
  const float *x = o->x + o->x_at[g] + first * o->x_stride, *w = o->w + o->w_at[g];
  const float *y = o->y + o->y_at[g] + first * o->y_stride;
  const int rows = (int)n, out = (int)s->out, in = (int)s->in;
  const float one = 1, zero = 0, *add = s->kind == HEADS ? &zero : &one;
  const int *xs = &o->x_stride, *ws = &o->w_stride, *ys = &o->y_stride;
  if (form == 0) {
    float *c = result + o->y_at[g] + first * o->y_stride;
    if (by->sgemm)
      by->sgemm("T", "N", &out, &rows, &in, &one, w, ws, x, xs, &zero, c, ys);
    else
      phibal_gemm_nt(rows, out, in, x, *xs, w, *ws, 0, c, *ys);
  } else if (form == 1) {
    float *c = result + o->x_at[g] + first * o->x_stride;
    if (by->sgemm)
      by->sgemm("N", "N", &in, &rows, &out, &one, w, ws, y, ys, &zero, c, xs);
    else
      phibal_gemm_nn(rows, in, out, y, *ys, w, *ws, 0, c, *xs);
  } else {
    float *c = result + o->w_at[g];
    if (by->sgemm)
      by->sgemm("N", "T", &in, &out, &rows, &one, x, xs, y, ys, add, c, ws);
    else
      phibal_gemm_tn(out, in, rows, y, *ys, x, *xs, s->kind != HEADS, c, *ws);
  }
}

/* phibal's, as the trainer calls it. */
static void own_product(int form, const shape *s, const operands *o, float *result) {
  static const library own = {"phibal", NULL, NULL};
  if (s->kind == LAYER) {
    if (form == 0)
      phibal_gemm_linear(s->rows, s->out, s->in, o->x, o->w, 0, result);
    else if (form == 1)
      phibal_gemm_linear_input_gradient(s->rows, s->out, s->in, o->y, o->w, 0, result);
    else
      phibal_gemm_linear_weight_gradient(s->rows, s->out, s->in, o->y, o->x, result);
    return;
  }
  if (s->kind == HEADS) {
#pragma omp parallel for schedule(dynamic)
    for (int64_t g = 0; g < s->groups; g++) product(&own, form, s, o, g, 0, s->rows, result);
    return;
  }
  const int64_t tile = GEMM_TILE_ROWS;
  const int64_t length = form == 2 ? s->out : o->rows[0];
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int64_t g = 0; g < s->groups; g++)
    for (int64_t first = 0; first < length; first += tile) {
      if (form < 2) {
        const int64_t n = smaller(tile, o->rows[g] - first);
        if (n > 0) product(&own, form, s, o, g, first, n, result);
      } else if (o->rows[g] > 0) {
        phibal_gemm_tn(smaller(tile, s->out - first), s->in, o->rows[g], o->y + o->y_at[g] + first,
                       s->out, o->x + o->x_at[g], s->in, 1, result + o->w_at[g] + first * s->in,
                       s->in);
      }
    }
}

/* A library's: whole groups on all threads, one after the other, and heads on one thread each. */
static void product_by(const library *by, int form, const shape *s, const operands *o,
                       float *result) {
  if (!by->sgemm) {
    own_product(form, s, o, result);
  } else if (s->kind == HEADS && omp_get_max_threads() > 1) {
#pragma omp parallel
    {
      if (by->set_threads) by->set_threads(1);
#pragma omp for schedule(dynamic)
      for (int64_t g = 0; g < s->groups; g++) product(by, form, s, o, g, 0, s->rows, result);
    }
  } else {
    if (by->set_threads) by->set_threads(omp_get_max_threads());
    for (int64_t g = 0; g < s->groups; g++)
      if (o->rows[g] > 0) product(by, form, s, o, g, 0, o->rows[g], result);
  }
}

/* Nonzero where a library's result differs from phibal's, or phibal's from the sums of some of its
   elements. */
static int compare(const library *libraries, int n, int form, const shape *s, const operands *o) {
  const size_t bytes = (size_t)result_numbers(o, form) * sizeof(float);
  memset(o->own, 0, bytes);
  own_product(form, s, o, o->own);
  for (int64_t i = 0; i < 64; i++) {
    const int64_t g = i % s->groups, a = form == 2 ? s->out : o->rows[g];
    const int64_t b = form == 0 ? s->out : s->in, inner = form == 0   ? s->in
                                                          : form == 1 ? s->out
                                                                      : o->rows[g];
    if (!a) continue;
    const int64_t row = i < 2 ? i * (a - 1) : i * 7919 % a,
                  column = i < 2 ? i * (b - 1) : i * 104729 % b;
    const float *x = o->x + o->x_at[g], *w = o->w + o->w_at[g], *y = o->y + o->y_at[g];
    int64_t sum = 0;
    for (int64_t l = 0; l < inner; l++)
      sum += form == 0   ? (int64_t)x[row * o->x_stride + l] * (int64_t)w[column * o->w_stride + l]
             : form == 1 ? (int64_t)y[row * o->y_stride + l] * (int64_t)w[l * o->w_stride + column]
                         : (int64_t)y[l * o->y_stride + row] * (int64_t)x[l * o->x_stride + column];
    const float got = form == 0   ? o->own[o->y_at[g] + row * o->y_stride + column]
                      : form == 1 ? o->own[o->x_at[g] + row * o->x_stride + column]
                                  : o->own[o->w_at[g] + row * o->w_stride + column];
    if (got != (float)sum) {
      fprintf(stderr, "%s, %s, %s: %g, not %lld\n", s->model, s->what, forms[form], (double)got,
              (long long)sum);
      return 1;
    }
  }
  for (int l = 1; l < n; l++) {
    memset(o->result, 0, bytes);
    product_by(&libraries[l], form, s, o, o->result);
    for (int64_t i = 0; i < result_numbers(o, form); i++)
      if (o->result[i] != o->own[i]) {
        fprintf(stderr, "%s, %s, %s: %s differs from phibal\n", s->model, s->what, forms[form],
                libraries[l].name);
        return 1;
      }
  }
  return 0;
}

static double now(void) {
  struct timespec t;
  clock_gettime(omp_get_max_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(const library *libraries, int n, int form, const shape *s, const operands *o,
                    double peak) {
  const double work = 2.0 * (double)s->rows * (s->kind == HEADS ? (double)s->groups : 1.0) *
                      (double)s->out * (double)s->in;
  /* As often as fills 10 ms at the peak, so that the clock does not count. */
  const int repeats = 1 + (int)(0.01 * peak / work);
  double seconds[LIBRARIES][ROUNDS], rate[LIBRARIES], best = 0;
  for (int round = -1; round < ROUNDS; round++) /* the first does not count */
    for (int l = 0; l < n; l++) {
      const double start = now();
      for (int i = 0; i < repeats; i++) product_by(&libraries[l], form, s, o, o->result);
      if (round >= 0) seconds[l][round] = (now() - start) / repeats;
    }
  printf("| %s, %s | %s | %lld | %lld | %lld |", s->model, s->what, forms[form], (long long)s->rows,
         (long long)s->out, (long long)s->in);
  for (int l = 0; l < n; l++) {
    qsort(seconds[l], ROUNDS, sizeof **seconds, by_value);
    rate[l] = work / seconds[l][ROUNDS / 2];
    if (l && rate[l] > best) best = rate[l];
    printf(" %.1f |", 1e-9 * rate[l]);
  }
  if (n > 1) printf(" %.2f |", rate[0] / best);
  printf(" %.0f %% |\n", 100.0 * rate[0] / peak);
  fflush(stdout);
}

/* OpenBLAS chooses its kernels when it is loaded, by processors that it knows; of others it may
   take them for lesser ones. Then once more, told what to take: kernels of these instructions are
   the same in all it has. */
static void right_kernels(const char *chosen, char **argv) {
  static const char *const wide[] = {"SkylakeX", "Cooperlake", "SapphireRapids", NULL};
  static const char *const narrow[] = {"Haswell", "Zen", "Excavator", NULL};
  const vector_instructions vectors = processor_chosen_vectors();
  if (vectors < VECTORS_AVX2 || getenv("OPENBLAS_CORETYPE")) return;
  const char *const *good = vectors == VECTORS_AVX512 ? wide : narrow;
  for (int i = 0; good[i]; i++)
    if (!strcmp(chosen, good[i])) return;
  if (!setenv("OPENBLAS_CORETYPE", good[0], 1)) execv("/proc/self/exe", argv);
}

static bool library_open(const char *name, char **argv, library *l) {
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  void *sgemm = handle ? dlsym(handle, "sgemm_") : NULL;
  if (!sgemm) {
    printf("%s: left out: %s\n", name, dlerror());
    return false;
  }
  void *corename = dlsym(handle, "openblas_get_corename"),
       *parallel = dlsym(handle, "openblas_get_parallel");
  void *threads = dlsym(handle, "MKL_Set_Num_Threads_Local"),
       *layer = dlsym(handle, "MKL_Set_Threading_Layer");
  void *version = dlsym(handle, "MKL_Get_Version_String");
  const char *slash = strrchr(name, '/');
  l->name = slash ? slash + 1 : name;
  *(void **)&l->sgemm = sgemm;
  *(void **)&l->set_threads = threads;
  char said[200] = "";
  if (corename) {
    char *(*name_of)(void);
    int (*parallel_of)(void);
    *(void **)&name_of = corename;
    *(void **)&parallel_of = parallel;
    right_kernels(name_of(), argv);
    snprintf(said, sizeof said, "OpenBLAS with %s's kernels", name_of());
    /* Built on OpenMP it follows OpenMP. */
    if (parallel && parallel_of() == 1)
      *(void **)&l->set_threads = dlsym(handle, "openblas_set_num_threads");
  } else if (version) {
    void (*version_of)(char *, int);
    *(void **)&version_of = version;
    version_of(said, (int)sizeof said - 1);
    int (*set_layer)(int);
    *(void **)&set_layer = layer;
    if (layer) set_layer(3); /* on GNU's OpenMP, as here */
  }
  printf("%s: %s\n", l->name, said);
  return true;
}

int main(int argc, char **argv) {
  static const char *const usual[] = {"libopenblas.so.0", "libmkl_rt.so.3", "libmkl_rt.so.2"};
  const bool check = argc > 1 && !strcmp(argv[1], "--check");
  library libraries[LIBRARIES] = {{"phibal", NULL, NULL}};
  int n = 1, wrong = 0;
  const int threads = omp_get_max_threads(), first = 1 + check, given = argc - first;
  if (given > LIBRARIES - 1) {
    fprintf(stderr, "bench gemm: at most %d libraries\n", LIBRARIES - 1);
    return 2;
  }
  printf("%s, kernels for %s; %d thread%s\n", processor_name(), phibal_isa(), threads,
         threads == 1 ? "" : "s");
  if (phibal_isa_check()) {
    fprintf(stderr, "bench gemm: %s\n", phibal_status_message());
    return 2;
  }
  if (processor_chosen_vectors() == VECTORS_AVX2) setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2", 1);
  for (int i = 0; i < (given ? given : 3); i++)
    n += library_open(given ? argv[first + i] : usual[i], argv, &libraries[n]);
  const double peak = processor_peak(threads);
  if (!check) {
    printf("peak of multiply-adds: %.1f GFLOP/s\n\n| | form | rows | out | in |", 1e-9 * peak);
    for (int l = 0; l < n; l++) printf(" %s |", libraries[l].name);
    printf("%s of peak |\n| --- | --- | --- | --- | --- |", n > 1 ? " to the better |" : "");
    for (int l = 0; l < n + 1 + (n > 1); l++) printf(" --- |");
    puts("");
  }
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const shape *s = &shapes[i];
    if (check && (double)s->rows * (double)s->out * (double)s->in > 3e8) continue;
    operands o = operands_of(s);
    for (int form = 0; form < FORMS; form++) {
      wrong += compare(libraries, n, form, s, &o);
      if (!check) measure(libraries, n, form, s, &o, peak);
    }
    free(o.x);
  }
  return wrong ? 1 : 0;
}
