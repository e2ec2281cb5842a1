/* What holds of every token file that was opened, whoever wrote it. */
#ifndef PHIBAL_FUZZ_TOKEN_CONTENTS_H
#define PHIBAL_FUZZ_TOKEN_CONTENTS_H

#include "moe/data/token_file.h"
#include "moe/data/token_file_internal.h"
#include "target.h"

static inline void token_contents_check(const token_file *f) {
  for (int64_t i = 0; i < f->tokens; i++) {
    int32_t token = token_file_at(f, i);
    FUZZ_REQUIRE(token >= 0 && token < f->vocabulary, "token %d", token);
    int64_t d = token_file_document(f, i);
    FUZZ_REQUIRE(d >= 0 && d < f->documents && f->table[d].start <= i &&
                     i - f->table[d].start < f->table[d].length,
                 "token %lld, document %lld", (long long)i, (long long)d);
    FUZZ_REQUIRE(f->table[d].domain >= 0 && f->table[d].domain < f->domains, "domain %d",
                 f->table[d].domain);
  }
  for (int64_t d = 0; d < f->documents && f->learned; d++) {
    int64_t learned = 0;
    for (int64_t i = 0; i < f->table[d].length; i++)
      learned += token_file_learned(f, f->table[d].start + i);
    FUZZ_REQUIRE(learned > 0 && !token_file_learned(f, f->table[d].start), "document %lld",
                 (long long)d);
  }
  for (int32_t d = 0; d < f->domains; d++)
    FUZZ_REQUIRE(*f->domain_names[d] && strlen(f->domain_names[d]) <= TOKEN_FORMAT_MAX_NAME,
                 "domain %d", d);
  double nats;
  if (f->tokens >= 2 && !token_file_bigram_entropy(f, -1, &nats))
    FUZZ_REQUIRE(nats >= 0 && nats < 40, "%g nats", nats);
}

#endif
