/* phibal_environment_changed, for every setting that it names. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <omp.h>
#include <phibal/balance.h>
#include <phibal/environment.h>
#include <phibal/expert.h>
#include <phibal/metrics.h>
#include <phibal/router.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

Test(environment, the_default_is_no_change) {
  cr_assert_null(phibal_environment_changed());
  volatile double zero = 0, one = 1;
  cr_assert(one / zero > 0);
  cr_assert_null(phibal_environment_changed(), "a sticky flag is no change");
}

Test(environment, every_rounding_is_named) {
  static const struct {
    int mode;
    const char *name;
  } roundings[] = {{FE_UPWARD, "rounding upward"},
                   {FE_DOWNWARD, "rounding downward"},
                   {FE_TOWARDZERO, "rounding towards zero"}};
  for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++) {
    fesetround(roundings[i].mode);
    cr_assert_str_eq(phibal_environment_changed(), roundings[i].name);
    phibal_environment_reset();
    cr_assert_null(phibal_environment_changed());
    cr_assert_eq(fegetround(), FE_TONEAREST);
  }
}

Test(environment, traps_are_named) {
  if (feenableexcept(FE_DIVBYZERO) < 0 || fegetexcept() == 0) cr_skip_test("no traps here");
  cr_assert_str_eq(phibal_environment_changed(), "trapping exceptions");
  phibal_environment_reset();
  cr_assert_null(phibal_environment_changed());
  cr_assert_eq(fegetexcept(), 0);
}

/* Every kernel of floating-point numbers, on one token and two experts: the first status that is
   not `expected`. */
static const char *wrong_kernel(phibal_status expected) {
  const phibal_router router = {2, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  const phibal_ffn ffn = {1, 1, 1, PHIBAL_ACTIVATION_SILU};
  const float two[] = {0.25f, 0.75f}, one[] = {1.0f};
  const double doubles[] = {0.25, 0.75};
  const int64_t counts[] = {1, 1}, offsets[] = {0, 1}, row[] = {0};
  float out[2] = {0}, a[2] = {1}, b[2] = {1}, h[2] = {1}, y[2] = {0}, g1[2] = {0}, g2[2] = {0};
  float g3[2] = {0}, g4[2] = {0}, g5[2] = {0}, probabilities[2], gate[1], bias[2] = {0};
  int32_t expert[] = {1};
  double number;
  phibal_potential phi;
  phibal_loads loads, counted;
  cr_assert_eq(phibal_potential_find("negentropy", &phi), PHIBAL_OK);
  cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
  cr_assert_eq(phibal_loads_create(&router, &counted), PHIBAL_OK);
  counted.tokens = 1;
  const struct {
    const char *name;
    phibal_status status;
  } kernels[] = {
      {"ema", phibal_ema(2, 0.5f, two, two, out)},
      {"price", phibal_price(&phi, 2, two, out, NULL)},
      {"price_centred", phibal_price_centred(&phi, 2, two, out, NULL)},
      {"balance_loss", phibal_balance_loss(&phi, 2, 0.5, two, two, out)},
      {"switch_loss", phibal_switch_loss(2, 0.5, two, two, out)},
      {"frequency_centred", phibal_frequency_centred(2, two, out)},
      {"z_loss", phibal_z_loss(2, 0.5, two, NULL, out)},
      {"loss_free_update", phibal_loss_free_update(2, 0.5f, counts, bias)},
      {"maxvio_counts", phibal_maxvio_counts(2, counts, &number)},
      {"maxvio_mean", phibal_maxvio_mean(2, two, &number)},
      {"gini", phibal_gini(2, doubles, &number)},
      {"entropy", phibal_entropy(2, doubles, &number)},
      {"loads_mean", phibal_loads_mean(&counted, out)},
      {"loads_frequency", phibal_loads_frequency(&counted, out)},
      {"router_forward", phibal_router_forward(&router, 1, two, NULL, NULL, probabilities, expert,
                                               gate, NULL, &loads)},
      {"router_backward",
       phibal_router_backward(&router, 1, two, NULL, expert, one, NULL, 0.0, 0.0, out)},
      {"combine", phibal_combine(1, 1, 1, row, one, one, y)},
      {"combine_backward", phibal_combine_backward(1, 1, 1, row, one, one, one, g1, g2)},
      {"ffn_forward", phibal_ffn_forward(&ffn, offsets, one, one, one, one, a, b, h, y)},
      {"ffn_backward",
       phibal_ffn_backward(&ffn, offsets, one, one, one, one, a, b, h, one, g1, g2, g3, g4, g5)},
  };
  phibal_loads_destroy(&loads);
  phibal_loads_destroy(&counted);
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (kernels[i].status != expected) return kernels[i].name;
  return NULL;
}

Test(environment, kernels_refuse_another) {
  const char *wrong = wrong_kernel(PHIBAL_OK);
  cr_assert_null(wrong, "%s does not work", wrong);
  fesetround(FE_UPWARD);
  wrong = wrong_kernel(PHIBAL_ERROR_UNSUPPORTED);
  cr_assert_null(wrong, "%s computes under another rounding", wrong);
  cr_assert(strstr(phibal_status_message(), "rounding upward"));
  cr_assert_eq(fegetround(), FE_UPWARD, "a kernel has changed its caller's environment");
  phibal_environment_reset();
  cr_assert_null(wrong_kernel(PHIBAL_OK));
}

/* One thread of a team is another; its number is that of the test, so that no thread is special. */
static void change_thread(int number) {
#pragma omp parallel num_threads(3)
  if (omp_get_thread_num() == number) fesetround(FE_DOWNWARD);
}

Test(environment, every_thread_is_looked_at) {
  enum { EXPERTS = 64, WIDTH = 4, TOKENS = 4096 };
  static float x[TOKENS * WIDTH], w[EXPERTS * WIDTH], out[4][TOKENS * WIDTH], y[TOKENS * WIDTH];
  static float logits[TOKENS * EXPERTS], gates[TOKENS];
  static int32_t routed[TOKENS];
  static int64_t offsets[EXPERTS + 1], row[TOKENS];
  const phibal_router router = {EXPERTS, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  const phibal_ffn ffn = {EXPERTS, WIDTH, 1, PHIBAL_ACTIVATION_GELU};
  for (int e = 0; e <= EXPERTS; e++) offsets[e] = e * (TOKENS / EXPERTS);
  for (int t = 0; t < TOKENS; t++) row[t] = t, gates[t] = 1.0f;
  omp_set_dynamic(0);
  omp_set_num_threads(3);
  for (int number = 0; number < 3; number++)
    for (int kernel = 0; kernel < 5; kernel++) {
      phibal_loads loads;
      cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
      change_thread(number);
      phibal_status status =
          kernel == 0   ? phibal_router_forward(&router, TOKENS, logits, NULL, NULL, NULL, routed,
                                                gates, NULL, &loads)
          : kernel == 1 ? phibal_router_backward(&router, TOKENS, logits, NULL, routed, gates, NULL,
                                                 0.0, 0.0, logits)
          : kernel == 2 ? phibal_combine(TOKENS, 1, WIDTH, row, gates, x, y)
          : kernel == 3 ? phibal_ffn_forward(&ffn, offsets, x, w, w, w, out[0], out[1], out[2], y)
                        : phibal_environment_check_threads("the test");
      cr_assert_eq(status, PHIBAL_ERROR_UNSUPPORTED, "kernel %d, thread %d", kernel, number);
      cr_assert(strstr(phibal_status_message(), "rounding downward"), "%s",
                phibal_status_message());
      /* Until they are set back nothing is computed. */
      cr_assert_eq(phibal_ema(1, 1.0f, gates, gates, y), PHIBAL_ERROR_UNSUPPORTED);
      cr_assert_str_eq(phibal_environment_reset_threads(), "rounding downward");
      cr_assert_null(phibal_environment_reset_threads());
      cr_assert_eq(phibal_environment_check_threads("the test"), PHIBAL_OK);
      cr_assert_eq(phibal_ema(1, 1.0f, gates, gates, y), PHIBAL_OK);
      phibal_loads_destroy(&loads);
    }
}

Test(environment, the_first_that_is_noted_is_named) {
  phibal_environment_watch("nothing");
  cr_assert_eq(phibal_environment_check("the test"), PHIBAL_OK);
  fesetround(FE_UPWARD);
  phibal_environment_watch("the first");
  fesetround(FE_DOWNWARD);
  phibal_environment_watch("the second");
  fesetround(FE_TONEAREST);
  cr_assert_eq(phibal_environment_check("the test"), PHIBAL_ERROR_UNSUPPORTED);
  cr_assert(
      strstr(phibal_status_message(), "the test: rounding upward is set, found after the first"));
  phibal_environment_reset();
  cr_assert_eq(phibal_environment_check("the test"), PHIBAL_OK);
}

static void *look(void *name) {
  *(const char **)name = phibal_environment_changed();
  return NULL;
}

#if defined(__x86_64__)
#include <xmmintrin.h>

Test(environment, zeros_for_subnormals_are_named) {
  _mm_setcsr(_mm_getcsr() | 0x8000);
  cr_assert_str_eq(phibal_environment_changed(), "flush-to-zero");
  phibal_environment_reset();
  _mm_setcsr(_mm_getcsr() | 0x0040);
  cr_assert_str_eq(phibal_environment_changed(), "denormals-are-zero");
  /* Threads have the environment of the one that starts them: before the reset, and after it. */
  pthread_t thread;
  const char *name = NULL;
  pthread_create(&thread, NULL, look, &name);
  pthread_join(thread, NULL);
  cr_assert_str_eq(name, "denormals-are-zero");
  phibal_environment_reset();
  pthread_create(&thread, NULL, look, &name);
  pthread_join(thread, NULL);
  cr_assert_null(name);
}

/* The registers of long double alone. */
Test(environment, x87_is_looked_at) {
  unsigned short word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  word = (unsigned short)(word | 0x0800);
  __asm__ volatile("fldcw %0" : : "m"(word));
  cr_assert_str_eq(phibal_environment_changed(), "rounding upward");
  phibal_environment_reset();
  word = 0x027f; /* to binary64 */
  __asm__ volatile("fldcw %0" : : "m"(word));
  cr_assert_str_eq(phibal_environment_changed(), "reduced x87 precision");
  phibal_environment_reset();
  cr_assert_null(phibal_environment_changed());
}
#endif
