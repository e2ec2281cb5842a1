/* A tokenizer.json and, behind a zero byte, a text: the file is refused with a message, or it is a
   tokenizer that gives the text ids of its vocabulary, the same ids twice (words are remembered)
   and when it is read again, or refuses the text; and that decodes any ids. */
#include "moe/data/tokenizer.h"
#include "target.h"

static bool encode(const tokenizer *t, const char *text, size_t n, token_buffer *ids) {
  ids->count = 0;
  if (tokenizer_encode(t, text, n, ids)) {
    FUZZ_REQUIRE_MESSAGE();
    return false;
  }
  for (size_t k = 0; k < ids->count; k++)
    FUZZ_REQUIRE(ids->ids[k] < (uint32_t)t->vocabulary, "id %u of %d", ids->ids[k], t->vocabulary);
  return true;
}

static void check(const tokenizer *t, const tokenizer *other, const char *text, size_t n) {
  token_buffer ids = {0}, again = {0};
  const bool has = encode(t, text, n, &ids);
  for (int i = 0; i < 2; i++) {
    FUZZ_REQUIRE(encode(i ? other : t, text, n, &again) == has, "refused once");
    FUZZ_REQUIRE(!has || (ids.count == again.count &&
                          (!ids.count || !memcmp(ids.ids, again.ids, ids.count * sizeof *ids.ids))),
                 "other ids");
  }
  char *back;
  size_t bytes;
  if (has && tokenizer_decode(t, ids.ids, ids.count, &back, &bytes))
    FUZZ_REQUIRE_MESSAGE();
  else if (has)
    free(back);
  token_buffer_free(&ids);
  token_buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const texts[] = {"",
                                      " ",
                                      "Two words,\n\tand a tab; it's 2026.",
                                      "\xe2\x96\x81 \xc3\xa9 e\xcc\x81 \xef\xac\x81",
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                      "<s>a</s> <|end|> \xff"};
  const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
  const size_t n = zero ? (size_t)(zero - data) : size;
  if (n > 1 << 16) return 0;
  char *file = fuzz_bytes(data, n);
  char *text = zero ? fuzz_bytes(zero + 1, size - n - 1) : NULL;
  tokenizer t = {0}, other = {0};
  const bool json = n && *file == '{'; /* anything else may be a SentencePiece model */
  if (!json || tokenizer_parse("input", file, n, &t)) {
    if (json) FUZZ_REQUIRE_MESSAGE();
    FUZZ_REQUIRE(!t.json && !t.pieces, "something is left");
    free(file);
    free(text);
    return 0;
  }
  FUZZ_REQUIRE(!tokenizer_parse("input", file, n, &other), "%s", phibal_status_message());
  free(file);
  FUZZ_REQUIRE(t.vocabulary >= 1 && t.end_of_document >= 0 && t.end_of_document < t.vocabulary,
               "%d of %d", t.end_of_document, t.vocabulary);
  FUZZ_REQUIRE(other.vocabulary == t.vocabulary && other.end_of_document == t.end_of_document,
               "read otherwise");
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    check(&t, &other, texts[i], strlen(texts[i]));
  if (text) check(&t, &other, text, size - n - 1);
  uint32_t all[512];
  const uint32_t step = (uint32_t)t.vocabulary / 512 + 1;
  size_t count = 0;
  for (uint32_t id = 0; id < (uint32_t)t.vocabulary; id += step) all[count++] = id;
  char *back;
  size_t bytes;
  if (tokenizer_decode(&t, all, count, &back, &bytes))
    FUZZ_REQUIRE_MESSAGE();
  else
    free(back);
  FUZZ_REQUIRE(tokenizer_decode(&t, (uint32_t[]){(uint32_t)t.vocabulary}, 1, &back, &bytes),
               "an id beyond the vocabulary");
  FUZZ_REQUIRE_MESSAGE();
  free(text);
  tokenizer_free(&t);
  tokenizer_free(&other);
  return 0;
}
