/* The list of a checkpoint's files, checkpoint.json: refused with a message, as the files that it
   names are not there, whatever it says of them. */
#include "moe/train/checkpoint_internal.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_file(CHECKPOINT_MANIFEST, data, size);
  checkpoint c;
  FUZZ_REQUIRE(checkpoint_open(fuzz_folder_path, &c), "opened without files");
  FUZZ_REQUIRE_MESSAGE();
  return 0;
}
