/* How ranks_nccl.cu calls NCCL: which messages, that nothing else is begun before NCCL has done
   what it has begun, and that every wait ends where NCCL fails, a rank is lost, or none comes. NCCL
   itself is played here: a communicator that is never ready at once. */
#include "kernels/cuda/ranks.h"
#include <criterion/criterion.h>
#include <cstdlib>
#include <cstring>
#include <nccl.h>
#include <string>
#include <vector>

struct fake_communicator {
  int ranks, rank;
};
struct fake_stream {
  int unused;
};

namespace {

struct message {
  bool send;
  int rank;
  size_t count;
  const float *from;
  float *to;
};

/* What the player does, and what it has seen. */
struct play {
  int devices = 4, device = -1;
  int polls = 3; /* that NCCL is busy after a call */
  ncclResult_t outcome = ncclSuccess, begun = ncclInProgress, id = ncclSuccess;
  int ready_after = 5; /* looks at the stream; -1: never */
  int busy = 0, looks = 0, aborted = 0, misused = 0, asked = 0, blocking = -1;
  bool grouped = false;
  char used_id = 0;
  std::vector<message> group;
  std::vector<std::string> log;
  fake_communicator all{};
} now;

phibal_cuda here;
fake_stream stream;
const char *lost_text;

ncclResult_t begin() {
  now.busy = now.polls;
  return now.polls > 0 ? now.begun : now.outcome;
}

/* Any call that begins something needs NCCL to be done with the last. */
void use(ncclComm_t all) {
  if (now.busy > 0 || all != &now.all || now.aborted) now.misused++;
}

} // namespace

cudaError_t cudaGetDeviceCount(int *count) {
  *count = now.devices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  now.device = device;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t asked) {
  if (asked != &stream || now.busy > 0) now.misused++;
  now.looks++;
  return now.ready_after >= 0 && now.looks > now.ready_after ? cudaSuccess : cudaErrorNotReady;
}
const char *cudaGetErrorString(cudaError_t) {
  return "a CUDA error";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  memset(id->internal, 'i', sizeof id->internal);
  return now.id;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t *all, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  now.all = {ranks, rank};
  now.used_id = id.internal[127];
  now.blocking = config->blocking;
  *all = &now.all;
  return begin();
}
ncclResult_t ncclCommAbort(ncclComm_t all) {
  if (all != &now.all) now.misused++;
  now.aborted++;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t all, ncclResult_t *result) {
  if (all != &now.all || now.aborted) now.misused++;
  now.asked++;
  *result = now.busy > 0 && --now.busy > 0 ? ncclInProgress : now.outcome;
  return ncclSuccess;
}
const char *ncclGetErrorString(ncclResult_t) {
  return "an error";
}
const char *ncclGetLastError(ncclComm_t) {
  return "its last words";
}
ncclResult_t ncclGroupStart() {
  if (now.busy > 0 || now.grouped) now.misused++;
  now.grouped = true;
  now.group.clear();
  return ncclSuccess;
}
/* Messages to oneself arrive; those of another rank r are 1000 r, 1000 r + 1, ... */
ncclResult_t ncclGroupEnd() {
  now.grouped = false;
  const float *own = nullptr;
  for (const message &m : now.group)
    if (m.send && m.rank == now.all.rank) own = m.from;
  for (const message &m : now.group) {
    now.log.push_back((m.send ? "to " : "from ") + std::to_string(m.rank) + ": " +
                      std::to_string(m.count));
    for (size_t i = 0; !m.send && i < m.count; i++)
      m.to[i] = m.rank == now.all.rank ? own[i] : 1000.0f * (float)m.rank + (float)i;
  }
  return begin();
}
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int rank, ncclComm_t all,
                      cudaStream_t in) {
  use(all);
  if (!now.grouped || type != ncclFloat32 || in != &stream) now.misused++;
  now.group.push_back({true, rank, count, (const float *)from, nullptr});
  return now.begun;
}
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int rank, ncclComm_t all,
                      cudaStream_t in) {
  use(all);
  if (!now.grouped || type != ncclFloat32 || in != &stream) now.misused++;
  now.group.push_back({false, rank, count, nullptr, (float *)to});
  return now.begun;
}
/* As if every rank had the same numbers. */
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t sum, ncclComm_t all, cudaStream_t in) {
  use(all);
  if (type != ncclUint64 || sum != ncclSum || in != &stream) now.misused++;
  for (size_t i = 0; i < count; i++)
    ((unsigned long long *)to)[i] =
        ((const unsigned long long *)from)[i] * (unsigned long long)now.all.ranks;
  return begin();
}

namespace {

/* Rank 0's is 'r' from byte to byte, but for what this rank itself gives as rank 0. */
const char *gather(const void *context, const void *own, size_t bytes, void *all) {
  const phibal_cuda_peers *p = (const phibal_cuda_peers *)context;
  for (int r = 0; r < p->ranks; r++) memcpy((char *)all + (size_t)r * bytes, own, bytes);
  if (p->rank > 0) memset((char *)all + sizeof(ncclResult_t), 'r', sizeof(ncclUniqueId));
  if (p->rank > 0 && now.id != ncclSuccess) memcpy(all, &now.id, sizeof now.id);
  return p->rank == 9 ? "the others are away" : nullptr;
}

const char *lost(const void *) {
  return lost_text;
}

phibal_cuda_peers peers;
phibal_status create(int rank, int ranks, int local, phibal_cuda_ranks **created) {
  peers = {&peers, rank, ranks, local, 60, gather, lost};
  here.stream = &stream;
  return phibal_cuda_ranks_create(&peers, created);
}

phibal_cuda_ranks *joined(int rank, int ranks) {
  phibal_cuda_ranks *r = nullptr;
  cr_assert_eq(create(rank, ranks, 1, &r), PHIBAL_OK, "%s", phibal_status_message());
  return r;
}

void expect_word(phibal_status status, const char *word) {
  cr_expect_neq(status, PHIBAL_OK);
  cr_expect(strstr(phibal_status_message(), word), "'%s', wanted '%s'", phibal_status_message(),
            word);
}

} // namespace

Test(ranks_nccl, one_rank_goes_through_nccl) {
  phibal_cuda_ranks *r = joined(0, 1);
  cr_expect(now.used_id == 'i' && now.blocking == 0);
  cr_expect(phibal_cuda_ranks_count(r) == 1 && phibal_cuda_ranks_rank(r) == 0);
  const int64_t n[] = {3}, to_at[] = {1}, from_at[] = {2};
  const float send[] = {9, 1, 2, 3};
  float got[6] = {7, 7, 7, 7, 7, 7};
  cr_expect_eq(phibal_cuda_ranks_exchange(r, n, to_at, send, n, from_at, got, &here), PHIBAL_OK);
  const float want[] = {7, 7, 1, 2, 3, 7};
  cr_expect_eq(memcmp(got, want, sizeof want), 0);
  uint64_t x[] = {5, UINT64_MAX};
  cr_expect_eq(phibal_cuda_ranks_sum_integers(r, 2, x, &here), PHIBAL_OK);
  cr_expect(x[0] == 5 && x[1] == UINT64_MAX);
  cr_expect_eq(phibal_cuda_ranks_wait(r, &here), PHIBAL_OK);
  cr_expect(now.looks == 6 && now.aborted == 0);
  phibal_cuda_ranks_destroy(r);
  cr_expect(now.aborted == 1 && now.misused == 0);
}

static void exchange_of_four(ncclResult_t begun) {
  now = play();
  now.begun = begun;
  if (begun == ncclSuccess) now.polls = 0;
  phibal_cuda_ranks *r = joined(1, 4);
  cr_expect(now.used_id == 'r' && now.all.rank == 1 && now.all.ranks == 4);
  const int64_t to[] = {2, 1, 0, 3}, to_at[] = {4, 3, 0, 0};
  const int64_t from[] = {0, 1, 2, 0}, from_at[] = {0, 2, 0, 0};
  const float send[] = {0, 1, 2, 3, 4, 5};
  float got[3];
  cr_expect_eq(phibal_cuda_ranks_exchange(r, to, to_at, send, from, from_at, got, &here),
               PHIBAL_OK);
  const char *const messages[] = {"to 0: 2", "to 1: 1", "from 1: 1", "from 2: 2", "to 3: 3"};
  cr_assert_eq(now.log.size(), sizeof messages / sizeof *messages);
  for (size_t i = 0; i < now.log.size(); i++) cr_expect_str_eq(now.log[i].c_str(), messages[i]);
  cr_expect(got[0] == 2000 && got[1] == 2001 && got[2] == 3);
  phibal_cuda_ranks_destroy(r);
  cr_expect_eq(now.misused, 0);
}

Test(ranks_nccl, messages_go_to_whom_they_are_for) {
  exchange_of_four(ncclInProgress);
  exchange_of_four(ncclSuccess);
}

Test(ranks_nccl, each_takes_a_device) {
  const int cases[][3] = {{4, 3, 3}, {1, 3, 0}, {2, 2, -1}};
  for (const auto &c : cases) {
    now = play();
    now.devices = c[0];
    phibal_cuda_ranks *r = nullptr;
    const phibal_status status = create(0, 4, c[1], &r);
    cr_expect_eq(now.device, c[2]);
    cr_expect_eq(status == PHIBAL_OK, c[2] >= 0);
    if (c[2] < 0) expect_word(status, "process 3 of this machine has no device: there are 2");
    phibal_cuda_ranks_destroy(r);
  }
}

Test(ranks_nccl, what_fails_at_the_beginning_is_said) {
  phibal_cuda_ranks *r;
  now.outcome = ncclSystemError;
  expect_word(create(2, 4, 0, &r),
              "rank 2 of 4: NCCL's communicator: NCCL: an error: its last words");
  cr_expect(!r && now.aborted == 1 && now.misused == 0);
  for (int rank = 0; rank < 2; rank++) {
    now = play();
    now.id = ncclSystemError;
    expect_word(create(rank, 4, 0, &r), "rank 0's NCCL: an error");
    cr_expect(!r && now.aborted == 0 && now.blocking == -1);
  }
  now = play();
  expect_word(create(9, 10, 0, &r), "the others are away");
  cr_expect(!r && now.aborted == 0);
  /* A rank that never comes to NCCL. */
  now = play();
  now.polls = 1 << 30;
  lost_text = "rank 3 has ended";
  expect_word(create(1, 4, 0, &r), "rank 1 of 4: NCCL's communicator: rank 3 has ended");
  cr_expect(!r && now.aborted == 1 && now.misused == 0);
}

/* A wait for a kernel that will not end; then nothing is asked of NCCL any more. */
static void wait_in_vain(phibal_cuda_ranks *r, const char *word) {
  expect_word(phibal_cuda_ranks_wait(r, &here), word);
  cr_expect_eq(now.aborted, 1);
  uint64_t x = 1;
  expect_word(phibal_cuda_ranks_sum_integers(r, 1, &x, &here), "have failed before");
  const int64_t one[] = {1, 1}, at[] = {0, 0};
  float y[2];
  expect_word(phibal_cuda_ranks_exchange(r, one, at, y, one, at, y, &here), "have failed before");
  expect_word(phibal_cuda_ranks_wait(r, &here), "have failed before");
  phibal_cuda_ranks_destroy(r);
  cr_expect(now.aborted == 1 && now.misused == 0);
}

Test(ranks_nccl, a_wait_ends_where_a_rank_is_lost) {
  phibal_cuda_ranks *r = joined(0, 2);
  now.ready_after = -1;
  lost_text = "rank 1 has ended";
  wait_in_vain(r, "rank 0 of 2: waiting for the device: rank 1 has ended");
}

Test(ranks_nccl, a_wait_ends_where_nccl_fails) {
  phibal_cuda_ranks *r = joined(0, 2);
  now.ready_after = -1;
  now.outcome = ncclRemoteError;
  wait_in_vain(r, "waiting for the device: NCCL: an error: its last words");
}

Test(ranks_nccl, a_wait_ends_where_patience_does) {
  phibal_cuda_ranks *r;
  peers = {&peers, 0, 2, 0, 0.05, gather, lost};
  here.stream = &stream;
  cr_assert_eq(phibal_cuda_ranks_create(&peers, &r), PHIBAL_OK);
  now.ready_after = -1;
  wait_in_vain(r, "timed out waiting 0.05 s for another rank");
}

Test(ranks_nccl, a_message_that_fails) {
  phibal_cuda_ranks *r = joined(0, 2);
  const int64_t one[] = {1, 1}, at[] = {0, 0};
  float x[1], y[2];
  now.begun = ncclSystemError;
  expect_word(phibal_cuda_ranks_exchange(r, one, at, x, one, at, y, &here),
              "exchange between ranks: NCCL: an error");
  cr_expect(!now.grouped && now.group.size() == 1 && now.aborted == 1 && now.misused == 0);
  phibal_cuda_ranks_destroy(r);
}
