/* The case generators' random numbers: SplitMix64 (Steele, Lea, Flood 2014), the same on every
   machine. A stream is a function of (seed, operation, case). */
#ifndef PHIBAL_VERIFY_RANDOM_H
#define PHIBAL_VERIFY_RANDOM_H

#include <stdint.h>

typedef struct random_stream {
  uint64_t state;
} random_stream;

static inline uint64_t random_next(random_stream *r) {
  uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline random_stream random_start(uint64_t seed, uint64_t operation, uint64_t number) {
  random_stream r = {seed};
  r.state ^= random_next(&r) + operation * 0xd1342543de82ef95u;
  r.state ^= random_next(&r) + number * 0x2545f4914f6cdd1du;
  random_next(&r);
  return r;
}

/* Uniform in low .. high, both included. */
static inline int64_t random_integer(random_stream *r, int64_t low, int64_t high) {
  return low + (int64_t)(random_next(r) % (uint64_t)(high - low + 1));
}

/* Uniform in [0, 1), 53 bits. */
static inline double random_unit(random_stream *r) {
  return (double)(random_next(r) >> 11) * 0x1p-53;
}

static inline double random_uniform(random_stream *r, double low, double high) {
  return low + (high - low) * random_unit(r);
}

/* Bell-shaped with mean 0 and variance 1, bounded by 6: a sum of twelve uniforms, so that no
   library function decides the bits. */
static inline double random_normal(random_stream *r) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += random_unit(r);
  return sum;
}

#endif
