/* The parts of an audit. Each adds its findings to a certificate; a status other than PHIBAL_OK
   says that the examination itself could not go on (memory, a file), never that the potential is
   bad. */
#ifndef PHIBAL_AUDIT_AUDIT_H
#define PHIBAL_AUDIT_AUDIT_H

#include "certificate.h"
#include "phi.h"
#include <stdint.h>

typedef struct audit_request {
  /* The set over which convexity, the Legendre property and the gradient are asked for. Where
     `ranges` is false, the parameters are these enclosures: points, or intervals. Where it is true,
     all of each parameter's stated range. */
  const phibal_enclosure *parameters;
  bool ranges;
  int32_t least_experts, most_experts; /* 2 .. 4096 */
  bool quick;                          /* a stratified sample instead of every binary32 */
  uint64_t seed;
  double seconds; /* no part goes on for longer than this, about; it says "undecided" then */
  /* Null, or told now and then, by one thread, which part of the kernel's loads is done, from 0 to 1,
     and how many seconds it will go on. */
  void (*progress)(void *context, double done, double seconds_left);
  void *progress_context;
} audit_request;

/* symmetric, differentiable, strictly-convex, unique-minimiser */
phibal_status audit_convexity(phi_potential *phi, const audit_request *request, certificate *c);
/* boundary, dual-domain, mirror-step */
phibal_status audit_legendre(phi_potential *phi, const audit_request *request, certificate *c);
/* gradient: the given one against differentiation, by algebra for all of the request's parameters
   and at points for one value of each */
phibal_status audit_gradient(phi_potential *phi, const audit_request *request, certificate *c);
/* conjugate, conjugate-domain: at the request's parameters */
phibal_status audit_conjugate(phi_potential *phi, const audit_request *request, certificate *c);
/* core: generates, compiles and runs a kernel of the gradient, at the request's parameters */
phibal_status audit_core(phi_potential *phi, const audit_request *request, certificate *c);

#endif
