/* The conjugate of Renyi's potential (P6) and its gradient. */
#include "renyi_work.h"
#include <phibal/acsl/contracts/inside/potentials/renyi_conjugate_static.h>

/* w->excess = c = a/(1-a), and w->b = r = y_0's lower end: the prices are measured by it. */
static phibal_status set_scale(renyi_work *w, const phibal_enclosure *a,
                               const phibal_enclosure *y) {
  //@ assert use_enclosure;
  renyi_take_end(&w->b, y, false);
  //@ assert kept: same{Pre, Here}(a) && input(a);
  subtract_from_integer(&w->t[0], 1, a);
  /*@ assert divisor: same{Pre, Here}(a) && \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
        in(a, p) && in(&w->t[0], 1.0 - p) && 1.0 - p != 0.0; */
  return phibal_enclosure_div(&w->excess, a, &w->t[0]);
}

/* What z and x have in common, which is not nothing. */
static void intersect(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure;
  mpfr_max(z->lo, z->lo, x->lo, MPFR_RNDD);
  mpfr_min(z->hi, z->hi, x->hi, MPFR_RNDU);
}

/* w->t[0] = (r - y)/y, which is the ratio in w->t[0] less 1: its enclosure, which has y once,
   bounds this one, which has it twice. */
static phibal_status ratio_less_one(renyi_work *w) {
  //@ assert use_enclosure && open_times;
  add_integer(&w->t[1], &w->t[0], -1);
  /*@ assert rough: \forall real r, y; in{Pre}(&w->b, r) && in{Pre}(&w->point, y) && y < 0.0 ==>
        in(&w->t[1], over(r, y) - 1.0); */
  TRY(phibal_enclosure_sub(&w->t[0], &w->b, &w->point));
  /*@ assert difference: same{Pre, Here}(&w->point) && \forall real r, y;
        in{Pre}(&w->b, r) && in{Pre}(&w->point, y) ==> in(&w->t[0], r - y); */
  TRY(phibal_enclosure_div(&w->t[0], &w->t[0], &w->point));
  //@ assert form: use_renyi_dual;
  /*@ assert fine: \forall real r, y; in{Pre}(&w->b, r) && in{Pre}(&w->point, y) && y < 0.0 ==>
        in(&w->t[0], over(r, y) - 1.0); */
  //@ assert common: \exists real q; in(&w->t[0], q) && in(&w->t[1], q);
  intersect(&w->t[0], &w->t[1]);
  return PHIBAL_OK;
}

/* The power near a ratio of 1, which is in w->t[0]. */
static phibal_status weight_near_one(renyi_work *w) {
  //@ assert use_enclosure && use_exp && use_renyi_dual;
  TRY(ratio_less_one(w));
  /*@ assert ratio: \forall real r, y; price_input{Pre}(w, r, y) ==>
        in(&w->t[0], over(r, y) - 1.0) && 0.0 < over(r, y); */
  TRY(phibal_enclosure_log1p(&w->t[0], &w->t[0]));
  /*@ assert logarithm: \forall real r, y; price_input{Pre}(w, r, y) ==>
        in(&w->t[0], \log(over(r, y))); */
  //@ assert kept: same{Pre, Here}(&w->excess);
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->excess));
  /*@ assert exponent: \forall real c, r, y; in{Pre}(&w->excess, c) && price_input{Pre}(w, r, y) ==>
        in(&w->t[0], \log(over(r, y)) * c); */
  phibal_enclosure_exp(&w->t[0], &w->t[0]);
  /*@ assert power: \forall real c, r, y; in{Pre}(&w->excess, c) && price_input{Pre}(w, r, y) ==>
        in(&w->t[0], e(\log(over(r, y)) * c)); */
  return PHIBAL_OK;
}

/* w->t[0] = (r/y)^c for y < 0 in w->point. c grows without bound as a -> 1, and with it what an
   error of the ratio does; near a ratio of 1, where prices then lie, log1p((r - y)/y) has none to
   speak of. */
static phibal_status weight_of_one(renyi_work *w) {
  //@ assert use_enclosure && use_renyi_dual && open_raised && open_times;
  TRY(phibal_enclosure_div(&w->t[0], &w->b, &w->point));
  /*@ assert kept: same{Pre, Here}(&w->b) && same{Pre, Here}(&w->point) &&
        same{Pre, Here}(&w->excess); */
  /*@ assert quotient: \forall real r, y; in(&w->b, r) && in(&w->point, y) && y < 0.0 ==>
        in(&w->t[0], over(r, y)); */
  if (is_between(&w->t[0], 0.5, 2.0)) return weight_near_one(w);
  /*@ assert ratio: \forall real r, y; price_input{Pre}(w, r, y) ==>
        in(&w->t[0], over(r, y)) && 0.0 < over(r, y); */
  TRY(phibal_enclosure_pow(&w->t[0], &w->t[0], &w->excess));
  /*@ assert power: \forall real c, r, y; in{Pre}(&w->excess, c) && price_input{Pre}(w, r, y) ==>
        in(&w->t[0], raised(over(r, y), c)); */
  return PHIBAL_OK;
}

/* Adds to w->sum the weight of one price's lower (upper) end. */
static phibal_status add_weight(renyi_work *w, const phibal_enclosure *y, bool upper) {
  //@ assert use_enclosure && use_end;
  //@ assert argument: input(y + 0) && bounded(y + 0) && \separated(y + 0, w);
  renyi_take_end(&w->point, y, upper);
  TRY(weight_of_one(w));
  return phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]);
}

/* w->sum = sum_e (r/y_e)^c at the lower (upper) ends of y, all negative. */
static phibal_status add_weights(const phibal_enclosure *a, size_t n, const phibal_enclosure *y,
                                 bool upper, renyi_work *w) {
  //@ assert use_enclosure && use_end && use_ends;
  /*@ assert ends: ends{Pre}(y, n, upper, ends_of{Pre}(y, n, upper)) &&
        all_negative(ends_of{Pre}(y, n, upper), n); */
  /*@ assert end: \forall integer i; 0 <= i < n ==>
        \exists real q; end{Pre}(y + i, upper, q) && q < 0.0; */
  //@ assert first: end{Pre}(y + 0, 0, term(ends_of{Pre}(y, n, 0), 0));
  TRY(set_scale(w, a, y));
  phibal_enclosure_set_si(&w->sum, 0);
  //@ assert scale: \exists real r; in(&w->b, r);
  //@ ghost scaled: ;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: work_output(w);
      loop invariant frame: only_work_written{Pre, Here}(w);
      loop invariant kept: same{scaled, Here}(&w->b) && same{scaled, Here}(&w->excess);
      loop invariant sum: \forall real p, r, sequence s;
        ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) && r < 0.0 ==>
          in(&w->sum, renyi_weights(p, r, s, e));
      loop assigns e, *w;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    /*@ assert argument: same{Pre, Here}(y + e) &&
          (\exists real q; end(y + e, upper, q) && q < 0.0); */
    //@ assert scaled: \exists real r; in(&w->b, r);
    //@ ghost before: ;
    TRY(add_weight(w, &y[e], upper));
    /*@ assert added: \forall real p, r, c, sequence s;
          ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) && r < 0.0 &&
          in{before}(&w->sum, c) ==>
            in(&w->sum, c + renyi_weight(renyi_exponent(p), r, term(s, e))); */
    /*@ assert unfold: \forall real p, r, sequence s; renyi_weights(p, r, s, e + 1) ==
          renyi_weights(p, r, s, e) + renyi_weight(renyi_exponent(p), r, term(s, e)); */
  }
  return PHIBAL_OK;
}

/* w->t[0] = c (log(c/(-r)) - 1). */
static phibal_status scale_part(renyi_work *w) {
  //@ assert use_enclosure && open_times && use_renyi_dual && open_renyi_scaled;
  phibal_enclosure_neg(&w->t[0], &w->b);
  //@ assert negated: same{Pre, Here}(&w->excess);
  TRY(phibal_enclosure_div(&w->t[0], &w->excess, &w->t[0]));
  /*@ assert quotient: \forall real c, r; in{Pre}(&w->excess, c) && in{Pre}(&w->b, r) &&
        r < 0.0 ==> in(&w->t[0], over(c, -r)); */
  //@ assert kept: same{Pre, Here}(&w->excess);
  /*@ assert ratio: \forall real c, r; in{Pre}(&w->excess, c) && 0.0 < c && in{Pre}(&w->b, r) &&
        r < 0.0 ==> in(&w->t[0], over(c, -r)) && 0.0 < over(c, -r); */
  TRY(phibal_enclosure_log(&w->t[0], &w->t[0]));
  add_integer(&w->t[0], &w->t[0], -1);
  /*@ assert logarithm: \forall real c, r; in{Pre}(&w->excess, c) && 0.0 < c && in{Pre}(&w->b, r) &&
        r < 0.0 ==> in(&w->t[0], \log(over(c, -r)) - 1.0); */
  //@ assert factor: same{Pre, Here}(&w->excess);
  return phibal_enclosure_mul(&w->t[0], &w->t[0], &w->excess);
}

/* z = phi* at the lower (upper) ends of y, all negative:
   c (log c - 1) + log sum_e (-y_e)^(-c) = c (log(c/(-r)) - 1) + log sum_e (r/y_e)^c. */
static phibal_status conjugate_at_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *y, bool upper, renyi_work *w) {
  //@ assert use_enclosure && use_ends && use_renyi_dual;
  //@ ghost renyi_weights_scaled(n);
  //@ assert first: end{Pre}(y + 0, 0, term(ends_of{Pre}(y, n, 0), 0));
  phibal_status status = add_weights(a, n, y, upper, w);
  //@ assert outputs: work_output(w);
  if (status != PHIBAL_OK) return status;
  /*@ assert weights: \forall real p, r, sequence s;
        ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) ==>
          r < 0.0 && in(&w->sum, renyi_weights(p, r, s, n)) && in(&w->b, r) &&
          in(&w->excess, renyi_exponent(p)); */
  /*@ assert positive: \forall real p, r, sequence s;
        ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) ==>
          0.0 < renyi_dual_sum(p, s, n) && 0.0 < renyi_weights(p, r, s, n) &&
          0.0 < renyi_exponent(p); */
  status = phibal_enclosure_log(&w->sum, &w->sum);
  //@ assert outputs_then: work_output(w);
  if (status != PHIBAL_OK) return status;
  /*@ assert sum: \forall real p, r, sequence s;
        ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) ==>
          r < 0.0 && in(&w->sum, \log(renyi_weights(p, r, s, n))); */
  /*@ assert scale: \forall real p, r, sequence s;
        ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) ==>
          in(&w->b, r) && in(&w->excess, renyi_exponent(p)); */
  status = scale_part(w);
  //@ assert outputs_scaled: work_output(w);
  if (status != PHIBAL_OK) return status;
  /*@ assert both: \forall real p, r, sequence s;
        ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) ==>
          r < 0.0 && in(&w->sum, \log(renyi_weights(p, r, s, n))) &&
          in(&w->t[0], renyi_scale_part(renyi_exponent(p), r)); */
  /*@ assert scaled: \forall real p, r, sequence s;
        ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) ==>
          renyi_valid(p) && r < 0.0 && 0.0 < renyi_dual_sum(p, s, n) &&
          renyi_weights(p, r, s, n) ==
            renyi_scaled(p, r, renyi_dual_sum(p, s, n)); */
  /*@ assert form: \forall real p, r, sequence s;
        ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) ==>
          renyi_scale_part(renyi_exponent(p), r) +
            \log(renyi_weights(p, r, s, n)) == renyi_conjugate(p, s, n); */
  status = phibal_enclosure_add(z, &w->t[0], &w->sum);
  //@ assert outputs_last: work_output(w);
  return status;
}

/* Whether the lower (upper) ends of y are not all negative. */
static bool has_nonnegative(size_t n, const phibal_enclosure *y, bool upper) {
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant negative: \forall sequence s; ends(y, n, upper, s) ==> all_negative(s, e);
      loop assigns e;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++)
    if (renyi_end_sign(&y[e], upper) >= 0) return true;
  return false;
}

/* Over the box y: phi* grows with each element, so that two corners enclose it. */
static phibal_status conjugate_over(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                    const phibal_enclosure *y, renyi_work *w) {
  //@ assert use_enclosure && use_end && use_ends;
  //@ ghost renyi_conjugates_rise(n);
  //@ assert lower: ends{Pre}(y, n, 0, ends_of{Pre}(y, n, 0));
  //@ assert upper: ends{Pre}(y, n, 1, ends_of{Pre}(y, n, 1));
  /*@ assert at_least: \forall sequence s; members{Pre}(y, n, s) ==>
        dominated(ends_of{Pre}(y, n, 0), s, n); */
  /*@ assert at_most: \forall sequence s; members{Pre}(y, n, s) ==>
        dominated(s, ends_of{Pre}(y, n, 1), n); */
  if (has_nonnegative(n, y, false)) {
    /*@ assert outside: \forall sequence s; members{Pre}(y, n, s) ==> !all_negative(s, n); */
    set_infinity(z);
    //@ assert outputs_outside: work_output(w);
    return PHIBAL_OK;
  }
  //@ assert first: \forall real r; end{Pre}(y + 0, 0, r) ==> r < 0.0;
  phibal_status status = conjugate_at_ends(z, a, n, y, false, w);
  //@ assert outputs: work_output(w);
  if (status != PHIBAL_OK) return status;
  /*@ assert least: \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
        in(z, renyi_conjugate(p, ends_of{Pre}(y, n, 0), n)); */
  //@ assert vector: vector_same{Pre, Here}(y, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert arguments: work_input(a, n, y, w);
  /*@ assert below: \forall real p, sequence s; members_chosen{Pre}(a, n, y, p, s) &&
        all_negative(s, n) ==>
          renyi_conjugate(p, ends_of{Pre}(y, n, 0), n) <= renyi_conjugate(p, s, n); */
  if (has_nonnegative(n, y, true)) {
    renyi_raise_to_infinity(z);
    //@ assert outputs_raised: work_output(w);
    return PHIBAL_OK;
  }
  //@ assert same_upper: ends(y, n, 1, ends_of{Pre}(y, n, 1));
  //@ assert upper_negative: all_negative(ends_of{Pre}(y, n, 1), n);
  /*@ assert inside: \forall sequence s; members{Pre}(y, n, s) ==> all_negative(s, n); */
  /*@ assert above: \forall real p, sequence s; members_chosen{Pre}(a, n, y, p, s) ==>
        renyi_conjugate(p, s, n) <= renyi_conjugate(p, ends_of{Pre}(y, n, 1), n); */
  //@ assert first_again: \forall real r; end(y + 0, 0, r) ==> r < 0.0;
  //@ ghost low: ;
  status = conjugate_at_ends(&w->total, a, n, y, true, w);
  //@ assert outputs_then: work_output(w);
  if (status != PHIBAL_OK) return status;
  /*@ assert greatest: \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
        in(&w->total, renyi_conjugate(p, ends_of{Pre}(y, n, 1), n)); */
  //@ assert kept: same{low, Here}(z);
  phibal_enclosure_hull(z, z, &w->total);
  //@ assert outputs_last: work_output(w);
  return PHIBAL_OK;
}

phibal_status renyi_conjugate(const phibal_enclosure *a, size_t n, const phibal_enclosure *y,
                              phibal_enclosure *value) {
  //@ assert use_enclosure;
  renyi_work w;
  renyi_work_init(&w, working_precision(value, n, y));
  //@ assert vector: vector_same{Pre, Here}(y, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert arguments: work_input(a, n, y, &w);
  /*@ assert chosen: \forall real p, sequence s; in{Pre}(a, p) && members{Pre}(y, n, s) ==>
        members_chosen(a, n, y, p, s); */
  phibal_status status = conjugate_over(value, a, n, y, &w);
  renyi_work_clear(&w);
  return status;
}

/* w->t[0] = (r/y)^c, and y in w->point. */
static phibal_status weight_over(renyi_work *w, const phibal_enclosure *y) {
  //@ assert use_enclosure && use_end;
  //@ assert member: \exists real q; in(y, q) && q < 0.0;
  phibal_enclosure_set(&w->point, y);
  return weight_of_one(w);
}

/* w->sum = sum_e (r/y_e)^c. */
static phibal_status weights_over(const phibal_enclosure *a, size_t n, const phibal_enclosure *y,
                                  renyi_work *w) {
  //@ assert use_enclosure && use_end && use_ends;
  //@ assert first: end{Pre}(y + 0, 0, term(ends_of{Pre}(y, n, 0), 0));
  //@ assert first_negative: \exists real r; end{Pre}(y + 0, 0, r) && r < 0.0;
  TRY(set_scale(w, a, y));
  phibal_enclosure_set_si(&w->sum, 0);
  //@ assert scale: \exists real r; r < 0.0 && in(&w->b, r) && end{Pre}(y + 0, 0, r);
  //@ ghost scaled: ;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: work_output(w);
      loop invariant frame: only_work_written{Pre, Here}(w);
      loop invariant kept: same{scaled, Here}(&w->b) && same{scaled, Here}(&w->excess);
      loop invariant sum: \forall real p, r, sequence s;
        members_chosen{Pre}(a, n, y, p, s) && end{Pre}(y + 0, 0, r) ==>
          in(&w->sum, renyi_weights(p, r, s, e));
      loop assigns e, *w;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert argument: same{Pre, Here}(y + e) && input(y + e);
    //@ assert argument_sign: bounded(y + e) && negative(y + e);
    //@ assert scaled: \exists real r; in(&w->b, r);
    //@ ghost before: ;
    TRY(weight_over(w, &y[e]));
    TRY(phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]));
    /*@ assert added: \forall real p, r, c, sequence s;
          members_chosen{Pre}(a, n, y, p, s) && end{Pre}(y + 0, 0, r) &&
          in{before}(&w->sum, c) ==>
            in(&w->sum, c + renyi_weight(renyi_exponent(p), r, term(s, e))); */
    /*@ assert unfold: \forall real p, r, sequence s; renyi_weights(p, r, s, e + 1) ==
          renyi_weights(p, r, s, e) + renyi_weight(renyi_exponent(p), r, term(s, e)); */
  }
  return PHIBAL_OK;
}

/* z = (c/(-y)) (r/y)^c / w->sum. */
static phibal_status conjugate_gradient_of_one(phibal_enclosure *z, const phibal_enclosure *y,
                                               renyi_work *w) {
  //@ assert use_enclosure && open_renyi_scaled;
  TRY(weight_over(w, y));
  //@ assert scratch: work_output(w);
  /*@ assert weight: \forall real c, r, q; in{Pre}(&w->excess, c) && in{Pre}(&w->b, r) && r < 0.0 &&
        in{Pre}(y, q) ==> in(&w->t[0], renyi_weight(c, r, q)) && in(&w->point, q); */
  phibal_enclosure_neg(&w->t[1], &w->point);
  //@ assert kept: same{Pre, Here}(&w->excess);
  TRY(phibal_enclosure_div(&w->t[1], &w->excess, &w->t[1]));
  /*@ assert factor: \forall real c, q; in{Pre}(&w->excess, c) && in{Pre}(y, q) ==>
        in(&w->t[1], c / -q); */
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->t[1]));
  /*@ assert product: \forall real c, r, q; in{Pre}(&w->excess, c) && in{Pre}(&w->b, r) &&
        r < 0.0 && in{Pre}(y, q) ==> in(&w->t[0], renyi_weight(c, r, q) * (c / -q)); */
  //@ assert sum: same{Pre, Here}(&w->sum);
  return phibal_enclosure_div(z, &w->t[0], &w->sum);
}

/* (c/(-y_e)) (r/y_e)^c / sum_j (r/y_j)^c. Interval arithmetic as it stands: it grows with y_e and
   falls with the others, so that ends do not pair. */
static phibal_status conjugate_gradient_over(phibal_enclosure *z, const phibal_enclosure *a,
                                             size_t n, const phibal_enclosure *y, renyi_work *w) {
  //@ assert use_enclosure && use_renyi_dual;
  //@ ghost renyi_weights_scaled(n);
  /*@ assert negative: \forall sequence s; members{Pre}(y, n, s) ==> all_negative(s, n); */
  phibal_status status = weights_over(a, n, y, w);
  //@ assert places: vector_output(z, n);
  if (status != PHIBAL_OK) return status;
  /*@ assert total: \forall real p, r, sequence s;
        members_chosen{Pre}(a, n, y, p, s) && end{Pre}(y + 0, 0, r) && r < 0.0 ==>
          in(&w->sum, renyi_scaled(p, r, renyi_dual_sum(p, s, n))) &&
          0.0 < renyi_dual_sum(p, s, n) &&
          0.0 < renyi_scaled(p, r, renyi_dual_sum(p, s, n)); */
  //@ ghost summed: ;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(z, n);
      loop invariant scratch: work_output(w);
      loop invariant frame: only_results_written{Pre, Here}(z, n, w);
      loop invariant kept: same{summed, Here}(&w->b) && same{summed, Here}(&w->excess) &&
        same{summed, Here}(&w->sum);
      loop invariant done: \forall real p, sequence s, integer i;
        members_chosen{Pre}(a, n, y, p, s) && 0 <= i < e ==>
          in(z + i, renyi_conjugate_gradient(p, s, n, i));
      loop assigns e, status, z[0 .. n - 1], *w;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert argument: same{Pre, Here}(y + e) && input(y + e);
    //@ assert argument_sign: bounded(y + e) && negative(y + e);
    //@ assert scaled: \exists real r; in(&w->b, r) && r < 0.0 && end{Pre}(y + 0, 0, r);
    /*@ assert members: \forall real p, r, sequence s;
          members_chosen{Pre}(a, n, y, p, s) && end{Pre}(y + 0, 0, r) && r < 0.0 ==>
            in(&w->excess, renyi_exponent(p)) && in(y + e, term(s, e)) && term(s, e) < 0.0 &&
            in(&w->sum, renyi_scaled(p, r, renyi_dual_sum(p, s, n))) &&
            0.0 < renyi_scaled(p, r, renyi_dual_sum(p, s, n)); */
    //@ ghost before: ;
    status = conjugate_gradient_of_one(&z[e], &y[e], w);
    //@ assert others: \forall integer i; 0 <= i < n && i != e ==> same{before, Here}(z + i);
    //@ assert outputs: vector_output(z, n);
    if (status != PHIBAL_OK) return status;
    /*@ assert quotient: \forall real p, r, sequence s;
          members_chosen{Pre}(a, n, y, p, s) && end{Pre}(y + 0, 0, r) && r < 0.0 &&
          in{before}(&w->b, r) ==>
            in(z + e, renyi_share(renyi_exponent(p), r, term(s, e),
                                  renyi_scaled(p, r, renyi_dual_sum(p, s, n)))); */
    /*@ assert form: \forall real p, r, sequence s;
          members_chosen{Pre}(a, n, y, p, s) && end{Pre}(y + 0, 0, r) && r < 0.0 ==>
            renyi_share(renyi_exponent(p), r, term(s, e),
                        renyi_scaled(p, r, renyi_dual_sum(p, s, n))) ==
              renyi_conjugate_gradient(p, s, n, e); */
    /*@ assert one: \forall real p, sequence s; members_chosen{Pre}(a, n, y, p, s) ==>
          in(z + e, renyi_conjugate_gradient(p, s, n, e)); */
  }
  return PHIBAL_OK;
}

static phibal_status require_negative(const char *function, size_t n, const phibal_enclosure *y) {
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant checked: \forall integer i; 0 <= i < e ==> negative(y + i);
      loop assigns e;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++)
    if (!phibal_enclosure_is_negative(&y[e]))
      return renyi_refuse(renyi_end_sign(&y[e], false) >= 0, "y < 0", function, e, n, y);
  return PHIBAL_OK;
}

phibal_status renyi_conjugate_gradient(const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *y, phibal_enclosure *gradient) {
  //@ assert use_enclosure;
  TRY(require_negative("conjugate-gradient", n, y));
  //@ assert apart: vectors_apart(y, n, gradient, n);
  //@ assert parameter_apart: vector_apart(a, gradient, n);
  renyi_work w;
  /*@ assert fresh: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        \valid_read(r) && \separated(r, &w); */
  renyi_work_init(&w, working_precision(gradient, n, y));
  //@ assert vector: vector_same{Pre, Here}(y, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert places: vector_output(gradient, n);
  //@ assert arguments: work_input(a, n, y, &w);
  /*@ assert chosen: \forall real p, sequence s; in{Pre}(a, p) && members{Pre}(y, n, s) ==>
        members_chosen(a, n, y, p, s) && all_negative(s, n); */
  phibal_status status = conjugate_gradient_over(gradient, a, n, y, &w);
  //@ assert outputs: vector_output(gradient, n);
  /*@ assert frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, gradient, n) ==> same{Pre, Here}(r); */
  renyi_work_clear(&w);
  //@ assert cleared: vector_output(gradient, n);
  return status;
}
