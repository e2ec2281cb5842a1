/* Potentials with parameters that matter, and points of their domains, for the tests of the
   reference's potentials and of mirror ascent. */
#ifndef PHIBAL_TESTS_POTENTIAL_CASES_H
#define PHIBAL_TESTS_POTENTIAL_CASES_H

#include <phibal/reference.h>
#include <math.h>
#include <stdint.h>

typedef struct potential_case {
  phibal_potential_id id;
  const char *parameter; /* as a number to be read exactly; not all fit a binary format */
} potential_case;

static const potential_case potential_cases[] = {
/* Each potential with its default parameter, and what is apart in the range of others. */
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  {PHIBAL_POTENTIAL_##ID, #fallback},
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
    {PHIBAL_POTENTIAL_LP, "2"},
    {PHIBAL_POTENTIAL_LP, "4/3"},
    {PHIBAL_POTENTIAL_LP, "1.0001"},
    {PHIBAL_POTENTIAL_LP, "100"},
    {PHIBAL_POTENTIAL_SOFT_L1, "7"},
    {PHIBAL_POTENTIAL_TSALLIS, "1/2"},
    {PHIBAL_POTENTIAL_TSALLIS, "2"},
    {PHIBAL_POTENTIAL_TSALLIS, "7/2"},
    {PHIBAL_POTENTIAL_TSALLIS, "0.999999"},
    {PHIBAL_POTENTIAL_TSALLIS, "1.000001"},
    {PHIBAL_POTENTIAL_TSALLIS, "1.000000000000001"},
    {PHIBAL_POTENTIAL_RENYI, "1/3"},
    {PHIBAL_POTENTIAL_RENYI, "0.999999"},
    {PHIBAL_POTENTIAL_RENYI, "0.999999999999"},
    {PHIBAL_POTENTIAL_PSEUDO_HUBER, "5"},
    {PHIBAL_POTENTIAL_LOG_COSH, "20/3"},
};
enum { POTENTIAL_CASES = sizeof potential_cases / sizeof *potential_cases };

static inline void case_init(phibal_reference_potential *phi, const potential_case *c,
                             mpfr_prec_t precision) {
  phi->id = c->id;
  phibal_enclosure_init(&phi->parameter, precision);
  phibal_enclosure_set_str(&phi->parameter, c->parameter);
}

static inline void case_clear(phibal_reference_potential *phi) {
  phibal_enclosure_clear(&phi->parameter);
}

/* xorshift64*: the same cases on every run. */
static inline uint64_t next_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * UINT64_C(2685821657736338717);
}

/* Uniform in (0, 1), never an end. */
static inline double random_unit(uint64_t *state) {
  return ((double)(next_random(state) >> 12) + 0.5) * 0x1p-52;
}

/* A load-like number: ordinary, tiny, near 1, near 1/e (where negentropy's gradient vanishes), a
   power of two, or beyond 1. */
static inline double random_positive(uint64_t *state) {
  double u = random_unit(state);
  switch (next_random(state) % 8) {
  case 0:
    return u;
  case 1:
    return ldexp(1.0 + u, -(int)(next_random(state) % 60));
  case 2:
    return 1.0 + (u - 0.5) * 0x1p-30;
  case 3:
    return 0.36787944117144233 * (1.0 + (u - 0.5) * 0x1p-20);
  case 4:
    return ldexp(1.0, -(int)(next_random(state) % 20));
  case 5:
    return 8.0 * u;
  case 6:
    return ldexp(1.0 + u, -(int)(next_random(state) % 300));
  default:
    return u / 64.0;
  }
}

/* A point inside the domain of phi: loads, and for even potentials and softplus of both signs. */
static inline double random_primal(phibal_potential_id id, uint64_t *state) {
  double x = random_positive(state);
  bool nonnegative = id == PHIBAL_POTENTIAL_NEGENTROPY || id == PHIBAL_POTENTIAL_TSALLIS ||
                     id == PHIBAL_POTENTIAL_RENYI;
  return nonnegative || next_random(state) % 2 ? x : -x;
}

/* Where the conjugate is finite, of the potentials that potential_formulas.def has. */
typedef enum dual_set { DUAL_REALS, DUAL_BALL, DUAL_UNIT } dual_set;

/* A point inside the dual domain where the conjugate is smooth; `a` is the parameter. */
static inline double random_dual(phibal_potential_id id, double a, uint64_t *state) {
  double u = random_unit(state), sign = next_random(state) % 2 ? 1.0 : -1.0;
  double near_end = next_random(state) % 4 == 0 ? 1.0 - u * 0x1p-30 : u;
  double tiny = next_random(state) % 4 == 0 ? u * 0x1p-40 : near_end;
  dual_set dual = DUAL_REALS;
  switch (id) {
#define POTENTIAL_FORMULAS(ID, set, ...)                                                           \
  case PHIBAL_POTENTIAL_##ID:                                                                      \
    dual = DUAL_##set;                                                                             \
    break;
#include "tests/reference/potential_formulas.def"
#undef POTENTIAL_FORMULAS
  case PHIBAL_POTENTIAL_RENYI: /* prices spread by about 1 around -a/(1-a) */
    if (1.0 - a < 1e-3) return -a / (1.0 - a) + 4.0 - 10.0 * u;
    return -8.0 * tiny * a / (1.0 - a);
  case PHIBAL_POTENTIAL_TSALLIS: /* near a = 1 those of loads; else 1 + (a-1) y in (0, 4), past 1
                                    too */
    if (fabs(a - 1.0) < 1e-9) return 8.0 * u - 6.0;
    return (4.0 * u - 1.0) / (a - 1.0) * (next_random(state) % 2 ? 1.0 : 0x1p-10);
  case PHIBAL_POTENTIAL_LP:
  case PHIBAL_POTENTIAL_NEGENTROPY:
  case PHIBAL_POTENTIAL_COUNT:
    break;
  }
  if (dual == DUAL_BALL) return sign * tiny;
  if (dual == DUAL_UNIT) return next_random(state) % 4 ? tiny : 0.5 + (u - 0.5) * 0x1p-20;
  return sign * random_positive(state);
}

#endif
