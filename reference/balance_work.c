/* Checks of balancing's arguments, vectors of numbers as enclosures, and their centring. */
#include "balance_work.h"

phibal_status balance_loads_check(const char *name, const char *what, int32_t n, const float *x) {
  TRY(operation_check_finite(name, what, n, x));
  //@ assert use_floating;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant checked: \forall integer i; 0 <= i < e ==> 0.0 <= (real)x[i];
      loop assigns e;
      loop variant n - e; */
  for (int32_t e = 0; e < n; e++)
    if (x[e] < 0.0f)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: element %d of %s is %g; it must be >= 0",
                               name, (int)e, what, (double)x[e]);
  return PHIBAL_OK;
}

phibal_status balance_price_check(const char *name, const phibal_potential *potential,
                                  int32_t experts, const float *m, mpfr_prec_t precision,
                                  const phibal_enclosure *output) {
  if (!potential || !m || !output)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(phibal_potential_check(potential));
  TRY(operation_check_experts(name, experts, precision));
  return balance_loads_check(name, "m", experts, m);
}

void balance_vector_set(int32_t n, const float *x, phibal_enclosure *z) {
  //@ assert use_enclosure && use_floating;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant outputs: vector_output(z, n);
      loop invariant frame: only_vector_written{Pre, Here}(z, n);
      loop invariant set: \forall sequence s; floats_are(x, n, s) ==> members(z, i, s);
      loop assigns i, z[0 .. n - 1];
      loop variant n - i; */
  for (int32_t i = 0; i < n; i++) phibal_enclosure_set_d(&z[i], (double)x[i]);
}

phibal_status balance_vector_centre(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t,
                                    phibal_enclosure *centred) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_sum(&t[0], (size_t)experts, x));
  phibal_enclosure_set_si(&t[1], experts);
  /*@ assert sum: (real)experts != 0.0 && in(t + 1, (real)experts) &&
        (\forall sequence s; members{Pre}(x, experts, s) ==> in(t + 0, sum(s, experts))); */
  TRY(phibal_enclosure_div(&t[0], &t[0], &t[1]));
  /*@ assert mean: \forall sequence s; members{Pre}(x, experts, s) ==>
        in(t + 0, mean(s, experts)); */
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant mean: enclosure(t + 0) && enclosure(t + 1) &&
        (\forall sequence s; members{Pre}(x, experts, s) ==>
          in(t + 0, mean(s, experts)));
      loop invariant outputs: vector_output(centred, experts);
      loop invariant inputs: vector_same{Pre, Here}(x, experts);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 2) && vector_apart(r, centred, experts) ==> same{Pre, Here}(r);
      loop invariant differences: \forall sequence s, integer i;
        members{Pre}(x, experts, s) && 0 <= i < e ==> in(centred + i, centred(s, experts, i));
      loop assigns e, centred[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    TRY(phibal_enclosure_sub(&centred[e], &x[e], &t[0]));
    /*@ assert next: \forall sequence s; members{Pre}(x, experts, s) ==>
          in(centred + e, centred(s, experts, e)); */
    /*@ assert others: \forall integer i; 0 <= i < e ==> same{LoopCurrent, Here}(centred + i); */
  }
  return PHIBAL_OK;
}
