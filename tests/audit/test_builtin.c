/* The potentials that every executable carries: the files of spec/phi/, one for each row of the
   catalogue. */
#include "audit/builtin.h"
#include <criterion/criterion.h>
#include "audit/phi.h"
#include <phibal/potential.h>
#include <stdio.h>
#include <string.h>

Test(builtin, one_for_each_row_of_the_catalogue) {
  cr_assert_eq(phi_builtins_count, (size_t)PHIBAL_POTENTIAL_COUNT);
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++) {
    const phibal_potential_info *info = phibal_potential_describe((phibal_potential_id)id);
    const phi_builtin *b = phi_builtin_find(info->name);
    cr_assert_not_null(b, "%s", info->name);
    phi_potential *phi;
    cr_assert_eq(phi_read(b->name, b->text, strlen(b->text), &phi), PHIBAL_OK, "%s",
                 phibal_status_message());
    cr_assert_str_eq(phi->name, info->name);
    cr_assert_eq(phi->parameters, info->parameter[0] ? 1 : 0);
    if (phi->parameters) {
      cr_assert_str_eq(phi->parameter[0].name, info->parameter);
      /* mpq_get_d cuts, the compiler rounds. */
      cr_assert_float_eq(mpq_get_d(phi->parameter[0].fallback), info->fallback,
                         0x1p-52 * info->fallback, "%s", info->name);
    }
    phi_destroy(phi);
  }
  cr_assert_null(phi_builtin_find("entropy"));
  cr_assert_null(phi_builtin_find(""));
}

Test(builtin, texts_are_the_files) {
  for (size_t i = 0; i < phi_builtins_count; i++) {
    char name[256], text[4096];
    snprintf(name, sizeof name, PHIBAL_SOURCE_DIR "/spec/phi/%s.phi", phi_builtins[i].name);
    FILE *f = fopen(name, "rb");
    cr_assert_not_null(f, "%s", name);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    cr_assert_str_eq(phi_builtins[i].text, text);
    if (i) cr_assert_lt(strcmp(phi_builtins[i - 1].name, phi_builtins[i].name), 0);
  }
}
