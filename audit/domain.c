#include "domain.h"
#include <math.h>
#include <stdlib.h>

void domain_range_init(phi_range *range) {
  range->lo = range->hi = (phi_end){.closed = true};
  mpq_init(range->lo.value);
  mpq_init(range->hi.value);
}

void domain_range_clear(phi_range *range) {
  mpq_clear(range->lo.value);
  mpq_clear(range->hi.value);
}

void domain_end_at(phi_end *end, long n, unsigned long d, bool closed) {
  end->infinite = 0;
  end->closed = closed;
  mpq_set_si(end->value, n, d);
  mpq_canonicalize(end->value);
}

void domain_end_infinite(phi_end *end, int sign) {
  end->infinite = sign;
  end->closed = false;
}

void domain_init(audit_domain *domain) {
  *domain = (audit_domain){.parameters = 0};
  domain_range_init(&domain->x);
  domain_range_init(&domain->experts);
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) domain_range_init(&domain->parameter[i]);
  domain_end_at(&domain->x.lo, 0, 1, false);
  domain_end_at(&domain->x.hi, 1, 1, false);
  domain_end_at(&domain->experts.lo, 2, 1, true);
  domain_end_at(&domain->experts.hi, 4096, 1, true);
}

void domain_clear(audit_domain *domain) {
  domain_range_clear(&domain->x);
  domain_range_clear(&domain->experts);
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) domain_range_clear(&domain->parameter[i]);
}

void domain_end_set(phi_end *end, const phi_end *value) {
  end->infinite = value->infinite;
  end->closed = value->closed;
  mpq_set(end->value, value->value);
}

void domain_range_set(phi_range *range, const phi_range *value) {
  domain_end_set(&range->lo, &value->lo);
  domain_end_set(&range->hi, &value->hi);
}

void domain_copy(audit_domain *to, const audit_domain *from) {
  domain_range_set(&to->x, &from->x);
  domain_range_set(&to->experts, &from->experts);
  to->parameters = from->parameters;
  for (int i = 0; i < from->parameters; i++) {
    to->name[i] = from->name[i];
    domain_range_set(&to->parameter[i], &from->parameter[i]);
  }
}

void domain_range_enclosure(const phi_range *range, phibal_enclosure *z) {
  phibal_enclosure hi;
  phibal_enclosure_init(&hi, mpfr_get_prec(z->lo));
  if (range->lo.infinite)
    phibal_enclosure_set_d(z, -HUGE_VAL);
  else
    phibal_enclosure_set_q(z, range->lo.value);
  if (range->hi.infinite)
    phibal_enclosure_set_d(&hi, HUGE_VAL);
  else
    phibal_enclosure_set_q(&hi, range->hi.value);
  phibal_enclosure_hull(z, z, &hi);
  phibal_enclosure_clear(&hi);
}

void domain_range_of_enclosure(phi_range *range, const phibal_enclosure *z) {
  domain_end_infinite(&range->lo, -1);
  domain_end_infinite(&range->hi, 1);
  if (mpfr_number_p(z->lo)) {
    range->lo.infinite = 0;
    range->lo.closed = true;
    mpfr_get_q(range->lo.value, z->lo);
  }
  if (mpfr_number_p(z->hi)) {
    range->hi.infinite = 0;
    range->hi.closed = true;
    mpfr_get_q(range->hi.value, z->hi);
  }
}

/* The nearest binary64, where mpq_get_d cuts. */
static double nearest(mpq_srcptr q) {
  mpfr_t x;
  mpfr_init2(x, 53);
  mpfr_set_q(x, q, MPFR_RNDN);
  double d = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clear(x);
  return d;
}

/* Short numbers exactly, long ones, as the ends of an enclosure are, to 15 digits: so that 0.1,
   which is enclosed, is written as it was. */
static void print_end(FILE *out, const phi_end *end) {
  enum { SHORT = 40 };
  if (end->infinite)
    fputs(end->infinite < 0 ? "-inf" : "inf", out);
  else if (mpz_sizeinbase(mpq_numref(end->value), 2) + mpz_sizeinbase(mpq_denref(end->value), 2) <
           SHORT)
    mpq_out_str(out, 10, end->value);
  else
    fprintf(out, "%.15g", nearest(end->value));
}

/* One number, or an enclosure of one. */
static bool is_point(const phi_range *r) {
  return !r->lo.infinite && !r->hi.infinite &&
         (mpq_equal(r->lo.value, r->hi.value) || nearest(r->lo.value) == nearest(r->hi.value));
}

void domain_range_print(FILE *out, const phi_range *range) {
  fputc(range->lo.closed ? '[' : '(', out);
  print_end(out, &range->lo);
  fputs(", ", out);
  print_end(out, &range->hi);
  fputc(range->hi.closed ? ']' : ')', out);
}

void domain_named_print(FILE *out, const char *name, const phi_range *range) {
  fprintf(out, "%s ", name);
  if (is_point(range)) {
    fputs("= ", out);
    print_end(out, &range->lo);
  } else {
    fputs("in ", out);
    domain_range_print(out, range);
  }
}

void domain_parameters_print(FILE *out, const audit_domain *domain) {
  for (int i = 0; i < domain->parameters; i++) {
    if (i) fputs(", ", out);
    domain_named_print(out, domain->name[i], &domain->parameter[i]);
  }
}

json_t *domain_parameters_json(const audit_domain *domain) {
  json_t *object = json_object();
  for (int i = 0; object && i < domain->parameters; i++) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) continue;
    domain_range_print(out, &domain->parameter[i]);
    fclose(out);
    json_object_set_new(object, domain->name[i], json_string(text));
    free(text);
  }
  return object;
}

unsigned sign_negative(unsigned a) {
  return (a & SIGN_ZERO) | (a & SIGN_NEGATIVE ? SIGN_POSITIVE : 0u) |
         (a & SIGN_POSITIVE ? SIGN_NEGATIVE : 0u);
}

unsigned sign_product(unsigned a, unsigned b) {
  unsigned result = 0;
  if ((a & SIGN_ZERO) || (b & SIGN_ZERO)) result |= SIGN_ZERO;
  if (a & SIGN_POSITIVE) result |= b & (SIGN_POSITIVE | SIGN_NEGATIVE);
  if (a & SIGN_NEGATIVE) result |= sign_negative(b) & (SIGN_POSITIVE | SIGN_NEGATIVE);
  return result;
}

unsigned sign_power(unsigned a, unsigned long n) {
  if (n == 0) return SIGN_POSITIVE;
  if (n & 1) return a;
  return (a & SIGN_ZERO) | (a & (SIGN_POSITIVE | SIGN_NEGATIVE) ? SIGN_POSITIVE : 0u);
}

unsigned domain_range_sign(const phi_range *range) {
  unsigned result = SIGN_ANY;
  int lo = range->lo.infinite ? range->lo.infinite : mpq_sgn(range->lo.value),
      hi = range->hi.infinite ? range->hi.infinite : mpq_sgn(range->hi.value);
  if (lo > 0) return SIGN_POSITIVE;
  if (hi < 0) return SIGN_NEGATIVE;
  if (lo == 0) result &= range->lo.closed ? SIGN_ZERO | SIGN_POSITIVE : SIGN_POSITIVE;
  if (hi == 0) result &= range->hi.closed ? SIGN_ZERO | SIGN_NEGATIVE : SIGN_NEGATIVE;
  return result;
}
