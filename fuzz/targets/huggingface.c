/* The config.json of a Hugging Face model: refused with a message, or said again by what is made
   from its options. */
#include "moe/hf/hf_internal.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hf_config first, second;
  json_t *json = json_loadb((const char *)data, size, 0, NULL);
  if (json && !hf_config_parse(json, "config.json", NULL, &first)) {
    json_t *made = hf_config_make(first.architecture, &first.model);
    FUZZ_REQUIRE(made, "out of memory");
    FUZZ_REQUIRE(!hf_config_parse(made, "made", NULL, &second), "%s", phibal_status_message());
    /* YaRN's temperature goes through a logarithm and a square. */
    second.model.attention_multiplier = first.model.attention_multiplier;
    FUZZ_REQUIRE(first.architecture == second.architecture &&
                     !memcmp(&first.model, &second.model, sizeof first.model),
                 "another model");
    json_decref(made);
  } else if (json) {
    FUZZ_REQUIRE_MESSAGE();
  }
  json_decref(json);
  return 0;
}
