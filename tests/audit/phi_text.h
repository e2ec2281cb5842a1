/* Potentials for tests: of a text, or of a file of the catalogue. A failure fails the test. */
#ifndef PHIBAL_TESTS_PHI_TEXT_H
#define PHIBAL_TESTS_PHI_TEXT_H

#include <criterion/criterion.h>
#include "audit/phi.h"
#include <stdio.h>
#include <string.h>

static inline phi_potential *phi_of_text(const char *text) {
  phi_potential *phi = NULL;
  cr_assert(phi_read("test", text, strlen(text), &phi) == PHIBAL_OK, "%s: %s", text,
            phibal_status_message());
  return phi;
}

/* spec/phi/<name>.phi */
static inline phi_potential *phi_of_catalogue(const char *name) {
  char path[512];
  phi_potential *phi = NULL;
  snprintf(path, sizeof path, PHIBAL_SOURCE_DIR "/spec/phi/%s.phi", name);
  cr_assert(phi_read_file(path, &phi) == PHIBAL_OK, "%s", phibal_status_message());
  return phi;
}

#endif
