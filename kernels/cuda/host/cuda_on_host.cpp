/* The scheduler of a grid's fibers, and what it watches. */
#include "cuda_on_host.h"
#include "races.h"
#include <phibal/status.h>
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
int64_t cuda_on_host_fails = 0;
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

void fault_set(const char *format, ...) {
  if (fault()[0]) return; /* what follows from a fault is not told */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(const_cast<char *>(fault()), FAULT_BYTES, format, arguments);
  va_end(arguments);
}

namespace {

constexpr int LANES = 32;
const char *const SYNCWARP = "__syncwarp";

/* Limits of every device that kernels are built for. */
constexpr int64_t MOST_BLOCKS = 2147483647;
constexpr int MOST_THREADS = 1024;
constexpr size_t SHARED_BYTES = 48 * 1024;

enum class state { ready, at_barrier, at_collective, done };

struct block_run;

struct thread : built_ins {
  block_run *of = nullptr;
  int number = 0; /* in the block */
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
  size_t ended = 0;               /* threads */
  bool backwards = false;         /* the order in which threads go on */
  thread *low = nullptr;          /* those of this pass */
  thread *high = nullptr;         /* behind the last of them */
  context::fiber scheduler;       /* while a thread runs */
  context::fiber *left = nullptr; /* the place of whoever ran before */
  thread_function function = nullptr;
  void *arguments = nullptr;
#ifdef CUDA_ON_HOST_ASAN
  void *fake_stack = nullptr;
  const void *scheduler_stack = nullptr;
  size_t scheduler_bytes = 0;
#endif
};

/* The block whose turn it is, and whether one of its threads runs. Functions that only kernels call
   use current(), which costs less. */
thread_local block_run *block = nullptr;
thread_local bool in_thread = false;

thread_local uint64_t blocks_run = 0;
thread_local region dynamic[PLACES];
thread_local char fault_text[FAULT_BYTES];

/* One stack for each thread of the blocks under way, kept for the next blocks. */
struct free_stack {
  void operator()(void *stack) const {
    free(stack);
  }
};
thread_local std::vector<std::unique_ptr<char, free_stack>> stacks;

struct kept_stack {
  int which;
  const built_ins *of;
  context::stack_context allocate() {
    if ((int)stacks.size() <= which) stacks.resize((size_t)which + 1);
    auto &stack = stacks[(size_t)which];
    if (!stack) stack.reset((char *)aligned_alloc(STACK_BYTES, STACK_BYTES));
    if (!stack) throw std::bad_alloc();
    memcpy(stack.get(), &of, sizeof of);
    /* Stacks that all began at one place of a page would share a few sets of the cache. */
    const size_t shift = (size_t)(which % 64) * 576;
    context::stack_context c;
    c.size = STACK_BYTES - shift;
    c.sp = stack.get() + STACK_BYTES - shift;
    return c;
  }
  void deallocate(context::stack_context &) noexcept {}
};

/* The thread that runs. */
thread *current() {
  return static_cast<thread *>(const_cast<built_ins *>(running()));
}

/* The first ready thread from t on, in the order of this pass; null after the last. */
thread *ready_from(const block_run *b, thread *t) {
  for (; t >= b->low && t < b->high; t += b->backwards ? -1 : 1)
    if (t->now == state::ready) return t;
  return nullptr;
}

thread *ready_after(const block_run *b, thread *t) {
  return ready_from(b, t + (b->backwards ? -1 : 1));
}

context::fiber *place_of(block_run *b, thread *t) {
  return t ? &t->self : &b->scheduler;
}

/* What comes before a switch from one thread to another, null for the scheduler; and after one,
   for whoever got control. */
void leave(block_run *b, thread *from, [[maybe_unused]] thread *to,
           [[maybe_unused]] bool for_ever) {
  b->left = place_of(b, from);
#ifdef CUDA_ON_HOST_ASAN
  void **fake = for_ever ? nullptr : from ? &from->fake_stack : &b->fake_stack;
  if (to)
    __sanitizer_start_switch_fiber(fake, stacks[(size_t)(b->at * MOST_THREADS + to->number)].get(),
                                   STACK_BYTES);
  else
    __sanitizer_start_switch_fiber(fake, b->scheduler_stack, b->scheduler_bytes);
#endif
}

void arrive(block_run *b, [[maybe_unused]] void *fake_stack, context::fiber &&before) {
#ifdef CUDA_ON_HOST_ASAN
  const void *stack = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fake_stack, &stack, &bytes);
  if (b->left == &b->scheduler) {
    b->scheduler_stack = stack;
    b->scheduler_bytes = bytes;
  }
#endif
  *b->left = std::move(before);
}

/* From one to the other, without the scheduler between two threads, until it is `from` again. */
void switch_to(block_run *b, thread *from, thread *to) {
  leave(b, from, to, false);
  context::fiber before = std::move(*place_of(b, to)).resume();
#ifdef CUDA_ON_HOST_ASAN
  arrive(b, from ? from->fake_stack : b->fake_stack, std::move(before));
#else
  arrive(b, nullptr, std::move(before));
#endif
}

context::fiber thread_main(context::fiber &&before) {
  thread *me = current();
  block_run *b = me->of;
  arrive(b, nullptr, std::move(before));
  b->function(b->arguments);
  me->now = state::done;
  b->ended++;
  thread *next = ready_after(b, me);
  leave(b, me, next, true);
  return std::move(*place_of(b, next));
}

void wait(thread *me, state how, const char *what, unsigned mask, place at) {
  me->now = how;
  me->waits_for = what;
  me->mask = mask;
  me->at = at;
  switch_to(me->of, me, ready_after(me->of, me));
}

/* Literals, most often the same one. */
bool same(const char *a, const char *b) {
  return a == b || strcmp(a, b) == 0;
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
                 other.at.line == t.at.line && same(other.at.file, t.at.file) &&
                 same(other.waits_for, t.waits_for);
    }
    if (!complete) continue;
    unsigned mask = t.mask;
    if (same(t.waits_for, SYNCWARP)) block->warp_times[warp]++;
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
    if (t.now != state::at_barrier || t.at.line != first.at.line || !same(t.at.file, first.at.file))
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

/* The n threads from `first` on go on that can, each until it waits; false if none can. */
bool pass(size_t first, size_t n) {
  block->low = &block->threads[first];
  block->high = block->low + n;
  thread *next = ready_from(block, block->backwards ? block->high - 1 : block->low);
  if (!next) return false;
  in_thread = true;
  switch_to(block, nullptr, next);
  in_thread = false;
  return true;
}

/* Lets every thread of the block go on that can, forwards or backwards, so that what depends on
   their order shows: all of them up to their next wait, or warp after warp up to the next
   __syncthreads. */
outcome run_on(bool backwards, bool all_at_once) {
  const size_t n = block->threads.size(), warps = block->warp_times.size();
  bool moved = false;
  block->backwards = backwards;
  if (all_at_once) {
    moved = pass(0, n);
    for (size_t w = 0; w < warps; w++) moved |= release_warp(w);
  } else {
    for (size_t i = 0; i < warps; i++) {
      const size_t w = backwards ? warps - 1 - i : i, first = w * LANES, rest = n - first;
      while (pass(first, rest < LANES ? rest : LANES) || release_warp(w)) moved = true;
    }
  }
  if (block->ended == n) return outcome::ended;
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

int failing() {
  if (cuda_on_host_fails == 0 || --cuda_on_host_fails > 0) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "CUDA: an operation fails, as it was asked to");
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
    t.of = r.get();
    t.number = i;
    static_cast<built_ins &>(t) = {dim3((unsigned)i, 0, 0), dim3(number, 0, 0),
                                   dim3((unsigned)threads), grid};
    t.self = context::fiber(std::allocator_arg, kept_stack{at * MOST_THREADS + i, &t}, thread_main);
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
    const bool backwards = draw(&state) % 2;
    const outcome how = run_on(backwards, draw(&state) % 4 == 0);
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

static uint64_t &warp_time(const thread *t) {
  return t->of->warp_times[(size_t)(t->number / LANES)];
}

bool moment_now(const void *p, moment *now) {
  if (!in_thread) return false;
  const thread *t = current();
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (((uintptr_t)p ^ here) < STACK_BYTES) return false; /* on one stack, which is aligned */
  *now = {t->of->in_grid, (uint32_t)t->number, (uint32_t)t->of->time, (uint32_t)warp_time(t),
          t->fenced};
  return true;
}

void fence() {
  thread *t = current();
  t->fenced = {t->fenced.count + 1, (uint32_t)t->of->time, (uint32_t)warp_time(t)};
  moment now;
  if (moment_now(nullptr, &now)) races_fence(now);
}

void atomic_at(const void *p, size_t bytes) {
  moment now;
  if (moment_now(p, &now)) races_atomic(now, p, bytes);
}

void block_barrier(place at) {
  wait(current(), state::at_barrier, "__syncthreads", 0, at);
}

const uint64_t *warp_exchange(const char *what, unsigned mask, uint64_t value, place at) {
  thread *me = current();
  if (!(mask >> me->number % LANES & 1))
    fault_set("%s at %s:%d: thread %d is not in its own mask 0x%x", what, base_name(at.file),
              at.line, me->number, mask);
  me->value = value;
  wait(me, state::at_collective, what, mask, at);
  return &me->of->exchanged[(size_t)me->number / LANES * LANES];
}

void warp_barrier(unsigned mask, place at) {
  warp_exchange(SYNCWARP, mask, 0, at);
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
  const thread *me = current();
  if (time < me->of->time || who == me->number) return true;
  return who / LANES == me->number / LANES && warp_time < cuda_on_host::warp_time(me);
}

static void race(const char *what, size_t offset, place at) {
  fault_set("race: thread %d %s at %s:%d, byte %zu of shared memory, with no barrier between",
            current()->number, what, base_name(at.file), at.line, offset);
}

static void word_read(word *w, place at, size_t offset) {
  const int me = current()->number;
  const uint64_t time = current()->of->time, warp_time = cuda_on_host::warp_time(current());
  if (!w->written)
    fault_set("thread %d reads at %s:%d byte %zu of shared memory, which nothing wrote", me,
              base_name(at.file), at.line, offset);
  else if (!ordered(w->written, w->written_warp, w->writer))
    race("reads what another wrote", offset, at);
  if (w->read != time) {
    w->readers = w->reading_warps = false;
  } else {
    w->reading_warps |= w->reader / LANES != me / LANES;
    w->readers = w->read_warp == warp_time && (w->readers || w->reader != me);
  }
  w->read = time;
  w->read_warp = warp_time;
  w->reader = me;
}

static void word_write(word *w, bool atomic, place at, size_t offset) {
  const int me = current()->number;
  const uint64_t time = current()->of->time, warp_time = cuda_on_host::warp_time(current());
  if (atomic && !w->written)
    fault_set("thread %d adds at %s:%d to byte %zu of shared memory, which nothing wrote", me,
              base_name(at.file), at.line, offset);
  if (w->written && !(atomic && w->atomically) && !ordered(w->written, w->written_warp, w->writer))
    race("writes what another wrote", offset, at);
  bool read_now = w->read == time;
  if (read_now && (w->reading_warps || !ordered(w->read, w->read_warp, w->reader) ||
                   (w->readers && w->read_warp == warp_time)))
    race("writes what another read", offset, at);
  w->written = time;
  w->written_warp = warp_time;
  w->writer = me;
  w->atomically = atomic;
}

bool region_access(region *r, size_t offset, size_t bytes, access how, place at) {
  if (offset > r->bytes || bytes > r->bytes - offset) {
    fault_set("thread %d %s at %s:%d beyond shared memory: byte %lld of %zu", current()->number,
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
