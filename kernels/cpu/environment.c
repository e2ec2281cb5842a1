/* Reads the control registers themselves: what a compiler thinks of them does not count. */
#include "isa.h"
#include <phibal/environment.h>
#include <phibal/isa.h>
#include <fenv.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040, ROUNDING = 0x6000, MASKS = 0x1f80 };

const char *phibal_environment_changed(void) {
  static const char *const rounding[] = {"", "rounding downward", "rounding upward",
                                         "rounding towards zero"};
  unsigned mxcsr = _mm_getcsr();
  unsigned short x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  if (mxcsr & FLUSH_TO_ZERO) return "flush-to-zero";
  if (mxcsr & DENORMALS_ARE_ZERO) return "denormals-are-zero";
  if (mxcsr & ROUNDING) return rounding[(mxcsr & ROUNDING) >> 13];
  if (x87 & 0x0c00) return rounding[(x87 & 0x0c00) >> 10];
  if ((x87 & 0x0300) != 0x0300) return "reduced x87 precision";
  return (mxcsr & MASKS) == MASKS && (x87 & 0x003f) == 0x003f ? NULL : "trapping exceptions";
}
#elif defined(__aarch64__)
enum { FLUSH_TO_ZERO = 1 << 24, FLUSH_INPUTS_TO_ZERO = 1 << 0, ROUNDING = 3 << 22, TRAPS = 0x9f00 };

const char *phibal_environment_changed(void) {
  static const char *const rounding[] = {"", "rounding upward", "rounding downward",
                                         "rounding towards zero"};
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  if (fpcr & FLUSH_TO_ZERO) return "flush-to-zero";
  if (fpcr & FLUSH_INPUTS_TO_ZERO) return "denormals-are-zero";
  if (fpcr & ROUNDING) return rounding[(fpcr & ROUNDING) >> 22];
  return fpcr & TRAPS ? "trapping exceptions" : NULL;
}
#else
/* Without the register: what its settings do to the smallest numbers. */
const char *phibal_environment_changed(void) {
  volatile float least = 0x1p-126f, subnormal = 0x1p-127f;
  if (fegetround() != FE_TONEAREST) return "rounding other than to nearest";
  if (least * 0.5f == 0) return "flush-to-zero";
  return subnormal * 2.0f == 0 ? "denormals-are-zero" : NULL;
}
#endif

/* The first change that was noted: by the one who first wrote `noted`. */
static const char *_Atomic noted, *_Atomic noted_after;

void phibal_environment_reset(void) {
  fesetenv(FE_DFL_ENV);
  atomic_store(&noted_after, NULL);
  atomic_store(&noted, NULL);
}

const char *phibal_environment_reset_threads(void) {
  const char *found = NULL;
#pragma omp parallel
  {
    const char *own = phibal_environment_changed();
    if (own) {
#pragma omp atomic write
      found = own;
    }
    phibal_environment_reset();
  }
  return found;
}

void phibal_environment_watch(const char *where) {
  const char *changed = phibal_environment_changed(), *none = NULL;
  if (changed && atomic_compare_exchange_strong(&noted, &none, changed))
    atomic_store(&noted_after, where);
}

phibal_status phibal_environment_check(const char *who) {
  const char *own = phibal_environment_changed(), *found = atomic_load(&noted);
  if (phibal_isa_refused) return phibal_isa_check();
  if (!own && !found) return PHIBAL_OK;
  const char *after = found ? atomic_load(&noted_after) : NULL;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "%s: %s is set%s%s: a library changed the floating-point environment, "
                           "and what is computed in it cannot be trusted",
                           who, found ? found : own, after ? ", found after " : "",
                           after ? after : "");
}

phibal_status phibal_environment_check_threads(const char *who) {
  phibal_status status = phibal_environment_check(who);
  if (status) return status;
#pragma omp parallel
  phibal_environment_watch("work in a thread of OpenMP");
  return phibal_environment_check(who);
}
