/* The scheduler of a grid's fibers, and what it watches. */
#include "cuda_on_host.h"
#include "races.h"
#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define CUDA_ON_HOST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDA_ON_HOST_ASAN 1
#endif
#endif
#ifdef CUDA_ON_HOST_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace context = boost::context;

int64_t cuda_on_host_started[5];
size_t cuda_on_host_shared = 163 * 1024;

namespace cuda_on_host {

/* What happened to a word of shared memory. Times are numbers of barriers passed: of the block's
   threads, and of a warp's lanes. */
struct word {
  uint64_t written, written_warp; /* times + 1; 0: never */
  uint64_t read, read_warp;
  int writer, reader;          /* threads */
  bool readers, reading_warps; /* more than one, since `read` (and `read_warp`) */
  bool atomically;             /* written by an atomic addition */
};

thread_local const built_ins *running = nullptr;

void fault_set(const char *format, ...) {
  if (fault()[0]) return; /* what follows from a fault is not told */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(const_cast<char *>(fault()), FAULT_BYTES, format, arguments);
  va_end(arguments);
}

namespace {

constexpr size_t STACK_BYTES = 256 * 1024;
constexpr int LANES = 32;

/* Limits of every device that kernels are built for. */
constexpr int64_t MOST_BLOCKS = 2147483647;
constexpr int MOST_THREADS = 1024;
constexpr size_t SHARED_BYTES = 48 * 1024;

enum class state { ready, at_barrier, at_collective, done };

struct thread {
  built_ins seen;
  state now = state::ready;
  const char *waits_for = "";
  place at{"", 0};
  unsigned mask = 0;
  uint64_t value = 0;
  fences fenced;
  context::fiber self;
#ifdef CUDA_ON_HOST_ASAN
  void *fake_stack = nullptr;
#endif
};

/* A block while it runs. */
struct block_run {
  uint64_t number;  /* of all blocks that have run */
  unsigned in_grid; /* blockIdx.x */
  int at;           /* its place, 0 .. PLACES - 1 */
  std::vector<thread> threads;
  std::vector<uint64_t> exchanged;  /* [warps][32] */
  std::vector<uint64_t> warp_times; /* [warps] */
  uint64_t time = 1;
  int current = 0;
  context::fiber scheduler;
  thread_function function = nullptr;
  void *arguments = nullptr;
#ifdef CUDA_ON_HOST_ASAN
  void *fake_stack = nullptr;
  const void *scheduler_stack = nullptr;
  size_t scheduler_bytes = 0;
#endif
};

thread_local block_run *block = nullptr;
thread_local uint64_t blocks_run = 0;
thread_local region dynamic[PLACES];
thread_local char fault_text[FAULT_BYTES];

/* One stack for each thread of the blocks under way, kept for the next blocks. */
thread_local std::vector<std::unique_ptr<char[]>> stacks;

struct kept_stack {
  int which;
  context::stack_context allocate() {
    if ((int)stacks.size() <= which) stacks.resize((size_t)which + 1);
    std::unique_ptr<char[]> &stack = stacks[(size_t)which];
    if (!stack) stack.reset(new char[STACK_BYTES]);
    context::stack_context c;
    c.size = STACK_BYTES;
    c.sp = stack.get() + STACK_BYTES;
    return c;
  }
  void deallocate(context::stack_context &) noexcept {}
};

/* Back to the scheduler, until it resumes this thread. */
void yield() {
#ifdef CUDA_ON_HOST_ASAN
  thread &t = block->threads[(size_t)block->current];
  __sanitizer_start_switch_fiber(&t.fake_stack, block->scheduler_stack, block->scheduler_bytes);
#endif
  block->scheduler = std::move(block->scheduler).resume();
#ifdef CUDA_ON_HOST_ASAN
  __sanitizer_finish_switch_fiber(t.fake_stack, nullptr, nullptr);
#endif
}

void resume(int i) {
  thread &t = block->threads[(size_t)i];
  block->current = i;
  running = &t.seen;
#ifdef CUDA_ON_HOST_ASAN
  __sanitizer_start_switch_fiber(&block->fake_stack,
                                 stacks[(size_t)(block->at * MOST_THREADS + i)].get(), STACK_BYTES);
#endif
  t.self = std::move(t.self).resume();
#ifdef CUDA_ON_HOST_ASAN
  __sanitizer_finish_switch_fiber(block->fake_stack, nullptr, nullptr);
#endif
}

context::fiber thread_main(context::fiber &&scheduler) {
#ifdef CUDA_ON_HOST_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &block->scheduler_stack, &block->scheduler_bytes);
#endif
  block->scheduler = std::move(scheduler);
  block->function(block->arguments);
  block->threads[(size_t)block->current].now = state::done;
#ifdef CUDA_ON_HOST_ASAN
  __sanitizer_start_switch_fiber(nullptr, block->scheduler_stack, block->scheduler_bytes);
#endif
  return std::move(block->scheduler);
}

void wait(state how, const char *what, unsigned mask, place at) {
  thread &t = block->threads[(size_t)block->current];
  t.now = how;
  t.waits_for = what;
  t.mask = mask;
  t.at = at;
  yield();
}

/* Lets the lanes of a collective go on whose mask is complete. */
bool release_warp(size_t warp) {
  bool any = false;
  size_t first = warp * LANES, n = block->threads.size();
  for (size_t l = 0; l < LANES && first + l < n; l++) {
    thread &t = block->threads[first + l];
    if (t.now != state::at_collective) continue;
    bool complete = true;
    for (size_t o = 0; o < LANES && complete; o++) {
      if (!(t.mask >> o & 1)) continue;
      if (first + o >= n) {
        complete = false;
        continue;
      }
      thread &other = block->threads[first + o];
      complete = other.now == state::at_collective && other.mask == t.mask &&
                 other.at.line == t.at.line && strcmp(other.at.file, t.at.file) == 0 &&
                 strcmp(other.waits_for, t.waits_for) == 0;
    }
    if (!complete) continue;
    unsigned mask = t.mask;
    if (strcmp(t.waits_for, "__syncwarp") == 0) block->warp_times[warp]++;
    for (size_t o = 0; o < LANES; o++)
      if (mask >> o & 1) {
        block->exchanged[first + o] = block->threads[first + o].value;
        block->threads[first + o].now = state::ready;
      }
    any = true;
  }
  return any;
}

bool release_block() {
  const thread &first = block->threads[0];
  for (const thread &t : block->threads)
    if (t.now != state::at_barrier || t.at.line != first.at.line ||
        strcmp(t.at.file, first.at.file) != 0)
      return false;
  for (thread &t : block->threads) t.now = state::ready;
  block->time++;
  races_barrier(block->in_grid);
  return true;
}

const char *base_name(const char *file) {
  const char *slash = strrchr(file, '/');
  return slash ? slash + 1 : file;
}

/* Nobody can go on: a thread that waits, and one that will never come. */
void report_stuck() {
  size_t waiting = 0, other = 0, n = block->threads.size();
  while (waiting < n && block->threads[waiting].now == state::done) waiting++;
  const thread &w = block->threads[waiting];
  size_t first = waiting / LANES * LANES;
  for (other = 0; other < n; other++) {
    const thread &o = block->threads[other];
    bool named = w.now == state::at_barrier ||
                 (other >= first && other < first + LANES && (w.mask >> (other - first) & 1));
    if (named && (o.now == state::done || o.at.line != w.at.line || o.mask != w.mask)) break;
  }
  if (other == n) {
    fault_set("thread %zu waits in %s with mask 0x%x at %s:%d, where there are only %zu threads",
              waiting, w.waits_for, w.mask, base_name(w.at.file), w.at.line, n);
    return;
  }
  const thread &o = block->threads[other];
  if (o.now == state::done)
    fault_set("divergent %s: thread %zu waits at %s:%d, thread %zu has ended", w.waits_for, waiting,
              base_name(w.at.file), w.at.line, other);
  else
    fault_set("divergent %s: thread %zu waits at %s:%d, thread %zu in %s at %s:%d", w.waits_for,
              waiting, base_name(w.at.file), w.at.line, other, o.waits_for, base_name(o.at.file),
              o.at.line);
}

enum class outcome { ended, waits, stuck };

/* Lets every thread of the block go on that can, forwards or backwards, so that what depends on
   their order shows. */
outcome run_on(bool backwards) {
  const int n = (int)block->threads.size();
  const size_t warps = block->exchanged.size() / LANES;
  bool moved = false, all_done = true;
  for (int step = 0; step < n; step++) {
    const int i = backwards ? n - 1 - step : step;
    if (block->threads[(size_t)i].now == state::ready) {
      resume(i);
      moved = true;
    }
    all_done &= block->threads[(size_t)i].now == state::done;
  }
  if (all_done) return outcome::ended;
  for (size_t w = 0; w < warps; w++) moved |= release_warp(w);
  moved |= release_block();
  if (moved) return outcome::waits;
  report_stuck();
  return outcome::stuck;
}

} // namespace

const char *fault() {
  return fault_text;
}

void fault_clear() {
  fault_text[0] = 0;
}

int block_place() {
  return block->at;
}

static std::map<const void *, size_t> &allowed() {
  static thread_local std::map<const void *, size_t> bytes;
  return bytes;
}

void allow_shared(const void *kernel, size_t bytes) {
  if (bytes <= cuda_on_host_shared) allowed()[kernel] = bytes;
}

static bool launch_check(const void *kernel, int64_t blocks, int threads, size_t shared_bytes) {
  auto found = allowed().find(kernel);
  const size_t most = found == allowed().end() ? SHARED_BYTES : found->second;
  if (blocks < 1 || blocks > MOST_BLOCKS)
    fault_set("a grid of %lld blocks, 1 to %lld are possible", (long long)blocks,
              (long long)MOST_BLOCKS);
  else if (threads < 1 || threads > MOST_THREADS)
    fault_set("a block of %d threads, 1 to %d are possible", threads, MOST_THREADS);
  else if (shared_bytes > most && shared_bytes > SHARED_BYTES)
    fault_set("%zu bytes of shared memory, the kernel is allowed %zu", shared_bytes, most);
  return fault_text[0] == 0;
}

void vector_at(const void *p, size_t bytes, place at) {
  if ((uintptr_t)p % bytes)
    fault_set("misaligned vector of %zu bytes at %s:%d: address %p", bytes, base_name(at.file),
              at.line, p);
}

/* The last read of __ldg in each place of a table. */
struct seen_read {
  const void *p;
  uint64_t value;
  uint32_t bytes, launch;
  place at;
};
constexpr size_t READS = 4096;
static thread_local seen_read reads[READS];
static thread_local uint32_t launches;

void read_only(const void *p, size_t bytes, place at) {
  seen_read &r = reads[((uintptr_t)p / 4) * 2654435761u / 64 % READS];
  r = {p, 0, (uint32_t)bytes, launches, at};
  if (bytes <= sizeof r.value) memcpy(&r.value, p, bytes);
}

static void reads_check() {
  for (const seen_read &r : reads)
    if (r.launch == launches && r.p && r.bytes <= sizeof r.value &&
        memcmp(&r.value, r.p, r.bytes) != 0) {
      fault_set("__ldg at %s:%d read what the kernel writes", base_name(r.at.file), r.at.line);
      return;
    }
}

/* A fixed sequence of 32 bits at a time (Lehmer). */
static uint32_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 32);
}

static std::unique_ptr<block_run> begin(unsigned number, int at, int threads, dim3 grid,
                                        thread_function f, void *arguments) {
  std::unique_ptr<block_run> r(new block_run());
  block = r.get();
  r->number = ++blocks_run;
  r->in_grid = number;
  r->at = at;
  r->function = f;
  r->arguments = arguments;
  r->threads.resize((size_t)threads);
  const size_t warps = (size_t)(threads + LANES - 1) / LANES;
  r->exchanged.resize(warps * LANES);
  r->warp_times.assign(warps, 1);
  for (int i = 0; i < threads; i++) {
    thread &t = r->threads[(size_t)i];
    t.seen = {dim3((unsigned)i, 0, 0), dim3(number, 0, 0), dim3((unsigned)threads), grid};
    t.self = context::fiber(std::allocator_arg, kept_stack{at * MOST_THREADS + i}, thread_main);
  }
  return r;
}

bool run(const void *kernel, int64_t blocks, int threads, size_t shared_bytes, thread_function f,
         void *arguments) {
  stream_next();
  fault_text[0] = 0;
  cuda_on_host_started[0]++;
  launches++;
  races_launch();
  if (!launch_check(kernel, blocks, threads, shared_bytes)) return false;
  for (region &d : dynamic)
    if (d.bytes != shared_bytes) region_create(&d, shared_bytes);
  uint64_t state = launches;
  const unsigned grid = (unsigned)blocks, first = draw(&state) % grid;
  const bool falling = draw(&state) % 2;
  unsigned begun = 0;
  bool went_through = true;
  std::unique_ptr<block_run> under_way[PLACES];
  for (;;) {
    bool any = false;
    for (int at = 0; at < PLACES; at++) {
      if (!under_way[at] && begun < grid) {
        const unsigned next = (unsigned)(((uint64_t)first + begun) % grid);
        under_way[at] =
            begin(falling ? grid - 1 - next : next, at, threads, dim3(grid), f, arguments);
        begun++;
      }
      any |= under_way[at] != nullptr;
    }
    if (!any) break;
    int at = (int)(draw(&state) % PLACES);
    while (!under_way[at]) at = (at + 1) % PLACES;
    block = under_way[at].get();
    const outcome how = run_on(draw(&state) % 2);
    running = nullptr;
    if (how == outcome::ended) {
      races_block_ended(block->in_grid);
      under_way[at].reset();
    }
    went_through = how != outcome::stuck;
    if (!went_through) break;
  }
  block = nullptr;
  /* Fibers that wait for ever are not unwound, only never resumed; the next launch gets stacks that
     carry no traces of theirs. */
  if (!went_through) {
    static auto *left = new std::vector<context::fiber>;
    for (std::unique_ptr<block_run> &r : under_way)
      if (r)
        for (thread &t : r->threads) left->push_back(std::move(t.self));
    stacks.clear();
    return false;
  }
  reads_check();
  return fault_text[0] == 0;
}

bool moment_now(const void *p, moment *now) {
  if (!block || !running) return false;
  const thread &t = block->threads[(size_t)block->current];
  const char *stack = stacks[(size_t)(block->at * MOST_THREADS + block->current)].get();
  if ((const char *)p >= stack && (const char *)p < stack + STACK_BYTES) return false;
  *now = {block->in_grid, (uint32_t)block->current, (uint32_t)block->time,
          (uint32_t)block->warp_times[(size_t)(block->current / LANES)], t.fenced};
  return true;
}

void fence() {
  thread &t = block->threads[(size_t)block->current];
  t.fenced = {t.fenced.count + 1, (uint32_t)block->time,
              (uint32_t)block->warp_times[(size_t)(block->current / LANES)]};
  moment now;
  if (moment_now(nullptr, &now)) races_fence(now);
}

void atomic_at(const void *p, size_t bytes) {
  moment now;
  if (moment_now(p, &now)) races_atomic(now, p, bytes);
}

void block_barrier(place at) {
  wait(state::at_barrier, "__syncthreads", 0, at);
}

unsigned lane() {
  return (unsigned)block->current % LANES;
}

void warp_exchange(const char *what, unsigned mask, uint64_t value, place at, uint64_t *seen) {
  if (!(mask >> lane() & 1))
    fault_set("%s at %s:%d: thread %d is not in its own mask 0x%x", what, base_name(at.file),
              at.line, block->current, mask);
  block->threads[(size_t)block->current].value = value;
  wait(state::at_collective, what, mask, at);
  memcpy(seen, &block->exchanged[(size_t)block->current / LANES * LANES], LANES * sizeof *seen);
}

void warp_barrier(unsigned mask, place at) {
  uint64_t seen[LANES];
  warp_exchange("__syncwarp", mask, 0, at, seen);
}

void region_create(region *r, size_t bytes) {
  delete[] r->data;
  delete[] r->words;
  r->bytes = bytes;
  r->data = new unsigned char[bytes ? bytes : 1];
  r->words = new word[bytes / 4 + 1];
  r->block = 0;
}

void region_claim(region *r) {
  if (r->block == block->number) return;
  r->block = block->number;
  memset(r->data, 0xa5, r->bytes);
  memset((void *)r->words, 0, (r->bytes / 4 + 1) * sizeof *r->words);
}

region *dynamic_region() {
  region *r = &dynamic[block->at];
  if (!r->data) region_create(r, 0); /* the launch asked for none */
  region_claim(r);
  return r;
}

/* Whether what a thread did at (time, warp_time) is ordered before what the current one does. */
static bool ordered(uint64_t time, uint64_t warp_time, int who) {
  int me = block->current;
  if (time < block->time || who == me) return true;
  return who / LANES == me / LANES && warp_time < block->warp_times[(size_t)(me / LANES)];
}

static void race(const char *what, size_t offset, place at) {
  fault_set("race: thread %d %s at %s:%d, byte %zu of shared memory, with no barrier between",
            block->current, what, base_name(at.file), at.line, offset);
}

static void word_read(word *w, place at, size_t offset) {
  int me = block->current;
  uint64_t warp_time = block->warp_times[(size_t)(me / LANES)];
  if (!w->written)
    fault_set("thread %d reads at %s:%d byte %zu of shared memory, which nothing wrote", me,
              base_name(at.file), at.line, offset);
  else if (!ordered(w->written, w->written_warp, w->writer))
    race("reads what another wrote", offset, at);
  if (w->read != block->time) {
    w->readers = w->reading_warps = false;
  } else {
    w->reading_warps |= w->reader / LANES != me / LANES;
    w->readers = w->read_warp == warp_time && (w->readers || w->reader != me);
  }
  w->read = block->time;
  w->read_warp = warp_time;
  w->reader = me;
}

static void word_write(word *w, bool atomic, place at, size_t offset) {
  int me = block->current;
  if (atomic && !w->written)
    fault_set("thread %d adds at %s:%d to byte %zu of shared memory, which nothing wrote", me,
              base_name(at.file), at.line, offset);
  if (w->written && !(atomic && w->atomically) && !ordered(w->written, w->written_warp, w->writer))
    race("writes what another wrote", offset, at);
  bool read_now = w->read == block->time;
  if (read_now && (w->reading_warps || !ordered(w->read, w->read_warp, w->reader) ||
                   (w->readers && w->read_warp == block->warp_times[(size_t)(me / LANES)])))
    race("writes what another read", offset, at);
  w->written = block->time;
  w->written_warp = block->warp_times[(size_t)(me / LANES)];
  w->writer = me;
  w->atomically = atomic;
}

bool region_access(region *r, size_t offset, size_t bytes, access how, place at) {
  if (offset > r->bytes || bytes > r->bytes - offset) {
    fault_set("thread %d %s at %s:%d beyond shared memory: byte %lld of %zu", block->current,
              how == access::read ? "reads" : "writes", base_name(at.file), at.line,
              (long long)offset, r->bytes);
    return false;
  }
  for (size_t w = offset / 4; w < (offset + bytes + 3) / 4; w++)
    if (how == access::read)
      word_read(&r->words[w], at, w * 4);
    else
      word_write(&r->words[w], how == access::atomic, at, w * 4);
  return true;
}

} // namespace cuda_on_host
