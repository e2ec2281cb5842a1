/* Facts about real numbers that proofs use. ACSL only. Each is proved: by WP's provers in
   proofs/frama-c/lemmas.c, or, where it says so, in Coq (proofs/coq/AcslLemmas.v, the theorem of the
   same name), to which proofs/frama-c/coq.py translates it.

   A product is written times(x, y) where provers should see it as a term to match on, and not as
   arithmetic to be solved; `open_times` says what it is. */
#ifndef PHIBAL_ACSL_REAL_H
#define PHIBAL_ACSL_REAL_H

/* LEMMA is proved in proofs/frama-c/lemmas.c, where PROVE_LEMMAS is defined, and taken for granted
   elsewhere; GIVEN is then the key to what the proof needs. COQ_LEMMA is proved in Coq. */
#define COQ_LEMMA axiom
#ifdef PROVE_LEMMAS
#define LEMMA lemma
#define GIVEN(key) key ==>
#else
#define LEMMA axiom
#define GIVEN(key)
#endif

/*@ axiomatic Times {
      logic real times(real x, real y);
      logic real over(real x, real y);
    }
    axiomatic TimesDefinition {
      predicate open_times;
      axiom times_opened: open_times;
      axiom times_is: \forall real x, y; times(x, y) == x * y;
      axiom over_is: \forall real x, y; over(x, y) == x / y;
    }
    axiomatic TimesUse {
      predicate use_times;
      axiom times_used: use_times;
      // a product between products of bounds; the first factor is of one sign
      LEMMA times_both: GIVEN(open_times) \forall real p, q, a, b;
        0.0 <= p <= a && 0.0 <= q <= b ==> times(p, q) <= times(a, b);
      LEMMA times_mixed: GIVEN(open_times) \forall real p, q, a, b;
        0.0 <= a <= p && q <= 0.0 && q <= b ==> times(p, q) <= times(a, b);
      LEMMA times_mixed_upper: GIVEN(open_times) \forall real p, q, a, b;
        0.0 <= p <= a && b <= q && q <= 0.0 ==> times(a, b) <= times(p, q);
      LEMMA times_upper: GIVEN(open_times) \forall real p, q, a, b;
        0.0 <= a <= p && b <= q && 0.0 <= q ==> times(a, b) <= times(p, q);
      LEMMA times_signs: GIVEN(open_times) \forall real a, b;
        (0.0 <= a && 0.0 <= b ==> 0.0 <= times(a, b)) &&
        (0.0 <= a && b <= 0.0 ==> times(a, b) <= 0.0) &&
        (a <= 0.0 && 0.0 <= b ==> times(a, b) <= 0.0) &&
        (a <= 0.0 && b <= 0.0 ==> 0.0 <= times(a, b));
      LEMMA times_negative: GIVEN(open_times) \forall real p, q, a, b;
        p <= a <= 0.0 && 0.0 <= q && b <= q ==> times(p, q) <= times(a, b);
      LEMMA times_negative_both: GIVEN(open_times) \forall real p, q, a, b;
        a <= p <= 0.0 && b <= q <= 0.0 ==> times(p, q) <= times(a, b);
      LEMMA times_negative_upper: GIVEN(open_times) \forall real p, q, a, b;
        a <= p <= 0.0 && 0.0 <= q <= b ==> times(a, b) <= times(p, q);
      LEMMA times_negative_both_upper: GIVEN(open_times) \forall real p, q, a, b;
        p <= a <= 0.0 && q <= 0.0 && q <= b ==> times(a, b) <= times(p, q);
    }
    axiomatic OverUse {
      predicate use_over;
      axiom over_used: use_over;
      // a quotient between quotients of bounds, by the signs of dividend and divisor
      LEMMA over_lower: GIVEN(open_times) \forall real p, q, a, b;
        0.0 <= p <= a && 0.0 < b <= q ==> over(p, q) <= over(a, b);
      LEMMA over_lower_mixed: GIVEN(open_times) \forall real p, q, a, b;
        p <= a && p <= 0.0 && 0.0 < q <= b ==> over(p, q) <= over(a, b);
      LEMMA over_upper: GIVEN(open_times) \forall real p, q, a, b;
        a <= p && 0.0 <= p && 0.0 < q <= b ==> over(a, b) <= over(p, q);
      LEMMA over_upper_mixed: GIVEN(open_times) \forall real p, q, a, b;
        a <= p <= 0.0 && 0.0 < b <= q ==> over(a, b) <= over(p, q);
      LEMMA over_negative: GIVEN(open_times) \forall real a, b;
        b < 0.0 ==> over(a, b) == over(-a, -b);
      LEMMA over_signs: GIVEN(open_times) \forall real a, b;
        (0.0 <= a && 0.0 < b ==> 0.0 <= over(a, b)) && (a <= 0.0 && 0.0 < b ==> over(a, b) <= 0.0) &&
        (0.0 <= a && b < 0.0 ==> over(a, b) <= 0.0) && (a <= 0.0 && b < 0.0 ==> 0.0 <= over(a, b));
    }
    // Elementary functions increase. Here e(x) is exp(x) under a name that WP leaves alone: it turns
    // "exp(a) <= exp(b)" into "a <= b" by itself, and a lemma so stated into nothing.
    axiomatic Exp {
      logic real e(real x);
    }
    axiomatic ExpUse {
      predicate use_exp;
      axiom exp_used: use_exp;
      axiom e_is: \forall real x; e(x) == \exp(x);
      COQ_LEMMA e_increases: \forall real a, b; a <= b ==> e(a) <= e(b);
      COQ_LEMMA e_positive: \forall real a; 0.0 < e(a);
    }
    axiomatic LogUse {
      predicate use_log;
      axiom log_used: use_log;
      COQ_LEMMA log_increases: \forall real a, b; 0.0 < a <= b ==> \log(a) <= \log(b);
    }
    axiomatic Log1pUse {
      predicate use_log1p;
      axiom log1p_used: use_log1p;
      LEMMA log1p_increases: GIVEN(use_log) \forall real a, b;
        -1.0 < a <= b ==> \log(1.0 + a) <= \log(1.0 + b);
    }
    axiomatic SqrtUse {
      predicate use_sqrt;
      axiom sqrt_used: use_sqrt;
      LEMMA sqrt_increases: \forall real a, b; 0.0 <= a <= b ==> \sqrt(a) <= \sqrt(b);
    }
    axiomatic PiUse {
      predicate use_pi;
      axiom pi_used: use_pi;
      COQ_LEMMA pi_positive: 0.0 < pi;
    }
    axiomatic TanhUse {
      predicate use_tanh;
      axiom tanh_used: use_tanh;
      LEMMA tanh_increases: GIVEN(use_exp) \forall real a, b; a <= b ==> tanh(a) <= tanh(b);
      LEMMA tanh_bounds: GIVEN(use_exp) \forall real a; -1.0 <= tanh(a) <= 1.0;
    }
*/
#endif
