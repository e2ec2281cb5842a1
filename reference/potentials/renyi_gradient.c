/* The gradient of Renyi's potential (P6). */
#include "renyi_work.h"
#include <phibal/acsl/contracts/inside/potentials/renyi_gradient_static.h>

/* w->t[0] = a x^b / (b S) at the point, with S in w->sum and b in w->b. */
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
static phibal_status gradient_at_end(phibal_enclosure *z, const phibal_enclosure *a,
                                     const phibal_enclosure *x, bool upper, renyi_work *w) {
  //@ assert use_enclosure && use_end;
  renyi_take_end(&w->point, x, upper);
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

/* The lower ends of z from the lower ends of x; the upper ends, with z joined to them. */
static phibal_status gradient_at_ends(phibal_enclosure *z, const phibal_enclosure *a, size_t n,
                                      const phibal_enclosure *x, bool upper, renyi_work *w) {
  //@ assert use_enclosure && use_end;
  //@ ghost renyi_sum_positive(n);
  phibal_status status = renyi_power_sum_at_ends(a, n, x, upper, w);
  if (status != PHIBAL_OK) return status;
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
    //@ ghost before: ;
    status = gradient_at_end(&z[e], a, &x[e], upper, w);
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
  TRY(renyi_require_positive("gradient", n, x));
  renyi_work w;
  renyi_work_init(&w, working_precision(gradient, n, x));
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  phibal_status status = gradient_over(gradient, a, n, x, &w);
  renyi_work_clear(&w);
  return status;
}
