/* Other programs' token files, shards, mixtures, boundaries: against the definitions in the
   headers, from bytes that are written here. */
#include "moe/data/mixture.h"
#include "moe/data/sampler.h"
#include "moe/data/token_writer.h"
#include "tests/data_files.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char *folder;

static void folder_make(void) {
  folder = scratch_folder();
}

static void folder_delete(void) {
  folder_remove(folder);
  free(folder);
}

static const char *in_folder(const char *name) {
  static char paths[8][512];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

/* Little-endian bytes as they come. */
typedef struct bytes {
  unsigned char at[4096];
  size_t count;
} bytes;

static void put(bytes *b, int width, int64_t value) {
  for (int i = 0; i < width; i++) b->at[b->count++] = (unsigned char)((uint64_t)value >> 8 * i);
}

static const char *save(const bytes *b, const char *name) {
  const char *path = in_folder(name);
  FILE *file = fopen(path, "wb");
  cr_assert(file && fwrite(b->at, 1, b->count, file) == b->count && !fclose(file));
  return path;
}

static void expect_documents(const token_file *f, int n, const int *lengths) {
  cr_assert_eq(f->documents, n, "%lld documents", (long long)f->documents);
  int64_t start = 0;
  for (int d = 0; d < n; d++) {
    cr_expect_eq(f->table[d].start, start, "document %d", d);
    cr_expect_eq(f->table[d].length, lengths[d], "document %d", d);
    cr_expect_eq(f->table[d].domain, 0);
    start += lengths[d];
  }
  cr_expect_eq(start, f->tokens);
}

/* A file that ends in the middle of a document, one that ends with one, an empty document. */
Test(corpus, nanogpt, .init = folder_make, .fini = folder_delete) {
  bytes b = {0};
  const int tokens[] = {5, 6, 9, 9, 7, 65535, 9, 3};
  for (int i = 0; i < 8; i++) put(&b, 2, tokens[i]);
  token_file f;
  must(token_file_open_with(save(&b, "web.bin"), 9, &f));
  for (int i = 0; i < 8; i++) cr_expect_eq(token_file_at(&f, i), tokens[i]);
  expect_documents(&f, 4, (int[]){3, 1, 3, 1});
  cr_expect_not(f.undivided);
  cr_expect_str_eq(f.domain_names[0], "web");
  cr_expect(f.vocabulary == 65536 && f.vocabulary_open && f.end_of_document == 9);
  token_file_close(&f);
  /* Without the mark: one document. */
  must(token_file_open(in_folder("web.bin"), &f));
  expect_documents(&f, 1, (int[]){8});
  cr_expect(f.undivided);
  cr_expect_eq(f.end_of_document, 50256 < f.vocabulary ? 50256 : 0);
  uint64_t before = f.checksum;
  token_file_close(&f);
  b.at[15] = 1;
  must(token_file_open(save(&b, "web.bin"), &f));
  cr_expect_neq(f.checksum, before);
  token_file_close(&f);
  b.count--;
  cr_expect_eq(token_file_open(save(&b, "web.bin"), &f), PHIBAL_ERROR_FORMAT);
}

/* Tokens without a header that are wider than nanoGPT's uint16. Ids of a large vocabulary, of bytes
   and of a tiny one; and uint16 tokens that look as like them as any may. */
Test(corpus, refuses_wider_tokens, .init = folder_make, .fini = folder_delete) {
  static const struct {
    int width, modulus, pairs;
    bool refused;
  } cases[] = {{4, 152000, 64, true}, {4, 50257, 64, true}, {4, 256, 64, true},
               {4, 2, 64, true},      {8, 50257, 64, true}, {4, 50257, 31, false},
               {2, 50257, 64, false}, {2, 256, 64, false},  {2, 2, 64, false},
               {2, 65536, 64, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bytes b = {0};
    token_file f;
    uint64_t draw = 1;
    for (int t = 0; t < cases[i].pairs * 4 / cases[i].width; t++) {
      draw = draw * 6364136223846793005u + 1442695040888963407u;
      put(&b, cases[i].width, (int64_t)((draw >> 33) % (uint64_t)cases[i].modulus));
    }
    const phibal_status status = token_file_open(save(&b, "flat.bin"), &f);
    cr_expect_eq(status, cases[i].refused ? PHIBAL_ERROR_FORMAT : PHIBAL_OK, "case %zu: %s", i,
                 phibal_status_message());
    if (cases[i].refused)
      cr_expect(message_has("as in int32 tokens"), "%s", phibal_status_message());
    token_file_close(&f);
  }
}

static bytes llmc(int magic, int version, int count, int width, const int *tokens, int n) {
  bytes b = {0};
  put(&b, 4, magic), put(&b, 4, version), put(&b, 4, count);
  while (b.count < 1024) put(&b, 4, 0);
  for (int i = 0; i < n; i++) put(&b, width, tokens[i]);
  return b;
}

Test(corpus, llmc, .init = folder_make, .fini = folder_delete) {
  const int gpt2[] = {50256, 1, 2, 50256, 3, 50256}, llama3[] = {128000, 70000, 128000, 9};
  token_file f;
  bytes b = llmc(20240520, 1, 6, 2, gpt2, 6);
  must(token_file_open(save(&b, "a.bin"), &f));
  expect_documents(&f, 3, (int[]){3, 2, 1});
  cr_expect_eq(token_file_at(&f, 4), 3);
  token_file_close(&f);
  b = llmc(20240801, 7, 4, 4, llama3, 4);
  must(token_file_open(save(&b, "b.bin"), &f));
  expect_documents(&f, 2, (int[]){2, 2});
  cr_expect_eq(token_file_at(&f, 1), 70000);
  token_file_close(&f);
  b = llmc(20240801, 1, 4, 4, llama3, 4);
  cr_expect_eq(token_file_open(save(&b, "b.bin"), &f), PHIBAL_ERROR_FORMAT);
  b = llmc(20240520, 1, 7, 2, gpt2, 6);
  cr_expect_eq(token_file_open(save(&b, "a.bin"), &f), PHIBAL_ERROR_FORMAT);
}

/* Sequences of 2, 0, 3, 1 and 2 tokens; documents of the first two, none, the third, the rest. */
static bytes megatron(int type, int64_t last_place, int last_bound) {
  bytes b = {0};
  memcpy(b.at, "MMIDIDX\0\0", 9);
  b.count = 9;
  put(&b, 8, 1), put(&b, 1, type), put(&b, 8, 5), put(&b, 8, 5);
  const int width = type == 4 ? 4 : 2, lengths[] = {2, 0, 3, 1, 2}, places[] = {0, 2, 2, 5};
  for (int i = 0; i < 5; i++) put(&b, 4, lengths[i]);
  for (int i = 0; i < 4; i++) put(&b, 8, places[i] * width);
  put(&b, 8, last_place * width);
  const int bounds[] = {0, 2, 2, 3};
  for (int i = 0; i < 4; i++) put(&b, 8, bounds[i]);
  put(&b, 8, last_bound);
  return b;
}

Test(corpus, megatron, .init = folder_make, .fini = folder_delete) {
  for (int type = 8; type >= 4; type -= 4) {
    bytes b = {0}, index = megatron(type, 6, 5);
    for (int i = 0; i < 8; i++) put(&b, type == 4 ? 4 : 2, i + 1);
    save(&b, "m.bin");
    save(&index, "m.idx");
    token_file f;
    must(token_file_open(in_folder("m.bin"), &f));
    expect_documents(&f, 3, (int[]){2, 3, 3});
    for (int i = 0; i < 8; i++) cr_expect_eq(token_file_at(&f, i), i + 1);
    token_file_close(&f);
    const bytes bad[] = {megatron(type, 5, 5), megatron(type, 6, 4), megatron(type, 6, 6)};
    for (int i = 0; i < 3; i++) {
      save(&bad[i], "m.idx");
      cr_expect_eq(token_file_open(in_folder("m.bin"), &f), PHIBAL_ERROR_FORMAT, "%d", i);
    }
    index.count--;
    save(&index, "m.idx");
    cr_expect_eq(token_file_open(in_folder("m.bin"), &f), PHIBAL_ERROR_FORMAT);
    index = megatron(5, 6, 5);
    save(&index, "m.idx");
    cr_expect_eq(token_file_open(in_folder("m.bin"), &f), PHIBAL_ERROR_UNSUPPORTED);
    b.count -= 2;
    index = megatron(type, 6, 5);
    save(&b, "m.bin"), save(&index, "m.idx");
    cr_expect_eq(token_file_open(in_folder("m.bin"), &f), PHIBAL_ERROR_FORMAT);
  }
}

/* Two shards with domains {prose, code} and {code, verse}; every token is the shard's hundred and
   its place, so that a window tells where it is from. */
static void two_shards(corpus *c) {
  static const char *const names[2][2] = {{"prose", "code"}, {"code", "verse"}};
  static const int documents[2][3] = {{4, 6, 7},
                                      {9, 3, 8}}; /* tokens; the first one or two are [0] */
  static const int domain[2][3] = {{0, 0, 1}, {0, 1, 1}};
  char list[1100];
  for (int s = 0; s < 2; s++) {
    char name[16];
    snprintf(name, sizeof name, "%d.tokens", s);
    token_writer *w;
    must(token_writer_create(in_folder(name), 300, 299, &w));
    for (int d = 0; d < 2; d++) must(token_writer_domain(w, names[s][d]));
    uint32_t at = (uint32_t)(100 * s);
    for (int d = 0; d < 3; d++) {
      uint32_t tokens[16];
      for (int i = 0; i + 1 < documents[s][d]; i++) tokens[i] = at++;
      at++;
      must(token_writer_document(w, tokens, documents[s][d] - 1, domain[s][d]));
    }
    must(token_writer_finish(w));
    must(token_writer_publish(w));
    token_writer_destroy(w);
  }
  snprintf(list, sizeof list, "%s,%s", in_folder("0.tokens"), in_folder("1.tokens"));
  must(corpus_open(list, -1, c));
}

Test(corpus, shards, .init = folder_make, .fini = folder_delete) {
  corpus c, again;
  two_shards(&c);
  cr_assert(c.shards == 2 && c.tokens == 37 && c.vocabulary == 300 && !c.vocabulary_open);
  cr_assert_eq(c.domains, 3);
  cr_expect_str_eq(c.domain[0], "prose");
  cr_expect_str_eq(c.domain[1], "code");
  cr_expect_str_eq(c.domain[2], "verse");
  cr_expect(c.domain_of[0][1] == 1 && c.domain_of[1][0] == 1 && c.domain_of[1][1] == 2);
  /* The folder is the same list; the other order is another corpus. */
  must(corpus_open(folder, -1, &again));
  cr_expect_eq(again.checksum, c.checksum);
  corpus_close(&again);
  char list[1100];
  snprintf(list, sizeof list, "%s,%s", in_folder("1.tokens"), in_folder("0.tokens"));
  must(corpus_open(list, -1, &again));
  cr_expect_neq(again.checksum, c.checksum);
  corpus_close(&again);
  must(corpus_open(in_folder("1.tokens"), -1, &again));
  cr_expect_eq(again.checksum, c.shard[1].checksum);
  corpus_close(&again);
  corpus_close(&c);
  cr_expect_eq(corpus_open("", -1, &c), PHIBAL_ERROR_ARGUMENT);
  snprintf(list, sizeof list, "%s,,%s", in_folder("1.tokens"), in_folder("0.tokens"));
  cr_expect_eq(corpus_open(list, -1, &c), PHIBAL_ERROR_ARGUMENT);
  put_text(folder, "empty/notes.txt", "");
  cr_expect_eq(corpus_open(in_folder("empty"), -1, &c), PHIBAL_ERROR_ARGUMENT);
}

enum { S = 4 };

/* Where a window begins, by its first token, which is no end of document here. */
static int origin(mixture *m, int64_t index) {
  int32_t tokens[S], targets[S], starts[S];
  mixture_sequence(m, index, tokens, targets, starts);
  for (int i = 0; i < S; i++)
    if (tokens[i] != 299) return tokens[i] - i;
  return -1;
}

/* Without weights: the windows of both shards, each once an epoch, of one shard as the sampler has
   them; in any order of asking. */
Test(corpus, every_window_once, .init = folder_make, .fini = folder_delete) {
  corpus c, one;
  mixture m, alone;
  sampler s;
  two_shards(&c);
  must(mixture_create(&c, S, 7, "", false, &m));
  cr_assert_eq(m.part[0].windows, 4 + 5); /* of 16 and 19 targets */
  int first[9];
  for (int epoch = 0; epoch < 3; epoch++) {
    int seen[200] = {0}, other = 0;
    for (int i = 0; i < 9; i++) {
      const int from = origin(&m, 9 * epoch + i);
      cr_assert(from >= 0 && from % 100 % S == 0 && !seen[from]++, "%d", from);
      if (!epoch) first[i] = from;
      other += from != first[i];
    }
    cr_expect_eq(other > 0, epoch > 0, "another order");
  }
  for (int i = 8; i >= 0; i--) cr_expect_eq(origin(&m, i), first[i]);
  mixture_destroy(&m);
  must(corpus_open(in_folder("1.tokens"), -1, &one));
  must(mixture_create(&one, S, 7, "", false, &alone));
  must(sampler_create(&one.shard[0], S, 7, &s));
  for (int i = 0; i < 20; i++) {
    int32_t a[2][S], b[2][S];
    mixture_sequence(&alone, i, a[0], a[1], NULL);
    sampler_training_sequence(&s, i, b[0], b[1], NULL);
    cr_expect_arr_eq(a, b, sizeof a);
  }
  mixture_destroy(&alone);
  corpus_close(&one);
  corpus_close(&c);
}

/* With weights: shares to less than the number of domains at every moment; no window of a domain
   that is left out, none across domains, each of a domain's once in its own epoch; from the middle
   as from the start. */
Test(corpus, weights, .init = folder_make, .fini = folder_delete) {
  corpus c;
  mixture m, resumed;
  two_shards(&c);
  must(mixture_create(&c, S, 3, "verse=6,code=2", false, &m));
  cr_assert_eq(m.parts, 2);
  /* code: 7 tokens of shard 0, 9 of shard 1; verse: 11 of shard 1. */
  cr_expect(m.part[0].weight == 0.25 && m.part[0].windows == 2 + 2);
  cr_expect(m.part[1].weight == 0.75 && m.part[1].windows == 3);
  int counts[2] = {0}, from[200] = {0}, seen[60];
  for (int i = 0; i < 60; i++) {
    const int place = seen[i] = origin(&m, i);
    const bool verse = place >= 109,
               code = (place >= 10 && place < 17) || (place >= 100 && place < 109);
    cr_assert(verse != code, "%d", place);
    counts[verse]++;
    from[place]++;
    cr_expect_lt(abs(4 * counts[1] - 3 * (i + 1)), 8);
  }
  cr_expect(counts[1] == 45 && from[109] == 15 && from[113] == 15 && from[117] == 15);
  const int codes[] = {10, 14, 100, 104};
  for (int i = 0; i < 4; i++) cr_expect(from[codes[i]] == 3 || from[codes[i]] == 4);
  must(mixture_create(&c, S, 3, "verse=6,code=2", false, &resumed));
  for (int i = 37; i < 60; i++) cr_expect_eq(origin(&resumed, i), seen[i]);
  /* A window at the end of a domain predicts nothing of the next one. */
  int32_t tokens[S], targets[S];
  mixture_window(&c.shard[0], 14, 17, S, false, tokens, targets, NULL);
  cr_expect(tokens[2] == 299 && tokens[3] == -1 && targets[1] == 299 && targets[2] == -1);
  mixture_destroy(&m);
  mixture_destroy(&resumed);
  /* A change after 37 sequences: before it as if there were none, from it on another mixture from
     its first, also when it is begun in the middle and read backwards. */
  mixture changed, verses;
  must(mixture_create(&c, S, 3, "verse=6,code=2", false, &changed));
  must(mixture_change(&changed, 37, "verse=1"));
  must(mixture_create(&c, S, 3, "verse=1", false, &verses));
  int later[60];
  for (int i = 37; i < 60; i++)
    cr_expect_eq(later[i] = origin(&changed, i), origin(&verses, i - 37));
  for (int i = 0; i < 60; i++) cr_expect_eq(origin(&changed, i), i < 37 ? seen[i] : later[i]);
  for (int i = 59; i >= 0; i--) cr_expect_eq(origin(&changed, i), i < 37 ? seen[i] : later[i]);
  mixture_destroy(&changed);
  mixture_destroy(&verses);
  must(mixture_create(&c, S, 3, "", false, &changed));
  cr_expect_eq(mixture_change(&changed, 5, "poem=1"), PHIBAL_ERROR_ARGUMENT);
  mixture_destroy(&changed);
  const char *bad[] = {"poem=1",  "code",          "code=",    "code=0", "code=-1",
                       "code=1x", "code=1,code=1", "code=nan", ",",      "code=1,,verse=1"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    cr_expect_eq(mixture_create(&c, S, 3, bad[i], false, &m), PHIBAL_ERROR_ARGUMENT, "%s", bad[i]);
  corpus_close(&c);
}

/* Documents of 4, 6 and 7 tokens in windows of 8. */
Test(corpus, boundaries, .init = folder_make, .fini = folder_delete) {
  corpus c;
  two_shards(&c);
  int32_t tokens[8], targets[8], starts[8];
  mixture_window(&c.shard[0], 0, 17, 8, true, tokens, targets, starts);
  cr_expect_arr_eq(starts, ((int32_t[]){0, 0, 0, 0, 4, 4, 4, 4}), sizeof starts);
  cr_expect_arr_eq(targets, ((int32_t[]){1, 2, 299, -1, 5, 6, 7, 8}), sizeof targets);
  mixture_window(&c.shard[0], 8, 17, 8, true, tokens, targets, starts);
  cr_expect_arr_eq(starts, ((int32_t[]){0, 0, 2, 2, 2, 2, 2, 2}), sizeof starts);
  cr_expect_arr_eq(targets, ((int32_t[]){299, -1, 11, 12, 13, 14, 15, 299}), sizeof targets);
  mixture_window(&c.shard[0], 8, 17, 8, false, tokens, targets, starts);
  cr_expect_arr_eq(starts, ((int32_t[8]){0}), sizeof starts);
  cr_expect_arr_eq(targets, ((int32_t[]){299, 10, 11, 12, 13, 14, 15, 299}), sizeof targets);
  mixture_window(&c.shard[0], 16, 17, 8, true, tokens, targets, starts);
  cr_expect_eq(targets[0], -1);
  cr_expect(tokens[0] == 299 && tokens[1] == -1, "the last token is one, what follows is not");
  corpus_close(&c);
}
