#include "domain_walk.h"

bool domain_walk_start(domain_walk *walk, const phi_potential *phi, const audit_request *request) {
  *walk = (domain_walk){.phi = phi, .request = request};
  domain_init(&walk->domain);
  walk->domain.parameters = phi->parameters;
  domain_end_at(&walk->domain.experts.lo, request->least_experts, 1, true);
  domain_end_at(&walk->domain.experts.hi, request->most_experts, 1, true);
  for (int i = 0; i < phi->parameters; i++) {
    walk->domain.name[i] = phi->parameter[i].name;
    if (request->ranges) continue;
    const phibal_enclosure *p = &request->parameters[i];
    if (!mpfr_number_p(p->lo) || !mpfr_number_p(p->hi)) return false;
    domain_range_of_enclosure(&walk->domain.parameter[i], p);
  }
  return true;
}

bool domain_walk_next(domain_walk *walk) {
  if (walk->over) return false;
  if (!walk->request->ranges) {
    walk->over = true;
    return true;
  }
  for (int i = 0; i < walk->phi->parameters; i++)
    domain_range_set(&walk->domain.parameter[i], &walk->phi->parameter[i].range[walk->range[i]]);
  for (int i = 0; i < walk->phi->parameters; i++) {
    if (++walk->range[i] < walk->phi->parameter[i].ranges) return true;
    walk->range[i] = 0;
  }
  walk->over = true;
  return true;
}

void domain_walk_end(domain_walk *walk) {
  domain_clear(&walk->domain);
}
