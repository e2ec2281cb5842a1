/* What the static functions of reference/loads.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_LOADS_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_LOADS_STATIC_H

/*@ // a router that selects by scores alone, as rank says
    predicate ranked{L}(phibal_router *r) = r->group_score == PHIBAL_GROUP_NONE;
*/

/*@ requires \valid_read(t) && 0 <= t->active <= t->experts;
    requires \valid_read(t->selection + (0 .. t->active - 1));
    requires \forall integer s; 0 <= s < t->active ==> 0 <= t->selection[s] < t->experts;
    requires \valid(count + (0 .. t->experts - 1)) &&
             counts_below(count, t->experts, INT64_MAX - t->experts);
    terminates \true;
    exits \false;
    assigns count[0 .. t->experts - 1];
    ensures counts_raised{Pre, Here}(count, t->experts, t->active);
    ensures held: slots_differ(t->selection, t->active) ==>
      \forall integer e; 0 <= e < t->experts ==>
        (slot_of(t->selection, t->active, e) ==> count[e] == \old(count[e]) + 1) &&
        (!slot_of(t->selection, t->active, e) ==> count[e] == \old(count[e])); */
static void counts_add(const phibal_reference_token *t, int64_t *count);

/*@ requires 0 <= n && vector_output(sum, n) && vector_input(x, n) && vectors_apart(sum, n, x, n);
    terminates \true;
    exits \false;
    assigns sum[0 .. n - 1];
    ensures vector_output(sum, n) && only_vector_written{Pre, Here}(sum, n);
    ensures \result == PHIBAL_OK ==> \forall integer e, real a, b;
      0 <= e < n && in{Pre}(sum + e, a) && in{Pre}(x + e, b) ==> in(sum + e, a + b); */
static phibal_status sums_add(int32_t n, const phibal_enclosure *x, phibal_enclosure *sum);

/*@ requires token_ready(t) && \valid_read(batch.router);
    requires \valid_read(logits + (0 .. t->experts - 1));
    requires batch.bias != \null ==> \valid_read(batch.bias + (0 .. t->experts - 1));
    requires \valid(count + (0 .. t->experts - 1)) &&
             counts_below(count, t->experts, INT64_MAX - t->experts);
    terminates \true;
    exits \false;
    assigns count[0 .. t->experts - 1];
    assigns t->selection[0 .. t->active - 1], t->score[0 .. t->experts - 1], t->term, t->factor;
    ensures token_ready(t) && token_same{Pre, Here}(t);
    ensures only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures counts_raised{Pre, Here}(count, t->experts, t->experts);
    ensures \result == PHIBAL_OK ==> finite_floats(logits, t->experts);
    ensures held: \result == PHIBAL_OK && ranked(batch.router) ==>
      \forall integer e; 0 <= e < t->experts ==>
        count[e] ==
          \old(count[e]) + (rank(batch.router->gate, logits, batch.bias, e,
                                 t->experts) < t->active ? 1 : 0); */
static phibal_status loads_count_token(phibal_reference_token *t, phibal_reference_batch batch,
                                       const float *logits, int64_t *count);

/* What follows from where a token lies. */
/*@ ghost
  /@ requires token_ready(t);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures vector_input(t->probability, t->experts); @/
  void token_probabilities(const phibal_reference_token *t) {
    /@ assert use_token; @/
    /@ assert places: \forall integer i; 0 <= i < t->experts ==>
         token_part(t, t->probability + i); @/
  }

  /@ requires token_ready(t) && sum != \null && sums_token_apart(t, sum, t->experts);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall phibal_enclosure *r; token_part(t, r) ==> vector_apart(r, sum, t->experts);
     ensures vectors_apart(sum, t->experts, t->probability, t->experts); @/
  void token_sums(const phibal_reference_token *t, const phibal_enclosure *sum) {
    /@ assert open_token; @/
    /@ assert apart: \forall phibal_enclosure *r, *p; token_apart(t, r) && token_part(t, p) ==>
         \separated(r, p); @/
    /@ assert elsewhere: \forall integer i, phibal_enclosure *p; 0 <= i < t->experts &&
         token_part(t, p) ==> \separated(sum + i, p); @/
    /@ assert places: \forall integer i; 0 <= i < t->experts ==>
         token_part(t, t->probability + i); @/
  }

  /@ requires token_ready(t);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall phibal_enclosure *r; token_apart(t, r) ==> \separated(r, t); @/
  void token_elsewhere(const phibal_reference_token *t) {
    /@ assert open_token; @/
  }
*/

/*@ requires token_ready(t) && \valid_read(router);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires vector_output(sum, t->experts) && sums_token_apart(t, sum, t->experts);
    requires sum != \null;
    terminates \true;
    exits \false;
    assigns sum[0 .. t->experts - 1];
    assigns t->probability[0 .. t->experts - 1], t->weight[0 .. t->experts - 1], t->total, t->term,
            t->factor, t->logsumexp, t->logsumexp_terms;
    ensures token_ready(t) && token_same{Pre, Here}(t);
    ensures vector_output(sum, t->experts);
    ensures only_loads_written{Pre, Here}(t, sum, t->experts);
    ensures added: \result == PHIBAL_OK ==> \forall integer e, real a;
      0 <= e < t->experts && in{Pre}(sum + e, a) ==>
        in(sum + e, a + probability(router->gate, logits, t->experts, e)); */
static phibal_status loads_sum_token(phibal_reference_token *t, const phibal_router *router,
                                     const float *logits, phibal_enclosure *sum);

/*@ requires token_ready(t) && \valid_read(batch.router);
    requires \valid_read(logits + (0 .. t->experts - 1));
    requires batch.bias != \null ==> \valid_read(batch.bias + (0 .. t->experts - 1));
    requires \valid(run.count + (0 .. t->experts - 1)) &&
             counts_below(run.count, t->experts, INT64_MAX - t->experts);
    requires sums_ready(run.sum, t->experts) && sums_token_apart(t, run.sum, t->experts);
    terminates \true;
    exits \false;
    assigns run.count[0 .. t->experts - 1], run.sum[0 .. t->experts - 1];
    assigns t->selection[0 .. t->active - 1], t->score[0 .. t->experts - 1],
            t->probability[0 .. t->experts - 1], t->weight[0 .. t->experts - 1], t->total, t->term,
            t->factor, t->logsumexp, t->logsumexp_terms;
    ensures token_ready(t) && token_same{Pre, Here}(t);
    ensures counts_raised{Pre, Here}(run.count, t->experts, t->experts);
    ensures sums_ready(run.sum, t->experts);
    ensures only_loads_written{Pre, Here}(t, run.sum, t->experts);
    ensures added: \result == PHIBAL_OK && run.sum != \null ==> \forall integer e, real a;
      0 <= e < t->experts && in{Pre}(run.sum + e, a) ==>
        in(run.sum + e, a + probability(batch.router->gate, logits, t->experts, e));
    ensures held: \result == PHIBAL_OK && ranked(batch.router) ==>
      \forall integer e; 0 <= e < t->experts ==>
        run.count[e] ==
          \old(run.count[e]) + (rank(batch.router->gate, logits, batch.bias, e,
                                     t->experts) < t->active ? 1 : 0); */
static phibal_status loads_add_token(phibal_reference_token *t, phibal_reference_batch batch,
                                     const float *logits, loads_runs run);

/*@ requires token_ready(t) && \valid_read(batch.router);
    requires 0 <= first <= end && token_rows(batch.logits, batch.mask, end, t->experts);
    requires batch.bias != \null ==> \valid_read(batch.bias + (0 .. t->experts - 1));
    requires \valid(run.count + (0 .. t->experts - 1)) && counts_below(run.count, t->experts, 0);
    requires \valid(counted) && \separated(counted, run.count + (0 .. t->experts - 1));
    requires sums_ready(run.sum, t->experts) && sums_token_apart(t, run.sum, t->experts);
    requires no_sums(run.sum, 0, t->experts);
    terminates \true;
    exits \false;
    assigns run.count[0 .. t->experts - 1], run.sum[0 .. t->experts - 1], *counted;
    assigns t->selection[0 .. t->active - 1], t->score[0 .. t->experts - 1],
            t->probability[0 .. t->experts - 1], t->weight[0 .. t->experts - 1], t->total, t->term,
            t->factor, t->logsumexp, t->logsumexp_terms;
    ensures token_ready(t) && token_same{Pre, Here}(t);
    ensures 0 <= *counted <= end - first;
    ensures counts_below(run.count, t->experts, (end - first) * t->experts);
    ensures sums_ready(run.sum, t->experts);
    ensures only_loads_written{Pre, Here}(t, run.sum, t->experts);
    ensures counted: \result == PHIBAL_OK ==>
      *counted == counted_between(batch.mask, first, end);
    ensures sums: \result == PHIBAL_OK ==>
      sums_between(run.sum, batch.router->gate, batch.logits, batch.mask, t->experts, first, end);
    ensures counts: \result == PHIBAL_OK && ranked(batch.router) ==>
      counts_between(run.count, batch.router->gate, batch.logits, batch.bias, batch.mask,
                     t->experts, t->active, first, end); */
static phibal_status loads_add_run(phibal_reference_token *t, phibal_reference_batch batch,
                                   int64_t first, int64_t end, loads_runs run, int64_t *counted);

/* Where runs begin and end: the tokens', and their places among the sums. */
/*@ ghost
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall integer tokens; 0 <= tokens ==>
       run_begin(tokens, 0) == 0 && run_begin(tokens, 64) == tokens; @/
  static void run_ends(void) {
    /@ assert open_runs; @/
    /@ assert ends: \forall integer tokens; 0 <= tokens ==>
         run_start(tokens, 0) == 0 && run_start(tokens, 64) == tokens; @/
  }

  /@ requires 0 <= r <= 64 && 1 <= experts <= PHIBAL_MAX_EXPERTS;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures before: \forall integer q, e; 0 <= q < r && 0 <= e < experts ==>
       0 <= run_cell(experts, q, e) < r * experts;
     ensures own: \forall integer e; run_cell(experts, r, e) == r * experts + e; @/
  static void run_places(int32_t r, int32_t experts) {
    /@ assert open_runs; @/
    int32_t i = 0;
    /@ loop invariant 0 <= i <= r;
       loop invariant 0 <= i * experts;
       loop invariant \forall integer q, e; 0 <= q < i && 0 <= e < experts ==>
         0 <= run_cell(experts, q, e) < i * experts;
       loop assigns i;
       loop variant r - i; @/
    while (i < r) {
      product_next(i, experts);
      /@ assert own: \forall integer e; run_cell(experts, i, e) == i * experts + e; @/
      i++;
    }
  }
*/

/*@ requires 0 <= tokens && 0 <= r <= LOADS_RUNS;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == run_start(tokens, r) && 0 <= \result <= tokens;
    ensures \result == run_begin(tokens, r);
    ensures r == LOADS_RUNS ==> \result == tokens;
    ensures r < LOADS_RUNS ==> \result <= run_start(tokens, r + 1) <= tokens &&
      run_start(tokens, r + 1) <= \result + tokens / 64 + 1; */
static int64_t run_first(int64_t tokens, int r);

/*@ requires 0 <= r < LOADS_RUNS && 1 <= experts <= PHIBAL_MAX_EXPERTS;
    requires \valid(runs.count + (0 .. LOADS_RUNS * experts - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result.count == runs.count + r * experts;
    ensures runs.sum == \null ==> \result.sum == \null;
    ensures runs.sum != \null ==> \result.sum == runs.sum + r * experts; */
static loads_runs loads_run(loads_runs runs, int32_t experts, int r);

/*@ // what each of n runs counted, of tokens and of their experts
    predicate runs_counted{L}(int64_t *counted, integer n) =
      \forall integer r; 0 <= r < n ==> 0 <= counted[r] <= RUN_COUNT_MAX;
    predicate runs_counts{L}(int64_t *count, integer cells) =
      counts_below(count, cells, RUN_COUNT_MAX);
    predicate no_counts{L}(int64_t *count, integer first, integer end) =
      \forall integer i; first <= i < end ==> count[i] == 0;
*/

/* What a run of n tokens can count. */
/*@ ghost
  /@ requires 0 <= tokens && 0 <= n <= tokens / 64 + 1 && 1 <= experts <= PHIBAL_MAX_EXPERTS;
     requires tokens * experts <= TOKEN_LOGITS_MAX;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures 0 <= n <= n * experts <= RUN_COUNT_MAX; @/
  static void run_size(int64_t tokens, int64_t n, int32_t experts) {
    int64_t share = tokens / 64;
    /@ assert 64 * share <= tokens; @/
    product_ordered(64 * share, tokens, experts);
    product_ordered(n, share + 1, experts);
    product_ordered(1, experts, n);
    /@ assert (share + 1) * experts == share * experts + experts; @/
    /@ assert (64 * share) * experts == 64 * (share * experts); @/
  }
*/

/*@ requires token_ready(t) && token_in_heap(t);
    requires \valid_read(batch.router) && 0 <= r < LOADS_RUNS;
    requires token_rows(batch.logits, batch.mask, tokens, t->experts);
    requires batch.bias != \null ==> \valid_read(batch.bias + (0 .. t->experts - 1));
    requires \valid(runs.count + (0 .. LOADS_RUNS * t->experts - 1));
    requires no_counts(runs.count, r * t->experts, r * t->experts + t->experts);
    requires \valid(counted + (0 .. LOADS_RUNS - 1)) &&
             \separated(counted + (0 .. LOADS_RUNS - 1),
                        runs.count + (0 .. LOADS_RUNS * t->experts - 1));
    requires sums_ready(runs.sum, LOADS_RUNS * t->experts) &&
             sums_token_apart(t, runs.sum, LOADS_RUNS * t->experts);
    requires no_sums(runs.sum, r * t->experts, r * t->experts + t->experts);
    terminates \true;
    exits \false;
    assigns runs.count[r * t->experts .. r * t->experts + t->experts - 1],
            runs.sum[r * t->experts .. r * t->experts + t->experts - 1], counted[r];
    assigns index_heap[0 .. INDEX_HEAP_SIZE - 1], score_heap[0 .. INDEX_HEAP_SIZE - 1],
            enclosure_heap[0 .. ENCLOSURE_HEAP_SIZE - 1], t->total, t->term, t->factor,
            t->logsumexp, t->logsumexp_terms;
    ensures token_ready(t) && token_same{Pre, Here}(t);
    ensures 0 <= counted[r] <= RUN_COUNT_MAX;
    ensures counts: \forall integer i; r * t->experts <= i < r * t->experts + t->experts ==>
      0 <= runs.count[i] <= RUN_COUNT_MAX;
    ensures sums_ready(runs.sum, LOADS_RUNS * t->experts);
    ensures only_loads_written{Pre, Here}(t, runs.sum, LOADS_RUNS * t->experts);
    ensures heap: token_in_heap(t);
    ensures counted_left: \forall integer q; 0 <= q < r ==> counted[q] == \old(counted[q]);
    ensures counts_left: no_counts{Pre}(runs.count, r * t->experts + t->experts,
                                        LOADS_RUNS * t->experts) ==>
      no_counts(runs.count, r * t->experts + t->experts, LOADS_RUNS * t->experts);
    ensures empty: no_sums{Pre}(runs.sum, r * t->experts + t->experts, LOADS_RUNS * t->experts) ==>
      no_sums(runs.sum, r * t->experts + t->experts, LOADS_RUNS * t->experts);
    ensures before: \forall integer q; 0 <= q < r &&
      run_sums{Pre}(runs.sum, batch.router->gate, batch.logits, batch.mask, t->experts, tokens,
                    q) ==>
        run_sums(runs.sum, batch.router->gate, batch.logits, batch.mask, t->experts, tokens, q);
    ensures selected_before: \forall integer q; 0 <= q < r &&
      run_selected{Pre}(runs.count, batch.router->gate, batch.logits, batch.bias, batch.mask,
                        t->experts, t->active, tokens, q) ==>
        run_selected(runs.count, batch.router->gate, batch.logits, batch.bias, batch.mask,
                     t->experts, t->active, tokens, q);
    ensures selected: \result == PHIBAL_OK && ranked(batch.router) ==>
      run_selected(runs.count, batch.router->gate, batch.logits, batch.bias, batch.mask, t->experts,
                   t->active, tokens, r);
    ensures counted: \result == PHIBAL_OK ==> run_counts_tokens(counted, batch.mask, tokens, r);
    ensures sums: \result == PHIBAL_OK ==>
      run_sums(runs.sum, batch.router->gate, batch.logits, batch.mask, t->experts, tokens, r); */
static phibal_status loads_add_numbered(phibal_reference_token *t, phibal_reference_batch batch,
                                        int64_t tokens, loads_runs runs, int r, int64_t *counted);

/*@ requires \valid_read(batch.router);
    requires 1 <= batch.router->active <= batch.router->experts <= PHIBAL_MAX_EXPERTS;
    requires OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires token_rows(batch.logits, batch.mask, tokens, batch.router->experts);
    requires batch.bias != \null ==>
      \valid_read(batch.bias + (0 .. batch.router->experts - 1));
    requires \valid(runs.count + (0 .. LOADS_RUNS * batch.router->experts - 1)) &&
             counts_below(runs.count, LOADS_RUNS * batch.router->experts, 0);
    requires runs.sum == \null ||
             (vector_output(runs.sum, LOADS_RUNS * batch.router->experts) &&
              vector_in_use(runs.sum, LOADS_RUNS * batch.router->experts));
    requires no_sums(runs.sum, 0, LOADS_RUNS * batch.router->experts);
    requires \valid(counted + (0 .. LOADS_RUNS - 1)) && \valid(status + (0 .. LOADS_RUNS - 1));
    requires \separated(batch.router, status + (0 .. LOADS_RUNS - 1));
    requires \separated(counted + (0 .. LOADS_RUNS - 1),
                        runs.count + (0 .. LOADS_RUNS * batch.router->experts - 1));
    terminates \true;
    exits \false;
    assigns runs.count[0 .. LOADS_RUNS * batch.router->experts - 1],
            runs.sum[0 .. LOADS_RUNS * batch.router->experts - 1], counted[0 .. LOADS_RUNS - 1],
            status[0 .. LOADS_RUNS - 1], TOKEN_ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures sums_ready(runs.sum, LOADS_RUNS * \old(batch.router->experts));
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      sums_apart(r, runs.sum, LOADS_RUNS * \old(batch.router->experts)) ==> same{Pre, Here}(r);
    ensures counted: (\forall integer r; 0 <= r < LOADS_RUNS ==> status[r] == PHIBAL_OK) ==>
      runs_counted(counted, LOADS_RUNS) &&
      runs_counts(runs.count, LOADS_RUNS * \old(batch.router->experts));
    ensures tokens: (\forall integer r; 0 <= r < LOADS_RUNS ==> status[r] == PHIBAL_OK) ==>
      \forall integer r; 0 <= r < LOADS_RUNS ==>
        run_counts_tokens(counted, batch.mask, tokens, r);
    ensures sums: (\forall integer r; 0 <= r < LOADS_RUNS ==> status[r] == PHIBAL_OK) ==>
      runs_sums(runs.sum, \old(batch.router->gate), batch.logits, batch.mask,
                \old(batch.router->experts), tokens);
    ensures selected: (\forall integer r; 0 <= r < LOADS_RUNS ==> status[r] == PHIBAL_OK) &&
      ranked{Pre}(batch.router) ==>
        runs_selected(runs.count, batch.router->gate, batch.logits, batch.bias, batch.mask,
                      \old(batch.router->experts), \old(batch.router->active), tokens); */
static void loads_run_all(phibal_reference_batch batch, int64_t tokens, mpfr_prec_t precision,
                          loads_runs runs, int64_t *counted, phibal_status *status);

/*@ requires 0 <= tokens && \valid_read(status + (0 .. LOADS_RUNS - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==>
      (\forall integer r; 0 <= r < LOADS_RUNS ==> status[r] == PHIBAL_OK); */
static phibal_status loads_status(int64_t tokens, const phibal_status *status);

/*@ requires \valid_read(counted + (0 .. LOADS_RUNS - 1));
    requires runs_counted(counted, LOADS_RUNS);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures 0 <= \result;
    ensures tokens: \forall uint8_t *mask, integer tokens; 0 <= tokens &&
      (\forall integer r; 0 <= r < LOADS_RUNS ==> run_counts_tokens(counted, mask, tokens, r)) ==>
        \result == tokens_counted(mask, tokens); */
static int64_t loads_counted(const int64_t *counted);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && 0 <= e < experts;
    requires \valid_read(runs + (0 .. LOADS_RUNS * experts - 1));
    requires runs_counts(runs, LOADS_RUNS * experts);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures 0 <= \result;
    ensures selected:
      \forall integer gate, active, tokens, float *x, float *bias, uint8_t *mask; 0 <= tokens &&
        runs_selected(runs, gate, x, bias, mask, experts, active, tokens) ==>
          \result == selected_count(gate, x, bias, mask, experts, active, e, tokens); */
static int64_t loads_count(const int64_t *runs, int32_t experts, int32_t e);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS;
    requires \valid_read(runs + (0 .. LOADS_RUNS * experts - 1));
    requires runs_counts(runs, LOADS_RUNS * experts);
    requires \valid(count + (0 .. experts - 1)) &&
             \separated(count + (0 .. experts - 1), runs + (0 .. LOADS_RUNS * experts - 1));
    terminates \true;
    exits \false;
    assigns count[0 .. experts - 1];
    ensures \forall integer e; 0 <= e < experts ==> 0 <= count[e];
    ensures selected:
      \forall integer gate, active, tokens, float *x, float *bias, uint8_t *mask; 0 <= tokens &&
        runs_selected{Pre}(runs, gate, x, bias, mask, experts, active, tokens) ==>
          counts_held(count, gate, x, bias, mask, experts, active, tokens); */
static void loads_counts(const int64_t *runs, int32_t experts, int64_t *count);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && 0 <= e < experts;
    requires vector_input(sum, LOADS_RUNS * experts) && output(total) &&
             vector_apart(total, sum, LOADS_RUNS * experts);
    terminates \true;
    exits \false;
    assigns *total;
    ensures enclosure(total) && only_written{Pre, Here}(total);
    ensures value: \result == PHIBAL_OK ==>
      \forall integer gate, float *x, uint8_t *mask, integer tokens;
        0 <= tokens && runs_sums{Pre}(sum, gate, x, mask, experts, tokens) && sum != \null ==>
          in(total, probability_sum(gate, x, mask, experts, e, tokens)); */
static phibal_status loads_total(const phibal_enclosure *sum, int32_t experts, int32_t e,
                                 phibal_enclosure *total);

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && 0 <= e < experts;
    requires vector_input(sum, LOADS_RUNS * experts) && vector_output(t, 2) && output(mean);
    requires vector_apart(t + 1, sum, LOADS_RUNS * experts) && vector_apart(mean, t, 2);
    terminates \true;
    exits \false;
    assigns t[1], *mean;
    ensures enclosure(t + 1) && enclosure(mean) && only_two_written{Pre, Here}(t + 1, mean);
    ensures value: \result == PHIBAL_OK ==>
      \forall integer gate, float *x, uint8_t *mask, integer tokens;
        0 <= tokens && runs_sums{Pre}(sum, gate, x, mask, experts, tokens) && sum != \null &&
        0 < tokens_counted(mask, tokens) && in{Pre}(t + 0, tokens_counted(mask, tokens)) ==>
          in(mean, mean_probability(gate, x, mask, experts, e, tokens)); */
static phibal_status loads_mean(const phibal_enclosure *sum, int32_t experts, int32_t e,
                                phibal_enclosure *t, phibal_enclosure *mean);

/*@ ghost
  /@ requires vectors_apart(x, k, y, n);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures vectors_apart(y, n, x, k); @/
  void apart_back(const phibal_enclosure *x, int32_t k, const phibal_enclosure *y, int32_t n) {}
*/

/*@ requires 1 <= experts <= PHIBAL_MAX_EXPERTS && 0 < counted;
    requires vector_input(sum, LOADS_RUNS * experts) && vector_output(t, 2) &&
             vector_output(mean, experts);
    requires vectors_apart(sum, LOADS_RUNS * experts, t, 2) &&
             vectors_apart(mean, experts, t, 2) &&
             vectors_apart(sum, LOADS_RUNS * experts, mean, experts);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], mean[0 .. experts - 1];
    ensures vector_output(t, 2);
    ensures vector_output(mean, experts);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 2) &&
      vector_apart(r, mean, experts) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==>
      \forall integer gate, float *x, uint8_t *mask, integer tokens;
        0 <= tokens && runs_sums{Pre}(sum, gate, x, mask, experts, tokens) && sum != \null &&
        counted == tokens_counted(mask, tokens) ==>
          means_held(mean, gate, x, mask, experts, tokens); */
static phibal_status loads_means(const phibal_enclosure *sum, int32_t experts, int64_t counted,
                                 phibal_enclosure *t, phibal_enclosure *mean);

/*@ requires \valid_read(batch.router);
    requires 1 <= batch.router->active <= batch.router->experts <= PHIBAL_MAX_EXPERTS;
    requires OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires token_rows(batch.logits, batch.mask, tokens, batch.router->experts);
    requires batch.bias != \null ==>
      \valid_read(batch.bias + (0 .. batch.router->experts - 1));
    requires \separated(batch.router, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires runs.count == count_heap &&
             \valid(runs.count + (0 .. LOADS_RUNS * batch.router->experts - 1)) &&
             counts_below(runs.count, LOADS_RUNS * batch.router->experts, 0);
    requires mean == \null <==> runs.sum == \null;
    requires runs.sum == \null ||
             (vector_output(runs.sum, LOADS_RUNS * batch.router->experts) &&
              vector_in_use(runs.sum, LOADS_RUNS * batch.router->experts));
    requires mean == \null ||
             (vector_output(mean, batch.router->experts) &&
              vector_in_use(mean, batch.router->experts) &&
              vectors_apart(runs.sum, LOADS_RUNS * batch.router->experts, t, 2) &&
              vectors_apart(mean, batch.router->experts, t, 2) &&
              vectors_apart(runs.sum, LOADS_RUNS * batch.router->experts, mean,
                            batch.router->experts));
    requires no_sums(runs.sum, 0, LOADS_RUNS * batch.router->experts);
    requires vector_output(t, 2) && vector_in_use(t, 2);
    requires count == \null || (\valid(count + (0 .. batch.router->experts - 1)) &&
      \separated(count + (0 .. batch.router->experts - 1),
                 count_heap + (0 .. COUNT_HEAP_SIZE - 1)));
    requires counted == \null || (\valid(counted) &&
      \separated(counted, count_heap + (0 .. COUNT_HEAP_SIZE - 1)));
    terminates \true;
    exits \false;
    assigns t[0 .. 1], mean[0 .. batch.router->experts - 1],
            count[0 .. batch.router->experts - 1], *counted,
            runs.sum[0 .. LOADS_RUNS * batch.router->experts - 1], LOADS_ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures vector_output(t, 2) && sums_ready(mean, \old(batch.router->experts)) &&
            sums_ready(runs.sum, LOADS_RUNS * \old(batch.router->experts));
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      vector_apart(r, t, 2) && sums_apart(r, mean, \old(batch.router->experts)) &&
      sums_apart(r, runs.sum, LOADS_RUNS * \old(batch.router->experts)) ==> same{Pre, Here}(r);
    ensures counted: \result == PHIBAL_OK && counted != \null &&
      count_apart(counted, count, \old(batch.router->experts)) ==>
        *counted == tokens_counted(batch.mask, tokens);
    ensures means: \result == PHIBAL_OK && mean != \null ==>
      means_held(mean, \old(batch.router->gate), batch.logits, batch.mask,
                 \old(batch.router->experts), tokens);
    ensures counts: \result == PHIBAL_OK && count != \null &&
      ranked{Pre}(batch.router) ==>
        counts_held(count, \old(batch.router->gate), batch.logits, batch.bias, batch.mask,
                    \old(batch.router->experts), \old(batch.router->active), tokens); */
static phibal_status loads_compute(phibal_reference_batch batch, int64_t tokens,
                                   mpfr_prec_t precision, loads_runs runs, phibal_enclosure *t,
                                   phibal_enclosure *mean, int64_t *count, int64_t *counted);

/*@ requires 0 <= experts && \valid_read(logits + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK <==> finite_floats(logits, experts); */
static phibal_status loads_check_row(const char *name, int64_t i, int32_t experts,
                                     const float *logits);

/*@ requires batch.router == \null || \valid_read(batch.router);
    requires batch.router != \null && batch.logits != \null && 0 <= tokens &&
      1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS ==>
        token_rows(batch.logits, batch.mask, tokens, batch.router->experts);
    requires batch.router != \null && batch.bias != \null &&
      1 <= batch.router->experts <= PHIBAL_MAX_EXPERTS ==>
        \valid_read(batch.bias + (0 .. batch.router->experts - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> batch.router != \null && 0 <= tokens &&
      (0 < tokens ==> batch.logits != \null) && precision >= OPERATION_PRECISION;
    ensures \result == PHIBAL_OK ==>
      1 <= batch.router->active <= batch.router->experts <= PHIBAL_MAX_EXPERTS; */
static phibal_status loads_check(phibal_reference_batch batch, int64_t tokens,
                                 mpfr_prec_t precision);

/*@ requires \valid_read(batch.router);
    requires 1 <= batch.router->active <= batch.router->experts <= PHIBAL_MAX_EXPERTS;
    requires OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires token_rows(batch.logits, batch.mask, tokens, batch.router->experts);
    requires batch.bias != \null ==>
      \valid_read(batch.bias + (0 .. batch.router->experts - 1));
    requires \separated(batch.router, index_heap + (0 .. INDEX_HEAP_SIZE - 1));
    requires mean == \null <==> sum == \null;
    requires sum == \null || (vector_output(sum, LOADS_RUNS * batch.router->experts) &&
      vector_in_use(sum, LOADS_RUNS * batch.router->experts));
    requires no_sums(sum, 0, LOADS_RUNS * batch.router->experts);
    requires mean == \null ||
             (vector_output(mean, batch.router->experts) &&
              vector_in_use(mean, batch.router->experts) &&
              vectors_apart(sum, LOADS_RUNS * batch.router->experts, t, 2) &&
              vectors_apart(mean, batch.router->experts, t, 2) &&
              vectors_apart(sum, LOADS_RUNS * batch.router->experts, mean,
                            batch.router->experts));
    requires vector_output(t, 2) && vector_in_use(t, 2);
    requires count == \null || (\valid(count + (0 .. batch.router->experts - 1)) &&
      \separated(count + (0 .. batch.router->experts - 1),
                 count_heap + (0 .. COUNT_HEAP_SIZE - 1)));
    requires counted == \null || (\valid(counted) &&
      \separated(counted, count_heap + (0 .. COUNT_HEAP_SIZE - 1)));
    terminates \true;
    exits \false;
    assigns t[0 .. 1], mean[0 .. batch.router->experts - 1],
            count[0 .. batch.router->experts - 1], *counted,
            sum[0 .. LOADS_RUNS * batch.router->experts - 1], LOADS_ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures vector_output(t, 2) && sums_ready(mean, \old(batch.router->experts)) &&
            sums_ready(sum, LOADS_RUNS * \old(batch.router->experts));
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      vector_apart(r, t, 2) && sums_apart(r, mean, \old(batch.router->experts)) &&
      sums_apart(r, sum, LOADS_RUNS * \old(batch.router->experts)) ==> same{Pre, Here}(r);
    ensures counted: \result == PHIBAL_OK && counted != \null &&
      count_apart(counted, count, \old(batch.router->experts)) ==>
        *counted == tokens_counted(batch.mask, tokens);
    ensures means: \result == PHIBAL_OK && mean != \null ==>
      means_held(mean, \old(batch.router->gate), batch.logits, batch.mask,
                 \old(batch.router->experts), tokens);
    ensures counts: \result == PHIBAL_OK && count != \null &&
      ranked{Pre}(batch.router) ==>
        counts_held(count, \old(batch.router->gate), batch.logits, batch.bias, batch.mask,
                    \old(batch.router->experts), \old(batch.router->active), tokens); */
static phibal_status loads_with_counts(phibal_reference_batch batch, int64_t tokens,
                                       mpfr_prec_t precision, phibal_enclosure *sum,
                                       phibal_enclosure *t, phibal_enclosure *mean, int64_t *count,
                                       int64_t *counted);

/*@ requires 1 <= experts && \valid_read(count + (0 .. experts - 1));
    requires vector_output(frequency, experts) && output(numerator) && input(divisor);
    requires vector_apart(divisor, frequency, experts) &&
             vector_apart(numerator, frequency, experts) && \separated(numerator, divisor);
    terminates \true;
    exits \false;
    assigns frequency[0 .. experts - 1], *numerator;
    ensures vector_output(frequency, experts) && enclosure(numerator);
    ensures only_with_vector_written{Pre, Here}(numerator, frequency, experts);
    ensures \result == PHIBAL_OK ==> \forall integer e, real a;
      0 <= e < experts && in{Pre}(divisor, a) && a > 0.0 ==>
        in(frequency + e, (real)count[e] / a); */
static phibal_status frequency_divide(int32_t experts, const int64_t *count,
                                      phibal_enclosure *numerator, const phibal_enclosure *divisor,
                                      phibal_enclosure *frequency);

#endif
