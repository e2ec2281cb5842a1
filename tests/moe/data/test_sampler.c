/* Windows of a token file, and its bigram entropy. */
#include "tests/data_files.h"
#include "moe/data/token_writer.h"
#include "moe/data/sampler.h"
#include <math.h>

static char *folder, *path;
static token_file file;

static void setup(void) {
  folder = scratch_folder();
  path = string_format("%s/some.tokens", folder);
}

static void teardown(void) {
  token_file_close(&file);
  folder_remove(folder);
  free(folder);
  free(path);
}

TestSuite(sampler, .init = setup, .fini = teardown);

enum { VOCABULARY = 100000, END = VOCABULARY - 1 };

/* Documents of the given lengths (ends included) in domains 0, 1, 2, 0, 1, ...; token i is i,
   except at the ends. */
static void open_counting(const int64_t *lengths, int documents) {
  token_writer *w;
  token_file_close(&file);
  must(token_writer_create(path, VOCABULARY, END, &w));
  must(token_writer_domain(w, "a"));
  must(token_writer_domain(w, "b"));
  must(token_writer_domain(w, "c"));
  uint32_t next = 0;
  for (int d = 0; d < documents; d++) {
    uint32_t *ids = calloc((size_t)lengths[d], sizeof *ids);
    for (int64_t i = 0; i < lengths[d]; i++) ids[i] = next++;
    must(token_writer_document(w, ids, lengths[d] - 1, d % 3));
    free(ids);
  }
  must(token_writer_finish(w));
  must(token_writer_publish(w));
  token_writer_destroy(w);
  must(token_file_open(path, &file));
}

static int32_t expected_token(int64_t i) {
  const token_document *t = &file.table[token_file_document(&file, i)];
  return i == t->start + t->length - 1 ? END : (int32_t)i;
}

/* Checks a window against the definition in sampler.h. */
static void check_window(int64_t window, int32_t length, const int32_t *tokens,
                         const int32_t *targets, const int32_t *domains) {
  for (int32_t i = 0; i < length; i++) {
    int64_t at = window * length + i;
    cr_assert_eq(tokens[i], at < file.tokens ? expected_token(at) : -1, "token %ld", (long)at);
    cr_assert_eq(targets[i], at + 1 < file.tokens ? expected_token(at + 1) : -1, "target of %ld",
                 (long)at);
    int64_t document = token_file_document(&file, at < file.tokens ? at : file.tokens - 1);
    cr_assert_eq(domains[i], document % 3, "domain of %ld", (long)at);
  }
}

/* Lengths around multiples of the window: the last target, and the window that it needs or not. */
Test(sampler, windows_are_the_file_in_order) {
  for (int64_t total = 2; total <= 30; total++)
    for (int32_t length = 1; length <= 9; length++) {
      const int64_t lengths[] = {1, (total - 1) / 2, total - 1 - (total - 1) / 2};
      open_counting(lengths, lengths[1] ? 3 : 1);
      if (!lengths[1]) open_counting((int64_t[]){1, 1}, 2);
      sampler s;
      must(sampler_create(&file, length, 5, &s));
      int64_t targets_seen = 0;
      for (int64_t w = 0; w < s.windows; w++) {
        int32_t tokens[9], targets[9], domains[9], alone[9], alone_targets[9];
        sampler_evaluation_sequence(&s, w, tokens, targets, domains);
        check_window(w, length, tokens, targets, domains);
        sampler_evaluation_sequence(&s, w, alone, alone_targets, NULL);
        cr_assert_arr_eq(alone, tokens, (size_t)length * sizeof *tokens);
        int some = 0;
        for (int i = 0; i < length; i++) some += targets[i] >= 0;
        cr_assert(some > 0, "window %ld of %ld tokens has no target", (long)w, (long)total);
        targets_seen += some;
      }
      cr_assert_eq(targets_seen, file.tokens - 1, "every token but the first is a target once");
    }
}

static int64_t window_of(const sampler *s, int64_t index) {
  int32_t tokens[8], targets[8], domains[8];
  sampler_training_sequence(s, index, tokens, targets, domains);
  int64_t window = tokens[0] / s->sequence;
  check_window(window, s->sequence, tokens, targets, domains);
  return window;
}

Test(sampler, every_window_comes_once_an_epoch) {
  const int counts[] = {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    const int n = counts[c];
    open_counting((int64_t[]){8 * n - 3}, 1);
    sampler s;
    must(sampler_create(&file, 8, 42, &s));
    cr_assert_eq(s.windows, n);
    for (int64_t epoch = 0; epoch < 4; epoch++) {
      char seen[1000] = {0};
      for (int64_t i = 0; i < n; i++) {
        int64_t window = window_of(&s, epoch * n + i);
        cr_assert(window >= 0 && window < n && !seen[window], "%d windows, epoch %ld", n,
                  (long)epoch);
        seen[window] = 1;
      }
    }
  }
}

Test(sampler, order_is_a_function_of_seed_and_index) {
  open_counting((int64_t[]){8 * 200}, 1);
  sampler a, b, c;
  must(sampler_create(&file, 8, 1, &a));
  must(sampler_create(&file, 8, 1, &b));
  must(sampler_create(&file, 8, 2, &c));
  int other_seed = 0, other_epoch = 0, in_order = 0;
  for (int64_t i = 0; i < 200; i++) {
    int64_t window = window_of(&a, i);
    /* b asks in another order: nothing may depend on what was asked before. */
    (void)window_of(&b, 1000 - i);
    cr_assert_eq(window_of(&b, i), window);
    other_seed += window_of(&c, i) != window;
    other_epoch += window_of(&a, 200 + i) != window;
    in_order += window_of(&a, i + 1) == window + 1;
  }
  /* Two random orders of 200 agree in Poisson(1) places; more than 15 has probability 1e-13. */
  cr_assert(other_seed >= 185, "%d", other_seed);
  cr_assert(other_epoch >= 185, "%d", other_epoch);
  cr_assert(in_order <= 15, "%d", in_order);
}

/* Over 8000 epochs of 8 windows, every window stands in every place about 1000 times: binomial with
   standard deviation sqrt(8000 (1/8) (7/8)) = 29.6; six of them are 178. The same for pairs of
   neighbours: 56 ordered pairs, 7 places an epoch, 1000 times each. */
Test(sampler, windows_are_everywhere_equally_often) {
  open_counting((int64_t[]){64}, 1);
  sampler s;
  must(sampler_create(&file, 8, 7, &s));
  int places[8][8] = {{0}}, pairs[8][8] = {{0}};
  for (int64_t epoch = 0; epoch < 8000; epoch++)
    for (int64_t i = 0, before = -1; i < 8; i++) {
      int64_t window = window_of(&s, 8 * epoch + i);
      places[i][window]++;
      if (i) pairs[before][window]++;
      before = window;
    }
  for (int i = 0; i < 8; i++)
    for (int w = 0; w < 8; w++) {
      cr_assert(abs(places[i][w] - 1000) < 178, "window %d in place %d: %d", w, i, places[i][w]);
      if (i != w) cr_assert(abs(pairs[i][w] - 1000) < 178, "%d after %d: %d", w, i, pairs[i][w]);
    }
}

Test(sampler, impossible_windows_are_refused) {
  open_counting((int64_t[]){5}, 1);
  sampler s;
  cr_assert_eq(sampler_create(&file, 0, 1, &s), PHIBAL_ERROR_ARGUMENT);
  open_counting((int64_t[]){1}, 1);
  cr_assert_eq(sampler_create(&file, 4, 1, &s), PHIBAL_ERROR_ARGUMENT);
  double nats;
  cr_assert_eq(token_file_bigram_entropy(&file, -1, &nats), PHIBAL_ERROR_ARGUMENT);
}

static void open_tokens(const uint32_t *first, int64_t n, const uint32_t *second, int64_t m) {
  token_writer *w;
  token_file_close(&file);
  must(token_writer_create(path, 257, 256, &w));
  must(token_writer_domain(w, "a"));
  must(token_writer_domain(w, "b"));
  must(token_writer_document(w, first, n, 0));
  if (second) must(token_writer_document(w, second, m, 1));
  must(token_writer_finish(w));
  must(token_writer_publish(w));
  token_writer_destroy(w);
  must(token_file_open(path, &file));
}

/* a b a b END: after a always b (0 nats, twice), after b once a and once END (log 2, twice); four
   pairs, so log(2) / 2. One logarithm, one sum of two equal terms and one division: 4 u. */
Test(sampler, bigram_entropy_by_hand) {
  double nats;
  open_tokens((uint32_t[]){1, 2, 1, 2}, 4, NULL, 0);
  must(token_file_bigram_entropy(&file, -1, &nats));
  cr_assert(fabs(nats - 0.34657359027997264) <= 0.347 * 4 * 0x1p-53, "%.17g", nats);

  /* 1 1 END | 2 END. All: 11 1E E2 2E; after 1: 1, E, each one of two: 2 log 2 over 4 pairs. Domain
     a has 11 1E E2: 2 log 2 over 3. Domain b has 2E only: 0. */
  open_tokens((uint32_t[]){1, 1}, 2, (uint32_t[]){2}, 1);
  must(token_file_bigram_entropy(&file, -1, &nats));
  cr_assert(fabs(nats - 0.34657359027997264) <= 0.347 * 4 * 0x1p-53, "%.17g", nats);
  must(token_file_bigram_entropy(&file, 0, &nats));
  cr_assert(fabs(nats - 0.46209812037329684) <= 0.463 * 4 * 0x1p-53, "%.17g", nats);
  must(token_file_bigram_entropy(&file, 1, &nats));
  cr_assert_eq(nats, 0.0);
}

/* Against the sum over the whole table of pairs. All terms are positive: with at most 40 * 40 + 41
   of them, each within 4 u (a division, a logarithm of a number away from 1 or an exact 0, a
   product), two sums differ by less than 2 (1641 + 6) u relatively; log of a quotient q >= 40/39 or
   so has the quotient's u amplified by 1 / log q < 1000. */
Test(sampler, bigram_entropy_by_the_table) {
  enum { N = 3000, V = 40 };
  static uint32_t ids[N + 1];
  static double pairs[257][257], firsts[257];
  uint64_t state = 1;
  for (int i = 0; i < N; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids[i] = (uint32_t)((state >> 40) % V) & (i % 3 ? ~0u : 3u);
  }
  ids[N] = 256;
  open_tokens(ids, N, NULL, 0);
  for (int i = 0; i < N; i++) {
    pairs[ids[i]][ids[i + 1]]++;
    firsts[ids[i]]++;
  }
  double sum = 0, nats;
  for (int a = 0; a < 257; a++)
    for (int b = 0; b < 257; b++)
      if (pairs[a][b] > 0) sum -= pairs[a][b] / N * log(pairs[a][b] / firsts[a]);
  must(token_file_bigram_entropy(&file, -1, &nats));
  cr_assert(fabs(nats - sum) <= sum * (2 * 1647 + 2000) * 0x1p-53, "%.17g, not %.17g", nats, sum);
}
