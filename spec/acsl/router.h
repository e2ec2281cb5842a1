/* The logic of the router: what SPEC.md's sections R and G say of one token's logits, as real
   numbers. ACSL only. The logits are an array x of n binary32 numbers, experts an array of the
   selected ones' numbers; e(a) is exp(a) (real.h). */
#ifndef PHIBAL_ACSL_ROUTER_H
#define PHIBAL_ACSL_ROUTER_H

#include <phibal/acsl/enclosure.h>
#include <phibal/router.h>

/*@ // the logistic function
    logic real logistic(real a) = 1.0 / (1.0 + e(-a));
    // what is normalised to probabilities and gates
    logic real logit_weight(integer gate, real a) =
      gate == PHIBAL_GATE_SIGMOID ? logistic(a) : e(a);
    logic real weight_sum{L}(integer gate, float *x, integer n) =
      n <= 0 ? 0.0 : weight_sum(gate, x, n - 1) + logit_weight(gate, (real)x[n - 1]);
    logic real selected_sum{L}(integer gate, float *x, int32_t *experts, integer n) =
      n <= 0 ? 0.0
             : selected_sum(gate, x, experts, n - 1) + logit_weight(gate, (real)x[experts[n - 1]]);
    // (R1), (R1s)
    logic real probability{L}(integer gate, float *x, integer n, integer i) =
      logit_weight(gate, (real)x[i]) / weight_sum(gate, x, n);
    // (R8)
    logic real logsumexp{L}(float *x, integer n) =
      \log(weight_sum(PHIBAL_GATE_TOPK_SOFTMAX, x, n));
    // (R3) to (R5) of slot s, before the router's scale
    logic real normalised_gate{L}(integer gate, float *x, int32_t *experts, integer k, integer s) =
      logit_weight(gate, (real)x[experts[s]]) / selected_sum(gate, x, experts, k);
    logic real token_gate{L}(integer gate, float *x, integer n, int32_t *experts, integer k,
                             integer s) =
      gate == PHIBAL_GATE_PROBABILITY || (gate == PHIBAL_GATE_TOPK_SOFTMAX && k == 1)
        ? probability(gate, x, n, experts[s])
        : normalised_gate(gate, x, experts, k, s);

    // the largest of the logits x[0..n-1], and what weights are taken relative to
    logic real largest_logit{L}(float *x, integer n) =
      n <= 1 ? (real)x[0]
             : ((real)x[n - 1] > largest_logit(x, n - 1) ? (real)x[n - 1]
                                                         : largest_logit(x, n - 1));
    logic real weight_reference(integer gate, real largest) =
      gate == PHIBAL_GATE_SIGMOID && largest > 0.0 ? 0.0 : largest;

    // experts 0 .. n-1, k of them
    predicate selected_experts{L}(int32_t *experts, integer k, integer n) =
      \valid_read(experts + (0 .. k - 1)) &&
      (\forall integer s; 0 <= s < k ==> 0 <= experts[s] < n);

    // Weights are computed relative to a largest logit r: all times c = shrink(r) = exp(-r) > 0.
    // Provers find these facts by their terms; so differences have names of their own.
    axiomatic Shrink {
      logic real shrink(real r);
    }
    axiomatic Relative {
      predicate use_relative;
      axiom relative_used: use_relative;
      axiom shrink_is: \forall real r; shrink(r) == e(-r);
      COQ_LEMMA shrink_positive: \forall real r; 0.0 < shrink(r);
      COQ_LEMMA shrink_zero: shrink(0.0) == 1.0;
      COQ_LEMMA e_relative: \forall real a, r, d; d == a - r ==> e(d) == e(a) * shrink(r);
      COQ_LEMMA sigmoid_relative: \forall real a, r, d; d == a - r ==>
        e(d) * (1.0 / (1.0 + e(a))) == logistic(a) * shrink(r);
      COQ_LEMMA logit_weight_positive: \forall integer gate, real a; 0.0 < logit_weight(gate, a);
      COQ_LEMMA quotient_relative: \forall real w, s, c; 0.0 < s && 0.0 < c ==>
        (w * c) / (s * c) == w / s && 0.0 < s * c;
      COQ_LEMMA log_relative: \forall real s, r; 0.0 < s ==>
        \log(s * shrink(r)) + r == \log(s) && 0.0 < s * shrink(r);
    }
    // Sequences with these terms exist, since any function from integers to real numbers is one.
    axiomatic RelativeSequence {
      logic sequence relative_weights{L}(integer gate, float *x, integer n, real c)
        reads x[0 .. n - 1];
      logic sequence relative_selected{L}(integer gate, float *x, int32_t *experts, integer n,
                                          real c)
        reads x[0 .. PHIBAL_MAX_EXPERTS - 1], experts[0 .. n - 1];
      axiom relative_weights_are{L}: \forall integer gate, float *x, integer n, real c, integer i;
        0 <= i < n ==> term(relative_weights(gate, x, n, c), i) ==
                         logit_weight(gate, (real)x[i]) * c;
      axiom relative_selected_are{L}:
        \forall integer gate, float *x, int32_t *experts, integer n, real c, integer i;
        0 <= i < n ==> term(relative_selected(gate, x, experts, n, c), i) ==
                         logit_weight(gate, (real)x[experts[i]]) * c;
    }
    predicate weights_sum_relative{L}(integer gate, float *x, integer n, integer m) =
      \forall real c; sum(relative_weights(gate, x, n, c), m) ==
                        times(weight_sum(gate, x, m), c);
    predicate selected_sum_relative{L}(integer gate, float *x, int32_t *experts, integer n,
                                       integer m) =
      \forall real c; sum(relative_selected(gate, x, experts, n, c), m) ==
                        times(selected_sum(gate, x, experts, m), c);
*/

/* The sum of relative weights is the relative sum: by induction. */
/*@ ghost
  /@ requires 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures weights_sum_relative(gate, x, n, n);
     ensures 0 < n ==> 0.0 < weight_sum(gate, x, n); @/
  void router_weights_sum(phibal_gate gate, const float *x, int n) {
    /@ assert use_relative && open_times; @/
    int i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant weights_sum_relative(gate, x, n, i);
       loop invariant 0.0 <= weight_sum(gate, x, i) && (0 < i ==> 0.0 < weight_sum(gate, x, i));
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert weight_sum(gate, x, i + 1) ==
           weight_sum(gate, x, i) + logit_weight(gate, (real)x[i]); @/
      /@ assert \forall real c; sum(relative_weights(gate, x, n, c), i + 1) ==
           times(weight_sum(gate, x, i) + logit_weight(gate, (real)x[i]), c); @/
      i++;
    }
  }
*/
/*@ ghost
  /@ requires 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures selected_sum_relative(gate, x, experts, n, n);
     ensures 0 < n ==> 0.0 < selected_sum(gate, x, experts, n); @/
  void router_selected_sum(phibal_gate gate, const float *x, const int32_t *experts, int n) {
    /@ assert use_relative && open_times; @/
    int i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant selected_sum_relative(gate, x, experts, n, i);
       loop invariant 0.0 <= selected_sum(gate, x, experts, i) &&
                      (0 < i ==> 0.0 < selected_sum(gate, x, experts, i));
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert selected_sum(gate, x, experts, i + 1) ==
           selected_sum(gate, x, experts, i) + logit_weight(gate, (real)x[experts[i]]); @/
      /@ assert \forall real c; sum(relative_selected(gate, x, experts, n, c), i + 1) ==
           times(selected_sum(gate, x, experts, i) + logit_weight(gate, (real)x[experts[i]]), c); @/
      i++;
    }
  }
*/

#endif
