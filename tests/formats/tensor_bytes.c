/* The bytes of one tensor of a safetensors file, to stdout.
   usage: tensor_bytes FILE NAME */
#include "formats/safetensors.h"
#include <stdio.h>

int main(int argc, char **argv) {
  safetensors_file file;
  if (argc != 3 || safetensors_open(argv[1], &file)) {
    fprintf(stderr, "tensor_bytes: %s\n", phibal_status_message());
    return 2;
  }
  const safetensors_tensor *t = safetensors_find(&file, argv[2]);
  if (!t) fprintf(stderr, "%s: no tensor '%s'\n", argv[1], argv[2]);
  int failed = !t || fwrite(t->data, 1, (size_t)t->bytes, stdout) != (size_t)t->bytes;
  safetensors_close(&file);
  return failed ? 1 : 0;
}
