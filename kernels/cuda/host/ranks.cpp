/* The ranks of ranks.h on the host: everything is gathered everywhere by the caller's one function,
   and what is not for this rank is left. Counts that do not agree are noticed, which NCCL would
   wait upon. */
#include "kernels/cuda/ranks.h"
#include "kernels/cuda/trainer.h"

#include "cuda_on_host.h"

#include <algorithm>
#include <cstring>
#include <vector>

struct phibal_cuda_ranks {
  phibal_cuda_peers peers;
};

phibal_status phibal_cuda_ranks_create(const phibal_cuda_peers *peers,
                                       phibal_cuda_ranks **created) {
  *created = new phibal_cuda_ranks{*peers};
  return PHIBAL_OK;
}

void phibal_cuda_ranks_destroy(phibal_cuda_ranks *ranks) {
  delete ranks;
}

int32_t phibal_cuda_ranks_count(const phibal_cuda_ranks *ranks) {
  return ranks->peers.ranks;
}

int32_t phibal_cuda_ranks_rank(const phibal_cuda_ranks *ranks) {
  return ranks->peers.rank;
}

phibal_status phibal_cuda_ranks_wait(phibal_cuda_ranks *, const phibal_cuda *call) {
  return phibal_cuda_wait(call);
}

template <class T>
static phibal_status gather(const phibal_cuda_ranks *ranks, const std::vector<T> &own,
                            std::vector<T> *all) {
  const phibal_cuda_peers &p = ranks->peers;
  if (!cuda_on_host::capture_allows("gathering by the host"))
    return phibal_status_set(PHIBAL_ERROR_IO, "ranks: %s", cuda_on_host::fault());
  cuda_on_host::stream_next();
  all->resize(own.size() * (size_t)p.ranks);
  const char *wrong =
      own.empty() ? nullptr : p.gather(p.context, own.data(), own.size() * sizeof(T), all->data());
  return wrong ? phibal_status_set(PHIBAL_ERROR_IO, "ranks: %s", wrong) : PHIBAL_OK;
}

phibal_status phibal_cuda_ranks_sum_integers(phibal_cuda_ranks *ranks, int64_t n, uint64_t *x,
                                             const phibal_cuda *) {
  std::vector<uint64_t> all;
  const std::vector<uint64_t> own(x, x + n);
  phibal_status status = gather(ranks, own, &all);
  if (status != PHIBAL_OK) return status;
  std::fill(x, x + n, 0);
  for (size_t i = 0; i < all.size(); i++) x[i % own.size()] += all[i];
  return PHIBAL_OK;
}

phibal_status phibal_cuda_ranks_exchange(phibal_cuda_ranks *ranks, const int64_t *to,
                                         const int64_t *to_at, const float *send,
                                         const int64_t *from, const int64_t *from_at,
                                         float *receive, const phibal_cuda *) {
  const size_t R = (size_t)ranks->peers.ranks, me = (size_t)ranks->peers.rank;
  /* Of each rank, what it sends to each and what it awaits of each: all see what does not agree. */
  std::vector<int64_t> all_counts, counts(to, to + R);
  counts.insert(counts.end(), from, from + R);
  phibal_status status = gather(ranks, counts, &all_counts);
  if (status != PHIBAL_OK) return status;
  const auto sent = [&](size_t s, size_t r) { return all_counts[s * 2 * R + r]; };
  int64_t longest = 0;
  for (size_t s = 0; s < R; s++) {
    int64_t sum = 0;
    for (size_t r = 0; r < R; r++) {
      sum += sent(s, r);
      if (const int64_t awaited = all_counts[(2 * r + 1) * R + s]; awaited != sent(s, r))
        return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                                 "ranks: %lld numbers go from rank %zu to rank %zu, which awaits "
                                 "%lld",
                                 (long long)sent(s, r), s, r, (long long)awaited);
    }
    longest = std::max(longest, sum);
  }
  std::vector<float> packed((size_t)longest), all;
  size_t used = 0;
  for (size_t r = 0; r < R; used += (size_t)to[r++])
    if (to[r] > 0) memcpy(&packed[used], send + to_at[r], sizeof(float) * (size_t)to[r]);
  status = gather(ranks, packed, &all);
  if (status != PHIBAL_OK) return status;
  for (size_t s = 0; s < R; s++) {
    size_t at = s * (size_t)longest;
    for (size_t r = 0; r < me; r++) at += (size_t)sent(s, r);
    if (from[s] > 0) memcpy(receive + from_at[s], &all[at], sizeof(float) * (size_t)from[s]);
  }
  return PHIBAL_OK;
}
