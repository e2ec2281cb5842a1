/* The domains that a request asks about, one after the other. */
#ifndef PHIBAL_AUDIT_DOMAIN_WALK_H
#define PHIBAL_AUDIT_DOMAIN_WALK_H

#include "audit.h"
#include "domain.h"

typedef struct domain_walk {
  const phi_potential *phi;
  const audit_request *request;
  int range[PHI_MAX_PARAMETERS]; /* which of each parameter's ranges comes next */
  bool over;
  audit_domain domain;
} domain_walk;

/* False if a parameter of the request is infinite: then there is nothing to walk. */
bool domain_walk_start(domain_walk *walk, const phi_potential *phi, const audit_request *request);
/* walk->domain is the next one: x in (0, 1), the request's parameters or one of each one's ranges,
   and its number of experts. */
bool domain_walk_next(domain_walk *walk);
void domain_walk_end(domain_walk *walk);

#endif
