/* What the files of Renyi's potential (P6) share: the scalars of one evaluation, ends of
   enclosures, and the sum of powers. */
#ifndef PHIBAL_REFERENCE_RENYI_WORK_H
#define PHIBAL_REFERENCE_RENYI_WORK_H

#include "potentials.h"

/* Scalars of one evaluation. */
typedef struct renyi_work {
  phibal_enclosure point, b, sum, excess, total, t[2];
} renyi_work;

void renyi_work_init(renyi_work *w, mpfr_prec_t precision);
void renyi_work_clear(renyi_work *w);
/* The sign of an end. */
int renyi_end_sign(const phibal_enclosure *x, bool upper);
/* z = one end of x. */
void renyi_take_end(phibal_enclosure *z, const phibal_enclosure *x, bool upper);
/* Adds x^a to w->sum for x > 0 in w->point. */
phibal_status renyi_add_power(renyi_work *w, const phibal_enclosure *a);
/* z's upper end becomes plus infinity. */
void renyi_raise_to_infinity(phibal_enclosure *z);
/* The failure of coordinate e, known to be outside the domain, or only not known to be inside. */
phibal_status renyi_refuse(bool outside, const char *domain, const char *function, size_t e,
                           size_t n, const phibal_enclosure *x);
phibal_status renyi_require_positive(const char *function, size_t n, const phibal_enclosure *x);

/* w->sum = sum x^a at the lower (upper) ends of x, all > 0. */
phibal_status renyi_power_sum_at_ends(const phibal_enclosure *a, size_t n,
                                      const phibal_enclosure *x, bool upper, renyi_work *w);

#include <phibal/acsl/contracts/inside/potentials/renyi_work.h>
#endif
