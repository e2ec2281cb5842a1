/* The built-in potentials in the φ language, against their hand-written reference. */
#include "potential_cases.h"
#include <phi.h>
#include <criterion/criterion.h>
#include <stdio.h>

enum { PRECISION = 200, EXPERTS = 5, ROUNDS = 60 };

typedef struct fixture {
  phi_potential *phi;
  phibal_reference_potential reference;
  phibal_enclosure *x, *ours, *theirs;
} fixture;

static void fixture_init(fixture *f, const potential_case *c) {
  char file[512];
  snprintf(file, sizeof file, PHIBAL_SOURCE_DIR "/spec/phi/%s.phi",
           phibal_potential_describe(c->id)->name);
  cr_assert(phi_read_file(file, &f->phi) == PHIBAL_OK, "%s", phibal_status_message());
  case_init(&f->reference, c, PRECISION + 64);
  f->x = phibal_enclosure_vector(EXPERTS, 53);
  f->ours = phibal_enclosure_vector(EXPERTS, PRECISION);
  f->theirs = phibal_enclosure_vector(EXPERTS, PRECISION);
}

static void fixture_clear(fixture *f) {
  phibal_enclosure_vector_clear(f->x, EXPERTS);
  phibal_enclosure_vector_clear(f->ours, EXPERTS);
  phibal_enclosure_vector_clear(f->theirs, EXPERTS);
  case_clear(&f->reference);
  phi_destroy(f->phi);
}

static void random_point(fixture *f, bool dual, uint64_t *state) {
  for (int e = 0; e < EXPERTS; e++) {
    const double a = mpfr_get_d(f->reference.parameter.lo, MPFR_RNDN);
    phibal_enclosure_set_d(&f->x[e], dual ? random_dual(f->reference.id, a, state)
                                          : random_primal(f->reference.id, state));
  }
}

static void check_overlap(const phibal_enclosure *ours, const phibal_enclosure *theirs,
                          const char *potential, const char *what) {
  cr_assert(phibal_enclosure_overlaps(ours, theirs), "%s of %s: the file and the reference differ",
            what, potential);
  cr_assert(mpfr_number_p(ours->lo) && mpfr_number_p(ours->hi), "%s of %s: no bound", what,
            potential);
}

Test(phi_catalogue, values_and_gradients_are_those_of_the_reference) {
  uint64_t state = 7;
  for (int i = 0; i < POTENTIAL_CASES; i++) {
    fixture f;
    fixture_init(&f, &potential_cases[i]);
    const phibal_enclosure *a = &f.reference.parameter;
    for (int round = 0; round < ROUNDS; round++) {
      random_point(&f, false, &state);
      cr_assert(phi_value(f.phi, a, EXPERTS, f.x, f.ours) == PHIBAL_OK, "%s",
                phibal_status_message());
      cr_assert(phibal_reference_value(&f.reference, EXPERTS, f.x, f.theirs) == PHIBAL_OK);
      check_overlap(f.ours, f.theirs, f.phi->name, "value");
      cr_assert(phibal_reference_gradient(&f.reference, EXPERTS, f.x, f.theirs) == PHIBAL_OK);
      cr_assert(phi_gradient(f.phi, a, EXPERTS, f.x, f.ours) == PHIBAL_OK, "%s",
                phibal_status_message());
      for (int e = 0; e < EXPERTS; e++)
        check_overlap(&f.ours[e], &f.theirs[e], f.phi->name, "gradient");
      cr_assert(phi_given_gradient(f.phi, a, EXPERTS, f.x, f.ours) == PHIBAL_OK);
      for (int e = 0; e < EXPERTS; e++)
        check_overlap(&f.ours[e], &f.theirs[e], f.phi->name, "given gradient");
    }
    fixture_clear(&f);
  }
}

Test(phi_catalogue, conjugates_are_those_of_the_reference) {
  uint64_t state = 8;
  for (int i = 0; i < POTENTIAL_CASES; i++) {
    fixture f;
    fixture_init(&f, &potential_cases[i]);
    for (int round = 0; round < ROUNDS; round++) {
      random_point(&f, true, &state);
      cr_assert(phibal_reference_conjugate(&f.reference, EXPERTS, f.x, f.theirs) == PHIBAL_OK);
      cr_assert(phi_given_conjugate(f.phi, &f.reference.parameter, EXPERTS, f.x, f.ours) ==
                    PHIBAL_OK,
                "%s", phibal_status_message());
      cr_assert(phibal_enclosure_overlaps(f.ours, f.theirs), "conjugate of %s", f.phi->name);
    }
    fixture_clear(&f);
  }
}
