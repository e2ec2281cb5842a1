/* Sums of products in enclosures, and the place of a failure. */
#include "evaluation.h"
#include <stdio.h>
#include <string.h>

static bool scale(phibal_enclosure *z, long n) {
  phibal_enclosure factor;
  phibal_enclosure_init(&factor, 8);
  phibal_enclosure_set_si(&factor, n);
  const bool good = n == 1 || phibal_enclosure_mul(z, z, &factor) == PHIBAL_OK;
  phibal_enclosure_clear(&factor);
  return good;
}

bool evaluation_add_products(phibal_enclosure *z, long n, const phibal_enclosure *a,
                             const phibal_enclosure *b, const phibal_enclosure *c) {
  phibal_enclosure t;
  phibal_enclosure_init(&t, mpfr_get_prec(z->lo));
  const bool good = phibal_enclosure_mul(&t, a, b) == PHIBAL_OK &&
                    (!c || phibal_enclosure_mul(&t, &t, c) == PHIBAL_OK) && scale(&t, n) &&
                    phibal_enclosure_add(z, z, &t) == PHIBAL_OK;
  phibal_enclosure_clear(&t);
  return good;
}

bool evaluation_add_power(phibal_enclosure *z, const phibal_enclosure *a, const phibal_enclosure *b,
                          unsigned long n) {
  phibal_enclosure t;
  mpz_t exponent;
  phibal_enclosure_init(&t, mpfr_get_prec(z->lo));
  mpz_init_set_ui(exponent, n);
  const bool good =
      function_power(&t, b, exponent) == PHIBAL_OK && evaluation_add_products(z, 1, a, &t, NULL);
  mpz_clear(exponent);
  phibal_enclosure_clear(&t);
  return good;
}

void evaluation_locate(const expression *e) {
  char message[512];
  snprintf(message, sizeof message, "%s", phibal_status_message());
  /* who wrote the file does not know the function that says so */
  const char *what = strncmp(message, "phibal_", 7) == 0 ? strstr(message, ": ") : NULL;
  phibal_status_set(PHIBAL_ERROR_DOMAIN, "%d:%d: %s", e->line, e->column,
                    what ? what + 2 : message);
}

phibal_status evaluation_name_coordinate(phibal_status status, size_t e, size_t n) {
  return phibal_status_set(status, "coordinate %zu of %zu: %s", e + 1, n, phibal_status_message());
}
