/* A sweep file: refused with a message, or its points have labels, folders and, on a built-in run
   file, configurations that are refused or checked. */
#include "moe/report/sweep.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  sweep s;
  char *text = fuzz_bytes(data, size);
  if (sweep_parse(text, size, "input", &s)) {
    FUZZ_REQUIRE_MESSAGE();
    free(text);
    return 0;
  }
  free(text);
  FUZZ_REQUIRE(s.points >= 1 && s.points <= SWEEP_POINTS_MAX && s.seed_count >= 1, "%lld points",
               (long long)s.points);
  for (int64_t point = 0; point < s.points; point += 1 + s.points / 4) {
    char label[SWEEP_LABEL], folder[CONFIG_TEXT_MAX];
    sweep_label(&s, point, label);
    sweep_folder(&s, point, s.seed_count - 1, folder);
    FUZZ_REQUIRE(memchr(label, 0, sizeof label) && memchr(folder, 0, sizeof folder), "no end");
    FUZZ_REQUIRE(!strncmp(folder, s.out, strlen(s.out)) || strlen(s.out) >= CONFIG_TEXT_MAX / 2,
                 "%s is not below %s", folder, s.out);
    for (size_t a = 0; a < s.axis_count; a++)
      FUZZ_REQUIRE(sweep_index(&s, point, a) < s.axes[a].count, "axis %zu", a);
    bool builtin = !strcmp(s.base, "tiny"); /* others are paths, to anywhere */
    for (size_t a = 0; a < s.axis_count; a++)
      for (size_t i = 0; i < s.axes[a].count; i++) builtin &= !s.axes[a].choices[i].base;
    run_config config;
    if (builtin && sweep_config(&s, point, 0, &config)) FUZZ_REQUIRE_MESSAGE();
  }
  sweep_free(&s);
  return 0;
}
