/* What the parts of the enclosure type share. */
#ifndef PHIBAL_ENCLOSURE_INTERNAL_H
#define PHIBAL_ENCLOSURE_INTERNAL_H

#include <phibal/acsl/contracts/inside/enclosure_success.h>

#include <phibal/acsl/contracts/inside/enclosure_internal.h>

static inline bool enclosure_has_infinity(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_inf_p(x->lo) || mpfr_inf_p(x->hi);
}

/* t becomes a place of z's precision, to be filled and then moved into z. */
static inline void enclosure_temporary(phibal_enclosure *t, const phibal_enclosure *z) {
  //@ assert open_enclosure;
  mpfr_init2(t->lo, mpfr_get_prec(z->lo));
  mpfr_init2(t->hi, mpfr_get_prec(z->hi));
}

/* z = t, and t is gone. */
static inline void enclosure_move(phibal_enclosure *z, phibal_enclosure *t) {
  //@ assert open_enclosure;
  phibal_enclosure_swap(z, t);
  phibal_enclosure_clear(t);
}

/* The end of every function outside its domain: z = [-inf, +inf] and PHIBAL_ERROR_DOMAIN with
   "<function>: [x] <rule>". x is read before z is written, so they may be the same. */
phibal_status enclosure_undefined(phibal_enclosure *z, const char *function,
                                  const phibal_enclosure *x, const char *rule);
/* The same for a pair: "<function>: [x] and [y] <rule>". */
phibal_status enclosure_undefined_pair(phibal_enclosure *z, const char *function,
                                       const phibal_enclosure *x, const phibal_enclosure *y,
                                       const char *rule);

#endif
