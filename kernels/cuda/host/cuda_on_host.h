/* CUDA on the host: the built-ins that kernels/cuda uses, for an ordinary C++ compiler, so that the
   same .cu sources run where there is no GPU. Threads are fibers of Boost.Context, switched at
   barriers, warp collectives and the end. A few blocks of a grid are under way at a time; which of
   them goes on, and which block begins next, is drawn anew for each launch, from a fixed seed, as
   is whether a block's threads go on from one wait to the next, all of them, or warp after warp
   from one __syncthreads to the next, and whether from the first or from the last.

   What is watched besides the results:
   - barriers: all threads of a block wait at the same __syncthreads, and none has ended;
   - warp collectives: every lane that the mask names calls the same one, with the same mask;
   - shared memory: accesses within bounds; no read of a word that nothing wrote in this block; no
     two accesses to a word by different threads, one of them a write, without a __syncthreads
     between them, or a __syncwarp if both are of one warp. Shuffles order nothing, as on the
   device. The first violation is kept (cuda_on_host::fault) and makes the launch fail;
   - global memory, in a library that is built to watch it (races.h): races between threads, of one
   block and of several. Otherwise it is what AddressSanitizer watches;

   - launches: a grid of 1 to 2^31 - 1 blocks of 1 to 1024 threads; no more shared memory than 48
   KiB unless the kernel has been allowed it, and never more than the 163 KiB of compute
   capability 8.0;
   - vectors: kernels load and store through vector_at, which refuses a misaligned one;
   - __ldg: what it has read is still so when the kernel ends, so that nothing that the kernel
   writes is read through it (of the last reads that share a place in a table).

   - copies between host and device, which are begun and not done when they return: one to the
   device reads the host's memory when the stream's next call comes; of one to the host nothing is
   there to be read before the stream has been waited for.

   - captures: nothing runs, what a graph cannot hold is refused and named, and a graph runs what
   was captured, with the arguments of then.

   Not modelled: the memory of clusters, asynchronous copies, textures, more than one stream at a
   time (test_products_cublas.cpp plays those of products_cublas.cu), and blocks that wait for one
   another. */
#ifndef PHIBAL_CUDA_ON_HOST_H
#define PHIBAL_CUDA_ON_HOST_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/* Kernels, dense products, grouped ones, and calls for products an expert each that have been
   started, and copies to and from memory of the host that is not pinned; whoever counts may set
   them. */
extern "C" int64_t cuda_on_host_started[5];
/* The operation of a stream that fails, the n-th from now on, a wait among them; 0: none. */
extern "C" int64_t cuda_on_host_fails;
/* From then on, until it is called with 0, the host cannot reach memory of the device but by
   operations: whoever takes one of its pointers for one of the host ends there. */
extern "C" void cuda_on_host_close(int closed);
/* Bytes of shared memory that a kernel can be allowed, static ones among them; tests set fewer. */
extern "C" size_t cuda_on_host_shared;

/* What the stand-in itself does to memory is no access of the kernel's. */
#define CUDA_ON_HOST_QUIET __attribute__((no_sanitize("thread")))

namespace cuda_on_host {

/* Where in a source file. */
struct place {
  const char *file;
  int line;
};

/* A thread, as built-in variables see it. */
struct built_ins {
  dim3 thread, block, block_size, grid_size;
};

/* The stack of a thread, a power of two that it begins at a multiple of; first in it is where the
   thread's built-ins are. So they are found from wherever the thread is. */
constexpr size_t STACK_BYTES = 256 * 1024;
inline const built_ins *running() {
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  return *(const built_ins *const *)(here & ~(uintptr_t)(STACK_BYTES - 1));
}

/* Why the last launch failed, or the capture; empty if it did not. */
const char *fault();
void fault_clear();

using thread_function = void (*)(void *arguments);
/* As cudaFuncSetAttribute(.., cudaFuncAttributeMaxDynamicSharedMemorySize, ..). */
void allow_shared(const void *kernel, size_t bytes);
/* Runs blocks * threads threads of one dimension; false if there was a fault. */
bool run(const void *kernel, int64_t blocks, int threads, size_t shared_bytes, thread_function f,
         void *arguments);

/* A fault unless p is where a vector of so many bytes may begin. */
void vector_at(const void *p, size_t bytes, place at);
/* __ldg has read so. */
void read_only(const void *p, size_t bytes, place at);

/* A stream, and what is captured of it: a capture has an end even where something was refused, and
   then gives no graph. capture_allows: false while this thread captures, and the fault says what
   was asked for. */
struct graph;
void *stream_create();
void stream_destroy(void *stream);
bool capture_begin(void *stream);
bool capturing(const void *stream);
bool capture_allows(const char *what);
graph *capture_end(void *stream);
/* The first status that is not 0. */
int graph_launch(const graph *g);
void graph_destroy(graph *g);
void record(const void *stream, std::function<int()> operation);
/* While one lives, memory of the device can be read and written though a test has closed it. */
struct opened_memory {
  opened_memory();
  ~opened_memory();
  opened_memory(const opened_memory &) = delete;
};
/* Of each operation, before it is done: 0, or the status with which it fails, as a test has asked.
 */
int failing();
/* An operation of the stream, now or where the graph is launched. */
template <class F> int submit(const void *stream, F operation) {
  if (const int status = failing()) return status;
  const opened_memory now;
  if (!capturing(stream)) return operation();
  record(stream, operation);
  return 0;
}

/* Pinned memory of the host; and whether one of two places is the device's and the other neither
   that nor pinned. */
void *host_allocate(size_t bytes);
void host_free(void *p);
bool pageable(const void *to, const void *from);

/* Memory of the device, and what the stream of this thread does with it. */
void *device_allocate(size_t bytes);
void device_free(void *p);
void stream_copy(void *to, const void *from, size_t bytes);
/* What has been begun and comes before the call at hand. */
void stream_next();
/* False if memory of the host was changed, or freed, before it was certain to have been copied. */
bool stream_wait();

void block_barrier(place at);
void fence();
/* Before an atomic operation on global memory. */
void atomic_at(const void *p, size_t bytes);
/* Waits for the lanes of `mask`, and gives what each handed in, [32] until the next call; only the
   places in the mask mean anything. */
const uint64_t *warp_exchange(const char *what, unsigned mask, uint64_t value, place at);
void warp_barrier(unsigned mask, place at);
inline unsigned lane() {
  return running()->thread.x % 32;
}

/* A region of shared memory: its words, and what happened to each. */
struct region {
  unsigned char *data = nullptr;
  size_t bytes = 0;
  struct word *words = nullptr;
  uint64_t block = 0; /* the block whose it is */
};

/* Blocks under way at a time; each has its own shared memory, in its place. */
constexpr int PLACES = 3;
int block_place();

/* Start of a block's use of a region: nothing is written. */
void region_claim(region *r);
enum class access { read, write, atomic };
/* False, with a fault, where the access is out of bounds. */
bool region_access(region *r, size_t offset, size_t bytes, access how, place at);
region *dynamic_region();

template <class T> class shared_pointer;

/* An element of shared memory: reads and writes are watched. */
template <class T> class shared_element {
public:
  shared_element(region *r, size_t offset, place at) : r_(r), offset_(offset), at_(at) {}
  CUDA_ON_HOST_QUIET operator T() const {
    T value{};
    if (region_access(r_, offset_, sizeof(T), access::read, at_))
      std::memcpy(&value, r_->data + offset_, sizeof(T));
    return value;
  }
  CUDA_ON_HOST_QUIET const shared_element &operator=(const T &value) const {
    if (region_access(r_, offset_, sizeof(T), access::write, at_))
      std::memcpy(r_->data + offset_, &value, sizeof(T));
    return *this;
  }
  const shared_element &operator=(const shared_element &other) const {
    return *this = (T)other;
  }
  const shared_element &operator+=(const T &value) const {
    return *this = (T)((T) * this + value);
  }
  const shared_element &operator|=(const T &value) const {
    return *this = (T)((T) * this | value);
  }

private:
  region *r_;
  size_t offset_;
  place at_;
};

/* What a pointer to shared memory is on the device. */
template <class T> class shared_pointer {
  static_assert(sizeof(T) % 4 == 0, "shared memory is watched by words of four bytes");

public:
  shared_pointer(region *r, int64_t offset) : r_(r), offset_(offset) {}
  template <class U>
  explicit shared_pointer(const shared_pointer<U> &other)
      : r_(other.home()), offset_(other.offset()) {}
  /* The place is where the kernel names the element. */
  struct index {
    int64_t i;
    place at;
    template <class I, class = std::enable_if_t<std::is_integral<I>::value>>
    index(I i_, const char *file = __builtin_FILE(), int line = __builtin_LINE())
        : i((int64_t)i_), at{file, line} {}
  };
  shared_element<T> operator[](index i) const {
    return {r_, (size_t)(offset_ + i.i * (int64_t)sizeof(T)), i.at};
  }
  /* An atomic addition: those of several threads do not race with one another. */
  CUDA_ON_HOST_QUIET void atomic_add(int64_t i, T value, place at) const {
    size_t offset = (size_t)(offset_ + i * (int64_t)sizeof(T));
    if (!region_access(r_, offset, sizeof(T), access::atomic, at)) return;
    T sum;
    std::memcpy(&sum, r_->data + offset, sizeof(T));
    sum = (T)(sum + value);
    std::memcpy(r_->data + offset, &sum, sizeof(T));
  }
  shared_pointer operator+(int64_t n) const {
    return {r_, offset_ + n * (int64_t)sizeof(T)};
  }
  region *home() const {
    return r_;
  }
  int64_t offset() const {
    return offset_;
  }

private:
  region *r_;
  int64_t offset_;
};

void region_create(region *r, size_t bytes);

/* A __shared__ array: one for all threads of a block. */
template <class T, size_t N> class shared_array {
public:
  CUDA_ON_HOST_QUIET shared_pointer<T> view() {
    region *r = &regions_[block_place()];
    if (!r->data) region_create(r, N * sizeof(T));
    region_claim(r);
    return {r, 0};
  }

private:
  region regions_[PLACES];
};

template <class T> uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8, "a collective takes up to eight bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T> T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

} // namespace cuda_on_host

#define threadIdx (cuda_on_host::running()->thread)
#define blockIdx (cuda_on_host::running()->block)
#define blockDim (cuda_on_host::running()->block_size)
#define gridDim (cuda_on_host::running()->grid_size)

#define CUDA_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(CUDA_PLACE) {
  cuda_on_host::block_barrier({file, line});
}

inline void __syncwarp(unsigned mask = 0xffffffffu, CUDA_PLACE) {
  cuda_on_host::warp_barrier(mask, {file, line});
}

inline void __threadfence() {
  cuda_on_host::fence();
}

template <class T> T __shfl_sync(unsigned mask, T value, int source, int width = 32, CUDA_PLACE) {
  const uint64_t *seen =
      cuda_on_host::warp_exchange("__shfl_sync", mask, cuda_on_host::to_bits(value), {file, line});
  unsigned base = cuda_on_host::lane() & ~(unsigned)(width - 1);
  return cuda_on_host::from_bits<T>(seen[base + ((unsigned)source & (unsigned)(width - 1))]);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int other, int width = 32, CUDA_PLACE) {
  const uint64_t *seen = cuda_on_host::warp_exchange("__shfl_xor_sync", mask,
                                                     cuda_on_host::to_bits(value), {file, line});
  unsigned me = cuda_on_host::lane(), from = me ^ (unsigned)other;
  return (from ^ me) < (unsigned)width ? cuda_on_host::from_bits<T>(seen[from]) : value;
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, CUDA_PLACE) {
  const uint64_t *seen = cuda_on_host::warp_exchange("__shfl_up_sync", mask,
                                                     cuda_on_host::to_bits(value), {file, line});
  unsigned me = cuda_on_host::lane();
  return (me & (unsigned)(width - 1)) < delta ? value
                                              : cuda_on_host::from_bits<T>(seen[me - delta]);
}

/* The high word of (high, low) shifted left by shift modulo 32. */
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, CUDA_PLACE) {
  const uint64_t *seen =
      cuda_on_host::warp_exchange("__ballot_sync", mask, predicate != 0, {file, line});
  unsigned ballot = 0;
  for (unsigned l = 0; l < 32; l++)
    if (mask >> l & 1) ballot |= (unsigned)seen[l] << l;
  return ballot;
}

inline int __any_sync(unsigned mask, int predicate, CUDA_PLACE) {
  return __ballot_sync(mask, predicate, file, line) != 0;
}

inline unsigned __match_any_sync(unsigned mask, int value, CUDA_PLACE) {
  const uint64_t *seen =
      cuda_on_host::warp_exchange("__match_any_sync", mask, (unsigned)value, {file, line});
  unsigned match = 0;
  for (unsigned l = 0; l < 32; l++)
    if (mask >> l & 1) match |= (unsigned)(seen[l] == (unsigned)value) << l;
  return match;
}

/* As on the device: unsigned and signed 32 bits. */
template <class T>
T cuda_on_host_reduce(const char *what, unsigned mask, T value, bool largest, const char *file,
                      int line) {
  const uint64_t *seen =
      cuda_on_host::warp_exchange(what, mask, cuda_on_host::to_bits(value), {file, line});
  for (unsigned l = 0; l < 32; l++) {
    T other = cuda_on_host::from_bits<T>(seen[l]);
    if ((mask >> l & 1) && (largest ? other > value : other < value)) value = other;
  }
  return value;
}

inline unsigned __reduce_max_sync(unsigned mask, unsigned value, CUDA_PLACE) {
  return cuda_on_host_reduce("__reduce_max_sync", mask, value, true, file, line);
}
inline int __reduce_max_sync(unsigned mask, int value, CUDA_PLACE) {
  return cuda_on_host_reduce("__reduce_max_sync", mask, value, true, file, line);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value, CUDA_PLACE) {
  return cuda_on_host_reduce("__reduce_min_sync", mask, value, false, file, line);
}
inline int __reduce_min_sync(unsigned mask, int value, CUDA_PLACE) {
  return cuda_on_host_reduce("__reduce_min_sync", mask, value, false, file, line);
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value, CUDA_PLACE) {
  const uint64_t *seen =
      cuda_on_host::warp_exchange("__reduce_add_sync", mask, value, {file, line});
  unsigned sum = 0;
  for (unsigned l = 0; l < 32; l++)
    if (mask >> l & 1) sum += (unsigned)seen[l];
  return sum;
}

/* On global memory; a thread is never interrupted here. */
template <class T, class U> CUDA_ON_HOST_QUIET T atomicAdd(T *address, U value) {
  cuda_on_host::atomic_at(address, sizeof(T));
  T before = *address;
  *address = (T)(before + (T)value);
  return before;
}

template <class T, class U> CUDA_ON_HOST_QUIET T atomicMin(T *address, U value) {
  cuda_on_host::atomic_at(address, sizeof(T));
  T before = *address;
  if ((T)value < before) *address = (T)value;
  return before;
}

template <class T> T __ldg(const T *address, CUDA_PLACE) {
  cuda_on_host::read_only(address, sizeof(T), {file, line});
  return *address;
}

inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}

inline int __ffs(int x) {
  return __builtin_ffs(x);
}

#undef CUDA_PLACE

#endif
