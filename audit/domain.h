/* What a proof ranges over: the coordinate, the parameters and the number of experts. And signs. */
#ifndef PHIBAL_AUDIT_DOMAIN_H
#define PHIBAL_AUDIT_DOMAIN_H

#include "phi.h"
#include <jansson.h>
#include <stdio.h>

typedef struct audit_domain {
  phi_range x;
  int parameters;
  phi_range parameter[PHI_MAX_PARAMETERS];
  const char *name[PHI_MAX_PARAMETERS];
  phi_range experts;
} audit_domain;

/* x in (0,1), E in [2, 4096], no parameters; to be changed, and cleared. */
void domain_init(audit_domain *domain);
void domain_clear(audit_domain *domain);
void domain_copy(audit_domain *to, const audit_domain *from); /* `to` initialised */
void domain_range_init(phi_range *range);                     /* [0, 0] */
void domain_range_clear(phi_range *range);
void domain_end_set(phi_end *end, const phi_end *value);
void domain_range_set(phi_range *range, const phi_range *value);
/* An end at n/d, closed or not; at infinity by its sign. */
void domain_end_at(phi_end *end, long n, unsigned long d, bool closed);
void domain_end_infinite(phi_end *end, int sign);
void domain_range_enclosure(const phi_range *range, phibal_enclosure *z);
/* The closed range of an enclosure's finite ends; infinite ends are open. */
void domain_range_of_enclosure(phi_range *range, const phibal_enclosure *z);

/* "(0, 1]", and "delta in (0, inf), p in (1, inf)" ("" without parameters). */
void domain_range_print(FILE *out, const phi_range *range);
/* "E in [2, 4096]", or "E = 8" for one number */
void domain_named_print(FILE *out, const char *name, const phi_range *range);
void domain_parameters_print(FILE *out, const audit_domain *domain);
/* {"delta": "(0, inf)", ...} */
json_t *domain_parameters_json(const audit_domain *domain);

/* A set of signs. */
enum { SIGN_NEGATIVE = 1, SIGN_ZERO = 2, SIGN_POSITIVE = 4, SIGN_ANY = 7 };
unsigned domain_range_sign(const phi_range *range);
unsigned sign_product(unsigned a, unsigned b);
unsigned sign_power(unsigned a, unsigned long n);
unsigned sign_negative(unsigned a);

#endif
