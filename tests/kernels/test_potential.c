/* The catalogue of potentials (spec/potential.c): its rows, names, and which parameters are valid.
 */
#include <phibal/potential.h>
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* The least and greatest valid parameter: next to the ends of the row's open interval, but for lp,
   which has closed ones. NAN where there is none. */
static const struct {
  const char *name, *parameter;
  double low, high, fallback;
} rows[PHIBAL_POTENTIAL_COUNT] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  {name, parameter, low, high, fallback},
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
};

static double least_valid(int id) {
  if (!*rows[id].parameter) return NAN;
  return id == PHIBAL_POTENTIAL_LP ? 1.0 : nextafter(rows[id].low, INFINITY);
}

static double most_valid(int id) {
  return id == PHIBAL_POTENTIAL_LP ? HUGE_VAL : nextafter(rows[id].high, 0.0);
}

static phibal_status check(int id, double parameter) {
  const phibal_potential potential = {(phibal_potential_id)id, parameter};
  return phibal_potential_check(&potential);
}

Test(potential, parameters) {
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++) {
    const char *name = rows[id].name;
    const double least = least_valid(id), most = most_valid(id);
    cr_assert_str_eq(phibal_potential_describe((phibal_potential_id)id)->name, name);
    if (isnan(least)) { /* there is no parameter, so each is ignored */
      const double any[] = {-1, 0, 7, INFINITY, NAN};
      for (int i = 0; i < 5; i++) cr_assert_eq(check(id, any[i]), PHIBAL_OK, "%s", name);
      continue;
    }
    cr_assert_eq(check(id, least), PHIBAL_OK, "%s", name);
    cr_assert_eq(check(id, most), PHIBAL_OK, "%s", name);
    cr_assert_eq(check(id, rows[id].fallback), PHIBAL_OK, "%s", name);
    const double outside[] = {nextafter(least, -INFINITY), -1, -INFINITY, NAN,
                              isinf(most) ? (double)NAN : nextafter(most, INFINITY)};
    for (int i = 0; i < 5; i++)
      cr_assert_eq(check(id, outside[i]), PHIBAL_ERROR_ARGUMENT, "%s: %g", name, outside[i]);
  }
  cr_assert_eq(check(PHIBAL_POTENTIAL_TSALLIS, 1.0), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(check(PHIBAL_POTENTIAL_TSALLIS, nextafter(1.0, 2.0)), PHIBAL_OK);
}

Test(potential, ends_of_the_catalogue) {
  const int outside[] = {-1, PHIBAL_POTENTIAL_COUNT, 1 << 30};
  for (int i = 0; i < 3; i++) {
    cr_assert_null(phibal_potential_describe((phibal_potential_id)outside[i]));
    cr_assert_eq(check(outside[i], 1.5), PHIBAL_ERROR_ARGUMENT);
  }
  cr_assert_eq(phibal_potential_check(NULL), PHIBAL_ERROR_ARGUMENT);
}

Test(potential, names) {
  phibal_potential found;
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++) {
    cr_assert_eq(phibal_potential_find(rows[id].name, &found), PHIBAL_OK);
    cr_assert(found.id == (phibal_potential_id)id && phibal_potential_check(&found) == PHIBAL_OK);
  }
  const char *const unknown[] = {"", "Euclid", "euclid ", "lp2", "soft"};
  for (int i = 0; i < 5; i++) {
    cr_assert_eq(phibal_potential_find(unknown[i], &found), PHIBAL_ERROR_ARGUMENT);
    for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++)
      cr_assert(strstr(phibal_status_message(), rows[id].name), "%s", phibal_status_message());
  }
  cr_assert_eq(phibal_potential_find(NULL, &found), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_potential_find("lp", NULL), PHIBAL_ERROR_ARGUMENT);
}
