/* Token files: what is written is read back, and nothing else is. */
#include "tests/data_files.h"
#include "moe/data/token_writer.h"
#include "moe/data/token_file_internal.h"

static char *folder, *path;

static void setup(void) {
  folder = scratch_folder();
  path = string_format("%s/some.tokens", folder);
}

static void teardown(void) {
  folder_remove(folder);
  free(folder);
  free(path);
}

TestSuite(token_file, .init = setup, .fini = teardown);

/* Two domains, four documents (one of them empty), an odd number of tokens. */
static void write_sample(int32_t vocabulary, uint32_t offset) {
  token_writer *w;
  must(token_writer_create(path, vocabulary, 9, &w));
  must(token_writer_domain(w, "first"));
  must(token_writer_domain(w, "zweite Dom\u00e4ne"));
  const uint32_t a[] = {offset + 1, offset + 2, offset + 3}, b[] = {offset}, c[] = {0, 0};
  must(token_writer_document(w, a, 3, 1));
  must(token_writer_document(w, b, 1, 0));
  must(token_writer_document(w, NULL, 0, 0));
  must(token_writer_document(w, c, 2, 1));
  must(token_writer_finish(w));
  must(token_writer_publish(w));
  token_writer_destroy(w);
}

static void check_sample(uint32_t offset) {
  const int64_t starts[] = {0, 4, 6, 7}, lengths[] = {4, 2, 1, 3};
  const int32_t domains[] = {1, 0, 0, 1};
  const int32_t o = (int32_t)offset;
  const int32_t tokens[] = {o + 1, o + 2, o + 3, 9, o, 9, 9, 0, 0, 9};
  token_file f;
  must(token_file_open(path, &f));
  cr_assert_eq(f.tokens, 10);
  cr_assert_eq(f.documents, 4);
  cr_assert_eq(f.domains, 2);
  cr_assert_eq(f.end_of_document, 9);
  cr_assert_str_eq(f.domain_names[0], "first");
  cr_assert_str_eq(f.domain_names[1], "zweite Dom\u00e4ne");
  for (int i = 0; i < 10; i++) cr_assert_eq(token_file_at(&f, i), tokens[i], "token %d", i);
  int document = 0;
  for (int i = 0; i < 4; i++) {
    cr_assert_eq(f.table[i].start, starts[i]);
    cr_assert_eq(f.table[i].length, lengths[i]);
    cr_assert_eq(f.table[i].domain, domains[i]);
  }
  for (int i = 0; i < 10; i++) {
    while (document < 3 && starts[document + 1] <= i) document++;
    cr_assert_eq(token_file_document(&f, i), document, "token %d", i);
  }
  token_file_close(&f);
  cr_assert_null(f.mapping);
  token_file_close(&f);
}

Test(token_file, comes_back_in_16_bits) {
  write_sample(257, 10);
  check_sample(10);
  token_file f;
  must(token_file_open(path, &f));
  cr_assert(f.data16 && !f.data32);
  cr_assert_eq(f.vocabulary, 257);
  token_file_close(&f);
  cr_assert_eq(count_names(folder), 1, "the temporary name must be gone");
}

/* 65536 is the largest vocabulary that 16 bits hold, 65537 the smallest that they do not. */
Test(token_file, comes_back_at_the_edge_of_16_bits) {
  write_sample(65536, 65532);
  check_sample(65532);
  write_sample(65537, 65533);
  check_sample(65533);
  token_file f;
  must(token_file_open(path, &f));
  cr_assert(!f.data16 && f.data32);
  token_file_close(&f);
}

/* More than the writer's buffer of a mebibyte, so that the checksum crosses it. */
Test(token_file, comes_back_when_large) {
  enum { N = 1300003 };
  uint32_t *ids = malloc(N * sizeof *ids);
  for (uint32_t i = 0; i < N; i++) ids[i] = (i * 2654435761u) >> 24;
  token_writer *w;
  must(token_writer_create(path, 257, 256, &w));
  must(token_writer_domain(w, "d"));
  for (int d = 0; d < 3; d++) must(token_writer_document(w, ids, N - d, 0));
  must(token_writer_finish(w));
  must(token_writer_publish(w));
  token_writer_destroy(w);
  token_file f;
  must(token_file_open(path, &f));
  cr_assert_eq(f.tokens, 3 * (int64_t)N);
  for (int d = 0; d < 3; d++) {
    for (int64_t i = 0; i < N - d; i++)
      if (f.data16[f.table[d].start + i] != ids[i])
        cr_assert_fail("document %d, token %ld", d, (long)i);
    cr_assert_eq(f.data16[f.table[d].start + N - d], 256);
  }
  token_file_close(&f);
  free(ids);
}

static text_buffer read_sample(void) {
  text_buffer bytes = {0};
  must(file_read_all(path, &bytes));
  return bytes;
}

static phibal_status open_status(void) {
  token_file f;
  phibal_status status = token_file_open(path, &f);
  if (status) cr_assert(!f.mapping && !f.domain_names && !f.tokens, "a failed open leaves zeros");
  token_file_close(&f);
  return status;
}

Test(token_file, truncated_or_prolonged_is_refused) {
  write_sample(257, 10);
  text_buffer bytes = read_sample();
  for (size_t n = 0; n < bytes.count; n++) {
    put_file(folder, "some.tokens", bytes.bytes, n);
    cr_assert_eq(open_status(), PHIBAL_ERROR_FORMAT, "%zu bytes of %zu", n, bytes.count);
    cr_assert(message_has(path) && message_has("truncated"), "%s", phibal_status_message());
  }
  must(text_buffer_append(&bytes, "\0\0\0\0\0\0\0\0", 8));
  put_file(folder, "some.tokens", bytes.bytes, bytes.count);
  cr_assert_eq(open_status(), PHIBAL_ERROR_FORMAT);
  text_buffer_free(&bytes);
}

/* Every bit of the file, header, padding and checksum included, counts. */
Test(token_file, every_changed_bit_is_noticed) {
  write_sample(257, 10);
  text_buffer bytes = read_sample();
  for (size_t i = 0; i < 8 * bytes.count; i++) {
    bytes.bytes[i / 8] ^= (char)(1 << i % 8);
    put_file(folder, "some.tokens", bytes.bytes, bytes.count);
    cr_assert_eq(open_status(), PHIBAL_ERROR_FORMAT, "bit %zu of byte %zu", i % 8, i / 8);
    bytes.bytes[i / 8] ^= (char)(1 << i % 8);
  }
  put_file(folder, "some.tokens", bytes.bytes, bytes.count);
  must(open_status());
  text_buffer_free(&bytes);
}

/* The checksum as token_file_internal.h describes it, written once more. */
static void repair_checksum(text_buffer *b) {
  uint64_t sum = 0, word;
  for (size_t i = 64; i < b->count - 8 + 64; i += 8) {
    size_t at = i < b->count - 8 ? i : i - (b->count - 8);
    memcpy(&word, b->bytes + at, 8);
    sum ^= word;
    sum *= 0x9e3779b97f4a7c15u;
    sum ^= sum >> 32;
  }
  memcpy(b->bytes + b->count - 8, &sum, 8);
}

/* The checksum is the documented one, or files would not be read elsewhere. */
Test(token_file, checksum_is_as_documented) {
  write_sample(257, 10);
  text_buffer b = read_sample();
  uint64_t stored, computed;
  memcpy(&stored, b.bytes + b.count - 8, 8);
  repair_checksum(&b);
  memcpy(&computed, b.bytes + b.count - 8, 8);
  cr_assert_eq(stored, computed);
  text_buffer_free(&b);
}

/* Changes `bytes` bytes at `offset` of the sample, makes the checksum right again, and expects a
   message with `part`. */
static void expect_refusal(size_t offset, const void *data, size_t bytes, const char *part) {
  write_sample(257, 10);
  text_buffer b = read_sample();
  memcpy(b.bytes + offset, data, bytes);
  repair_checksum(&b);
  put_file(folder, "some.tokens", b.bytes, b.count);
  cr_assert_eq(open_status(), PHIBAL_ERROR_FORMAT, "%s", part);
  cr_assert(message_has(part), "wanted '%s', got: %s", part, phibal_status_message());
  cr_assert_not(message_has("checksum"), "%s", phibal_status_message());
  text_buffer_free(&b);
}

/* 64 bytes of header, 10 tokens of 2 bytes padded to 24, so documents at 88, names at 88 + 96. */
Test(token_file, contents_that_cannot_be_are_named) {
  expect_refusal(64 + 2 * 7, &(uint16_t){257}, 2, "token 7 (byte 78) is 257");
  expect_refusal(64, &(uint16_t){65535}, 2, "token 0 (byte 64) is 65535");
  expect_refusal(64 + 2 * 9, &(uint16_t){8}, 2, "document 3 ends in token 8");
  expect_refusal(88 + 24, &(int64_t){5}, 8, "document 1: start 5");
  expect_refusal(88 + 8, &(int64_t){0}, 8, "document 0: start 0, length 0");
  expect_refusal(88 + 8, &(int64_t){INT64_MAX}, 8, "document 0");
  expect_refusal(88 + 3 * 24 + 8, &(int64_t){4}, 8, "document 3");
  expect_refusal(88 + 16, &(int32_t){2}, 4, "document 0: domain 2");
  expect_refusal(88 + 16, &(int32_t){-1}, 4, "document 0: domain -1");
  expect_refusal(184, "", 1, "domain 0 is empty");
  expect_refusal(0, "P", 1, "not a token file");
  expect_refusal(8, &(uint32_t){3}, 4, "version 3");
  expect_refusal(8, &(uint32_t){2}, 4, "make 224 bytes");
  expect_refusal(12, &(uint32_t){4}, 4, "token_bytes");
  expect_refusal(16, &(int32_t){0}, 4, "vocabulary");
  expect_refusal(20, &(int32_t){257}, 4, "end_of_document");
  expect_refusal(24, &(int64_t){INT64_MAX}, 8, "tokens");
  expect_refusal(24, &(int64_t){18}, 8, "18 tokens");
  expect_refusal(32, &(int64_t){0}, 8, "documents");
  expect_refusal(40, &(int32_t){0}, 4, "domains");
  expect_refusal(40, &(int32_t){9}, 4, "the name of domain");
  expect_refusal(48, &(int64_t){12}, 8, "name_bytes");
}

/* The last table row may end early: tokens that belong to no document. */
Test(token_file, uncovered_tokens_are_refused) {
  write_sample(257, 10);
  text_buffer b = read_sample();
  memcpy(b.bytes + 88 + 3 * 24 + 8, &(int64_t){2}, 8);
  memcpy(b.bytes + 64 + 2 * 8, &(uint16_t){9}, 2);
  repair_checksum(&b);
  put_file(folder, "some.tokens", b.bytes, b.count);
  cr_assert_eq(open_status(), PHIBAL_ERROR_FORMAT);
  cr_assert(message_has("cover 9 tokens of 10"), "%s", phibal_status_message());
  text_buffer_free(&b);
}

Test(token_file, what_cannot_be_opened_is_named) {
  cr_assert_eq(open_status(), PHIBAL_ERROR_IO);
  cr_assert(message_has(path) && message_has("No such file"), "%s", phibal_status_message());
  token_file f;
  cr_assert_eq(token_file_open(folder, &f), PHIBAL_ERROR_FORMAT);
  put_text(folder, "some.tokens",
           "To be, or not to be: that is the question, and a long one it is, "
           "longer than a header.");
  cr_assert_eq(open_status(), PHIBAL_ERROR_FORMAT);
  cr_assert(message_has("not a token file"), "%s", phibal_status_message());
}

Test(token_file, writer_refuses_what_a_reader_would) {
  token_writer *w;
  cr_assert_eq(token_writer_create(path, 257, 257, &w), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(token_writer_create(path, 0, 0, &w), PHIBAL_ERROR_ARGUMENT);
  must(token_writer_create(path, 257, 256, &w));
  cr_assert_eq(token_writer_document(w, NULL, 0, 0), PHIBAL_ERROR_ARGUMENT, "no domain yet");
  cr_assert_eq(token_writer_domain(w, ""), PHIBAL_ERROR_ARGUMENT);
  must(token_writer_domain(w, "d"));
  cr_assert_eq(token_writer_finish(w), PHIBAL_ERROR_ARGUMENT, "no documents");
  cr_assert_eq(token_writer_document(w, (uint32_t[]){3, 257}, 2, 0), PHIBAL_ERROR_ARGUMENT);
  cr_assert(message_has("token 1 is 257"), "%s", phibal_status_message());
  cr_assert_eq(token_writer_document(w, NULL, 0, -1), PHIBAL_ERROR_ARGUMENT);
  token_writer_destroy(w);
  cr_assert_eq(count_names(folder), 0);
}

/* Until it is published, a file has its old contents and the new one no name that stays. */
Test(token_file, an_interrupted_write_leaves_nothing) {
  write_sample(257, 10);
  for (int finished = 0; finished < 2; finished++) {
    token_writer *w;
    must(token_writer_create(path, 257, 256, &w));
    must(token_writer_domain(w, "other"));
    must(token_writer_document(w, (uint32_t[]){7}, 1, 0));
    if (finished) must(token_writer_finish(w));
    token_writer_destroy(w);
    cr_assert_eq(count_names(folder), 1);
    check_sample(10);
  }
  token_writer *w;
  char *nowhere = string_format("%s/missing/x.tokens", folder);
  cr_assert_eq(token_writer_create(nowhere, 257, 256, &w), PHIBAL_ERROR_IO);
  cr_assert_null(w);
  free(nowhere);
}
