/* Reads a safetensors file and writes what it understood: for safetensors_peer.py.
     usage: safetensors_copy FROM TO FROM TO ...
   One line for each pair: "ok", or why not. */
#include "formats/safetensors.h"
#include <stdio.h>

int main(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    safetensors_file file;
    phibal_status status = safetensors_open(argv[i], &file);
    if (!status)
      status = safetensors_write(argv[i + 1], file.tensors, file.count, file.metadata,
                                 file.metadata_count);
    puts(status ? phibal_status_message() : "ok");
    safetensors_close(&file);
  }
  return 0;
}
