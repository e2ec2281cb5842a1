/* What Eva runs for memory.py: enclosures, numbers and the room of a token's results, with any
   arguments. Any malloc may fail, but MPFR and GMP end the program then. WHICH is one of the last
   functions here. */
#include <phibal/precision.h>
#include <phibal/reference_moe.h>
#include <stdlib.h>

enum { SIZE = 6, N = 2, PRECISION = 53 };

extern volatile int some_int;
extern volatile long some_long;
extern volatile char some_char;
extern volatile double some_double;

static long any(void) {
  return some_long;
}

static long any_between(long low, long high) {
  const long n = some_long;
  return n < low ? low : n > high ? high : n;
}

static double any_double(void) {
  return some_double;
}

static unsigned long read_limb(const unsigned long *limb) {
  return *limb;
}

static unsigned long *limb(void) {
  unsigned long *made = malloc(sizeof *made);
  if (!made) abort();
  return made;
}

FUNCTIONS_OF_MPFR_AND_GMP;

phibal_status phibal_status_set(phibal_status status, const char *format, ...) {
  (void)format;
  return status;
}

static void any_enclosures(int n, phibal_enclosure *x) {
  for (int i = 0; i < n; i++) {
    phibal_enclosure_init(&x[i], PRECISION);
    phibal_enclosure_set_si(&x[i], some_long);
  }
}

static void clear_enclosures(int n, phibal_enclosure *x) {
  for (int i = 0; i < n; i++) phibal_enclosure_clear(&x[i]);
}

static void numbers(void) {
  char text[SIZE + 1], lo[64], hi[64];
  for (int i = 0; i < SIZE; i++) text[i] = some_char;
  text[SIZE] = 0;
  phibal_enclosure z;
  phibal_enclosure_init(&z, PRECISION);
  phibal_enclosure_set_str(&z, text);
  phibal_enclosure_get_decimal(&z, 6, lo, hi, sizeof lo);
  phibal_enclosure_clear(&z);
  if (phibal_enclosure_create(&z, PRECISION) == PHIBAL_OK) phibal_enclosure_clear(&z);
  phibal_enclosure *v = phibal_enclosure_vector(N, PRECISION);
  if (v) phibal_enclosure_set_d(&v[N - 1], some_double);
  phibal_enclosure_vector_clear(v, N);
}

/* The result may be an argument. */
static void operations(void) {
  phibal_enclosure x[3];
  any_enclosures(3, x);
  phibal_enclosure *z = some_int ? &x[0] : some_int ? &x[1] : &x[2];
  phibal_enclosure_add(z, &x[0], &x[1]);
  phibal_enclosure_sub(z, &x[0], &x[1]);
  phibal_enclosure_mul(z, &x[0], &x[1]);
  phibal_enclosure_div(z, &x[0], &x[1]);
  phibal_enclosure_pow(z, &x[0], &x[1]);
  phibal_enclosure_hull(z, &x[0], &x[1]);
  phibal_enclosure_swap(z, &x[0]);
  phibal_enclosure_neg(z, &x[0]);
  phibal_enclosure_abs(z, &x[0]);
  phibal_enclosure_sqrt(z, &x[0]);
  phibal_enclosure_exp(z, &x[0]);
  phibal_enclosure_expm1(z, &x[0]);
  phibal_enclosure_log(z, &x[0]);
  phibal_enclosure_log1p(z, &x[0]);
  phibal_enclosure_tanh(z, &x[0]);
  phibal_enclosure_sum(&x[2], 2, x);
  mpfr_t width;
  mpfr_init2(width, PRECISION);
  phibal_enclosure_width(width, &x[0]);
  mpfr_clear(width);
  clear_enclosures(3, x);
}

static void tokens(void) {
  phibal_reference_token token;
  if (phibal_reference_token_init(&token, N, 1, PRECISION) == PHIBAL_OK)
    phibal_reference_token_clear(&token);
}

int main(void) {
  WHICH();
  return 0;
}
