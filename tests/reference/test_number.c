/* Numbers in and out as text: read exactly, refused with a reason, written outward. The judge is
   exact rational arithmetic. */
#include <phibal/enclosure.h>
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* z is the tightest enclosure of q: each end on its side, and the next number inward not. */
static bool is_tightest(const phibal_enclosure *z, mpq_srcptr q) {
  mpfr_t above, below;
  mpfr_init2(above, mpfr_get_prec(z->lo));
  mpfr_init2(below, mpfr_get_prec(z->hi));
  mpfr_set(above, z->lo, MPFR_RNDN);
  mpfr_nextabove(above);
  mpfr_set(below, z->hi, MPFR_RNDN);
  mpfr_nextbelow(below);
  bool tightest = mpfr_cmp_q(z->lo, q) <= 0 && mpfr_cmp_q(z->hi, q) >= 0 &&
                  mpfr_cmp_q(above, q) > 0 && mpfr_cmp_q(below, q) < 0;
  mpfr_clears(above, below, (mpfr_ptr)0);
  return tightest;
}

/* The exact value as GMP's numerator/denominator. */
static const char *good[][2] = {
    {"0", "0"},
    {"-0", "0"},
    {"0e5", "0"},
    {"0.000e-999999999999", "0"},
    {"7", "7"},
    {"+7", "7"},
    {"-7", "-7"},
    {"007", "7"},
    {"0.1", "1/10"},
    {".5", "1/2"},
    {"5.", "5"},
    {"-0.25", "-1/4"},
    {"1.5e-3", "3/2000"},
    {"1.5E-3", "3/2000"},
    {"1.5e+3", "1500"},
    {"12.34e1", "617/5"},
    {"1e20", "100000000000000000000"},
    {"123456789012345678901234567890.5", "246913578024691357802469135781/2"},
    {"1/3", "1/3"},
    {"-7/9", "-7/9"},
    {"+2/4", "1/2"},
    {"0/5", "0"},
    {"0.5/3", "1/6"},
    {"1e-2/0x1p-1", "1/50"},
    {"0x10", "16"},
    {"0X1.8P-10", "3/2048"},
    {"0x1.8p-10", "3/2048"},
    {"-0x.8", "-1/2"},
    {"0xAb.cDp+4", "43981/16"},
    {"0x1e5", "485"},
    {"0x1p0", "1"},
    {"\t 3 \n", "3"},
};

Test(number, read_exactly) {
  static const mpfr_prec_t precisions[] = {1, 4, 53, 300};
  mpq_t q;
  mpq_init(q);
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    for (size_t p = 0; p < 4; p++) {
      phibal_enclosure z;
      phibal_enclosure_init(&z, precisions[p]);
      cr_assert_eq(mpq_set_str(q, good[i][1], 10), 0);
      cr_assert_eq(phibal_enclosure_set_str(&z, good[i][0]), PHIBAL_OK, "'%s': %s", good[i][0],
                   phibal_status_message());
      cr_assert(is_tightest(&z, q), "'%s' at %ld bits", good[i][0], (long)precisions[p]);
      phibal_enclosure_clear(&z);
    }
  mpq_clear(q);
}

/* 10^e and 2^e at the largest exponents that are accepted. */
Test(number, largest_exponents) {
  static const struct {
    const char *text;
    unsigned long base, exponent;
    bool inverted;
  } cases[] = {
      {"1e100000", 10, 100000, false},
      {"1e-100000", 10, 100000, true},
      {"0x1p400000", 2, 400000, false},
      {"0x1p-400000", 2, 400000, true},
  };
  mpq_t q;
  mpq_init(q);
  phibal_enclosure z;
  phibal_enclosure_init(&z, 64);
  for (size_t i = 0; i < 4; i++) {
    mpz_ui_pow_ui(mpq_numref(q), cases[i].base, cases[i].exponent);
    mpz_set_ui(mpq_denref(q), 1);
    if (cases[i].inverted) mpq_inv(q, q);
    cr_assert_eq(phibal_enclosure_set_str(&z, cases[i].text), PHIBAL_OK);
    cr_assert(is_tightest(&z, q), "%s", cases[i].text);
  }
  phibal_enclosure_clear(&z);
  mpq_clear(q);
}

Test(number, infinities) {
  static const char *texts[] = {"inf", "+inf", "-inf", "INF", "Infinity", "-iNfInItY", " inf "};
  phibal_enclosure z;
  phibal_enclosure_init(&z, 10);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    cr_assert_eq(phibal_enclosure_set_str(&z, texts[i]), PHIBAL_OK, "%s", texts[i]);
    int sign = texts[i][0] == '-' ? -1 : 1;
    cr_assert(mpfr_inf_p(z.lo) && mpfr_inf_p(z.hi));
    cr_assert(mpfr_sgn(z.lo) == sign && mpfr_sgn(z.hi) == sign);
  }
  phibal_enclosure_clear(&z);
}

/* Text, and what the message must say of it. */
static const char *bad[][2] = {
    {"", "a number is wanted at character 1"},
    {"   ", "wanted"},
    {"-", "wanted at character 2"},
    {"+-1", "wanted at character 2"},
    {"abc", "'abc'"},
    {"nan", "wanted at character 1"},
    {"-nan", "wanted at character 2"},
    {"infi", "wanted at character 1"},
    {"1.2.3", "unexpected at character 4"},
    {"1 2", "unexpected at character 2"},
    {"1,5", "unexpected at character 2"},
    {"1e", "exponent has no digits at character 3"},
    {"1e+", "exponent has no digits at character 4"},
    {"1e1.5", "unexpected at character 4"},
    {"0x", "wanted at character 3"},
    {"0xg", "wanted at character 3"},
    {"0x1p", "exponent has no digits at character 5"},
    {"0x1pa", "exponent has no digits at character 5"},
    {"1p5", "unexpected at character 2"},
    {"5f", "unexpected at character 2"},
    {".", "wanted at character 2"},
    {"1/", "wanted at character 3"},
    {"/3", "wanted at character 1"},
    {"1/0", "denominator is 0 at character 3"},
    {"0/0.0e7", "denominator is 0 at character 3"},
    {"1/-3", "wanted at character 3"},
    {"1/2/3", "unexpected at character 4"},
    {"1/inf", "wanted at character 3"},
    {"1e999999999", "10^100000"},
    {"1e-999999999", "10^-100000"},
    {"1e99999999999999999999999999", "10^100000"},
    {"1e-99999999999999999999999999", "10^-100000"},
    {"1e100001", "10^100000"},
    {"0.1e-100000", "10^-100000"},
    {"0x1p400001", "2^400000"},
    {"0x0.1p-399997", "2^-400000"},
    {"1/1e999999999", "10^100000"},
};

Test(number, refused_with_a_reason) {
  phibal_enclosure z;
  phibal_enclosure_init(&z, 10);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    phibal_enclosure_set_si(&z, 77);
    cr_assert_eq(phibal_enclosure_set_str(&z, bad[i][0]), PHIBAL_ERROR_FORMAT, "'%s'", bad[i][0]);
    cr_assert(strstr(phibal_status_message(), bad[i][1]), "'%s': %s", bad[i][0],
              phibal_status_message());
    cr_assert(mpfr_cmp_ui(z.lo, 77) == 0 && mpfr_cmp_ui(z.hi, 77) == 0);
  }
  cr_assert_eq(phibal_enclosure_set_str(&z, NULL), PHIBAL_ERROR_ARGUMENT);
  phibal_enclosure_clear(&z);
}

/* Long texts: all digits are read, and a refusal stays short. */
Test(number, long_texts) {
  enum { DIGITS = 5000 };
  char *text = malloc(DIGITS + 10);
  text[0] = '0';
  text[1] = '.';
  memset(text + 2, '3', DIGITS);
  strcpy(text + 2 + DIGITS, "4");
  mpq_t q;
  mpq_init(q);
  mpz_set_str(mpq_numref(q), text + 2, 10);
  mpz_ui_pow_ui(mpq_denref(q), 10, DIGITS + 1);
  phibal_enclosure z;
  phibal_enclosure_init(&z, 20000);
  cr_assert_eq(phibal_enclosure_set_str(&z, text), PHIBAL_OK);
  mpq_canonicalize(q);
  cr_assert(is_tightest(&z, q));
  strcpy(text + 2 + DIGITS, "x");
  cr_assert_eq(phibal_enclosure_set_str(&z, text), PHIBAL_ERROR_FORMAT);
  cr_assert(strstr(phibal_status_message(), "unexpected at character 5003"));
  phibal_enclosure_clear(&z);
  mpq_clear(q);
  free(text);
}

static const struct {
  const char *number;
  int digits;
  const char *lo, *hi;
} written[] = {
    {"0", 5, "0", "0"},
    {"-0", 5, "0", "0"},
    {"inf", 5, "inf", "inf"},
    {"-inf", 1, "-inf", "-inf"},
    {"0.5", 10, "0.5", "0.5"},
    {"1", 1, "1", "1"},
    {"1/3", 1, "0.3", "0.4"},
    {"1/3", 5, "0.33333", "0.33334"},
    {"-1/3", 5, "-0.33334", "-0.33333"},
    {"2/3", 3, "0.666", "0.667"},
    {"0.99999", 3, "0.999", "1"},
    {"-0.99999", 3, "-1", "-0.999"},
    {"99.99", 3, "99.9", "100"},
    {"123456", 6, "123456", "123456"},
    {"123456", 5, "1.2345e5", "1.2346e5"},
    {"1200", 4, "1200", "1200"},
    {"1200", 3, "1.2e3", "1.2e3"},
    {"1200", 2, "1.2e3", "1.2e3"},
    {"1200", 1, "1e3", "2e3"},
    {"1000000", 3, "1e6", "1e6"},
    {"-1024.5", 6, "-1024.5", "-1024.5"},
    {"0x1p-10", 12, "0.0009765625", "0.0009765625"},
    {"1/65536", 4, "0.00001525", "0.00001526"},
    {"1/131072", 4, "7.629e-6", "7.63e-6"},
    {"0x1p-1000", 3, "9.33e-302", "9.34e-302"},
    {"-0x1p1000", 3, "-1.08e301", "-1.07e301"},
    {"1e19", 20, "10000000000000000000", "10000000000000000000"},
};

Test(number, written_as_expected) {
  phibal_enclosure z;
  phibal_enclosure_init(&z, 100);
  for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
    char lo[PHIBAL_DECIMAL_SIZE(20)], hi[PHIBAL_DECIMAL_SIZE(20)];
    cr_assert_eq(phibal_enclosure_set_str(&z, written[i].number), PHIBAL_OK);
    cr_assert_eq(phibal_enclosure_get_decimal(&z, written[i].digits, lo, hi, sizeof lo), PHIBAL_OK);
    cr_assert_str_eq(lo, written[i].lo);
    cr_assert_str_eq(hi, written[i].hi);
  }
  phibal_enclosure_clear(&z);
}

/* q = the decimal text, by GMP alone. */
static void read_decimal(mpq_ptr q, const char *text) {
  char digits[512];
  size_t n = 0;
  long exponent = 0;
  bool point = false;
  for (; *text && *text != 'e'; text++) {
    if (*text == '.') {
      point = true;
      continue;
    }
    digits[n++] = *text;
    exponent -= point;
  }
  digits[n] = 0;
  if (*text == 'e') exponent += atol(text + 1);
  mpz_set_str(mpq_numref(q), digits, 10);
  mpz_ui_pow_ui(mpq_denref(q), 10, (unsigned long)labs(exponent));
  if (exponent > 0) {
    mpz_mul(mpq_numref(q), mpq_numref(q), mpq_denref(q));
    mpz_set_ui(mpq_denref(q), 1);
  }
  mpq_canonicalize(q);
}

/* |exact - text| < 10^(1-digits) |exact|, on the right side, with no more than `digits` digits. */
static void check_written(const char *text, mpfr_srcptr exact, int digits, int side) {
  mpq_t q, e, limit;
  mpq_inits(q, e, limit, NULL);
  read_decimal(q, text);
  mpfr_get_q(e, exact);
  mpq_sub(q, e, q);
  cr_assert(mpq_sgn(q) * side >= 0, "%s is on the wrong side", text);
  mpz_ui_pow_ui(mpq_denref(limit), 10, (unsigned long)digits - 1);
  mpz_set_ui(mpq_numref(limit), 1);
  mpq_mul(limit, limit, e);
  mpq_abs(limit, limit);
  mpq_abs(q, q);
  cr_assert(mpq_cmp(q, limit) < 0 || mpq_sgn(e) == 0, "%s is too far", text);
  int significant = 0;
  for (const char *c = text; *c && *c != 'e'; c++)
    if (isdigit((unsigned char)*c) && (significant || *c != '0')) significant++;
  cr_assert_leq(significant, digits, "%s", text);
  mpq_clears(q, e, limit, NULL);
}

Test(number, written_outward) {
  gmp_randstate_t state;
  gmp_randinit_default(state);
  gmp_randseed_ui(state, 11);
  phibal_enclosure z;
  phibal_enclosure_init(&z, 80);
  for (int i = 0; i < 5000; i++) {
    mpfr_urandomb(z.lo, state);
    mpfr_mul_2si(z.lo, z.lo, (long)gmp_urandomm_ui(state, 401) - 200, MPFR_RNDN);
    if (i % 3 == 0) mpfr_neg(z.lo, z.lo, MPFR_RNDN);
    mpfr_add_d(z.hi, z.lo, 1e-9, MPFR_RNDU);
    int digits = 1 + (int)gmp_urandomm_ui(state, 40);
    char lo[PHIBAL_DECIMAL_SIZE(40)], hi[PHIBAL_DECIMAL_SIZE(40)];
    cr_assert_eq(phibal_enclosure_get_decimal(&z, digits, lo, hi, sizeof lo), PHIBAL_OK);
    check_written(lo, z.lo, digits, 1);
    check_written(hi, z.hi, digits, -1);
    cr_assert_lt(strlen(lo), PHIBAL_DECIMAL_SIZE(digits));
  }
  phibal_enclosure_clear(&z);
  gmp_randclear(state);
}

Test(number, room_for_the_longest) {
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  const struct {
    mpfr_exp_t emin, emax;
    const char *most_negative, *least_positive;
  } ranges[] = {{MPFR_EMIN_DEFAULT, MPFR_EMAX_DEFAULT, "-2.1e323228496", "2.39e-323228497"},
                {mpfr_get_emin_min(), mpfr_get_emax_max(), "-5.88e1388255822130839282",
                 "8.51e-1388255822130839284"}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    mpfr_set_emin(ranges[i].emin);
    mpfr_set_emax(ranges[i].emax);
    phibal_enclosure z;
    phibal_enclosure_init(&z, 64);
    char lo[PHIBAL_DECIMAL_SIZE(3) + 1], hi[PHIBAL_DECIMAL_SIZE(3) + 1];
    memset(lo, '#', sizeof lo);
    mpfr_set_inf(z.lo, -1);
    mpfr_nextabove(z.lo);
    mpfr_set_zero(z.hi, 1);
    mpfr_nextabove(z.hi);
    cr_assert_eq(phibal_enclosure_get_decimal(&z, 3, lo, hi, sizeof lo - 1), PHIBAL_OK);
    cr_assert_str_eq(lo, ranges[i].most_negative);
    cr_assert_eq(lo[sizeof lo - 1], '#');
    cr_assert_str_eq(hi, ranges[i].least_positive);
    cr_assert_eq(phibal_enclosure_get_decimal(&z, 3, NULL, hi, sizeof hi), PHIBAL_OK);
    cr_assert_eq(phibal_enclosure_get_decimal(&z, 3, lo, NULL, sizeof hi), PHIBAL_OK);
    cr_assert_eq(phibal_enclosure_get_decimal(&z, 4, lo, hi, PHIBAL_DECIMAL_SIZE(3)),
                 PHIBAL_ERROR_ARGUMENT);
    cr_assert_eq(phibal_enclosure_get_decimal(&z, 0, lo, hi, sizeof lo), PHIBAL_ERROR_ARGUMENT);
    phibal_enclosure_clear(&z);
  }
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
}
