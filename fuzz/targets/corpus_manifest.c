/* corpus.json: refused with a message, or a report that a build can have made. */
#include "moe/data/manifest.h"
#include "moe/data/token_file_internal.h"
#include "target.h"

static void part_check(const build_part *p) {
  FUZZ_REQUIRE(p->documents >= 0 && p->bytes >= 0 && p->tokens >= 0, "%lld tokens",
               (long long)p->tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_file("corpus.json", data, size);
  build_report report;
  json_t *origin;
  if (manifest_read(fuzz_folder_path, &report, &origin)) {
    FUZZ_REQUIRE_MESSAGE();
    FUZZ_REQUIRE(!report.domains && !report.domain_count && !origin, "something is left");
    return 0;
  }
  FUZZ_REQUIRE(report.vocabulary >= 1 && report.vocabulary <= TOKEN_FORMAT_MAX_VOCABULARY, "%d",
               report.vocabulary);
  FUZZ_REQUIRE(report.domain_count >= 1, "no domain");
  int64_t tokens = 0;
  for (int32_t d = 0; d < report.domain_count; d++) {
    const build_domain *domain = &report.domains[d];
    FUZZ_REQUIRE(*domain->name && strlen(domain->name) <= TOKEN_FORMAT_MAX_NAME, "%d", d);
    part_check(&domain->train);
    part_check(&domain->validation);
    tokens += domain->train.tokens + domain->validation.tokens; /* the sanitizer sees overflow */
  }
  FUZZ_REQUIRE(tokens >= 0, "%lld", (long long)tokens);
  json_decref(origin);
  build_report_free(&report);
  return 0;
}
