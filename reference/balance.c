/* Balancing: the average (M1), prices (M2), (M3), losses (L1), (L3), (L4), (L5) and the loss-free
   update (L6). */
#include "operation.h"
#include <phibal/rounding.h>
#ifdef __FRAMAC__
#include <phibal/acsl/balance.h>
#include <phibal/acsl/floating.h>
#endif

/* A sum of two binary32 numbers is a multiple of 2^-149 below 2^129: exact in so many bits. */
#define EXACT_BINARY32_SUM 288

/*@ // nothing but a loss, its condition where there is one, and t[0..3] was written
    predicate loss_written{A, B}(phibal_enclosure *loss, phibal_enclosure *condition,
                                 phibal_enclosure *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, loss) &&
        optional_apart(r, condition) && vector_apart(r, t, 4) ==> same{A, B}(r);
    // the absolute values of the terms are members
    predicate sizes_in{L}(phibal_enclosure *z, sequence s, integer n) =
      \forall integer i; 0 <= i < n ==> in(z, \abs(term(s, i)));
*/

/* PHIBAL_ERROR_ARGUMENT unless x[0..n-1] are finite and >= 0 (-0 counts as 0). */
/*@ requires n >= 0 && \valid_read(x + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==>
      finite_floats(x, n) && (\forall integer i; 0 <= i < n ==> 0.0 <= (real)x[i]); */
static phibal_status loads_check(const char *name, const char *what, int32_t n, const float *x) {
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

/* next = (1 - eta) m + eta load; t[0] = 1 - eta, t[1] = eta, t[2..3] free. */
/*@ requires vector_output(t, 4) && output(next) && vector_apart(next, t, 4);
    requires \is_finite(m) && \is_finite(load);
    terminates \true;
    exits \false;
    assigns t[2], t[3], *next;
    ensures enclosure(t + 2) && enclosure(t + 3) && enclosure(next);
    ensures only_three_written{Pre, Here}(next, t + 2, t + 3);
    ensures \result == PHIBAL_OK ==> \forall real a, b; in{Pre}(t + 0, a) && in{Pre}(t + 1, b) ==>
      in(next, weighted((real)m, a, (real)load, b)); */
static phibal_status ema_element(float m, float load, phibal_enclosure *t, phibal_enclosure *next) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t[2], (double)m);
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[0]));
  //@ assert kept: \forall real a; in{Pre}(t + 0, a) ==> in(t + 2, (real)m * a);
  phibal_enclosure_set_d(&t[3], (double)load);
  TRY(phibal_enclosure_mul(&t[3], &t[3], &t[1]));
  //@ assert added: \forall real b; in{Pre}(t + 1, b) ==> in(t + 3, (real)load * b);
  return phibal_enclosure_add(next, &t[2], &t[3]);
}

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(eta);
    requires \valid_read(m + (0 .. experts - 1)) && finite_floats(m, experts);
    requires \valid_read(loads + (0 .. experts - 1)) && finite_floats(loads, experts);
    requires vector_output(t, 4) && vector_output(next, experts);
    requires \forall integer e; 0 <= e < experts ==> vector_apart(next + e, t, 4);
    terminates \true;
    exits \false;
    assigns t[0 .. 3], next[0 .. experts - 1];
    ensures vector_output(t, 4);
    ensures vector_output(next, experts);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 4) &&
      vector_apart(r, next, experts) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> \forall integer e; 0 <= e < experts ==>
      in(next + e, moving_average((real)eta, (real)m[e], (real)loads[e])); */
static phibal_status ema_vector(int32_t experts, float eta, const float *m, const float *loads,
                                phibal_enclosure *t, phibal_enclosure *next) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t[1], (double)eta);
  phibal_enclosure_set_si(&t[0], 1);
  TRY(phibal_enclosure_sub(&t[0], &t[0], &t[1]));
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant weights: in(t + 0, 1.0 - (real)eta) && in(t + 1, (real)eta);
      loop invariant scratch: vector_output(t, 4);
      loop invariant outputs: vector_output(next, experts);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 4) && vector_apart(r, next, experts) ==> same{Pre, Here}(r);
      loop invariant averages: \forall integer i; 0 <= i < e ==>
        in(next + i, moving_average((real)eta, (real)m[i], (real)loads[i]));
      loop assigns e, t[2 .. 3], next[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    phibal_status status = ema_element(m[e], loads[e], t, &next[e]);
    //@ assert scratch: vector_output(t, 4);
    //@ assert outputs: vector_output(next, experts);
    //@ assert left: \forall integer i; 0 <= i < e ==> same{LoopCurrent, Here}(next + i);
    if (status != PHIBAL_OK) return status;
    //@ assert average: in(next + e, moving_average((real)eta, (real)m[e], (real)loads[e]));
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_ema(int32_t experts, float eta, const float *m, const float *loads,
                                   mpfr_prec_t precision, phibal_enclosure *next) {
  //@ assert use_enclosure && use_floating;
  const char *name = "phibal_reference_ema";
  if (!m || !loads || !next)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(operation_check_experts(name, experts, precision));
  if (!(isfinite(eta) && eta > 0.0f && eta <= 1.0f))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: eta = %g; it must be in (0, 1]", name,
                             (double)eta);
  TRY(operation_check_finite(name, "m", experts, m));
  TRY(operation_check_finite(name, "the loads", experts, loads));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 4, precision, &t));
  phibal_status status = ema_vector(experts, eta, m, loads, t, next);
  operation_scratch_clear(t, 4);
  return status;
}

/* (P.k): do kernels raise small m_e for this potential? Where the price has no bound at 0. */
/*@ requires \valid_read(potential);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(potential->parameter) ==>
      \result == price_raised(potential->id, (real)potential->parameter); */
static bool price_is_floored(const phibal_potential *potential) {
  //@ assert use_floating;
  switch (potential->id) {
  case PHIBAL_POTENTIAL_NEGENTROPY:
  case PHIBAL_POTENTIAL_RENYI:
    return true;
  case PHIBAL_POTENTIAL_TSALLIS:
    return potential->parameter < 1.0;
  default:
    return false;
  }
}

/* The m_e that the price is taken at; *raised counts those below the floor. */
/*@ requires \is_finite(m) && \valid(raised) && 0 <= *raised < INT32_MAX;
    terminates \true;
    exits \false;
    assigns *raised;
    ensures \is_finite(\result) && (real)\result == price_point(floored, (real)m);
    ensures *raised == \old(*raised) + (floored != 0 && (real)m < 0x1p-126 ? 1 : 0); */
static float price_argument(bool floored, float m, int32_t *raised) {
  //@ assert use_floating;
  if (!floored || m >= PHIBAL_SMALLEST_LOAD) return m;
  ++*raised;
  return PHIBAL_SMALLEST_LOAD;
}

/*@ requires \is_finite(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures (real)\result == sign_real((real)x); */
static int float_sign(float x) {
  //@ assert use_floating;
  if (x > 0.0f) return 1;
  if (x < 0.0f) return -1;
  return 0;
}

/* lp with p = 1: sgn(m_e), the subgradient that is 0 at 0. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(m + (0 .. experts - 1));
    requires finite_floats(m, experts) && vector_output(price, experts);
    terminates \true;
    exits \false;
    assigns price[0 .. experts - 1];
    ensures vector_output(price, experts) && only_vector_written{Pre, Here}(price, experts);
    ensures \forall integer e; 0 <= e < experts ==> in(price + e, sign_real((real)m[e])); */
static void price_sign(int32_t experts, const float *m, phibal_enclosure *price) {
  //@ assert use_enclosure && use_floating;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: vector_output(price, experts);
      loop invariant frame: only_vector_written{Pre, Here}(price, experts);
      loop invariant signs: \forall integer i; 0 <= i < e ==>
        in(price + i, sign_real((real)m[i]));
      loop assigns e, price[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) phibal_enclosure_set_si(&price[e], float_sign(m[e]));
}

/* The largest of m; *n are as large. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(m + (0 .. experts - 1));
    requires finite_floats(m, experts) && \valid(n);
    terminates \true;
    exits \false;
    assigns *n;
    ensures \is_finite(\result) && 1 <= *n <= experts;
    ensures \forall sequence s; floats_are(m, experts, s) ==>
      (real)\result == largest(s, experts) && *n == multiplicity(s, (real)\result, experts); */
static float loads_largest(int32_t experts, const float *m, unsigned long *n) {
  //@ assert use_floating;
  float largest = m[0];
  *n = 1;
  /*@ loop invariant index: 1 <= e <= experts && \is_finite(largest) && 1 <= *n <= e;
      loop invariant bound: \forall integer i; 0 <= i < e ==> (real)m[i] <= (real)largest;
      loop invariant largest: \forall sequence s; floats_are(m, experts, s) ==>
        (real)largest == largest(s, e);
      loop invariant count: \forall sequence s; floats_are(m, experts, s) ==>
        *n == multiplicity(s, (real)largest, e);
      loop invariant none: \forall sequence s, real a;
        floats_are(m, experts, s) && (real)largest < a ==> multiplicity(s, a, e) == 0;
      loop assigns e, largest, *n;
      loop variant experts - e; */
  for (int32_t e = 1; e < experts; e++) {
    /*@ assert next: \forall sequence s, real a; floats_are(m, experts, s) ==>
          multiplicity(s, a, e + 1) == multiplicity(s, a, e) + ((real)m[e] == a ? 1 : 0); */
    if (m[e] > largest) {
      largest = m[e];
      *n = 1;
    } else if (m[e] == largest) {
      ++*n;
    }
  }
  return largest;
}

/* price = 1 / n where m is `largest`, else 0. */
/*@ requires \is_finite(m) && \is_finite(largest);
    requires output(price) && input(n) && \separated(n, price);
    terminates \true;
    exits \false;
    assigns *price;
    ensures enclosure(price) && only_written{Pre, Here}(price);
    ensures \result == PHIBAL_OK ==> \forall real a; in{Pre}(n, a) && a > 0.0 ==>
      in(price, (real)m == (real)largest ? 1.0 / a : 0.0); */
static phibal_status price_share(float m, float largest, const phibal_enclosure *n,
                                 phibal_enclosure *price) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_si(price, m == largest);
  if (m != largest) return PHIBAL_OK;
  //@ assert one: in(price, 1.0) && (real)m == (real)largest;
  //@ assert divisor: input(n) && same{Pre, Here}(n);
  return phibal_enclosure_div(price, price, n);
}

/* price_e = 1 / n where m_e is `largest`, else 0; n is an enclosure of the number. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(m + (0 .. experts - 1));
    requires finite_floats(m, experts) && \is_finite(largest);
    requires vector_output(price, experts) && input(n) && vector_apart(n, price, experts);
    terminates \true;
    exits \false;
    assigns price[0 .. experts - 1];
    ensures vector_output(price, experts) && only_vector_written{Pre, Here}(price, experts);
    ensures \result == PHIBAL_OK ==> \forall integer e, real a;
      0 <= e < experts && in{Pre}(n, a) && a > 0.0 ==>
        in(price + e, (real)m[e] == (real)largest ? 1.0 / a : 0.0); */
static phibal_status price_shares(int32_t experts, const float *m, float largest,
                                  const phibal_enclosure *n, phibal_enclosure *price) {
  //@ assert use_enclosure && use_floating;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: vector_output(price, experts);
      loop invariant frame: only_vector_written{Pre, Here}(price, experts);
      loop invariant divisor: same{Pre, Here}(n) && input(n);
      loop invariant shares: \forall integer i, real a; 0 <= i < e && in{Pre}(n, a) && a > 0.0 ==>
        in(price + i, (real)m[i] == (real)largest ? 1.0 / a : 0.0);
      loop assigns e, price[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    phibal_status status = price_share(m[e], largest, n, &price[e]);
    //@ assert outputs: vector_output(price, experts) && same{LoopCurrent, Here}(n);
    //@ assert left: \forall integer i; 0 <= i < e ==> same{LoopCurrent, Here}(price + i);
    if (status != PHIBAL_OK) return status;
    /*@ assert share: \forall real a; in{Pre}(n, a) && a > 0.0 ==>
          in(price + e, (real)m[e] == (real)largest ? 1.0 / a : 0.0); */
  }
  return PHIBAL_OK;
}

/* lp with p = inf: of max_e m_e, the subgradient that treats the n largest alike. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(m + (0 .. experts - 1));
    requires finite_floats(m, experts) && vector_output(price, experts);
    terminates \true;
    exits \false;
    assigns price[0 .. experts - 1];
    ensures vector_output(price, experts) && only_vector_written{Pre, Here}(price, experts);
    ensures \result == PHIBAL_OK ==> \forall sequence s, integer e;
      floats_are(m, experts, s) && 0 <= e < experts ==>
        in(price + e, maximum_share(s, experts, e)); */
static phibal_status price_largest(int32_t experts, const float *m, phibal_enclosure *price) {
  //@ assert use_enclosure;
  unsigned long n;
  float largest = loads_largest(experts, m, &n);
  phibal_enclosure number;
  phibal_enclosure_init(&number, 64);
  phibal_enclosure_set_si(&number, (long)n);
  //@ assert number: in(&number, (real)n) && (real)n > 0.0;
  //@ assert prices: vector_output(price, experts);
  phibal_status status = price_shares(experts, m, largest, &number, price);
  /*@ assert same_share: \forall sequence s, integer i; floats_are(m, experts, s) &&
        0 <= i < experts ==>
          maximum_share(s, experts, i) == ((real)m[i] == (real)largest ? 1.0 / (real)n : 0.0); */
  /*@ assert shares: status == PHIBAL_OK ==> \forall sequence s, integer i;
        floats_are(m, experts, s) && 0 <= i < experts ==>
          in(price + i, maximum_share(s, experts, i)); */
  phibal_enclosure_clear(&number);
  return status;
}

/* x_e = m_e, raised where the kernels raise it; *raised counts. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(m + (0 .. experts - 1));
    requires finite_floats(m, experts) && vector_output(x, experts);
    requires \valid(raised) && *raised == 0;
    terminates \true;
    exits \false;
    assigns x[0 .. experts - 1], *raised;
    ensures vector_output(x, experts) && only_vector_written{Pre, Here}(x, experts);
    ensures 0 <= *raised <= experts;
    ensures \forall integer e; 0 <= e < experts ==>
      in(x + e, price_point(floored, (real)m[e])); */
static void price_arguments(bool floored, int32_t experts, const float *m, phibal_enclosure *x,
                            int32_t *raised) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= e <= experts && 0 <= *raised <= e;
      loop invariant outputs: vector_output(x, experts);
      loop invariant frame: only_vector_written{Pre, Here}(x, experts);
      loop invariant points: \forall integer i; 0 <= i < e ==>
        in(x + i, price_point(floored, (real)m[i]));
      loop assigns e, *raised, x[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    float point = price_argument(floored, m[e], raised);
    //@ assert point: (real)point == price_point(floored, (real)m[e]);
    operation_set_float(&x[e], point);
    //@ assert set: in(x + e, price_point(floored, (real)m[e]));
  }
}

/* grad phi at x. */
/*@ requires \valid_read(potential) && 1 <= experts <= PHIBAL_MAX_EXPERTS;
    requires OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires vector_input(x, experts) && vector_output(price, experts);
    requires \separated(x + (0 .. experts - 1), price + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns price[0 .. experts - 1];
    ensures vector_output(price, experts) && only_vector_written{Pre, Here}(price, experts);
    ensures \result == PHIBAL_OK && \is_finite(potential->parameter) ==> \forall integer e, real r;
      0 <= e < experts && in{Pre}(x + e, r) &&
      separable(potential->id, (real)potential->parameter) ==>
        price_exists(potential->id, (real)potential->parameter, r) &&
        in(price + e, price_of(potential->id, (real)potential->parameter, r)); */
static phibal_status price_gradient(const phibal_potential *potential, int32_t experts,
                                    const phibal_enclosure *x, mpfr_prec_t precision,
                                    phibal_enclosure *price) {
  //@ assert use_enclosure;
  phibal_reference_potential phi;
  phi.id = potential->id;
  phibal_enclosure_init(&phi.parameter, precision > 64 ? precision : 64);
  if (isfinite(potential->parameter)) phibal_enclosure_set_d(&phi.parameter, potential->parameter);
  phibal_status status = phibal_reference_gradient(&phi, (size_t)experts, x, price);
  phibal_enclosure_clear(&phi.parameter);
  return status;
}

/*@ requires potential == \null || \valid_read(potential);
    requires 1 <= experts <= PHIBAL_MAX_EXPERTS && m != \null ==>
      \valid_read(m + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> potential != \null && m != \null && output != \null &&
      1 <= experts <= PHIBAL_MAX_EXPERTS && precision >= OPERATION_PRECISION;
    ensures \result == PHIBAL_OK ==> finite_floats(m, experts) &&
      (\forall integer i; 0 <= i < experts ==> 0.0 <= (real)m[i]); */
static phibal_status price_check(const char *name, const phibal_potential *potential,
                                 int32_t experts, const float *m, mpfr_prec_t precision,
                                 const phibal_enclosure *output) {
  if (!potential || !m || !output)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(phibal_potential_check(potential));
  TRY(operation_check_experts(name, experts, precision));
  return loads_check(name, "m", experts, m);
}

/* Vectors whose elements are apart are apart. By induction. */
/*@ ghost
  /@ requires 0 <= n && vector_apart(r, p, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \separated(r, p + (0 .. n - 1)); @/
  void element_apart(const phibal_enclosure *r, const phibal_enclosure *p, int32_t n) {
    int32_t i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant \separated(r, p + (0 .. i - 1));
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert \separated(r, p + i); @/
      i++;
    }
  }

  /@ requires 0 <= k && 0 <= n && vectors_apart(x, k, p, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \separated(x + (0 .. k - 1), p + (0 .. n - 1)); @/
  void ranges_apart(const phibal_enclosure *x, int32_t k, const phibal_enclosure *p, int32_t n) {
    int32_t i = 0;
    /@ loop invariant 0 <= i <= k;
       loop invariant \separated(x + (0 .. i - 1), p + (0 .. n - 1));
       loop assigns i;
       loop variant k - i; @/
    while (i < k) {
      element_apart(x + i, p, n);
      i++;
    }
  }
*/

/* The price where it is a gradient, with temporaries of its own. */
/*@ requires \valid_read(potential) && 1 <= experts <= PHIBAL_MAX_EXPERTS;
    requires \valid_read(m + (0 .. experts - 1)) && finite_floats(m, experts);
    requires OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires vector_output(price, experts) && vector_in_use(price, experts);
    requires \valid(raised) && *raised == 0;
    terminates \true;
    exits \false;
    assigns price[0 .. experts - 1], *raised, ALLOCATED;
    ensures still_in_use{Pre, Here} && vector_kept{Pre, Here}(price, experts);
    ensures vector_output(price, experts) && 0 <= *raised <= experts;
    ensures prices: \result == PHIBAL_OK && \is_finite(potential->parameter) &&
      separable(potential->id, (real)potential->parameter) ==> \forall integer e;
      0 <= e < experts ==> in(price + e,
        gradient_price(potential->id, (real)potential->parameter, (real)m[e])); */
static phibal_status price_compute(const char *name, const phibal_potential *potential,
                                   int32_t experts, const float *m, mpfr_prec_t precision,
                                   phibal_enclosure *price, int32_t *raised) {
  //@ assert use_enclosure;
  phibal_enclosure *x;
  phibal_status status = operation_scratch(name, (size_t)experts, precision, &x);
  //@ assert places: vector_output(price, experts);
  if (status != PHIBAL_OK) return status;
  //@ assert apart: vectors_apart(price, experts, x, experts);
  //@ ghost ranges_apart(price, experts, x, experts);
  bool floored = price_is_floored(potential);
  price_arguments(floored, experts, m, x, raised);
  //@ assert places_left: vector_output(price, experts);
  /*@ assert kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        same{Pre, Here}(r) && vector_apart(r, x, experts); */
  status = price_gradient(potential, experts, x, precision, price);
  operation_scratch_clear(x, (size_t)experts);
  //@ assert places_kept: vector_output(price, experts);
  return status;
}

phibal_status phibal_reference_price(const phibal_potential *potential, int32_t experts,
                                     const float *m, mpfr_prec_t precision, phibal_enclosure *price,
                                     int32_t *floored) {
  //@ assert use_enclosure && use_floating;
  const char *name = "phibal_reference_price";
  TRY(price_check(name, potential, experts, m, precision, price));
  int32_t raised = 0;
  phibal_status status = PHIBAL_OK;
  /*@ assert one: \is_finite(potential->parameter) ==>
        (potential->parameter == 1.0 <==> (real)potential->parameter == 1.0); */
  if (potential->id == PHIBAL_POTENTIAL_LP && potential->parameter == 1.0)
    price_sign(experts, m, price);
  else if (potential->id == PHIBAL_POTENTIAL_LP && !isfinite(potential->parameter))
    status = price_largest(experts, m, price);
  else
    status = price_compute(name, potential, experts, m, precision, price, &raised);
  /*@ assert prices: status == PHIBAL_OK && \is_finite(potential->parameter) &&
        separable(potential->id, (real)potential->parameter) ==> \forall integer e;
        0 <= e < experts ==>
          in(price + e, kernel_price(potential->id, (real)potential->parameter, (real)m[e])); */
  if (floored) *floored = raised;
  return status;
}

/* centred_e = x_e - mean(x); t is a temporary. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && vector_input(x, experts);
    requires vector_output(t, 2) && vector_output(centred, experts);
    requires vector_apart(t + 0, x, experts) && vector_apart(t + 1, x, experts) &&
             vector_apart(t + 0, centred, experts) && vector_apart(t + 1, centred, experts);
    requires vectors_apart(centred, experts, x, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], centred[0 .. experts - 1];
    ensures enclosure(t + 0) && enclosure(t + 1);
    ensures vector_output(centred, experts);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 2) &&
      vector_apart(r, centred, experts) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> \forall sequence s, integer e;
      members{Pre}(x, experts, s) && 0 <= e < experts ==>
        in(centred + e, centred(s, experts, e)); */
static phibal_status vector_centre(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t,
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
  for (int32_t e = 0; e < experts; e++) TRY(phibal_enclosure_sub(&centred[e], &x[e], &t[0]));
  return PHIBAL_OK;
}

/* The hull of 0 and every |x_e|: its upper end is at least each of them. */
/*@ requires 1 <= experts && vector_input(x, experts) && output(t) && output(largest);
    requires \separated(t, largest) && vector_apart(t, x, experts) &&
             vector_apart(largest, x, experts);
    terminates \true;
    exits \false;
    assigns *t, *largest;
    ensures enclosure(t) && enclosure(largest) && only_two_written{Pre, Here}(t, largest);
    ensures \forall sequence s; members{Pre}(x, experts, s) ==> sizes_in(largest, s, experts); */
static void vector_largest(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t,
                           phibal_enclosure *largest) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(largest, 0);
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: enclosure(t) && enclosure(largest);
      loop invariant frame: only_two_written{Pre, Here}(t, largest);
      loop invariant sizes: \forall sequence s; members{Pre}(x, experts, s) ==>
        sizes_in(largest, s, e);
      loop assigns e, *t, *largest;
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_abs(t, &x[e]);
    phibal_enclosure_hull(largest, largest, t);
  }
}

/* The largest of x, if it is wanted, and x centred; t[0..1] are temporaries. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && vector_input(x, experts);
    requires vector_output(t, 2) && vector_output(centred, experts) && optional(largest);
    requires vectors_apart(t, 2, x, experts) && vectors_apart(t, 2, centred, experts) &&
             vectors_apart(centred, experts, x, experts);
    requires largest == \null || (vector_apart(largest, t, 2) &&
      vector_apart(largest, x, experts) && vector_apart(largest, centred, experts));
    terminates \true;
    exits \false;
    assigns t[0 .. 1], centred[0 .. experts - 1], *largest;
    ensures vector_output(t, 2) && vector_output(centred, experts) && optional(largest);
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 2) &&
      vector_apart(r, centred, experts) && optional_apart(r, largest) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==> \forall sequence s, integer e;
      members{Pre}(x, experts, s) && 0 <= e < experts ==> in(centred + e, centred(s, experts, e));
    ensures largest != \null ==> \forall sequence s;
      members{Pre}(x, experts, s) ==> sizes_in(largest, s, experts); */
static phibal_status prices_centre(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t,
                                   phibal_enclosure *centred, phibal_enclosure *largest) {
  //@ assert use_enclosure;
  if (largest) vector_largest(experts, x, &t[0], largest);
  //@ assert prices: vector_input(x, experts) && vector_same{Pre, Here}(x, experts);
  //@ assert scratch: vector_output(t, 2);
  return vector_centre(experts, x, t, centred);
}

phibal_status phibal_reference_price_centred(const phibal_potential *potential, int32_t experts,
                                             const float *m, mpfr_prec_t precision,
                                             phibal_enclosure *centred, phibal_enclosure *largest,
                                             int32_t *floored) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_price_centred";
  TRY(price_check(name, potential, experts, m, precision, centred));
  phibal_enclosure *t, *x;
  TRY(operation_scratch(name, 2, precision, &t));
  //@ assert scratch: vector_output(t, 2) && vector_in_use(t, 2);
  phibal_status status = operation_scratch(name, (size_t)experts, precision, &x);
  //@ assert kept: vector_output(t, 2) && vector_in_use(t, 2);
  if (status == PHIBAL_OK) {
    //@ assert apart: vectors_apart(t, 2, x, experts);
    status = phibal_reference_price(potential, experts, m, precision, x, floored);
    //@ assert scratch_kept: vector_output(t, 2);
    //@ assert places: vector_output(centred, experts) && vectors_apart(centred, experts, t, 2);
    //@ assert places_apart: vectors_apart(centred, experts, x, experts);
    //@ assert largest: optional(largest);
    if (status == PHIBAL_OK) status = prices_centre(experts, x, t, centred, largest);
    //@ assert used: vector_output(t, 2) && vector_output(x, experts);
    operation_scratch_clear(x, (size_t)experts);
    //@ assert left: vector_output(t, 2);
  }
  operation_scratch_clear(t, 2);
  return status;
}

/* t[0] += weight x, t[1] += weight |x|; t[2..3] are temporaries. */
/*@ requires input(x) && \is_finite(weight) && vector_output(t, 4) && vector_apart(x, t, 4);
    terminates \true;
    exits \false;
    assigns t[0 .. 3];
    ensures vector_output(t, 4) && only_vector_written{Pre, Here}(t, 4);
    ensures \result == PHIBAL_OK ==> \forall real c, a; in{Pre}(t + 0, c) && in{Pre}(x, a) ==>
      in(t + 0, c + a * (real)weight);
    ensures \result == PHIBAL_OK ==> \forall real c, a; in{Pre}(t + 1, c) && in{Pre}(x, a) ==>
      in(t + 1, c + \abs(a) * (real)weight); */
static phibal_status loss_add_term(const phibal_enclosure *x, float weight, phibal_enclosure *t) {
  //@ assert use_enclosure;
  operation_set_float(&t[2], weight);
  TRY(operation_add_product(&t[0], x, &t[2], &t[3]));
  return operation_add_magnitude(&t[1], x, &t[2], &t[3]);
}

/* t[0] = sum_e weight_e x_e, t[1] = the same with |x_e|; t[2..3] are temporaries. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && vector_input(x, experts);
    requires \valid_read(weight + (0 .. experts - 1)) && finite_floats(weight, experts);
    requires vector_output(t, 4) && vectors_apart(t, 4, x, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 3];
    ensures vector_output(t, 4) && only_vector_written{Pre, Here}(t, 4);
    ensures \result == PHIBAL_OK ==> \forall sequence s, w;
      members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
        in(t + 0, dot(s, w, experts)) && in(t + 1, absolute_dot(s, w, experts)); */
static phibal_status loss_sums(int32_t experts, const float *weight, const phibal_enclosure *x,
                               phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&t[0], 0);
  phibal_enclosure_set_si(&t[1], 0);
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: vector_output(t, 4);
      loop invariant frame: only_vector_written{Pre, Here}(t, 4);
      loop invariant dot: \forall sequence s, w;
        members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==> in(t + 0, dot(s, w, e));
      loop invariant absolute: \forall sequence s, w;
        members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
          in(t + 1, absolute_dot(s, w, e));
      loop assigns e, t[0 .. 3];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    /*@ assert terms: \forall sequence s, w;
          members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
            in(x + e, term(s, e)) && term(w, e) == (real)weight[e]; */
    /*@ assert unfold: \forall sequence s, w;
          dot(s, w, e + 1) == dot(s, w, e) + term(s, e) * term(w, e) &&
          absolute_dot(s, w, e + 1) == absolute_dot(s, w, e) + \abs(term(s, e)) * term(w, e); */
    TRY(loss_add_term(&x[e], weight[e], t));
    /*@ assert added: \forall sequence s, w, real a;
          members{Pre}(x, experts, s) && floats_are(weight, experts, w) &&
          a == (real)weight[e] ==> in(t + 0, dot(s, w, e) + term(s, e) * a) &&
            in(t + 1, absolute_dot(s, w, e) + \abs(term(s, e)) * a); */
    /*@ assert summed: \forall sequence s, w;
          members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
            in(t + 0, dot(s, w, e) + term(s, e) * term(w, e)) &&
            in(t + 1, absolute_dot(s, w, e) + \abs(term(s, e)) * term(w, e)); */
  }
  return PHIBAL_OK;
}

/* loss = scale E t[0], condition = |scale E| t[1]; t[2..3] are temporaries. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(scale);
    requires vector_output(t, 4) && output(loss) && vector_apart(loss, t, 4);
    requires optional(condition) && optional_apart(condition, loss) &&
             (condition == \null || vector_apart(condition, t, 4));
    terminates \true;
    exits \false;
    assigns t[2 .. 3], *loss, *condition;
    ensures enclosure(t + 2) && enclosure(t + 3) && enclosure(loss) && optional(condition);
    ensures loss_written{Pre, Here}(loss, condition, t);
    ensures \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(t + 0, a) ==> in(loss, (real)scale * experts * a);
    ensures \result == PHIBAL_OK && condition != \null ==>
      \forall real a; in{Pre}(t + 1, a) ==> in(condition, \abs((real)scale * experts) * a); */
static phibal_status loss_scale(int32_t experts, double scale, phibal_enclosure *t,
                                phibal_enclosure *loss, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_enclosure_set_d(&t[2], scale);
  phibal_enclosure_set_si(&t[3], experts);
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[3]));
  //@ assert factor: in(t + 2, (real)scale * (real)experts);
  TRY(phibal_enclosure_mul(loss, &t[2], &t[0]));
  if (!condition) return PHIBAL_OK;
  phibal_enclosure_abs(&t[2], &t[2]);
  //@ assert size: in(t + 2, \abs((real)scale * (real)experts));
  return phibal_enclosure_mul(condition, &t[2], &t[1]);
}

/* loss = scale E sum_e weight_e x_e with weights >= 0, condition with |scale| and |x_e|. t[0..3]
   are temporaries. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(scale);
    requires \valid_read(weight + (0 .. experts - 1)) && finite_floats(weight, experts);
    requires vector_input(x, experts) && vector_output(t, 4) && vectors_apart(t, 4, x, experts);
    requires output(loss) && vector_apart(loss, t, 4);
    requires optional(condition) && optional_apart(condition, loss) &&
             (condition == \null || vector_apart(condition, t, 4));
    terminates \true;
    exits \false;
    assigns t[0 .. 3], *loss, *condition;
    ensures vector_output(t, 4) && enclosure(loss) && optional(condition);
    ensures loss_written{Pre, Here}(loss, condition, t);
    ensures \result == PHIBAL_OK ==> \forall sequence s, w;
      members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
        in(loss, balance_loss((real)scale, s, w, experts));
    ensures \result == PHIBAL_OK && condition != \null ==> \forall sequence s, w;
      members{Pre}(x, experts, s) && floats_are(weight, experts, w) ==>
        in(condition, balance_condition((real)scale, s, w, experts)); */
static phibal_status loss_dot(int32_t experts, double scale, const float *weight,
                              const phibal_enclosure *x, phibal_enclosure *t,
                              phibal_enclosure *loss, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  TRY(loss_sums(experts, weight, x, t));
  return loss_scale(experts, scale, t, loss, condition);
}

/*@ requires 0 <= experts && (weight != \null ==> \valid_read(weight + (0 .. experts - 1)));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==> weight != \null && !null && \is_finite(alpha) &&
      finite_floats(weight, experts) &&
      (\forall integer i; 0 <= i < experts ==> 0.0 <= (real)weight[i]); */
static phibal_status loss_check(const char *name, double alpha, int32_t experts,
                                const float *weight, bool null) {
  if (!weight || null) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (!isfinite(alpha))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: alpha = %g; it must be finite", name,
                             alpha);
  return loads_check(name, "the loads", experts, weight);
}

phibal_status phibal_reference_balance_loss(const phibal_potential *potential, int32_t experts,
                                            double alpha, const float *loads, const float *m,
                                            mpfr_prec_t precision, phibal_enclosure *loss,
                                            phibal_enclosure *condition) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_balance_loss";
  TRY(price_check(name, potential, experts, m, precision, loss));
  TRY(loss_check(name, alpha, experts, loads, !loss));
  phibal_enclosure *t, *x;
  TRY(operation_scratch(name, 4, precision, &t));
  //@ assert scratch: vector_output(t, 4) && vector_in_use(t, 4);
  phibal_status status = operation_scratch(name, (size_t)experts, precision, &x);
  //@ assert kept: vector_output(t, 4) && vector_in_use(t, 4);
  if (status == PHIBAL_OK) {
    //@ assert apart: vectors_apart(t, 4, x, experts);
    status = phibal_reference_price(potential, experts, m, precision, x, NULL);
    //@ assert scratch_kept: vector_output(t, 4);
    //@ assert places: output(loss) && optional(condition);
    /*@ assert places_apart: vector_apart(loss, t, 4) &&
          (condition == \null || vector_apart(condition, t, 4)); */
    if (status == PHIBAL_OK) status = loss_dot(experts, alpha, loads, x, t, loss, condition);
    //@ assert used: vector_output(t, 4) && vector_output(x, experts);
    operation_scratch_clear(x, (size_t)experts);
    //@ assert left: vector_output(t, 4);
  }
  operation_scratch_clear(t, 4);
  return status;
}

/*@ requires 0 <= n && \valid_read(x + (0 .. n - 1)) && finite_floats(x, n) && vector_output(z, n);
    terminates \true;
    exits \false;
    assigns z[0 .. n - 1];
    ensures vector_output(z, n) && only_vector_written{Pre, Here}(z, n);
    ensures \forall sequence s; floats_are(x, n, s) ==> members(z, n, s); */
static void vector_set(int32_t n, const float *x, phibal_enclosure *z) {
  //@ assert use_enclosure && use_floating;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant outputs: vector_output(z, n);
      loop invariant frame: only_vector_written{Pre, Here}(z, n);
      loop invariant set: \forall sequence s; floats_are(x, n, s) ==> members(z, i, s);
      loop assigns i, z[0 .. n - 1];
      loop variant n - i; */
  for (int32_t i = 0; i < n; i++) phibal_enclosure_set_d(&z[i], (double)x[i]);
}

phibal_status phibal_reference_switch_loss(int32_t experts, double alpha, const float *frequency,
                                           const float *loads, mpfr_prec_t precision,
                                           phibal_enclosure *loss, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_switch_loss";
  TRY(operation_check_experts(name, experts, precision));
  TRY(loss_check(name, alpha, experts, loads, !loss));
  TRY(loss_check(name, alpha, experts, frequency, !loss));
  phibal_enclosure *t, *x;
  TRY(operation_scratch(name, 4, precision, &t));
  //@ assert scratch: vector_output(t, 4) && vector_in_use(t, 4);
  phibal_status status = operation_scratch(name, (size_t)experts, precision, &x);
  //@ assert kept: vector_output(t, 4) && vector_in_use(t, 4);
  if (status == PHIBAL_OK) {
    //@ assert apart: vectors_apart(t, 4, x, experts);
    vector_set(experts, frequency, x);
    //@ assert scratch_kept: vector_output(t, 4);
    //@ assert places: output(loss) && optional(condition);
    /*@ assert places_apart: vector_apart(loss, t, 4) &&
          (condition == \null || vector_apart(condition, t, 4)); */
    status = loss_dot(experts, alpha, loads, x, t, loss, condition);
    //@ assert used: vector_output(t, 4) && vector_output(x, experts);
    operation_scratch_clear(x, (size_t)experts);
    //@ assert left: vector_output(t, 4);
  }
  operation_scratch_clear(t, 4);
  return status;
}

phibal_status phibal_reference_frequency_centred(int32_t experts, const float *frequency,
                                                 mpfr_prec_t precision, phibal_enclosure *centred) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_frequency_centred";
  if (!frequency || !centred)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(operation_check_experts(name, experts, precision));
  TRY(operation_check_finite(name, "the frequencies", experts, frequency));
  phibal_enclosure *t, *x;
  TRY(operation_scratch(name, 2, precision, &t));
  //@ assert scratch: vector_output(t, 2) && vector_in_use(t, 2);
  phibal_status status = operation_scratch(name, (size_t)experts, precision, &x);
  //@ assert kept: vector_output(t, 2) && vector_in_use(t, 2);
  if (status == PHIBAL_OK) {
    //@ assert apart: vectors_apart(t, 2, x, experts);
    vector_set(experts, frequency, x);
    //@ assert scratch_kept: vector_output(t, 2);
    //@ assert places: vector_output(centred, experts) && vectors_apart(centred, experts, t, 2);
    //@ assert places_apart: vectors_apart(centred, experts, x, experts);
    status = vector_centre(experts, x, t, centred);
    //@ assert used: vector_output(t, 2) && vector_output(x, experts);
    operation_scratch_clear(x, (size_t)experts);
    //@ assert left: vector_output(t, 2);
  }
  operation_scratch_clear(t, 2);
  return status;
}

/* total += sum_e count_e mean_e, which is k n_b sum_e f_e P_e of one sequence; t is a temporary. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(count + (0 .. experts - 1));
    requires vector_input(mean, experts) && vector_output(t, 2) && output(total);
    requires vectors_apart(t, 2, mean, experts) && vector_apart(total, mean, experts) &&
             vector_apart(total, t, 2);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *total;
    ensures enclosure(t + 0) && enclosure(t + 1) && enclosure(total);
    ensures only_three_written{Pre, Here}(total, t + 0, t + 1);
    ensures \result == PHIBAL_OK ==> \forall sequence s, w, real a;
      members{Pre}(mean, experts, s) && counts_are(count, experts, w) && in{Pre}(total, a) ==>
        in(total, a + dot(s, w, experts)); */
static phibal_status sequence_add(int32_t experts, const int64_t *count,
                                  const phibal_enclosure *mean, phibal_enclosure *t,
                                  phibal_enclosure *total) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: enclosure(t + 0) && enclosure(t + 1) && enclosure(total);
      loop invariant frame: only_three_written{Pre, Here}(total, t + 0, t + 1);
      loop invariant sum: \forall sequence s, w, real a;
        members{Pre}(mean, experts, s) && counts_are(count, experts, w) && in{Pre}(total, a) ==>
          in(total, a + dot(s, w, e));
      loop assigns e, t[0 .. 1], *total;
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_set_si(&t[0], (long)count[e]);
    /*@ assert terms: \forall sequence s, w;
          members{Pre}(mean, experts, s) && counts_are(count, experts, w) ==>
            in(mean + e, term(s, e)) && in(t + 0, term(w, e)); */
    /*@ assert next: \forall sequence s, w, real a;
          a + dot(s, w, e + 1) == a + dot(s, w, e) + term(s, e) * term(w, e); */
    TRY(operation_add_product(total, &mean[e], &t[0], &t[1]));
    /*@ assert summed: \forall sequence s, w, real a;
          members{Pre}(mean, experts, s) && counts_are(count, experts, w) && in{Pre}(total, a) ==>
            in(total, a + dot(s, w, e) + term(s, e) * term(w, e)); */
  }
  return PHIBAL_OK;
}

/*@ requires tokens >= 0 && (mask != \null ==> \valid_read(mask + (0 .. tokens - 1)));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == tokens_counted(mask, tokens) && 0 <= \result <= tokens; */
static int64_t mask_count(int64_t tokens, const uint8_t *mask) {
  int64_t n = 0;
  /*@ loop invariant index: 0 <= i <= tokens;
      loop invariant counted: n == tokens_counted(mask, i) && 0 <= n <= i;
      loop assigns i, n;
      loop variant tokens - i; */
  for (int64_t i = 0; i < tokens; i++) n += !mask || mask[i];
  return n;
}

/* t[0] += k n sum_e f_e P_e of one sequence, *counted = n, its unmasked tokens; mean [E], count [E]
   and t[1..2] are temporaries. */
/*@ requires \valid_read(router) && 1 <= router->experts <= PHIBAL_MAX_EXPERTS;
    requires \separated(router, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires token_rows(logits, mask, length, router->experts);
    requires bias != \null ==> \valid_read(bias + (0 .. router->experts - 1));
    requires precision <= MPFR_PREC_MAX;
    requires \valid(count + (0 .. router->experts - 1)) &&
             \separated(count + (0 .. router->experts - 1),
                        count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    requires vector_output(t, 3) && vector_in_use(t, 3);
    requires vector_output(mean, router->experts) && vector_in_use(mean, router->experts);
    requires vectors_apart(t, 3, mean, router->experts) &&
             vectors_apart(mean, router->experts, t, 3);
    requires \valid(counted) && \separated(counted, count + (0 .. router->experts - 1)) &&
             \separated(counted, count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    terminates \true;
    exits \false;
    assigns t[0 .. 2], mean[0 .. router->experts - 1], count[0 .. router->experts - 1], *counted,
            LOADS_ALLOCATED;
    ensures vector_output(t, 3) && still_in_use{Pre, Here};
    ensures vector_output(mean, router->experts);
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      vector_apart(r, t, 3) && vector_apart(r, mean, router->experts) ==> same{Pre, Here}(r);
    ensures *counted == tokens_counted(mask, length) && 0 <= *counted <= length;
    ensures \result == PHIBAL_OK && 0 < *counted ==> 1 <= router->active <= router->experts; */
static phibal_status sequence_one(const phibal_router *router, int64_t length, const float *logits,
                                  const float *bias, const uint8_t *mask, mpfr_prec_t precision,
                                  int64_t *count, phibal_enclosure *t, phibal_enclosure *mean,
                                  int64_t *counted) {
  //@ assert use_enclosure;
  *counted = mask_count(length, mask);
  if (*counted == 0) return PHIBAL_OK;
  phibal_status status =
      phibal_reference_loads(router, length, logits, bias, mask, precision, mean, count, NULL);
  //@ assert scratch: vector_output(t, 3);
  //@ assert mean: vector_output(mean, router->experts);
  if (status != PHIBAL_OK) return status;
  status = sequence_add(router->experts, count, mean, &t[1], &t[0]);
  //@ assert scratch_left: output(t + 0) && output(t + 1) && output(t + 2);
  //@ assert mean_left: vector_output(mean, router->experts);
  return status;
}

/* Sums (L4) over sequences into t[0], without alpha E / (k n); mean [E], count [E] and t[1..2] are
   temporaries. *counted becomes n. */
/*@ requires \valid_read(router) && 1 <= router->experts <= PHIBAL_MAX_EXPERTS;
    requires \separated(router, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires 0 <= sequences && 0 <= length;
    requires 0 < sequences && 0 < length ==>
      token_rows(logits, mask, sequences * length, router->experts);
    requires bias != \null ==> \valid_read(bias + (0 .. router->experts - 1));
    requires precision <= MPFR_PREC_MAX;
    requires \valid(count + (0 .. router->experts - 1)) &&
             \separated(count + (0 .. router->experts - 1),
                        count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    requires vector_output(t, 3) && vector_in_use(t, 3);
    requires vector_output(mean, router->experts) && vector_in_use(mean, router->experts);
    requires vectors_apart(t, 3, mean, router->experts) &&
             vectors_apart(mean, router->experts, t, 3);
    requires \valid(counted) && \separated(counted, count + (0 .. router->experts - 1)) &&
             \separated(counted, count_heap + (0 .. COUNT_HEAP_SIZE - 1));
    terminates \true;
    exits \false;
    assigns t[0 .. 2], mean[0 .. router->experts - 1], count[0 .. router->experts - 1], *counted,
            LOADS_ALLOCATED;
    ensures vector_output(t, 3) && still_in_use{Pre, Here};
    ensures vector_output(mean, router->experts);
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      vector_apart(r, t, 3) && vector_apart(r, mean, router->experts) ==> same{Pre, Here}(r);
    ensures 0 <= *counted && *counted * router->experts <= INT64_MAX;
    ensures \result == PHIBAL_OK && 0 < *counted ==> 1 <= router->active <= router->experts; */
static phibal_status sequence_sum(const phibal_router *router, int64_t sequences, int64_t length,
                                  const float *logits, const float *bias, const uint8_t *mask,
                                  mpfr_prec_t precision, int64_t *count, phibal_enclosure *t,
                                  phibal_enclosure *mean, int64_t *counted) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&t[0], 0);
  *counted = 0;
  if (length == 0) return PHIBAL_OK;
  /*@ loop invariant index: 0 <= b <= sequences && 0 <= *counted <= b * length;
      loop invariant scratch: vector_output(t, 3) && vector_in_use(t, 3);
      loop invariant mean: vector_output(mean, router->experts) &&
        vector_in_use(mean, router->experts);
      loop invariant used: still_in_use{Pre, Here};
      loop invariant kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
        vector_apart(r, t, 3) && vector_apart(r, mean, router->experts) ==> same{Pre, Here}(r);
      loop invariant active: 0 < *counted ==> 1 <= router->active <= router->experts;
      loop assigns b, t[0 .. 2], mean[0 .. router->experts - 1], count[0 .. router->experts - 1],
        *counted, LOADS_ALLOCATED;
      loop variant sequences - b; */
  for (int64_t b = 0; b < sequences; b++) {
    /*@ assert size: 0 <= sequences * length <= sequences * length * router->experts; */
    //@ assert before: 0 <= b * length && b * length + length <= sequences * length;
    int64_t n, first = b * length;
    /*@ assert row: 0 <= first * router->experts && first * router->experts +
          length * router->experts <= sequences * length * router->experts; */
    phibal_status status = sequence_one(router, length, logits + first * router->experts, bias,
                                        mask ? mask + first : NULL, precision, count, t, mean, &n);
    /*@ assert left: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
          vector_apart(r, t, 3) && vector_apart(r, mean, router->experts) ==>
            in_use(r) && same{Pre, Here}(r); */
    if (status != PHIBAL_OK) return status;
    *counted += n;
  }
  return PHIBAL_OK;
}

/* loss = alpha E t[0] / (k n). */
/*@ requires \valid_read(router) && 0 < counted && 1 <= router->active <= router->experts;
    requires counted * router->experts <= INT64_MAX && \is_finite(alpha);
    requires vector_output(t, 2) && output(loss) && vector_apart(loss, t, 2);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *loss;
    ensures enclosure(t + 0) && enclosure(t + 1) && enclosure(loss);
    ensures only_three_written{Pre, Here}(loss, t + 0, t + 1);
    ensures \result == PHIBAL_OK ==> \forall real a; in{Pre}(t + 0, a) ==>
      in(loss, (a * (real)alpha * router->experts) / (counted * router->active)); */
static phibal_status sequence_scale(const phibal_router *router, double alpha, int64_t counted,
                                    phibal_enclosure *t, phibal_enclosure *loss) {
  //@ assert use_enclosure;
  phibal_enclosure_set_d(&t[1], alpha);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  //@ assert scaled: \forall real a; in{Pre}(t + 0, a) ==> in(t + 0, a * (real)alpha);
  phibal_enclosure_set_si(&t[1], router->experts);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  /*@ assert product: \forall real a; in{Pre}(t + 0, a) ==>
        in(t + 0, a * (real)alpha * (real)router->experts); */
  //@ assert positive: 0 < counted * router->active <= counted * router->experts;
  phibal_enclosure_set_si(&t[1], (long)counted * router->active);
  return phibal_enclosure_div(loss, &t[0], &t[1]);
}

phibal_status phibal_reference_sequence_loss(const phibal_router *router, int64_t sequences,
                                             int64_t length, const float *logits, const float *bias,
                                             const uint8_t *mask, double alpha,
                                             mpfr_prec_t precision, phibal_enclosure *loss) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_sequence_loss";
  if (!router || !loss || sequences < 0 || length < 0 || (!logits && sequences > 0 && length > 0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument or negative shape", name);
  TRY(operation_check_experts(name, router->experts, precision));
  if (!isfinite(alpha))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: alpha = %g; it must be finite", name,
                             alpha);
  int64_t count[PHIBAL_MAX_EXPERTS], counted;
  phibal_enclosure *t, *mean;
  TRY(operation_scratch(name, 3, precision, &t));
  //@ assert scratch: vector_output(t, 3) && vector_in_use(t, 3);
  phibal_status status = operation_scratch(name, (size_t)router->experts, precision, &mean);
  //@ assert kept: vector_output(t, 3) && vector_in_use(t, 3);
  if (status == PHIBAL_OK) {
    //@ assert apart: vectors_apart(t, 3, mean, router->experts);
    //@ assert apart_back: vectors_apart(mean, router->experts, t, 3);
    status = sequence_sum(router, sequences, length, logits, bias, mask, precision, count, t, mean,
                          &counted);
    //@ assert place: output(loss);
    if (status == PHIBAL_OK && counted > 0)
      status = sequence_scale(router, alpha, counted, t, loss);
    else if (status == PHIBAL_OK)
      phibal_enclosure_set_si(loss, 0);
    //@ assert used: vector_output(t, 3) && vector_output(mean, router->experts);
    operation_scratch_clear(mean, (size_t)router->experts);
    //@ assert left: vector_output(t, 3);
  }
  operation_scratch_clear(t, 3);
  return status;
}

/* t[0] = sum of logsumexp_t^2 over the unmasked tokens; t[1] is a temporary. */
/*@ requires 0 <= tokens && (0 < tokens ==> \valid_read(logsumexp + (0 .. tokens - 1)));
    requires mask != \null ==> \valid_read(mask + (0 .. tokens - 1));
    requires vector_output(t, 2);
    terminates \true;
    exits \false;
    assigns t[0 .. 1];
    ensures enclosure(t + 0) && enclosure(t + 1) && only_two_written{Pre, Here}(t + 0, t + 1);
    ensures \result == PHIBAL_OK ==> in(t + 0, squares(logsumexp, mask, tokens)); */
static phibal_status z_sum(int64_t tokens, const float *logsumexp, const uint8_t *mask,
                           phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(&t[0], 0);
  /*@ loop invariant index: 0 <= i <= tokens;
      loop invariant outputs: enclosure(t + 0) && enclosure(t + 1);
      loop invariant frame: only_two_written{Pre, Here}(t + 0, t + 1);
      loop invariant sum: in(t + 0, squares(logsumexp, mask, i));
      loop assigns i, t[0 .. 1];
      loop variant tokens - i; */
  for (int64_t i = 0; i < tokens; i++) {
    /*@ assert next: squares(logsumexp, mask, i + 1) == squares(logsumexp, mask, i) +
          (unmasked(mask, i) == 1 ? (real)logsumexp[i] * (real)logsumexp[i] : 0.0); */
    if (mask && !mask[i]) continue;
    if (!isfinite(logsumexp[i]))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "phibal_reference_z_loss: logsumexp of token %lld is %g; it must be "
                               "finite",
                               (long long)i, (double)logsumexp[i]);
    phibal_enclosure_set_d(&t[1], operation_exact_product(logsumexp[i], logsumexp[i]));
    TRY(phibal_enclosure_add(&t[0], &t[0], &t[1]));
  }
  return PHIBAL_OK;
}

/*@ requires vector_output(t, 2) && output(loss) && vector_apart(loss, t, 2);
    requires \is_finite(coefficient) && 0 < n;
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *loss;
    ensures enclosure(t + 0) && enclosure(t + 1) && enclosure(loss);
    ensures only_three_written{Pre, Here}(loss, t + 0, t + 1);
    ensures \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(t + 0, a) ==> in(loss, (a * (real)coefficient) / n); */
static phibal_status z_scale(double coefficient, int64_t n, phibal_enclosure *t,
                             phibal_enclosure *loss) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(&t[1], coefficient);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  phibal_enclosure_set_si(&t[1], (long)n);
  return phibal_enclosure_div(loss, &t[0], &t[1]);
}

phibal_status phibal_reference_z_loss(int64_t tokens, double coefficient, const float *logsumexp,
                                      const uint8_t *mask, mpfr_prec_t precision,
                                      phibal_enclosure *loss) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_z_loss";
  if (!loss || tokens < 0 || (!logsumexp && tokens > 0) || !isfinite(coefficient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: null argument, %lld tokens or coefficient %g", name,
                             (long long)tokens, coefficient);
  TRY(operation_check_precision(name, precision));
  int64_t n = mask_count(tokens, mask);
  phibal_enclosure *t;
  TRY(operation_scratch(name, 2, precision, &t));
  phibal_status status = z_sum(tokens, logsumexp, mask, t);
  if (status == PHIBAL_OK && n > 0) status = z_scale(coefficient, n, t, loss);
  if (status == PHIBAL_OK && n == 0) phibal_enclosure_set_si(loss, 0);
  operation_scratch_clear(t, 2);
  return status;
}

/* The mean of the counts is whole + rest / experts with 0 <= rest < experts; no sum of them that
   could overflow is formed. */
typedef struct mean_count {
  int64_t whole, rest;
} mean_count;

/* mean + count / experts. */
/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && 0 <= mean.rest < experts;
    requires experts * INT64_MIN <= mean.whole * experts + mean.rest + count <=
      experts * INT64_MAX;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures 0 <= \result.rest < experts;
    ensures \result.whole * experts + \result.rest == mean.whole * experts + mean.rest + count; */
static mean_count mean_count_add(mean_count mean, int32_t experts, int64_t count) {
  int64_t whole = count / experts, rest = count % experts;
  //@ assert divided: whole * experts + rest == count && -experts < rest < experts;
  if (rest < 0) {
    rest += experts;
    whole--;
  }
  rest += mean.rest;
  if (rest >= experts) {
    rest -= experts;
    whole++;
  }
  //@ assert rest: 0 <= rest < experts;
  /*@ assert sum: (mean.whole + whole) * experts + rest ==
        mean.whole * experts + mean.rest + count; */
  //@ assert above: 0 < (mean.whole + whole - INT64_MIN + 1) * experts;
  //@ assert low: INT64_MIN <= mean.whole + whole;
  //@ assert high: mean.whole + whole <= INT64_MAX;
  return (mean_count){mean.whole + whole, rest};
}

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(count + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures 0 <= \result.rest < experts;
    ensures \result.whole * experts + \result.rest == count_sum(count, experts); */
static mean_count mean_count_compute(int32_t experts, const int64_t *count) {
  mean_count mean = {0, 0};
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant rest: 0 <= mean.rest < experts;
      loop invariant sum: mean.whole * experts + mean.rest == count_sum(count, e);
      loop invariant bounds: e * INT64_MIN <= count_sum(count, e) <= e * INT64_MAX;
      loop assigns e, mean;
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    //@ assert next: count_sum(count, e + 1) == count_sum(count, e) + count[e];
    mean = mean_count_add(mean, experts, count[e]);
  }
  return mean;
}

/* sign(mean(count) - count_e), in integers. */
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \forall integer experts; 0 <= mean.rest < experts ==>
      \result == sign_of(mean.whole * experts + mean.rest - experts * count); */
static int loss_free_sign(mean_count mean, int64_t count) {
  if (mean.whole != count) return mean.whole > count ? 1 : -1;
  return mean.rest > 0;
}

/* The binary32 nearest to x + y, from the exact sum. t[0..1] hold EXACT_BINARY32_SUM bits. */
/*@ requires \is_finite(x) && \is_finite(y) && vector_output(t, 2) && \valid(sum);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *sum;
    ensures enclosure(t + 0) && enclosure(t + 1) && only_two_written{Pre, Here}(t + 0, t + 1); */
static phibal_status binary32_sum(float x, float y, phibal_enclosure *t, float *sum) {
  //@ assert use_enclosure;
  double rounded;
  operation_set_float(&t[0], x);
  operation_set_float(&t[1], y);
  TRY(phibal_enclosure_add(&t[0], &t[0], &t[1]));
  if (!phibal_round_enclosure(&t[0], PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, &rounded))
    return phibal_status_set(PHIBAL_ERROR_UNDECIDED, "the sum of %a and %a is not exact", (double)x,
                             (double)y);
  *sum = (float)rounded;
  return PHIBAL_OK;
}

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \is_finite(rate);
    requires \valid_read(count + (0 .. experts - 1));
    requires \valid_read(bias + (0 .. experts - 1)) && finite_floats(bias, experts);
    requires \valid(next + (0 .. experts - 1)) && vector_output(t, 2);
    requires \separated(next + (0 .. experts - 1), bias + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns t[0 .. 1], next[0 .. experts - 1];
    ensures enclosure(t + 0) && enclosure(t + 1) && only_two_written{Pre, Here}(t + 0, t + 1);
    ensures \result == PHIBAL_OK ==> \forall integer e; 0 <= e < experts &&
      count_sum(count, experts) == experts * count[e] ==> (real)next[e] == (real)bias[e]; */
static phibal_status loss_free_vector(int32_t experts, float rate, const int64_t *count,
                                      const float *bias, phibal_enclosure *t, float *next) {
  //@ assert use_enclosure;
  mean_count mean = mean_count_compute(experts, count);
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: enclosure(t + 0) && enclosure(t + 1);
      loop invariant frame: only_two_written{Pre, Here}(t + 0, t + 1);
      loop invariant kept: \forall integer i; 0 <= i < e &&
        count_sum(count, experts) == experts * count[i] ==> (real)next[i] == (real)bias[i];
      loop assigns e, t[0 .. 1], next[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    int sign = loss_free_sign(mean, count[e]);
    //@ assert sign: sign == sign_of(mean.whole * experts + mean.rest - experts * count[e]);
    //@ assert balanced: count_sum(count, experts) == experts * count[e] ==> sign == 0;
    next[e] = bias[e];
    if (sign != 0) TRY(binary32_sum(bias[e], sign > 0 ? rate : -rate, t, &next[e]));
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_loss_free_update(int32_t experts, float rate, const int64_t *count,
                                                const float *bias, float *next) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_loss_free_update";
  if (!count || !bias || !next || !isfinite(rate))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument or rate %g", name,
                             (double)rate);
  TRY(operation_check_experts(name, experts, OPERATION_PRECISION));
  TRY(operation_check_finite(name, "the bias", experts, bias));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 2, EXACT_BINARY32_SUM, &t));
  phibal_status status = loss_free_vector(experts, rate, count, bias, t, next);
  operation_scratch_clear(t, 2);
  return status;
}
