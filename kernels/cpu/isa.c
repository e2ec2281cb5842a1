/* Chooses the instruction set of the kernels by what the processor and its operating system can do,
   not by the processor's name. */
#include "isa.h"
#include <phibal/isa.h>
#include <stdlib.h>
#include <string.h>

/* PHIBAL_ISA; null where it is not set, or empty. */
static const char *asked_for(void) {
  const char *asked = getenv("PHIBAL_ISA");
  return asked && *asked ? asked : NULL;
}

#if PHIBAL_DISPATCHED
static const char *const names[ISAS] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

/* How many of them the processor can run: each includes the ones before it. */
static int able(void) {
  __builtin_cpu_init();
  if (!(__builtin_cpu_supports("sse3") && __builtin_cpu_supports("ssse3") &&
        __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
        __builtin_cpu_supports("popcnt")))
    return 0;
  if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")))
    return 1;
  if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")))
    return 2;
  return 3;
}

int phibal_isa_chosen(void) {
  const char *asked = asked_for();
  const int n = able();
  for (int i = 0; asked && i < n; i++)
    if (!strcmp(asked, names[i])) return i;
  return n ? n - 1 : 0;
}

const char *phibal_isa(void) {
  return names[phibal_isa_chosen()];
}

phibal_status phibal_isa_check(void) {
  const char *asked = asked_for();
  const int n = able();
  if (!n)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "the kernels need a processor with SSE4.2 (%s), which this is not",
                             names[0]);
  if (!asked || !strcmp(asked, phibal_isa())) return PHIBAL_OK;
  return phibal_status_set(
      PHIBAL_ERROR_UNSUPPORTED, "PHIBAL_ISA=%.40s: this processor can run %s%s%s%s%s", asked,
      names[0], n > 1 ? ", " : "", n > 1 ? names[1] : "", n > 2 ? ", " : "", n > 2 ? names[2] : "");
}
#else
const char *phibal_isa(void) {
#if defined(__aarch64__)
  return "aarch64";
#else
  return "the compiler's default";
#endif
}

phibal_status phibal_isa_check(void) {
  const char *asked = asked_for();
  if (!asked || !strcmp(asked, phibal_isa())) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "PHIBAL_ISA=%.40s: these kernels are compiled for %s alone", asked,
                           phibal_isa());
}
#endif

bool phibal_isa_refused;

__attribute__((constructor)) static void look(void) {
  phibal_isa_refused = phibal_isa_check() != PHIBAL_OK;
}
