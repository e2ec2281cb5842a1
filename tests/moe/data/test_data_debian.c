/* Text out of packages: each extraction on a small case, and the whole way with programs that stand
   in for apt-get and dpkg-deb, so that no network is needed. */
#include "tests/data_files.h"
#include "moe/data/debian.h"
#include "moe/data/extract.h"
#include "moe/data/manifest.h"
#include "moe/data/manual.h"
#include <sys/stat.h>
#include <zlib.h>

static char *folder;

static void setup(void) {
  folder = scratch_folder();
}

static void teardown(void) {
  folder_remove(folder);
  free(folder);
}

TestSuite(data_debian, .init = setup, .fini = teardown);

static void expect_manual(const char *page, const char *wanted) {
  text_buffer text = {0};
  must(manual_text(page, strlen(page), &text));
  must(text_buffer_append(&text, "", 1));
  cr_assert_str_eq(text.bytes, wanted);
  text_buffer_free(&text);
}

Test(data_debian, manual_pages_lose_their_markup) {
  expect_manual("'\\\" t\n.\\\" comment\n.TH printf 3 2023-02-05 \"Linux\"\n.SH NAME\n"
                "printf, fprintf \\- formatted output\n",
                "printf(3)\n\nNAME\nprintf, fprintf - formatted output\n");
  expect_manual(".SH \"SEE ALSO\"\n.BR snprintf (),\n.BI \"int f(char *\" str \", int \" n );\n",
                "SEE ALSO\nsnprintf(),\nint f(char *str, int n);\n");
  expect_manual("\\fBbold\\fP and \\f(CWcode\\fR, \\s-2small\\s0; a \\e b\\&. \\(bu \\(co \\[lq]x"
                "\\[rq]\\~y \\*(lqz\\*(rq\\\" gone\n",
                "bold and code, small; a \\ b. \u2022 \u00a9 \u201cx\u201d y \u201cz\u201d\n");
  expect_manual("one\n.PP\n.PP\ntwo\n.IP \\(bu 3\nthree\n.nf\n    kept as it is\n.fi\n",
                "one\n\ntwo\n\n\u2022\nthree\n    kept as it is\n");
  expect_manual(".de XX\nnot this\n..\n.TS\nallbox;\nlb l\nl l.\na\tb\nT{\nc\nT}\td\n.TE\n",
                "a\tb\nc\n\td\n");
  expect_manual(".B \"a  b\" c\n.so man3/other.3\n", "a  b c\n");
  expect_manual("\\", "\n");
  expect_manual(".B \\", "");
  expect_manual("\\h'5n'a\\w'x'b\\h'", "ab\n");
}

/* The documents joined by bars. */
static char *joined(const extract *e) {
  text_buffer all = {0};
  for (size_t i = 0; i < e->count; i++) {
    if (i) must(text_buffer_string(&all, "|"));
    must(text_buffer_append(&all, e->documents[i].text, e->documents[i].bytes));
  }
  must(text_buffer_append(&all, "", 1));
  return all.bytes;
}

static char *repeated(const char *part, int times) {
  text_buffer all = {0};
  for (int i = 0; i < times; i++) must(text_buffer_string(&all, part));
  must(text_buffer_append(&all, "", 1));
  return all.bytes;
}

static text_buffer buffer_of(const char *text) {
  text_buffer b = {0};
  must(text_buffer_string(&b, text));
  return b;
}

Test(data_debian, glosses_of_wordnet) {
  extract e = {0};
  /* A licence line, three sets of synonyms (one with 0x0b = 11 words), enough to be a document. */
  char *pad = repeated("00000001 00 n 01 x 0 000 | padding of the document  \n", 20);
  text_buffer b = {0};
  must(text_buffer_string(&b, "  1 This software | is licensed  \n"));
  must(text_buffer_string(&b, "00592652 04 n 02 general_ship 0 generalcy 1 003 @ 00586262 n 0000 + "
                              "10123844 n 0101 | the office; \"a | b\"  \n"));
  must(text_buffer_string(&b, "00592653 04 v 0b a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 k 0 000 | "
                              "letters  \n"));
  must(text_buffer_string(&b, pad));
  must(extract_wordnet(&b, "data.noun", &e));
  cr_assert_eq(e.count, 1);
  char *text = joined(&e);
  const char *wanted = "general ship, generalcy: the office; \"a | b\"\n"
                       "a, b, c, d, e, f, g, h, i, j, k: letters\nx: padding of the document\n";
  cr_assert_eq(strncmp(text, wanted, strlen(wanted)), 0, "%.200s", text);
  free(text);
  free(pad);
  text_buffer_free(&b);
  extract_free(&e);
}

/* Documents are cut before an entry, none is lost. */
Test(data_debian, dictionaries_are_cut_between_entries) {
  extract e = {0};
  char *all = repeated(
      "entry\n\n   <field> What it means,\n   at some length.\n\n   A paragraph.\n\n", 400);
  text_buffer b = buffer_of(all);
  must(extract_dictionary(&b, "x.dict", &e));
  cr_assert(e.count >= 2 && e.count <= strlen(all) / 8192 + 1, "%zu", e.count);
  text_buffer back = {0};
  for (size_t i = 0; i < e.count; i++) {
    cr_assert_eq(strncmp(e.documents[i].text, "entry\n", 6), 0);
    must(text_buffer_append(&back, e.documents[i].text, e.documents[i].bytes));
  }
  cr_assert_eq(back.count, strlen(all));
  cr_assert_eq(memcmp(back.bytes, all, back.count), 0);
  text_buffer_free(&back);
  text_buffer_free(&b);
  extract_free(&e);
  free(all);
}

Test(data_debian, gzip_is_unpacked) {
  char *path = string_format("%s/x.gz", folder);
  for (int member = 0; member < 2; member++) {
    gzFile z = gzopen(path, member ? "ab" : "wb");
    for (int i = 0; i < 20000; i++) gzprintf(z, "%d line %d\n", member, i);
    gzclose(z);
  }
  text_buffer b = {0};
  must(file_read_all(path, &b));
  const size_t packed = b.count;
  must(extract_gunzip(&b, path));
  cr_assert_eq(strncmp(b.bytes, "0 line 0\n", 9), 0);
  cr_assert_eq(strncmp(b.bytes + b.count - 13, "1 line 19999\n", 13), 0);
  text_buffer plain = {0};
  must(text_buffer_append(&plain, b.bytes, b.count));
  must(extract_gunzip(&plain, "plain"));
  cr_assert_eq(plain.count, b.count, "plain text stays");
  must(file_read_all(path, &b));
  b.count = packed / 4;
  cr_assert_eq(extract_gunzip(&b, path), PHIBAL_ERROR_FORMAT);
  cr_assert(message_has(path));
  text_buffer_free(&b);
  text_buffer_free(&plain);
  free(path);
}

Test(data_debian, unfit_documents_are_left_out) {
  extract e = {0};
  char *good = repeated("good text ", 30), *latin = repeated("caf\xe9 noir ", 30),
       *large = repeated("0123456789abcde\n", 4097);
  const char *const texts[] = {"short", latin, large, good};
  for (int i = 0; i < 4; i++) {
    text_buffer b = buffer_of(texts[i]);
    must(extract_plain(&b, "x", &e));
    text_buffer_free(&b);
  }
  text_buffer zero = buffer_of(good);
  zero.bytes[100] = 0;
  must(extract_plain(&zero, "x", &e));
  text_buffer_free(&zero);
  cr_assert_eq(e.count, 1);
  cr_assert_eq(e.left_out, 4);
  cr_assert_eq(memcmp(e.documents[0].text, good, 300), 0);
  extract_free(&e);
  free(good);
  free(latin);
  free(large);
}

/* A choice is within the bytes, without repetitions, in the old order, from all over, the same each
   time. */
Test(data_debian, documents_are_chosen_from_everywhere) {
  extract e[2] = {{0}, {0}};
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 1000; i++) {
      text_buffer b = {0};
      char *line = string_format("document %03d of this domain. ", i / 2);
      for (int k = 0; k < 10; k++) must(text_buffer_string(&b, line));
      must(extract_plain(&b, "x", &e[round])); /* every document twice, 290 bytes each */
      text_buffer_free(&b);
      free(line);
    }
    must(extract_choose(&e[round], 290 * 100 + 289));
    cr_assert_eq(e[round].count, 100);
  }
  int before = -1, late = 0;
  for (int i = 0; i < 100; i++) {
    int number = atoi(e[0].documents[i].text + 9);
    cr_assert(number > before);
    before = number;
    late += number >= 250;
    cr_assert_eq(memcmp(e[0].documents[i].text, e[1].documents[i].text, 290), 0);
  }
  /* Hypergeometric, mean 50, deviation 4.5. */
  cr_assert(late > 23 && late < 77, "%d", late);
  for (int round = 0; round < 2; round++) extract_free(&e[round]);
}

/* A SWORD module of one block with the given verses. */
static void put_scripture(const char *name, const char *const *verses, int n) {
  text_buffer block = {0}, index = {0};
  for (int i = 0; i < n; i++) {
    uint32_t at[2] = {0, (uint32_t)block.count};
    uint16_t length = (uint16_t)strlen(verses[i]);
    must(text_buffer_append(&index, at, 8));
    must(text_buffer_append(&index, &length, 2));
    must(text_buffer_string(&block, verses[i]));
  }
  Bytef packed[65536];
  uLongf bytes = sizeof packed - 5;
  cr_assert_eq(compress(packed + 5, &bytes, (Bytef *)block.bytes, block.count), Z_OK);
  uint32_t entry[3] = {5, (uint32_t)bytes, (uint32_t)block.count};
  char *path = string_format("%s.bzs", name);
  put_file(folder, path, entry, sizeof entry);
  path[strlen(path) - 1] = 'v';
  put_file(folder, path, index.bytes, index.count);
  path[strlen(path) - 1] = 'z';
  put_file(folder, path, packed, bytes + 5);
  free(path);
  text_buffer_free(&block);
  text_buffer_free(&index);
}

Test(data_debian, scripture_is_a_document_a_chapter) {
  char *verse = repeated("<w lemma=\"strong:G0976\">word</w>  of\n ", 40);
  char *first = string_format("<title>T</title> <chapter n=\"1\" osisID=\"A.1\"/> %s", verse);
  char *last =
      string_format("<note type=\"x\">a <w>note</w></note>end %s<chapter eID=\"A.1\"/>", verse);
  const char *const verses[] = {"<milestone/>", first, "second verse", "", last, first};
  put_scripture("kjv", verses, 6);
  char *path = string_format("%s/kjv.bzs", folder);
  text_buffer b = {0};
  extract e = {0};
  must(file_read_all(path, &b));
  must(extract_scripture(&b, path, &e));
  char *words = repeated(" word of", 40);
  char *wanted = string_format("T%s\nsecond verse\nend%s\n|T%s\n", words, words, words);
  char *got = joined(&e);
  cr_assert_str_eq(got, wanted);
  b.count--;
  cr_assert_eq(extract_scripture(&b, path, &e), PHIBAL_ERROR_FORMAT);
  extract_free(&e);
  text_buffer_free(&b);
  free(path);
  free(verse);
  free(first);
  free(last);
  free(words);
  free(wanted);
  free(got);
}

/* A program called `name` in folder/bin, which alone PATH then names; the shell is found by the
   first line. */
static void put_program(const char *name, const char *script) {
  char *inner = string_format("bin/%s", name), *path = string_format("%s/bin/%s", folder, name);
  char *whole = string_format("#!/bin/sh\nPATH=/usr/bin:/bin\n%s", script);
  put_text(folder, inner, whole);
  cr_assert_eq(chmod(path, 0755), 0);
  *strrchr(path, '/') = 0;
  setenv("PATH", path, 1);
  free(inner);
  free(path);
  free(whole);
}

/* What the stand-in for dpkg-deb unpacks: some files of each package. */
static void put_packages(void) {
  static const char *const places[] = {
      "dict-foldoc/usr/share/dictd/foldoc.dict.dz",
      "manpages/usr/share/man/man7/%d.7.gz",
      "manpages-dev/usr/share/man/man2/%d.2.gz",
      "manpages-de/usr/share/man/de/man1/%d.1.gz",
      "linux-libc-dev/usr/include/linux/%d.h",
      "libpython3.11-stdlib/usr/lib/python3.11/%d.py",
      "libpython3.11-minimal/usr/lib/python3.11/m%d.py",
      "sbcl-source/usr/share/sbcl-source/src/%d.lisp",
      "sbcl-source/usr/share/sbcl-source/src/external-formats/%d.lisp",
  };
  for (size_t p = 0; p < sizeof places / sizeof *places; p++)
    for (int i = 0; i < 10; i++) {
      text_buffer b = {0};
      char *inner = string_format("tree/%s", places[p]), *digit = strstr(inner, "%d");
      if (digit) memmove(digit + 1, digit + 2, strlen(digit + 1)), *digit = (char)('0' + i);
      char *line = string_format("Line of %s, %d.\n", inner, i);
      for (int k = 0; k < 20; k++) must(text_buffer_string(&b, line));
      put_file(folder, inner, b.bytes, b.count);
      text_buffer_free(&b);
      free(inner);
      free(line);
    }
  char *gloss = repeated("00000001 00 n 01 word 0 000 | a gloss as long as it has to be  \n", 400);
  put_text(folder, "tree/wordnet-base/usr/share/wordnet/data.noun", gloss);
  put_text(folder, "tree/wordnet-base/usr/share/wordnet/index.noun", gloss);
  char *verse = repeated("In the beginning was a verse. ", 10);
  char *chapters[10];
  for (int i = 0; i < 10; i++)
    chapters[i] = string_format("<chapter n=\"%d\"/> %d %s", i, i, verse);
  put_scripture("tree/sword-text-kjv/usr/share/sword/modules/kjv", (const char *const *)chapters,
                10);
  for (int i = 0; i < 10; i++) free(chapters[i]);
  free(gloss);
  free(verse);
  char *unpack = string_format("name=${2##*/}\n[ \"$1\" = --extract ] && [ -f \"$2\" ] && "
                               "cp -r '%s/tree/'\"${name%%%%_*}\"/. \"$3\"\n",
                               folder);
  put_program("dpkg-deb", unpack);
  free(unpack);
}

static const char apt_that_works[] = "while [ \"$1\" != download ]; do shift; done\n"
                                     "shift\n"
                                     "for name; do : > \"${name}_1%3a2.0+x_all.deb\"; done\n";

static int64_t domain_bytes = 1 << 20;

static phibal_status run(const char *out, bool keep, bool overwrite, build_report *report) {
  char *path = string_format("%s/%s", folder, out);
  const debian_options o = {.folder = path,
                            .domain_bytes = domain_bytes,
                            .validation = 0.1,
                            .seed = 1,
                            .keep_text = keep,
                            .overwrite = overwrite};
  phibal_status status = debian_run(&o, report);
  free(path);
  return status;
}

static int names_in(const char *out) {
  char *path = string_format("%s/%s", folder, out);
  int n = count_names(path);
  free(path);
  return n;
}

Test(data_debian, packages_become_a_corpus) {
  put_packages();
  put_program("apt-get", apt_that_works);
  build_report r;
  must(run("a", false, false, &r));
  cr_assert_eq(r.domain_count, 8);
  int python = -1, lisp = -1;
  for (int d = 0; d < 8; d++) {
    const build_domain *domain = &r.domains[d];
    cr_assert(domain->train.documents > 0, "%s", domain->name);
    if (!strcmp(domain->name, "python")) python = d;
    if (!strcmp(domain->name, "lisp")) lisp = d;
  }
  cr_assert_eq(r.domains[python].train.documents + r.domains[python].validation.documents, 20,
               "both packages");
  cr_assert_eq(r.domains[lisp].train.documents + r.domains[lisp].validation.documents, 10,
               "without the tables");
  build_report_free(&r);
  cr_assert_eq(names_in("a"), 3, "two token files and corpus.json, no folder of work");
  char *path = string_format("%s/a", folder);
  json_t *origin;
  must(manifest_read(path, &r, &origin));
  json_t *versions = json_object_get(origin, "packages");
  cr_assert_eq(json_object_size(versions), 10);
  cr_assert_str_eq(json_string_value(json_object_get(versions, "manpages")), "1:2.0+x");
  json_decref(origin);
  build_report_free(&r);
  free(path);
}

Test(data_debian, a_corpus_is_made_once_and_the_same_again) {
  put_packages();
  put_program("apt-get", apt_that_works);
  build_report r;
  must(run("a", true, false, &r));
  cr_assert_eq(names_in("a"), 4, "the text is kept");
  cr_assert_eq(names_in("a/text"), 8);
  build_report_free(&r);
  must(run("b", false, false, &r));
  build_report_free(&r);
  static const char *const names[] = {"train.tokens", "validation.tokens", "corpus.json"};
  for (int i = 0; i < 3; i++) {
    char *paths[2] = {string_format("%s/a/%s", folder, names[i]),
                      string_format("%s/b/%s", folder, names[i])};
    text_buffer bytes[2] = {{0}, {0}};
    for (int k = 0; k < 2; k++) must(file_read_all(paths[k], &bytes[k]));
    cr_assert_eq(bytes[0].count, bytes[1].count);
    cr_assert_eq(memcmp(bytes[0].bytes, bytes[1].bytes, bytes[0].count), 0, "%s", names[i]);
    for (int k = 0; k < 2; k++) {
      free(paths[k]);
      text_buffer_free(&bytes[k]);
    }
  }

  /* Without the network what is there is used, but only if it is whole, and is not
     to be replaced. What another command made is refused before anything is fetched. */
  put_program("apt-get", "echo 'E: Unable to fetch some archives'; exit 100\n");
  must(run("b", false, false, &r));
  cr_assert_eq(r.domain_count, 8);
  cr_assert(r.domains[0].train.tokens > 0);
  build_report_free(&r);
  cr_assert_eq(run("b", false, true, &r), PHIBAL_ERROR_IO);
  cr_assert(message_has("Unable to fetch some archives"), "%s", phibal_status_message());
  must(run("b", false, false, &r));
  build_report_free(&r);
  domain_bytes++;
  cr_assert_eq(run("b", false, false, &r), PHIBAL_ERROR_ARGUMENT, "made with other options");
  cr_assert(message_has("--overwrite"), "%s", phibal_status_message());
  cr_assert_eq(run("b", false, true, &r), PHIBAL_ERROR_IO);
  domain_bytes--;
  put_text(folder, "b/train.tokens", "damaged");
  cr_assert_eq(run("b", false, false, &r), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(run("b", false, true, &r), PHIBAL_ERROR_IO);
  cr_assert_eq(names_in("b"), 3, "and nothing is left of the attempts");
}

/* The first download fails as on a system without package lists; with lists of its own it works. */
Test(data_debian, missing_lists_are_fetched) {
  put_packages();
  char *script = string_format("case \"$*\" in\n"
                               "*Dir::State::Lists=*' update') : > '%s/updated'; exit 0;;\n"
                               "*Dir::State::Lists=*) [ -f '%s/updated' ] || exit 1;;\n"
                               "*) echo 'E: Unable to locate package'; exit 100;;\nesac\n%s",
                               folder, folder, apt_that_works);
  put_program("apt-get", script);
  build_report r;
  must(run("a", false, false, &r));
  build_report_free(&r);
  free(script);
}

Test(data_debian, what_goes_wrong_is_said) {
  build_report r;
  put_program("nothing", "");
  cr_assert_eq(run("a", false, false, &r), PHIBAL_ERROR_UNSUPPORTED);
  cr_assert(message_has("phibal data build"), "%s", phibal_status_message());
  cr_assert_eq(names_in("a"), -1, "not even the folder");

  put_program("apt-get",
              "echo 'W: Failed to fetch http://x  Could not resolve'\n"
              "case \"$*\" in *download*) echo 'E: Unable to locate package x'; exit 100;;"
              " esac\n");
  cr_assert_eq(run("a", false, false, &r), PHIBAL_ERROR_IO);
  cr_assert(message_has("Unable to locate package x") && message_has("Could not resolve"), "%s",
            phibal_status_message());

  put_program("apt-get", apt_that_works);
  cr_assert_eq(run("a", false, false, &r), PHIBAL_ERROR_UNSUPPORTED);
  cr_assert(message_has("dpkg-deb"), "%s", phibal_status_message());
  put_program("dpkg-deb", "echo 'dpkg-deb: error: not an archive' >&2; exit 2\n");
  cr_assert_eq(run("a", false, false, &r), PHIBAL_ERROR_IO);
  cr_assert(message_has("sword-text-kjv") && message_has("not an archive"), "%s",
            phibal_status_message());
  cr_assert_eq(names_in("a"), -1);
}
