/* Counter-based random numbers: a pure function of (seed, stream, index), so threads may draw them
   in any order. */
#ifndef PHIBAL_MOE_RANDOM_H
#define PHIBAL_MOE_RANDOM_H

#include <stdint.h>

/* 64 random bits. */
uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t index);
/* Standard normal, by Box and Muller from the bits of counters 2 index and 2 index + 1. */
double random_normal(uint64_t seed, uint64_t stream, uint64_t index);

#endif
