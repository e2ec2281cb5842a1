/* The Hessian of Renyi's potential (P6.h). */
#include "renyi_work.h"
#include <phibal/acsl/contracts/inside/potentials/renyi_hessian_static.h>

static const char name[] = "renyi";

/* w->sum = sum x^a. */
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
  TRY(renyi_power_sum_at_ends(a, n, x, false, w));
  phibal_enclosure_set(&w->total, &w->sum);
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert arguments: positive_input(a, n, x, w);
  /*@ assert least: \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
        in(&w->total, renyi_sum(p, ends_of{Pre}(x, n, 0), n)); */
  //@ assert same_upper: ends(x, n, 1, ends_of{Pre}(x, n, 1));
  TRY(renyi_power_sum_at_ends(a, n, x, true, w));
  /*@ assert both: \forall real p; in{Pre}(a, p) && renyi_valid(p) ==>
        in(&w->total, renyi_sum(p, ends_of{Pre}(x, n, 0), n)) &&
        in(&w->sum, renyi_sum(p, ends_of{Pre}(x, n, 1), n)); */
  phibal_enclosure_hull(&w->sum, &w->sum, &w->total);
  return PHIBAL_OK;
}

/* w->excess = a^2/(1-a). */
static phibal_status set_rank_one(renyi_work *w, const phibal_enclosure *a) {
  //@ assert use_enclosure && open_renyi_ray;
  subtract_from_integer(&w->t[0], 1, a);
  TRY(phibal_enclosure_mul(&w->t[1], a, a));
  return phibal_enclosure_div(&w->excess, &w->t[1], &w->t[0]);
}

/* z = a x^(a-2) / S. */
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

/* The parts of one Hessian, in x: diagonal_e = a x_e^(a-2) / S in h[0..n-1], ray_e = x_e^b / S in
   h[n..2n-1], rank_one = a^2/(1-a) in w->excess. The Hessian (P6.h) is diag(diagonal) + rank_one
   ray ray^T. */
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

/* z[first..first+n-1] = row e. */
static phibal_status hessian_row(phibal_enclosure *z, size_t first, const phibal_enclosure *h,
                                 size_t n, size_t e, renyi_work *w) {
  //@ assert use_enclosure && use_renyi_hessian;
  //@ ghost renyi_sum_positive(n);
  /*@ assert positive: \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
        0.0 < term(s, 0) && all_zero_or_more(s, n) && 0.0 < renyi_sum(p, s, n); */
  /*@ loop invariant index: 0 <= j <= n;
      loop invariant outputs: vector_output(z, first + n);
      loop invariant scratch: entry_scratch(w);
      loop invariant kept: same{Pre, Here}(&w->excess);
      loop invariant frame: only_with_row_written{Pre, Here}(&w->t[0], z, first, n);
      loop invariant entries: \forall real p, sequence s, integer i;
        hessian_parts{Pre}(h, n, w, p, s) && 0 <= i < j ==>
          in(z + (first + i), renyi_hessian(p, s, n, e, i));
      loop assigns j, z[first .. first + n - 1], w->t[0];
      loop variant n - j; */
  for (size_t j = 0; j < n; j++) {
    //@ assert left: input(h + (n + e)) && same{Pre, Here}(h + (n + e));
    //@ assert right: input(h + (n + j)) && same{Pre, Here}(h + (n + j));
    //@ assert diagonal: input(h + e) && same{Pre, Here}(h + e);
    //@ assert place: output(z + (first + j)) && \separated(z + (first + j), w);
    /*@ assert members: \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
          in(h + (n + e), renyi_ray(p, term(s, e), renyi_sum(p, s, n))) &&
          in(h + (n + j), renyi_ray(p, term(s, j), renyi_sum(p, s, n))) &&
          in(h + e, renyi_diagonal_of(p, term(s, e), renyi_sum(p, s, n))) &&
          in(&w->excess, renyi_one(p)); */
    //@ ghost before: ;
    phibal_status status =
        hessian_entry(&z[first + j], &h[n + e], &h[n + j], e == j ? &h[e] : NULL, w);
    /*@ assert others: \forall integer i; 0 <= i < first + n && i != first + j ==>
          same{before, Here}(z + i); */
    //@ assert outputs: vector_output(z, first + n);
    if (status != PHIBAL_OK) return status;
    /*@ assert off: e != j ==> \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
          in(z + (first + j), renyi_ray(p, term(s, e), renyi_sum(p, s, n)) *
            renyi_ray(p, term(s, j), renyi_sum(p, s, n)) * renyi_one(p)); */
    /*@ assert on: e == j ==> \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
          in(z + (first + j), renyi_ray(p, term(s, e), renyi_sum(p, s, n)) *
            renyi_ray(p, term(s, j), renyi_sum(p, s, n)) * renyi_one(p) +
            renyi_diagonal_of(p, term(s, e), renyi_sum(p, s, n))); */
    /*@ assert form: \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
          renyi_ray(p, term(s, e), renyi_sum(p, s, n)) *
            renyi_ray(p, term(s, j), renyi_sum(p, s, n)) * renyi_one(p) ==
          renyi_rank_one_of(p, term(s, e), term(s, j), renyi_sum(p, s, n)); */
    /*@ assert value_off: e != j ==> \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s)
       ==> renyi_ray(p, term(s, e), renyi_sum(p, s, n)) * renyi_ray(p, term(s, j), renyi_sum(p, s,
       n)) * renyi_one(p) == renyi_hessian(p, s, n, e, j); */
    /*@ assert value_on: e == j ==> \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s)
       ==> renyi_ray(p, term(s, e), renyi_sum(p, s, n)) * renyi_ray(p, term(s, j), renyi_sum(p, s,
       n)) * renyi_one(p) + renyi_diagonal_of(p, term(s, e), renyi_sum(p, s, n)) == renyi_hessian(p,
       s, n, e, j); */
    /*@ assert entry_off: e != j ==> \forall real p, sequence s;
          hessian_parts{Pre}(h, n, w, p, s) ==> in(z + (first + j), renyi_hessian(p, s, n, e, j));
     */
    /*@ assert entry_on: e == j ==> \forall real p, sequence s;
          hessian_parts{Pre}(h, n, w, p, s) ==> in(z + (first + j), renyi_hessian(p, s, n, e, j));
     */
    /*@ assert entry: \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
          in(z + (first + j), renyi_hessian(p, s, n, e, j)); */
  }
  return PHIBAL_OK;
}

static phibal_status hessian_matrix(phibal_enclosure *z, const phibal_enclosure *h, size_t n,
                                    renyi_work *w) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= e;
      loop invariant outputs: vector_output(z, n * n);
      loop invariant scratch: entry_scratch(w);
      loop invariant kept: same{Pre, Here}(&w->excess);
      loop invariant frame: only_with_vector_written{Pre, Here}(&w->t[0], z, n * n);
      loop invariant rows: \forall real p, sequence s, integer i, j;
        hessian_parts{Pre}(h, n, w, p, s) && 0 <= i < e && 0 <= j < n ==>
          in(z + cell(n, i, j), renyi_hessian(p, s, n, i, j));
      loop assigns e, z[0 .. n * n - 1], w->t[0];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ ghost renyi_row_inside(n, e);
    //@ ghost renyi_row_cells(n, e);
    //@ assert parts: vector_same{Pre, Here}(h, 2 * n) && vector_input(h, 2 * n);
    /*@ assert carried: \forall real p, sequence s; hessian_parts{Pre}(h, n, w, p, s) ==>
          hessian_parts(h, n, w, p, s); */
    //@ ghost before: ;
    phibal_status status = hessian_row(z, e * n, h, n, e, w);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

/* w->sum = rank_one <ray, v>. */
static phibal_status ray_dot(const phibal_enclosure *h, size_t n, const phibal_enclosure *v,
                             renyi_work *w) {
  //@ assert use_enclosure && open_times;
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
    /*@ assert members: \forall real p, sequence s, t; product_parts{Pre}(h, n, v, w, p, s, t) ==>
          in(h + (n + e), renyi_ray(p, term(s, e), renyi_sum(p, s, n))) && in(v + e, term(t, e)); */
    //@ ghost before: ;
    TRY(phibal_enclosure_mul(&w->t[0], &h[n + e], &v[e]));
    /*@ assert product: \forall real p, sequence s, t; product_parts{Pre}(h, n, v, w, p, s, t) ==>
          in(&w->t[0], times(renyi_ray(p, term(s, e), renyi_sum(p, s, n)), term(t, e))); */
    TRY(phibal_enclosure_add(&w->sum, &w->sum, &w->t[0]));
  }
  return phibal_enclosure_mul(&w->sum, &w->sum, &w->excess);
}

/* z = diagonal v + ray w->sum. */
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
static phibal_status hessian_times(phibal_enclosure *product, const phibal_enclosure *h, size_t n,
                                   const phibal_enclosure *v, renyi_work *w) {
  //@ assert use_enclosure && open_renyi_part;
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
    /*@ assert members: \forall real p, sequence s, t; product_parts{Pre}(h, n, v, w, p, s, t) ==>
          in(h + e, renyi_diagonal_of(p, term(s, e), renyi_sum(p, s, n))) &&
          in(h + (n + e), renyi_ray(p, term(s, e), renyi_sum(p, s, n))) &&
          in(v + e, term(t, e)) && in(&w->sum, renyi_ray_dot(p, s, t, n, n) * renyi_one(p)); */
    //@ ghost before: ;
    status = product_of_one(&product[e], &h[e], &h[n + e], &v[e], w);
    //@ assert others: \forall integer i; 0 <= i < n && i != e ==> same{before, Here}(product + i);
    //@ assert outputs: vector_output(product, n);
    if (status != PHIBAL_OK) return status;
    /*@ assert one: \forall real p, sequence s, t; product_parts{Pre}(h, n, v, w, p, s, t) ==>
          in(product + e, renyi_diagonal_of(p, term(s, e), renyi_sum(p, s, n)) * term(t, e) +
            renyi_ray(p, term(s, e), renyi_sum(p, s, n)) *
              (renyi_ray_dot(p, s, t, n, n) * renyi_one(p))); */
    /*@ assert form: \forall real p, sequence s, t; product_parts{Pre}(h, n, v, w, p, s, t) ==>
          renyi_diagonal_of(p, term(s, e), renyi_sum(p, s, n)) * term(t, e) +
            renyi_part(p, term(s, e), renyi_sum(p, s, n), renyi_ray_dot(p, s, t, n, n)) ==
          renyi_hessian_product(p, s, t, n, e); */
    /*@ assert row: \forall real p, sequence s, t; product_parts{Pre}(h, n, v, w, p, s, t) ==>
          in(product + e, renyi_hessian_product(p, s, t, n, e)); */
  }
  return PHIBAL_OK;
}

/* The matrix; h is of the working precision. */
static phibal_status matrix_with(phibal_enclosure *z, phibal_enclosure *h,
                                 const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                 mpfr_prec_t precision) {
  //@ assert use_enclosure;
  //@ ghost renyi_cells_inside(n);
  renyi_work w;
  /*@ assert fresh: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        \valid_read(r) && \separated(r, &w); */
  /*@ assert apart: \forall integer i, j; 0 <= i < n * n && 0 <= j < 2 * n ==>
        \separated(z + i, h + j); */
  renyi_work_init(&w, precision);
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert parts: vector_output(h, 2 * n);
  //@ assert arguments: positive_input(a, n, x, &w);
  //@ assert places_first: vector_output(z, n * n);
  //@ assert places_beside: vector_apart_from_work(z, n * n, &w);
  //@ assert parts_beside: vector_apart_from_work(h, 2 * n, &w);
  //@ ghost begun: ;
  phibal_status status = set_hessian_parts(h, a, n, x, &w);
  //@ assert places_kept: vector_same{begun, Here}(z, n * n);
  //@ assert parts_set: vector_output(h, 2 * n);
  //@ assert places: vector_output(z, n * n);
  /*@ assert set: status == PHIBAL_OK ==> \forall real p, sequence s;
        members_chosen{Pre}(a, n, x, p, s) ==> hessian_parts(h, n, &w, p, s); */
  //@ ghost parted: ;
  if (status == PHIBAL_OK) status = hessian_matrix(z, h, n, &w);
  //@ assert outputs: vector_output(z, n * n);
  //@ assert parts_same: vector_same{parted, Here}(h, 2 * n);
  //@ assert parts_kept: vector_output(h, 2 * n);
  /*@ assert cells: \forall integer i, j; 0 <= i < n && 0 <= j < n ==>
        0 <= cell(n, i, j) < n * n && output(z + cell(n, i, j)); */
  //@ ghost done: ;
  renyi_work_clear(&w);
  //@ assert parts_last: vector_same{done, Here}(h, 2 * n);
  //@ assert kept: vector_same{done, Here}(z, n * n);
  /*@ assert kept_cells: \forall integer i, j; 0 <= i < n && 0 <= j < n ==>
        same{done, Here}(z + cell(n, i, j)); */
  return status;
}

/* Its product with v; h is of the working precision. */
static phibal_status product_with(phibal_enclosure *z, phibal_enclosure *h,
                                  const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                  const phibal_enclosure *v, mpfr_prec_t precision) {
  //@ assert use_enclosure;
  renyi_work w;
  /*@ assert fresh: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        \valid_read(r) && \separated(r, &w); */
  /*@ assert apart: \forall integer i, j; 0 <= i < n && 0 <= j < 2 * n ==>
        \separated(z + i, h + j); */
  renyi_work_init(&w, precision);
  //@ assert vector: vector_same{Pre, Here}(x, n);
  //@ assert parameter: same{Pre, Here}(a);
  //@ assert parts: vector_output(h, 2 * n);
  //@ assert arguments: positive_input(a, n, x, &w);
  //@ assert places_first: vector_output(z, n);
  //@ assert places_beside: vector_apart_from_work(z, n, &w);
  //@ assert parts_beside: vector_apart_from_work(h, 2 * n, &w);
  //@ ghost begun: ;
  //@ assert factor_first: vector_same{Pre, Here}(v, n) && vector_input(v, n);
  //@ ghost first: ;
  phibal_status status = set_hessian_parts(h, a, n, x, &w);
  //@ assert places_kept: vector_same{begun, Here}(z, n);
  //@ assert parts_set: vector_output(h, 2 * n);
  //@ assert places: vector_output(z, n);
  //@ assert factor_then: vector_same{first, Here}(v, n);
  //@ assert factor: vector_same{Pre, Here}(v, n);
  /*@ assert set: status == PHIBAL_OK ==> \forall real p, sequence s;
        members_chosen{Pre}(a, n, x, p, s) ==> hessian_parts(h, n, &w, p, s); */
  //@ ghost parted: ;
  if (status == PHIBAL_OK) status = hessian_times(z, h, n, v, &w);
  //@ assert outputs: vector_output(z, n);
  //@ assert parts_same: vector_same{parted, Here}(h, 2 * n);
  //@ assert parts_kept: vector_output(h, 2 * n);
  //@ ghost done: ;
  renyi_work_clear(&w);
  //@ assert parts_last: vector_same{done, Here}(h, 2 * n);
  //@ assert kept: vector_same{done, Here}(z, n);
  return status;
}

static phibal_status no_memory(size_t n) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "hessian of %s: no memory for %zu experts", name,
                           n);
}

phibal_status renyi_hessian(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                            phibal_enclosure *hessian) {
  //@ assert use_enclosure;
  //@ ghost renyi_cells_inside(n);
  TRY(renyi_require_positive("hessian", n, x));
  mpfr_prec_t precision = working_precision(hessian, n, x);
  phibal_enclosure *h = phibal_enclosure_vector(2 * n, precision);
  if (!h) return no_memory(n);
  phibal_status status = matrix_with(hessian, h, a, n, x, precision);
  //@ ghost done: ;
  phibal_enclosure_vector_clear(h, 2 * n);
  //@ assert places_of_cells: open_cell;
  return status;
}

phibal_status renyi_hessian_product(const phibal_enclosure *a, size_t n, const phibal_enclosure *x,
                                    const phibal_enclosure *v, phibal_enclosure *product) {
  //@ assert use_enclosure;
  TRY(renyi_require_positive("hessian", n, x));
  mpfr_prec_t precision = working_precision(product, n, x);
  phibal_enclosure *h = phibal_enclosure_vector(2 * n, precision);
  if (!h) return no_memory(n);
  phibal_status status = product_with(product, h, a, n, x, v, precision);
  phibal_enclosure_vector_clear(h, 2 * n);
  return status;
}
