#include "random.h"

#include "kernels/core/cos_turn64.h"
#include "kernels/core/log64.h"

/* The finaliser of SplitMix64 (Steele, Lea and Flood, 2014), a bijection of 64 bits. */
static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t index) {
  /* SplitMix64 itself, started at a point that seed and stream decide and read at `index`. */
  const uint64_t golden = 0x9e3779b97f4a7c15u;
  uint64_t start = mix(mix(seed + golden) ^ (stream * golden));
  return mix(start + (index + 1) * golden);
}

double random_normal(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t first = random_bits(seed, stream, 2 * index);
  uint64_t second = random_bits(seed, stream, 2 * index + 1);
  double radius = ((double)(first >> 11) + 1.0) * 0x1p-53; /* in (0, 1] */
  double turn = (double)(second >> 11) * 0x1p-53;          /* in [0, 1) */
  return CORE_SQRT(-2.0 * core_log64(radius)) * core_cos_turn64(turn);
}
