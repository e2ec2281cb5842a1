/* The accesses to global memory, and whether they race (races.h). */
#include "races.h"

#include <dlfcn.h>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace cuda_on_host {

namespace {

/* An access: whose, and when. */
struct stamp {
  uint32_t launch = 0, block, time, warp_time;
  uint16_t thread, fences;
  uint8_t bytes; /* of the four, a bit each */
  bool atomic;
};

struct cell {
  stamp write, read, other_read;
};

constexpr size_t PAGE = 1024; /* cells */
constexpr size_t MOST_PAGES = 16384;

struct page {
  cell cells[PAGE];
};

/* What a thread's fence covers: what the thread did before its fence number `fences`, its warp
   before `warp_time`, and its block before `time`. */
struct release {
  uint32_t time, warp_time, fences;
};
/* By block and thread. */
typedef std::map<uint64_t, release> knowledge;

uint64_t key(uint32_t block, uint32_t thread) {
  return (uint64_t)block << 32 | thread;
}

void join(knowledge *to, const knowledge &from) {
  for (const auto &k : from) {
    release &r = to->emplace(k.first, k.second).first->second;
    if (r.fences < k.second.fences) r = k.second;
  }
}

/* Of a thread, and of a block for what its threads did before the last __syncthreads: the fences
   made, those of others that were read of by atomic operations, and of these the ones that a fence
   has followed. */
struct state {
  knowledge fenced, seen, known;
};

struct watch {
  uint32_t launch = 0;
  std::unordered_map<uintptr_t, std::unique_ptr<page>> pages;
  uintptr_t last_address = 0;
  page *last_page = nullptr;
  std::unordered_map<const void *, knowledge> released; /* by the word of the atomic operation */
  std::map<uint64_t, state> threads;
  std::map<uint32_t, state> blocks;
};

watch &here() {
  static thread_local watch w;
  return w;
}

cell *cell_at(watch *w, uintptr_t word) {
  const uintptr_t address = word / PAGE;
  if (!w->last_page || w->last_address != address) {
    std::unique_ptr<page> &p = w->pages[address];
    if (!p) p.reset(new page());
    w->last_address = address;
    w->last_page = p.get();
  }
  return &w->last_page->cells[word % PAGE];
}

bool covered(const knowledge &known, const stamp &a) {
  for (auto k = known.lower_bound(key(a.block, 0)); k != known.end() && k->first >> 32 == a.block;
       ++k) {
    const release &r = k->second;
    const uint32_t by = (uint32_t)k->first;
    if (a.time < r.time || (by / 32 == a.thread / 32 && a.warp_time < r.warp_time) ||
        (by == a.thread && a.fences < r.fences))
      return true;
  }
  return false;
}

bool ordered(const watch &w, const stamp &a, const moment &now) {
  if (a.launch != w.launch) return true;
  if (a.block == now.block)
    return a.thread == now.thread || a.time < now.time ||
           (a.thread / 32 == now.thread / 32 && a.warp_time < now.warp_time);
  const auto block = w.blocks.find(now.block);
  if (block != w.blocks.end() && covered(block->second.known, a)) return true;
  const auto thread = w.threads.find(key(now.block, now.thread));
  return thread != w.threads.end() && covered(thread->second.known, a);
}

void report(const moment &now, bool writes, uintptr_t address, const stamp &other, bool written,
            const void *code) {
  Dl_info in = {};
  dladdr(code, &in);
  fault_set(
      "race in global memory: block %u, thread %u %s %p, which block %u, thread %u has %s, and "
      "nothing orders them (addr2line -e %s %#zx)",
      now.block, now.thread, writes ? "writes" : "reads", (void *)address, other.block,
      (unsigned)other.thread, written ? "written" : "read", in.dli_fname ? in.dli_fname : "",
      (size_t)((uintptr_t)code - (uintptr_t)in.dli_fbase));
}

void touch(const void *p, size_t bytes, bool writes, bool atomic, const void *code) {
  moment now;
  if (bytes == 0 || !moment_now(p, &now)) return;
  watch &w = here();
  const uintptr_t first = (uintptr_t)p, last = first + bytes - 1;
  for (uintptr_t word = first / 4; word <= last / 4; word++) {
    cell *c = cell_at(&w, word);
    stamp s;
    s.launch = w.launch;
    s.block = now.block;
    s.time = now.time;
    s.warp_time = now.warp_time;
    s.thread = (uint16_t)now.thread;
    s.fences = (uint16_t)now.fenced.count;
    s.atomic = atomic;
    s.bytes = 0;
    for (uintptr_t b = 0; b < 4; b++)
      if (word * 4 + b >= first && word * 4 + b <= last) s.bytes |= (uint8_t)(1u << b);
    const auto races = [&](const stamp &a) {
      return (a.bytes & s.bytes) && !(a.atomic && atomic) && !ordered(w, a, now);
    };
    const stamp *other = races(c->write)                  ? &c->write
                         : writes && races(c->read)       ? &c->read
                         : writes && races(c->other_read) ? &c->other_read
                                                          : nullptr;
    if (other) report(now, writes, word * 4, *other, other == &c->write, code);
    if (writes) {
      c->write = s;
    } else {
      const bool same =
          c->read.launch == s.launch && c->read.block == s.block && c->read.thread == s.thread;
      if (!same) c->other_read = c->read;
      c->read = s;
    }
  }
}

} // namespace

void races_launch() {
  watch &w = here();
  w.launch++;
  w.released.clear();
  w.threads.clear();
  w.blocks.clear();
  if (w.pages.size() > MOST_PAGES) {
    w.pages.clear();
    w.last_page = nullptr;
  }
}

void races_fence(const moment &now) {
  watch &w = here();
  const uint64_t me = key(now.block, now.thread);
  state &t = w.threads[me];
  t.fenced[me] = {now.fenced.time, now.fenced.warp_time, now.fenced.count};
  join(&t.known, t.seen);
  const auto block = w.blocks.find(now.block);
  if (block != w.blocks.end()) join(&t.known, block->second.seen);
}

void races_atomic(const moment &now, const void *p, size_t bytes) {
  watch &w = here();
  touch(p, bytes, true, true, __builtin_return_address(0));
  knowledge &released = w.released[p];
  state &thread = w.threads[key(now.block, now.thread)];
  join(&thread.seen, released);
  join(&released, thread.fenced);
  join(&released, thread.known);
  const auto block = w.blocks.find(now.block);
  if (block == w.blocks.end()) return;
  join(&released, block->second.fenced);
  join(&released, block->second.known);
}

void races_barrier(uint32_t block) {
  watch &w = here();
  for (auto t = w.threads.lower_bound(key(block, 0));
       t != w.threads.end() && t->first >> 32 == block; ++t) {
    state &of_block = w.blocks[block];
    join(&of_block.fenced, t->second.fenced);
    join(&of_block.seen, t->second.seen);
    join(&of_block.known, t->second.known);
  }
}

void races_block_ended(uint32_t block) {
  watch &w = here();
  w.blocks.erase(block);
  w.threads.erase(w.threads.lower_bound(key(block, 0)), w.threads.lower_bound(key(block + 1, 0)));
}

} // namespace cuda_on_host

/* What the compiler calls. Not where kernels are built without it: then nothing calls them. */
#define HOOK extern "C" __attribute__((visibility("default"))) void
#define CODE __builtin_return_address(0)
#define HOOKS(n)                                                                                   \
  HOOK __tsan_read##n(void *p);                                                                    \
  HOOK __tsan_write##n(void *p);                                                                   \
  HOOK __tsan_unaligned_read##n(void *p);                                                          \
  HOOK __tsan_unaligned_write##n(void *p);                                                         \
  HOOK __tsan_read##n(void *p) {                                                                   \
    cuda_on_host::touch(p, n, false, false, CODE);                                                 \
  }                                                                                                \
  HOOK __tsan_write##n(void *p) {                                                                  \
    cuda_on_host::touch(p, n, true, false, CODE);                                                  \
  }                                                                                                \
  HOOK __tsan_unaligned_read##n(void *p) {                                                         \
    cuda_on_host::touch(p, n, false, false, CODE);                                                 \
  }                                                                                                \
  HOOK __tsan_unaligned_write##n(void *p) {                                                        \
    cuda_on_host::touch(p, n, true, false, CODE);                                                  \
  }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
HOOK __tsan_read_range(void *p, size_t bytes);
HOOK __tsan_write_range(void *p, size_t bytes);
HOOK __tsan_vptr_update(void **p, void *value);
HOOK __tsan_func_entry(void *code);
HOOK __tsan_func_exit(void);
HOOK __tsan_init(void);
HOOK __tsan_read_range(void *p, size_t bytes) {
  cuda_on_host::touch(p, bytes, false, false, CODE);
}
HOOK __tsan_write_range(void *p, size_t bytes) {
  cuda_on_host::touch(p, bytes, true, false, CODE);
}
HOOK __tsan_vptr_update(void **, void *) {}
HOOK __tsan_func_entry(void *) {}
HOOK __tsan_func_exit(void) {}
HOOK __tsan_init(void) {}
