#include "processor.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#if defined __x86_64__ || defined __i386__
#include <cpuid.h>
#define X86 1
#else
#define X86 0
#endif

extern char *openblas_get_corename(void);

const char *const vector_instruction_names[] = {"the compiler's default", "SSE", "AVX",
                                                "AVX2 and FMA", "AVX-512"};

vector_instructions processor_vectors(void) {
#if X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return VECTORS_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return VECTORS_AVX2;
  return __builtin_cpu_supports("avx") ? VECTORS_AVX : VECTORS_SSE;
#else
  return VECTORS_OTHER;
#endif
}

const char *processor_name(void) {
#if X86
  static unsigned int words[13];
  for (unsigned int i = 0; i < 3; i++)
    if (!__get_cpuid(0x80000002 + i, words + 4 * i, words + 4 * i + 1, words + 4 * i + 2,
                     words + 4 * i + 3))
      return "an x86 without a name";
  char *name = (char *)words;
  for (size_t n = strlen(name); n && name[n - 1] == ' ';) name[--n] = 0;
  return name + strspn(name, " ");
#else
  return "not an x86";
#endif
}

const char *blas_coretype(const char *chosen, vector_instructions vectors) {
  /* Names of kernels that OpenBLAS has had up to 0.3.28; those for more than AVX2 are never less
     than the processor's. What a later release calls otherwise is left to it. */
  static const struct {
    const char *kernels;
    vector_instructions vectors;
  } known[] = {
      {"Katmai", VECTORS_SSE},       {"Coppermine", VECTORS_SSE},  {"Northwood", VECTORS_SSE},
      {"Prescott", VECTORS_SSE},     {"Banias", VECTORS_SSE},      {"Atom", VECTORS_SSE},
      {"Core2", VECTORS_SSE},        {"Penryn", VECTORS_SSE},      {"Dunnington", VECTORS_SSE},
      {"Nehalem", VECTORS_SSE},      {"Athlon", VECTORS_SSE},      {"Opteron", VECTORS_SSE},
      {"Opteron_SSE3", VECTORS_SSE}, {"Barcelona", VECTORS_SSE},   {"Nano", VECTORS_SSE},
      {"Bobcat", VECTORS_SSE},       {"Sandybridge", VECTORS_AVX}, {"Bulldozer", VECTORS_AVX},
      {"Piledriver", VECTORS_AVX},   {"Steamroller", VECTORS_AVX}, {"Excavator", VECTORS_AVX2},
      {"Haswell", VECTORS_AVX2},     {"Zen", VECTORS_AVX2},
  };
  /* Names that 0.3.21 takes; it knows Cooperlake's kernels too, but not by name. */
  static const char *const suits[] = {NULL, NULL, "Sandybridge", "Haswell", "SkylakeX"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcasecmp(chosen, known[i].kernels))
      return known[i].vectors < vectors ? suits[vectors] : NULL;
  return NULL;
}

/* For the second start: what OpenBLAS had chosen in the first. */
static const char instead_of[] = "PHIBAL_OPENBLAS_INSTEAD_OF", coretype[] = "OPENBLAS_CORETYPE";

blas_choice blas_chosen(void) {
  const vector_instructions vectors = processor_vectors();
  const char *asked = getenv(coretype), *before = getenv(instead_of);
  blas_choice c = {.kernels = openblas_get_corename(), .chosen_by = "OpenBLAS"};
  c.better = blas_coretype(c.kernels, vectors);
  if (!asked || strcasecmp(asked, c.kernels)) return c; /* a name that OpenBLAS does not know */
  c.chosen_by = coretype;
  const char *ours = before ? blas_coretype(before, vectors) : NULL;
  if (ours && !strcmp(ours, asked)) {
    c.chosen_by = "phibal";
    c.instead_of = before;
  }
  return c;
}

int blas_ask_for_better(void) {
  if (getenv(coretype)) return 0; /* the user's wish, or ours already */
  const char *chosen = openblas_get_corename();
  const char *better = blas_coretype(chosen, processor_vectors());
  return better && !setenv(instead_of, chosen, 1) && !setenv(coretype, better, 1);
}

/* The loops of processor_peak, one for each kind of vectors. This file is compiled so that the
   compiler may fuse a multiplication and an addition (meson.build), which is what is measured. Ten
   sums, each of its own: two a cycle that take four or five cycles each. Their values go to 1; what
   they begin with the compiler does not know, and so cannot leave out. */
static volatile float peak_factor = 0.75f, peak_term = 0.25f, peak_first = 0.125f;
enum { SUMS = 10 };
#define PEAK_LOOP(NAME, BYTES, TARGET)                                                             \
  TARGET static float NAME(long turns) {                                                           \
    typedef float vector __attribute__((vector_size(BYTES)));                                      \
    vector sum[SUMS], factor = {0}, term = {0}, all = {0};                                         \
    factor += peak_factor;                                                                         \
    term += peak_term;                                                                             \
    for (int i = 0; i < SUMS; i++) sum[i] = term * (float)i + peak_first;                          \
    for (long t = 0; t < turns; t++)                                                               \
      _Pragma("GCC unroll 16") for (int i = 0; i < SUMS; i++) sum[i] = sum[i] * factor + term;     \
    for (int i = 0; i < SUMS; i++) all += sum[i];                                                  \
    return all[0];                                                                                 \
  }
#if X86
PEAK_LOOP(loop_avx512, 64, __attribute__((target("avx512f,fma"))))
PEAK_LOOP(loop_avx2, 32, __attribute__((target("avx2,fma"))))
PEAK_LOOP(loop_avx, 32, __attribute__((target("avx"))))
#endif
PEAK_LOOP(loop_default, 16, )

/* Of the calling thread on a processor: what else the machine does takes none of it. */
static double thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double processor_peak(int threads) {
  enum { ROUNDS = 3 };
  typedef float loop(long turns);
  loop *run = loop_default;
  double lanes = 4;
#if X86
  const vector_instructions vectors = processor_vectors();
  if (vectors >= VECTORS_AVX) run = loop_avx, lanes = 8;
  if (vectors >= VECTORS_AVX2) run = loop_avx2;
  if (vectors >= VECTORS_AVX512) run = loop_avx512, lanes = 16;
#endif
  const long turns = 2000000; /* some 10 ms */
  const double at_once = threads < omp_get_num_procs() ? threads : omp_get_num_procs();
  double best = 0;
  static volatile float used; /* so that the sums are formed */
  for (int round = 0; round < ROUNDS; round++) {
    float all = 0;
    double rate = 0;
#pragma omp parallel num_threads(threads) reduction(+ : all, rate)
    {
      const double start = thread_seconds();
      all += run(turns);
      rate += 2.0 * SUMS * lanes * (double)turns / (thread_seconds() - start);
    }
    rate *= at_once / threads;
    if (rate > best) best = rate;
    used = all;
  }
  (void)used;
  return best;
}
