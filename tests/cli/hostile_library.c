/* A library to be preloaded that changes what phibal computes in: HOSTILE_WHAT at HOSTILE_AT.
   HOSTILE_WHAT  flush-to-zero, denormals-are-zero, upward, downward, towards-zero, x87-53, x87-24,
                 traps, mpfr (its range), or locale (HOSTILE_LOCALE)
   HOSTILE_AT    load: before main; thread=N: in each thread that is started from the N-th on;
                 chunk=N: as OpenMP hands out the N-th further chunk of a dynamic loop, in the thread
                 that gets it; chunks=N: the N-th and each after it; malloc=N: in the N-th malloc;
                 sentencepiece=N: as its N-th encoding ends
   Compilers and other children inherit LD_PRELOAD and are left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

static const char *at, *what;
static long number;
static bool at_load;

static void x87(unsigned short precision) {
  unsigned short word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  word = (unsigned short)((word & ~0x0300) | precision);
  __asm__ volatile("fldcw %0" : : "m"(word));
}

static void change(void) {
  if (!strcmp(what, "flush-to-zero")) _mm_setcsr(_mm_getcsr() | 0x8000);
  if (!strcmp(what, "denormals-are-zero")) _mm_setcsr(_mm_getcsr() | 0x0040);
  if (!strcmp(what, "upward")) fesetround(FE_UPWARD);
  if (!strcmp(what, "downward")) fesetround(FE_DOWNWARD);
  if (!strcmp(what, "towards-zero")) fesetround(FE_TOWARDZERO);
  if (!strcmp(what, "x87-53")) x87(0x0200);
  if (!strcmp(what, "x87-24")) x87(0x0000);
  if (!strcmp(what, "traps")) feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_INEXACT);
  if (!strcmp(what, "locale") && !setlocale(LC_ALL, getenv("HOSTILE_LOCALE"))) {
    fputs("the test's own fault: there is no such locale\n", stderr);
    _Exit(3);
  }
  if (!strcmp(what, "mpfr")) {
    int (*set)(long) = (int (*)(long))dlsym(RTLD_DEFAULT, "mpfr_set_emin");
    if (set) set(-100);
  }
}

/* True for the event that HOSTILE_AT names: the N-th, or, `from`, each from there on. */
static bool now(const char *event, bool from) {
  static atomic_long count;
  if (!at || strncmp(at, event, strlen(event)) || at[strlen(event)] != '=') return false;
  const long n = atomic_fetch_add(&count, 1) + 1;
  return from ? n >= number : n == number;
}

__attribute__((constructor)) static void begin(void) {
  const char *asked = getenv("HOSTILE_AT"), *kind = getenv("HOSTILE_WHAT");
  if (!asked || !kind || strcmp(program_invocation_short_name, "phibal")) return;
  const char *equals = strchr(asked, '=');
  number = equals ? atol(equals + 1) : 0;
  what = kind;
  at_load = !strcmp(asked, "load");
  if (at_load) change();
  at = asked;
}

void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes) {
  if (now("malloc", false)) change();
  return __libc_malloc(bytes);
}

typedef void *start_routine(void *);
typedef struct start {
  start_routine *routine;
  void *argument;
} start;

static void *started(void *argument) {
  start s = *(start *)argument;
  free(argument);
  change();
  return s.routine(s.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, start_routine *routine,
                   void *argument) {
  static int (*real)(pthread_t *, const pthread_attr_t *, start_routine *, void *);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  if (!now("thread", true)) return real(thread, attributes, routine, argument);
  start *s = __libc_malloc(sizeof *s);
  *s = (start){routine, argument};
  return real(thread, attributes, started, s);
}

bool GOMP_loop_nonmonotonic_dynamic_next(long *first, long *end) {
  static bool (*_Atomic real)(long *, long *);
  if (!real) real = (__typeof__(real + 0))dlsym(RTLD_NEXT, "GOMP_loop_nonmonotonic_dynamic_next");
  const bool more = real(first, end);
  if (now("chunk", false) || now("chunks", true)) change();
  return more;
}

/* Status SentencePieceProcessor::Encode(std::string_view, std::vector<int> *) const, as the Itanium
   ABI passes it: the place of the result first. */
typedef struct view {
  size_t bytes;
  const char *text;
} view;
#define ENCODE                                                                                     \
  "_ZNK13sentencepiece22SentencePieceProcessor6EncodeESt17basic_string_viewIcSt11char_traitsIcEE"  \
  "PSt6vectorIiSaIiEE"
void *encode(void *result, const void *self, view text, void *ids) __asm__(ENCODE);
void *encode(void *result, const void *self, view text, void *ids) {
  static void *(*real)(void *, const void *, view, void *);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, ENCODE);
  void *done = real(result, self, text, ids);
  if (now("sentencepiece", false)) change();
  return done;
}
