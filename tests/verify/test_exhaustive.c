/* The exhaustive certification: a thin run of every core passes, and wrong cores are found. The
   cores it sees are replaced here by ones that can be told to err. */
#include "kernels/core/exp.h"
#include "kernels/core/expm1.h"
#include "kernels/core/log.h"
#include "kernels/core/log1p.h"
#include "kernels/core/sigmoid.h"
#include "kernels/core/sqrt_softplus.h"
#include "kernels/core/tanh.h"

/* x where the planted error is, and what it adds to the bits of the result. */
static uint32_t fault_at = 0x80000001u;
static uint32_t fault_span = 0; /* the inputs fault_at .. fault_at + fault_span - 1 */
static uint32_t fault_added = 0;

static float fault(float x, float y) {
  return core_bits32(x) - fault_at < fault_span ? core_float(core_bits32(y) + fault_added) : y;
}

#define FAULTY(name)                                                                               \
  static float faulty_##name(float x) {                                                            \
    return fault(x, core_##name(x));                                                               \
  }
FAULTY(exp)
FAULTY(expm1)
FAULTY(log)
FAULTY(log1p)
FAULTY(tanh)
FAULTY(sigmoid)
FAULTY(sqrt_softplus)
#define core_exp faulty_exp
#define core_expm1 faulty_expm1
#define core_log faulty_log
#define core_log1p faulty_log1p
#define core_tanh faulty_tanh
#define core_sigmoid faulty_sigmoid
#define core_sqrt_softplus faulty_sqrt_softplus
#include "verify/exhaustive.c"
#include <criterion/criterion.h>

static exhaustive_report run(const char *core, int stride) {
  exhaustive_report report;
  cr_assert_eq(exhaustive_run(core, stride, NULL, NULL, &report), PHIBAL_OK, "%s",
               phibal_status_message());
  return report;
}

Test(exhaustive, a_thin_run_of_every_core_passes) {
  for (int i = 0; exhaustive_core(i); i++) {
    exhaustive_report r = run(exhaustive_core(i), 977);
    cr_expect_eq(r.wrong, 0, "%s(%a) is wrong", exhaustive_core(i),
                 (double)core_float(r.wrong_input));
    cr_expect(r.inputs > (UINT64_C(1) << 32) / 1000);
    cr_expect(r.worst_ulp > 0.4999 && r.worst_ulp <= 0.5, "%s: %.9f ULP", exhaustive_core(i),
              r.worst_ulp);
  }
}

/* One wrong bit anywhere is found: the planted places lie in each kind of block (subnormal, small,
   ordinary, near the end, saturated, infinite, NaN, outside the domain), first and last. */
Test(exhaustive, one_wrong_result_is_found) {
  static const struct {
    const char *core;
    uint32_t at;
  } places[] = {
      {"exp", 0x3f800000},           {"exp", 0x3f801fff},           {"exp", 0x42b17218},
      {"exp", 0x7f000000},           {"exp", 0x7f800000},           {"exp", 0x7fffffff},
      {"exp", 0xc2cff1b5},           {"exp", 0x00000000},           {"expm1", 0x80000000},
      {"expm1", 0x00400000},         {"expm1", 0xff7fffff},         {"expm1", 0x00001234},
      {"log", 0x3f800000},           {"log", 0x3f7fffff},           {"log", 0x00000001},
      {"log", 0x80000001},           {"log", 0x7f7fffff},           {"log1p", 0xbf800000},
      {"log1p", 0xbf7fffff},         {"log1p", 0xbf800001},         {"log1p", 0x7f7fffff},
      {"tanh", 0x41102cb3},          {"tanh", 0x41102cb4},          {"tanh", 0xffffffff},
      {"sigmoid", 0xc2cff1b5},       {"sigmoid", 0x418aa123},       {"sigmoid", 0x00000003},
      {"sqrt-softplus", 0x00000003}, {"sqrt-softplus", 0x3f801234}, {"sqrt-softplus", 0x7f7fffff},
      {"sqrt-softplus", 0x7f800000}, {"sqrt-softplus", 0xff800000}, {"sqrt-softplus", 0xc34fd000},
      {"sqrt-softplus", 0xc2f00001}, {"sqrt-softplus", 0x80000001}, {"sqrt-softplus", 0xff7fffff},
  };
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    uint32_t place = places[i].at / BLOCK;
    /* Only the blocks around the planted input are run. */
    exhaustive_report report = {0};
    run_state s = {.report = &report};
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++)
      if (strcmp(trials[t].name, places[i].core) == 0) s.trial = &trials[t];
    workspace w;
    workspace_init(&w);
    for (int planted = 0; planted <= 1; planted++) {
      fault_at = places[i].at;
      fault_span = 1;
      fault_added = planted ? (i % 2 ? 1 : 0xffffffffu) : 0;
      for (uint32_t first = place * BLOCK; first / BLOCK == place;) {
        struct block b = {.first = first, .n = block_length(first)};
        check_block(&s, &w, &b);
        first += (uint32_t)b.n;
      }
      cr_expect_eq(report.wrong, (uint64_t)planted, "%s at %08x", places[i].core, places[i].at);
    }
    cr_expect_eq(report.wrong_input, places[i].at);
    workspace_clear(&w);
  }
  fault_span = 0;
}

/* A whole run counts what is wrong and names the first. */
Test(exhaustive, a_run_counts_wrong_results) {
  fault_at =
      0x3f800000u + 977 * BLOCK - 0x3f800000u / BLOCK % 977 * BLOCK; /* a block that is run */
  fault_span = 5;
  fault_added = 1;
  exhaustive_report r = run("sigmoid", 977);
  cr_expect_eq(r.wrong, 5);
  cr_expect_eq(r.wrong_input, fault_at);
  cr_expect(r.worst_ulp > 0.5);
  fault_span = 0;
}

Test(exhaustive, arguments_are_checked) {
  exhaustive_report report;
  cr_expect_eq(exhaustive_run("cosh", 1, NULL, NULL, &report), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(exhaustive_run("exp", 0, NULL, NULL, &report), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(exhaustive_run(NULL, 1, NULL, NULL, &report), PHIBAL_ERROR_ARGUMENT);
}

/* The table of hard inputs is what the search finds: of one core here, as all take a minute. Which
   wrong search would pass? One that forgets a binade without any of the forty. */
Test(exhaustive, hardest, .timeout = 280) {
  static const uint32_t table[] = {
#define PHIBAL_HARD(ID, bits) CORE_##ID(bits)
#define CORE_SIGMOID(bits) bits,
#define CORE_EXP(bits)
#define CORE_EXPM1(bits)
#define CORE_LOG(bits)
#define CORE_LOG1P(bits)
#define CORE_TANH(bits)
#define CORE_SQRT_SOFTPLUS(bits)
#include "verify/hard_inputs.def"
  };
  enum { COUNT = sizeof table / sizeof *table };
  exhaustive_hard found[COUNT];
  cr_assert_eq(exhaustive_hardest("sigmoid", COUNT, found), PHIBAL_OK);
  for (int i = 0; i < COUNT; i++)
    cr_assert_eq(found[i].input, table[i], "%d: %08x, not %08x", i, found[i].input, table[i]);
  cr_assert_neq(exhaustive_hardest("sinh", COUNT, found), PHIBAL_OK);
}
