/* Selection in groups (R2g): which experts are left to select from. */
#ifndef PHIBAL_CPU_SELECT_GROUPS_H
#define PHIBAL_CPU_SELECT_GROUPS_H

#include "../core/router_form.h"
#include "select_scores.h"

/* Below every score, which is the sum of two binary32 numbers. */
#define SELECT_OUTSIDE (-0x1p1000)

/* Gives all experts of one token but those of its best groups a score below all others, of which at
   least k are left. score [E]. */
static inline void select_groups(const phibal_router *router, double *score) {
  const int32_t groups = router->groups, each = router->experts / groups;
  const int32_t summed = core_group_summed(router);
  double sum[PHIBAL_MAX_EXPERTS];
  int32_t best[PHIBAL_MAX_EXPERTS];
  bool inside[PHIBAL_MAX_EXPERTS] = {false};
  for (int32_t g = 0; g < groups; g++) {
    const double *of = score + g * each;
    select_by_scores(each, summed, of, best);
    sum[g] = of[best[0]];
    for (int32_t s = 1; s < summed; s++) sum[g] += of[best[s]]; /* from the largest down */
  }
  select_by_scores(groups, router->active_groups, sum, best);
  for (int32_t i = 0; i < router->active_groups; i++) inside[best[i]] = true;
  for (int32_t e = 0; e < router->experts; e++)
    if (!inside[e / each]) score[e] = SELECT_OUTSIDE;
}

#endif
