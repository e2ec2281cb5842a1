/* Memory of the device and copies to and from it, as a stream of a device treats them: what has
   been asked for is begun, in order, and done only when the stream has been waited for. Memory that
   phibal_cuda_allocate gave is the device's, all other the host's.

   A device may be earlier; it need not be. So a copy to the device reads the host's memory when the
   stream's next call comes, and must find it unchanged when the stream is waited for; a copy to the
   host leaves there what nobody wants to see until then. Between two places of the host, and of the
   device, a copy is done at once. */
#include "cuda_on_host.h"

#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
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

thread_local std::vector<begun> to_device, on_their_way, to_host;

std::mutex memory_lock;
std::map<const void *, size_t> &memory() {
  static auto *m = new std::map<const void *, size_t>;
  return *m;
}

bool of_device(const void *p) {
  std::lock_guard<std::mutex> lock(memory_lock);
  auto after = memory().upper_bound(p);
  if (after == memory().begin()) return false;
  --after;
  return (const char *)p < (const char *)after->first + after->second;
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

void *device_allocate(size_t bytes) {
  void *p = aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::lock_guard<std::mutex> lock(memory_lock);
  if (p) memory()[p] = bytes ? bytes : 1;
  return p;
}

void device_free(void *p) {
  stream_next();
  std::lock_guard<std::mutex> lock(memory_lock);
  memory().erase(p);
  free(p);
}

void stream_next() {
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
