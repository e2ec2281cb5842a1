/* The sweep: blocks of neighbouring loads, in any order and on all processors. */
#include "core_sweep.h"
#include <math.h>
#include <omp.h>
#include <phibal/environment.h>
#include <string.h>
#include <time.h>

enum {
  BLOCK = 8192,
  LAST = CORE_LOADS,      /* the bits of 1.0f */
  EXPONENTS = LAST >> 23, /* of normal numbers below 1, and the one of subnormals */
  STEP = 61               /* blocks are taken in this stride, prime to their number */
};

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t mix(uint64_t z) { /* SplitMix64 */
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Every positive load up to 1, BLOCK by BLOCK. */
static int block_all(uint32_t block, float *m) {
  uint32_t first = block ? block * BLOCK : 1, end = (block + 1) * BLOCK;
  if (end > (uint32_t)LAST + 1) end = (uint32_t)LAST + 1;
  int n = (int)(end - first);
  for (int i = 0; i < n; i++) m[i] = from_bits(first + (uint32_t)i);
  return n;
}

/* Of each binade its two ends and one load at random of each of BLOCK - 2 equal parts; of the
   smallest all. */
static int block_sample(uint32_t block, uint64_t seed, float *m) {
  uint32_t first = block < 23 ? 1u << block : (block - 22) << 23;
  uint32_t size = block < 23 ? first : 1u << 23;
  if (first >= LAST) {
    m[0] = 1.0f;
    return 1;
  }
  int n = size < BLOCK ? (int)size : BLOCK;
  for (int i = 0; i < n; i++) {
    uint32_t low = (uint32_t)((uint64_t)size * (uint64_t)i / (uint64_t)n);
    uint32_t high = (uint32_t)((uint64_t)size * (uint64_t)(i + 1) / (uint64_t)n);
    uint32_t at =
        low + (uint32_t)(mix(seed ^ mix((uint64_t)block << 32 | (uint64_t)i)) % (high - low));
    m[i] = from_bits(first + at);
  }
  m[0] = from_bits(first);
  m[n - 1] = from_bits(first + size - 1);
  return n;
}

static void range_add(core_range *r, float x) {
  if (!r->count || x < r->low) r->low = x;
  if (!r->count || x > r->high) r->high = x;
  r->count++;
  if (r->examples < CORE_EXAMPLES) r->example[r->examples++] = x;
}

static void range_join(core_range *to, const core_range *from) {
  if (!from->count) return;
  if (!to->count || from->low < to->low) to->low = from->low;
  if (!to->count || from->high > to->high) to->high = from->high;
  to->count += from->count;
  for (int i = 0; i < from->examples && to->examples < CORE_EXAMPLES; i++)
    to->example[to->examples++] = from->example[i];
}

static int binade_of(float x) {
  int exponent;
  frexpf(x, &exponent); /* 2^-149 has exponent -148 */
  return exponent + 148;
}

static void count(core_sweep *s, int n, const float *m, const float *price, const double *off,
                  const double *ulps, const unsigned char *path) {
  const bool one_binade = binade_of(m[0]) == binade_of(m[n - 1]);
  double *binade = &s->binade[binade_of(m[0])];
  s->inputs += (uint64_t)n;
  for (int i = 0; i < n; i++) {
    s->path[path[i]]++;
    if (fabsf(price[i]) < 0x1p-126f) range_add(&s->underflow, m[i]);
    if (isinf(price[i])) range_add(&s->overflow, m[i]);
    if (!(ulps[i] < HUGE_VAL)) {
      range_add(&s->unbounded, m[i]);
      continue;
    }
    double size = fabs((double)price[i]);
    if (m[i] >= 0x1p-12f && size > s->scale && isfinite(size)) s->scale = size;
    if (ulps[i] > CORE_ROUNDED_ULPS) {
      range_add(&s->inexact, m[i]);
      if (off[i] > s->inexact_size) s->inexact_size = off[i];
    }
    if (!one_binade) binade = &s->binade[binade_of(m[i])];
    if (ulps[i] > *binade) *binade = ulps[i];
    if (ulps[i] > s->worst) {
      s->worst = ulps[i];
      s->worst_load = m[i];
    }
  }
}

static void join(core_sweep *to, const core_sweep *from) {
  to->inputs += from->inputs;
  for (int i = 0; i < 3; i++) to->path[i] += from->path[i];
  if (from->worst > to->worst || (from->worst == to->worst && from->worst_load < to->worst_load)) {
    to->worst = from->worst;
    to->worst_load = from->worst_load;
  }
  for (int i = 0; i < CORE_BINADES; i++)
    if (from->binade[i] > to->binade[i]) to->binade[i] = from->binade[i];
  to->inexact_size = fmax(to->inexact_size, from->inexact_size);
  to->scale = fmax(to->scale, from->scale);
  range_join(&to->inexact, &from->inexact);
  range_join(&to->unbounded, &from->unbounded);
  range_join(&to->underflow, &from->underflow);
  range_join(&to->overflow, &from->overflow);
}

typedef struct stopwatch {
  const audit_request *request;
  double start, end, told;
} stopwatch;

/* By one thread, five times a second. */
static void tell(stopwatch *w, double done) {
  const double t = now(), spent = t - w->start;
  if (!w->request->progress || !(done > 0) || t - w->told < 0.2) return;
  w->told = t;
  w->request->progress(w->request->progress_context, done,
                       fmin(spent / done - spent, fmax(w->end - t, 0)));
}

phibal_status core_sweep_run(const codegen_kernel *kernel, int others, const float *rest,
                             const audit_request *request, core_sweep *result) {
  const bool quick = request->quick;
  const uint32_t blocks = quick ? 23 + EXPONENTS : LAST / BLOCK + 1;
  stopwatch watch = {.request = request, .start = now()};
  watch.end = quick ? HUGE_VAL : watch.start + request->seconds;
  int failed = 0;
  uint32_t done = 0;
  *result = (core_sweep){0};
#pragma omp parallel
  {
    float m[BLOCK], price[BLOCK];
    double off[BLOCK], ulps[BLOCK];
    unsigned char path[BLOCK];
    core_sweep mine = {0};
    bool first = true;
#pragma omp for schedule(dynamic, 8)
    for (uint32_t i = 0; i < blocks; i++) {
      if (!first && now() > watch.end) continue;
      first = false;
      uint32_t block = quick ? i : (uint32_t)((uint64_t)i * STEP % blocks);
      int n = quick ? block_sample(block, request->seed, m) : block_all(block, m);
      if (kernel->sweep(n, m, others, rest, price, off, ulps, path)) {
#pragma omp atomic write
        failed = 1;
        continue;
      }
      phibal_environment_watch("a generated kernel");
      count(&mine, n, m, price, off, ulps, path);
      uint32_t all;
#pragma omp atomic capture
      all = ++done;
      if (omp_get_thread_num() == 0) tell(&watch, (double)all / blocks);
    }
#pragma omp critical
    join(result, &mine);
  }
  if (failed)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "the kernel refuses a load between 0 and 1");
  result->cut_short = done < blocks;
  result->exhaustive = !quick && !result->cut_short;
  if (result->cut_short) result->seconds_for_all = (now() - watch.start) * blocks / done;
  return phibal_environment_check("a sweep over loads");
}
