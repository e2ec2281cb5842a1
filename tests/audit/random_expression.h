/* Random terms of the φ language, for tests: of x and the parameters a and b. */
#ifndef PHIBAL_TEST_RANDOM_EXPRESSION_H
#define PHIBAL_TEST_RANDOM_EXPRESSION_H

#include "audit/phi.h"
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline uint64_t random_bits(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static inline unsigned random_below(uint64_t *state, unsigned n) {
  return (unsigned)(random_bits(state) % n);
}

static inline double random_unit(uint64_t *state) {
  return ((double)(random_bits(state) >> 11) + 0.5) * 0x1p-53;
}

static inline void random_leaf(FILE *out, uint64_t *state) {
  static const char *const leaves[] = {"x", "x",   "x",   "x",   "a", "b",   "1",
                                       "2", "1/2", "1/3", "3/4", "5", "0.1", "1/16"};
  fputs(leaves[random_below(state, sizeof leaves / sizeof *leaves)], out);
}

/* Shapes that have a chance to be defined and of one sign: most are not, and that is meant too. */
static inline void random_term(FILE *out, uint64_t *state, int depth) {
  static const char *const shapes[] = {
      "(%+%)",       "(%+%)",       "(%-%)",     "%*%",       "%*%",           "%/(1 + %)",
      "%/%",         "(-%)",        "%^2",       "%^3",       "%^(1/2)",       "x^(%)",
      "x^a",         "x^b*%",       "%^(-1)",    "exp(%)",    "exp(-%)",       "log(1 + %)",
      "log(%)",      "log1p(%)",    "expm1(%)",  "sqrt(%)",   "sqrt(1 + %^2)", "abs(%)",
      "sgn(%)",      "tanh(%)",     "cosh(%)",   "sinh(%)",   "logcosh(%)",    "sigmoid(%)",
      "softplus(%)", "max(%, %)",   "sin(%)",    "cos(%)",    "xlogx(%)",      "x*log(x)*%",
      "(% - %)^2",   "(x - 1/2)^4", "(a^2 + %)", "1/(a + %)", "x^(5/2)",       "x^(1/3)",
  };
  if (depth == 0 || random_below(state, 6) == 0) {
    random_leaf(out, state);
    return;
  }
  for (const char *c = shapes[random_below(state, sizeof shapes / sizeof *shapes)]; *c; c++)
    if (*c == '%') {
      fputc('(', out);
      random_term(out, state, depth - 1);
      fputc(')', out);
    } else {
      fputc(*c, out);
    }
}

/* A separable potential with parameters a and b in ranges that may be unbounded. */
static inline char *random_potential(uint64_t *state, int depth) {
  static const char *const ranges[] = {"(0, 1) = 1/3", "(1, inf) = 2",  "(0, inf) = 1/4",
                                       "[1/2, 3] = 1", "(-1, 1) = 1/5", "[2, 2] = 2"};
  enum { RANGES = sizeof ranges / sizeof *ranges };
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  fprintf(out, "potential random\nparameter a in %s\nparameter b in %s\nvalue sum(",
          ranges[random_below(state, RANGES)], ranges[random_below(state, RANGES)]);
  random_term(out, state, depth);
  fputs(" + 0*x)\n", out);
  fclose(out);
  return text;
}

/* A number in the range, which is enclosed as a point. */
static inline void random_member(const phi_range *range, uint64_t *state, phibal_enclosure *z) {
  double u = random_unit(state);
  double lo = range->lo.infinite ? -20 : mpq_get_d(range->lo.value),
         hi = range->hi.infinite ? 20 : mpq_get_d(range->hi.value);
  if (range->hi.infinite && random_below(state, 2)) u = u < 0.02 ? u : u * u * u * u;
  double v = lo + (hi - lo) * u;
  if (random_below(state, 8) == 0 && range->lo.closed && !range->lo.infinite) v = lo;
  if (random_below(state, 8) == 0 && range->hi.closed && !range->hi.infinite) v = hi;
  phibal_enclosure_set_d(z, v);
}

#endif
