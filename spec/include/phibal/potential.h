/* The catalogue of potentials (spec/potentials.def), shared by the reference and the kernels. */
#ifndef PHIBAL_POTENTIAL_H
#define PHIBAL_POTENTIAL_H

#include <phibal/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum phibal_potential_id {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  PHIBAL_POTENTIAL_##ID,
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  PHIBAL_POTENTIAL_COUNT
} phibal_potential_id;

typedef struct phibal_potential_info {
  const char *name;      /* as on the command line */
  const char *parameter; /* "" where there is none */
  double low, high;      /* valid parameters: the open interval (low, high); see potentials.def */
  double fallback;       /* the parameter's default */
  bool separable;        /* phi(m) = sum_e psi(m_e) */
  bool floored;          /* price unbounded at m_e = 0 (for tsallis: when alpha < 1) */
} phibal_potential_info;

/* A potential with its parameter in binary64 (ignored where there is none). lp takes p = 1 and
   p = INFINITY too: they have prices but are not strictly convex (ERRATA.md). */
typedef struct phibal_potential {
  phibal_potential_id id;
  double parameter;
} phibal_potential;

/* The smallest mean load a floored potential sees: 2^-126, the smallest normal binary32. */
#define PHIBAL_SMALLEST_LOAD 0x1p-126f

/* The row of the catalogue; null for an id that is not in it. */
const phibal_potential_info *phibal_potential_describe(phibal_potential_id id);

/* Looks a name up and fills in the default parameter. PHIBAL_ERROR_ARGUMENT lists the names. */
phibal_status phibal_potential_find(const char *name, phibal_potential *potential);

/* PHIBAL_ERROR_ARGUMENT, naming parameter and range, unless the parameter is valid. */
phibal_status phibal_potential_check(const phibal_potential *potential);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/potential.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
