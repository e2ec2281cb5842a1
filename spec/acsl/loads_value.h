/* What loads over a batch are (R6), and what of them a run of the tokens adds. ACSL only. */
#ifndef PHIBAL_ACSL_LOADS_VALUE_H
#define PHIBAL_ACSL_LOADS_VALUE_H

#include <phibal/acsl/balance.h>
#include <phibal/acsl/loads.h>
#include <phibal/acsl/router_score.h>

/*@ // what token i adds to the sum of expert e's probabilities: nothing where it is masked
    logic real token_share{L}(integer gate, float *x, uint8_t *mask, integer experts, integer e,
                              integer i) =
      unmasked(mask, i) == 1 ? probability(gate, x + i * experts, experts, e) : 0.0;
    // the sum over the unmasked of n tokens
    logic real probability_sum{L}(integer gate, float *x, uint8_t *mask, integer experts,
                                  integer e, integer n) =
      n <= 0 ? 0.0 : probability_sum(gate, x, mask, experts, e, n - 1) +
                       token_share(gate, x, mask, experts, e, n - 1);
    // (R6)
    logic real mean_probability{L}(integer gate, float *x, uint8_t *mask, integer experts,
                                   integer e, integer n) =
      probability_sum(gate, x, mask, experts, e, n) / tokens_counted(mask, n);
    predicate means_held{L}(phibal_enclosure *mean, integer gate, float *x, uint8_t *mask,
                            integer experts, integer n) =
      \forall integer e; 0 <= e < experts ==>
        in(mean + e, mean_probability(gate, x, mask, experts, e, n));

    // the number of tokens lies apart from the experts' counts, if these are wanted
    predicate count_apart(int64_t *counted, int64_t *count, integer experts) =
      count == \null || \separated(counted, count + (0 .. experts - 1));

    // (R2): how many of the experts below n come before expert e, by higher score or the same and
    // the lower index; the first `active` are selected
    predicate comes_before{L}(integer gate, float *x, float *bias, integer i, integer e) =
      router_score(gate, x, bias, i) > router_score(gate, x, bias, e) ||
      (router_score(gate, x, bias, i) == router_score(gate, x, bias, e) && i < e);
    logic integer rank{L}(integer gate, float *x, float *bias, integer e, integer n) =
      n <= 0 ? 0 : rank(gate, x, bias, e, n - 1) +
        (router_score(gate, x, bias, n - 1) > router_score(gate, x, bias, e) ||
         (router_score(gate, x, bias, n - 1) == router_score(gate, x, bias, e) && n - 1 < e)
           ? 1 : 0);
    // (R7) the number of the unmasked of n tokens whose selection holds expert e
    logic integer token_selects{L}(integer gate, float *x, float *bias, uint8_t *mask,
                                   integer experts, integer active, integer e, integer i) =
      unmasked(mask, i) == 1 && rank(gate, x + i * experts, bias, e, experts) < active ? 1 : 0;
    logic integer selected_count{L}(integer gate, float *x, float *bias, uint8_t *mask,
                                    integer experts, integer active, integer e, integer n) =
      n <= 0 ? 0 : selected_count(gate, x, bias, mask, experts, active, e, n - 1) +
                     token_selects(gate, x, bias, mask, experts, active, e, n - 1);
    predicate counts_held{L}(int64_t *count, integer gate, float *x, float *bias, uint8_t *mask,
                             integer experts, integer active, integer n) =
      \forall integer e; 0 <= e < experts ==>
        count[e] == selected_count(gate, x, bias, mask, experts, active, e, n);

    // Where run r begins (run_start), and the place of what it adds for expert e; provers match these
    // where they would not a quotient or a product.
    axiomatic Runs {
      logic integer run_begin(integer tokens, integer r);
      logic integer run_cell(integer experts, integer r, integer e);
    }
    axiomatic RunsDefinition {
      predicate open_runs;
      axiom runs_opened: open_runs;
      axiom run_begin_is: \forall integer tokens, r; run_begin(tokens, r) == run_start(tokens, r);
      axiom run_cell_is: \forall integer experts, r, e;
        run_cell(experts, r, e) == r * experts + e;
    }

    // what the tokens first .. end-1 add
    logic integer counted_between{L}(uint8_t *mask, integer first, integer end) =
      tokens_counted(mask, end) - tokens_counted(mask, first);
    logic real sum_between{L}(integer gate, float *x, uint8_t *mask, integer experts, integer e,
                              integer first, integer end) =
      probability_sum(gate, x, mask, experts, e, end) -
        probability_sum(gate, x, mask, experts, e, first);
    predicate sums_between{L}(phibal_enclosure *sum, integer gate, float *x, uint8_t *mask,
                              integer experts, integer first, integer end) =
      sum == \null || (\forall integer e; 0 <= e < experts ==>
        in(sum + e, sum_between(gate, x, mask, experts, e, first, end)));
    // 0 is a member of sum[first..end-1], if means are wanted
    predicate no_sums{L}(phibal_enclosure *sum, integer first, integer end) =
      sum == \null || (\forall integer i; first <= i < end ==> in(sum + i, 0.0));
    // what run r of the tokens adds: to the number of them, to sum[r experts .. ]
    predicate run_counts_tokens{L}(int64_t *counted, uint8_t *mask, integer tokens, integer r) =
      counted[r] == counted_between(mask, run_begin(tokens, r), run_begin(tokens, r + 1));
    predicate run_sums{L}(phibal_enclosure *sum, integer gate, float *x, uint8_t *mask,
                          integer experts, integer tokens, integer r) =
      sum == \null || (\forall integer e; 0 <= e < experts ==>
        in(sum + run_cell(experts, r, e),
           sum_between(gate, x, mask, experts, e, run_begin(tokens, r), run_begin(tokens, r + 1))));
    predicate runs_sums{L}(phibal_enclosure *sum, integer gate, float *x, uint8_t *mask,
                           integer experts, integer tokens) =
      \forall integer r; 0 <= r < 64 ==> run_sums(sum, gate, x, mask, experts, tokens, r);
    logic integer selected_between{L}(integer gate, float *x, float *bias, uint8_t *mask,
                                      integer experts, integer active, integer e, integer first,
                                      integer end) =
      selected_count(gate, x, bias, mask, experts, active, e, end) -
        selected_count(gate, x, bias, mask, experts, active, e, first);
    predicate counts_between{L}(int64_t *count, integer gate, float *x, float *bias, uint8_t *mask,
                                integer experts, integer active, integer first, integer end) =
      \forall integer e; 0 <= e < experts ==>
        count[e] == selected_between(gate, x, bias, mask, experts, active, e, first, end);
    predicate run_selected{L}(int64_t *count, integer gate, float *x, float *bias, uint8_t *mask,
                              integer experts, integer active, integer tokens, integer r) =
      \forall integer e; 0 <= e < experts ==>
        count[run_cell(experts, r, e)] ==
          selected_between(gate, x, bias, mask, experts, active, e, run_begin(tokens, r),
                           run_begin(tokens, r + 1));
    predicate runs_selected{L}(int64_t *count, integer gate, float *x, float *bias, uint8_t *mask,
                               integer experts, integer active, integer tokens) =
      \forall integer r; 0 <= r < 64 ==>
        run_selected(count, gate, x, bias, mask, experts, active, tokens, r);
*/

#endif
