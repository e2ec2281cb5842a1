/* What stands in for libFuzzer where there is none, and in the test suite everywhere: replays the
   corpus, then mutations of it, the same for the same seed.
     usage: <target> [-runs=N] [-seed=S] [-seconds=T] [FILE or FOLDER]...
   Runs N mutations (stops earlier after T seconds). An input that fails is written to ./crash-input
   (or $FUZZ_CRASH); exit status 1, or death by the sanitizer. */
#include "formats/file.h"
#include "verify/random.h"
#include "target.h"
#include <fcntl.h>
#include <sanitizer/lsan_interface.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { MAX_BYTES = 1 << 16, HANG_SECONDS = 20, LEAK_CHECK = 4096 };

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

/* Every finding ends in SIGABRT, where the input is saved. */
const char *__asan_default_options(void) {
  return "abort_on_error=1:allocator_may_return_null=1:max_allocation_size_mb=2048";
}

const char *__ubsan_default_options(void) {
  return "abort_on_error=1:halt_on_error=1:print_stacktrace=1";
}

typedef struct input {
  uint8_t *bytes; /* of MAX_BYTES at least */
  size_t size;
} input;

typedef struct corpus {
  input *inputs;
  size_t count;
} corpus;

/* What the signal handlers need. */
static struct {
  const uint8_t *bytes;
  size_t size;
  const char *name;
  uint64_t run;
} current;

static void save_input(void) {
  const char *path = getenv("FUZZ_CRASH");
  int fd = open(path ? path : "crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0) return;
  (void)!write(fd, current.bytes, current.size);
  close(fd);
}

static void on_signal(int number) {
  char line[512];
  save_input();
  int n = snprintf(line, sizeof line, "\ndriver: %s in %s, run %llu, %zu bytes\n",
                   number == SIGALRM ? "no end after 20 seconds" : "stopped", current.name,
                   (unsigned long long)current.run, current.size);
  (void)!write(STDERR_FILENO, line, (size_t)n);
  _exit(1);
}

/* In memory of exactly the input's size, so that a read beyond it is seen. */
static void run_input(const char *name, uint64_t run, const uint8_t *bytes, size_t size) {
  uint8_t *exact = fuzz_bytes(bytes, size);
  current.bytes = exact;
  current.size = size;
  current.name = name;
  current.run = run;
  alarm(HANG_SECONDS);
  FUZZ_REQUIRE(LLVMFuzzerTestOneInput(exact, size) == 0, "the target's result");
  alarm(0);
  free(exact);
}

static void check_leaks(const char *name) {
  if (!__lsan_do_recoverable_leak_check()) return;
  fprintf(stderr, "driver: a leak in %s\n", name);
  exit(1);
}

static bool load(const char *path, corpus *all) {
  string_list files = {0};
  if (folder_files(path, &files)) {
    fprintf(stderr, "driver: %s\n", phibal_status_message());
    return false;
  }
  for (size_t i = 0; i < files.count; i++) {
    text_buffer buffer = {0};
    if (file_read_all(files.items[i], &buffer)) {
      fprintf(stderr, "driver: %s\n", phibal_status_message());
      return false;
    }
    run_input(files.items[i], 0, (const uint8_t *)buffer.bytes, buffer.count);
    check_leaks(files.items[i]);
    input *inputs = realloc(all->inputs, (all->count + 1) * sizeof *inputs);
    FUZZ_REQUIRE(inputs, "out of memory");
    all->inputs = inputs;
    input *to = &inputs[all->count++];
    to->size = buffer.count < MAX_BYTES ? buffer.count : MAX_BYTES;
    to->bytes = fuzz_bytes((const uint8_t *)buffer.bytes, to->size);
    text_buffer_free(&buffer);
  }
  string_list_free(&files);
  return true;
}

static size_t pick(random_stream *r, size_t n) {
  return n ? (size_t)(random_next(r) % n) : 0;
}

/* Moves the bytes from `at` on by `more` and makes room, or removes them if it is negative. */
static void shift(input *m, size_t at, long more) {
  size_t tail = m->size - at;
  if (more < 0) {
    size_t drop = (size_t)-more < tail ? (size_t)-more : tail;
    memmove(m->bytes + at, m->bytes + at + drop, tail - drop);
    m->size -= drop;
  } else if (m->size + (size_t)more <= MAX_BYTES) {
    memmove(m->bytes + at + more, m->bytes + at, tail);
    memset(m->bytes + at, 0, (size_t)more);
    m->size += (size_t)more;
  }
}

static void write_integer(random_stream *r, input *m) {
  static const uint64_t edges[] = {0,          1,          0x7f,       0x80,       0xff,
                                   0xffff,     0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX,
                                   UINT64_MAX, 1u << 16,   1ull << 32, 1ull << 56, 1ull << 63};
  size_t width = (size_t)1 << pick(r, 4);
  if (m->size < width) return;
  size_t at = pick(r, m->size - width + 1);
  if (random_next(r) % 2) at -= at % width;
  uint64_t value;
  memcpy(&value, m->bytes + at, width);
  switch (pick(r, 3)) {
  case 0:
    value = edges[pick(r, sizeof edges / sizeof *edges)];
    break;
  case 1:
    value += random_next(r) % 33 - 16;
    break;
  default:
    value = m->size + random_next(r) % 17 - 8;
  }
  memcpy(m->bytes + at, &value, width);
}

/* A piece of some input, its own or another's, copied over or into the text. */
static void copy_piece(random_stream *r, const corpus *all, input *m) {
  const input *from = all->count && random_next(r) % 2 ? &all->inputs[pick(r, all->count)] : m;
  uint8_t piece[256];
  size_t n = pick(r, from->size < sizeof piece ? from->size + 1 : sizeof piece);
  memcpy(piece, from->bytes + pick(r, from->size - n + 1), n);
  size_t at = pick(r, m->size + 1), before = m->size;
  if (random_next(r) % 2) {
    shift(m, at, (long)n);
    if (m->size == before) return;
  } else if (n > m->size - at) {
    n = m->size - at;
  }
  memcpy(m->bytes + at, piece, n);
}

static void mutate(random_stream *r, const corpus *all, input *m) {
  static const char marks[] = "0123456789+-.eExXpP/:,\"'[]{}()# \n\t\\_naif\xff\x80\xc3";
  size_t at = pick(r, m->size);
  switch (pick(r, 8)) {
  case 0:
    if (m->size) m->bytes[at] ^= (uint8_t)(1 << pick(r, 8));
    break;
  case 1:
    if (m->size) m->bytes[at] = (uint8_t)random_next(r);
    break;
  case 2:
    if (m->size) m->bytes[at] = (uint8_t)marks[pick(r, sizeof marks - 1)];
    break;
  case 3:
    shift(m, at, 1);
    if (m->size) m->bytes[at] = (uint8_t)marks[pick(r, sizeof marks - 1)];
    break;
  case 4:
    if (m->size) shift(m, at, -(long)(1 + pick(r, random_next(r) % 4 ? 4 : m->size)));
    break;
  case 5:
    write_integer(r, m);
    break;
  default:
    copy_piece(r, all, m);
  }
}

static void run_mutation(uint64_t seed, uint64_t run, const corpus *all, uint8_t *bytes) {
  random_stream r = random_start(seed, 0, run);
  input m = {bytes, 0};
  if (all->count) {
    const input *from = &all->inputs[pick(&r, all->count)];
    m.size = from->size;
    memcpy(m.bytes, from->bytes, m.size);
  }
  for (size_t n = 1 + pick(&r, 4) * pick(&r, 4); n; n--) mutate(&r, all, &m);
  run_input("a mutation", run, m.bytes, m.size);
}

int main(int argc, char **argv) {
  uint64_t runs = 0, seed = 1, seconds = UINT64_MAX, done = 0;
  corpus all = {0};
  signal(SIGABRT, on_signal);
  signal(SIGALRM, on_signal);
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "-runs=", 6))
      runs = strtoull(argv[i] + 6, NULL, 10);
    else if (!strncmp(argv[i], "-seed=", 6))
      seed = strtoull(argv[i] + 6, NULL, 10);
    else if (!strncmp(argv[i], "-seconds=", 9))
      seconds = strtoull(argv[i] + 9, NULL, 10);
    else if (!load(argv[i], &all))
      return 2;
  }
  uint8_t *bytes = malloc(MAX_BYTES + 8);
  FUZZ_REQUIRE(bytes, "out of memory");
  time_t start = time(NULL);
  for (; done < runs && (uint64_t)(time(NULL) - start) < seconds; done++) {
    run_mutation(seed, done, &all, bytes);
    if (done % LEAK_CHECK == 0) check_leaks("the last 4096 mutations");
  }
  free(bytes);
  for (size_t i = 0; i < all.count; i++) free(all.inputs[i].bytes);
  free(all.inputs);
  check_leaks("the last mutations");
  printf("%zu inputs of the corpus, %llu mutations (seed %llu): no crash, no leak, no hang\n",
         all.count, (unsigned long long)done, (unsigned long long)seed);
  return 0;
}
