/* The router's selection (R2), (R2g): scores, correctly rounded where they are sigmoids, and the
   experts that come first, of all or of a token's best groups. */
#include "router_work.h"
#include <phibal/rounding.h>
#include <phibal/acsl/contracts/inside/product.h>
#include <phibal/acsl/contracts/inside/router_scores.h>

/* A binary32 sigmoid is never closer to a rounding boundary than its 24 digits and the 2^-150 scale
   make it; 1024 bits are far beyond both. */
#define SIGMOID_START 64
#define SIGMOID_CAP 1024

/* Below every score, which is the sum of two binary32 numbers. */
#define SCORE_OUTSIDE (-0x1p1000)

#include <phibal/acsl/contracts/inside/router_selection_static.h>

/* Is sigma(x), computed with so many bits, certain to round to *score? */
static bool sigmoid_rounds(float x, mpfr_prec_t precision, double *score) {
  //@ assert use_enclosure;
  phibal_enclosure value, negated, one;
  phibal_enclosure_init(&value, precision);
  phibal_enclosure_init(&negated, precision);
  phibal_enclosure_init(&one, precision);
  phibal_enclosure_set_si(&one, 1);
  operation_set_negated(&negated, x);
  bool decided =
      operation_sigmoid_negated(&value, &negated, &one) == PHIBAL_OK &&
      phibal_round_enclosure(&value, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, score);
  phibal_enclosure_clear(&one);
  phibal_enclosure_clear(&negated);
  phibal_enclosure_clear(&value);
  return decided;
}

/* The score that sigmoid routers compare: sigma(x) correctly rounded to binary32. The token's
   precision decides nearly always. */
static phibal_status sigmoid_score(phibal_reference_token *t, float x, double *score) {
  //@ assert use_enclosure;
  TRY(router_sigmoid(t, x, &t->term));
  if (phibal_round_enclosure(&t->term, PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, score))
    return PHIBAL_OK;
  /*@ loop invariant precision: SIGMOID_START <= precision <= 2 * SIGMOID_CAP;
      loop invariant enclosures: enclosure(&t->factor) && enclosure(&t->term);
      loop invariant frame: only_two_written{Pre, Here}(&t->term, &t->factor);
      loop assigns precision, *score;
      loop variant 2 * SIGMOID_CAP - precision; */
  for (mpfr_prec_t precision = SIGMOID_START; precision <= SIGMOID_CAP; precision *= 2)
    if (sigmoid_rounds(x, precision, score)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                           "the sigmoid of %a: its rounding is undecided at %d bits", (double)x,
                           SIGMOID_CAP);
}

/* x + bias in binary64. */
static double score_sum(double x, float bias) {
  double sum = x + (double)bias;
  //@ assert finite: \is_finite(sum) ==> \is_finite(x);
  return sum;
}

/* *score = what the selection compares of one expert; `bias` is null where there is none. */
static phibal_status token_score(phibal_reference_token *t, const phibal_router *router, float x,
                                 const float *bias, double *score) {
  //@ assert use_enclosure && use_floating;
  double sum = (double)x;
  if (router->gate == PHIBAL_GATE_SIGMOID) TRY(sigmoid_score(t, x, &sum));
  //@ assert unbiased: unbiased_score(router->gate, (real)x, sum);
  if (bias) sum = score_sum(sum, *bias);
  *score = sum;
  if (isfinite(sum)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_NONFINITE, "the score of the logit %g is %g", (double)x,
                           sum);
}

static phibal_status token_scores(phibal_reference_token *t, const phibal_router *router, int32_t n,
                                  const float *logits, const float *bias, double *score) {
  //@ assert use_enclosure;
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= e <= n;
      loop invariant frame: only_two_written{Pre, Here}(&t->term, &t->factor);
      loop invariant scratch: token_scratch(t);
      loop invariant finite: status == PHIBAL_OK ==> scores_finite(score, e);
      loop invariant scores: status == PHIBAL_OK ==>
        scores_are(router->gate, e, logits, bias, score);
      loop assigns e, status, score[0 .. n - 1], t->term, t->factor;
      loop variant n - e; */
  for (int32_t e = 0; e < n && status == PHIBAL_OK; e++)
    status = token_score(t, router, logits[e], bias ? bias + e : NULL, &score[e]);
  return status;
}

/* Does expert i come before expert j: higher score, or the same and the lower index? */
static bool score_precedes(const double *score, int32_t i, int32_t j) {
  return score[i] > score[j] || (score[i] == score[j] && i < j);
}

/* The expert that comes first among those after `previous` (-1: among all). */
static int32_t score_next(int32_t experts, const double *score, int32_t previous) {
  int32_t best = -1;
  /*@ loop invariant 0 <= e <= experts && -1 <= best < e;
      loop invariant best == -1 ==> \forall integer f; 0 <= f < e ==>
        previous >= 0 && !precedes(score, previous, f);
      loop invariant best >= 0 ==> next(score, e, previous, best);
      loop assigns e, best;
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    if (previous >= 0 && !score_precedes(score, previous, e)) continue;
    if (best < 0 || score_precedes(score, e, best)) best = e;
  }
  return best;
}

/* (R2) */
static void score_select(int32_t experts, int32_t active, const double *score, int32_t *selected) {
  int32_t previous = -1;
  //@ ghost selection_none(score, experts);
  /*@ loop invariant 0 <= s <= active && previous == (s == 0 ? -1 : selected[s - 1]);
      loop invariant up_to(score, previous, experts) == s;
      loop invariant \forall integer t; 0 <= t < s ==> 0 <= selected[t] < experts;
      loop invariant \forall integer t, u; 0 <= t < u < s ==>
        precedes(score, selected[t], selected[u]);
      loop invariant \forall integer e; 0 <= e < experts ==>
        (\exists integer t; 0 <= t < s && selected[t] == e) ||
        (previous >= 0 ==> precedes(score, previous, e));
      loop assigns s, previous, selected[0 .. active - 1];
      loop variant active - s; */
  for (int32_t s = 0; s < active; s++) {
    int32_t following = score_next(experts, score, previous);
    /*@ ghost
      if (previous >= 0 && following < 0) selection_all(score, previous, experts); */
    //@ assert following >= 0;
    //@ ghost selection_next(score, experts, previous, following);
    selected[s] = following;
    previous = following;
  }
  /*@ assert \forall integer t; 0 <= t < active ==>
        selected[t] == previous || precedes(score, selected[t], previous); */
  /*@ assert \forall integer e, t; 0 <= t < active && precedes(score, previous, e) ==>
        precedes(score, selected[t], e); */
}

/* *each, *summed = the experts of a group, and how many scores it is ranked by the sum of. */
static phibal_status groups_check(const phibal_router *router, int32_t experts, int32_t active,
                                  int32_t *each, int32_t *summed) {
  const char *name = "phibal_reference_token_select";
  const int32_t groups = router->groups, best = router->active_groups;
  if (groups < 1 || groups > experts || experts % groups != 0 || best < 1 || best > groups)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d of %d groups of %d experts", name,
                             (int)best, (int)groups, (int)experts);
  *each = experts / groups;
  //@ ghost product_ordered(best, groups, *each);
  //@ assert parts: groups * *each == experts;
  //@ assert left: best * *each <= experts;
  if (active > best * *each)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d experts are active, of %d groups of %d",
                             name, (int)active, (int)best, (int)*each);
  *summed = 1;
  if (router->group_score == PHIBAL_GROUP_TWO_LARGEST) *summed = 2;
  if (router->group_score == PHIBAL_GROUP_SHARE) *summed = active / best;
  if (router->group_score > PHIBAL_GROUP_SHARE || *summed < 1 || *summed > *each ||
      (*summed > 1 && router->gate == PHIBAL_GATE_PROBABILITY))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: groups of %d experts cannot be ranked by %d of their scores, "
                             "those of kind %d of a router of kind %d",
                             name, (int)*each, (int)*summed, (int)router->group_score,
                             (int)router->gate);
  return PHIBAL_OK;
}

/* *sum = that of the `summed` largest scores, from the largest down, in binary64. */
static phibal_status group_sum(int32_t each, int32_t summed, const double *score, double *sum) {
  int32_t largest[PHIBAL_MAX_EXPERTS];
  largest[0] = 0;
  score_select(each, summed, score, largest);
  double total = score[largest[0]];
  /*@ loop invariant 1 <= s <= summed;
      loop assigns s, total;
      loop variant summed - s; */
  for (int32_t s = 1; s < summed; s++) total += score[largest[s]];
  *sum = total;
  if (isfinite(total)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_NONFINITE, "the sum of a group's scores is %g", total);
}

/* sum[g] = that of group g. */
static phibal_status groups_sums(int32_t groups, int32_t each, int32_t summed, const double *score,
                                 double *sum) {
  double part[PHIBAL_MAX_EXPERTS];
  phibal_status status = PHIBAL_OK;
  /*@ loop invariant index: 0 <= g <= groups;
      loop invariant kept: scores_finite(score, groups * each);
      loop invariant finite: status == PHIBAL_OK ==> scores_finite(sum, g);
      loop assigns g, status, sum[0 .. groups - 1], part[0 .. PHIBAL_MAX_EXPERTS - 1];
      loop variant groups - g; */
  for (int32_t g = 0; g < groups && status == PHIBAL_OK; g++) {
    //@ ghost product_next(g, each);
    //@ ghost product_ordered(g + 1, groups, each);
    //@ assert within: 0 <= g * each && g * each + each <= groups * each;
    //@ ghost int32_t first = g * each;
    /*@ loop invariant 0 <= e <= each && first == g * each;
        loop invariant scores_finite(&part[0], e);
        loop assigns e, part[0 .. PHIBAL_MAX_EXPERTS - 1];
        loop variant each - e; */
    for (int32_t e = 0; e < each; e++) {
      //@ assert inside: 0 <= first + e < groups * each;
      part[e] = score[g * each + e];
    }
    status = group_sum(each, summed, part, &sum[g]);
  }
  return status;
}

/* (R2g) Leaves the scores of a token's best groups, and puts the others below all. */
static phibal_status groups_leave(int32_t experts, int32_t groups, int32_t each, int32_t summed,
                                  int32_t best, double *score) {
  double sum[PHIBAL_MAX_EXPERTS];
  int32_t first[PHIBAL_MAX_EXPERTS];
  TRY(groups_sums(groups, each, summed, score, sum));
  score_select(groups, best, sum, first);
  /*@ loop invariant index: 0 <= e <= experts;
      loop invariant finite: scores_finite(score, experts);
      loop invariant left: scores_left{Pre, Here}(score, e);
      loop invariant rest: \forall integer i; e <= i < experts ==>
        score[i] == \at(score[i], Pre);
      loop assigns e, score[0 .. experts - 1];
      loop variant experts - e; */
  for (int32_t e = 0; e < experts; e++) {
    int32_t i = 0;
    /*@ loop invariant 0 <= i <= best;
        loop assigns i;
        loop variant best - i; */
    while (i < best && first[i] != e / each) i++;
    if (i == best) score[e] = SCORE_OUTSIDE;
  }
  return PHIBAL_OK;
}

/* A router without a score of groups has none. */
static phibal_status groups_absent(const phibal_router *router) {
  if (router->groups == 0 && router->active_groups == 0) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "phibal_reference_token_select: groups without a score");
}

/* (R2g) for the router's groups. */
static phibal_status scores_group(const phibal_router *router, int32_t experts, int32_t active,
                                  double *score) {
  int32_t each = 1, summed = 1;
  TRY(groups_check(router, experts, active, &each, &summed));
  return groups_leave(experts, router->groups, each, summed, router->active_groups, score);
}

static phibal_status token_select(phibal_reference_token *t, const phibal_router *router,
                                  const float *logits, const float *bias) {
  //@ assert use_enclosure;
  //@ ghost token_opened_up(t);
  phibal_status status = token_scores(t, router, t->experts, logits, bias, t->score);
  //@ assert same: token_same{Pre, Here}(t);
  //@ assert scratch: token_scratch(t);
  //@ assert lies: token_lies(t);
  //@ assert probabilities: vector_output(t->probability, t->experts);
  //@ assert gates: vector_output(t->gate, t->active);
  //@ assert gradients: vector_output(t->gradient, t->experts);
  //@ assert conditions: vector_output(t->condition, t->experts);
  //@ assert weights: vector_output(t->weight, t->experts);
  //@ assert parts: vector_output(t->part, t->active);
  //@ ghost token_put_together(t);
  if (status == PHIBAL_OK && router->group_score == PHIBAL_GROUP_NONE)
    status = groups_absent(router);
  else if (status == PHIBAL_OK)
    status = scores_group(router, t->experts, t->active, t->score);
  /*@ assert grouped: status == PHIBAL_OK && router->group_score == PHIBAL_GROUP_NONE ==>
        scores_are(router->gate, t->experts, logits, bias, t->score); */
  if (status == PHIBAL_OK) score_select(t->experts, t->active, t->score, t->selection);
  //@ assert same_selected: token_same{Pre, Here}(t);
  return status;
}

phibal_status phibal_reference_token_select(phibal_reference_token *token,
                                            const phibal_router *router, const float *logits,
                                            const float *bias) {
  //@ assert use_enclosure;
  const char *name = "phibal_reference_token_select";
  TRY(reference_token_check(name, token, router, logits));
  if (bias) TRY(operation_check_finite(name, "the bias", token->experts, bias));
  return token_select(token, router, logits, bias);
}
