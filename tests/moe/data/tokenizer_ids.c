/* usage: tokenizer_ids TOKENIZER TEXTS OUT

   TEXTS holds texts, each after its length in 8 bytes. Writes for each the number of its ids, the
   ids, and the length and bytes of what they decode to; 2^64 - 1 in place of the number if it is
   refused, then length and bytes of the message. Prints the seconds that encoding took. */
#include "formats/file.h"
#include "moe/data/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void put(FILE *out, uint64_t n, const void *bytes, size_t size) {
  fwrite(&n, sizeof n, 1, out);
  if (n) fwrite(bytes, size, (size_t)n, out);
}

int main(int argc, char **argv) {
  tokenizer t;
  text_buffer texts = {0};
  token_buffer ids = {0};
  if (argc != 4) return 2;
  if (tokenizer_load(argv[1], &t) || file_read_all(argv[2], &texts)) {
    fprintf(stderr, "%s\n", phibal_status_message());
    return 1;
  }
  FILE *out = fopen(argv[3], "w");
  if (!out) return 2;
  double seconds = 0;
  for (size_t at = 0; at < texts.count;) {
    uint64_t n;
    memcpy(&n, texts.bytes + at, sizeof n);
    at += sizeof n;
    const double start = now();
    phibal_status status = tokenizer_encode(&t, texts.bytes + at, (size_t)n, &ids);
    seconds += now() - start;
    char *text = NULL;
    size_t bytes = 0;
    if (!status) status = tokenizer_decode(&t, ids.ids, ids.count, &text, &bytes);
    if (status) {
      const uint64_t refused = UINT64_MAX;
      fwrite(&refused, sizeof refused, 1, out);
      put(out, strlen(phibal_status_message()), phibal_status_message(), 1);
    } else {
      put(out, ids.count, ids.ids, sizeof *ids.ids);
      put(out, bytes, text, 1);
    }
    free(text);
    at += (size_t)n;
  }
  printf("%.6f %d %d\n", seconds, t.vocabulary, t.end_of_document);
  token_buffer_free(&ids);
  text_buffer_free(&texts);
  tokenizer_free(&t);
  return fclose(out) ? 2 : 0;
}
