#include "processor.h"
#include <omp.h>
#include <phibal/isa.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined __x86_64__ || defined __i386__
#include <cpuid.h>
#define X86 1
#else
#define X86 0
#endif

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

vector_instructions processor_chosen_vectors(void) {
  const char *isa = phibal_isa();
  return !strcmp(isa, "x86-64-v4")   ? VECTORS_AVX512
         : !strcmp(isa, "x86-64-v3") ? VECTORS_AVX2
         : !strcmp(isa, "x86-64-v2") ? VECTORS_SSE
                                     : VECTORS_OTHER;
}

const char *processor_name(void) {
#if X86
  static unsigned int words[13];
  for (unsigned int i = 0; i < 3; i++)
    if (!__get_cpuid(0x80000002 + i, words + 4 * i, words + 4 * i + 1, words + 4 * i + 2,
                     words + 4 * i + 3))
      return "unnamed x86";
  char *name = (char *)words;
  for (size_t n = strlen(name); n && name[n - 1] == ' ';) name[--n] = 0;
  return name + strspn(name, " ");
#else
  return "not an x86";
#endif
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
  const vector_instructions vectors = processor_chosen_vectors();
  if (vectors == VECTORS_AVX2) run = loop_avx2, lanes = 8;
  if (vectors == VECTORS_AVX512) run = loop_avx512, lanes = 16;
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
