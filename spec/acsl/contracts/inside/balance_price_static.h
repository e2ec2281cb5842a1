/* What the static functions of reference/balance_price.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_BALANCE_PRICE_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_BALANCE_PRICE_STATIC_H

/*@ requires \valid_read(potential);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(potential->parameter) || potential->id != PHIBAL_POTENTIAL_TSALLIS ==>
      \result == price_raised(potential->id, (real)potential->parameter); */
static bool price_is_floored(const phibal_potential *potential);

/*@ requires \is_finite(m) && \valid(raised) && 0 <= *raised < INT32_MAX;
    terminates \true;
    exits \false;
    assigns *raised;
    ensures \is_finite(\result) && (real)\result == price_point(floored, (real)m);
    ensures *raised == \old(*raised) + (floored != 0 && (real)m < 0x1p-126 ? 1 : 0); */
static float price_argument(bool floored, float m, int32_t *raised);

/*@ requires \is_finite(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures (real)\result == sign_real((real)x); */
static int float_sign(float x);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(m + (0 .. experts - 1));
    requires finite_floats(m, experts) && vector_output(price, experts);
    terminates \true;
    exits \false;
    assigns price[0 .. experts - 1];
    ensures vector_output(price, experts) && only_vector_written{Pre, Here}(price, experts);
    ensures \forall integer e; 0 <= e < experts ==> in(price + e, sign_real((real)m[e])); */
static void price_sign(int32_t experts, const float *m, phibal_enclosure *price);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(m + (0 .. experts - 1));
    requires finite_floats(m, experts) && \valid(n);
    terminates \true;
    exits \false;
    assigns *n;
    ensures \is_finite(\result) && 1 <= *n <= experts;
    ensures \forall sequence s; floats_are(m, experts, s) ==>
      (real)\result == largest(s, experts) && *n == multiplicity(s, (real)\result, experts); */
static float loads_largest(int32_t experts, const float *m, unsigned long *n);

/*@ requires \is_finite(m) && \is_finite(largest);
    requires output(price) && input(n) && \separated(n, price);
    terminates \true;
    exits \false;
    assigns *price;
    ensures enclosure(price) && only_written{Pre, Here}(price);
    ensures \result == PHIBAL_OK ==> \forall real a; in{Pre}(n, a) && a > 0.0 ==>
      in(price, (real)m == (real)largest ? 1.0 / a : 0.0); */
static phibal_status price_share(float m, float largest, const phibal_enclosure *n,
                                 phibal_enclosure *price);

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
                                  const phibal_enclosure *n, phibal_enclosure *price);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(m + (0 .. experts - 1));
    requires finite_floats(m, experts) && vector_output(price, experts);
    terminates \true;
    exits \false;
    assigns price[0 .. experts - 1];
    ensures vector_output(price, experts) && only_vector_written{Pre, Here}(price, experts);
    ensures \result == PHIBAL_OK ==> \forall sequence s, integer e;
      floats_are(m, experts, s) && 0 <= e < experts ==>
        in(price + e, maximum_share(s, experts, e)); */
static phibal_status price_largest(int32_t experts, const float *m, phibal_enclosure *price);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && \valid_read(m + (0 .. experts - 1));
    requires finite_floats(m, experts) && vector_output(x, experts);
    requires \valid(raised) && *raised == 0;
    terminates \true;
    exits \false;
    assigns x[0 .. experts - 1], *raised;
    ensures vector_output(x, experts) && only_vector_written{Pre, Here}(x, experts);
    ensures 0 <= *raised <= experts;
    ensures counted: *raised == raised_loads(floored, m, experts);
    ensures \forall integer e; 0 <= e < experts ==>
      in(x + e, price_point(floored, (real)m[e])); */
static void price_arguments(bool floored, int32_t experts, const float *m, phibal_enclosure *x,
                            int32_t *raised);

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
        in(price + e, price_of(potential->id, (real)potential->parameter, r));
    ensures renyi: \result == PHIBAL_OK && \is_finite(potential->parameter) &&
      potential->id == PHIBAL_POTENTIAL_RENYI ==> \forall sequence s, integer e;
      members{Pre}(x, experts, s) && 0 <= e < experts ==>
        in(price + e, renyi_gradient((real)potential->parameter, s, experts, e)); */
static phibal_status price_gradient(const phibal_potential *potential, int32_t experts,
                                    const phibal_enclosure *x, mpfr_prec_t precision,
                                    phibal_enclosure *price);

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
        gradient_price(potential->id, (real)potential->parameter, (real)m[e]));
    ensures renyi: \result == PHIBAL_OK && \is_finite(potential->parameter) &&
      potential->id == PHIBAL_POTENTIAL_RENYI ==> \forall sequence s, integer e;
      points_are(1, m, experts, s) && 0 <= e < experts ==>
        in(price + e, renyi_gradient((real)potential->parameter, s, experts, e));
    ensures counted: \result == PHIBAL_OK ==> raised_is(potential, m, experts, *raised); */
static phibal_status price_compute(const char *name, const phibal_potential *potential,
                                   int32_t experts, const float *m, mpfr_prec_t precision,
                                   phibal_enclosure *price, int32_t *raised);

/* No load is raised where none is to be. By induction. */
/*@ ghost
  /@ requires 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures raised_loads(0, m, n) == 0; @/
  void nothing_raised(const float *m, int32_t n) {
    int32_t i = 0;
    /@ loop invariant 0 <= i <= n && raised_loads(0, m, i) == 0;
       loop assigns i;
       loop variant n - i; @/
    while (i < n) i++;
  }
*/

/*@ requires 1 <= experts && vector_input(x, experts) && output(t) && output(largest);
    requires \separated(t, largest) && vector_apart(t, x, experts) &&
             vector_apart(largest, x, experts);
    terminates \true;
    exits \false;
    assigns *t, *largest;
    ensures enclosure(t) && enclosure(largest) && only_two_written{Pre, Here}(t, largest);
    ensures \forall sequence s; members{Pre}(x, experts, s) ==> sizes_in(largest, s, experts); */
static void vector_largest(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t,
                           phibal_enclosure *largest);

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
                                   phibal_enclosure *centred, phibal_enclosure *largest);

#endif
