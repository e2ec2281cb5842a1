/* A run file: refused with a message, or written and read again to the same bits. */
#include "moe/config/config.h"
#include "target.h"

static char *written(const run_config *config) {
  char *text = NULL;
  size_t size;
  FILE *to = open_memstream(&text, &size);
  FUZZ_REQUIRE(to, "out of memory");
  run_config_write(config, to);
  fclose(to);
  return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  /* Files with zero bytes are refused before they are parsed. */
  if (memchr(data, 0, size)) return 0;
  char *text = fuzz_text(data, size);
  run_config first, second;
  if (run_config_parse(text, "input", NULL, 0, &first)) {
    FUZZ_REQUIRE_MESSAGE();
  } else {
    char *once = written(&first);
    FUZZ_REQUIRE(!run_config_parse(once, "input", NULL, 0, &second), "%s in\n%s",
                 phibal_status_message(), once);
    char *twice = written(&second);
    FUZZ_REQUIRE(!strcmp(once, twice), "\n%s\n%s", once, twice);
    free(once);
    free(twice);
  }
  free(text);
  return 0;
}
