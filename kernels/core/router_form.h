/* What a router's description comes to: whether there is such a router, how its groups are ranked,
   and of what form its gates are. */
#ifndef PHIBAL_CORE_ROUTER_FORM_H
#define PHIBAL_CORE_ROUTER_FORM_H

#include "router.h"

/* How many of a group's scores are added (R2g). */
CORE_FUNCTION int32_t core_group_summed(const phibal_router *router) {
  if (router->group_score == PHIBAL_GROUP_TWO_LARGEST) return 2;
  return router->group_score == PHIBAL_GROUP_SHARE ? router->active / router->active_groups : 1;
}

/* The unscaled gates of the selection, y being its softmax probabilities or scores. */
typedef enum core_gates {
  CORE_GATES_SHARES,  /* y over their sum: (R3), (R5), (R5s), and (R5e) with epsilon = 0 */
  CORE_GATES_SCORES,  /* y: (R4), (R5n), and (R3) for k = 1 */
  CORE_GATES_EPSILON, /* y over their sum plus epsilon > 0: (R5e) */
} core_gates;

CORE_FUNCTION core_gates core_gates_of(const phibal_router *router) {
  if (router->normalisation == PHIBAL_NORMALISATION_NONE) return CORE_GATES_SCORES;
  if (router->normalisation == PHIBAL_NORMALISATION_SUM)
    return router->epsilon > 0.0f ? CORE_GATES_EPSILON : CORE_GATES_SHARES;
  return router->gate == PHIBAL_GATE_PROBABILITY ||
                 (router->gate == PHIBAL_GATE_TOPK_SOFTMAX && router->active == 1)
             ? CORE_GATES_SCORES
             : CORE_GATES_SHARES;
}

/* (R5z) Whether an expert's gate is 0, and left out of what others are divided by. */
CORE_FUNCTION int core_gate_left_out(const phibal_router *router, int32_t expert) {
  return router->zero_gates == PHIBAL_ZERO_GATES_LEFT_OUT &&
         expert >= router->experts - router->zero_experts;
}

/* Why there is no such router as its members beyond the first four say, of a router whose first
   four are in order; null if there is. */
static inline const char *core_router_fault(const phibal_router *router) {
  const int32_t E = router->experts, k = router->active, G = router->groups;
  const int32_t g = router->active_groups;
  if (router->selection != PHIBAL_SELECTION_OF_SCORES &&
      router->selection != PHIBAL_SELECTION_GIVEN)
    return "there is no such selection";
  if (router->score != PHIBAL_SCORE_OF_GATE && router->score != PHIBAL_SCORE_PROBABILITY)
    return "there is no such score";
  if (router->score == PHIBAL_SCORE_PROBABILITY && core_gate_has_scores(router->gate))
    return "selection by probabilities is that of softmax routers, and the gates are scores";
  if (router->score == PHIBAL_SCORE_PROBABILITY && router->selection == PHIBAL_SELECTION_GIVEN)
    return "probabilities to select by take no part where the selection is given";
  if (router->zero_gates != PHIBAL_ZERO_GATES_COUNTED &&
      router->zero_gates != PHIBAL_ZERO_GATES_LEFT_OUT)
    return "there is no such treatment of the gates of experts that compute nothing";
  if (router->zero_experts < 0 || router->zero_experts > E)
    return "the experts that compute nothing must be 0 to all";
  if (router->zero_gates == PHIBAL_ZERO_GATES_LEFT_OUT && router->zero_experts == 0)
    return "gates that leave out experts that compute nothing, and there are none";
  if (router->group_score < PHIBAL_GROUP_NONE || router->group_score > PHIBAL_GROUP_SHARE)
    return "there is no such score of a group";
  if (router->group_score == PHIBAL_GROUP_NONE) {
    if (G != 0 || g != 0) return "groups of experts, but no score of a group to rank them by";
  } else {
    if (router->selection == PHIBAL_SELECTION_GIVEN)
      return "groups of experts take no part where the selection is given";
    if (G < 1 || G > E || E % G != 0) return "the number of groups does not divide the experts";
    if (g < 1 || g > G) return "the active groups must be 1 to the number of groups";
    if (k > g * (E / G)) return "the active groups hold fewer experts than are active";
    if (router->group_score == PHIBAL_GROUP_SHARE && k < g)
      return "groups ranked by k/g scores, and there are more active groups than active experts";
    if (core_group_summed(router) > E / G)
      return "groups ranked by their two largest scores, and they have one expert";
    if (router->gate == PHIBAL_GATE_PROBABILITY && router->score == PHIBAL_SCORE_OF_GATE &&
        core_group_summed(router) > 1)
      return "sums of a group's probabilities are not supported: its gates are probabilities, and "
             "experts are selected by logits";
  }
  if (router->normalisation < PHIBAL_NORMALISATION_OF_GATE ||
      router->normalisation > PHIBAL_NORMALISATION_SUM)
    return "there is no such normalisation of gates";
  if (router->normalisation != PHIBAL_NORMALISATION_OF_GATE &&
      router->gate == PHIBAL_GATE_TOPK_SOFTMAX)
    return "a softmax over the selection has its own normalisation; gates of probabilities can "
           "have "
           "another";
  if (!(router->epsilon >= 0.0f) || !(router->epsilon - router->epsilon == 0.0f))
    return "epsilon must be a finite number, and not negative";
  if (router->epsilon != 0.0f && router->normalisation != PHIBAL_NORMALISATION_SUM)
    return "epsilon without gates that are divided by their sum and epsilon";
  return 0;
}

#endif
