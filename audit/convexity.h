/* The parts of the proof of strict convexity. */
#ifndef PHIBAL_AUDIT_CONVEXITY_H
#define PHIBAL_AUDIT_CONVEXITY_H

#include "audit.h"
#include "domain.h"

typedef struct convexity_proof {
  bool analytic;  /* proved by algebra: phi is analytic on the open simplex */
  bool smooth;    /* that, or proved by boxes: it is twice differentiable there */
  bool strict;    /* proved: strictly convex there */
  bool open_only; /* separable, but psi is not convex itself: nothing is said of the boundary */
  bool constant;  /* proved: phi is constant on the simplex, so not strictly convex */
  bool singular;  /* strict holds on the simplex only: in R^E the Hessian has a kernel everywhere */
  long boxes;     /* of subdivision; 0: exact algebra alone */
  double doubt;   /* an x where the sign failed, or was the wrong one; 0 where none is known */
  bool negative;  /* psi'' < 0 is proved at `doubt`, for all parameters of the domain */
  double flat_lo, flat_hi; /* psi'' = 0 on [flat_lo, flat_hi], if that is not [0, 0] */
  char *how;               /* the argument, or why there is none; malloc'ed or null */
} convexity_proof;
void convexity_proof_clear(convexity_proof *proof);

/* Exact algebra over the whole domain; built without FLINT it only says so. `psi` is null unless
   phi is separable. */
void convexity_by_algebra(const phi_potential *phi, const expression *psi,
                          const audit_domain *domain, convexity_proof *proof);
/* With kinks: a smooth term that is strictly convex by algebra, and others that are convex as
   composed of convex functions, for the whole domain. */
void convexity_by_composition(const phi_potential *phi, const audit_domain *domain,
                              convexity_proof *proof);
/* Separable: psi'' in enclosures of boxes that cover x in (0,1) and the domain's parameters, which
   must be bounded. Ends at `deadline` (of the monotonic clock), or after `most` boxes. */
void convexity_by_boxes(const phi_potential *phi, const expression *psi, const audit_domain *domain,
                        double deadline, long most, convexity_proof *proof);

/* Separable, with kinks: between them by algebra, and psi' jumps up at each. For parameters that
   are points, or so narrow that enclosures decide. */
void convexity_by_pieces(phi_potential *phi, const expression *psi, const audit_domain *domain,
                         double deadline, convexity_proof *proof);

/* Two points of the simplex with a value at their midpoint that is not below the mean. */
typedef struct convexity_counterexample {
  bool found;
  int experts;
  char *text;
  json_t *data;
  char *lower; /* at the same parameters, a point with a value not above that of uniform loads */
} convexity_counterexample;
/* At these parameters; `hint`: an x to look near, or 0; `many`: also with many experts, which takes
   longer. */
void convexity_refute(const phi_potential *phi, const phibal_enclosure *parameters,
                      const char *const *names, int least, int most, double hint, bool many,
                      double deadline, convexity_counterexample *found);
/* psi is affine on [lo, hi], by an argument that is not these values: two shares that move in there
   leave phi as it is. Not found where no two shares fit. */
void convexity_refute_flat(const phi_potential *phi, const phibal_enclosure *parameters,
                           const char *const *names, int least, int most, double lo, double hi,
                           convexity_counterexample *found);
void convexity_counterexample_clear(convexity_counterexample *found);

double audit_clock(void); /* seconds */

#endif
