/* (P2.inf) phi(x) = max_e |x_e|, the limit p = inf of the norm whose power lp is. It is not
   strictly convex. Its conjugate is the indicator of the unit ball of the 1-norm. Where several
   |x_e| are greatest the gradient is the one subgradient that treats them alike: sgn(x_e) divided
   by their number; at x = 0, 1/n everywhere. */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/potentials/lp_max_static.h>

static const char name[] = "lp (p = inf)";

static void set_zero(phibal_enclosure *z) {
  //@ assert open_enclosure;
  mpfr_set_zero(z->lo, 1);
  mpfr_set_zero(z->hi, 1);
}

/* z = max(z, |x|); t is a temporary. */
static void raise_maximum(phibal_enclosure *z, const phibal_enclosure *x, phibal_enclosure *t) {
  //@ assert open_enclosure;
  //@ assert member: in(x, mval(x->lo[0].number));
  phibal_enclosure_abs(t, x);
  //@ assert finite: finite_below(t) && finite_below(z);
  mpfr_max(z->lo, z->lo, t->lo, MPFR_RNDD);
  mpfr_max(z->hi, z->hi, t->hi, MPFR_RNDU);
}

/* z = max_e |x_e|; t is a temporary. */
static void set_maximum(phibal_enclosure *z, size_t n, const phibal_enclosure *x,
                        phibal_enclosure *t) {
  //@ assert use_enclosure;
  set_zero(z);
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant frame: only_two_written{Pre, Here}(z, t);
      loop invariant outputs: enclosure(z) && enclosure(t) && finite_below(z);
      loop invariant magnitude: \forall sequence s; members{Pre}(x, n, s) ==>
        in(z, magnitude(s, e));
      loop invariant most: \forall sequence s, integer i; 0 <= i < e ==>
        \abs(term(s, i)) <= magnitude(s, e);
      loop invariant attained: \forall sequence s; magnitude(s, e) == 0.0 ||
        (\exists integer i; 0 <= i < e && \abs(term(s, i)) == magnitude(s, e));
      loop assigns e, *z, *t;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert kept: same{Pre, Here}(x + e);
    /*@ assert step: \forall sequence s; magnitude(s, e + 1) ==
          larger_magnitude(magnitude(s, e), term(s, e)); */
    raise_maximum(z, &x[e], t);
  }
}

phibal_status lp_max_value(size_t n, const phibal_enclosure *x, phibal_enclosure *value) {
  //@ assert use_enclosure;
  phibal_enclosure t;
  phibal_enclosure_init(&t, working_precision(value, n, x));
  //@ assert kept: vector_same{Pre, Here}(x, n);
  //@ assert members: \forall sequence s; members{Pre}(x, n, s) ==> members(x, n, s);
  set_maximum(value, n, x, &t);
  /*@ assert greatest: \forall sequence s, real m; members{Pre}(x, n, s) && greatest(m, s, n) ==>
        in(value, m); */
  phibal_enclosure_clear(&t);
  return PHIBAL_OK;
}

/* Whether |x_e| may be greatest, given a lower bound of the maximum. */
static bool may_be_maximum(const phibal_enclosure *x, mpfr_srcptr maximum) {
  //@ assert open_enclosure;
  //@ assert ends: in(x, mval(x->lo[0].number)) && in(x, mval(x->hi[0].number));
  return mpfr_cmpabs(maximum, x->lo) <= 0 || mpfr_cmpabs(maximum, x->hi) <= 0;
}

/* Whether it is certain that |x_e| is that bound. */
static bool is_maximum(const phibal_enclosure *x, mpfr_srcptr maximum) {
  //@ assert open_enclosure;
  return phibal_enclosure_is_exact(x) && mpfr_cmpabs(maximum, x->lo) <= 0 &&
         mpfr_cmpabs(x->lo, maximum) <= 0;
}

/* How many may be greatest, and whether it is certain that all of these are (points, all equal:
   an upper end above the lower bound of the maximum is not known to be reached). */
static size_t count_maxima(size_t n, const phibal_enclosure *x, mpfr_srcptr maximum,
                           bool *certain) {
  //@ assert use_enclosure;
  size_t count = 0;
  *certain = true;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant counted: 0 <= count <= e;
      loop invariant found: \forall sequence s, real m; members(x, n, s) &&
        mval(maximum->number) <= m ==> 0 <= reached(s, e, m) <= count;
      loop invariant reached: \forall sequence s, real m, integer i; members(x, n, s) &&
        mval(maximum->number) <= m && 0 <= i < e && \abs(term(s, i)) == m ==>
        1 <= reached(s, e, m);
      loop invariant equal: *certain ==> \forall sequence s; members(x, n, s) ==>
        reached(s, e, mval(maximum->number)) == count;
      loop invariant certain: *certain ==> \forall sequence s, integer i; members(x, n, s) &&
        0 <= i < e ==> \abs(term(s, i)) == mval(maximum->number) ||
        (\abs(term(s, i)) < mval(maximum->number) && !may_reach(x + i, maximum->number));
      loop invariant none: count == 0 ==> *certain && \forall integer i; 0 <= i < e ==>
        !may_reach(x + i, maximum->number);
      loop invariant one: count == 1 ==> \forall integer i, j; 0 <= i < e && 0 <= j < e &&
        may_reach(x + i, maximum->number) && may_reach(x + j, maximum->number) ==> i == j;
      loop invariant below: \forall sequence s, integer i; members(x, n, s) && 0 <= i < e &&
        !may_reach(x + i, maximum->number) ==> \abs(term(s, i)) < mval(maximum->number);
      loop assigns e, count, *certain;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    /*@ assert step: \forall sequence s, real m; reached(s, e + 1, m) ==
          reached(s, e, m) + (\abs(term(s, e)) == m ? 1 : 0); */
    if (may_be_maximum(&x[e], maximum)) {
      count++;
      *certain = *certain && is_maximum(&x[e], maximum);
    }
  }
  /*@ assert some: \forall sequence s, real m; members_with_greatest(x, n, s, m) ==>
        1 <= reached(s, n, m) <= count; */
  /*@ assert equal: *certain ==> \forall sequence s, real m; members_with_greatest(x, n, s, m) ==>
        m == mval(maximum->number); */
  if (count == 1) *certain = true;
  return count;
}

/* maximum = max_e |x_e|; its lower end is what may be greatest is held against. */
static size_t find_maxima(phibal_enclosure *maximum, size_t n, const phibal_enclosure *x,
                          phibal_enclosure *t, bool *certain) {
  //@ assert use_enclosure && open_enclosure;
  set_maximum(maximum, n, x, t);
  //@ assert kept: vector_same{Pre, Here}(x, n);
  /*@ assert members: \forall sequence s, real m; members_with_greatest(x, n, s, m) ==>
        members_with_greatest{Pre}(x, n, s, m); */
  return count_maxima(n, x, maximum->lo, certain);
}

/* z = sgn(x) / count if |x| is certain to be one of the `count` largest, the hull of sgn(x) and 0
   if it may be the largest, else 0. Where the sign of x is not known, sgn(x) is [-1, 1]. */
static void gradient_of_one(phibal_enclosure *z, const phibal_enclosure *x, bool possible,
                            bool certain, size_t count) {
  //@ assert open_enclosure;
  if (!possible) {
    phibal_enclosure_set_si(z, 0);
    return;
  }
  mpfr_set_si(z->lo, mpfr_sgn(x->lo) >= 0 ? 1 : -1, MPFR_RNDD);
  mpfr_set_si(z->hi, mpfr_sgn(x->hi) >= 0 ? 1 : -1, MPFR_RNDU);
  if (certain) {
    mpfr_div_ui(z->lo, z->lo, count, MPFR_RNDD);
    mpfr_div_ui(z->hi, z->hi, count, MPFR_RNDU);
  } else { /* one of several, or not among them */
    if (mpfr_sgn(z->lo) > 0) mpfr_set_zero(z->lo, 1);
    if (mpfr_sgn(z->hi) < 0) mpfr_set_zero(z->hi, 1);
  }
}

/* The gradient: every x_e is held against the maximum, which `count` elements may reach. */
static void gradient_of_all(phibal_enclosure *gradient, size_t n, const phibal_enclosure *x,
                            mpfr_srcptr maximum, bool certain, size_t count) {
  //@ assert use_enclosure;
  //@ assert apart: vectors_apart(x, n, gradient, n);
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(gradient, n);
      loop invariant frame: only_vector_written{Pre, Here}(gradient, n);
      loop invariant done: \forall sequence s, real m, integer i;
        members_with_greatest{Pre}(x, n, s, m) && 0 <= i < e ==>
        in(gradient + i, share(term(s, i), reached(s, n, m), m));
      loop assigns e, gradient[0 .. n - 1];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    //@ assert kept: same{Pre, Here}(x + e) && maximum->number == \at(maximum->number, Pre);
    bool possible = may_be_maximum(&x[e], maximum);
    /*@ assert reach: possible ==> \exists real r; in{Pre}(x + e, r) &&
          mval(maximum->number) <= \abs(r); */
    /*@ assert reached: \forall sequence s, real m; members_with_greatest{Pre}(x, n, s, m) ==>
          mval(maximum->number) <= m && 1 <= reached(s, n, m); */
    /*@ assert equal: possible && certain ==> \forall sequence s, real m;
          members_with_greatest{Pre}(x, n, s, m) ==>
          \abs(term(s, e)) == m && reached(s, n, m) == count; */
    /*@ assert below: !possible ==> \forall sequence s, real m;
          members_with_greatest{Pre}(x, n, s, m) ==>
          share(term(s, e), reached(s, n, m), m) == 0.0; */
    /*@ assert sure: possible && certain ==> \forall sequence s, real m;
          members_with_greatest{Pre}(x, n, s, m) ==>
          share(term(s, e), reached(s, n, m), m) == side(term(s, e)) / count; */
    /*@ assert either: \forall sequence s, real m; members_with_greatest{Pre}(x, n, s, m) ==>
          share(term(s, e), reached(s, n, m), m) == 0.0 ||
          share(term(s, e), reached(s, n, m), m) == side(term(s, e)) / reached(s, n, m); */
    gradient_of_one(&gradient[e], &x[e], possible, certain, count);
    //@ assert outputs: vector_output(gradient, n);
    /*@ assert one: \forall sequence s, real m; members_with_greatest{Pre}(x, n, s, m) ==>
          in(gradient + e, share(term(s, e), reached(s, n, m), m)); */
  }
}

phibal_status lp_max_gradient(size_t n, const phibal_enclosure *x, phibal_enclosure *gradient) {
  //@ assert use_enclosure;
  phibal_enclosure t, maximum;
  phibal_enclosure_init(&t, working_precision(gradient, n, x));
  phibal_enclosure_init(&maximum, working_precision(gradient, n, x));
  //@ assert outputs: vector_output(gradient, n) && vector_same{Pre, Here}(x, n);
  bool certain;
  size_t count = find_maxima(&maximum, n, x, &t, &certain);
  //@ assert kept: vector_output(gradient, n) && vector_same{Pre, Here}(x, n);
  //@ assert members: \forall sequence s; members{Pre}(x, n, s) ==> members(x, n, s);
  gradient_of_all(gradient, n, x, maximum.lo, certain, count);
  /*@ assert shares: \forall sequence s, real m, integer e; members{Pre}(x, n, s) &&
        greatest(m, s, n) && 0 <= e < n ==>
        in(gradient + e, share(term(s, e), reached(s, n, m), m)); */
  //@ assert frame: only_vector_written{Pre, Here}(gradient, n);
  phibal_enclosure_clear(&t);
  /*@ assert still: \forall sequence s, real m, integer e; members{Pre}(x, n, s) &&
        greatest(m, s, n) && 0 <= e < n ==>
        in(gradient + e, share(term(s, e), reached(s, n, m), m)); */
  //@ assert ready: vector_output(gradient, n);
  //@ assert alone: only_vector_written{Pre, Here}(gradient, n);
  phibal_enclosure_clear(&maximum);
  //@ assert last: vector_output(gradient, n);
  return PHIBAL_OK;
}

/* Whether it is certain that one |x_e| > 0 is greatest, or that there is no such one. */
static phibal_status require_one_maximum(size_t count, bool certain,
                                         const phibal_enclosure *maximum) {
  //@ assert open_enclosure;
  if (count == 1 && mpfr_sgn(maximum->lo) > 0) return PHIBAL_OK;
  bool outside = count > 1 ? certain : mpfr_sgn(maximum->hi) <= 0;
  return phibal_status_set(outside ? PHIBAL_ERROR_DOMAIN : PHIBAL_ERROR_UNDECIDED,
                           "hessian of %s: the vector x is %s the domain: exactly one |x_e| "
                           "greatest, and not 0",
                           name, outside ? "outside" : "too near the end of");
}

/* z[0..n-1] = 0. */
static void set_all_zero(phibal_enclosure *z, size_t n) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(z, n);
      loop invariant frame: only_vector_written{Pre, Here}(z, n);
      loop invariant zero: \forall integer i; 0 <= i < e ==> in(z + i, 0.0);
      loop assigns e, z[0 .. n - 1];
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) phibal_enclosure_set_si(&z[e], 0);
}

/* 0 where one |x_e| > 0 is greatest; the gradient jumps elsewhere. */
phibal_status lp_max_hessian(size_t n, const phibal_enclosure *x, phibal_enclosure *hessian) {
  //@ assert use_enclosure;
  phibal_enclosure t, maximum;
  phibal_enclosure_init(&t, working_precision(hessian, n, x));
  phibal_enclosure_init(&maximum, working_precision(hessian, n, x));
  //@ assert outputs: vector_output(hessian, n) && vector_same{Pre, Here}(x, n);
  bool certain;
  size_t count = find_maxima(&maximum, n, x, &t, &certain);
  //@ assert kept: vector_output(hessian, n) && vector_same{Pre, Here}(x, n);
  //@ assert members: \forall sequence s; members{Pre}(x, n, s) ==> members(x, n, s);
  //@ assert magnitudes: \forall sequence s, real m; greatest(m, s, n) ==> 0.0 <= m;
  phibal_status status = require_one_maximum(count, certain, &maximum);
  /*@ assert inside: status == PHIBAL_OK ==> \forall sequence s, real m; members{Pre}(x, n, s) &&
        greatest(m, s, n) ==> 0.0 < m && reached(s, n, m) == 1; */
  /*@ assert zero: status == PHIBAL_ERROR_DOMAIN && !(1 < count && certain) ==>
        \forall sequence s, real m; members{Pre}(x, n, s) && greatest(m, s, n) ==> m == 0.0; */
  /*@ assert several: 1 < count && certain ==> \forall sequence s, real m; members{Pre}(x, n, s) &&
        greatest(m, s, n) ==> 1 < reached(s, n, m); */
  phibal_enclosure_clear(&t);
  phibal_enclosure_clear(&maximum);
  //@ assert untouched: untouched{Pre, Here};
  //@ assert ready: vector_output(hessian, n);
  if (status == PHIBAL_OK) set_all_zero(hessian, n);
  return status;
}

/* z = sum |y_e|; t is a temporary. */
static phibal_status set_one_norm(phibal_enclosure *z, size_t n, const phibal_enclosure *y,
                                  phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(z, 0);
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: output(z) && output(t);
      loop invariant frame: only_two_written{Pre, Here}(z, t);
      loop invariant sum: \forall sequence s; members{Pre}(y, n, s) ==> in(z, one_norm(s, e));
      loop assigns e, *z, *t;
      loop variant n - e; */
  for (size_t e = 0; e < n; e++) {
    phibal_enclosure_abs(t, &y[e]);
    //@ assert magnitude: \forall sequence s; members{Pre}(y, n, s) ==> in(t, \abs(term(s, e)));
    TRY(phibal_enclosure_add(z, z, t));
    //@ assert step: \forall sequence s; one_norm(s, e + 1) == one_norm(s, e) + \abs(term(s, e));
  }
  return PHIBAL_OK;
}

/* value = 0 for members of norm up to 1, +inf for the others. */
static void set_indicator(phibal_enclosure *value, const phibal_enclosure *norm) {
  //@ assert open_enclosure;
  phibal_enclosure_set_si(value, 0);
  //@ assert zero: in(value, 0.0);
  //@ assert kept: same{Pre, Here}(norm);
  if (mpfr_cmp_si(norm->hi, 1) > 0) mpfr_set_inf(value->hi, 1);
  if (mpfr_cmp_si(norm->lo, 1) > 0) mpfr_set_inf(value->lo, 1);
}

phibal_status lp_max_conjugate(size_t n, const phibal_enclosure *y, phibal_enclosure *value) {
  //@ assert use_enclosure;
  phibal_enclosure norm, t;
  phibal_enclosure_init(&norm, working_precision(value, n, y));
  phibal_enclosure_init(&t, working_precision(value, n, y));
  //@ assert kept: vector_same{Pre, Here}(y, n);
  phibal_status status = set_one_norm(&norm, n, y, &t);
  /*@ assert norm: status == PHIBAL_OK ==> \forall sequence s; members{Pre}(y, n, s) ==>
        in(&norm, one_norm(s, n)); */
  if (status == PHIBAL_OK) set_indicator(value, &norm);
  /*@ assert inside: status == PHIBAL_OK ==> \forall sequence s; members{Pre}(y, n, s) &&
        one_norm(s, n) <= 1.0 ==> in(value, 0.0); */
  /*@ assert outside: status == PHIBAL_OK ==> \forall sequence s; members{Pre}(y, n, s) &&
        1.0 < one_norm(s, n) ==> in_plus(value); */
  phibal_enclosure_clear(&norm);
  phibal_enclosure_clear(&t);
  /*@ assert zero: status == PHIBAL_OK ==> \forall sequence s; members{Pre}(y, n, s) &&
        one_norm(s, n) <= 1.0 ==> in(value, 0.0); */
  /*@ assert infinite: status == PHIBAL_OK ==> \forall sequence s; members{Pre}(y, n, s) &&
        1.0 < one_norm(s, n) ==> in_plus(value); */
  return status;
}

static phibal_status require_inside_ball(const phibal_enclosure *norm) {
  //@ assert open_enclosure;
  if (mpfr_cmp_si(norm->hi, 1) < 0) return PHIBAL_OK;
  bool certain = mpfr_cmp_si(norm->lo, 1) >= 0;
  return phibal_status_set(certain ? PHIBAL_ERROR_DOMAIN : PHIBAL_ERROR_UNDECIDED,
                           "conjugate-gradient of %s: the vector y is %s the domain sum |y_e| < 1",
                           name, certain ? "outside" : "too near the end of");
}

phibal_status lp_max_conjugate_gradient(size_t n, const phibal_enclosure *y,
                                        phibal_enclosure *gradient) {
  //@ assert use_enclosure;
  phibal_enclosure norm, t;
  phibal_enclosure_init(&norm, working_precision(gradient, n, y));
  phibal_enclosure_init(&t, working_precision(gradient, n, y));
  //@ assert kept: vector_same{Pre, Here}(y, n);
  phibal_status status = set_one_norm(&norm, n, y, &t);
  /*@ assert norm: status == PHIBAL_OK ==> \forall sequence s; members{Pre}(y, n, s) ==>
        in(&norm, one_norm(s, n)); */
  if (status == PHIBAL_OK) status = require_inside_ball(&norm);
  phibal_enclosure_clear(&norm);
  phibal_enclosure_clear(&t);
  //@ assert untouched: untouched{Pre, Here};
  //@ assert ready: vector_output(gradient, n);
  if (status != PHIBAL_OK) return status;
  /*@ assert inside: \forall sequence s; members{Pre}(y, n, s) ==> one_norm(s, n) < 1.0; */
  set_all_zero(gradient, n);
  return PHIBAL_OK;
}
