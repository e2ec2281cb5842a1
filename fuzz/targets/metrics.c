/* The metrics.jsonl of a run: refused with a message that names a line, or an array of what its
   whole lines say. */
#include "moe/train/run_folder.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_file("metrics.jsonl", data, size);
  json_t *lines = NULL;
  if (run_folder_metrics(fuzz_folder_path, &lines)) {
    FUZZ_REQUIRE_MESSAGE();
    FUZZ_REQUIRE(!lines && strstr(phibal_status_message(), "metrics.jsonl:"), "%s",
                 phibal_status_message());
    return 0;
  }
  size_t ends = 0;
  for (size_t i = 0; i < size; i++) ends += data[i] == '\n';
  FUZZ_REQUIRE(json_array_size(lines) == ends, "%zu of %zu lines", json_array_size(lines), ends);
  json_decref(lines);
  return 0;
}
