/* Memory of the device and copies to and from it, as a stream of a device treats them: what has
   been asked for is begun, in order, and done only when the stream has been waited for. Memory that
   phibal_cuda_allocate gave is the device's, all other the host's.

   A device may be earlier; it need not be. So a copy to the device reads the host's memory when the
   stream's next call comes, and must find it unchanged when the stream is waited for; a copy to the
   host leaves there what nobody wants to see until then. Between two places of the host, and of the
   device, a copy is done at once.

   While a stream is captured its operations are kept in order, with their arguments, and none is
   done. */
#include "cuda_on_host.h"
#include "races.h"

#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace cuda_on_host {

namespace {

struct begun {
  void *to;
  const void *from;
  size_t size;
  std::vector<unsigned char> bytes; /* that were read */
};

constexpr int NOT_YET = 0xa5;
/* What new memory has: NaN in every type, and integers below 0. */
constexpr int NEVER_WRITTEN = 0xff;

thread_local std::vector<begun> to_device, on_their_way, to_host;

std::mutex memory_lock;
std::map<const void *, size_t> &memory() {
  static auto *m = new std::map<const void *, size_t>;
  return *m;
}

std::map<const void *, size_t> &pinned_memory() {
  static auto *m = new std::map<const void *, size_t>;
  return *m;
}

bool within(const std::map<const void *, size_t> &places, const void *p) {
  std::lock_guard<std::mutex> lock(memory_lock);
  auto after = places.upper_bound(p);
  if (after == places.begin()) return false;
  --after;
  return (const char *)p < (const char *)after->first + after->second;
}

/* What lies before an allocation in the pages that are its own: as aligned as on a device, and not
   more. */
constexpr size_t ALIGNMENT = 256, PAGE_BYTES = 4096;
size_t pages_of(size_t bytes) {
  return (ALIGNMENT + bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

bool closed = false;
int opened = 0;

void protect(int how) {
  std::lock_guard<std::mutex> lock(memory_lock);
  for (const auto &m : memory())
    mprotect((char *)const_cast<void *>(m.first) - ALIGNMENT, pages_of(m.second), how);
}

bool of_device(const void *p) {
  return within(memory(), p);
}

/* Whether the host's memory still is what was copied. What has been unmapped is not. */
bool unchanged(const begun &b) {
  std::vector<unsigned char> now(b.size);
  iovec mine = {now.data(), b.size}, there = {const_cast<void *>(b.from), b.size};
  const ssize_t read = process_vm_readv(getpid(), &mine, 1, &there, 1, 0);
  if (read < 0 && errno != EFAULT) return true; /* not allowed to look */
  return read == (ssize_t)b.size && now == b.bytes;
}

} // namespace

opened_memory::opened_memory() {
  if (closed && opened++ == 0) protect(PROT_READ | PROT_WRITE);
}

opened_memory::~opened_memory() {
  if (closed && --opened == 0) protect(PROT_NONE);
}

struct graph {
  std::vector<std::function<int()>> operations;
};

struct stream {
  graph *captured = nullptr;
  bool refused = false;
};

namespace {
thread_local stream *captured_stream; /* at most one a thread */
}

void *stream_create() {
  return new stream();
}

void stream_destroy(void *s) {
  delete (stream *)s;
}

bool capture_begin(void *p) {
  auto *s = (stream *)p;
  if (!captured_stream || !captured_stream->refused) fault_clear();
  if (captured_stream) captured_stream->refused = true;
  if (!s)
    fault_set("the default stream cannot be captured");
  else if (captured_stream)
    fault_set("a stream is being captured already");
  if (!s || captured_stream) return false;
  s->captured = new graph();
  s->refused = false;
  captured_stream = s;
  return true;
}

bool capturing(const void *p) {
  return p && ((const stream *)p)->captured;
}

bool capture_allows(const char *what) {
  if (!captured_stream) return true;
  if (!captured_stream->refused) fault_clear();
  captured_stream->refused = true;
  fault_set("%s is no part of a graph: the stream is being captured", what);
  return false;
}

graph *capture_end(void *p) {
  auto *s = (stream *)p;
  if (!capturing(s)) {
    fault_clear();
    fault_set("the stream is not being captured");
    return nullptr;
  }
  graph *g = s->captured;
  s->captured = nullptr;
  captured_stream = nullptr;
  if (!s->refused) return g;
  delete g;
  return nullptr;
}

void record(const void *p, std::function<int()> operation) {
  ((const stream *)p)->captured->operations.push_back(std::move(operation));
}

int graph_launch(const graph *g) {
  const opened_memory now;
  for (const auto &operation : g->operations)
    if (const int status = operation(); status != 0) return status;
  return 0;
}

void graph_destroy(graph *g) {
  delete g;
}

void *host_allocate(size_t bytes) {
  void *p = malloc(bytes ? bytes : 1);
  if (p) memset(p, NEVER_WRITTEN, bytes);
  std::lock_guard<std::mutex> lock(memory_lock);
  if (p) pinned_memory()[p] = bytes ? bytes : 1;
  return p;
}

void host_free(void *p) {
  std::lock_guard<std::mutex> lock(memory_lock);
  pinned_memory().erase(p);
  free(p);
}

bool pageable(const void *to, const void *from) {
  const bool up = of_device(to), down = of_device(from);
  return up != down && !within(pinned_memory(), up ? from : to);
}

void *device_allocate(size_t bytes) {
  const size_t all = pages_of(bytes);
  auto *pages = (char *)aligned_alloc(PAGE_BYTES, all);
  if (!pages) return nullptr;
  memset(pages, NEVER_WRITTEN, all);
  std::lock_guard<std::mutex> lock(memory_lock);
  memory()[pages + ALIGNMENT] = bytes ? bytes : 1;
  return pages + ALIGNMENT;
}

void device_free(void *p) {
  const opened_memory now;
  stream_next();
  std::lock_guard<std::mutex> lock(memory_lock);
  if (memory().erase(p)) free((char *)p - ALIGNMENT);
}

void stream_next() {
  const opened_memory now;
  for (begun &b : to_device) {
    const auto *first = (const unsigned char *)b.from;
    b.bytes.assign(first, first + b.size);
    memcpy(b.to, b.bytes.data(), b.size);
    on_their_way.push_back(std::move(b));
  }
  to_device.clear();
}

void stream_copy(void *to, const void *from, size_t bytes) {
  stream_next();
  if (bytes == 0) return;
  const bool up = of_device(to), down = of_device(from);
  if (up == down) {
    memcpy(to, from, bytes);
  } else if (up) {
    to_device.push_back({to, from, bytes, {}});
  } else {
    const auto *first = (const unsigned char *)from;
    to_host.push_back({to, nullptr, bytes, {first, first + bytes}});
    memset(to, NOT_YET, bytes);
  }
}

bool stream_wait() {
  stream_next();
  for (const begun &b : to_host) memcpy(b.to, b.bytes.data(), b.size);
  to_host.clear();
  bool all = true;
  for (const begun &b : on_their_way) all &= unchanged(b);
  on_their_way.clear();
  return all;
}

} // namespace cuda_on_host

extern "C" void cuda_on_host_close(int to_be) {
  if (to_be) cuda_on_host::closed = true;
  cuda_on_host::protect(to_be ? PROT_NONE : PROT_READ | PROT_WRITE);
  if (!to_be) cuda_on_host::closed = false;
}
