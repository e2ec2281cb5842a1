/* A safetensors file: refused with a message, or every tensor lies in it and every byte is some
   tensor's. */
#include "formats/safetensors.h"
#include "target.h"

static void tensor_check(const safetensors_file *file, const safetensors_tensor *t) {
  int64_t elements = 1;
  for (int32_t d = 0; d < t->dimensions; d++) elements *= t->shape[d];
  FUZZ_REQUIRE(t->elements == elements, "%lld elements", (long long)t->elements);
  FUZZ_REQUIRE(t->bytes == elements * safetensors_dtype_bytes(t->dtype), "%s", t->name);
  FUZZ_REQUIRE(!t->bytes || (uintptr_t)t->data % (size_t)safetensors_dtype_bytes(t->dtype) == 0,
               "%s is not aligned", t->name);
  FUZZ_REQUIRE(safetensors_find(file, t->name) == t, "%s is not found", t->name);
  /* Reads all of it, under the sanitizer's eyes. */
  void *copy = fuzz_bytes(t->data, (size_t)t->bytes);
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  safetensors_file file;
  if (safetensors_view(data, size, "input", &file)) {
    FUZZ_REQUIRE_MESSAGE();
    FUZZ_REQUIRE(!file.count && !file.tensors && !file.header, "a refused file leaves zeros");
    return 0;
  }
  int64_t bytes = 0;
  for (int64_t i = 0; i < file.count; i++) {
    tensor_check(&file, &file.tensors[i]);
    bytes += file.tensors[i].bytes;
  }
  uint64_t header;
  memcpy(&header, data, 8);
  FUZZ_REQUIRE((uint64_t)bytes + 8 + header == size, "%lld bytes in tensors", (long long)bytes);
  for (int64_t i = 0; i < file.metadata_count; i++)
    FUZZ_REQUIRE(safetensors_metadata(&file, file.metadata[i].key) == file.metadata[i].value, "%s",
                 file.metadata[i].key);
  safetensors_close(&file);
  return 0;
}
