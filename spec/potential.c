/* Lookup in the catalogue of potentials. */
#include <phibal/potential.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef __FRAMAC__
/* WP has no infinite constants. Contracts ask of an upper end only that it is a number or +inf. */
#undef HUGE_VAL
#define HUGE_VAL 0x1p1023
#endif

static const phibal_potential_info catalogue[PHIBAL_POTENTIAL_COUNT] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  {name, parameter, low, high, fallback, separable, floored},
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
};

const phibal_potential_info *phibal_potential_describe(phibal_potential_id id) {
  /*@ assert letters: \forall integer i; known_potential(i) ==>
        \valid_read(catalogue[i].parameter); */
  /*@ assert parameters: \forall integer i; known_potential(i) ==>
        (catalogue[i].parameter[0] != 0 <==> has_parameter(i)); */
  /*@ assert ends: \forall integer i; known_potential(i) ==> \is_finite(catalogue[i].low) &&
        (real)catalogue[i].low == (i == PHIBAL_POTENTIAL_LP ? 1.0 : 0.0) &&
        \is_finite(catalogue[i].high); */
  return (unsigned)id < PHIBAL_POTENTIAL_COUNT ? &catalogue[id] : NULL;
}

phibal_status phibal_potential_find(const char *name, phibal_potential *potential) {
  if (!name || !potential)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "phibal_potential_find: null argument");
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++)
    if (strcmp(name, catalogue[id].name) == 0) {
      *potential = (phibal_potential){(phibal_potential_id)id, catalogue[id].fallback};
      return PHIBAL_OK;
    }
  char names[512] = "";
  size_t used = 0;
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT && used < sizeof names; id++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                             id == 0                            ? ""
                             : id + 1 == PHIBAL_POTENTIAL_COUNT ? " and "
                                                                : ", ",
                             catalogue[id].name);
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "unknown potential '%s'; there are %s", name,
                           names);
}

phibal_status phibal_potential_check(const phibal_potential *potential) {
  const phibal_potential_info *row = potential ? phibal_potential_describe(potential->id) : NULL;
  if (!row) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "no such potential");
  if (!row->parameter[0]) return PHIBAL_OK;
  double a = potential->parameter;
  bool inside = a > row->low && a < row->high;
  if (potential->id == PHIBAL_POTENTIAL_LP) inside = a >= 1.0;
  if (potential->id == PHIBAL_POTENTIAL_TSALLIS && a == 1.0) inside = false;
  if (inside) return PHIBAL_OK;
  const char *range = potential->id == PHIBAL_POTENTIAL_LP        ? "p >= 1, or inf"
                      : potential->id == PHIBAL_POTENTIAL_TSALLIS ? "alpha > 0 and not 1"
                      : potential->id == PHIBAL_POTENTIAL_RENYI   ? "0 < alpha < 1"
                                                                  : "a finite number > 0";
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s = %g is not valid; it must be %s",
                           row->name, row->parameter, a, range);
}
