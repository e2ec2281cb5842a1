/* Questions, one JSON object a line: refused with a message, or each with an answer among its
   options. */
#include "moe/train/choices.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  choice_file file;
  if (choices_read(fuzz_file("questions.jsonl", data, size), &file)) {
    FUZZ_REQUIRE_MESSAGE();
    return 0;
  }
  FUZZ_REQUIRE(file.count > 0, "no question");
  for (int64_t i = 0; i < file.count; i++) {
    const choice_question *q = &file.questions[i];
    FUZZ_REQUIRE(q->options >= 2 && q->options <= CHOICES_MAX && q->answer >= 0 &&
                     q->answer < q->options,
                 "line %d", q->line);
    FUZZ_REQUIRE(q->context, "line %d", q->line);
    for (int32_t o = 0; o < q->options; o++)
      FUZZ_REQUIRE(q->option[o] && *q->option[o], "line %d", q->line);
  }
  choices_close(&file);
  return 0;
}
