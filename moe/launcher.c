#include "launcher.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_PORT = 29500, SLURM_FIRST_PORT = 20000, SLURM_PORTS = 10000 };

/* Whether a variable is there, and then its number. */
static bool given(const char *name, int64_t low, int64_t high, int64_t *x, phibal_status *status) {
  const char *value = getenv(name);
  if (!value || !*value) return false;
  char *end;
  *x = strtoll(value, &end, 10);
  if (!*status && (*end || end == value || *x < low || *x > high))
    *status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                                "%s is '%s', and not a whole number from %lld to %lld", name, value,
                                (long long)low, (long long)high);
  return true;
}

phibal_status launcher_first_host(const char *list, char *host, size_t size) {
  size_t n = 0;
  const char *at = list;
  while (*at && *at != ',' && n + 1 < size) {
    if (*at != '[') {
      host[n++] = *at++;
      continue;
    }
    /* Of a range the first number, and what follows the range. */
    for (at++; *at && !strchr("-,]", *at) && n + 1 < size;) host[n++] = *at++;
    at += strcspn(at, "]");
    if (*at) at++;
  }
  host[n] = 0;
  if (n > 0 && (!*at || *at == ',')) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s' does not begin with the name of a host",
                           list);
}

/* FNV-1a. */
static uint64_t hash(uint64_t h, const char *text) {
  for (; text && *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
  return h;
}

/* Where rank 0 is, for a job of several ranks. torchrun's own store may listen at MASTER_PORT: it
   says so, and the next port is taken then. */
static phibal_status find_place(launcher *l, bool slurm) {
  phibal_status status = PHIBAL_OK;
  const char *host = getenv("MASTER_ADDR"), *store = getenv("TORCHELASTIC_USE_AGENT_STORE");
  int64_t port = DEFAULT_PORT, id;
  if (slurm && given("SLURM_JOB_ID", 0, INT64_MAX, &id, &status))
    port = SLURM_FIRST_PORT + id % SLURM_PORTS;
  given("MASTER_PORT", 1, 65534, &port, &status);
  l->port = (int)port + (store && strcmp(store, "True") == 0);
  if (status) return status;
  if (host && *host) {
    if (snprintf(l->host, sizeof l->host, "%s", host) < (int)sizeof l->host) return PHIBAL_OK;
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "MASTER_ADDR is longer than %zu characters",
                             sizeof l->host - 1);
  }
  if (!slurm)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "WORLD_SIZE is %d and MASTER_ADDR is missing: the host of rank 0",
                             l->ranks);
  /* Rank 0 runs on the first node of the step; srun itself may run elsewhere. */
  const char *list = getenv("SLURM_STEP_NODELIST");
  if (!list || !*list) list = getenv("SLURM_JOB_NODELIST");
  if (!list || !*list) list = getenv("SLURM_LAUNCH_NODE_IPADDR");
  if (!list || !*list)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "Slurm has started %d tasks, and none of SLURM_STEP_NODELIST, "
                             "SLURM_JOB_NODELIST and SLURM_LAUNCH_NODE_IPADDR says where the first "
                             "is; MASTER_ADDR may",
                             l->ranks);
  return launcher_first_host(list, l->host, sizeof l->host);
}

phibal_status launcher_find(launcher *l) {
  *l = (launcher){0};
  phibal_status status = PHIBAL_OK;
  int64_t rank = 0, ranks = 0, local = 0, step;
  bool slurm = false;
  if (given("WORLD_SIZE", 1, 1 << 20, &ranks, &status)) {
    const bool ranked = given("RANK", 0, ranks - 1, &rank, &status);
    const bool placed = given("LOCAL_RANK", 0, ranks - 1, &local, &status);
    if (!status && ranks > 1 && (!ranked || !placed))
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "WORLD_SIZE is %lld and %s is missing",
                                 (long long)ranks, ranked ? "LOCAL_RANK" : "RANK");
  } else if (given("SLURM_STEP_ID", 0, INT64_MAX, &step, &status) &&
             (given("SLURM_STEP_NUM_TASKS", 1, 1 << 20, &ranks, &status) ||
              given("SLURM_NTASKS", 1, 1 << 20, &ranks, &status))) {
    slurm = true;
    if (!given("SLURM_PROCID", 0, ranks - 1, &rank, &status) ||
        !given("SLURM_LOCALID", 0, ranks - 1, &local, &status))
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                                 "a step of Slurm without SLURM_PROCID or SLURM_LOCALID");
  }
  if (status || ranks == 0) return status;
  l->rank = (int32_t)rank;
  l->ranks = (int32_t)ranks;
  l->local = (int32_t)local;
  l->job = hash(0xcbf29ce484222325u, getenv("TORCHELASTIC_RUN_ID"));
  if (slurm) l->job = hash(hash(l->job, getenv("SLURM_JOB_ID")), getenv("SLURM_STEP_ID"));
  return ranks > 1 ? find_place(l, slurm) : PHIBAL_OK;
}
