/* The result.json of a run, as `phibal compare` prints it. */
#include "moe/report/report.h"
#include "moe/train/run_folder.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static FILE *nowhere;
  if (!nowhere) nowhere = fopen("/dev/null", "w");
  fuzz_file("result.json", data, size);
  json_t *result;
  if (run_folder_result(fuzz_folder_path, &result)) {
    FUZZ_REQUIRE_MESSAGE();
    return 0;
  }
  json_t *const runs[] = {result, result};
  if (report_write(nowhere, 2, runs, true)) FUZZ_REQUIRE_MESSAGE();
  json_decref(result);
  return 0;
}
