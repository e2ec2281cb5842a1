/* (P6) phi(x) = log(sum_e x_e^a) / (a-1) on x >= 0, x != 0, for 0 < a < 1; not separable. Write
   b = a-1 < 0 and S = sum_e x_e^a.

   Monotony, used to carry points to intervals: S increases with each x_e and b < 0, so phi falls
   with each; every entry of the Hessian is positive, so each gradient component grows with each
   x_e; and grad phi* > 0, so phi* grows with each y_e. */
#include "potentials.h"
#ifdef __FRAMAC__
#include <phibal/acsl/renyi_steps.h>
#endif

static const char name[] = "renyi";

/* Scalars of one evaluation. */
typedef struct renyi_work {
  phibal_enclosure point, b, sum, excess, total, t[2];
} renyi_work;

/*@ // the scalars are enclosures
    predicate work_output{L}(renyi_work *w) =
      output(&w->point) && output(&w->b) && output(&w->sum) && output(&w->excess) &&
      output(&w->total) && output(&w->t[0]) && output(&w->t[1]);
    predicate vector_apart_from(phibal_enclosure *x, integer n, phibal_enclosure *z) =
      \forall integer i; 0 <= i < n ==> \separated(x + i, z);
    predicate vector_apart_from_work(phibal_enclosure *x, integer n, renyi_work *w) =
      \forall integer i; 0 <= i < n ==> \separated(x + i, w);
    // nothing but the scalars was written between A and B, as far as enclosures go
    predicate only_work_written{A, B}(renyi_work *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, w) ==> same{A, B}(r);
    // nothing but z and the scalars was
    predicate only_with_work_written{A, B}(phibal_enclosure *z, renyi_work *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, z) && \separated(r, w) ==>
        same{A, B}(r);
    // a parameter and real numbers that functions with scalars read
    predicate work_input{L}(phibal_enclosure *a, integer n, phibal_enclosure *x, renyi_work *w) =
      input(a) && (\forall real p; in(a, p) ==> renyi_valid(p)) && vector_input(x, n) &&
      vector_bounded(x, n) && work_output(w) && \separated(a, w) &&
      vector_apart_from_work(x, n, w);
    // a choice of the parameter and of the lower (upper) ends
    predicate ends_chosen{L}(phibal_enclosure *a, integer n, phibal_enclosure *x, integer upper,
                             real p, sequence s) =
      in(a, p) && renyi_valid(p) && ends(x, n, upper, s);
    // and of any members
    predicate members_chosen{L}(phibal_enclosure *a, integer n, phibal_enclosure *x, real p,
                                sequence s) =
      in(a, p) && renyi_valid(p) && members(x, n, s);
*/

/*@ requires \valid(w) && MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w); */
static void renyi_work_init(renyi_work *w, mpfr_prec_t precision) {
  //@ assert use_enclosure;
  phibal_enclosure_init(&w->point, precision);
  phibal_enclosure_init(&w->b, precision);
  phibal_enclosure_init(&w->sum, precision);
  phibal_enclosure_init(&w->excess, precision);
  phibal_enclosure_init(&w->total, precision);
  phibal_enclosure_init(&w->t[0], precision);
  phibal_enclosure_init(&w->t[1], precision);
}

/*@ requires work_output(w);
    terminates \true;
    exits \false;
    assigns *w;
    ensures only_work_written{Pre, Here}(w); */
static void renyi_work_clear(renyi_work *w) {
  //@ assert use_enclosure;
  phibal_enclosure_clear(&w->point);
  phibal_enclosure_clear(&w->b);
  phibal_enclosure_clear(&w->sum);
  phibal_enclosure_clear(&w->excess);
  phibal_enclosure_clear(&w->total);
  phibal_enclosure_clear(&w->t[0]);
  phibal_enclosure_clear(&w->t[1]);
}

/* The sign of an end. */
/*@ requires input(x) && bounded(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall real r; end(x, upper, r) ==>
      (\result < 0 <==> r < 0.0) && (\result > 0 <==> r > 0.0); */
static int end_sign(const phibal_enclosure *x, bool upper) {
  //@ assert open_enclosure && open_end;
  return mpfr_sgn(upper ? x->hi : x->lo);
}

/* z = one end of x. */
/*@ requires output(z) && input(x) && bounded(x) && \separated(x, z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z);
    ensures only_written{Pre, Here}(z);
    ensures \forall real r; end{Pre}(x, upper, r) ==> in(z, r); */
static void take_end(phibal_enclosure *z, const phibal_enclosure *x, bool upper) {
  //@ assert open_enclosure && open_end;
  phibal_enclosure_set_fr(z, upper ? x->hi : x->lo);
}

/* Adds x (x^b - 1) to w->excess for x > 0 in w->point. */
/*@ requires work_output(w);
    terminates \true;
    exits \false;
    assigns w->excess, w->t[0];
    ensures enclosure(&w->excess);
    ensures enclosure(&w->t[0]);
    ensures only_two_written{Pre, Here}(&w->excess, &w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real b, q, s; in{Pre}(&w->b, b) &&
      in{Pre}(&w->point, q) && 0.0 < q && in{Pre}(&w->excess, s) ==>
        in(&w->excess, s + renyi_excess(b, q)); */
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

/* Adds x^a to w->sum for x > 0 in w->point. */
/*@ requires input(a) && work_output(w) && \separated(a, w);
    terminates \true;
    exits \false;
    assigns w->sum, w->t[0];
    ensures enclosure(&w->sum) && enclosure(&w->t[0]);
    ensures only_two_written{Pre, Here}(&w->sum, &w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      in{Pre}(&w->point, q) && 0.0 < q && in{Pre}(&w->sum, s) ==>
        in(&w->sum, s + raised(q, p)); */
static phibal_status add_power(renyi_work *w, const phibal_enclosure *a) {
  //@ assert use_enclosure && open_raised;
  TRY(phibal_enclosure_pow(&w->t[0], &w->point, a));
  /*@ assert power: \forall real p, q; in{Pre}(a, p) && in{Pre}(&w->point, q) && 0.0 < q ==>
        in(&w->t[0], raised(q, p)); */
  return phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]);
}

/* Adds x > 0 in w->point to the sums of add_end. */
/*@ requires work_output(w) && input(a) && \separated(a, w);
    terminates \true;
    exits \false;
    assigns w->sum, w->excess, w->total, w->t[0];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures sum: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      in{Pre}(&w->point, q) && 0.0 < q && in{Pre}(&w->sum, s) ==>
        in(&w->sum, s + raised(q, p));
    ensures excess: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(&w->b, renyi_b(p)) &&
      in{Pre}(&w->point, q) && 0.0 < q && in{Pre}(&w->excess, s) ==>
        in(&w->excess, s + (raised(q, p) - q));
    ensures total: \result == PHIBAL_OK ==> \forall real q, s; in{Pre}(&w->point, q) &&
      in{Pre}(&w->total, s) ==> in(&w->total, s + q); */
static phibal_status add_point(renyi_work *w, const phibal_enclosure *a) {
  //@ assert use_enclosure && use_renyi;
  phibal_status status = add_power(w, a);
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
/*@ requires work_output(w) && input(a) && \separated(a, w);
    requires input(x) && bounded(x) && \separated(x, w);
    terminates \true;
    exits \false;
    assigns w->point, w->sum, w->excess, w->total, w->t[0];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures sum: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) && renyi_valid(p) &&
      end{Pre}(x, upper, q) && 0.0 <= q && in{Pre}(&w->sum, s) ==>
        in(&w->sum, s + raised(q, p));
    ensures excess: \result == PHIBAL_OK ==> \forall real p, q, s; renyi_valid(p) &&
      in{Pre}(&w->b, renyi_b(p)) && end{Pre}(x, upper, q) && 0.0 <= q &&
      in{Pre}(&w->excess, s) ==> in(&w->excess, s + (raised(q, p) - q));
    ensures total: \result == PHIBAL_OK ==> \forall real q, s; end{Pre}(x, upper, q) &&
      0.0 <= q && in{Pre}(&w->total, s) ==> in(&w->total, s + q); */
static phibal_status add_end(renyi_work *w, const phibal_enclosure *a, const phibal_enclosure *x,
                             bool upper) {
  //@ assert use_enclosure && use_renyi && use_end;
  if (end_sign(x, upper) == 0) return PHIBAL_OK;
  take_end(&w->point, x, upper);
  /*@ assert point: \forall real q; end{Pre}(x, upper, q) && 0.0 <= q ==>
        in(&w->point, q) && 0.0 < q; */
  /*@ assert kept: same{Pre, Here}(a) && same{Pre, Here}(&w->b) && same{Pre, Here}(&w->sum) &&
        same{Pre, Here}(&w->excess) && same{Pre, Here}(&w->total); */
  return add_point(w, a);
}

/* w->sum = S, w->excess = S - 1 at the lower (upper) ends of x, all >= 0. */
/*@ requires work_input(a, n, x, w);
    requires \forall real p; in(a, p) ==> in(&w->b, renyi_b(p));
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures sum: \result == PHIBAL_OK ==> \forall real p, sequence s;
      ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) ==>
        in(&w->sum, renyi_sum(p, s, n));
    ensures excess: \result == PHIBAL_OK ==> \forall real p, sequence s;
      ends_chosen{Pre}(a, n, x, upper, p, s) && all_zero_or_more(s, n) ==>
        in(&w->excess, renyi_sum(p, s, n) - 1.0); */
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

/* x is certain to be S - 1 of a sum S that is not far from 1. */
/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing; */
static bool is_moderate(const phibal_enclosure *x) {
  return is_between(x, -0.5, 1.0);
}

/* w->t[0] = log S from S and S - 1. A sum that is a point has lost nothing. */
/*@ requires work_output(w);
    terminates \true;
    exits \false;
    assigns w->t[0];
    ensures enclosure(&w->t[0]);
    ensures only_written{Pre, Here}(&w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real s; in{Pre}(&w->sum, s) &&
      in{Pre}(&w->excess, s - 1.0) && 0.0 < s ==> in(&w->t[0], \log(s)); */
static phibal_status log_of_sum(renyi_work *w) {
  if (!phibal_enclosure_is_exact(&w->sum) && is_moderate(&w->excess))
    return phibal_enclosure_log1p(&w->t[0], &w->excess);
  return phibal_enclosure_log(&w->t[0], &w->sum);
}

/* z = phi at the lower (upper) ends of x, all >= 0 and not all 0. */
/*@ requires work_input(a, n, x, w) && output(z);
    requires z == &w->t[1] || \separated(z, w);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      ends_chosen{Pre}(a, n, x, upper, p, s) && renyi_value_inside(s, n) ==>
        in(z, renyi_value(p, s, n)); */
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
/*@ requires vector_input(x, n) && vector_bounded(x, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall sequence s; ends(x, n, upper, s) ==>
      (\result <==> !renyi_value_inside(s, n)); */
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
    int sign = end_sign(&x[e], upper);
    if (sign < 0) return true;
    if (sign > 0) outside = false;
  }
  return outside;
}

/* z's upper end becomes plus infinity. */
/*@ requires output(z);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && only_written{Pre, Here}(z) && in_plus(z);
    ensures \forall real v, r; in{Pre}(z, v) && v <= r ==> in(z, r); */
static void raise_to_infinity(phibal_enclosure *z) {
  //@ assert open_enclosure;
  mpfr_set_inf(z->hi, 1);
}

/*@ // z is a place for a result, apart from the scalars, a and x[0..n-1]
    predicate result_output{L}(phibal_enclosure *z, phibal_enclosure *a, integer n,
                               phibal_enclosure *x, renyi_work *w) =
      output(z) && \separated(z, w) && \separated(a, z) && vector_apart_from(x, n, z);
*/

/*@ requires work_input(a, n, x, w) && result_output(z, a, n, x, w);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      members_chosen{Pre}(a, n, x, p, s) ==>
        (renyi_value_inside(s, n) ? in(z, renyi_value(p, s, n)) : in_plus(z)); */
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
    raise_to_infinity(z);
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

/* The failure of coordinate e, known to be outside the domain, or only not known to be inside. */
/*@ requires input(x + e);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result != PHIBAL_OK; */
static phibal_status refuse(bool outside, const char *domain, const char *function, size_t e,
                            size_t n, const phibal_enclosure *x) {
  phibal_status status =
      outside ? outside_domain(domain)
              : phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                                  "too near the end of the domain %s to tell", domain);
  return name_coordinate(status, function, name, e, n, &x[e]);
}

/*@ requires vector_input(x, n) && vector_bounded(x, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> \forall integer i; 0 <= i < n ==> positive(x + i); */
static phibal_status require_positive(const char *function, size_t n, const phibal_enclosure *x) {
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant checked: \forall integer i; 0 <= i < e ==> positive(x + i);
      loop assigns e;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++)
    if (!phibal_enclosure_is_positive(&x[e]))
      return refuse(end_sign(&x[e], true) <= 0, "x > 0", function, e, n, x);
  return PHIBAL_OK;
}

/*@ predicate positive_input{L}(phibal_enclosure *a, integer n, phibal_enclosure *x,
                                renyi_work *w) =
      work_input(a, n, x, w) && \forall integer i; 0 <= i < n ==> positive(x + i);
*/

/* w->sum = sum x^a at the lower (upper) ends of x, all > 0. */
/*@ requires positive_input(a, n, x, w);
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures same{Pre, Here}(&w->total);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      ends_chosen{Pre}(a, n, x, upper, p, s) ==> in(&w->sum, renyi_sum(p, s, n)); */
static phibal_status power_sum_at_ends(const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *x, bool upper, renyi_work *w) {
  //@ assert use_enclosure && use_end;
  /*@ assert positive: \forall sequence s; ends{Pre}(x, n, upper, s) ==> all_positive(s, n); */
  phibal_enclosure_set_si(&w->sum, 0);
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: work_output(w);
      loop invariant frame: only_work_written{Pre, Here}(w);
      loop invariant kept: same{Pre, Here}(&w->b) && same{Pre, Here}(&w->total);
      loop invariant sum: \forall real p, sequence s;
        ends_chosen{Pre}(a, n, x, upper, p, s) ==> in(&w->sum, renyi_sum(p, s, e));
      loop assigns e, *w;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ ghost before: ;
    take_end(&w->point, &x[e], upper);
    /*@ assert end: \forall sequence s; ends{Pre}(x, n, upper, s) ==>
          in(&w->point, term(s, e)) && 0.0 < term(s, e); */
    TRY(add_power(w, a));
    /*@ assert added: \forall real p, c, sequence s;
          ends_chosen{Pre}(a, n, x, upper, p, s) && in{before}(&w->sum, c) ==>
            in(&w->sum, c + raised(term(s, e), p)); */
    /*@ assert unfold: \forall real p, sequence s;
          renyi_sum(p, s, e + 1) == renyi_sum(p, s, e) + raised(term(s, e), p); */
  }
  return PHIBAL_OK;
}

/* w->t[0] = a x^b / (b S) at the point, with S in w->sum and b in w->b. */
/*@ requires input(a) && work_output(w) && \separated(a, w);
    terminates \true;
    exits \false;
    assigns w->t[0];
    ensures enclosure(&w->t[0]);
    ensures only_written{Pre, Here}(&w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      renyi_valid(p) && in{Pre}(&w->b, renyi_b(p)) && in{Pre}(&w->point, q) && 0.0 < q &&
      in{Pre}(&w->sum, s) && 0.0 < s ==> in(&w->t[0], renyi_gradient_of(p, q, s)); */
static phibal_status gradient_of_one(const phibal_enclosure *a, renyi_work *w) {
  //@ assert use_enclosure && open_raised && use_renyi_derivatives && use_renyi_b;
  TRY(phibal_enclosure_pow(&w->t[0], &w->point, &w->b));
  /*@ assert power: \forall real b, q; in{Pre}(&w->b, b) && in{Pre}(&w->point, q) &&
        0.0 < q ==> in(&w->t[0], raised(q, b)); */
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], a));
  /*@ assert product: \forall real p, b, q; in{Pre}(a, p) && in{Pre}(&w->b, b) &&
        in{Pre}(&w->point, q) && 0.0 < q ==> in(&w->t[0], raised(q, b) * p); */
  //@ assert kept: same{Pre, Here}(&w->b) && same{Pre, Here}(&w->sum);
  TRY(phibal_enclosure_div(&w->t[0], &w->t[0], &w->b));
  /*@ assert quotient: \forall real p, b, q; in{Pre}(a, p) && in{Pre}(&w->b, b) && b < 0.0 &&
        in{Pre}(&w->point, q) && 0.0 < q ==> in(&w->t[0], raised(q, b) * p / b); */
  //@ assert sum: same{Pre, Here}(&w->sum);
  return phibal_enclosure_div(&w->t[0], &w->t[0], &w->sum);
}

/* The derivative at the lower end of x in z, at the upper end joined to z. */
/*@ requires input(a) && work_output(w) && \separated(a, w);
    requires input(x) && bounded(x) && \separated(x, w);
    requires output(z) && \separated(z, w) && \separated(a, z) && \separated(x, z);
    terminates \true;
    exits \false;
    assigns *z, w->point, w->t[0];
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures same{Pre, Here}(&w->b);
    ensures same{Pre, Here}(&w->sum);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      renyi_valid(p) && in{Pre}(&w->b, renyi_b(p)) && end{Pre}(x, upper, q) && 0.0 < q &&
      in{Pre}(&w->sum, s) && 0.0 < s ==> in(z, renyi_gradient_of(p, q, s));
    ensures joined: \result == PHIBAL_OK && upper ==> \forall real p, q, s, l, r; in{Pre}(a, p) &&
      renyi_valid(p) && in{Pre}(&w->b, renyi_b(p)) && end{Pre}(x, upper, q) && 0.0 < q &&
      in{Pre}(&w->sum, s) && 0.0 < s && in{Pre}(z, l) && l <= r <= renyi_gradient_of(p, q, s) ==>
        in(z, r); */
static phibal_status gradient_at_end(phibal_enclosure *z, const phibal_enclosure *a,
                                     const phibal_enclosure *x, bool upper, renyi_work *w) {
  //@ assert use_enclosure && use_end;
  take_end(&w->point, x, upper);
  //@ assert kept: same{Pre, Here}(a) && same{Pre, Here}(&w->b) && same{Pre, Here}(&w->sum);
  phibal_status status = gradient_of_one(a, w);
  //@ assert outputs: work_output(w);
  //@ assert kept_then: same{Pre, Here}(&w->b) && same{Pre, Here}(&w->sum);
  if (status != PHIBAL_OK) return status;
  /*@ assert gradient: \forall real p, q, s; in{Pre}(a, p) && renyi_valid(p) &&
        in{Pre}(&w->b, renyi_b(p)) && end{Pre}(x, upper, q) && 0.0 < q && in{Pre}(&w->sum, s) &&
        0.0 < s ==> in(&w->t[0], renyi_gradient_of(p, q, s)); */
  //@ assert place: same{Pre, Here}(z);
  if (upper)
    phibal_enclosure_hull(z, z, &w->t[0]);
  else
    phibal_enclosure_set(z, &w->t[0]);
  //@ assert outputs_then: work_output(w);
  //@ assert kept_last: same{Pre, Here}(&w->b) && same{Pre, Here}(&w->sum);
  return PHIBAL_OK;
}

/*@ // z[0..n-1] is a place for results, apart from the scalars, a and x[0..n-1]
    predicate results_output{L}(phibal_enclosure *z, phibal_enclosure *a, integer n,
                                phibal_enclosure *x, renyi_work *w) =
      vector_output(z, n) && vector_apart_from_work(z, n, w) && vector_apart(a, z, n) &&
      vectors_apart(x, n, z, n);
    // nothing but z[0..n-1] and the scalars was written between A and B
    predicate only_results_written{A, B}(phibal_enclosure *z, integer n, renyi_work *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) &&
        (\forall integer i; 0 <= i < n ==> \separated(r, z + i)) && \separated(r, w) ==>
          same{A, B}(r);
*/

/* The lower ends of z from the lower ends of x; the upper ends, with z joined to them. */
/*@ requires positive_input(a, n, x, w) && 1 <= n && results_output(z, a, n, x, w);
    requires \forall real p; in(a, p) ==> in(&w->b, renyi_b(p));
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1], *w;
    ensures vector_output(z, n);
    ensures work_output(w);
    ensures only_results_written{Pre, Here}(z, n, w);
    ensures same{Pre, Here}(&w->b);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i;
      ends_chosen{Pre}(a, n, x, upper, p, s) && 0 <= i < n ==>
        in(z + i, renyi_gradient(p, s, n, i));
    ensures joined: \result == PHIBAL_OK && upper ==> \forall real p, l, r, sequence s, integer i;
      ends_chosen{Pre}(a, n, x, upper, p, s) && 0 <= i < n && in{Pre}(z + i, l) &&
      l <= r <= renyi_gradient(p, s, n, i) ==> in(z + i, r); */
static phibal_status gradient_at_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                      const phibal_enclosure *x, bool upper, renyi_work *w) {
  //@ assert use_enclosure && use_end;
  //@ ghost renyi_sum_positive(n);
  phibal_status status = power_sum_at_ends(a, n, x, upper, w);
  //@ assert places: \forall integer i; 0 <= i < n ==> same{Pre, Here}(z + i);
  //@ assert places_output: vector_output(z, n);
  if (status != PHIBAL_OK) return status;
  /*@ assert sum: \forall real p, sequence s; ends_chosen{Pre}(a, n, x, upper, p, s) ==>
        in(&w->sum, renyi_sum(p, s, n)) && all_positive(s, n); */
  /*@ assert positive: \forall real p, sequence s; ends_chosen{Pre}(a, n, x, upper, p, s) ==>
        0.0 < term(s, 0) && all_zero_or_more(s, n) && 0.0 < renyi_sum(p, s, n); */
  //@ ghost summed: ;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(z, n);
      loop invariant scratch: work_output(w);
      loop invariant frame: only_results_written{Pre, Here}(z, n, w);
      loop invariant kept: same{summed, Here}(&w->b) && same{summed, Here}(&w->sum);
      loop invariant rest: \forall integer i; e <= i < n ==> same{Pre, Here}(z + i);
      loop invariant done: \forall real p, sequence s, integer i;
        ends_chosen{Pre}(a, n, x, upper, p, s) && 0 <= i < e ==>
          in(z + i, renyi_gradient(p, s, n, i));
      loop invariant joined: upper ==> \forall real p, l, r, sequence s, integer i;
        ends_chosen{Pre}(a, n, x, upper, p, s) && 0 <= i < e && in{Pre}(z + i, l) &&
        l <= r <= renyi_gradient(p, s, n, i) ==> in(z + i, r);
      loop assigns e, status, z[0 .. n - 1], *w;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert argument: same{Pre, Here}(x + e) && input(x + e) && bounded(x + e);
    //@ assert parameter: same{Pre, Here}(a) && input(a);
    //@ assert place: output(z + e) && same{Pre, Here}(z + e);
    //@ ghost before: ;
    status = gradient_at_end(&z[e], a, &x[e], upper, w);
    //@ assert others: \forall integer i; 0 <= i < n && i != e ==> same{before, Here}(z + i);
    //@ assert outputs: vector_output(z, n);
    if (status != PHIBAL_OK) return status;
    /*@ assert one: \forall real p, sequence s; ends_chosen{Pre}(a, n, x, upper, p, s) ==>
          in(z + e, renyi_gradient(p, s, n, e)); */
    /*@ assert one_joined: upper ==> \forall real p, l, r, sequence s;
          ends_chosen{Pre}(a, n, x, upper, p, s) && in{Pre}(z + e, l) &&
          l <= r <= renyi_gradient(p, s, n, e) ==> in(z + e, r); */
  }
  return PHIBAL_OK;
}

/*@ requires positive_input(a, n, x, w) && 1 <= n && results_output(z, a, n, x, w);
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1], *w;
    ensures vector_output(z, n);
    ensures work_output(w);
    ensures only_results_written{Pre, Here}(z, n, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i;
      members_chosen{Pre}(a, n, x, p, s) && 0 <= i < n ==>
        in(z + i, renyi_gradient(p, s, n, i)); */
static phibal_status gradient_over(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                   const phibal_enclosure *x, renyi_work *w) {
  //@ assert use_enclosure && use_end && use_ends && open_renyi_b;
  //@ ghost renyi_gradients_rise(n);
  //@ assert lower: ends{Pre}(x, n, 0, ends_of{Pre}(x, n, 0));
  //@ assert upper: ends{Pre}(x, n, 1, ends_of{Pre}(x, n, 1));
  //@ assert lower_positive: all_positive(ends_of{Pre}(x, n, 0), n);
  /*@ assert at_least: \forall sequence s; members{Pre}(x, n, s) ==>
        dominated(ends_of{Pre}(x, n, 0), s, n) && all_positive(s, n); */
  /*@ assert at_most: \forall sequence s; members{Pre}(x, n, s) ==>
        dominated(s, ends_of{Pre}(x, n, 1), n); */
  /*@ assert above: \forall real p, sequence s, integer i;
        members_chosen{Pre}(a, n, x, p, s) && 0 <= i < n ==>
          renyi_gradient(p, ends_of{Pre}(x, n, 0), n, i) <= renyi_gradient(p, s, n, i); */
  /*@ assert below: \forall real p, sequence s, integer i;
        members_chosen{Pre}(a, n, x, p, s) && 0 <= i < n ==>
          renyi_gradient(p, s, n, i) <= renyi_gradient(p, ends_of{Pre}(x, n, 1), n, i); */
  add_integer(&w->b, a, -1);
  //@ assert first_vector: vector_same{Pre, Here}(x, n);
  //@ assert first_parameter: same{Pre, Here}(a);
  //@ assert first_places: vector_output(z, n);
  //@ assert first_arguments: positive_input(a, n, x, w);
  //@ assert first_b: \forall real p; in(a, p) ==> in(&w->b, renyi_b(p));
  TRY(gradient_at_ends(z, a, n, x, false, w));
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert arguments: positive_input(a, n, x, w);
  //@ assert b: \forall real p; in(a, p) ==> in(&w->b, renyi_b(p));
  /*@ assert least: \forall real p, integer i; in{Pre}(a, p) && renyi_valid(p) && 0 <= i < n ==>
        in(z + i, renyi_gradient(p, ends_of{Pre}(x, n, 0), n, i)); */
  //@ assert same_upper: ends(x, n, 1, ends_of{Pre}(x, n, 1));
  TRY(gradient_at_ends(z, a, n, x, true, w));
  return PHIBAL_OK;
}

phibal_status renyi_gradient(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                             phibal_enclosure *gradient) {
  //@ assert use_enclosure;
  TRY(require_positive("gradient", n, x));
  //@ assert apart: vectors_apart(x, n, gradient, n);
  //@ assert parameter_apart: vector_apart(a, gradient, n);
  renyi_work w;
  renyi_work_init(&w, working_precision(gradient, n, x));
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert places: vector_output(gradient, n);
  //@ assert arguments: work_input(a, n, x, &w);
  /*@ assert chosen: \forall real p, sequence s; in{Pre}(a, p) && members{Pre}(x, n, s) ==>
        members_chosen(a, n, x, p, s) && all_positive(s, n); */
  phibal_status status = gradient_over(gradient, a, n, x, &w);
  //@ assert outputs: vector_output(gradient, n);
  /*@ assert frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, gradient, n) ==> same{Pre, Here}(r); */
  renyi_work_clear(&w);
  //@ assert cleared: vector_output(gradient, n);
  return status;
}

/* w->sum = sum x^a. */
/*@ requires positive_input(a, n, x, w);
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      members_chosen{Pre}(a, n, x, p, s) ==> in(&w->sum, renyi_sum(p, s, n)); */
static phibal_status power_sum_over(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                    renyi_work *w) {
  //@ assert use_enclosure && use_end && use_ends;
  //@ ghost renyi_sum_rises(n);
  //@ assert lower: ends{Pre}(x, n, 0, ends_of{Pre}(x, n, 0));
  //@ assert upper: ends{Pre}(x, n, 1, ends_of{Pre}(x, n, 1));
  /*@ assert at_least: \forall sequence s; members{Pre}(x, n, s) ==>
        dominated(ends_of{Pre}(x, n, 0), s, n) && all_zero_or_more(ends_of{Pre}(x, n, 0), n); */
  /*@ assert at_most: \forall sequence s; members{Pre}(x, n, s) ==>
        dominated(s, ends_of{Pre}(x, n, 1), n) && all_zero_or_more(s, n); */
  TRY(power_sum_at_ends(a, n, x, false, w));
  phibal_enclosure_set(&w->total, &w->sum);
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert arguments: positive_input(a, n, x, w);
  /*@ assert least: \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
        in(&w->total, renyi_sum(p, ends_of{Pre}(x, n, 0), n)); */
  //@ assert same_upper: ends(x, n, 1, ends_of{Pre}(x, n, 1));
  TRY(power_sum_at_ends(a, n, x, true, w));
  /*@ assert both: \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
        in(&w->total, renyi_sum(p, ends_of{Pre}(x, n, 0), n)) &&
        in(&w->sum, renyi_sum(p, ends_of{Pre}(x, n, 1), n)); */
  phibal_enclosure_hull(&w->sum, &w->sum, &w->total);
  return PHIBAL_OK;
}

/* w->excess = a^2/(1-a). */
/*@ requires input(a) && work_output(w) && \separated(a, w);
    terminates \true;
    exits \false;
    assigns w->excess, w->t[0 .. 1];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->sum);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
      in(&w->excess, renyi_one(p)); */
static phibal_status set_rank_one(renyi_work *w, const phibal_enclosure *a) {
  //@ assert use_enclosure && open_renyi_ray;
  subtract_from_integer(&w->t[0], 1, a);
  TRY(phibal_enclosure_mul(&w->t[1], a, a));
  return phibal_enclosure_div(&w->excess, &w->t[1], &w->t[0]);
}

/* z = a x^(a-2) / S. */
/*@ requires input(a) && input(x) && work_output(w) && output(z) && \separated(a, w) &&
             \separated(x, w) && \separated(z, w) && \separated(a, z) && \separated(x, z);
    terminates \true;
    exits \false;
    assigns *z, w->t[0 .. 1];
    ensures enclosure(z);
    ensures enclosure(&w->t[0]);
    ensures enclosure(&w->t[1]);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures same{Pre, Here}(&w->sum);
    ensures same{Pre, Here}(&w->excess);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      renyi_valid(p) && in{Pre}(x, q) && 0.0 < q && in{Pre}(&w->sum, s) && 0.0 < s ==>
        in(z, renyi_diagonal_of(p, q, s)); */
static phibal_status set_diagonal(phibal_enclosure *z, const phibal_enclosure *a,
                                  const phibal_enclosure *x, renyi_work *w) {
  //@ assert use_enclosure && open_raised && use_renyi_derivatives;
  add_integer(&w->t[0], a, -2);
  TRY(phibal_enclosure_pow(&w->t[1], x, &w->t[0]));
  /*@ assert power: \forall real p, q; in{Pre}(a, p) && in{Pre}(x, q) && 0.0 < q ==>
        in(&w->t[1], raised(q, p - 2.0)); */
  //@ assert kept: same{Pre, Here}(a) && same{Pre, Here}(&w->sum);
  TRY(phibal_enclosure_mul(&w->t[1], &w->t[1], a));
  /*@ assert product: \forall real p, q; in{Pre}(a, p) && in{Pre}(x, q) && 0.0 < q ==>
        in(&w->t[1], raised(q, p - 2.0) * p); */
  //@ assert sum: same{Pre, Here}(&w->sum);
  TRY(phibal_enclosure_div(z, &w->t[1], &w->sum));
  /*@ assert quotient: \forall real p, q, s; in{Pre}(a, p) && in{Pre}(x, q) && 0.0 < q &&
        in{Pre}(&w->sum, s) && 0.0 < s ==> in(z, raised(q, p - 2.0) * p / s); */
  return PHIBAL_OK;
}

/* z = x^b / S. */
/*@ requires input(a) && input(x) && work_output(w) && output(z) && \separated(a, w) &&
             \separated(x, w) && \separated(z, w) && \separated(a, z) && \separated(x, z);
    terminates \true;
    exits \false;
    assigns *z, w->t[0 .. 1];
    ensures enclosure(z);
    ensures enclosure(&w->t[0]);
    ensures enclosure(&w->t[1]);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures same{Pre, Here}(&w->sum);
    ensures same{Pre, Here}(&w->excess);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, q, s; in{Pre}(a, p) &&
      renyi_valid(p) && in{Pre}(x, q) && 0.0 < q && in{Pre}(&w->sum, s) && 0.0 < s ==>
        in(z, renyi_ray(p, q, s)); */
static phibal_status set_ray(phibal_enclosure *z, const phibal_enclosure *a,
                             const phibal_enclosure *x, renyi_work *w) {
  //@ assert use_enclosure && open_raised && open_renyi_ray;
  add_integer(&w->t[0], a, -1);
  TRY(phibal_enclosure_pow(&w->t[1], x, &w->t[0]));
  /*@ assert power: \forall real p, q; in{Pre}(a, p) && in{Pre}(x, q) && 0.0 < q ==>
        in(&w->t[1], raised(q, p - 1.0)); */
  //@ assert sum: same{Pre, Here}(&w->sum);
  return phibal_enclosure_div(z, &w->t[1], &w->sum);
}

/*@ // h[0..2n-1] and w->excess hold the Hessian's parts at s for the parameter p
    predicate hessian_parts{L}(phibal_enclosure *h, integer n, renyi_work *w, real p,
                               sequence s) =
      renyi_valid(p) && all_positive(s, n) && in(&w->excess, renyi_one(p)) &&
      (\forall integer i; 0 <= i < n ==>
        in(h + i, renyi_diagonal_of(p, term(s, i), renyi_sum(p, s, n)))) &&
      (\forall integer i; 0 <= i < n ==>
        in(h + (n + i), renyi_ray(p, term(s, i), renyi_sum(p, s, n))));
*/

/* The parts of one Hessian, in x: diagonal_e = a x_e^(a-2) / S in h[0..n-1], ray_e = x_e^b / S in
   h[n..2n-1], rank_one = a^2/(1-a) in w->excess. The Hessian (P6.h) is diag(diagonal) + rank_one
   ray ray^T. */
/*@ requires positive_input(a, n, x, w) && 1 <= n <= 0xffffffff;
    requires vector_output(h, 2 * n) && vector_apart_from_work(h, 2 * n, w) &&
             vector_apart(a, h, 2 * n) && vectors_apart(x, n, h, 2 * n);
    terminates \true;
    exits \false;
    assigns h[0 .. 2 * n - 1], *w;
    ensures vector_output(h, 2 * n);
    ensures work_output(w);
    ensures only_results_written{Pre, Here}(h, 2 * n, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      members_chosen{Pre}(a, n, x, p, s) ==> hessian_parts(h, n, w, p, s); */
static phibal_status set_hessian_parts(phibal_enclosure *h, const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *x, renyi_work *w) {
  //@ assert use_enclosure;
  //@ ghost renyi_sum_positive(n);
  phibal_status status = power_sum_over(a, n, x, w);
  //@ assert parameter_kept: same{Pre, Here}(a) && input(a);
  if (status == PHIBAL_OK) status = set_rank_one(w, a);
  //@ assert scratch: work_output(w);
  //@ assert places: vector_output(h, 2 * n);
  //@ assert frame: only_work_written{Pre, Here}(w);
  if (status != PHIBAL_OK) return status;
  /*@ assert sum: \forall real p, sequence s; members_chosen{Pre}(a, n, x, p, s) ==>
        in(&w->sum, renyi_sum(p, s, n)) && in(&w->excess, renyi_one(p)); */
  /*@ assert positive: \forall real p, sequence s; members_chosen{Pre}(a, n, x, p, s) ==>
        all_positive(s, n) && 0.0 < term(s, 0) && all_zero_or_more(s, n) &&
        0.0 < renyi_sum(p, s, n); */
  //@ ghost summed: ;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(h, 2 * n);
      loop invariant scratch: work_output(w);
      loop invariant frame: only_results_written{Pre, Here}(h, 2 * n, w);
      loop invariant kept: same{summed, Here}(&w->sum) && same{summed, Here}(&w->excess);
      loop invariant diagonal: \forall real p, sequence s, integer i;
        members_chosen{Pre}(a, n, x, p, s) && 0 <= i < e ==>
          in(h + i, renyi_diagonal_of(p, term(s, i), renyi_sum(p, s, n)));
      loop invariant ray: \forall real p, sequence s, integer i;
        members_chosen{Pre}(a, n, x, p, s) && 0 <= i < e ==>
          in(h + (n + i), renyi_ray(p, term(s, i), renyi_sum(p, s, n)));
      loop assigns e, status, h[0 .. 2 * n - 1], w->t[0 .. 1];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert argument: same{Pre, Here}(x + e) && input(x + e);
    //@ assert parameter: same{Pre, Here}(a) && input(a);
    //@ ghost before: ;
    status = set_diagonal(&h[e], a, &x[e], w);
    //@ assert others: \forall integer i; 0 <= i < 2 * n && i != e ==> same{before, Here}(h + i);
    //@ assert outputs: vector_output(h, 2 * n);
    if (status != PHIBAL_OK) return status;
    /*@ assert one: \forall real p, sequence s; members_chosen{Pre}(a, n, x, p, s) ==>
          in(h + e, renyi_diagonal_of(p, term(s, e), renyi_sum(p, s, n))); */
    //@ assert argument_again: same{Pre, Here}(x + e) && input(x + e);
    //@ assert parameter_again: same{Pre, Here}(a) && input(a);
    //@ ghost middle: ;
    status = set_ray(&h[n + e], a, &x[e], w);
    /*@ assert others_again: \forall integer i; 0 <= i < 2 * n && i != n + e ==>
          same{middle, Here}(h + i); */
    //@ assert outputs_again: vector_output(h, 2 * n);
    if (status != PHIBAL_OK) return status;
    /*@ assert other: \forall real p, sequence s; members_chosen{Pre}(a, n, x, p, s) ==>
          in(h + (n + e), renyi_ray(p, term(s, e), renyi_sum(p, s, n))); */
  }
  return PHIBAL_OK;
}

/* z = rank_one left right, and the diagonal's part unless that is null. */
/*@ requires work_output(w) && output(z) && input(left) && input(right);
    requires diagonal == \null || (input(diagonal) && \separated(diagonal, w));
    requires \separated(z, w) && \separated(left, w) && \separated(right, w);
    terminates \true;
    exits \false;
    assigns *z, w->t[0];
    ensures enclosure(z);
    ensures enclosure(&w->t[0]);
    ensures only_two_written{Pre, Here}(z, &w->t[0]);
    ensures off: \result == PHIBAL_OK && diagonal == \null ==> \forall real k, u, v;
      in{Pre}(&w->excess, k) && in{Pre}(left, u) && in{Pre}(right, v) ==> in(z, u * v * k);
    ensures on: \result == PHIBAL_OK && diagonal != \null ==> \forall real k, u, v, d;
      in{Pre}(&w->excess, k) && in{Pre}(left, u) && in{Pre}(right, v) && in{Pre}(diagonal, d) ==>
        in(z, u * v * k + d); */
static phibal_status hessian_entry(phibal_enclosure *z, const phibal_enclosure *left,
                                   const phibal_enclosure *right, const phibal_enclosure *diagonal,
                                   renyi_work *w) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_mul(&w->t[0], left, right));
  //@ assert kept: diagonal != \null ==> same{Pre, Here}(diagonal);
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->excess));
  //@ assert kept_again: diagonal != \null ==> same{Pre, Here}(diagonal);
  /*@ assert product: \forall real k, u, v; in{Pre}(&w->excess, k) && in{Pre}(left, u) &&
        in{Pre}(right, v) ==> in(&w->t[0], u * v * k); */
  if (diagonal) TRY(phibal_enclosure_add(&w->t[0], &w->t[0], diagonal));
  /*@ assert off: diagonal == \null ==> \forall real k, u, v; in{Pre}(&w->excess, k) &&
        in{Pre}(left, u) && in{Pre}(right, v) ==> in(&w->t[0], u * v * k); */
  /*@ assert on: diagonal != \null ==> \forall real k, u, v, d; in{Pre}(&w->excess, k) &&
        in{Pre}(left, u) && in{Pre}(right, v) && in{Pre}(diagonal, d) ==>
          in(&w->t[0], u * v * k + d); */
  phibal_enclosure_set(z, &w->t[0]);
  return PHIBAL_OK;
}

/* z[0..n-1] = row e. */
/*@ requires e < n <= 0xffffffff && vector_output(z, n) && vector_input(h, 2 * n);
    requires work_output(w) && vector_apart_from_work(z, n, w) &&
             vector_apart_from_work(h, 2 * n, w) && vectors_apart(h, 2 * n, z, n);
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1], w->t[0];
    ensures vector_output(z, n);
    ensures enclosure(&w->t[0]) && only_with_vector_written{Pre, Here}(&w->t[0], z, n);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i;
      hessian_parts{Pre}(h, n, w, p, s) && 0 <= i < n ==>
        in(z + i, renyi_hessian(p, s, n, e, i)); */
static phibal_status hessian_row(phibal_enclosure *z, const phibal_enclosure *h, size_t n, size_t e,
                                 renyi_work *w) {
  //@ assert use_enclosure && use_renyi_hessian;
  //@ ghost renyi_sum_positive(n);
  /*@ assert positive: \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
        0.0 < term(s, 0) && all_zero_or_more(s, n) && 0.0 < renyi_sum(p, s, n); */
  /*@ loop invariant index: 0 <= j <= n;
      loop invariant outputs: vector_output(z, n);
      loop invariant scratch: enclosure(&w->t[0]);
      loop invariant frame: only_with_vector_written{Pre, Here}(&w->t[0], z, n);
      loop invariant entries: \forall real p, sequence s, integer i;
        hessian_parts{Pre}(h, n, w, p, s) && 0 <= i < j ==>
          in(z + i, renyi_hessian(p, s, n, e, i));
      loop assigns j, z[0 .. n - 1], w->t[0];
      loop variant n - j; */
  for (size_t j = 0; j < n; j++) {
    //@ assert left: input(h + (n + e)) && same{Pre, Here}(h + (n + e));
    //@ assert right: input(h + (n + j)) && same{Pre, Here}(h + (n + j));
    //@ assert diagonal: input(h + e) && same{Pre, Here}(h + e) && same{Pre, Here}(&w->excess);
    //@ ghost before: ;
    phibal_status status = hessian_entry(&z[j], &h[n + e], &h[n + j], e == j ? &h[e] : NULL, w);
    //@ assert others: \forall integer i; 0 <= i < n && i != j ==> same{before, Here}(z + i);
    //@ assert outputs: vector_output(z, n);
    if (status != PHIBAL_OK) return status;
    /*@ assert form: \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
          renyi_ray(p, term(s, e), renyi_sum(p, s, n)) *
            renyi_ray(p, term(s, j), renyi_sum(p, s, n)) * renyi_one(p) ==
          renyi_rank_one_of(p, term(s, e), term(s, j), renyi_sum(p, s, n)); */
    /*@ assert entry: \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
          in(z + j, renyi_hessian(p, s, n, e, j)); */
  }
  return PHIBAL_OK;
}

/*@ requires 1 <= n <= 0xffffffff && vector_output(z, n * n) && vector_input(h, 2 * n);
    requires work_output(w) && vector_apart_from_work(z, n * n, w) &&
             vector_apart_from_work(h, 2 * n, w) && vectors_apart(h, 2 * n, z, n * n);
    terminates \true;
    exits \false;
    assigns z[0 .. n * n - 1], w->t[0];
    ensures vector_output(z, n * n);
    ensures enclosure(&w->t[0]) && only_with_vector_written{Pre, Here}(&w->t[0], z, n * n);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i, j;
      hessian_parts{Pre}(h, n, w, p, s) && 0 <= i < n && 0 <= j < n ==>
        in(z + (i * n + j), renyi_hessian(p, s, n, i, j)); */
static phibal_status hessian_matrix(phibal_enclosure *z, const phibal_enclosure *h, size_t n,
                                    renyi_work *w) {
  //@ assert use_enclosure && use_cells;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(z, n * n);
      loop invariant scratch: enclosure(&w->t[0]);
      loop invariant frame: only_with_vector_written{Pre, Here}(&w->t[0], z, n * n);
      loop invariant rows: \forall real p, sequence s, integer i, j;
        hessian_parts{Pre}(h, n, w, p, s) && 0 <= i < e && 0 <= j < n ==>
          in(z + (i * n + j), renyi_hessian(p, s, n, i, j));
      loop assigns e, z[0 .. n * n - 1], w->t[0];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    /*@ assert row: 0 <= e * n && e * n + n <= n * n <= 0xffffffffffffffff; */
    //@ assert parts: vector_same{Pre, Here}(h, 2 * n);
    TRY(hessian_row(&z[e * n], h, n, e, w));
  }
  return PHIBAL_OK;
}

/*@ // the Hessian's parts and a vector v
    predicate product_parts{L}(phibal_enclosure *h, integer n, phibal_enclosure *v, renyi_work *w,
                               real p, sequence s, sequence t) =
      hessian_parts(h, n, w, p, s) && members(v, n, t);
*/

/* w->sum = rank_one <ray, v>. */
/*@ requires n <= 0xffffffff && vector_input(h, 2 * n) && vector_input(v, n) && work_output(w);
    requires vector_apart_from_work(h, 2 * n, w) && vector_apart_from_work(v, n, w);
    terminates \true;
    exits \false;
    assigns w->sum, w->t[0];
    ensures enclosure(&w->sum);
    ensures enclosure(&w->t[0]);
    ensures only_two_written{Pre, Here}(&w->sum, &w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, t;
      product_parts{Pre}(h, n, v, w, p, s, t) ==>
        in(&w->sum, renyi_ray_dot(p, s, t, n, n) * renyi_one(p)); */
static phibal_status ray_dot(const phibal_enclosure *h, size_t n, const phibal_enclosure *v,
                             renyi_work *w) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&w->sum, 0);
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant sums: enclosure(&w->sum);
      loop invariant scratch: enclosure(&w->t[0]);
      loop invariant frame: only_two_written{Pre, Here}(&w->sum, &w->t[0]);
      loop invariant dot: \forall real p, sequence s, t; product_parts{Pre}(h, n, v, w, p, s, t) ==>
        in(&w->sum, renyi_ray_dot(p, s, t, n, e));
      loop assigns e, w->sum, w->t[0];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert left: input(h + (n + e)) && same{Pre, Here}(h + (n + e));
    //@ assert right: input(v + e) && same{Pre, Here}(v + e);
    TRY(phibal_enclosure_mul(&w->t[0], &h[n + e], &v[e]));
    /*@ assert product: \forall real p, sequence s, t; product_parts{Pre}(h, n, v, w, p, s, t) ==>
          in(&w->t[0], renyi_ray(p, term(s, e), renyi_sum(p, s, n)) * term(t, e)); */
    TRY(phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]));
    /*@ assert unfold: \forall real p, sequence s, t; renyi_ray_dot(p, s, t, n, e + 1) ==
          renyi_ray_dot(p, s, t, n, e) +
            renyi_ray(p, term(s, e), renyi_sum(p, s, n)) * term(t, e); */
  }
  //@ assert factor: same{Pre, Here}(&w->excess);
  return phibal_enclosure_mul(&w->sum, &w->sum, &w->excess);
}

/* z = diagonal v + ray w->sum. */
/*@ requires output(z) && input(diagonal) && input(ray) && input(v) && work_output(w);
    requires \separated(z, w) && \separated(diagonal, w) && \separated(ray, w) && \separated(v, w);
    terminates \true;
    exits \false;
    assigns *z, w->t[0 .. 1];
    ensures enclosure(z);
    ensures enclosure(&w->t[0]);
    ensures enclosure(&w->t[1]);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures same{Pre, Here}(&w->sum);
    ensures meaning: \result == PHIBAL_OK ==> \forall real d, u, t, c; in{Pre}(diagonal, d) &&
      in{Pre}(ray, u) && in{Pre}(v, t) && in{Pre}(&w->sum, c) ==> in(z, d * t + u * c); */
static phibal_status product_of_one(phibal_enclosure *z, const phibal_enclosure *diagonal,
                                    const phibal_enclosure *ray, const phibal_enclosure *v,
                                    renyi_work *w) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_mul(&w->t[0], diagonal, v));
  //@ assert kept: same{Pre, Here}(ray) && same{Pre, Here}(&w->sum);
  TRY(phibal_enclosure_mul(&w->t[1], ray, &w->sum));
  /*@ assert terms: \forall real d, u, t, c; in{Pre}(diagonal, d) && in{Pre}(ray, u) &&
        in{Pre}(v, t) && in{Pre}(&w->sum, c) ==> in(&w->t[0], d * t) && in(&w->t[1], u * c); */
  return phibal_enclosure_add(z, &w->t[0], &w->t[1]);
}

/* product_e = diagonal_e v_e + rank_one ray_e <ray, v>. */
/*@ requires 1 <= n <= 0xffffffff && vector_output(product, n) && vector_input(h, 2 * n) &&
             vector_input(v, n);
    requires work_output(w) && vector_apart_from_work(product, n, w) &&
             vector_apart_from_work(h, 2 * n, w) && vector_apart_from_work(v, n, w) &&
             vectors_apart(h, 2 * n, product, n) && vectors_apart(v, n, product, n);
    terminates \true;
    exits \false;
    assigns product[0 .. n - 1], *w;
    ensures vector_output(product, n);
    ensures work_output(w);
    ensures only_results_written{Pre, Here}(product, n, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, t, integer i;
      product_parts{Pre}(h, n, v, w, p, s, t) && 0 <= i < n ==>
        in(product + i, renyi_hessian_product(p, s, t, n, i)); */
static phibal_status hessian_times(phibal_enclosure *product, const phibal_enclosure *h, size_t n,
                                   const phibal_enclosure *v, renyi_work *w) {
  //@ assert use_enclosure;
  //@ ghost renyi_sum_positive(n);
  /*@ assert positive: \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
        0.0 < term(s, 0) && all_zero_or_more(s, n) && 0.0 < renyi_sum(p, s, n); */
  phibal_status status = ray_dot(h, n, v, w);
  //@ assert places: vector_output(product, n);
  if (status != PHIBAL_OK) return status;
  //@ ghost summed: ;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(product, n);
      loop invariant scratch: work_output(w);
      loop invariant frame: only_results_written{Pre, Here}(product, n, w);
      loop invariant kept: same{summed, Here}(&w->sum);
      loop invariant done: \forall real p, sequence s, t, integer i;
        product_parts{Pre}(h, n, v, w, p, s, t) && 0 <= i < e ==>
          in(product + i, renyi_hessian_product(p, s, t, n, i));
      loop assigns e, status, product[0 .. n - 1], w->t[0 .. 1];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ ghost renyi_row_split(n, e);
    //@ assert diagonal: input(h + e) && same{Pre, Here}(h + e);
    //@ assert ray: input(h + (n + e)) && same{Pre, Here}(h + (n + e));
    //@ assert factor: input(v + e) && same{Pre, Here}(v + e);
    //@ ghost before: ;
    status = product_of_one(&product[e], &h[e], &h[n + e], &v[e], w);
    //@ assert others: \forall integer i; 0 <= i < n && i != e ==> same{before, Here}(product + i);
    //@ assert outputs: vector_output(product, n);
    if (status != PHIBAL_OK) return status;
    /*@ assert one: \forall real p, sequence s, t; product_parts{Pre}(h, n, v, w, p, s, t) ==>
          in(product + e, renyi_diagonal_of(p, term(s, e), renyi_sum(p, s, n)) * term(t, e) +
            renyi_ray(p, term(s, e), renyi_sum(p, s, n)) *
              (renyi_ray_dot(p, s, t, n, n) * renyi_one(p))); */
    /*@ assert row: \forall real p, sequence s, t; product_parts{Pre}(h, n, v, w, p, s, t) ==>
          in(product + e, renyi_hessian_product(p, s, t, n, e)); */
  }
  return PHIBAL_OK;
}

/* The matrix; h is of the working precision. */
/*@ requires input(a) && (\forall real p; in(a, p) ==> renyi_valid(p)) && 1 <= n <= 0xffffffff;
    requires vector_input(x, n) && vector_bounded(x, n);
    requires \forall integer i; 0 <= i < n ==> positive(x + i);
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    requires vector_output(h, 2 * n) && vector_apart(a, h, 2 * n) && vectors_apart(x, n, h, 2 * n);
    requires vector_output(z, n * n) && vectors_apart(h, 2 * n, z, n * n);
    terminates \true;
    exits \false;
    assigns h[0 .. 2 * n - 1], z[0 .. n * n - 1];
    ensures vector_output(h, 2 * n);
    ensures vector_output(z, n * n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, h, 2 * n) &&
      vector_apart(r, z, n * n) ==> same{Pre, Here}(r);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i, j;
      members_chosen{Pre}(a, n, x, p, s) && 0 <= i < n && 0 <= j < n ==>
        in(z + (i * n + j), renyi_hessian(p, s, n, i, j)); */
static phibal_status matrix_with(phibal_enclosure *z, phibal_enclosure *h,
                                 const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                 mpfr_prec_t precision) {
  //@ assert use_enclosure;
  renyi_work w;
  renyi_work_init(&w, precision);
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert parts: vector_output(h, 2 * n);
  //@ assert arguments: positive_input(a, n, x, &w);
  phibal_status status = set_hessian_parts(h, a, n, x, &w);
  //@ assert places: vector_output(z, n * n);
  /*@ assert set: status == PHIBAL_OK ==> \forall real p, sequence s;
        members_chosen{Pre}(a, n, x, p, s) ==> hessian_parts(h, n, &w, p, s); */
  if (status == PHIBAL_OK) status = hessian_matrix(z, h, n, &w);
  //@ assert outputs: vector_output(z, n * n);
  //@ assert parts_kept: vector_output(h, 2 * n);
  renyi_work_clear(&w);
  return status;
}

/* Its product with v; h is of the working precision. */
/*@ requires input(a) && (\forall real p; in(a, p) ==> renyi_valid(p)) && 1 <= n <= 0xffffffff;
    requires vector_input(x, n) && vector_bounded(x, n);
    requires \forall integer i; 0 <= i < n ==> positive(x + i);
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    requires vector_output(h, 2 * n) && vector_apart(a, h, 2 * n) && vectors_apart(x, n, h, 2 * n);
    requires vector_output(z, n) && vectors_apart(h, 2 * n, z, n);
    requires vector_input(v, n) && vectors_apart(v, n, z, n) && vectors_apart(v, n, h, 2 * n);
    terminates \true;
    exits \false;
    assigns h[0 .. 2 * n - 1], z[0 .. n - 1];
    ensures vector_output(h, 2 * n);
    ensures vector_output(z, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, h, 2 * n) &&
      vector_apart(r, z, n) ==> same{Pre, Here}(r);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, t, integer i;
      members_chosen{Pre}(a, n, x, p, s) && members{Pre}(v, n, t) && 0 <= i < n ==>
        in(z + i, renyi_hessian_product(p, s, t, n, i)); */
static phibal_status product_with(phibal_enclosure *z, phibal_enclosure *h,
                                  const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                  const phibal_enclosure *v, mpfr_prec_t precision) {
  //@ assert use_enclosure;
  renyi_work w;
  renyi_work_init(&w, precision);
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert parts: vector_output(h, 2 * n);
  //@ assert arguments: positive_input(a, n, x, &w);
  phibal_status status = set_hessian_parts(h, a, n, x, &w);
  //@ assert places: vector_output(z, n);
  //@ assert factor: vector_same{Pre, Here}(v, n);
  /*@ assert set: status == PHIBAL_OK ==> \forall real p, sequence s;
        members_chosen{Pre}(a, n, x, p, s) ==> hessian_parts(h, n, &w, p, s); */
  if (status == PHIBAL_OK) status = hessian_times(z, h, n, v, &w);
  //@ assert outputs: vector_output(z, n);
  //@ assert parts_kept: vector_output(h, 2 * n);
  renyi_work_clear(&w);
  return status;
}

/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_ERROR_MEMORY; */
static phibal_status no_memory(size_t n) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "hessian of %s: no memory for %zu experts", name,
                           n);
}

phibal_status renyi_hessian(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                            phibal_enclosure *hessian) {
  //@ assert use_enclosure;
  TRY(require_positive("hessian", n, x));
  mpfr_prec_t precision = working_precision(hessian, n, x);
  phibal_enclosure *h = phibal_enclosure_vector(2 * n, precision);
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert places: vector_output(hessian, n * n);
  if (!h) return no_memory(n);
  //@ assert apart: vectors_apart(h, 2 * n, hessian, n * n) && vectors_apart(x, n, h, 2 * n);
  //@ assert parameter_apart: vector_apart(a, h, 2 * n);
  /*@ assert chosen: \forall real p, sequence s; in{Pre}(a, p) && members{Pre}(x, n, s) ==>
        members_chosen(a, n, x, p, s) && all_positive(s, n); */
  phibal_status status = matrix_with(hessian, h, a, n, x, precision);
  phibal_enclosure_vector_clear(h, 2 * n);
  //@ assert outputs: vector_output(hessian, n * n);
  return status;
}

phibal_status renyi_hessian_product(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                    const phibal_enclosure *v, phibal_enclosure *product) {
  //@ assert use_enclosure;
  TRY(require_positive("hessian", n, x));
  mpfr_prec_t precision = working_precision(product, n, x);
  phibal_enclosure *h = phibal_enclosure_vector(2 * n, precision);
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert factor: vector_same{Pre, Here}(v, n);
  //@ assert places: vector_output(product, n);
  if (!h) return no_memory(n);
  //@ assert apart: vectors_apart(h, 2 * n, product, n) && vectors_apart(x, n, h, 2 * n);
  //@ assert factor_apart: vectors_apart(v, n, product, n) && vectors_apart(v, n, h, 2 * n);
  //@ assert parameter_apart: vector_apart(a, h, 2 * n);
  /*@ assert chosen: \forall real p, sequence s; in{Pre}(a, p) && members{Pre}(x, n, s) ==>
        members_chosen(a, n, x, p, s) && all_positive(s, n); */
  phibal_status status = product_with(product, h, a, n, x, v, precision);
  phibal_enclosure_vector_clear(h, 2 * n);
  //@ assert outputs: vector_output(product, n);
  return status;
}

/* w->excess = c = a/(1-a), and w->b = r = y_0's lower end: the prices are measured by it. */
/*@ requires input(a) && work_output(w) && \separated(a, w);
    requires input(y) && bounded(y) && \separated(y, w);
    terminates \true;
    exits \false;
    assigns w->excess, w->b, w->t[0];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures scale: \result == PHIBAL_OK ==> \forall real r; end{Pre}(y, 0, r) ==> in(&w->b, r);
    ensures exponent: \result == PHIBAL_OK ==>
      \forall real p; in{Pre}(a, p) && renyi_valid(p) ==> in(&w->excess, renyi_exponent(p)); */
static phibal_status set_scale(renyi_work *w, const phibal_enclosure *a,
                               const phibal_enclosure *y) {
  //@ assert use_enclosure;
  take_end(&w->b, y, false);
  //@ assert kept: same{Pre, Here}(a) && input(a);
  subtract_from_integer(&w->t[0], 1, a);
  /*@ assert divisor: same{Pre, Here}(a) && \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
        in(a, p) && in(&w->t[0], 1.0 - p) && 1.0 - p != 0.0; */
  return phibal_enclosure_div(&w->excess, a, &w->t[0]);
}

/* What z and x have in common, which is not nothing. */
/*@ requires output(z) && input(x) && \separated(z, x) && \exists real r; in(z, r) && in(x, r);
    terminates \true;
    exits \false;
    assigns *z;
    ensures enclosure(z) && only_written{Pre, Here}(z);
    ensures \forall real r; in{Pre}(z, r) && in{Pre}(x, r) ==> in(z, r); */
static void intersect(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure;
  mpfr_max(z->lo, z->lo, x->lo, MPFR_RNDD);
  mpfr_min(z->hi, z->hi, x->hi, MPFR_RNDU);
}

/*@ // there is a scale r, and a price y < 0 at the point
    predicate has_price{L}(renyi_work *w) =
      \exists real r, y; in(&w->b, r) && in(&w->point, y) && y < 0.0;
    // of all of them, q(r, y) is in x
    predicate price_input{L}(renyi_work *w, real r, real y) =
      in(&w->b, r) && r < 0.0 && in(&w->point, y) && y < 0.0;
*/

/* w->t[0] = (r - y)/y, which is the ratio in w->t[0] less 1: its enclosure, which has y once,
   bounds this one, which has it twice. */
/*@ requires work_output(w) && has_price(w);
    requires \forall real r, y; in(&w->b, r) && in(&w->point, y) && y < 0.0 ==>
      in(&w->t[0], over(r, y));
    terminates \true;
    exits \false;
    assigns w->t[0], w->t[1];
    ensures enclosure(&w->t[0]);
    ensures enclosure(&w->t[1]);
    ensures only_two_written{Pre, Here}(&w->t[0], &w->t[1]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real r, y; in{Pre}(&w->b, r) &&
      in{Pre}(&w->point, y) && y < 0.0 ==> in(&w->t[0], over(r, y) - 1.0); */
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
/*@ requires work_output(w) && has_price(w);
    requires \forall real r, y; in(&w->b, r) && in(&w->point, y) && y < 0.0 ==>
      in(&w->t[0], over(r, y));
    terminates \true;
    exits \false;
    assigns w->t[0], w->t[1];
    ensures enclosure(&w->t[0]);
    ensures enclosure(&w->t[1]);
    ensures only_two_written{Pre, Here}(&w->t[0], &w->t[1]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r, y; in{Pre}(&w->excess, c) &&
      price_input{Pre}(w, r, y) ==> in(&w->t[0], renyi_weight(c, r, y)); */
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

/* x is certain to be near 1. */
/*@ requires input(x);
    terminates \true;
    exits \false;
    assigns \nothing; */
static bool is_near_one(const phibal_enclosure *x) {
  return is_between(x, 0.5, 2.0);
}

/* w->t[0] = (r/y)^c for y < 0 in w->point. c grows without bound as a -> 1, and with it what an
   error of the ratio does; near a ratio of 1, where prices then lie, log1p((r - y)/y) has none to
   speak of. */
/*@ requires work_output(w) && has_price(w);
    terminates \true;
    exits \false;
    assigns w->t[0], w->t[1];
    ensures enclosure(&w->t[0]);
    ensures enclosure(&w->t[1]);
    ensures only_two_written{Pre, Here}(&w->t[0], &w->t[1]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r, y; in{Pre}(&w->excess, c) &&
      price_input{Pre}(w, r, y) ==> in(&w->t[0], renyi_weight(c, r, y)); */
static phibal_status weight_of_one(renyi_work *w) {
  //@ assert use_enclosure && use_renyi_dual && open_raised && open_times;
  TRY(phibal_enclosure_div(&w->t[0], &w->b, &w->point));
  /*@ assert kept: same{Pre, Here}(&w->b) && same{Pre, Here}(&w->point) &&
        same{Pre, Here}(&w->excess); */
  /*@ assert quotient: \forall real r, y; in(&w->b, r) && in(&w->point, y) && y < 0.0 ==>
        in(&w->t[0], over(r, y)); */
  if (is_near_one(&w->t[0])) return weight_near_one(w);
  /*@ assert ratio: \forall real r, y; price_input{Pre}(w, r, y) ==>
        in(&w->t[0], over(r, y)) && 0.0 < over(r, y); */
  TRY(phibal_enclosure_pow(&w->t[0], &w->t[0], &w->excess));
  /*@ assert power: \forall real c, r, y; in{Pre}(&w->excess, c) && price_input{Pre}(w, r, y) ==>
        in(&w->t[0], raised(over(r, y), c)); */
  return PHIBAL_OK;
}

/* Adds to w->sum the weight of one price's lower (upper) end. */
/*@ requires work_output(w) && input(y) && bounded(y) && \separated(y, w);
    requires \exists real r; in(&w->b, r);
    requires \exists real q; end(y, upper, q) && q < 0.0;
    terminates \true;
    exits \false;
    assigns w->sum, w->point, w->t[0 .. 1];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures same{Pre, Here}(&w->excess);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r, q, s; in{Pre}(&w->excess, c) &&
      in{Pre}(&w->b, r) && r < 0.0 && end{Pre}(y, upper, q) && q < 0.0 && in{Pre}(&w->sum, s) ==>
        in(&w->sum, s + renyi_weight(c, r, q)); */
static phibal_status add_weight(renyi_work *w, const phibal_enclosure *y, bool upper) {
  //@ assert use_enclosure && use_end;
  //@ assert argument: input(y + 0) && bounded(y + 0) && \separated(y + 0, w);
  take_end(&w->point, y, upper);
  TRY(weight_of_one(w));
  return phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]);
}

/* w->sum = sum_e (r/y_e)^c at the lower (upper) ends of y, all negative. */
/*@ requires work_input(a, n, y, w) && 1 <= n;
    requires \forall sequence s; ends(y, n, upper, s) ==> all_negative(s, n);
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures scale: \result == PHIBAL_OK ==> \forall real r; end{Pre}(y + 0, 0, r) ==> in(&w->b, r);
    ensures exponent: \result == PHIBAL_OK ==>
      \forall real p; in{Pre}(a, p) ==> in(&w->excess, renyi_exponent(p));
    ensures sum: \result == PHIBAL_OK ==> \forall real p, r, sequence s;
      ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) && r < 0.0 ==>
        in(&w->sum, renyi_weights(p, r, s, n)); */
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
    TRY(add_weight(w, &y[e], upper));
    /*@ assert unfold: \forall real p, r, sequence s; renyi_weights(p, r, s, e + 1) ==
          renyi_weights(p, r, s, e) + renyi_weight(renyi_exponent(p), r, term(s, e)); */
  }
  return PHIBAL_OK;
}

/* w->t[0] = c (log(c/(-r)) - 1). */
/*@ requires work_output(w);
    terminates \true;
    exits \false;
    assigns w->t[0];
    ensures enclosure(&w->t[0]);
    ensures only_written{Pre, Here}(&w->t[0]);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r; in{Pre}(&w->excess, c) &&
      0.0 < c && in{Pre}(&w->b, r) && r < 0.0 ==>
        in(&w->t[0], (\log(over(c, -r)) - 1.0) * c); */
static phibal_status scale_part(renyi_work *w) {
  //@ assert use_enclosure && open_times && use_renyi_dual;
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
/*@ requires work_input(a, n, y, w) && 1 <= n && output(z);
    requires z == &w->total || \separated(z, w);
    requires \forall sequence s; ends(y, n, upper, s) ==> all_negative(s, n);
    requires \forall real r; end(y + 0, 0, r) ==> r < 0.0;
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      ends_chosen{Pre}(a, n, y, upper, p, s) ==> in(z, renyi_conjugate(p, s, n)); */
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
          in(&w->t[0], (\log(over(renyi_exponent(p), -r)) - 1.0) * renyi_exponent(p)); */
  /*@ assert form: \forall real p, r, sequence s;
        ends_chosen{Pre}(a, n, y, upper, p, s) && end{Pre}(y + 0, 0, r) ==>
          (\log(over(renyi_exponent(p), -r)) - 1.0) * renyi_exponent(p) +
            \log(renyi_weights(p, r, s, n)) == renyi_conjugate(p, s, n); */
  status = phibal_enclosure_add(z, &w->t[0], &w->sum);
  //@ assert outputs_last: work_output(w);
  return status;
}

/* Whether the lower (upper) ends of y are not all negative. */
/*@ requires vector_input(y, n) && vector_bounded(y, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall sequence s; ends(y, n, upper, s) ==> (\result <==> !all_negative(s, n)); */
static bool has_nonnegative(size_t n, const phibal_enclosure *y, bool upper) {
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant negative: \forall sequence s; ends(y, n, upper, s) ==> all_negative(s, e);
      loop assigns e;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++)
    if (end_sign(&y[e], upper) >= 0) return true;
  return false;
}

/*@ requires work_input(a, n, y, w) && 1 <= n && result_output(z, a, n, y, w);
    terminates \true;
    exits \false;
    assigns *z, *w;
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s;
      members_chosen{Pre}(a, n, y, p, s) ==>
        (all_negative(s, n) ? in(z, renyi_conjugate(p, s, n)) : in_plus(z)); */
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
    raise_to_infinity(z);
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

/*@ predicate negative_input{L}(phibal_enclosure *a, integer n, phibal_enclosure *y,
                                renyi_work *w) =
      work_input(a, n, y, w) && 1 <= n && \forall integer i; 0 <= i < n ==> negative(y + i);
*/

/* w->t[0] = (r/y)^c, and y in w->point. */
/*@ requires work_output(w) && input(y) && bounded(y) && negative(y) && \separated(y, w);
    requires \exists real r; in(&w->b, r);
    terminates \true;
    exits \false;
    assigns w->point, w->t[0 .. 1];
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures same{Pre, Here}(&w->b);
    ensures same{Pre, Here}(&w->excess);
    ensures same{Pre, Here}(&w->sum);
    ensures point: \forall real q; in{Pre}(y, q) ==> in(&w->point, q);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r, q; in{Pre}(&w->excess, c) &&
      in{Pre}(&w->b, r) && r < 0.0 && in{Pre}(y, q) ==>
        in(&w->t[0], renyi_weight(c, r, q)); */
static phibal_status weight_over(renyi_work *w, const phibal_enclosure *y) {
  //@ assert use_enclosure && use_end;
  //@ assert member: \exists real q; in(y, q) && q < 0.0;
  phibal_enclosure_set(&w->point, y);
  return weight_of_one(w);
}

/* w->sum = sum_e (r/y_e)^c. */
/*@ requires negative_input(a, n, y, w);
    terminates \true;
    exits \false;
    assigns *w;
    ensures work_output(w);
    ensures only_work_written{Pre, Here}(w);
    ensures scale: \result == PHIBAL_OK ==>
      \exists real r; r < 0.0 && in(&w->b, r) && end{Pre}(y + 0, 0, r);
    ensures exponent: \result == PHIBAL_OK ==>
      \forall real p; in{Pre}(a, p) ==> in(&w->excess, renyi_exponent(p));
    ensures sum: \result == PHIBAL_OK ==> \forall real p, r, sequence s;
      members_chosen{Pre}(a, n, y, p, s) && end{Pre}(y + 0, 0, r) ==>
        in(&w->sum, renyi_weights(p, r, s, n)); */
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
    TRY(weight_over(w, &y[e]));
    TRY(phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]));
    /*@ assert unfold: \forall real p, r, sequence s; renyi_weights(p, r, s, e + 1) ==
          renyi_weights(p, r, s, e) + renyi_weight(renyi_exponent(p), r, term(s, e)); */
  }
  return PHIBAL_OK;
}

/* z = (c/(-y)) (r/y)^c / w->sum. */
/*@ requires work_output(w) && input(y) && bounded(y) && negative(y) && \separated(y, w);
    requires output(z) && \separated(z, w) && \exists real r; in(&w->b, r);
    terminates \true;
    exits \false;
    assigns *z, w->point, w->t[0 .. 1];
    ensures enclosure(z);
    ensures work_output(w);
    ensures only_with_work_written{Pre, Here}(z, w);
    ensures same{Pre, Here}(&w->b);
    ensures same{Pre, Here}(&w->excess);
    ensures same{Pre, Here}(&w->sum);
    ensures meaning: \result == PHIBAL_OK ==> \forall real c, r, q, s; in{Pre}(&w->excess, c) &&
      in{Pre}(&w->b, r) && r < 0.0 && in{Pre}(y, q) && in{Pre}(&w->sum, s) && s != 0.0 ==>
        in(z, renyi_weight(c, r, q) * (c / -q) / s); */
static phibal_status conjugate_gradient_of_one(phibal_enclosure *z, const phibal_enclosure *y,
                                               renyi_work *w) {
  //@ assert use_enclosure;
  TRY(weight_over(w, y));
  phibal_enclosure_neg(&w->t[1], &w->point);
  TRY(phibal_enclosure_div(&w->t[1], &w->excess, &w->t[1]));
  /*@ assert factor: \forall real c, q; in{Pre}(&w->excess, c) && in{Pre}(y, q) ==>
        in(&w->t[1], c / -q); */
  TRY(phibal_enclosure_mul(&w->t[0], &w->t[0], &w->t[1]));
  return phibal_enclosure_div(z, &w->t[0], &w->sum);
}

/* (c/(-y_e)) (r/y_e)^c / sum_j (r/y_j)^c. Interval arithmetic as it stands: it grows with y_e and
   falls with the others, so that ends do not pair. */
/*@ requires negative_input(a, n, y, w) && results_output(z, a, n, y, w);
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1], *w;
    ensures vector_output(z, n);
    ensures work_output(w);
    ensures only_results_written{Pre, Here}(z, n, w);
    ensures meaning: \result == PHIBAL_OK ==> \forall real p, sequence s, integer i;
      members_chosen{Pre}(a, n, y, p, s) && 0 <= i < n ==>
        in(z + i, renyi_conjugate_gradient(p, s, n, i)); */
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
          in(&w->sum, times(raised(-r, renyi_exponent(p)), renyi_dual_sum(p, s, n))) &&
          0.0 < renyi_dual_sum(p, s, n) &&
          0.0 < times(raised(-r, renyi_exponent(p)), renyi_dual_sum(p, s, n)); */
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
    //@ ghost before: ;
    status = conjugate_gradient_of_one(&z[e], &y[e], w);
    //@ assert others: \forall integer i; 0 <= i < n && i != e ==> same{before, Here}(z + i);
    //@ assert outputs: vector_output(z, n);
    if (status != PHIBAL_OK) return status;
    /*@ assert quotient: \forall real p, r, sequence s;
          members_chosen{Pre}(a, n, y, p, s) && end{Pre}(y + 0, 0, r) && r < 0.0 &&
          in{before}(&w->b, r) ==>
            in(z + e, renyi_weight(renyi_exponent(p), r, term(s, e)) *
              (renyi_exponent(p) / -term(s, e)) /
                times(raised(-r, renyi_exponent(p)), renyi_dual_sum(p, s, n))); */
    /*@ assert one: \forall real p, sequence s; members_chosen{Pre}(a, n, y, p, s) ==>
          in(z + e, renyi_conjugate_gradient(p, s, n, e)); */
  }
  return PHIBAL_OK;
}

/*@ requires vector_input(y, n) && vector_bounded(y, n);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> \forall integer i; 0 <= i < n ==> negative(y + i); */
static phibal_status require_negative(const char *function, size_t n, const phibal_enclosure *y) {
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant checked: \forall integer i; 0 <= i < e ==> negative(y + i);
      loop assigns e;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++)
    if (!phibal_enclosure_is_negative(&y[e]))
      return refuse(end_sign(&y[e], false) >= 0, "y < 0", function, e, n, y);
  return PHIBAL_OK;
}

phibal_status renyi_conjugate_gradient(const phibal_enclosure *a, size_t n,
                                       const phibal_enclosure *y, phibal_enclosure *gradient) {
  //@ assert use_enclosure;
  TRY(require_negative("conjugate-gradient", n, y));
  //@ assert apart: vectors_apart(y, n, gradient, n);
  //@ assert parameter_apart: vector_apart(a, gradient, n);
  renyi_work w;
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
