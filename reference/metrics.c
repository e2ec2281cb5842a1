/* How balanced? MaxVio (V1), (V2), Gini (V3), entropy (V4). */
#include "operation.h"
#include <phibal/acsl/contracts/inside/metrics_static.h>

static phibal_status metric_check(const char *name, bool null, int32_t experts,
                                  mpfr_prec_t precision) {
  if (null) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  return operation_check_experts(name, experts, precision);
}

/* x = the load of expert e; *largest becomes at least that. A binary32 number is judged before it
   is converted: what becomes of one that is not finite is not said in proofs. */
static phibal_status metric_load(const char *name, int32_t e, const float *single,
                                 const double *wide, phibal_enclosure *x, double *largest) {
  //@ assert use_enclosure && use_floating;
  bool finite = single ? isfinite(single[e]) : isfinite(wide[e]);
  double load = single ? (double)single[e] : wide[e];
  if (!finite || load < 0.0)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                             "%s: the load of expert %d is %g; it must be finite and >= 0", name,
                             (int)e, load);
  //@ assert load: \is_finite(load) && load_is(single, wide, e, (real)load);
  phibal_enclosure_set_d(x, load);
  if (load > *largest) *largest = load;
  return PHIBAL_OK;
}

/* total = sum of the loads, which must not be 0; x [E] receives them; *largest the largest. */
static phibal_status metric_loads(const char *name, int32_t experts, const float *single,
                                  const double *wide, phibal_enclosure *x, phibal_enclosure *total,
                                  double *largest) {
  //@ assert use_enclosure && use_floating;
  *largest = 0.0;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant frame: only_vector_written{Pre, Here}(x, experts);
      loop invariant outputs: vector_output(x, experts) && enclosure(total);
      loop invariant finite: \is_finite(*largest) && 0.0 <= (real)*largest;
      loop invariant members: \forall sequence s; loads_are(single, wide, experts, s) ==>
        members(x, e, s);
      loop invariant nonnegative: \forall sequence s; loads_are(single, wide, experts, s) ==>
        all_nonnegative(s, e);
      loop invariant zeros: \forall sequence s; loads_are(single, wide, experts, s) ==>
        (\forall integer i; 0 <= i < e && term(s, i) == 0.0 ==> point(x + i));
      loop invariant first: e == 0 ==> (real)*largest == 0.0;
      loop invariant largest: e > 0 ==> \forall sequence s;
        loads_are(single, wide, experts, s) ==> (real)*largest == largest(s, e);
      loop invariant bound: \forall sequence s; loads_are(single, wide, experts, s) ==>
        (real)*largest <= sum(s, e);
      loop assigns e, x[0 .. experts - 1], *largest;
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    /*@ assert next: \forall sequence s; loads_are(single, wide, experts, s) ==>
          load_is(single, wide, e, term(s, e)); */
    phibal_status status = metric_load(name, e, single, wide, &x[e], largest);
    //@ assert outputs: vector_output(x, experts) && enclosure(total);
    //@ assert frame: only_vector_written{Pre, Here}(x, experts);
    //@ assert all: only_with_vector_written{Pre, Here}(total, x, experts);
    /*@ assert left: \forall integer i; 0 <= i < experts && i != e ==>
          same{LoopCurrent, Here}(x + i); */
    if (status != PHIBAL_OK) return status;
    /*@ assert load: \forall sequence s; loads_are(single, wide, experts, s) ==>
          in(x + e, term(s, e)) && 0.0 <= term(s, e) && (term(s, e) == 0.0 ==> point(x + e)); */
  }
  //@ assert set: only_with_vector_written{Pre, Here}(total, x, experts);
  if (*largest == 0.0)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: every load is 0, so there is no mean", name);
  phibal_status status = phibal_enclosure_sum(total, (size_t)experts, x);
  //@ assert summed: only_with_vector_written{Pre, Here}(total, x, experts);
  return status;
}

/* maxvio = (E largest - total) / total, where the numerator cancels least. */
static phibal_status maxvio_compute(int32_t experts, const phibal_enclosure *largest,
                                    const phibal_enclosure *total, phibal_enclosure *t,
                                    phibal_enclosure *maxvio) {
  //@ assert use_enclosure && use_metric;
  phibal_enclosure_set_si(t, experts);
  TRY(phibal_enclosure_mul(t, t, largest));
  //@ assert product: \forall real a; in{Pre}(largest, a) ==> in(t, (real)experts * a);
  TRY(phibal_enclosure_sub(t, t, total));
  /*@ assert excess: \forall real a, b; in{Pre}(largest, a) && in{Pre}(total, b) ==>
        in(t, (real)experts * a - b); */
  /*@ assert form: \forall real a, b; b > 0.0 ==>
        ((real)experts * a - b) / b == violation(a, b, experts); */
  return phibal_enclosure_div(maxvio, t, total);
}

/* Integers: E max and the sum are exact in 128 bits. t[0..2] are temporaries of so many. */
static phibal_status maxvio_counts(const char *name, int32_t experts, const int64_t *count,
                                   phibal_enclosure *t, phibal_enclosure *maxvio) {
  //@ assert use_enclosure;
  int64_t largest = 0;
  phibal_enclosure_set_si(&t[1], 0);
  /*@ loop invariant index: 0 <= e <= experts && 0 <= largest;
      loop invariant frame: only_with_vector_written{Pre, Here}(maxvio, t, 3);
      loop invariant outputs: vector_output(t, 3) && enclosure(maxvio);
      loop invariant nonnegative: \forall sequence s; counts_are(count, experts, s) ==>
        all_nonnegative(s, e);
      loop invariant first: e == 0 ==> largest == 0;
      loop invariant largest: e > 0 ==> \forall sequence s; counts_are(count, experts, s) ==>
        (real)largest == largest(s, e);
      loop invariant sum: \forall sequence s; counts_are(count, experts, s) ==>
        (real)largest <= sum(s, e) && in(&t[1], sum(s, e));
      loop assigns e, largest, t[0 .. 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    if (count[e] < 0)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "%s: the count of expert %d is %lld; it must be >= 0", name, (int)e,
                               (long long)count[e]);
    if (count[e] > largest) largest = count[e];
    phibal_enclosure_set_si(&t[0], (long)count[e]);
    TRY(phibal_enclosure_add(&t[1], &t[1], &t[0]));
  }
  if (largest == 0)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: every count is 0, so there is no mean",
                             name);
  phibal_enclosure_set_si(&t[0], (long)largest);
  return maxvio_compute(experts, &t[0], &t[1], &t[2], maxvio);
}

phibal_status phibal_reference_maxvio_counts(int32_t experts, const int64_t *count,
                                             mpfr_prec_t precision, phibal_enclosure *maxvio) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_maxvio_counts";
  TRY(metric_check(name, !count || !maxvio, experts, precision));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 3, precision > 128 ? precision : 128, &t));
  phibal_status status = maxvio_counts(name, experts, count, t, maxvio);
  operation_scratch_clear(t, 3);
  return status;
}

static phibal_status maxvio_mean(const char *name, int32_t experts, const float *mean,
                                 phibal_enclosure *t, phibal_enclosure *v,
                                 phibal_enclosure *maxvio) {
  //@ assert use_enclosure && use_floating;
  double largest;
  TRY(metric_loads(name, experts, mean, NULL, v, &t[1], &largest));
  phibal_enclosure_set_d(&t[0], largest);
  /*@ assert loads: \forall sequence s; floats_are(mean, experts, s) ==>
        all_nonnegative(s, experts) && 0.0 < largest(s, experts) <= sum(s, experts) &&
        in(t + 0, largest(s, experts)) && in(t + 1, sum(s, experts)); */
  return maxvio_compute(experts, &t[0], &t[1], &t[2], maxvio);
}

phibal_status phibal_reference_maxvio_mean(int32_t experts, const float *mean,
                                           mpfr_prec_t precision, phibal_enclosure *maxvio) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_maxvio_mean";
  TRY(metric_check(name, !mean || !maxvio, experts, precision));
  phibal_enclosure *t, *v;
  TRY(operation_scratch(name, 3, precision, &t));
  phibal_status status = operation_scratch(name, (size_t)experts, precision, &v);
  if (status == PHIBAL_OK) {
    status = maxvio_mean(name, experts, mean, t, v, maxvio);
    operation_scratch_clear(v, (size_t)experts);
  }
  operation_scratch_clear(t, 3);
  return status;
}

/* t[0] = sum over pairs i < j of |x_i - x_j|: half the double sum of (V3). */
static phibal_status gini_pairs(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&t[0], 0);
  /*@ loop invariant index: 0 <= i <= experts;
      loop invariant frame: only_two_written{Pre, Here}(t + 0, t + 2);
      loop invariant outputs: enclosure(t + 0) && enclosure(t + 2);
      loop invariant rows: \forall sequence s; members{Pre}(x, experts, s) ==>
        in(t + 0, later_gaps(s, i, experts));
      loop assigns i, t[0], t[2];
      loop variant experts - i; */
  for (int32_t i = 0; i < experts; i++) {
    /*@ loop invariant row_index: i < j <= experts;
        loop invariant row_frame: only_two_written{Pre, Here}(t + 0, t + 2);
        loop invariant row_outputs: enclosure(t + 0) && enclosure(t + 2);
        loop invariant row: \forall sequence s; members{Pre}(x, experts, s) ==>
          in(t + 0, later_gaps(s, i, experts) + gaps(s, i, j) - gaps(s, i, i));
        loop assigns j, t[0], t[2];
        loop variant experts - j; */
    for (int32_t j = i + 1; j < experts; j++) {
      TRY(phibal_enclosure_sub(&t[2], &x[i], &x[j]));
      phibal_enclosure_abs(&t[2], &t[2]);
      /*@ assert gap: \forall sequence s; members{Pre}(x, experts, s) ==>
            in(t + 2, \abs(term(s, i) - term(s, j))); */
      TRY(phibal_enclosure_add(&t[0], &t[0], &t[2]));
    }
  }
  //@ ghost gaps_once(experts);
  return PHIBAL_OK;
}

static phibal_status gini_compute(const char *name, int32_t experts, const double *x,
                                  phibal_enclosure *t, phibal_enclosure *v,
                                  phibal_enclosure *gini) {
  //@ assert use_enclosure && use_floating && use_metric;
  double largest;
  TRY(metric_loads(name, experts, NULL, x, v, &t[1], &largest));
  TRY(gini_pairs(experts, v, t));
  /*@ assert loads: \forall sequence s; doubles_are(x, experts, s) ==>
        all_nonnegative(s, experts) && 0.0 < largest(s, experts) <= sum(s, experts) &&
        in(t + 0, all_gaps(s, experts, experts) / 2.0) && in(t + 1, sum(s, experts)); */
  phibal_enclosure_set_si(&t[2], experts);
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[2]));
  /*@ assert divisor: \forall sequence s; doubles_are(x, experts, s) ==>
        in(t + 0, all_gaps(s, experts, experts) / 2.0) && in(t + 1, sum(s, experts) * experts); */
  /*@ assert form: \forall real a, b; b > 0.0 ==>
        (a / 2.0) / (b * experts) == inequality(a, b, experts) && b * experts != 0.0; */
  return phibal_enclosure_div(gini, &t[0], &t[1]);
}

phibal_status phibal_reference_gini(int32_t experts, const double *x, mpfr_prec_t precision,
                                    phibal_enclosure *gini) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_gini";
  TRY(metric_check(name, !x || !gini, experts, precision));
  phibal_enclosure *t, *v;
  TRY(operation_scratch(name, 3, precision > 64 ? precision : 64, &t));
  phibal_status status =
      operation_scratch(name, (size_t)experts, precision > 64 ? precision : 64, &v);
  if (status == PHIBAL_OK) {
    status = gini_compute(name, experts, x, t, v, gini);
    operation_scratch_clear(v, (size_t)experts);
  }
  operation_scratch_clear(t, 3);
  return status;
}

/* t[0] -= share log share with share = x / total, 0 log 0 = 0. */
static phibal_status entropy_subtract(const phibal_enclosure *x, const phibal_enclosure *total,
                                      phibal_enclosure *t) {
  //@ assert use_enclosure && use_metric;
  if (phibal_enclosure_is_zero(x)) return PHIBAL_OK;
  //@ assert some: in(x, 0.0) ==> !point(x);
  TRY(phibal_enclosure_div(&t[2], x, total));
  /*@ assert share: \forall real a, b; in{Pre}(x, a) && in{Pre}(total, b) && a > 0.0 && b > 0.0 ==>
        in(t + 2, a / b) && a / b > 0.0; */
  TRY(phibal_enclosure_log(&t[3], &t[2]));
  /*@ assert log: \forall real a, b; in{Pre}(x, a) && in{Pre}(total, b) && a > 0.0 && b > 0.0 ==>
        in(t + 2, a / b) && in(t + 3, \log(a / b)); */
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[3]));
  /*@ assert information: \forall real a, b; in{Pre}(x, a) && in{Pre}(total, b) && a > 0.0 &&
        b > 0.0 ==> in(t + 2, information(a, b)); */
  return phibal_enclosure_sub(&t[0], &t[0], &t[2]);
}

/* t[0] = (V4) of x[0..E-1], whose sum is total. */
static phibal_status entropy_sum(int32_t experts, const phibal_enclosure *x,
                                 const phibal_enclosure *total, phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&t[0], 0);
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant frame: only_three_written{Pre, Here}(t + 0, t + 2, t + 3);
      loop invariant outputs: enclosure(t + 0) && enclosure(t + 2) && enclosure(t + 3);
      loop invariant partial: \forall sequence s, real b;
        members{Pre}(x, experts, s) && all_nonnegative(s, experts) && in{Pre}(total, b) &&
        0.0 < b &&
        (\forall integer i; 0 <= i < experts && term(s, i) == 0.0 ==> point{Pre}(x + i)) ==>
          in(t + 0, entropy_of(s, b, e));
      loop assigns e, t[0], t[2], t[3];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) TRY(entropy_subtract(&x[e], total, t));
  return PHIBAL_OK;
}

static phibal_status entropy_compute(const char *name, int32_t experts, const double *x,
                                     phibal_enclosure *t, phibal_enclosure *v,
                                     phibal_enclosure *entropy) {
  //@ assert use_enclosure && use_floating;
  double largest;
  TRY(metric_loads(name, experts, NULL, x, v, &t[1], &largest));
  TRY(entropy_sum(experts, v, &t[1], t));
  phibal_enclosure_set(entropy, &t[0]);
  return PHIBAL_OK;
}

phibal_status phibal_reference_entropy(int32_t experts, const double *x, mpfr_prec_t precision,
                                       phibal_enclosure *entropy) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_entropy";
  TRY(metric_check(name, !x || !entropy, experts, precision));
  phibal_enclosure *t, *v;
  TRY(operation_scratch(name, 4, precision > 64 ? precision : 64, &t));
  phibal_status status =
      operation_scratch(name, (size_t)experts, precision > 64 ? precision : 64, &v);
  //@ assert kept: vector_output(t, 4);
  if (status == PHIBAL_OK) {
    //@ assert apart: \forall integer i; 0 <= i < 4 ==> vector_apart(t + i, v, experts);
    status = entropy_compute(name, experts, x, t, v, entropy);
    operation_scratch_clear(v, (size_t)experts);
    //@ assert left: vector_output(t, 4);
  }
  operation_scratch_clear(t, 4);
  return status;
}
