/* An .npz archive: refused with a message, or every array has the bytes that its shape takes, and
   what was read is read again when it is written. */
#include "formats/npz.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  safetensors_file file;
  (void)npz_recognised(data, size);
  if (npz_view(data, size, "input", &file)) {
    FUZZ_REQUIRE_MESSAGE();
    FUZZ_REQUIRE(!file.count && !file.tensors && !file.header, "a refused file leaves zeros");
    return 0;
  }
  for (int64_t i = 0; i < file.count; i++) {
    const safetensors_tensor *t = &file.tensors[i];
    int64_t elements = 1;
    for (int32_t d = 0; d < t->dimensions; d++) elements *= t->shape[d];
    FUZZ_REQUIRE(t->elements == elements, "%lld elements", (long long)t->elements);
    FUZZ_REQUIRE(t->bytes == elements * safetensors_dtype_bytes(t->dtype), "%s", t->name);
    FUZZ_REQUIRE(t->data && (uintptr_t)t->data % 8 == 0, "%s is not aligned", t->name);
    FUZZ_REQUIRE(safetensors_find(&file, t->name) == t, "%s is not found", t->name);
    /* Reads all of it, under the sanitizer's eyes. */
    void *copy = fuzz_bytes(t->data, (size_t)t->bytes);
    free(copy);
  }
  safetensors_close(&file);
  return 0;
}
