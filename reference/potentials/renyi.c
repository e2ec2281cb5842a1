/* (P6) phi(x) = log(sum_e x_e^a) / (a-1) on x >= 0, x != 0, for 0 < a < 1; not separable. Write
   b = a-1 < 0 and S = sum_e x_e^a.

   Monotony, used to carry points to intervals: S increases with each x_e and b < 0, so phi falls
   with each; every entry of the Hessian is positive, so each gradient component grows with each
   x_e; and grad phi* > 0, so phi* grows with each y_e. */
#include "renyi_work.h"
#include <phibal/acsl/contracts/inside/potentials/renyi_static.h>

/* Adds x (x^b - 1) to w->excess for x > 0 in w->point. */
static phibal_status add_excess(renyi_work *w) {
  //@ assert use_enclosure && open_renyi_excess && use_exp;
  TRY(phibal_enclosure_log(&w->t[0], &w->point));
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->b));
  /*@ assert exponent: \forall real b, q; in{Pre}(&w->b, b) && in{Pre}(&w->point, q) &&
        0.0 < q ==> in(&w->t[0], \log(q) * b); */
  phibal_enclosure_expm1(&w->t[0], &w->t[0]);
  /*@ assert factor: \forall real b, q; in{Pre}(&w->b, b) && in{Pre}(&w->point, q) &&
        0.0 < q ==> in(&w->t[0], e(\log(q) * b) - 1.0); */
  //@ assert kept: same{Pre, Here}(&w->point) && same{Pre, Here}(&w->excess);
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->point));
  /*@ assert product: \forall real b, q; in{Pre}(&w->b, b) && in{Pre}(&w->point, q) &&
        0.0 < q ==> in(&w->t[0], renyi_excess(b, q)); */
  //@ assert sum: same{Pre, Here}(&w->excess);
  return phibal_enclosure_add(&w->excess, &w->excess, &w->t[0]);
}

/* Adds x > 0 in w->point to the sums of add_end. */
static phibal_status add_point(renyi_work *w, const phibal_enclosure *a) {
  //@ assert use_enclosure && use_renyi;
  phibal_status status = renyi_add_power(w, a);
  //@ assert outputs: work_output(w);
  //@ assert frame: only_work_written{Pre, Here}(w);
  //@ assert kept: same{Pre, Here}(&w->b) && same{Pre, Here}(&w->point);
  //@ assert kept_sums: same{Pre, Here}(&w->excess) && same{Pre, Here}(&w->total);
  //@ ghost powered: ;
  if (status == PHIBAL_OK) status = add_excess(w);
  //@ assert outputs_then: work_output(w);
  //@ assert frame_then: only_work_written{Pre, Here}(w);
  //@ assert kept_then: same{Pre, Here}(&w->b) && same{Pre, Here}(&w->point);
  //@ assert kept_sums_then: same{powered, Here}(&w->sum) && same{Pre, Here}(&w->total);
  /*@ assert excess: status == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(&w->b, renyi_b(p)) &&
        in{Pre}(&w->point, q) && 0.0 < q && in{Pre}(&w->excess, s) ==>
          in(&w->excess, s + (raised(q, p) - q)); */
  //@ ghost exceeded: ;
  if (status == PHIBAL_OK) status = phibal_enclosure_add(&w->total, &w->total, &w->point);
  //@ assert kept_last: same{powered, Here}(&w->sum) && same{exceeded, Here}(&w->excess);
  return status;
}

/* Adds one end x >= 0 to w->sum = sum x^a, w->excess = sum x (x^b - 1) and w->total = sum x - 1:
   together the latter two are S - 1 without the cancellation that S - 1 has as a -> 1. */
static phibal_status add_end(renyi_work *w, const phibal_enclosure *a, const phibal_enclosure *x,
                             bool upper) {
  //@ assert use_enclosure && use_renyi && use_end;
  if (renyi_end_sign(x, upper) == 0) return PHIBAL_OK;
  renyi_take_end(&w->point, x, upper);
  /*@ assert point: \forall real q; end{Pre}(x, upper, q) && 0.0 <= q ==>
        in(&w->point, q) && 0.0 < q; */
  /*@ assert kept: same{Pre, Here}(a) && same{Pre, Here}(&w->b) && same{Pre, Here}(&w->sum) &&
        same{Pre, Here}(&w->excess) && same{Pre, Here}(&w->total); */
  return add_point(w, a);
}

/* w->sum = S, w->excess = S - 1 at the lower (upper) ends of x, all >= 0. */
static phibal_status add_ends(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                              bool upper, renyi_work *w) {
  //@ assert use_enclosure && use_end;
  phibal_enclosure_set_si(&w->sum, 0);
  phibal_enclosure_set_si(&w->excess, 0);
  phibal_enclosure_set_si(&w->total, -1);
  /*@ assert start: in(&w->excess, 0.0) && \forall real p, sequence s;
        renyi_sum(p, s, 0) - sum(s, 0) == 0.0; */
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: work_output(w);
      loop invariant frame: only_work_written{Pre, Here}(w);
      loop invariant kept: same{Pre, Here}(&w->b);
      loop invariant sum: \forall real p, sequence s;
        ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) ==>
          in(&w->sum, renyi_sum(p, s, e));
      loop invariant excess: \forall real p, sequence s;
        ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) ==>
          in(&w->excess, renyi_sum(p, s, e) - sum(s, e));
      loop invariant total: \forall real p, sequence s;
        ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) ==>
          in(&w->total, sum(s, e) - 1.0);
      loop assigns e, *w;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ ghost before: ;
    //@ assert argument: same{Pre, Here}(x + e) && input(x + e) && bounded(x + e);
    //@ assert parameter: same{Pre, Here}(a) && input(a);
    phibal_status status = add_end(w, a, &x[e], upper);
    //@ assert outputs_then: work_output(w);
    //@ assert kept_then: same{Pre, Here}(&w->b);
    if (status != PHIBAL_OK) return status;
    /*@ assert added: \forall real p, c, sequence s;
          ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) &&
          in{before}(&w->sum, c) ==> in(&w->sum, c + raised(term(s, e), p)); */
    /*@ assert excess: \forall real p, c, sequence s;
          ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) &&
          in{before}(&w->excess, c) ==>
            in(&w->excess, c + (raised(term(s, e), p) - term(s, e))); */
    /*@ assert total: \forall real c, sequence s; ends{Pre}(x, n, upper, s) &&
          all_zero_or_more(s, n) && in{before}(&w->total, c) ==>
            in(&w->total, c + term(s, e)); */
    /*@ assert next_excess: \forall real p, sequence s;
          ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) ==>
            in(&w->excess, renyi_sum(p, s, e) - sum(s, e) + (raised(term(s, e), p) - term(s, e)));
     */
    /*@ assert next_total: \forall real p, sequence s;
          ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) ==>
            in(&w->total, sum(s, e) - 1.0 + term(s, e)); */
    /*@ assert unfold: \forall real p, sequence s;
          renyi_sum(p, s, e + 1) == renyi_sum(p, s, e) + raised(term(s, e), p) &&
          sum(s, e + 1) == sum(s, e) + term(s, e); */
  }
  phibal_status status = phibal_enclosure_add(&w->excess, &w->excess, &w->total);
  //@ assert outputs_last: work_output(w);
  //@ assert kept_last: same{Pre, Here}(&w->b);
  return status;
}

/* w->t[0] = log S from S and S - 1: log1p(S - 1) where S is certain not to be far from 1. A sum
   that is a point has lost nothing. */
static phibal_status log_of_sum(renyi_work *w) {
  if (!phibal_enclosure_is_exact(&w->sum) && is_between(&w->excess, -0.5, 1.0))
    return phibal_enclosure_log1p(&w->t[0], &w->excess);
  return phibal_enclosure_log(&w->t[0], &w->sum);
}

/* z = phi at the lower (upper) ends of x, all >= 0 and not all 0. */
static phibal_status value_at_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                   const phibal_enclosure *x, bool upper, renyi_work *w) {
  //@ assert use_enclosure && use_end && open_renyi_b && use_renyi_b;
  //@ ghost renyi_sum_positive(n);
  add_integer(&w->b, a, -1);
  //@ assert scratch: work_output(w);
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert arguments: work_input(a, n, x, w);
  //@ assert b: \forall real p; in(a, p) ==> in(&w->b, renyi_b(p));
  //@ ghost before: ;
  phibal_status status = add_ends(a, n, x, upper, w);
  //@ assert outputs: work_output(w);
  if (status != PHIBAL_OK) return status;
  /*@ assert carried: \forall real p, sequence s; ends_chosen{Pre}(a, n, x, upper, p, s) ==>
        ends_chosen{before}(a, n, x, upper, p, s); */
  status = log_of_sum(w);
  //@ assert outputs_then: work_output(w);
  if (status != PHIBAL_OK) return status;
  /*@ assert logarithm: \forall real p, sequence s;
        ends_chosen{Pre}(a, n, x, upper, p, s) && renyi_value_inside(s, n) ==>
          in(&w->t[0], \log(renyi_sum(p, s, n))) && in(&w->b, renyi_b(p)) &&
          renyi_b(p) < 0.0; */
  status = phibal_enclosure_div(z, &w->t[0], &w->b);
  //@ assert outputs_last: work_output(w);
  return status;
}

/* Whether the lower (upper) ends of x lie outside the domain: one is negative, or all are 0. */
static bool is_outside(size_t n, const phibal_enclosure *x, bool upper) {
  bool outside = true;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant negative: \forall sequence s; ends(x, n, upper, s) ==>
        all_zero_or_more(s, e);
      loop invariant zero: outside ==> \forall sequence s, integer i; ends(x, n, upper, s) &&
        0 <= i < e ==> term(s, i) == 0.0;
      loop invariant positive: !outside ==> \forall sequence s; ends(x, n, upper, s) ==>
        renyi_value_inside(s, e);
      loop assigns e, outside;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    int sign = renyi_end_sign(&x[e], upper);
    if (sign < 0) return true;
    if (sign > 0) outside = false;
  }
  return outside;
}

/* Over the box x: phi falls with each element, so that two corners enclose it. */
static phibal_status value_over(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                const phibal_enclosure *x, renyi_work *w) {
  //@ assert use_enclosure && use_end && use_ends;
  //@ ghost renyi_values_fall(n);
  //@ assert lower: ends{Pre}(x, n, 0, ends_of{Pre}(x, n, 0));
  //@ assert upper: ends{Pre}(x, n, 1, ends_of{Pre}(x, n, 1));
  /*@ assert at_least: \forall sequence s; members{Pre}(x, n, s) ==>
        dominated(ends_of{Pre}(x, n, 0), s, n); */
  /*@ assert at_most: \forall sequence s; members{Pre}(x, n, s) ==>
        dominated(s, ends_of{Pre}(x, n, 1), n); */
  if (is_outside(n, x, true)) {
    /*@ assert outside: \forall sequence s; members{Pre}(x, n, s) ==>
          !renyi_value_inside(s, n); */
    set_infinity(z);
    //@ assert outputs_outside: work_output(w);
    return PHIBAL_OK;
  }
  //@ assert upper_inside: renyi_value_inside(ends_of{Pre}(x, n, 1), n);
  phibal_status status = value_at_ends(z, a, n, x, true, w);
  //@ assert outputs: work_output(w);
  if (status != PHIBAL_OK) return status;
  /*@ assert least: \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
        in(z, renyi_value(p, ends_of{Pre}(x, n, 1), n)); */
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert arguments: work_input(a, n, x, w);
  /*@ assert below: \forall real p, sequence s; members_chosen{Pre}(a, n, x, p, s) &&
        renyi_value_inside(s, n) ==>
          renyi_value(p, ends_of{Pre}(x, n, 1), n) <= renyi_value(p, s, n); */
  if (is_outside(n, x, false)) {
    renyi_raise_to_infinity(z);
    //@ assert outputs_raised: work_output(w);
    return PHIBAL_OK;
  }
  //@ assert same_lower: ends(x, n, 0, ends_of{Pre}(x, n, 0));
  //@ assert lower_inside: renyi_value_inside(ends_of{Pre}(x, n, 0), n);
  /*@ assert inside: \forall sequence s; members{Pre}(x, n, s) ==> renyi_value_inside(s, n); */
  /*@ assert above: \forall real p, sequence s; members_chosen{Pre}(a, n, x, p, s) ==>
        renyi_value(p, s, n) <= renyi_value(p, ends_of{Pre}(x, n, 0), n); */
  //@ ghost first: ;
  status = value_at_ends(&w->t[1], a, n, x, false, w);
  //@ assert outputs_then: work_output(w);
  if (status != PHIBAL_OK) return status;
  /*@ assert greatest: \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
        in(&w->t[1], renyi_value(p, ends_of{Pre}(x, n, 0), n)); */
  //@ assert kept: same{first, Here}(z);
  phibal_enclosure_hull(z, z, &w->t[1]);
  //@ assert outputs_last: work_output(w);
  return PHIBAL_OK;
}

phibal_status renyi_value(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                          phibal_enclosure *value) {
  //@ assert use_enclosure;
  renyi_work w;
  renyi_work_init(&w, working_precision(value, n, x));
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert arguments: work_input(a, n, x, &w);
  /*@ assert chosen: \forall real p, sequence s; in{Pre}(a, p) && members{Pre}(x, n, s) ==>
        members_chosen(a, n, x, p, s); */
  phibal_status status = value_over(value, a, n, x, &w);
  renyi_work_clear(&w);
  return status;
}
