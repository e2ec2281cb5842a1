/* phibal_environment_changed, for every setting that it names. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <phibal/environment.h>
#include <pthread.h>
#include <stdio.h>

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
