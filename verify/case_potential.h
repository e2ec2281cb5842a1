/* A potential among the parameters of a case. */
#ifndef PHIBAL_VERIFY_CASE_POTENTIAL_H
#define PHIBAL_VERIFY_CASE_POTENTIAL_H

#include "operation.h"
#include <math.h>
#include <phibal/potential.h>

static inline void case_add_potential(operation_case *c, phibal_potential potential) {
  const phibal_potential_info *info = phibal_potential_describe(potential.id);
  case_text(c, "potential", info->name);
  if (info->parameter[0]) case_real(c, "parameter", potential.parameter);
  bool entropic =
      potential.id == PHIBAL_POTENTIAL_TSALLIS || potential.id == PHIBAL_POTENTIAL_RENYI;
  if (entropic && fabs(potential.parameter - 1) < 0.01) case_flag(c, FLAG_PARAMETER_NEAR_ONE);
}

static inline phibal_potential case_get_potential(const operation_case *c) {
  phibal_potential potential = {0};
  phibal_potential_find(case_get_text(c, "potential"), &potential);
  potential.parameter = case_get_real(c, "parameter");
  return potential;
}

#endif
