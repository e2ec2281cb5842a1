/* The judge's files: a manifest, a zero byte, and a file of results, beside the vectors of `ema` in
   spec/vectors. Refused with a message, or judged, and the sums of the report agree. */
#include "verify/judge_vectors.h"
#include "target.h"
#include "verify/vectors.h"

static char cases_path[sizeof fuzz_folder_path + 64], digest_text[17];

static void write_cases(void) {
  text_buffer cases = {0};
  FUZZ_REQUIRE(!file_read_all(FUZZ_SOURCE_ROOT "/spec/vectors/ema.safetensors", &cases), "%s",
               phibal_status_message());
  snprintf(cases_path, sizeof cases_path, "%s",
           fuzz_file("cases.safetensors", cases.bytes, cases.count));
  text_buffer_free(&cases);
  uint64_t digest;
  FUZZ_REQUIRE(!vectors_digest(cases_path, &digest), "%s", phibal_status_message());
  snprintf(digest_text, sizeof digest_text, "%016llx", (unsigned long long)digest);
}

/* Without the right digest nothing behind it would be tested. */
static void repair(char *manifest) {
  char *at = strstr(manifest, "\"digest\": \"");
  if (at && strlen(at) > 11 + 16) memcpy(at + 11, digest_text, 16);
}

static void check(const judge_report *r) {
  int64_t failed = 0;
  for (int64_t i = 0; i < r->count; i++) {
    failed += r->cases[i].failures > 0;
    FUZZ_REQUIRE(r->cases[i].wrong <= r->cases[i].elements, "case %lld", (long long)i);
    FUZZ_REQUIRE(!r->cases[i].failures || *r->cases[i].first.words, "case %lld", (long long)i);
  }
  FUZZ_REQUIRE(failed == r->failed, "%lld", (long long)r->failed);
  FUZZ_REQUIRE(r->likely_count <= LIKELY_FLAGS, "%d", r->likely_count);
  /* Nobody who answered nothing passes. */
  if (judge_passed(r)) FUZZ_REQUIRE(r->count > r->unanswered, "%lld", (long long)r->unanswered);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!*cases_path) write_cases();
  const uint8_t *end = memchr(data, 0, size);
  size_t length = end ? (size_t)(end - data) : size;
  char *manifest = fuzz_text(data, length);
  repair(manifest);
  fuzz_file("cases.json", manifest, length);
  free(manifest);
  static const char none[] = "\2\0\0\0\0\0\0\0{}";
  const char *results = end ? fuzz_file("results.safetensors", end + 1, size - length - 1)
                            : fuzz_file("results.safetensors", none, sizeof none - 1);
  judge_request request = {.cases = cases_path, .results = results, .times = 1};
  judge_report report;
  if (judge_vectors(&request, &report))
    FUZZ_REQUIRE_MESSAGE();
  else
    check(&report);
  judge_report_clear(&report);
  return 0;
}
