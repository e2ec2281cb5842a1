/* Plugins that try to be believed, or to take phibal with them, in the way HOSTILE; the rest of
   them is right. phibal_plugin_get and the operation `ema` are where they act; `loss-free` is
   always right. */
#define _GNU_SOURCE
#include <phibal/plugin.h>
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xmmintrin.h>

enum {
  LOADING_EXITS,
  EXITS,
  EXITS_AT_ONCE,
  CLAIMS_SUCCESS,
  CRASHES,
  HANGS,
  HANGS_WHILE_LOADED,
  FLUSHES_TO_ZERO,
  ROUNDS_UPWARD,
  LOADED_WITH_FAST_MATH,
  LEAVES_A_CHILD,
  WRITES_EVERYWHERE,
  SHORTENS_THE_MEMORY,
  ANSWERS_TWICE,
  CLOSES_EVERYTHING,
  PRINTS_WITHOUT_END,
  DIES_BETWEEN_CASES,
};

/* The last line of a good run, on both streams. */
static void claim(void) {
  for (int i = 0; i < 2; i++)
    fputs("\nall 1 operations are within their bounds\n", i ? stdout : stderr);
  fflush(NULL);
}

static void act(const float *written) {
  if (HOSTILE == EXITS) exit(0);
  if (HOSTILE == EXITS_AT_ONCE) _exit(0);
  if (HOSTILE == CLAIMS_SUCCESS) {
    claim();
    _exit(0);
  }
  if (HOSTILE == CRASHES) raise(SIGSEGV);
  if (HOSTILE == HANGS)
    for (volatile int i = 0;;) i = 1 - i;
  if (HOSTILE == FLUSHES_TO_ZERO) _mm_setcsr(_mm_getcsr() | 0x8000);
  if (HOSTILE == ROUNDS_UPWARD) fesetround(FE_UPWARD);
  if (HOSTILE == LEAVES_A_CHILD) {
    if (!fork())
      for (;;) pause();
    _exit(0);
  }
  if (HOSTILE == WRITES_EVERYWHERE) memset((char *)written - 4096, 0, 8192);
  if (HOSTILE == SHORTENS_THE_MEMORY) {
    if (!ftruncate(4, 0)) abort();
  }
  if (HOSTILE == ANSWERS_TWICE) {
    if (send(3, "x", 1, 0) != 1) abort();
  }
  if (HOSTILE == CLOSES_EVERYTHING) {
    for (int fd = 0; fd < 64; fd++) close(fd);
    pause();
  }
  if (HOSTILE == PRINTS_WITHOUT_END) {
    for (int i = 0; i < 1000; i++) printf("still here\n");
    claim();
  }
}

static int ema(phibal_plugin_case *c) {
  const float *m = phibal_plugin_input(c, "m", PHIBAL_PLUGIN_F32);
  const float *loads = phibal_plugin_input(c, "loads", PHIBAL_PLUGIN_F32);
  float *next = phibal_plugin_output(c, "m", PHIBAL_PLUGIN_F32);
  const double eta = (double)(float)phibal_plugin_real(c, "eta");
  int64_t E = phibal_plugin_extent(c, "loads", 0);
  for (int64_t e = 0; e < E && next; e++)
    next[e] = (float)((1 - eta) * (double)m[e] + eta * (double)loads[e]);
  act(next);
  if (HOSTILE == DIES_BETWEEN_CASES) ualarm(1, 0);
  return 0;
}

static int loss_free(phibal_plugin_case *c) {
  int64_t E = phibal_plugin_extent(c, "counts", 0), total = 0;
  const int64_t *count = phibal_plugin_input(c, "counts", PHIBAL_PLUGIN_I64);
  const float *bias = phibal_plugin_input(c, "bias", PHIBAL_PLUGIN_F32);
  float *next = phibal_plugin_output(c, "bias", PHIBAL_PLUGIN_F32);
  float rate = (float)phibal_plugin_real(c, "rate");
  for (int64_t e = 0; e < E; e++) total += count[e];
  for (int64_t e = 0; e < E; e++)
    next[e] = count[e] * E < total   ? bias[e] + rate
              : count[e] * E > total ? bias[e] - rate
                                     : bias[e];
  return 0;
}

static const phibal_plugin_operation operations[] = {
    {"ema", ema, NULL}, {"loss-free", loss_free, NULL}, {NULL, NULL, NULL}};
/* A name that would clear a terminal. */
static const phibal_plugin plugin = {
    PHIBAL_PLUGIN_VERSION, "hostile\033[2J", operations, NULL, NULL, NULL, NULL, NULL};

const phibal_plugin *phibal_plugin_get(void) {
  if (HOSTILE == LOADING_EXITS) {
    claim();
    exit(0);
  }
  if (HOSTILE == HANGS_WHILE_LOADED) pause();
  return &plugin;
}

__attribute__((constructor)) static void loaded(void) {
  if (HOSTILE == LOADED_WITH_FAST_MATH) _mm_setcsr(_mm_getcsr() | 0x8040);
}
