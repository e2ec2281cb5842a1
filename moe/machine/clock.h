/* Wall-clock seconds, for rates, times and waits only. */
#ifndef PHIBAL_MOE_CLOCK_H
#define PHIBAL_MOE_CLOCK_H

#include <time.h>

static inline double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
