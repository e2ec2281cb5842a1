/* Scores that are square roots of softplus (R5s), relative to a reference so that a sum of them
   stays away from 0, and the derivative of their logarithm. */
#include "router_softplus.h"
#include <phibal/acsl/contracts/inside/router_softplus_static.h>

/* z = log(1 + e^x) for x >= 0, and log(1 + e^x) / e^x for x < 0: never near 0, nor 0 where e^x
   vanishes. Below -8 times the precision it is within e^x of 1, from below. */
static phibal_status relative_softplus(phibal_reference_token *t, float x, phibal_enclosure *z) {
  //@ assert use_enclosure && use_exp && use_softplus && use_floating;
  operation_set_float(&t->factor, x >= 0.0f ? -x : x);
  phibal_enclosure_exp(&t->factor, &t->factor);
  //@ assert rising: (real)x >= 0.0 ==> in(&t->factor, e(-(real)x)) && 0.0 < e(-(real)x);
  //@ assert falling: (real)x < 0.0 ==> in(&t->factor, e((real)x)) && 0.0 < e((real)x);
  if (x < 0.0f && x < -8.0f * (float)t->precision) {
    TRY(phibal_enclosure_sub(z, &t->one, &t->factor));
    //@ assert below: in(z, 1.0 - e((real)x)) && in(&t->one, 1.0);
    phibal_enclosure_hull(z, z, &t->one);
    //@ assert near: 1.0 - e((real)x) <= softplus_relative((real)x) <= 1.0;
    //@ assert between: in(z, softplus_relative((real)x));
    return PHIBAL_OK;
  }
  TRY(phibal_enclosure_log1p(z, &t->factor));
  if (x < 0.0f) {
    //@ assert softplus: in(z, softplus_of((real)x)) && in(&t->factor, e((real)x));
    const phibal_status status = phibal_enclosure_div(z, z, &t->factor);
    //@ assert over: status == PHIBAL_OK ==> in(z, softplus_of((real)x) / e((real)x));
    return status;
  }
  //@ assert reflected: in(z, \log(1.0 + e(-(real)x)));
  operation_set_float(&t->factor, x);
  const phibal_status status = phibal_enclosure_add(z, z, &t->factor);
  //@ assert sum: status == PHIBAL_OK ==> in(z, \log(1.0 + e(-(real)x)) + (real)x);
  return status;
}

phibal_status router_softplus_weight(phibal_reference_token *t, float x, float reference,
                                     phibal_enclosure *z) {
  //@ assert use_enclosure && use_exp && use_softplus && open_times;
  TRY(relative_softplus(t, x, z));
  operation_set_float(&t->term, x < 0.0f ? x : 0.0f);
  //@ assert least: in(&t->term, (real)x < 0.0 ? (real)x : 0.0);
  operation_set_float(&t->factor, reference);
  TRY(phibal_enclosure_sub(&t->term, &t->term, &t->factor));
  phibal_enclosure_exp(&t->term, &t->term);
  //@ assert power: in(&t->term, e(((real)x < 0.0 ? (real)x : 0.0) - (real)reference));
  //@ assert relative: in(z, softplus_relative((real)x));
  TRY(phibal_enclosure_mul(z, z, &t->term));
  /*@ assert product: softplus_relative((real)x) *
          e(((real)x < 0.0 ? (real)x : 0.0) - (real)reference) ==
        times(softplus_of((real)x), shrink((real)reference)); */
  //@ assert rescaled: in(z, times(softplus_of((real)x), shrink((real)reference)));
  //@ assert not_below: 0.0 <= times(softplus_of((real)x), shrink((real)reference));
  return phibal_enclosure_sqrt(z, z);
}

phibal_status router_softplus_slope(phibal_reference_token *t, float x, phibal_enclosure *z) {
  //@ assert use_enclosure && use_softplus;
  TRY(router_sigmoid(t, x < 0.0f ? -x : x, z));
  //@ assert sigmoid: in(z, logistic(\abs((real)x)));
  TRY(relative_softplus(t, x, &t->term));
  TRY(phibal_enclosure_add(&t->term, &t->term, &t->term));
  //@ assert twice: in(&t->term, 2.0 * softplus_relative((real)x));
  //@ assert dividend: in(z, logistic(\abs((real)x)));
  //@ assert divided: 0.0 < 2.0 * softplus_relative((real)x);
  return phibal_enclosure_div(z, z, &t->term);
}
