/* Text to token files: what is taken, how it is divided and split, and what is refused. */
#include "tests/data_files.h"
#include "moe/data/token_file.h"
#include "moe/data/build.h"
#include "moe/data/manifest.h"
#include "moe/data/text.h"
#include "moe/data/tokenizer.h"
#include <math.h>
#include <sys/stat.h>

static char *folder, *text, *out;

static void setup(void) {
  folder = scratch_folder();
  text = string_format("%s/text", folder);
  out = string_format("%s/out", folder);
}

static void teardown(void) {
  folder_remove(folder);
  free(folder);
  free(text);
  free(out);
}

TestSuite(data_build, .init = setup, .fini = teardown);

static char notices[4096];

static void listen(const char *message) {
  strncat(notices, message, sizeof notices - strlen(notices) - 2);
  strcat(notices, "\n");
}

static phibal_status run(build_options o, build_report *report) {
  *notices = 0;
  o.folder = o.folder ? o.folder : out;
  o.notice = listen;
  return build_run(&o, report);
}

static phibal_status run_one(build_options o, const char *domain) {
  const build_source source = {.domain = domain, .path = text};
  build_report report;
  o.sources = &source;
  o.source_count = 1;
  phibal_status status = run(o, &report);
  if (!status) build_report_free(&report);
  return status;
}

static token_file open_part(const char *where, int validation) {
  char *path = string_format("%s/%s.tokens", where, validation ? "validation" : "train");
  token_file f;
  must(token_file_open(path, &f));
  free(path);
  return f;
}

/* The text of document d of a byte-level file; to be freed. */
static char *document_text(const token_file *f, int64_t d) {
  const token_document *t = &f->table[d];
  char *bytes = malloc((size_t)t->length);
  for (int64_t i = 0; i < t->length; i++) {
    int32_t token = token_file_at(f, t->start + i);
    cr_assert_eq(token == 256, i == t->length - 1);
    bytes[i] = (char)(token == 256 ? 0 : token);
  }
  return bytes;
}

static int holds(const token_file *f, const char *wanted) {
  int found = 0;
  for (int64_t d = 0; d < f->documents; d++) {
    char *bytes = document_text(f, d);
    found += !strcmp(bytes, wanted);
    free(bytes);
  }
  return found;
}

/* 200 numbered texts of different lengths. */
static void numbered(char *buffer, size_t size, int i) {
  snprintf(buffer, size, "Text number %d: %.*s\n", i, i % 40,
           "all the world's a stage, and all the men");
}

static void put_numbered(int n) {
  for (int i = 0; i < n; i++) {
    char name[64], contents[128];
    snprintf(name, sizeof name, "%d/%d.txt", i % 7, i);
    numbered(contents, sizeof contents, i);
    put_text(text, name, contents);
  }
}

/* What is valid UTF-8: every character, and in three bytes nothing else. Strings of three bytes are
   three of one byte, one and one of two, or one of three: 128^3 + 2 * 128 * 1920 + (63488 - 2048).
 */
Test(data_build, utf8_is_exactly_utf8) {
  for (uint32_t c = 0; c <= 0x10ffff; c++) {
    char s[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1;) s[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
    s[0] = (char)(n == 1 ? c : lead[n] | c >> 6 * (n - 1));
    int surrogate = c >= 0xd800 && c < 0xe000;
    if (text_utf8_valid(s, n) != (surrogate ? 0 : n)) cr_assert_fail("U+%04X", c);
    if (n > 1 && text_utf8_valid(s, n - 1) != 0) cr_assert_fail("U+%04X cut", c);
  }
  int64_t valid = 0;
  for (uint32_t i = 0; i < 1 << 24; i++) {
    const char s[3] = {(char)(i >> 16), (char)(i >> 8), (char)i};
    valid += text_utf8_valid(s, 3) == 3;
  }
  cr_assert_eq(valid, 128L * 128 * 128 + 2 * 128 * 1920 + 61440);
  /* In four bytes, the lead and the second byte decide; the others are continuations or not. */
  for (int a = 0xf0; a < 0x100; a++)
    for (int b = 0; b < 0x100; b++)
      for (int c = 0x7f; c <= 0xc0; c += c == 0x80 ? 0x3f : 1) {
        const char s[4] = {(char)a, (char)b, (char)c, (char)0xbf};
        const int high = (a & 7) << 2 | (b >> 4 & 3);
        const int good =
            a < 0xf8 && (b & 0xc0) == 0x80 && high >= 1 && high <= 16 && c >= 0x80 && c < 0xc0;
        if ((text_utf8_valid(s, 4) == 4) != good) cr_assert_fail("%02x %02x %02x", a, b, c);
      }
  cr_assert_eq(text_utf8_valid("", 0), 0);
  cr_assert_eq(text_utf8_valid("abc\xff", 4), 3);
  cr_assert_eq(text_utf8_valid("\u00e4\xe2\x82", 4), 2);
}

Test(data_build, long_texts_are_divided_where_they_may_be) {
  cr_assert_eq(text_document_length("one\n\ntwo\nthree", 14, 0), 14);
  cr_assert_eq(text_document_length("one\n\ntwo\nthree", 14, 14), 14);
  cr_assert_eq(text_document_length("one\n\ntwo\nthree", 14, 9), 5, "an empty line wins");
  cr_assert_eq(text_document_length("one\n\ntwo\nthree", 14, 13), 9, "but not in the first half");
  cr_assert_eq(text_document_length("onetwothree", 11, 4), 4);
  cr_assert_eq(text_document_length("ab\u20acd", 6, 3), 2);
  cr_assert_eq(text_document_length("ab\u20acd", 6, 4), 2);
  cr_assert_eq(text_document_length("ab\u20acd", 6, 5), 5);
  cr_assert_eq(text_document_length("\u20ac\u20ac", 6, 1), 3, "no character is cut");
  /* Whatever the limit, the parts are the whole, and none begins inside a character. */
  const char *all = "Wei\u00df\n\n\nich \u20ac und \U0001d11e\nnicht\n\nmehr?\nNein.";
  for (int64_t limit = 1; limit < 60; limit++)
    for (size_t at = 0, n = strlen(all); at < n;) {
      cr_assert_neq(all[at] & 0xc0, 0x80, "limit %ld", (long)limit);
      size_t length = text_document_length(all + at, n - at, limit);
      cr_assert(length > 0 && length <= n - at && (limit < 4 || length <= (size_t)limit));
      at += length;
    }
}

Test(data_build, every_document_is_on_one_side_whole) {
  put_numbered(200);
  const build_source source = {.domain = "d", .path = text};
  build_report r;
  must(run((build_options){.sources = &source, .source_count = 1, .validation = 0.2, .seed = 3},
           &r));
  token_file train = open_part(out, 0), validation = open_part(out, 1);
  cr_assert_eq(train.documents + validation.documents, 200);
  const token_file *files[] = {&train, &validation};
  const build_part *parts[] = {&r.domains[0].train, &r.domains[0].validation};
  for (int p = 0; p < 2; p++) {
    cr_assert_eq(parts[p]->documents, files[p]->documents);
    cr_assert_eq(parts[p]->tokens, files[p]->tokens);
    cr_assert_eq(parts[p]->bytes, files[p]->tokens - files[p]->documents);
  }
  build_report_free(&r);
  cr_assert_eq(train.vocabulary, 257);
  cr_assert_str_eq(train.domain_names[0], "d");
  for (int i = 0; i < 200; i++) {
    char contents[128];
    numbered(contents, sizeof contents, i);
    cr_assert_eq(holds(&train, contents) + holds(&validation, contents), 1, "document %d", i);
  }
  token_file_close(&train);
  token_file_close(&validation);
}

/* 4000 different texts: 200 are expected for validation, with a standard deviation of
   sqrt(4000 0.05 0.95) = 13.8; six of them are 83. */
Test(data_build, the_share_is_kept) {
  text_buffer all = {0};
  for (int i = 0; i < 4000; i++) {
    char contents[128];
    snprintf(contents, sizeof contents, "%06d, the number of this\n\n", i);
    must(text_buffer_string(&all, contents));
  }
  put_file(text, "all", all.bytes, all.count);
  text_buffer_free(&all);
  must(run_one((build_options){.validation = 0.05, .document_bytes = 28}, "d"));
  token_file validation = open_part(out, 1), train = open_part(out, 0);
  cr_assert_eq(train.documents + validation.documents, 4000);
  cr_assert(llabs(validation.documents - 200) < 83, "%ld", (long)validation.documents);
  token_file_close(&train);
  token_file_close(&validation);
}

static int same_files(const char *a, const char *b, const char *name) {
  char *paths[2] = {string_format("%s/%s", a, name), string_format("%s/%s", b, name)};
  text_buffer bytes[2] = {{0}, {0}};
  for (int i = 0; i < 2; i++) must(file_read_all(paths[i], &bytes[i]));
  int same =
      bytes[0].count == bytes[1].count && !memcmp(bytes[0].bytes, bytes[1].bytes, bytes[0].count);
  for (int i = 0; i < 2; i++) {
    free(paths[i]);
    text_buffer_free(&bytes[i]);
  }
  return same;
}

Test(data_build, the_split_depends_on_text_and_seed_only) {
  put_numbered(200);
  char *again = string_format("%s/again", folder), *other = string_format("%s/other", folder),
       *moved = string_format("%s/moved", folder);
  must(run_one((build_options){.validation = 0.2, .seed = 3}, "d"));
  must(run_one((build_options){.validation = 0.2, .seed = 3, .folder = again}, "d"));
  must(run_one((build_options){.validation = 0.2, .seed = 4, .folder = other}, "d"));
  static const char *const names[] = {"train.tokens", "validation.tokens", "corpus.json"};
  for (int i = 0; i < 3; i++) {
    cr_assert(same_files(out, again, names[i]), "%s", names[i]);
    cr_assert(!same_files(out, other, names[i]), "%s", names[i]);
  }
  /* The same texts in other files, and a hundred more: each stays on its side. */
  folder_remove(text);
  for (int i = 0; i < 300; i++) {
    char name[64], contents[128];
    snprintf(name, sizeof name, "x%d", (i * 7919) % 300);
    numbered(contents, sizeof contents, i);
    put_text(text, name, contents);
  }
  must(run_one((build_options){.validation = 0.2, .seed = 3, .folder = moved}, "e"));
  token_file before = open_part(out, 1), after = open_part(moved, 1);
  for (int i = 0; i < 200; i++) {
    char contents[128];
    numbered(contents, sizeof contents, i);
    cr_assert_eq(holds(&before, contents), holds(&after, contents), "document %d", i);
  }
  token_file_close(&before);
  token_file_close(&after);
  free(again);
  free(other);
  free(moved);
}

/* A text that is there many times is either learnt or tested. Two texts: one for each side, though
   a share of 0.0001 chooses neither. */
Test(data_build, one_text_is_on_one_side) {
  for (int i = 0; i < 50; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    put_text(text, name, i % 2 ? "odd" : "even");
  }
  for (uint64_t seed = 0; seed < 20; seed++)
    for (int large = 0; large < 2; large++) {
      must(run_one(
          (build_options){.validation = large ? 0.5 : 1e-4, .seed = seed, .overwrite = true}, "d"));
      token_file f = open_part(out, 1), g = open_part(out, 0);
      cr_assert_eq(f.documents, 25);
      cr_assert_eq(g.documents, 25);
      cr_assert(holds(&f, "odd") == 25 || holds(&f, "even") == 25);
      token_file_close(&f);
      token_file_close(&g);
    }
}

Test(data_build, domains_are_told_apart) {
  put_text(folder, "a/1", "aaa");
  put_text(folder, "a/sub/2", "aaaa");
  put_text(folder, "a/.hidden", "no");
  put_text(folder, "b.txt", "bb");
  put_text(folder, "c/3", "c");
  char *a = string_format("%s/a", folder), *b = string_format("%s/b.txt", folder),
       *c = string_format("%s/c", folder), *link = string_format("%s/a/link", folder);
  cr_assert_eq(symlink("2", link), 0); /* leads nowhere */
  const build_source sources[] = {{"A", a}, {"B", b}, {"A", c}};
  build_report r;
  must(run((build_options){.sources = sources, .source_count = 3, .validation = 0}, &r));
  cr_assert_eq(r.domain_count, 2);
  cr_assert(r.files == 4 && r.hidden == 1 && r.broken_links == 1 && !r.again && !r.no_files);
  cr_assert_str_eq(r.domains[0].name, "A");
  cr_assert_eq(r.domains[0].train.documents, 3);
  cr_assert_eq(r.domains[0].train.bytes, 8);
  cr_assert_eq(r.domains[0].train.tokens, 11);
  cr_assert_eq(r.domains[1].train.documents, 1);
  cr_assert_eq(r.domains[1].train.tokens, 3);
  token_file f = open_part(out, 0);
  static const char *const texts[] = {"aaa", "aaaa", "bb", "c"};
  static const int32_t domains[] = {0, 0, 1, 0};
  cr_assert_eq(f.documents, 4);
  for (int d = 0; d < 4; d++) {
    char *bytes = document_text(&f, d);
    cr_assert_str_eq(bytes, texts[d]);
    cr_assert_eq(f.table[d].domain, domains[d]);
    free(bytes);
  }
  token_file_close(&f);
  build_report_free(&r);

  json_t *origin;
  must(manifest_read(out, &r, &origin));
  cr_assert_null(origin);
  cr_assert_eq(r.domain_count, 2);
  cr_assert_str_eq(r.domains[1].name, "B");
  cr_assert_eq(r.domains[0].train.tokens, 11);
  build_report_free(&r);
  free(a);
  free(b);
  free(c);
  free(link);
}

/* A failing build leaves a folder as it was, or does not even make it. */
static void expect_error(build_options o, phibal_status wanted, const char *part) {
  cr_assert_eq(run_one(o, "d"), wanted, "%s: %s", part, phibal_status_message());
  cr_assert(message_has(part), "wanted '%s', got: %s", part, phibal_status_message());
  cr_assert_eq(count_names(out), -1, "%s", part);
}

/* Every file once, by whatever name is the first; circles end; what leads nowhere is counted. */
Test(data_build, links_are_followed_and_files_taken_once) {
  put_text(text, "a", "one");
  put_text(text, "b/c", "two");
  put_text(folder, "elsewhere/d", "three");
  put_text(folder, "elsewhere/e/f", "four");
  static const char *const links[][2] = {{"a", "z"},
                                         {"../a", "b/again"},
                                         {"..", "b/up"},
                                         {".", "self"},
                                         {"nowhere", "broken"},
                                         {"circle", "circle"},
                                         {"../elsewhere", "far"},
                                         {"../elsewhere/e", "far-e"},
                                         {"a/b", "through-a-file"}};
  enum { LINKS = sizeof links / sizeof *links };
  char *paths[LINKS + 1];
  for (int i = 0; i < LINKS; i++) {
    paths[i] = string_format("%s/%s", text, links[i][1]);
    cr_assert_eq(symlink(links[i][0], paths[i]), 0);
  }
  paths[LINKS] = string_format("%s/pipe", text);
  cr_assert_eq(mkfifo(paths[LINKS], 0600), 0);
  const build_source source = {"d", text};
  build_report r;
  must(run((build_options){.sources = &source, .source_count = 1}, &r));
  cr_expect_eq(r.files, 4);
  cr_expect_eq(r.domains[0].train.documents, 4);
  cr_expect_eq(r.again, 5, "z, b/again, b/up, self, far-e: %d", (int)r.again);
  cr_expect_eq(r.broken_links, 3, "%d", (int)r.broken_links);
  cr_expect_eq(r.no_files, 1);
  cr_expect(strstr(notices, "/broken: a broken link"), "%s", notices);
  token_file f = open_part(out, 0);
  static const char *const texts[] = {"one", "two", "three", "four"};
  for (int i = 0; i < 4; i++) cr_expect_eq(holds(&f, texts[i]), 1, "%s", texts[i]);
  token_file_close(&f);
  build_report_free(&r);
  for (int i = 0; i <= LINKS; i++) free(paths[i]);
}

/* Paragraphs of 100 bytes, an empty line behind each. */
static void put_paragraphs(const char *name, int n) {
  text_buffer all = {0};
  for (int i = 0; i < n; i++) {
    char contents[128];
    snprintf(
        contents, sizeof contents, "%-98.*s\n\n", 20 + i % 60,
        "nobler in the mind to suffer the slings and arrows of outrageous fortune, or to take");
    snprintf(contents, 8, "%06d", i);
    contents[6] = ' ';
    must(text_buffer_string(&all, contents));
  }
  put_file(folder, name, all.bytes, all.count);
  text_buffer_free(&all);
}

/* What nanoGPT calls input.txt: no option is needed, no paragraph is cut, and both parts are there.
   A folder of files is not divided, nor what is small, nor where a size was said. */
Test(data_build, one_file_is_divided) {
  put_paragraphs("input.txt", 11154);
  put_paragraphs("two/a", 300);
  put_paragraphs("two/b", 301);
  char *one = string_format("%s/input.txt", folder), *two = string_format("%s/two", folder);
  const build_source sources[] = {{"one", one}, {"two", two}};
  build_options o = {
      .sources = sources, .source_count = 2, .validation = 0.05, .seed = 1, .divide_one = true};
  build_report r;
  must(run(o, &r));
  cr_expect(strstr(notices, "input.txt is one file: split") && strstr(notices, "17428 bytes"), "%s",
            notices);
  cr_expect_eq(r.domains[0].document_bytes, 17428);
  cr_expect_eq(r.domains[1].document_bytes, 0);
  cr_expect_eq(r.domains[1].train.documents + r.domains[1].validation.documents, 2);
  const int64_t documents = r.domains[0].train.documents + r.domains[0].validation.documents;
  cr_expect(documents >= 64 && documents < 128 && r.domains[0].validation.documents, "%ld",
            (long)documents);
  for (int p = 0; p < 2; p++) {
    token_file f = open_part(out, p);
    for (int64_t d = 0; d < f.documents; d++) {
      const token_document *t = &f.table[d];
      if (t->domain) continue;
      cr_expect(t->length <= 17429 && (t->length - 1) % 100 == 0, "%ld bytes", (long)t->length - 1);
    }
    token_file_close(&f);
  }
  build_report_free(&r);
  text_buffer manifest = {0};
  char *path = string_format("%s/corpus.json", out);
  must(file_read_all(path, &manifest));
  must(text_buffer_append(&manifest, "", 1));
  cr_expect(strstr(manifest.bytes, "\"document_bytes\": 17428"), "%s", manifest.bytes);
  text_buffer_free(&manifest);

  o.source_count = 1;
  o.overwrite = true;
  o.document_bytes = 50000;
  must(run(o, &r));
  cr_expect_eq(r.domains[0].document_bytes, 0);
  cr_expect_eq(r.domains[0].train.documents + r.domains[0].validation.documents, 23);
  build_report_free(&r);
  o.document_bytes = 0;
  put_paragraphs("input.txt", 10);
  cr_expect_eq(run(o, &r), PHIBAL_ERROR_ARGUMENT, "1000 bytes are one document");
  cr_expect(message_has("--document-bytes"), "%s", phibal_status_message());
  put_paragraphs("input.txt", 12);
  must(run(o, &r));
  cr_expect_eq(r.domains[0].document_bytes, 1024);
  build_report_free(&r);
  cr_expect_eq(build_document_bytes(INT64_C(1) << 40), 32768);
  free(one);
  free(two);
  free(path);
}

Test(data_build, zero_bytes_are_no_text) {
  const build_options o = {.validation = 0.2};
  put_text(text, "other", "another text");
  put_text(text, "third", "a third");
  put_file(text, "zeros", "ab\0c\0\0", 6);
  cr_expect_eq(run_one(o, "d"), PHIBAL_ERROR_FORMAT);
  cr_expect(message_has("/zeros: 3 zero bytes, the first at byte 2"), "%s",
            phibal_status_message());
  const build_source source = {"d", text};
  build_report r;
  build_options with = {.sources = &source, .source_count = 1, .invalid = BUILD_INVALID_SKIP};
  must(run(with, &r));
  cr_expect(r.zero_files == 1 && !r.invalid_files && r.files == 2 &&
            r.domains[0].train.documents == 2);
  cr_expect(strstr(notices, "/zeros: 3 zero bytes, skipped"), "%s", notices);
  build_report_free(&r);
  with.invalid = BUILD_INVALID_KEEP;
  with.overwrite = true;
  must(run(with, &r));
  cr_expect(!r.zero_files && r.files == 3 && r.domains[0].train.bytes == 12 + 7 + 6);
  cr_expect(strstr(notices, "/zeros: 3 zero bytes, kept"), "%s", notices);
  build_report_free(&r);
}

Test(data_build, lines_of_json) {
  const build_options o = {.validation = 0};
  put_text(text, "a.jsonl",
           "{\"text\": \"one\", \"id\": 7}\r\n\n{\"text\": \"\"}\n"
           "{\"text\": \"tw\\u00f6\"}");
  put_text(text, "b.json", "{\"text\": \"as it is\"}");
  must(run_one(o, "d"));
  token_file f = open_part(out, 0);
  cr_expect_eq(f.documents, 3);
  cr_expect(holds(&f, "one") && holds(&f, "tw\u00f6") && holds(&f, "{\"text\": \"as it is\"}"));
  token_file_close(&f);
  must(run_one((build_options){.lines = BUILD_LINES_ALL, .overwrite = true}, "d"));
  f = open_part(out, 0);
  cr_expect(f.documents == 3 && holds(&f, "as it is"));
  token_file_close(&f);
  must(run_one((build_options){.lines = BUILD_LINES_NONE, .overwrite = true}, "d"));
  f = open_part(out, 0);
  cr_expect_eq(f.documents, 2);
  token_file_close(&f);
  /* A long text is divided as any other. */
  must(run_one((build_options){.document_bytes = 2, .overwrite = true}, "d"));
  f = open_part(out, 0);
  cr_expect(holds(&f, "on") && holds(&f, "e") && holds(&f, "tw") && holds(&f, "\u00f6"));
  token_file_close(&f);
  folder_remove(out);

  static const char *const bad[][2] = {
      {"{\"text\": \"one\"}\n{\"text\": 1}", "a.jsonl:2: expected an object"},
      {"{\"messages\": []}", "--instructions"},
      {"[1]", "a.jsonl:1: expected an object"},
      {"\n{\"text\": \"one\"", "a.jsonl:2: no JSON"},
      {"{\"text\": \"\\u0000\"}", "a.jsonl:1: no JSON"},
      {"plain text", "--jsonl none"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    put_text(text, "a.jsonl", bad[i][0]);
    expect_error(o, PHIBAL_ERROR_FORMAT, bad[i][1]);
  }
}

/* In any number of pieces; then there is no more of it. */
Test(data_build, standard_input) {
  int ends[2];
  cr_assert_eq(pipe(ends), 0);
  pid_t writer = fork();
  if (!writer) {
    close(ends[0]);
    for (int i = 0; i < 3000; i++) {
      char contents[128];
      numbered(contents, sizeof contents, i);
      if (write(ends[1], contents, strlen(contents)) < 0) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  cr_assert_geq(dup2(ends[0], STDIN_FILENO), 0);
  text_buffer all = {0};
  for (int i = 0; i < 3000; i++) {
    char contents[128];
    numbered(contents, sizeof contents, i);
    must(text_buffer_string(&all, contents));
  }
  put_file(folder, "whole", all.bytes, all.count);
  char *whole = string_format("%s/whole", folder), *other = string_format("%s/other", folder);
  const build_source from_input = {"d", "-"}, from_file = {"d", whole};
  build_options o = {
      .sources = &from_input, .source_count = 1, .validation = 0.2, .divide_one = true};
  build_report r;
  must(run(o, &r));
  cr_expect(r.files == 1 &&
            r.domains[0].train.bytes + r.domains[0].validation.bytes == (int64_t)all.count);
  build_report_free(&r);
  o.sources = &from_file;
  o.folder = other;
  must(run(o, &r));
  build_report_free(&r);
  static const char *const names[] = {"train.tokens", "validation.tokens", "corpus.json"};
  for (int i = 0; i < 3; i++) cr_expect(same_files(out, other, names[i]), "%s", names[i]);

  folder_remove(out);
  o.folder = out;
  o.sources = &from_input;
  cr_expect_eq(run(o, &r), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(notices, "standard input: empty"), "%s", notices);
  const build_source twice[] = {{"d", "-"}, {"e", "-"}};
  o.sources = twice;
  o.source_count = 2;
  cr_expect_eq(run(o, &r), PHIBAL_ERROR_ARGUMENT);
  cr_expect(message_has("standard input is named twice"), "%s", phibal_status_message());
  close(STDIN_FILENO);
  o.source_count = 1;
  cr_expect_eq(run(o, &r), PHIBAL_ERROR_IO);
  cr_expect(message_has("standard input: cannot read"), "%s", phibal_status_message());
  text_buffer_free(&all);
  free(whole);
  free(other);
}

static void expect_refused(build_options o, const char *part) {
  cr_expect_eq(run_one(o, "d"), PHIBAL_ERROR_ARGUMENT, "%s", part);
  cr_expect(message_has(part), "wanted '%s', got: %s", part, phibal_status_message());
}

static void put_out(const char *name, const char *contents) {
  char *path = string_format("out/%s", name);
  put_text(folder, path, contents);
  free(path);
}

static bool out_holds(const char *name, const char *wanted) {
  char *path = string_format("%s/%s", out, name);
  text_buffer bytes = {0};
  const bool same = !file_read_all(path, &bytes) && bytes.count == strlen(wanted) &&
                    !memcmp(bytes.bytes, wanted, bytes.count);
  text_buffer_free(&bytes);
  free(path);
  return same;
}

/* Not even a part that the new corpus has none of, and not by a build that would fail later. */
Test(data_build, a_corpus_that_is_there_is_not_replaced) {
  put_numbered(20);
  static const char *const names[] = {"train.tokens", "validation.tokens", "corpus.json",
                                      "tokenizer.model"};
  for (int i = 0; i < 4; i++) {
    put_out(names[i], "mine");
    expect_refused((build_options){.validation = 0.2}, names[i]);
    expect_refused((build_options){.validation = 0}, "--overwrite");
    cr_expect(out_holds(names[i], "mine"), "%s", names[i]);
    cr_expect_eq(count_names(out), 1);
    folder_remove(out);
  }
  put_out("text.txt", "mine");
  must(run_one((build_options){.validation = 0.2}, "d"));
  cr_expect_eq(count_names(out), 4, "what has another name is no obstacle");
  expect_refused((build_options){.validation = 0.2}, "train.tokens already exists");
  must(run_one((build_options){.validation = 0.2, .seed = 4, .overwrite = true}, "d"));
  cr_expect(strstr(notices, "replacing the corpus") && strstr(notices, "resumed"), "%s", notices);
  cr_expect(out_holds("text.txt", "mine"));
}

Test(data_build, without_validation_an_old_part_goes_if_a_build_made_it) {
  put_numbered(20);
  must(run_one((build_options){.validation = 0.2}, "d"));
  cr_assert_eq(count_names(out), 3);
  must(run_one((build_options){.validation = 0, .overwrite = true}, "d"));
  cr_assert_eq(count_names(out), 2, "train.tokens and corpus.json");
  /* This one is nobody's: the corpus beside it has none. */
  put_out("validation.tokens", "mine");
  expect_refused((build_options){.validation = 0, .overwrite = true},
                 "validation.tokens is not part");
  cr_expect(out_holds("validation.tokens", "mine"));
  must(run_one((build_options){.validation = 0.2, .overwrite = true}, "d"));
  put_out("tokenizer.model", "mine");
  expect_refused((build_options){.validation = 0.2, .overwrite = true},
                 "tokenizer.model is not part");
  cr_expect(out_holds("tokenizer.model", "mine"));
}

/* The old corpus stays until the new one is complete. */
Test(data_build, a_replacement_that_fails_leaves_the_old_corpus) {
  put_numbered(20);
  must(run_one((build_options){.validation = 0.2}, "d"));
  token_file before = open_part(out, 0);
  put_text(text, "bad", "Caf\xe9 noir");
  cr_expect_eq(run_one((build_options){.validation = 0, .overwrite = true}, "d"),
               PHIBAL_ERROR_FORMAT);
  cr_expect_eq(count_names(out), 3);
  token_file after = open_part(out, 0), validation = open_part(out, 1);
  cr_expect_eq(before.tokens, after.tokens);
  token_file_close(&before);
  token_file_close(&after);
  token_file_close(&validation);
}

Test(data_build, bad_text_is_refused_with_its_place) {
  const build_options o = {.validation = 0.2};
  expect_error(o, PHIBAL_ERROR_IO, "text: cannot open: No such file");
  put_text(text, "empty", "");
  expect_error(o, PHIBAL_ERROR_ARGUMENT, "domain 'd' has no text");
  cr_assert(strstr(notices, "/empty: empty, skipped"), "%s", notices);
  put_text(text, "only", "one text");
  expect_error(o, PHIBAL_ERROR_ARGUMENT, "--document-bytes");
  put_text(text, "bad", "Caf\xe9 noir");
  put_text(text, "other", "another text");
  expect_error(o, PHIBAL_ERROR_FORMAT, "/bad: not UTF-8 at byte 3 (0xe9)");
  expect_error((build_options){.validation = 0.6}, PHIBAL_ERROR_ARGUMENT, "0.6");
  expect_error((build_options){.validation = NAN}, PHIBAL_ERROR_ARGUMENT, "nan");
  expect_error((build_options){.document_bytes = -1}, PHIBAL_ERROR_ARGUMENT, "-1");
  if (tokenizer_has_sentencepiece())
    expect_error((build_options){.model = "/no/model", .invalid = BUILD_INVALID_KEEP},
                 PHIBAL_ERROR_IO, "/no/model: cannot open");

  must(run_one((build_options){.validation = 0.2, .invalid = BUILD_INVALID_SKIP}, "d"));
  cr_assert(strstr(notices, "/bad: not UTF-8 at byte 3, skipped"), "%s", notices);
  token_file f = open_part(out, 0), g = open_part(out, 1);
  cr_assert_eq(f.documents + g.documents, 2);
  token_file_close(&f);
  token_file_close(&g);
  must(run_one((build_options){.validation = 0.2, .invalid = BUILD_INVALID_KEEP, .overwrite = true},
               "d"));
  f = open_part(out, 0), g = open_part(out, 1);
  cr_assert_eq(holds(&f, "Caf\xe9 noir") + holds(&g, "Caf\xe9 noir"), 1);
  token_file_close(&f);
  token_file_close(&g);
}

Test(data_build, a_file_that_may_not_be_read_is_named) {
  if (!geteuid()) cr_skip_test("root may read every file");
  put_text(text, "secret", "secret");
  char *path = string_format("%s/secret", text);
  cr_assert_eq(chmod(path, 0), 0);
  expect_error((build_options){0}, PHIBAL_ERROR_IO, "/secret: cannot open: Permission denied");
  free(path);
}

static volatile sig_atomic_t stop;

static void stop_at_notice(const char *message) {
  (void)message;
  stop = 1;
}

/* Interrupted while reading, with files of an earlier build there: they stay, alone. */
Test(data_build, an_interrupted_build_changes_nothing) {
  put_numbered(20);
  must(run_one((build_options){.validation = 0.2, .seed = 1}, "d"));
  token_file before = open_part(out, 0);
  put_text(text, "0/empty", "");
  const build_source source = {.domain = "d", .path = text};
  build_report report;
  const build_options o = {.folder = out,
                           .sources = &source,
                           .source_count = 1,
                           .validation = 0.2,
                           .seed = 2,
                           .overwrite = true,
                           .notice = stop_at_notice,
                           .interrupted = &stop};
  cr_assert_eq(build_run(&o, &report), PHIBAL_ERROR_IO);
  cr_assert(message_has("interrupted"));
  cr_assert_eq(count_names(out), 3);
  token_file after = open_part(out, 0);
  cr_assert_eq(before.tokens, after.tokens);
  token_file_close(&before);
  token_file_close(&after);
}

Test(data_build, a_folder_that_cannot_be_made_is_named) {
  put_numbered(20);
  put_text(folder, "file", "in the way");
  char *inside = string_format("%s/file/out", folder);
  cr_assert_eq(run_one((build_options){.validation = 0.2, .folder = inside}, "d"), PHIBAL_ERROR_IO);
  cr_assert(message_has(inside), "%s", phibal_status_message());
  free(inside);
}

Test(data_build, sentencepiece) {
  if (!tokenizer_has_sentencepiece()) cr_skip_test("this build has no SentencePiece");
  char *model = string_format("%s/tokenizer.model", out);
  for (int i = 0; i < 60; i++) {
    char name[16], contents[256];
    snprintf(name, sizeof name, "%d", i);
    snprintf(contents, sizeof contents,
             "The %d sailors went to sea,  to see what they could see;\n\n"
             "and all that they could see was %d waves of the sea.\n",
             i, 7 * i);
    put_text(text, name, contents);
  }
  must(run_one((build_options){.validation = 0.2, .train_vocabulary = 330}, "d"));
  cr_assert_eq(count_names(out), 4);
  token_file f = open_part(out, 0), g = open_part(out, 1);
  cr_assert_eq(f.documents + g.documents, 60);
  cr_assert_eq(f.vocabulary, 330);
  cr_assert(f.tokens < 60 * f.documents, "%ld tokens in %ld documents of 110 bytes", (long)f.tokens,
            (long)f.documents);

  /* The validation part taught the model nothing: without it the model is the same. */
  char *apart = string_format("%s/apart", folder);
  for (int64_t d = 0; d < 60; d++) {
    char *path = string_format("%s/%ld", text, (long)d);
    text_buffer bytes = {0};
    must(file_read_all(path, &bytes));
    if ((double)(text_hash(0, bytes.bytes, bytes.count) >> 11) * 0x1p-53 < 0.2) unlink(path);
    text_buffer_free(&bytes);
    free(path);
  }
  cr_assert_eq(count_names(text), f.documents);
  must(run_one((build_options){.train_vocabulary = 330, .folder = apart}, "d"));
  cr_assert(same_files(out, apart, "tokenizer.model"));
  cr_assert(same_files(out, apart, "train.tokens"));
  free(apart);

  /* The model alone gives the same files, and codes text that it has never seen. */
  char *again = string_format("%s/again", folder);
  must(run_one((build_options){.model = model, .folder = again}, "d"));
  cr_assert(same_files(out, again, "train.tokens"));
  tokenizer t;
  token_buffer a = {0}, b = {0};
  must(tokenizer_load(model, &t));
  cr_assert_eq(t.end_of_document, f.end_of_document);
  must(tokenizer_encode(&t, "\u65e5\u672c \x7f", 8, &a));
  for (size_t i = 0; i < a.count; i++) cr_assert(a.ids[i] && a.ids[i] < 330, "id %u", a.ids[i]);
  must(tokenizer_encode(&t, "see  sea", 8, &a));
  must(tokenizer_encode(&t, "see sea", 7, &b));
  cr_assert(a.count != b.count || memcmp(a.ids, b.ids, a.count * sizeof *a.ids),
            "white space is kept");
  must(tokenizer_encode(&t, "see\nsea", 7, &a));
  cr_assert(a.count != b.count || memcmp(a.ids, b.ids, a.count * sizeof *a.ids), "lines are kept");
  token_buffer_free(&a);
  token_buffer_free(&b);
  tokenizer_free(&t);
  token_file_close(&f);
  token_file_close(&g);

  put_text(folder, "no.model", "not a model");
  char *wrong = string_format("%s/no.model", folder);
  cr_assert_eq(tokenizer_load(wrong, &t), PHIBAL_ERROR_FORMAT);
  cr_assert(message_has(wrong));
  /* More pieces than so little text can give. */
  cr_assert_eq(
      run_one((build_options){.validation = 0.2, .train_vocabulary = 9000, .overwrite = true}, "d"),
      PHIBAL_ERROR_ARGUMENT);
  cr_assert(!message_has("--overwrite"), "%s", phibal_status_message());
  cr_assert_eq(count_names(out), 4);
  free(wrong);
  free(again);
  free(model);
}
