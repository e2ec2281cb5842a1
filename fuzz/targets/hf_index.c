/* The model.safetensors.index.json of a Hugging Face model, beside a config.json and one file of
   weights: refused with a message, or opened with files of the folder and no others. */
#include "moe/hf/hf.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char weights[] = "\x40\0\0\0\0\0\0\0"
                                "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
                                "           1234";
  static bool ready;
  if (!ready) {
    text_buffer config = {0};
    FUZZ_REQUIRE(!file_read_all(FUZZ_SOURCE_ROOT "/fuzz/corpus/huggingface/olmoe", &config), "%s",
                 phibal_status_message());
    fuzz_file("config.json", config.bytes, config.count);
    fuzz_file("w.safetensors", weights, sizeof weights - 1);
    text_buffer_free(&config);
    ready = true;
  }
  fuzz_file("model.safetensors.index.json", data, size);
  hf_checkpoint c;
  if (hf_open(fuzz_folder_path, NULL, &c)) {
    FUZZ_REQUIRE_MESSAGE();
    FUZZ_REQUIRE(!c.file && !c.folder && !c.files, "something is left");
    return 0;
  }
  FUZZ_REQUIRE(c.files == 1 && c.file[0].count == 1, "%d files", c.files);
  hf_close(&c);
  return 0;
}
