/* The one-argument binary32 cores against MPFR, on inputs from where they break; the exhaustive run
   over all 2^32 inputs is exhaustive.c's. */
#include "judgement.h"
#include "kernels/core/exp.h"
#include "kernels/core/expm1.h"
#include "kernels/core/log.h"
#include "kernels/core/log1p.h"
#include "kernels/core/sigmoid.h"
#include "kernels/core/sqrt_softplus.h"
#include "kernels/core/tanh.h"
#include <math.h>

/* Twice the longest run of equal bits that a binary32 function is known to show, and more. */
enum { PRECISION = 160, INPUTS = 512, SMALL_INPUTS = 4 };
enum { STREAM_CORE = 64 };

enum {
  KIND_ANY_BITS,
  KIND_SMALL,
  KIND_AROUND_ONE,
  KIND_OVERFLOW,
  KIND_MODERATE,
  KIND_SPECIAL,
  KIND_HARD,
  KIND_HARD_ALSO,
  KINDS
};

/* OUTPUT_EXP and so on, and an input whose value is nearly the middle of two numbers. */
static const struct {
  output_id output;
  uint32_t bits;
} hard_inputs[] = {
#define PHIBAL_HARD(ID, bits) {OUTPUT_##ID, bits},
#include "hard_inputs.def"
#undef PHIBAL_HARD
};

const char *operation_kind_core(uint64_t number) {
  static const char *const names[] = {"any-bits",      "small-arguments", "around-one",
                                      "overflow",      "ordinary",        "special-values",
                                      "hard-to-round", "hard-to-round"};
  return names[number % KINDS];
}

/* Rows of functions that came later stand behind the others, which do not draw among them: so each
   case stays what it is. */
static float choose_hard(random_stream *r, output_id output) {
  int64_t rows = sizeof hard_inputs / sizeof *hard_inputs, i;
  while (output != OUTPUT_SQRT_SOFTPLUS && hard_inputs[rows - 1].output == OUTPUT_SQRT_SOFTPLUS)
    rows--;
  do i = random_integer(r, 0, rows - 1);
  while (hard_inputs[i].output != output);
  return core_float(hard_inputs[i].bits);
}

static float choose_input(random_stream *r, uint64_t number, output_id output) {
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
  case KIND_HARD:
  case KIND_HARD_ALSO:
    return choose_hard(r, output);
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

static phibal_status truth_sqrt_softplus(phibal_enclosure *z, const phibal_enclosure *x) {
  const bool positive = phibal_enclosure_is_positive(x);
  if (positive)
    phibal_enclosure_neg(z, x);
  else
    phibal_enclosure_set(z, x);
  phibal_enclosure_exp(z, z);
  phibal_status status = phibal_enclosure_log1p(z, z);
  if (status == PHIBAL_OK && positive) status = phibal_enclosure_add(z, z, x);
  return status == PHIBAL_OK ? phibal_enclosure_sqrt(z, z) : status;
}

static phibal_status core_make(operation_case *c, output_id output) {
  random_stream r = random_start(c->seed, STREAM_CORE + (uint64_t)output, c->number);
  int64_t n = case_is_small(c->number) ? SMALL_INPUTS : INPUTS;
  float *x = case_add_input(c, "x", TENSOR_F32, 1, n);
  case_add_output(c, output, "value", TENSOR_F32, 1, n);
  for (int64_t i = 0; x && i < n; i++) x[i] = choose_input(&r, c->number, output);
  return PHIBAL_OK;
}

static phibal_status core_expected(const operation_case *c, judgement *j, output_id output,
                                   core_truth truth) {
  const float *input = case_input_data(c, "x");
  const tensor *value = case_output(c, "value");
  phibal_enclosure x, z;
  phibal_enclosure_init(&x, 24);
  phibal_enclosure_init(&z, PRECISION);
  for (int64_t i = 0; i < tensor_size(value); i++) {
    if (isnan(input[i])) {
      judge_nan(j, output, value, i);
      continue;
    }
    phibal_enclosure_set_d(&x, (double)input[i]);
    if (truth(&z, &x) == PHIBAL_OK)
      judge_real(j, output, value, i, &z, NULL);
    else /* outside the domain */
      judge_nan(j, output, value, i);
  }
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&z);
  return PHIBAL_OK;
}

static phibal_status core_run(operation_case *c, float (*core)(float)) {
  const tensor *x = case_input(c, "x");
  float *value = case_output_data(c, "value");
  for (int64_t i = 0; i < tensor_size(x); i++) value[i] = core(((const float *)x->data)[i]);
  return PHIBAL_OK;
}

#define OPERATION_OF_CORE(name, OUTPUT, truth)                                                     \
  phibal_status operation_##name##_make(operation_case *c) {                                       \
    return core_make(c, OUTPUT_##OUTPUT);                                                          \
  }                                                                                                \
  phibal_status operation_##name##_expected(const operation_case *c, judgement *j) {               \
    return core_expected(c, j, OUTPUT_##OUTPUT, truth);                                            \
  }                                                                                                \
  phibal_status operation_##name##_cpu(operation_case *c) {                                        \
    return core_run(c, core_##name);                                                               \
  }

OPERATION_OF_CORE(exp, EXP, truth_exp)
OPERATION_OF_CORE(expm1, EXPM1, truth_expm1)
OPERATION_OF_CORE(log, LOG, phibal_enclosure_log)
OPERATION_OF_CORE(log1p, LOG1P, phibal_enclosure_log1p)
OPERATION_OF_CORE(tanh, TANH, truth_tanh)
OPERATION_OF_CORE(sigmoid, SIGMOID, truth_sigmoid)
OPERATION_OF_CORE(sqrt_softplus, SQRT_SOFTPLUS, truth_sqrt_softplus)
