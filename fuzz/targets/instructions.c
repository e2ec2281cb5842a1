/* Lines of instruction data, and chat templates: refused with a message that names the place, or an
   example whose learned texts follow something that is read, and its tokens with their marks. */
#include "moe/data/instructions.h"
#include "target.h"

static void check_tokens(const string_list *example) {
  instruction_tokens to = {0};
  tokenizer t;
  tokenizer_bytes(&t);
  FUZZ_REQUIRE(!instruction_encode(example, &t, false, "input", 1, &to),
               "bytes always have tokens");
  size_t at = 0;
  for (size_t i = 0; i < example->count; i++) {
    const size_t n = strlen(example->items[i]) + (i % 2 && i + 1 < example->count);
    for (size_t j = 0; j < n; j++, at++)
      FUZZ_REQUIRE(at < to.tokens.count && to.learned[at] == i % 2, "token %zu", at);
  }
  FUZZ_REQUIRE(at == to.tokens.count, "%zu tokens, not %zu", to.tokens.count, at);
  instruction_tokens_free(&to);
}

static void try(const chat_template *t, const char *line, size_t n) {
  string_list example;
  if (instruction_parse(t, "input", 1, line, n, &example)) {
    FUZZ_REQUIRE_MESSAGE();
    FUZZ_REQUIRE(!strncmp(phibal_status_message(), "input:1: ", 9), "%s", phibal_status_message());
    FUZZ_REQUIRE(!example.items && !example.count, "what failed left something");
    return;
  }
  FUZZ_REQUIRE(example.count >= 2 && example.count % 2 == 0, "%zu texts", example.count);
  FUZZ_REQUIRE(*example.items[0], "nothing is read before the first learned text");
  check_tokens(&example);
  string_list_free(&example);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char chat[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"},"
                             " {\"role\": \"assistant\", \"content\": \"b\"}]}";
  chat_template t;
  FUZZ_REQUIRE(!chat_template_default(&t), "the default template");
  char *line = fuzz_bytes(data, size);
  try(&t, line, size);
  free(line);
  chat_template_free(&t);
  if (chat_template_read(fuzz_file("template.json", data, size), &t))
    FUZZ_REQUIRE_MESSAGE();
  else
    try(&t, chat, sizeof chat - 1);
  chat_template_free(&t);
  return 0;
}
