/* What a potential does to a router: stiffness, prices, and how far a step may go. These are
   computed enclosures, not claims: each holds for every member of the parameters. */
#ifndef PHIBAL_AUDIT_DYNAMICS_H
#define PHIBAL_AUDIT_DYNAMICS_H

#include "phi.h"
#include <jansson.h>
#include <stdint.h>

enum { AUDIT_SHARES = 6, AUDIT_SCALES = 21, AUDIT_ETAS = 4 };
/* An expert's load over its share 1/E, as fractions: 0, 1/4, 1/2, 2, 4, 8. */
extern const int audit_share[AUDIT_SHARES][2];
/* The weights of new loads for which stability is told; the first is the trainer's default. */
extern const double audit_eta[AUDIT_ETAS];

typedef struct audit_price {
  phibal_enclosure value;
  bool exists;  /* false: the share is more than everything, or there is no price to enclose */
  bool floored; /* there is none at a load of 0; this is the one at PHIBAL_SMALLEST_LOAD */
} audit_price;

typedef struct audit_dynamics {
  int32_t experts;
  /* h: the Hessian's eigenvalue on the tangent space of the simplex at uniform loads; psi''(1/E)
     where phi is separable. `known`: it exists; `stiff`: it is certainly positive, and only then do
     the quotients by it hold anything. */
  bool known, stiff;
  phibal_enclosure stiffness;
  phibal_enclosure effective; /* E h, so that alpha E h is the effective coefficient */
  /* E / h and 1 / h: the coefficient that pulls back as hard as negative entropy, or as ST-MoE's
     loss (whose price is the frequency itself), does with coefficient 1 */
  phibal_enclosure equal_negentropy, equal_switch;
  /* centred prices (M3) of one expert, all others holding the rest in equal parts */
  audit_price share[AUDIT_SHARES];
  /* prices where one expert holds everything: its own, and an empty one's */
  audit_price full, empty;
  /* c h(c/E) / h(1/E) for c = 2^-i: how hard the same relative imbalance is pushed back while m has
     reached only c times the simplex, as when it starts at zero; and the power of c it goes as over
     the last halving */
  phibal_enclosure scale[AUDIT_SCALES];
  int scales; /* how many of them exist, from the first */
  phibal_enclosure scale_power;
  /* lr alpha below which the linearised loop of simulation.h is stable, and above which it
     overshoots, for each of audit_eta */
  phibal_enclosure stable[AUDIT_ETAS], overshoots[AUDIT_ETAS];
} audit_dynamics;

/* Everything for `experts` >= 2; PHIBAL_ERROR_MEMORY alone is a failure, what does not exist is
   said so in the struct. Cleared by audit_dynamics_clear, after a failure too. */
phibal_status audit_dynamics_find(const phi_potential *phi, const phibal_enclosure *parameters,
                                  int32_t experts, audit_dynamics *d);
void audit_dynamics_clear(audit_dynamics *d);

/* For results that come from another process: empty ones, and the addresses of all enclosures. */
enum { AUDIT_DYNAMICS_ENCLOSURES = 7 + AUDIT_SHARES + AUDIT_SCALES + 2 * AUDIT_ETAS };
void audit_dynamics_init(audit_dynamics *d, int32_t experts);
size_t audit_dynamics_enclosures(audit_dynamics *d, phibal_enclosure **all);

/* The eigenvalue h alone, at loads c/E. PHIBAL_ERROR_DOMAIN where it does not exist. */
phibal_status audit_stiffness(const phi_potential *phi, const phibal_enclosure *parameters,
                              int32_t experts, const phibal_enclosure *c, phibal_enclosure *h);

/* As an object; ends of enclosures are decimal strings rounded outward. Null when memory is out. */
json_t *audit_dynamics_json(const audit_dynamics *d);
/* {"lo": "...", "hi": "..."} */
json_t *audit_enclosure_json(const phibal_enclosure *x);

#endif
