/* A SentencePiece model: refused with a message, or a tokenizer whose ids are of its vocabulary.
   What is searched is above all SentencePiece, which has no sanitizers here: a crash is seen, a
   read beyond an end may not be. */
#include "moe/data/tokenizer.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const texts[] = {"", " ", "Two words,\n\tand a tab.",
                                      "\xe2\x96\x81 \xc3\xa9\xff\xfe\x80",
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
  char *model = fuzz_bytes(data, size);
  tokenizer t;
  if (tokenizer_parse("input", model, size, &t)) {
    FUZZ_REQUIRE_MESSAGE();
    FUZZ_REQUIRE(!t.pieces, "something is left");
    free(model);
    return 0;
  }
  free(model);
  FUZZ_REQUIRE(t.vocabulary >= 1 && t.end_of_document >= 0 && t.end_of_document < t.vocabulary,
               "%d of %d", t.end_of_document, t.vocabulary);
  token_buffer ids = {0};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (tokenizer_encode(&t, texts[i], strlen(texts[i]), &ids)) FUZZ_REQUIRE_MESSAGE();
    for (size_t k = 0; k < ids.count; k++)
      FUZZ_REQUIRE(ids.ids[k] < (uint32_t)t.vocabulary, "id %u of %d", ids.ids[k], t.vocabulary);
  }
  token_buffer_free(&ids);
  tokenizer_free(&t);
  return 0;
}
