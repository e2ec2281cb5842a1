/* The one-argument binary32 cores against MPFR, on inputs from where they break; the exhaustive run
   over all 2^32 inputs is exhaustive.c's. */
#include "random.h"
#include "verify.h"
#include <core/exp.h>
#include <core/expm1.h>
#include <core/log.h>
#include <core/log1p.h>
#include <core/sigmoid.h>
#include <core/tanh.h>
#include <math.h>

/* Twice the longest run of equal bits that a binary32 function is known to show, and more. */
enum { PRECISION = 160, INPUTS = 512 };
enum { OPERATION_CORE = 64 };

enum {
  KIND_ANY_BITS,
  KIND_SMALL,
  KIND_AROUND_ONE,
  KIND_OVERFLOW,
  KIND_MODERATE,
  KIND_SPECIAL,
  KINDS
};

const char *verify_core_kind(uint64_t number) {
  static const char *const names[] = {"any-bits", "small",    "around-one",
                                      "overflow", "moderate", "special"};
  return names[number % KINDS];
}

static float choose_input(random_stream *r, uint64_t number) {
  static const float special[] = {0.0f,       -0.0f,       INFINITY,       -INFINITY,
                                  NAN,        1.0f,        -1.0f,          0x1p-149f,
                                  -0x1p-149f, 0x1p-126f,   0x1p127f,       88.722839f,
                                  88.72284f,  -103.97208f, -103.97207f,    -87.33655f,
                                  9.010913f,  -17.328678f, 0x1.fffffep-1f, 0x1.fffffep127f};
  switch (number % KINDS) {
  case KIND_ANY_BITS:
    return core_float((uint32_t)random_next(r));
  case KIND_SMALL:
    return (float)ldexp(random_uniform(r, -1, 1), (int)random_integer(r, -140, 0));
  case KIND_AROUND_ONE:
    return (float)(1 + ldexp(random_uniform(r, -1, 1), (int)random_integer(r, -23, 0)));
  case KIND_OVERFLOW:
    return (float)random_uniform(r, -110, 95);
  case KIND_MODERATE:
    return (float)random_uniform(r, -10, 10);
  default:
    return special[random_integer(r, 0, sizeof special / sizeof *special - 1)];
  }
}

typedef phibal_status (*core_truth)(phibal_enclosure *z, const phibal_enclosure *x);

static phibal_status truth_exp(phibal_enclosure *z, const phibal_enclosure *x) {
  phibal_enclosure_exp(z, x);
  return PHIBAL_OK;
}

static phibal_status truth_expm1(phibal_enclosure *z, const phibal_enclosure *x) {
  phibal_enclosure_expm1(z, x);
  return PHIBAL_OK;
}

static phibal_status truth_tanh(phibal_enclosure *z, const phibal_enclosure *x) {
  phibal_enclosure_tanh(z, x);
  return PHIBAL_OK;
}

static phibal_status truth_sigmoid(phibal_enclosure *z, const phibal_enclosure *x) {
  phibal_enclosure one;
  phibal_enclosure_init(&one, PRECISION);
  phibal_enclosure_set_si(&one, 1);
  phibal_enclosure_neg(z, x);
  phibal_enclosure_exp(z, z);
  phibal_status status = phibal_enclosure_add(z, z, &one);
  if (status == PHIBAL_OK) status = phibal_enclosure_div(z, &one, z);
  phibal_enclosure_clear(&one);
  return status;
}

static phibal_status verify_core(uint64_t seed, uint64_t number, output_id output,
                                 float (*core)(float), core_truth truth, tally *tallies) {
  random_stream r = random_start(seed, OPERATION_CORE + (uint64_t)output, number);
  phibal_enclosure x, z;
  phibal_enclosure_init(&x, 24);
  phibal_enclosure_init(&z, PRECISION);
  for (int64_t i = 0; i < INPUTS; i++) {
    float input = choose_input(&r, number), got = core(input);
    if (isnan(input)) {
      tally_integer(&tallies[output], i, 1, isnan(got));
      continue;
    }
    phibal_enclosure_set_d(&x, (double)input);
    if (truth(&z, &x) == PHIBAL_OK)
      tally_real(&tallies[output], i, &z, NULL, (double)got);
    else /* outside the domain */
      tally_integer(&tallies[output], i, 1, isnan(got));
  }
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&z);
  return PHIBAL_OK;
}

#define VERIFY_CORE(name, OUTPUT, truth)                                                           \
  phibal_status verify_core_##name(uint64_t seed, uint64_t number, tally *tallies) {               \
    return verify_core(seed, number, OUTPUT_##OUTPUT, core_##name, truth, tallies);                \
  }

VERIFY_CORE(exp, EXP, truth_exp)
VERIFY_CORE(expm1, EXPM1, truth_expm1)
VERIFY_CORE(log, LOG, phibal_enclosure_log)
VERIFY_CORE(log1p, LOG1P, phibal_enclosure_log1p)
VERIFY_CORE(tanh, TANH, truth_tanh)
VERIFY_CORE(sigmoid, SIGMOID, truth_sigmoid)
