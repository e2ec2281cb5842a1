/* (P4) phi(x) = x log x on x >= 0, with 0 log 0 = 0. */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/enclosure_success.h>

//@ terminates always; ensures success: \result == PHIBAL_OK;
phibal_status negentropy_value(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)a;
  //@ assert open_enclosure && in(x, mval(x->lo[0].number));
  if (point_sign(x) < 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  if (point_sign(x) == 0) {
    phibal_enclosure_set_si(z, 0);
    return PHIBAL_OK;
  }
  //@ assert inside: open_enclosure && positive(x) && nonnegative(x) && bounded(x);
  TRY(phibal_enclosure_log(&t[0], x));
  return phibal_enclosure_mul(z, x, &t[0]);
}

//@ terminates always; ensures success: \result == PHIBAL_OK <==> positive{Pre}(x);
phibal_status negentropy_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                  const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)a, (void)t;
  //@ assert open_enclosure && in(x, mval(x->lo[0].number));
  if (point_sign(x) <= 0) return outside_domain("x > 0");
  //@ assert inside: positive(x) && nonnegative(x);
  TRY(phibal_enclosure_log(z, x));
  add_integer(z, z, 1);
  return PHIBAL_OK;
}

//@ terminates always; ensures success: \result == PHIBAL_OK <==> positive{Pre}(x);
phibal_status negentropy_second(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)a;
  //@ assert open_enclosure && in(x, mval(x->lo[0].number));
  if (point_sign(x) <= 0) return outside_domain("x > 0");
  phibal_enclosure_set_si(&t[0], 1);
  //@ assert inside: positive(x) && bounded(x);
  return phibal_enclosure_div(z, &t[0], x);
}

//@ terminates always; ensures success: \result == PHIBAL_OK;
phibal_status negentropy_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                   const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)a;
  add_integer(&t[0], y, -1);
  phibal_enclosure_exp(z, &t[0]);
  return PHIBAL_OK;
}

/* The conjugate is its own gradient. */
//@ terminates always; ensures success: \result == PHIBAL_OK;
phibal_status negentropy_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                            const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  return negentropy_conjugate(z, y, a, t);
}
