/* Loads over a batch: mean probabilities (R6), counts and frequencies (R7). */
#include "operation.h"
#include <stdlib.h>
#include <phibal/acsl/contracts/inside/loads_results.h>
#include <phibal/acsl/contracts/inside/product.h>
#include <phibal/acsl/contracts/inside/router_ranks.h>
#include <phibal/acsl/contracts/inside/token_heap.h>

/* Tokens are summed in this many runs whatever the number of threads, and the runs are then added
   in order: the enclosures never depend on the threads. */
#define LOADS_RUNS 64

/* What the runs add up to: of run r, counts and sums of E experts from r E on. */
typedef struct loads_runs {
  int64_t *count;
  phibal_enclosure *sum; /* null: no means are wanted */
} loads_runs;

/* n counts, all 0, or null when memory is out. Proofs know the memory as <phibal/acsl/loads.h>
 * says. */
#ifdef __FRAMAC__
/*@ requires 0 < n <= COUNT_HEAP_SIZE;
    terminates \true;
    exits \false;
    assigns count_heap[0 .. COUNT_HEAP_SIZE - 1];
    assigns \result \from n, count_heap;
    ensures \result == \null || (\result == count_heap && \valid(\result + (0 .. n - 1)) &&
      counts_below(\result, n, 0)); */
static int64_t *counts_new(size_t n);
/*@ terminates \true;
    exits \false;
    assigns \nothing; */
static void counts_free(int64_t *count);
#else
static int64_t *counts_new(size_t n) {
  return calloc(n, sizeof(int64_t));
}

static void counts_free(int64_t *count) {
  free(count);
}
#endif

#include <phibal/acsl/contracts/inside/loads_static.h>

/* Counts the experts that the token selects. */
static void counts_add(const phibal_reference_token *t, int64_t *count) {
  /*@ loop invariant index: 0 <= s <= t->active;
      loop invariant raised: counts_raised{Pre, Here}(count, t->experts, s);
      loop invariant held: slots_differ(t->selection, t->active) ==>
        \forall integer e; 0 <= e < t->experts ==>
          (slot_of(t->selection, s, e) ==> count[e] == \at(count[e], Pre) + 1) &&
          (!slot_of(t->selection, s, e) ==> count[e] == \at(count[e], Pre));
      loop assigns s, count[0 .. t->experts - 1];
      loop variant t->active - s; */
  for (int32_t s = 0; s < t->active; s++) count[t->selection[s]]++;
}

/* sum += x. */
static phibal_status sums_add(int32_t n, const phibal_enclosure *x, phibal_enclosure *sum) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant outputs: vector_output(sum, n);
      loop invariant frame: only_vector_written{Pre, Here}(sum, n);
      loop invariant left: \forall integer i; e <= i < n ==> same{Pre, Here}(sum + i);
      loop invariant terms: vector_same{Pre, Here}(x, n);
      loop invariant added: \forall integer i, real a, b;
        0 <= i < e && in{Pre}(sum + i, a) && in{Pre}(x + i, b) ==> in(sum + i, a + b);
      loop assigns e, sum[0 .. n - 1];
      loop variant n - e; */
  for (int32_t e = 0; e < n; e++) {
    //@ assert arguments: same{Pre, Here}(sum + e) && same{Pre, Here}(x + e);
    phibal_status status = phibal_enclosure_add(&sum[e], &sum[e], &x[e]);
    //@ assert others: \forall integer i; 0 <= i < n && i != e ==> same{LoopCurrent, Here}(sum + i);
    //@ assert outputs: vector_output(sum, n);
    if (status != PHIBAL_OK) return status;
    /*@ assert element: \forall real a, b; in{Pre}(sum + e, a) && in{Pre}(x + e, b) ==>
          in(sum + e, a + b); */
  }
  return PHIBAL_OK;
}

/* Selects the token's experts and counts them. */
static phibal_status loads_count_token(phibal_reference_token *t, phibal_reference_batch batch,
                                       const float *logits, int64_t *count) {
  TRY(phibal_reference_token_select(t, batch.router, logits, batch.bias));
  //@ assert differ: slots_differ(t->selection, t->active);
  /*@ ghost
    if (batch.router->group_score == PHIBAL_GROUP_NONE) {
      scores_of_router(batch.router->gate, t->experts, logits, batch.bias, t->score);
      selection_holds(t->score, batch.router->gate, logits, batch.bias, t->selection, t->active,
                      t->experts);
    } */
  counts_add(t, count);
  return PHIBAL_OK;
}

/* Adds the token's probabilities. */
static phibal_status loads_sum_token(phibal_reference_token *t, const phibal_router *router,
                                     const float *logits, phibal_enclosure *sum) {
  //@ assert use_enclosure;
  TRY(reference_token_probabilities(t, router, logits));
  /*@ assert sizes: t->experts == \at(t->experts, Pre) &&
        t->probability == \at(t->probability, Pre); */
  /*@ assert left: \forall integer i; 0 <= i < t->experts ==> same{Pre, Here}(sum + i); */
  //@ assert apart: sums_token_apart(t, sum, t->experts);
  //@ assert sums: vector_output(sum, t->experts);
  //@ ghost token_probabilities(t);
  //@ ghost token_sums(t, sum);
  //@ assert range: \separated(t, sum + (0 .. t->experts - 1));
  /*@ assert terms: \forall integer e; 0 <= e < t->experts ==>
        in(t->probability + e, probability(router->gate, logits, t->experts, e)); */
  phibal_status status = sums_add(t->experts, t->probability, sum);
  /*@ assert addresses: t->probability == \at(t->probability, Pre) &&
        t->selection == \at(t->selection, Pre) && t->gate == \at(t->gate, Pre) &&
        t->gradient == \at(t->gradient, Pre) && t->condition == \at(t->condition, Pre) &&
        t->weight == \at(t->weight, Pre) && t->part == \at(t->part, Pre) &&
        t->score == \at(t->score, Pre); */
  //@ assert fields: token_same{Pre, Here}(t);
  //@ assert vectors: token_vectors(t);
  //@ assert scratch: token_scratch(t);
  return status;
}

/* Adds a token to what a run counts and, unless sum is null, sums. */
static phibal_status loads_add_token(phibal_reference_token *t, phibal_reference_batch batch,
                                     const float *logits, loads_runs run) {
  //@ assert use_enclosure;
  //@ ghost token_elsewhere(t);
  phibal_status status = loads_count_token(t, batch, logits, run.count);
  //@ assert sizes: t->experts == \at(t->experts, Pre);
  /*@ assert kept: \forall phibal_enclosure *r; \valid_read(r) && token_apart{Pre}(t, r) ==>
        token_apart(t, r) && same{Pre, Here}(r); */
  //@ assert apart: sums_token_apart(t, run.sum, t->experts);
  //@ assert sums: sums_ready(run.sum, t->experts);
  /*@ assert sums_left: run.sum != \null ==> \forall integer e; 0 <= e < t->experts ==>
        same{Pre, Here}(run.sum + e); */
  if (status != PHIBAL_OK || !run.sum) return status;
  return loads_sum_token(t, batch.router, logits, run.sum);
}

/* Tokens first .. end-1; *counted of them are not masked. */
static phibal_status loads_add_run(phibal_reference_token *t, phibal_reference_batch batch,
                                   int64_t first, int64_t end, loads_runs run, int64_t *counted) {
  //@ assert use_enclosure;
  const int32_t experts = t->experts;
  //@ ghost const int by_rank = batch.router->group_score == PHIBAL_GROUP_NONE;
  /*@ ghost const int32_t active = t->active;
            int32_t *selection = t->selection;
            double *score = t->score;
            phibal_enclosure *probability = t->probability, *weight = t->weight; */
  //@ ghost product_ordered(end - first, end, experts);
  //@ assert most: (end - first) * experts <= end * experts <= TOKEN_LOGITS_MAX;
  //@ assert rows: 0 < end ==> \valid_read(batch.logits + (0 .. end * experts - 1));
  *counted = 0;
  /*@ assert nothing: sums_between(run.sum, batch.router->gate, batch.logits, batch.mask, experts,
        first, first); */
  /*@ loop invariant index: first <= i <= end && 0 <= *counted <= i - first;
      loop invariant experts: t->experts == experts;
      loop invariant token: token_ready(t) && token_same{Pre, Here}(t);
      loop invariant counts: counts_below(run.count, experts, (i - first) * experts);
      loop invariant sums: sums_ready(run.sum, t->experts);
      loop invariant frame: only_loads_written{Pre, Here}(t, run.sum, t->experts);
      loop invariant counted: *counted == counted_between(batch.mask, first, i);
      loop invariant held: sums_between(run.sum, batch.router->gate, batch.logits, batch.mask,
        experts, first, i);
      loop invariant selected: by_rank != 0 ==>
        counts_between(run.count, batch.router->gate, batch.logits, batch.bias, batch.mask, experts,
                       active, first, i);
      loop assigns i, run.count[0 .. experts - 1], run.sum[0 .. experts - 1], *counted,
        selection[0 .. active - 1], score[0 .. experts - 1], probability[0 .. experts - 1],
        weight[0 .. experts - 1], t->total, t->term, t->factor, t->logsumexp, t->logsumexp_terms;
      loop variant end - i; */
  for (int64_t i = first; i < end; i++) {
    //@ ghost product_next(i, experts);
    //@ ghost product_ordered(i + 1, end, experts);
    //@ ghost product_next(i - first, experts);
    //@ ghost product_ordered(i - first + 1, end - first, experts);
    /*@ assert next: counted_between(batch.mask, first, i + 1) ==
          counted_between(batch.mask, first, i) + unmasked(batch.mask, i); */
    /*@ assert next_sum: \forall integer e;
          sum_between(batch.router->gate, batch.logits, batch.mask, experts, e, first, i + 1) ==
          sum_between(batch.router->gate, batch.logits, batch.mask, experts, e, first, i) +
            token_share(batch.router->gate, batch.logits, batch.mask, experts, e, i); */
    /*@ assert next_count: \forall integer e;
          selected_between(batch.router->gate, batch.logits, batch.bias, batch.mask, experts,
                           active, e, first, i + 1) ==
          selected_between(batch.router->gate, batch.logits, batch.bias, batch.mask, experts,
                           active, e, first, i) +
            token_selects(batch.router->gate, batch.logits, batch.bias, batch.mask, experts, active,
                          e, i); */
    if (batch.mask && !batch.mask[i]) {
      /*@ assert skipped: sums_between(run.sum, batch.router->gate, batch.logits, batch.mask,
            experts, first, i + 1); */
      continue;
    }
    //@ assert unmasked: unmasked(batch.mask, i) == 1;
    //@ assert row: 0 <= i * experts && i * experts + experts <= end * experts;
    //@ assert logits: \valid_read(batch.logits + (i * experts .. i * experts + experts - 1));
    //@ assert raise: (i - first) * experts + experts <= (end - first) * experts;
    //@ assert room: (i - first) * experts + experts <= TOKEN_LOGITS_MAX;
    /*@ assert elsewhere: \forall phibal_enclosure *r; token_apart{Pre}(t, r) ==>
          token_apart(t, r); */
    phibal_status status = loads_add_token(t, batch, batch.logits + i * experts, run);
    //@ assert experts: t->experts == experts;
    //@ assert same: token_same{Pre, Here}(t);
    //@ assert frame: only_loads_written{Pre, Here}(t, run.sum, experts);
    //@ assert raised: counts_below(run.count, experts, (i - first) * experts + experts);
    //@ assert below: counts_below(run.count, experts, (end - first) * experts);
    if (status != PHIBAL_OK) return status;
    /*@ assert added: run.sum != \null ==> \forall integer e; 0 <= e < experts ==>
          in(run.sum + e,
             sum_between(batch.router->gate, batch.logits, batch.mask, experts, e, first, i) +
             probability(batch.router->gate, batch.logits + i * experts, experts, e)); */
    /*@ assert shares: \forall integer e;
          token_share(batch.router->gate, batch.logits, batch.mask, experts, e, i) ==
          probability(batch.router->gate, batch.logits + i * experts, experts, e); */
    /*@ assert selects: \forall integer e;
          token_selects(batch.router->gate, batch.logits, batch.bias, batch.mask, experts, active,
                        e, i) ==
          (rank(batch.router->gate, batch.logits + i * experts, batch.bias, e,
                experts) < active ? 1 : 0); */
    /*@ assert raised_by: by_rank != 0 ==>
          counts_between(run.count, batch.router->gate, batch.logits, batch.bias, batch.mask,
                         experts, active, first, i + 1); */
    /*@ assert summed: sums_between(run.sum, batch.router->gate, batch.logits, batch.mask, experts,
          first, i + 1); */
    ++*counted;
  }
  return PHIBAL_OK;
}

/* The first of `tokens` tokens in run r; that of run LOADS_RUNS is `tokens`. */
static int64_t run_first(int64_t tokens, int r) {
  //@ assert open_runs;
  int64_t share = tokens / LOADS_RUNS, rest = tokens % LOADS_RUNS;
  //@ assert shared: tokens == share * LOADS_RUNS + rest && 0 <= share && 0 <= rest < LOADS_RUNS;
  return share * r + (r < rest ? r : rest);
}

/* The runs' places: counts and sums of run r. */
static loads_runs loads_run(loads_runs runs, int32_t experts, int r) {
  size_t first = (size_t)r * (size_t)experts;
  return (loads_runs){runs.count + first, runs.sum ? runs.sum + first : NULL};
}

/* Run r of `tokens` tokens; what it counts goes to counted[r]. */
static phibal_status loads_add_numbered(phibal_reference_token *t, phibal_reference_batch batch,
                                        int64_t tokens, loads_runs runs, int r, int64_t *counted) {
  //@ assert use_enclosure;
  const int32_t experts = t->experts;
  //@ ghost const int32_t active = t->active;
  int64_t first = run_first(tokens, r), end = run_first(tokens, r + 1);
  loads_runs run = loads_run(runs, experts, r);
  //@ ghost product_ordered(end, tokens, experts);
  //@ ghost product_ordered(r, LOADS_RUNS - 1, experts);
  //@ ghost run_places(r, experts);
  //@ ghost run_size(tokens, end - first, experts);
  //@ assert rows: token_rows(batch.logits, batch.mask, end, experts);
  //@ assert most: 0 <= end - first <= (end - first) * experts <= RUN_COUNT_MAX;
  //@ assert places: 0 <= r * experts && r * experts + experts <= LOADS_RUNS * experts;
  /*@ assert cells: \forall integer e; 0 <= e < experts ==>
        run.count + e == runs.count + (r * experts + e); */
  //@ assert count_places: \valid(run.count + (0 .. experts - 1));
  //@ assert counts: counts_below(run.count, experts, 0);
  /*@ assert sums: run.sum != \null ==> \forall integer e; 0 <= e < t->experts ==>
        run.sum + e == runs.sum + (r * t->experts + e); */
  /*@ assert inside: run.sum != \null ==> \forall integer j;
        r * t->experts <= j < r * t->experts + t->experts ==>
          runs.sum + j == run.sum + (j - r * t->experts); */
  /*@ assert outside: run.sum != \null ==> \forall integer j;
        0 <= j < r * t->experts || r * t->experts + t->experts <= j < LOADS_RUNS * t->experts ==>
          vector_apart(runs.sum + j, run.sum, t->experts) && token_apart(t, runs.sum + j); */
  //@ assert own_cells: \forall integer e; run_cell(experts, r, e) == r * experts + e;
  /*@ assert run_cells: run.sum != \null ==> \forall integer e; 0 <= e < experts ==>
        runs.sum + run_cell(experts, r, e) == run.sum + e; */
  /*@ assert count_cells: \forall integer e; 0 <= e < experts ==>
        runs.count + run_cell(experts, r, e) == run.count + e; */
  //@ assert run_sums: sums_ready(run.sum, t->experts);
  //@ assert run_apart: sums_token_apart(t, run.sum, t->experts);
  //@ assert run_empty: no_sums(run.sum, 0, t->experts);
  //@ ghost counting: ;
  phibal_status status = loads_add_run(t, batch, first, end, run, &counted[r]);
  //@ assert frame: only_loads_written{Pre, Here}(t, runs.sum, LOADS_RUNS * t->experts);
  //@ assert experts: t->experts == experts;
  //@ assert below: counts_below(run.count, experts, RUN_COUNT_MAX);
  /*@ assert cells_back: \forall integer i; r * experts <= i < r * experts + experts ==>
        runs.count + i == run.count + (i - r * experts); */
  /*@ assert outside_kept: run.sum != \null ==> \forall integer j;
        0 <= j < r * experts || r * experts + experts <= j < LOADS_RUNS * experts ==>
          same{Pre, Here}(runs.sum + j) && output(runs.sum + j); */
  /*@ assert inside_output: run.sum != \null ==> \forall integer j;
        r * experts <= j < r * experts + experts ==> output(runs.sum + j); */
  //@ assert sums_back: sums_ready(runs.sum, LOADS_RUNS * experts);
  /*@ assert held: status == PHIBAL_OK ==>
        sums_between(run.sum, batch.router->gate, batch.logits, batch.mask, experts, first, end); */
  /*@ assert held_cells: status == PHIBAL_OK && runs.sum != \null ==> \forall integer e;
        0 <= e < experts ==>
          runs.sum + run_cell(experts, r, e) == run.sum + e &&
          in(run.sum + e,
             sum_between(batch.router->gate, batch.logits, batch.mask, experts, e, first, end)); */
  /*@ assert held_back: status == PHIBAL_OK ==>
        run_sums(runs.sum, batch.router->gate, batch.logits, batch.mask, experts, tokens, r); */
  /*@ assert selected: status == PHIBAL_OK && ranked(batch.router) ==>
        counts_between(run.count, batch.router->gate, batch.logits, batch.bias, batch.mask, experts,
                       active, first, end); */
  /*@ assert selected_cells: status == PHIBAL_OK && ranked(batch.router) ==>
        \forall integer e; 0 <= e < experts ==>
          runs.count + run_cell(experts, r, e) == run.count + e &&
          run.count[e] == selected_between(batch.router->gate, batch.logits, batch.bias, batch.mask,
                                           experts, active, e, first, end); */
  /*@ assert selected_back: status == PHIBAL_OK && ranked(batch.router) ==>
        run_selected(runs.count, batch.router->gate, batch.logits, batch.bias, batch.mask, experts,
                     active, tokens, r); */
  /*@ assert counts_same: \forall integer q, e; 0 <= q < r && 0 <= e < experts ==>
        runs.count[run_cell(experts, q, e)] ==
          \at(runs.count[run_cell(experts, q, e)], counting); */
  /*@ assert addresses: t->experts == \at(t->experts, Pre) &&
        t->active == \at(t->active, Pre) && t->probability == \at(t->probability, Pre) &&
        t->selection == \at(t->selection, Pre) && t->gate == \at(t->gate, Pre) &&
        t->gradient == \at(t->gradient, Pre) && t->condition == \at(t->condition, Pre) &&
        t->weight == \at(t->weight, Pre) && t->part == \at(t->part, Pre) &&
        t->score == \at(t->score, Pre); */
  //@ assert heap: token_in_heap(t);
  /*@ assert cells_same: runs.sum != \null ==> \forall integer q, e;
        0 <= q < r && 0 <= e < experts ==> same{Pre, Here}(runs.sum + run_cell(experts, q, e)); */
  return status;
}

/* All runs; what run r counts goes to counted[r], how it ended to status[r]. */
static void loads_run_all(phibal_reference_batch batch, int64_t tokens, mpfr_prec_t precision,
                          loads_runs runs, int64_t *counted, phibal_status *status) {
  //@ assert use_enclosure;
  int32_t experts = batch.router->experts, active = batch.router->active;
#pragma omp parallel
  {
    phibal_reference_token t;
    phibal_status ready = phibal_reference_token_init(&t, experts, active, precision);
    /*@ assert new: ready == PHIBAL_OK && runs.sum != \null ==> \forall integer i;
          0 <= i < LOADS_RUNS * experts ==> token_apart(&t, runs.sum + i); */
    //@ assert sums_new: sums_ready(runs.sum, LOADS_RUNS * experts);
    //@ assert empty_new: no_sums(runs.sum, 0, LOADS_RUNS * experts);
#pragma omp for schedule(dynamic)
    /*@ loop invariant index: 0 <= r <= LOADS_RUNS;
        loop invariant token: ready == PHIBAL_OK ==> token_ready(&t) && t.experts == experts &&
          token_same{LoopEntry, Here}(&t);
        loop invariant sums: sums_ready(runs.sum, LOADS_RUNS * experts);
        loop invariant active: ready == PHIBAL_OK ==> t.active == active;
        loop invariant apart: ready == PHIBAL_OK ==>
          sums_token_apart(&t, runs.sum, LOADS_RUNS * experts);
        loop invariant elsewhere: ready == PHIBAL_OK ==> \forall phibal_enclosure *p;
          in_use{Pre}(p) && \valid_read{Pre}(p) ==> token_apart(&t, p);
        loop invariant frame: \forall phibal_enclosure *p; \valid_read{Pre}(p) &&
          in_use{Pre}(p) && sums_apart(p, runs.sum, LOADS_RUNS * experts) ==> same{Pre, Here}(p);
        loop invariant zeros: no_counts(runs.count, r * experts, LOADS_RUNS * experts);
        loop invariant heap: ready == PHIBAL_OK ==> token_in_heap(&t);
        loop invariant failed: ready != PHIBAL_OK ==>
          \forall integer q; 0 <= q < r ==> status[q] != PHIBAL_OK;
        loop invariant counted: ready == PHIBAL_OK ==> runs_counted(counted, r);
        loop invariant counts: ready == PHIBAL_OK ==>
          runs_counts(runs.count, r * experts);
        loop invariant empty: no_sums(runs.sum, r * experts, LOADS_RUNS * experts);
        loop invariant tokens: \forall integer q; 0 <= q < r && status[q] == PHIBAL_OK ==>
          run_counts_tokens(counted, batch.mask, tokens, q);
        loop invariant held: \forall integer q; 0 <= q < r && status[q] == PHIBAL_OK ==>
          run_sums(runs.sum, batch.router->gate, batch.logits, batch.mask, experts, tokens, q);
        loop invariant selected: \forall integer q; 0 <= q < r && status[q] == PHIBAL_OK &&
          ranked(batch.router) ==>
            run_selected(runs.count, batch.router->gate, batch.logits, batch.bias, batch.mask,
                         experts, active, tokens, q);
        loop assigns r, t, counted[0 .. LOADS_RUNS - 1], status[0 .. LOADS_RUNS - 1],
          runs.count[0 .. LOADS_RUNS * experts - 1], runs.sum[0 .. LOADS_RUNS * experts - 1],
          enclosure_heap[0 .. ENCLOSURE_HEAP_SIZE - 1], index_heap[0 .. INDEX_HEAP_SIZE - 1],
          score_heap[0 .. INDEX_HEAP_SIZE - 1];
        loop variant LOADS_RUNS - r; */
    for (int r = 0; r < LOADS_RUNS; r++) {
      //@ ghost product_next(r, experts);
      //@ ghost product_ordered(r + 1, LOADS_RUNS, experts);
      //@ assert place: 0 <= r * experts && r * experts + experts <= LOADS_RUNS * experts;
      status[r] = ready;
      /*@ assert counted_apart:
            \separated(counted + r, runs.count + (0 .. LOADS_RUNS * experts - 1)); */
      //@ assert empty_left: no_sums(runs.sum, r * experts + experts, LOADS_RUNS * experts);
      //@ assert zeros_left: no_counts(runs.count, r * experts + experts, LOADS_RUNS * experts);
      if (ready == PHIBAL_OK) {
        /*@ assert cells: t.experts == experts && 0 <= r * t.experts &&
              r * t.experts + t.experts <= LOADS_RUNS * t.experts; */
        status[r] = loads_add_numbered(&t, batch, tokens, runs, r, counted);
        //@ assert size: t.experts == experts && t.active == active;
        /*@ assert held_before: \forall integer q; 0 <= q < r && status[q] == PHIBAL_OK ==>
              run_sums(runs.sum, batch.router->gate, batch.logits, batch.mask, experts, tokens,
                       q); */
        /*@ assert held_own: status[r] == PHIBAL_OK ==>
              run_sums(runs.sum, batch.router->gate, batch.logits, batch.mask, experts, tokens,
                       r); */
        /*@ assert held_after: \forall integer q; 0 <= q < r + 1 && status[q] == PHIBAL_OK ==>
              run_sums(runs.sum, batch.router->gate, batch.logits, batch.mask, experts, tokens,
                       q); */
        /*@ assert selected_before: \forall integer q; 0 <= q < r && status[q] == PHIBAL_OK &&
              ranked(batch.router) ==>
                run_selected(runs.count, batch.router->gate, batch.logits, batch.bias, batch.mask,
                             experts, active, tokens, q); */
        /*@ assert selected_own: status[r] == PHIBAL_OK && ranked(batch.router) ==>
              run_selected(runs.count, batch.router->gate, batch.logits, batch.bias, batch.mask,
                           experts, active, tokens, r); */
        //@ assert empty_after: no_sums(runs.sum, r * experts + experts, LOADS_RUNS * experts);
      }
      //@ assert counted_all: ready == PHIBAL_OK ==> runs_counted(counted, r + 1);
      //@ assert left: no_counts(runs.count, r * experts + experts, LOADS_RUNS * experts);
      /*@ assert empty_ready: ready == PHIBAL_OK ==>
            no_sums(runs.sum, r * experts + experts, LOADS_RUNS * experts); */
      /*@ assert empty_failed: ready != PHIBAL_OK ==>
            no_sums(runs.sum, r * experts + experts, LOADS_RUNS * experts); */
    }
    //@ assert failed_first: ready != PHIBAL_OK ==> status[0] != PHIBAL_OK;
    if (ready == PHIBAL_OK) {
      //@ ghost token_whole(&t);
      //@ ghost run_places(LOADS_RUNS, experts);
      //@ ghost computed: ;
      phibal_reference_token_clear(&t);
      /*@ assert sums_same: runs.sum != \null ==> \forall integer i;
            0 <= i < LOADS_RUNS * experts ==> same{computed, Here}(runs.sum + i); */
      /*@ assert cells_same: runs.sum != \null ==> \forall integer q, i;
            0 <= q < LOADS_RUNS && 0 <= i < experts ==>
              same{computed, Here}(runs.sum + run_cell(experts, q, i)); */
      /*@ assert held_all: \forall integer q; 0 <= q < LOADS_RUNS && status[q] == PHIBAL_OK ==>
            run_sums(runs.sum, batch.router->gate, batch.logits, batch.mask, experts, tokens, q); */
    }
    //@ assert sums_left: sums_ready(runs.sum, LOADS_RUNS * experts);
    /*@ assert selected_left: (\forall integer r; 0 <= r < LOADS_RUNS ==>
          status[r] == PHIBAL_OK) && ranked(batch.router) ==>
            runs_selected(runs.count, batch.router->gate, batch.logits, batch.bias, batch.mask,
                          experts, active, tokens); */
    //@ assert gate: batch.router->gate == \at(batch.router->gate, Pre);
    /*@ assert held_left: (\forall integer r; 0 <= r < LOADS_RUNS ==> status[r] == PHIBAL_OK) ==>
          runs_sums(runs.sum, batch.router->gate, batch.logits, batch.mask, experts, tokens); */
  }
}

/* The first failure of the runs. */
static phibal_status loads_status(int64_t tokens, const phibal_status *status) {
  /*@ loop invariant index: 0 <= r <= LOADS_RUNS;
      loop invariant passed: \forall integer q; 0 <= q < r ==> status[q] == PHIBAL_OK;
      loop assigns r;
      loop variant LOADS_RUNS - r; */
  for (int r = 0; r < LOADS_RUNS; r++)
    if (status[r] != PHIBAL_OK)
      return phibal_status_set(status[r],
                               "phibal_reference_loads: tokens %lld to %lld could not be computed "
                               "(memory, or the precision cap of a sigmoid score)",
                               (long long)run_first(tokens, r),
                               (long long)run_first(tokens, r + 1) - 1);
  return PHIBAL_OK;
}

/* Tokens counted by all runs. */
static int64_t loads_counted(const int64_t *counted) {
  int64_t n = 0;
  //@ ghost run_ends();
  /*@ loop invariant index: 0 <= r <= LOADS_RUNS;
      loop invariant bound: 0 <= n <= r * RUN_COUNT_MAX;
      loop invariant tokens: \forall uint8_t *mask, integer tokens; 0 <= tokens &&
        (\forall integer q; 0 <= q < LOADS_RUNS ==>
          run_counts_tokens(counted, mask, tokens, q)) ==>
            n == tokens_counted(mask, run_begin(tokens, r));
      loop assigns r, n;
      loop variant LOADS_RUNS - r; */
  for (int r = 0; r < LOADS_RUNS; r++) {
    /*@ assert run: \forall uint8_t *mask, integer tokens;
          (\forall integer q; 0 <= q < LOADS_RUNS ==>
            run_counts_tokens(counted, mask, tokens, q)) ==>
              tokens_counted(mask, run_begin(tokens, r + 1)) ==
                tokens_counted(mask, run_begin(tokens, r)) + counted[r]; */
    n += counted[r];
  }
  return n;
}

/* What the runs count of expert e. */
static int64_t loads_count(const int64_t *runs, int32_t experts, int32_t e) {
  int64_t n = 0;
  //@ ghost run_ends();
  /*@ loop invariant index: 0 <= r <= LOADS_RUNS;
      loop invariant bound: 0 <= n <= r * RUN_COUNT_MAX;
      loop invariant selected:
        \forall integer gate, active, tokens, float *x, float *bias, uint8_t *mask; 0 <= tokens &&
          runs_selected(runs, gate, x, bias, mask, experts, active, tokens) ==>
            n == selected_count(gate, x, bias, mask, experts, active, e, run_begin(tokens, r));
      loop assigns r, n;
      loop variant LOADS_RUNS - r; */
  for (int r = 0; r < LOADS_RUNS; r++) {
    size_t place = (size_t)r * (size_t)experts + (size_t)e;
    //@ ghost product_ordered(r, LOADS_RUNS - 1, experts);
    //@ assert place: place == r * experts + e && 0 <= place < LOADS_RUNS * experts;
    //@ ghost run_places(r, experts);
    //@ assert cell: place == run_cell(experts, r, e);
    //@ assert counted: runs[place] == runs[run_cell(experts, r, e)];
    /*@ assert share:
          \forall integer gate, active, tokens, float *x, float *bias, uint8_t *mask;
          runs_selected(runs, gate, x, bias, mask, experts, active, tokens) ==>
            run_selected(runs, gate, x, bias, mask, experts, active, tokens, r); */
    /*@ assert cell_share:
          \forall integer gate, active, tokens, float *x, float *bias, uint8_t *mask;
          runs_selected(runs, gate, x, bias, mask, experts, active, tokens) ==>
            runs[run_cell(experts, r, e)] ==
              selected_between(gate, x, bias, mask, experts, active, e, run_begin(tokens, r),
                               run_begin(tokens, r + 1)); */
    /*@ assert run:
          \forall integer gate, active, tokens, float *x, float *bias, uint8_t *mask;
          runs_selected(runs, gate, x, bias, mask, experts, active, tokens) ==>
            selected_count(gate, x, bias, mask, experts, active, e, run_begin(tokens, r + 1)) ==
              selected_count(gate, x, bias, mask, experts, active, e, run_begin(tokens, r)) +
                runs[place]; */
    n += runs[place];
  }
  return n;
}

/* Tokens of each expert, over all runs. */
static void loads_counts(const int64_t *runs, int32_t experts, int64_t *count) {
  //@ ghost run_places(LOADS_RUNS, experts);
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant counts: \forall integer i; 0 <= i < e ==> 0 <= count[i];
      loop invariant runs: runs_counts(runs, LOADS_RUNS * experts);
      loop invariant same: \forall integer i; 0 <= i < LOADS_RUNS * experts ==>
        runs[i] == \at(runs[i], Pre);
      loop invariant selected:
        \forall integer gate, active, tokens, float *x, float *bias, uint8_t *mask; 0 <= tokens &&
          runs_selected{Pre}(runs, gate, x, bias, mask, experts, active, tokens) ==>
            \forall integer i; 0 <= i < e ==>
              count[i] == selected_count(gate, x, bias, mask, experts, active, i, tokens);
      loop assigns e, count[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    /*@ assert cells_same: \forall integer r, i; 0 <= r < LOADS_RUNS && 0 <= i < experts ==>
          runs[run_cell(experts, r, i)] == \at(runs[run_cell(experts, r, i)], Pre); */
    /*@ assert runs_same:
          \forall integer gate, active, tokens, float *x, float *bias, uint8_t *mask;
            runs_selected{Pre}(runs, gate, x, bias, mask, experts, active, tokens) ==>
              runs_selected(runs, gate, x, bias, mask, experts, active, tokens); */
    count[e] = loads_count(runs, experts, e);
  }
}

/* total = the sum of the runs' sums for expert e. */
static phibal_status loads_total(const phibal_enclosure *sum, int32_t experts, int32_t e,
                                 phibal_enclosure *total) {
  //@ assert use_enclosure;
  //@ ghost run_ends();
  phibal_enclosure_set_si(total, 0);
  /*@ assert nothing: \forall integer gate, float *x, uint8_t *mask, integer tokens;
        0 <= tokens ==>
          in(total, probability_sum(gate, x, mask, experts, e, run_begin(tokens, 0))); */
  /*@ loop invariant index: 0 <= r <= LOADS_RUNS;
      loop invariant output: enclosure(total);
      loop invariant frame: only_written{Pre, Here}(total);
      loop invariant value: \forall integer gate, float *x, uint8_t *mask, integer tokens;
        0 <= tokens && runs_sums{Pre}(sum, gate, x, mask, experts, tokens) && sum != \null ==>
          in(total, probability_sum(gate, x, mask, experts, e, run_begin(tokens, r)));
      loop assigns r, *total;
      loop variant LOADS_RUNS - r; */
  for (int r = 0; r < LOADS_RUNS; r++) {
    size_t place = (size_t)r * (size_t)experts + (size_t)e;
    //@ ghost product_ordered(r, LOADS_RUNS - 1, experts);
    //@ assert place: place == r * experts + e && 0 <= place < LOADS_RUNS * experts;
    //@ ghost run_places(r, experts);
    //@ assert cell: place == run_cell(experts, r, e);
    //@ assert term: same{Pre, Here}(sum + place);
    /*@ assert share: \forall integer gate, float *x, uint8_t *mask, integer tokens;
          0 <= tokens && runs_sums{Pre}(sum, gate, x, mask, experts, tokens) && sum != \null ==>
            in(sum + place, sum_between(gate, x, mask, experts, e, run_begin(tokens, r),
                                        run_begin(tokens, r + 1))); */
    TRY(phibal_enclosure_add(total, total, &sum[place]));
    /*@ assert added: \forall integer gate, float *x, uint8_t *mask, integer tokens;
          0 <= tokens && runs_sums{Pre}(sum, gate, x, mask, experts, tokens) && sum != \null ==>
            in(total, probability_sum(gate, x, mask, experts, e, run_begin(tokens, r)) +
                        sum_between(gate, x, mask, experts, e, run_begin(tokens, r),
                                    run_begin(tokens, r + 1))); */
  }
  return PHIBAL_OK;
}

/* (R6) mean = the runs' sums for expert e / t[0]; t[1] is a temporary. */
static phibal_status loads_mean(const phibal_enclosure *sum, int32_t experts, int32_t e,
                                phibal_enclosure *t, phibal_enclosure *mean) {
  //@ assert use_enclosure;
  TRY(loads_total(sum, experts, e, &t[1]));
  return phibal_enclosure_div(mean, &t[1], &t[0]);
}

/* (R6) for every expert, over `counted` tokens. */
static phibal_status loads_means(const phibal_enclosure *sum, int32_t experts, int64_t counted,
                                 phibal_enclosure *t, phibal_enclosure *mean) {
  //@ assert use_enclosure;
  //@ ghost apart_back(sum, LOADS_RUNS * experts, t, 2);
  //@ ghost run_places(LOADS_RUNS, experts);
  phibal_enclosure_set_si(&t[0], (long)counted);
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant scratch: vector_output(t, 2);
      loop invariant means: vector_output(mean, experts);
      loop invariant sums: vector_input(sum, LOADS_RUNS * experts);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 2) && vector_apart(r, mean, experts) ==> same{Pre, Here}(r);
      loop invariant divisor: in(t + 0, (real)counted);
      loop invariant values: \forall integer gate, float *x, uint8_t *mask, integer tokens;
        0 <= tokens && runs_sums{Pre}(sum, gate, x, mask, experts, tokens) && sum != \null &&
        counted == tokens_counted(mask, tokens) ==>
          \forall integer i; 0 <= i < e ==>
            in(mean + i, mean_probability(gate, x, mask, experts, i, tokens));
      loop assigns e, t[1], mean[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    //@ assert terms: vector_same{Pre, Here}(sum, LOADS_RUNS * experts);
    /*@ assert cells_same: \forall integer r, i; 0 <= r < LOADS_RUNS && 0 <= i < experts ==>
          same{Pre, Here}(sum + run_cell(experts, r, i)); */
    /*@ assert sums_same: \forall integer gate, float *x, uint8_t *mask, integer tokens;
          runs_sums{Pre}(sum, gate, x, mask, experts, tokens) ==>
            runs_sums(sum, gate, x, mask, experts, tokens); */
    phibal_status status = loads_mean(sum, experts, e, t, &mean[e]);
    //@ assert scratch_left: vector_output(t, 2);
    //@ assert means_left: vector_output(mean, experts);
    /*@ assert others: \forall integer i; 0 <= i < experts && i != e ==>
          same{LoopCurrent, Here}(mean + i); */
    //@ assert divisor_left: same{LoopCurrent, Here}(t + 0);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

/* Counts and means from the runs, whose places are given; mean, count and counted may be null. */
static phibal_status loads_compute(phibal_reference_batch batch, int64_t tokens,
                                   mpfr_prec_t precision, loads_runs runs, phibal_enclosure *t,
                                   phibal_enclosure *mean, int64_t *count, int64_t *counted) {
  //@ assert use_enclosure;
  int32_t experts = batch.router->experts;
  int64_t run_counted[LOADS_RUNS] = {0};
  phibal_status status[LOADS_RUNS];
  loads_run_all(batch, tokens, precision, runs, run_counted, status);
  //@ assert scratch: vector_output(t, 2);
  //@ assert means: sums_ready(mean, experts);
  TRY(loads_status(tokens, status));
  //@ assert run_counted: runs_counted(&run_counted[0], LOADS_RUNS);
  int64_t n = loads_counted(run_counted);
  //@ assert tokens: n == tokens_counted(batch.mask, tokens);
  //@ ghost run_places(LOADS_RUNS, experts);
  //@ ghost runs_added: ;
  if (counted) *counted = n;
  /*@ assert cells_same: \forall integer r, e; 0 <= r < LOADS_RUNS && 0 <= e < experts ==>
        runs.count[run_cell(experts, r, e)] ==
          \at(runs.count[run_cell(experts, r, e)], runs_added); */
  /*@ assert selected: ranked{Pre}(batch.router) ==>
        runs_selected(runs.count, batch.router->gate, batch.logits, batch.bias, batch.mask, experts,
                      \at(batch.router->active, Pre), tokens); */
  //@ assert runs_counts: runs_counts(runs.count, LOADS_RUNS * experts);
  if (count) loads_counts(runs.count, experts, count);
  /*@ assert counts: count != \null && ranked{Pre}(batch.router) ==>
        counts_held(count, batch.router->gate, batch.logits, batch.bias, batch.mask, experts,
                    \at(batch.router->active, Pre), tokens); */
  if (!mean) return PHIBAL_OK;
  if (n == 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "phibal_reference_loads: no unmasked token, so there is no mean");
  //@ assert sums: vector_output(runs.sum, LOADS_RUNS * experts);
  /*@ assert held: runs_sums(runs.sum, \at(batch.router->gate, Pre), batch.logits, batch.mask,
        experts, tokens); */
  //@ ghost added: ;
  phibal_status divided = loads_means(runs.sum, experts, n, t, mean);
  //@ assert sums_kept: vector_same{added, Here}(runs.sum, LOADS_RUNS * experts);
  //@ assert sums_left: vector_output(runs.sum, LOADS_RUNS * experts);
  return divided;
}

/* Are token i's logits finite? */
static phibal_status loads_check_row(const char *name, int64_t i, int32_t experts,
                                     const float *logits) {
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant finite: finite_floats(logits, e);
      loop assigns e;
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++)
    if (!isfinite(logits[e]))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "%s: the logit of token %lld, expert %d is %g; it must be finite",
                               name, (long long)i, (int)e, (double)logits[e]);
  return PHIBAL_OK;
}

static phibal_status loads_check(phibal_reference_batch batch, int64_t tokens,
                                 mpfr_prec_t precision) {
  const phibal_router *router = batch.router;
  const char *name = "phibal_reference_loads";
  if (!router || (!batch.logits && tokens > 0) || tokens < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null router or logits, or %lld tokens",
                             name, (long long)tokens);
  TRY(operation_check_experts(name, router->experts, precision));
  if (router->active < 1 || router->active > router->experts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d active experts; there must be 1 to %d",
                             name, (int)router->active, (int)router->experts);
  if (batch.bias) TRY(operation_check_finite(name, "the bias", router->experts, batch.bias));
  /*@ loop invariant index: 0 <= i <= tokens;
      loop assigns i;
      loop variant tokens - i; */
  for (int64_t i = 0; i < tokens; i++) {
    //@ ghost product_next(i, router->experts);
    //@ ghost product_ordered(i + 1, tokens, router->experts);
    /*@ assert row: 0 <= i * router->experts &&
          i * router->experts + router->experts <= tokens * router->experts; */
    if (!batch.mask || batch.mask[i])
      TRY(loads_check_row(name, i, router->experts, batch.logits + i * router->experts));
  }
  return PHIBAL_OK;
}

/* loads_compute with places for the runs' counts of its own. */
static phibal_status loads_with_counts(phibal_reference_batch batch, int64_t tokens,
                                       mpfr_prec_t precision, phibal_enclosure *sum,
                                       phibal_enclosure *t, phibal_enclosure *mean, int64_t *count,
                                       int64_t *counted) {
  //@ assert use_enclosure;
  size_t cells = (size_t)batch.router->experts * LOADS_RUNS;
  //@ assert cells: cells == LOADS_RUNS * batch.router->experts && 0 < cells <= COUNT_HEAP_SIZE;
  loads_runs runs = {counts_new(cells), sum};
  if (!runs.count)
    return phibal_status_set(PHIBAL_ERROR_MEMORY,
                             "phibal_reference_loads: no memory for %zu counts", cells);
  phibal_status status = loads_compute(batch, tokens, precision, runs, t, mean, count, counted);
  counts_free(runs.count);
  return status;
}

phibal_status phibal_reference_loads(phibal_reference_batch batch, int64_t tokens,
                                     mpfr_prec_t precision, phibal_enclosure *mean, int64_t *count,
                                     int64_t *counted) {
  //@ assert use_enclosure;
  const phibal_router *router = batch.router;
  const char *name = "phibal_reference_loads";
  TRY(loads_check(batch, tokens, precision));
  size_t cells = (size_t)router->experts * LOADS_RUNS;
  //@ assert cells: cells == LOADS_RUNS * router->experts && 0 < cells;
  phibal_enclosure *t, *sum;
  TRY(operation_scratch(name, 2, precision, &t));
  //@ assert means: sums_ready(mean, router->experts);
  phibal_status status = PHIBAL_OK;
  if (mean) status = operation_scratch(name, cells, precision, &sum);
  //@ assert scratch: vector_output(t, 2) && vector_in_use(t, 2);
  //@ assert means_left: sums_ready(mean, router->experts);
  //@ assert mean_apart: mean != \null ==> vectors_apart(mean, router->experts, t, 2);
  /*@ assert sum_apart: status == PHIBAL_OK && mean != \null ==>
        vectors_apart(sum, LOADS_RUNS * router->experts, t, 2); */
  /*@ assert sum_mean_apart: status == PHIBAL_OK && mean != \null ==>
        vectors_apart(sum, LOADS_RUNS * router->experts, mean, router->experts); */
  /*@ assert empty: status == PHIBAL_OK && mean != \null ==>
        no_sums(sum, 0, LOADS_RUNS * router->experts); */
  if (status == PHIBAL_OK) {
    status =
        loads_with_counts(batch, tokens, precision, mean ? sum : NULL, t, mean, count, counted);
    /*@ assert router_left: router->experts == \at(batch.router->experts, Pre) &&
          router->active == \at(batch.router->active, Pre); */
    //@ assert means_computed: sums_ready(mean, \at(batch.router->experts, Pre));
    //@ ghost computed: ;
    if (mean) operation_scratch_clear(sum, cells);
    //@ assert scratch_left: vector_output(t, 2);
    /*@ assert means_same: mean != \null ==> \forall integer e;
          0 <= e < \at(batch.router->experts, Pre) ==> same{computed, Here}(mean + e); */
    //@ assert means_kept: sums_ready(mean, \at(batch.router->experts, Pre));
    /*@ assert means_held: status == PHIBAL_OK && mean != \null ==>
          means_held(mean, \at(batch.router->gate, Pre), batch.logits, batch.mask,
                     \at(batch.router->experts, Pre), tokens); */
  }
  //@ ghost divided: ;
  operation_scratch_clear(t, 2);
  /*@ assert means_left_same: mean != \null ==> \forall integer e;
        0 <= e < \at(batch.router->experts, Pre) ==> same{divided, Here}(mean + e); */
  return status;
}

/* frequency_e = count_e / divisor; numerator is a temporary of 64 bits. */
static phibal_status frequency_divide(int32_t experts, const int64_t *count,
                                      phibal_enclosure *numerator, const phibal_enclosure *divisor,
                                      phibal_enclosure *frequency) {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant outputs: vector_output(frequency, experts) && output(numerator);
      loop invariant divisor: same{Pre, Here}(divisor) && input(divisor);
      loop invariant frame: only_with_vector_written{Pre, Here}(numerator, frequency, experts);
      loop invariant quotients: \forall integer i, real a;
        0 <= i < e && in{Pre}(divisor, a) && a > 0.0 ==> in(frequency + i, (real)count[i] / a);
      loop assigns e, *numerator, frequency[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_set_si(numerator, (long)count[e]);
    phibal_status status = phibal_enclosure_div(&frequency[e], numerator, divisor);
    /*@ assert others: \forall integer i; 0 <= i < experts && i != e ==>
          same{LoopCurrent, Here}(frequency + i); */
    if (status != PHIBAL_OK) return status;
    /*@ assert element: \forall real a; in{Pre}(divisor, a) && a > 0.0 ==>
          in(frequency + e, (real)count[e] / a); */
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_frequency(int32_t experts, int32_t active, int64_t tokens,
                                         const int64_t *count, phibal_enclosure *frequency) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_frequency";
  if (!count || !frequency || experts < 1 || active < 1 || tokens < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: null argument, or %d experts, %d active, %lld tokens; each must "
                             "be at least 1",
                             name, (int)experts, (int)active, (long long)tokens);
  phibal_enclosure numerator, divisor;
  phibal_enclosure_init(&numerator, 64);
  phibal_enclosure_init(&divisor, 128); /* the product is exact */
  /*@ assert apart: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==> same{Pre, Here}(r) &&
        \valid_read(r) && \separated(r, &numerator) && \separated(r, &divisor); */
  phibal_enclosure_set_si(&numerator, (long)active);
  phibal_enclosure_set_si(&divisor, (long)tokens);
  phibal_status status = phibal_enclosure_mul(&divisor, &divisor, &numerator);
  /*@ assert divisor: in(&divisor, (real)tokens * (real)active) &&
        (real)tokens * (real)active > 0.0; */
  /*@ assert before: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==> same{Pre, Here}(r); */
  //@ assert places: vector_output(frequency, experts);
  if (status == PHIBAL_OK)
    status = frequency_divide(experts, count, &numerator, &divisor, frequency);
  /*@ assert quotients: status == PHIBAL_OK ==> \forall integer e; 0 <= e < experts ==>
        in(frequency + e, frequency_of(count[e], active, tokens)); */
  //@ assert written: only_vector_written{Pre, Here}(frequency, experts);
  //@ assert outputs: vector_output(frequency, experts);
  //@ ghost computed: ;
  phibal_enclosure_clear(&divisor);
  phibal_enclosure_clear(&numerator);
  //@ assert kept: vector_same{computed, Here}(frequency, experts);
  return status;
}
