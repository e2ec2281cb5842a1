#include "process_state.h"
#include "build_features.h"
#include <errno.h>
#include <locale.h>
#include <omp.h>
#include <phibal/environment.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>
#if PHIBAL_HAVE_REFERENCE
#include <mpfr.h>
#endif

/* The deepest calls took some 250 KiB where this was measured; parsers of nested text take more. A
   thread that runs beyond its stack ends the process by a signal, without a word. */
enum { STACK_NEEDED = 2 << 20, STACK_WANTED = 8 << 20, MOST_THREADS = 4096 };

/* As OpenMP reads it: a number and B, K (which may be left out), M or G. Not a number: 0, which the
   runtime ignores. */
static unsigned long long stack_of(const char *text) {
  char *end;
  if (!text[strspn(text, " \t")] || text[strspn(text, " \t")] == '-') return 0;
  unsigned long long n = strtoull(text, &end, 10);
  end += strspn(end, " \t");
  int shift = 10;
  switch (*end) {
  case 'b':
  case 'B':
    shift = 0;
    break;
  case 'm':
  case 'M':
    shift = 20;
    break;
  case 'g':
  case 'G':
    shift = 30;
    break;
  }
  return n >> (63 - shift) ? STACK_NEEDED : n << shift;
}

bool process_state_request(void) {
  static const char *const names[] = {"OMP_STACKSIZE", "GOMP_STACKSIZE"};
  bool asked = false;
  struct rlimit stack;
  if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur < STACK_WANTED &&
      stack.rlim_cur < stack.rlim_max) {
    stack.rlim_cur = stack.rlim_max < STACK_WANTED ? stack.rlim_max : STACK_WANTED;
    asked |= !setrlimit(RLIMIT_STACK, &stack);
  }
  for (int i = 0; i < 2; i++) {
    const char *value = getenv(names[i]);
    const unsigned long long size = value ? stack_of(value) : 0;
    if (!size || size >= STACK_NEEDED) continue;
    fprintf(stderr, "phibal: %s=%s is too little for the threads; they get 2 MiB\n", names[i],
            value);
    asked |= !setenv(names[i], "2M", 1);
  }
  return asked;
}

/* A library that lets floating-point exceptions trap while phibal runs: what it computes is the
   same up to there, and nothing beyond. Integer division by zero is phibal's own fault. */
static void on_trap(int signal_number, siginfo_t *info, void *unused) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  static const char line[] = "phibal: a library let floating-point exceptions trap while it ran; "
                             "it cannot continue\n";
  (void)unused;
  if (info->si_code == FPE_INTDIV || info->si_code == FPE_INTOVF || info->si_code <= 0) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return;
  }
  /* Threads may trap together: one speaks, and ends them all. */
  while (atomic_flag_test_and_set(&said)) pause();
  (void)!write(STDERR_FILENO, line, sizeof line - 1);
  _exit(2);
}

#if PHIBAL_HAVE_REFERENCE
static bool mpfr_changed(void) {
  return mpfr_get_emin() != MPFR_EMIN_DEFAULT || mpfr_get_emax() != MPFR_EMAX_DEFAULT ||
         mpfr_get_default_rounding_mode() != MPFR_RNDN || mpfr_get_default_prec() != 53;
}

static void mpfr_reset(void) {
  mpfr_set_emin(MPFR_EMIN_DEFAULT);
  mpfr_set_emax(MPFR_EMAX_DEFAULT);
  mpfr_set_default_rounding_mode(MPFR_RNDN);
  mpfr_set_default_prec(53);
}
#else
static bool mpfr_changed(void) {
  return false;
}

static void mpfr_reset(void) {}
#endif

/* Numbers are read and written with a point, and bytes are bytes: the locale of C. */
static const char *locale_changed(void) {
  const char *name = setlocale(LC_ALL, NULL);
  if (name && strcmp(name, "C")) return name;
  return uselocale((locale_t)0) == LC_GLOBAL_LOCALE ? NULL : "of a thread";
}

bool process_state_reset(void) {
  static const char before[] = "phibal: a library that was loaded before it began had set";
  const char *changed = phibal_environment_changed(), *place = locale_changed();
  if (changed) {
    phibal_environment_reset();
    fprintf(stderr, "%s %s; this has been reset\n", before, changed);
  }
  if (place) {
    fprintf(stderr, "%s the locale %.60s; this has been reset\n", before, place);
    uselocale(LC_GLOBAL_LOCALE);
    setlocale(LC_ALL, "C");
  }
  if (mpfr_changed()) {
    fprintf(stderr, "%s MPFR's range, precision or rounding; this has been reset\n", before);
    mpfr_reset();
  }
  sigaction(SIGFPE, &(struct sigaction){.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, NULL);
  struct rlimit stack;
  if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur < STACK_NEEDED) {
    fprintf(stderr, "phibal: the stack's limit is %llu KiB, and it needs %d: see 'ulimit -s'\n",
            (unsigned long long)stack.rlim_cur / 1024, STACK_NEEDED / 1024);
    return false;
  }
  /* So many take OpenMP's runtime beyond its own stack, and it ends without a word. */
  if (omp_get_max_threads() > MOST_THREADS) {
    fprintf(stderr, "phibal: %d threads requested, the maximum is %d: see OMP_NUM_THREADS\n",
            omp_get_max_threads(), MOST_THREADS);
    return false;
  }
  return true;
}

const char *process_state_changed(void) {
  static char line[200];
  const char *place = locale_changed();
  if (phibal_environment_check("this command")) return phibal_status_message();
  if (place)
    snprintf(line, sizeof line, "a library set the locale %.60s while it ran", place);
  else if (mpfr_changed())
    snprintf(line, sizeof line, "a library set MPFR's range, precision or rounding while it ran");
  else
    return NULL;
  return line;
}
