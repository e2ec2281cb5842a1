/* Enclosures as sets: their life, their ends, and what is certain about their members. */
#include "enclosure_internal.h"
#include <stdint.h>
#include <stdlib.h>
#include <phibal/acsl/contracts/inside/enclosure_static.h>

void phibal_enclosure_init(phibal_enclosure *z, mpfr_prec_t precision) {
  //@ assert open_enclosure && open_room;
  mpfr_init2(z->lo, precision);
  mpfr_init2(z->hi, precision);
  mpfr_set_zero(z->lo, 1);
  mpfr_set_zero(z->hi, 1);
}

void phibal_enclosure_clear(phibal_enclosure *z) {
  //@ assert open_enclosure;
  mpfr_clear(z->lo);
  mpfr_clear(z->hi);
}

/* Room for n enclosures, null when memory is out, and its end. Proofs trust these two: see
   <phibal/acsl/heap.h>. That only what places_new gave reaches places_free is not proved. */
#ifdef __FRAMAC__
/*@ terminates \true;
    exits \false;
    assigns \result, enclosure_heap_used \from n, enclosure_heap, enclosure_heap_used;
    ensures \result == \null ==> enclosure_heap_used == \old(enclosure_heap_used);
    ensures \result != \null ==> next_places{Pre, Here}(\result, n); */
static phibal_enclosure *places_new(size_t n);
/*@ terminates \true;
    exits \false;
    assigns \nothing; */
static void places_free(phibal_enclosure *v);
#else
static phibal_enclosure *places_new(size_t n) {
  /* One more, so that n = 0 is not mistaken for memory running out. */
  if (n >= SIZE_MAX / sizeof(phibal_enclosure)) return NULL;
  return malloc((n + 1) * sizeof(phibal_enclosure));
}

static void places_free(phibal_enclosure *v) {
  free(v);
}
#endif

static void init_all(phibal_enclosure *v, size_t n, mpfr_prec_t precision) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant made: \forall integer k; 0 <= k < i ==>
        enclosure(v + k) && point(v + k) && in(v + k, 0.0) && precise(v + k, precision);
      loop invariant frame: only_vector_written{Pre, Here}(v, n);
      loop assigns i, v[0 .. n - 1];
      loop variant n - i; */
  for (size_t i = 0; i < n; i++) phibal_enclosure_init(&v[i], precision);
}

phibal_enclosure *phibal_enclosure_vector(size_t n, mpfr_prec_t precision) {
  //@ assert open_heap && use_enclosure;
  phibal_enclosure *v = places_new(n);
  if (!v) return NULL;
  /*@ assert new: \forall phibal_enclosure *r, integer i; in_use{Pre}(r) && 0 <= i < n ==>
        \separated(r, \at(enclosure_heap, Pre) + (\at(enclosure_heap_used, Pre) + i)); */
  /*@ assert places: \forall integer i; v + i ==
        \at(enclosure_heap, Pre) + (\at(enclosure_heap_used, Pre) + i); */
  //@ assert still: still_in_use{Pre, Here};
  //@ assert used: vector_in_use(v, n);
  //@ assert given: given_out{Pre, Here}(v, n);
  init_all(v, n, precision);
  return v;
}

void phibal_enclosure_vector_clear(phibal_enclosure *v, size_t n) {
  //@ assert use_enclosure;
  if (!v) return;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant left: \forall integer k; i <= k < n ==> enclosure(v + k);
      loop invariant frame: only_vector_written{Pre, Here}(v, n);
      loop assigns i, v[0 .. n - 1];
      loop variant n - i; */
  for (size_t i = 0; i < n; i++) phibal_enclosure_clear(&v[i]);
  places_free(v);
}

void phibal_enclosure_set(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure;
  mpfr_set(z->lo, x->lo, MPFR_RNDD);
  mpfr_set(z->hi, x->hi, MPFR_RNDU);
}

void phibal_enclosure_set_si(phibal_enclosure *z, long n) {
  //@ assert open_enclosure && open_room;
  mpfr_set_si(z->lo, n, MPFR_RNDD);
  mpfr_set_si(z->hi, n, MPFR_RNDU);
}

void phibal_enclosure_set_d(phibal_enclosure *z, double d) {
  //@ assert open_enclosure;
  //@ assert kinds: \is_finite(d) || \is_plus_infinity(d) || \is_minus_infinity(d);
  mpfr_set_d(z->lo, d, MPFR_RNDD);
  mpfr_set_d(z->hi, d, MPFR_RNDU);
}

void phibal_enclosure_set_fr(phibal_enclosure *z, mpfr_srcptr x) {
  //@ assert open_enclosure && open_room;
  mpfr_set(z->lo, x, MPFR_RNDD);
  mpfr_set(z->hi, x, MPFR_RNDU);
}

void phibal_enclosure_set_q(phibal_enclosure *z, mpq_srcptr q) {
  //@ assert open_enclosure;
  mpfr_set_q(z->lo, q, MPFR_RNDD);
  mpfr_set_q(z->hi, q, MPFR_RNDU);
}

void phibal_enclosure_swap(phibal_enclosure *x, phibal_enclosure *y) {
  //@ assert open_enclosure;
  mpfr_swap(x->lo, y->lo);
  mpfr_swap(x->hi, y->hi);
}

void phibal_enclosure_hull(phibal_enclosure *z, const phibal_enclosure *x,
                           const phibal_enclosure *y) {
  //@ assert open_enclosure;
  mpfr_min(z->lo, x->lo, y->lo, MPFR_RNDD);
  mpfr_max(z->hi, x->hi, y->hi, MPFR_RNDU);
}

bool phibal_enclosure_is_less(const phibal_enclosure *x, const phibal_enclosure *y) {
  //@ assert open_enclosure;
  return mpfr_less_p(x->hi, y->lo) != 0;
}

bool phibal_enclosure_is_positive(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_sgn(x->lo) > 0;
}

bool phibal_enclosure_is_negative(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_sgn(x->hi) < 0;
}

bool phibal_enclosure_is_zero(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_zero_p(x->lo) && mpfr_zero_p(x->hi);
}

bool phibal_enclosure_is_exact(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_equal_p(x->lo, x->hi) != 0;
}

bool phibal_enclosure_contains_zero(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_sgn(x->lo) <= 0 && mpfr_sgn(x->hi) >= 0;
}

bool phibal_enclosure_overlaps(const phibal_enclosure *x, const phibal_enclosure *y) {
  //@ assert open_enclosure;
  return mpfr_lessequal_p(x->lo, y->hi) && mpfr_lessequal_p(y->lo, x->hi);
}

void phibal_enclosure_width(mpfr_ptr width, const phibal_enclosure *x) {
  //@ assert open_enclosure;
  if (phibal_enclosure_is_exact(x))
    mpfr_set_zero(width, 1);
  else
    mpfr_sub(width, x->hi, x->lo, MPFR_RNDU);
}

enum { MESSAGE_DIGITS = 6 };
typedef char message_number[PHIBAL_DECIMAL_SIZE(MESSAGE_DIGITS)];

/* Nothing is excluded: z = [-inf, inf], and its error. */
static phibal_status whole_line(phibal_enclosure *z) {
  //@ assert open_enclosure;
  mpfr_set_inf(z->lo, -1);
  mpfr_set_inf(z->hi, 1);
  return PHIBAL_ERROR_DOMAIN;
}

phibal_status enclosure_undefined(phibal_enclosure *z, const char *function,
                                  const phibal_enclosure *x, const char *rule) {
  //@ assert use_enclosure;
  message_number lo, hi;
  phibal_enclosure_get_decimal(x, MESSAGE_DIGITS, lo, hi, sizeof lo);
  phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: [%s, %s] %s", function, lo, hi, rule);
  return whole_line(z);
}

phibal_status enclosure_undefined_pair(phibal_enclosure *z, const char *function,
                                       const phibal_enclosure *x, const phibal_enclosure *y,
                                       const char *rule) {
  //@ assert use_enclosure;
  message_number xlo, xhi, ylo, yhi;
  phibal_enclosure_get_decimal(x, MESSAGE_DIGITS, xlo, xhi, sizeof xlo);
  phibal_enclosure_get_decimal(y, MESSAGE_DIGITS, ylo, yhi, sizeof ylo);
  phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: [%s, %s] and [%s, %s] %s", function, xlo, xhi, ylo,
                    yhi, rule);
  return whole_line(z);
}
