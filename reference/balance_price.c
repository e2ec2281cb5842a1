/* Prices: (M2), centred (M3), and the frequencies' (L3). */
#include "balance_work.h"
#include <phibal/acsl/contracts/inside/balance_price.h>
#include <phibal/acsl/contracts/inside/balance_price_static.h>

/* The cases of rows that are not floored. */
#define UNFLOORED_0(ID) case PHIBAL_POTENTIAL_##ID:
#define UNFLOORED_1(ID)

/* (P.k): do kernels raise small m_e for this potential? Where the price has no bound at 0. */
static bool price_is_floored(const phibal_potential *potential) {
  //@ assert use_floating;
  switch (potential->id) {
  case PHIBAL_POTENTIAL_NEGENTROPY:
  case PHIBAL_POTENTIAL_RENYI:
    return true;
  case PHIBAL_POTENTIAL_TSALLIS:
    return potential->parameter < 1.0;
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  UNFLOORED_##floored(ID)
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case PHIBAL_POTENTIAL_COUNT:
    break;
  }
  return false;
}

/* The m_e that the price is taken at; *raised counts those below the floor. */
static float price_argument(bool floored, float m, int32_t *raised) {
  //@ assert use_floating;
  if (!floored || m >= PHIBAL_SMALLEST_LOAD) return m;
  ++*raised;
  return PHIBAL_SMALLEST_LOAD;
}

static int float_sign(float x) {
  //@ assert use_floating;
  if (x > 0.0f) return 1;
  if (x < 0.0f) return -1;
  return 0;
}

/* lp with p = 1: sgn(m_e), the subgradient that is 0 at 0. */
static void price_sign(int32_t experts, const float *m, phibal_enclosure *price) {
  //@ assert use_enclosure && use_floating;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: vector_output(price, experts);
      loop invariant frame: only_vector_written{Pre, Here}(price, experts);
      loop invariant signs: \forall integer i; 0 <= i < e ==>
        in(price + i, sign_real((real)m[i]));
      loop assigns e, price[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_set_si(&price[e], float_sign(m[e]));
    //@ assert sign: in(price + e, sign_real((real)m[e]));
    //@ assert left: \forall integer i; 0 <= i < e ==> same{LoopCurrent, Here}(price + i);
  }
}

/* The largest of m; *n are as large. */
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
static phibal_status price_largest(int32_t experts, const float *m, phibal_enclosure *price) {
  //@ assert use_enclosure;
  unsigned long n;
  float largest = loads_largest(experts, m, &n);
  phibal_enclosure number;
  phibal_enclosure_init(&number, 64);
  phibal_enclosure_set_si(&number, (long)n);
  //@ assert number: in(&number, (real)n) && (real)n > 0.0;
  /*@ assert number_apart: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{Pre, Here}(r) && \valid_read(r) && \separated(r, &number); */
  //@ assert prices: vector_output(price, experts);
  phibal_status status = price_shares(experts, m, largest, &number, price);
  /*@ assert same_share: \forall sequence s, integer i; floats_are(m, experts, s) &&
        0 <= i < experts ==>
          maximum_share(s, experts, i) == ((real)m[i] == (real)largest ? 1.0 / (real)n : 0.0); */
  /*@ assert shares: status == PHIBAL_OK ==> \forall sequence s, integer i;
        floats_are(m, experts, s) && 0 <= i < experts ==>
          in(price + i, maximum_share(s, experts, i)); */
  /*@ assert priced: vector_output(price, experts) &&
        only_vector_written{Pre, Here}(price, experts); */
  //@ ghost computed:;
  phibal_enclosure_clear(&number);
  /*@ assert left: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{computed, Here}(r) && \valid_read(r); */
  //@ assert outputs: vector_output(price, experts);
  //@ assert frame: only_vector_written{Pre, Here}(price, experts);
  return status;
}

/* x_e = m_e, raised where the kernels raise it; *raised counts. */
static void price_arguments(bool floored, int32_t experts, const float *m, phibal_enclosure *x,
                            int32_t *raised) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= e <= experts && 0 <= *raised <= e;
      loop invariant counted: *raised == raised_loads(floored, m, e);
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
    //@ assert left: \forall integer i; 0 <= i < e ==> same{LoopCurrent, Here}(x + i);
  }
}

/* grad phi at x. */
static phibal_status price_gradient(const phibal_potential *potential, int32_t experts,
                                    const phibal_enclosure *x, mpfr_prec_t precision,
                                    phibal_enclosure *price) {
  //@ assert use_enclosure;
  phibal_reference_potential phi;
  phi.id = potential->id;
  phibal_enclosure_init(&phi.parameter, precision > 64 ? precision : 64);
  if (isfinite(potential->parameter)) phibal_enclosure_set_d(&phi.parameter, potential->parameter);
  /*@ assert parameter: \is_finite(potential->parameter) ==>
        in(&phi.parameter, (real)potential->parameter); */
  /*@ assert parameter_apart: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{Pre, Here}(r) && \valid_read(r) && \separated(r, &phi); */
  //@ assert places: vector_input(x, experts) && vector_output(price, experts);
  phibal_status status = phibal_reference_gradient(&phi, (size_t)experts, x, price);
  /*@ assert priced: vector_output(price, experts) &&
        only_vector_written{Pre, Here}(price, experts); */
  /*@ assert prices: status == PHIBAL_OK && \is_finite(potential->parameter) ==>
        \forall integer e, real r; 0 <= e < experts && in{Pre}(x + e, r) &&
        separable(potential->id, (real)potential->parameter) ==>
          price_exists(potential->id, (real)potential->parameter, r) &&
          in(price + e, price_of(potential->id, (real)potential->parameter, r)); */
  /*@ assert renyi: status == PHIBAL_OK && \is_finite(potential->parameter) &&
        potential->id == PHIBAL_POTENTIAL_RENYI ==> \forall sequence s, integer e;
        members{Pre}(x, experts, s) && 0 <= e < experts ==>
          in(price + e, renyi_gradient((real)potential->parameter, s, experts, e)); */
  //@ ghost computed:;
  phibal_enclosure_clear(&phi.parameter);
  /*@ assert left: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{computed, Here}(r) && \valid_read(r); */
  return status;
}

/* The price where it is a gradient, with temporaries of its own. */
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
  //@ assert counted: raised_is(potential, m, experts, *raised);
  //@ assert places_left: vector_output(price, experts);
  /*@ assert kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        same{Pre, Here}(r) && vector_apart(r, x, experts); */
  /*@ assert points: \is_finite(potential->parameter) ==> \forall integer e; 0 <= e < experts ==>
        in(x + e, price_point(price_raised(potential->id, (real)potential->parameter),
                              (real)m[e])); */
  /*@ assert renyi_points: potential->id == PHIBAL_POTENTIAL_RENYI ==> \forall sequence s;
        points_are(1, m, experts, s) ==> members(x, experts, s); */
  /*@ assert scratch_apart: \forall integer i; 0 <= i < experts ==>
        vector_apart(x + i, price, experts); */
  status = price_gradient(potential, experts, x, precision, price);
  //@ assert scratch: vector_output(x, experts);
  /*@ assert computed: status == PHIBAL_OK && \is_finite(potential->parameter) &&
        separable(potential->id, (real)potential->parameter) ==> \forall integer e;
        0 <= e < experts ==> in(price + e,
          gradient_price(potential->id, (real)potential->parameter, (real)m[e])); */
  /*@ assert renyi: status == PHIBAL_OK && \is_finite(potential->parameter) &&
        potential->id == PHIBAL_POTENTIAL_RENYI ==> \forall sequence s, integer e;
        points_are(1, m, experts, s) && 0 <= e < experts ==>
          in(price + e, renyi_gradient((real)potential->parameter, s, experts, e)); */
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
        vector_apart(r, price, experts) ==> same{Pre, Here}(r) && vector_apart(r, x, experts); */
  //@ assert priced: vector_output(price, experts);
  //@ ghost before:;
  operation_scratch_clear(x, (size_t)experts);
  //@ assert prices_left: vector_same{before, Here}(price, experts);
  //@ assert places_kept: vector_output(price, experts);
  return status;
}

phibal_status phibal_reference_price(const phibal_potential *potential, int32_t experts,
                                     const float *m, mpfr_prec_t precision, phibal_enclosure *price,
                                     int32_t *floored) {
  //@ assert use_enclosure && use_floating;
  const char *name = "phibal_reference_price";
  TRY(balance_price_check(name, potential, experts, m, precision, price));
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
  /*@ assert separate: status == PHIBAL_OK && \is_finite(potential->parameter) &&
        separable(potential->id, (real)potential->parameter) ==> \forall sequence s;
        prices_are(potential->id, (real)potential->parameter, m, experts, s) ==>
          members(price, experts, s); */
  /*@ assert renyi: status == PHIBAL_OK && \is_finite(potential->parameter) &&
        potential->id == PHIBAL_POTENTIAL_RENYI ==> \forall sequence x, s;
        points_are(1, m, experts, x) &&
        renyi_prices_are((real)potential->parameter, x, experts, s) ==>
          members(price, experts, s); */
  /*@ assert largest: status == PHIBAL_OK && potential->id == PHIBAL_POTENTIAL_LP &&
        !\is_finite(potential->parameter) ==> \forall sequence x, s;
        floats_are(m, experts, x) && shares_are(x, experts, s) ==> members(price, experts, s); */
  /*@ assert any: status == PHIBAL_OK ==> \forall sequence x, s;
        prices_at(potential, m, experts, x, s) ==> members(price, experts, s); */
  //@ ghost nothing_raised(m, experts);
  /*@ assert none: potential->id == PHIBAL_POTENTIAL_LP ==>
        raised_is(potential, m, experts, 0); */
  //@ assert counted: status == PHIBAL_OK ==> raised_is(potential, m, experts, raised);
  if (floored) *floored = raised;
  return status;
}

/* The hull of 0 and every |x_e|: its upper end is at least each of them. */
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
static phibal_status prices_centre(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t,
                                   phibal_enclosure *centred, phibal_enclosure *largest) {
  //@ assert use_enclosure;
  if (largest) vector_largest(experts, x, &t[0], largest);
  //@ assert prices: vector_input(x, experts) && vector_same{Pre, Here}(x, experts);
  //@ assert scratch: vector_output(t, 2);
  return balance_vector_centre(experts, x, t, centred);
}

phibal_status phibal_reference_price_centred(const phibal_potential *potential, int32_t experts,
                                             const float *m, mpfr_prec_t precision,
                                             phibal_enclosure *centred, phibal_enclosure *largest,
                                             int32_t *floored) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_price_centred";
  TRY(balance_price_check(name, potential, experts, m, precision, centred));
  phibal_enclosure *t, *x;
  TRY(operation_scratch(name, 2, precision, &t));
  //@ assert scratch: vector_output(t, 2) && vector_in_use(t, 2);
  phibal_status status = operation_scratch(name, (size_t)experts, precision, &x);
  //@ assert kept: vector_output(t, 2) && vector_in_use(t, 2);
  //@ assert centred_kept: vector_output(centred, experts) && optional(largest);
  if (status == PHIBAL_OK) {
    //@ assert apart: vectors_apart(t, 2, x, experts);
    status = phibal_reference_price(potential, experts, m, precision, x, floored);
    //@ assert scratch_kept: vector_output(t, 2);
    //@ assert places: vector_output(centred, experts) && vectors_apart(centred, experts, t, 2);
    //@ assert places_apart: vectors_apart(centred, experts, x, experts);
    //@ assert largest: optional(largest);
    /*@ assert largest_apart: largest == \null || (vector_apart(largest, t, 2) &&
          vector_apart(largest, x, experts) && vector_apart(largest, centred, experts)); */
    //@ assert apart_scratch: \forall integer i; 0 <= i < experts ==> vector_apart(x + i, t, 2);
    /*@ assert apart_centred: \forall integer i; 0 <= i < experts ==>
          vector_apart(x + i, centred, experts); */
    /*@ assert apart_largest: \forall integer i; 0 <= i < experts ==>
          optional_apart(x + i, largest); */
    /*@ assert any_members: status == PHIBAL_OK ==> \forall sequence v, s;
          prices_at(potential, m, experts, v, s) ==> members(x, experts, s); */
    /*@ assert counted: status == PHIBAL_OK && floored != \null ==>
          raised_is(potential, m, experts, *floored); */
    /*@ assert members: status == PHIBAL_OK && \is_finite(potential->parameter) &&
          separable(potential->id, (real)potential->parameter) ==> \forall sequence s;
          prices_are(potential->id, (real)potential->parameter, m, experts, s) ==>
            members(x, experts, s); */
    /*@ assert before: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
          same{Pre, Here}(r) && vector_apart(r, t, 2) && vector_apart(r, x, experts); */
    if (status == PHIBAL_OK) status = prices_centre(experts, x, t, centred, largest);
    //@ assert used: vector_output(t, 2);
    //@ assert prices_used: vector_output(x, experts);
    //@ assert results: vector_output(centred, experts) && optional(largest);
    /*@ assert centred: status == PHIBAL_OK && \is_finite(potential->parameter) &&
          separable(potential->id, (real)potential->parameter) ==> \forall sequence s, integer e;
          prices_are(potential->id, (real)potential->parameter, m, experts, s) &&
          0 <= e < experts ==> in(centred + e, centred(s, experts, e)); */
    /*@ assert any_centred: status == PHIBAL_OK ==> \forall sequence v, s, integer e;
          prices_at(potential, m, experts, v, s) && 0 <= e < experts ==>
            in(centred + e, centred(s, experts, e)); */
    /*@ assert any_sizes: status == PHIBAL_OK && largest != \null ==> \forall sequence v, s;
          prices_at(potential, m, experts, v, s) ==> sizes_in(largest, s, experts); */
    /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
          vector_apart(r, centred, experts) && optional_apart(r, largest) ==> same{Pre, Here}(r); */
    //@ ghost computed:;
    operation_scratch_clear(x, (size_t)experts);
    //@ assert left: vector_output(t, 2);
    /*@ assert kept_in_use: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
          same{computed, Here}(r); */
  }
  //@ assert results_left: vector_output(centred, experts) && optional(largest);
  //@ assert results_apart: vectors_apart(centred, experts, t, 2);
  operation_scratch_clear(t, 2);
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
    balance_vector_set(experts, frequency, x);
    //@ assert scratch_kept: vector_output(t, 2);
    //@ assert places: vector_output(centred, experts) && vectors_apart(centred, experts, t, 2);
    //@ assert places_apart: vectors_apart(centred, experts, x, experts);
    /*@ assert prices_apart: \forall integer i; 0 <= i < experts ==> vector_apart(x + i, t, 2) &&
          vector_apart(x + i, centred, experts); */
    /*@ assert members: \forall sequence s; floats_are(frequency, experts, s) ==>
          members(x, experts, s); */
    /*@ assert before: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
          same{Pre, Here}(r) && vector_apart(r, t, 2) && vector_apart(r, x, experts); */
    status = balance_vector_centre(experts, x, t, centred);
    //@ assert used: vector_output(t, 2);
    //@ assert prices_used: vector_output(x, experts);
    //@ assert results: vector_output(centred, experts);
    /*@ assert centred: status == PHIBAL_OK ==> \forall sequence s, integer e;
          floats_are(frequency, experts, s) && 0 <= e < experts ==>
            in(centred + e, centred(s, experts, e)); */
    /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
          vector_apart(r, centred, experts) ==> same{Pre, Here}(r); */
    //@ ghost computed:;
    operation_scratch_clear(x, (size_t)experts);
    //@ assert left: vector_output(t, 2);
    /*@ assert kept_in_use: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
          same{computed, Here}(r); */
  }
  operation_scratch_clear(t, 2);
  return status;
}
