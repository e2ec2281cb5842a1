#include "launcher.h"
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if PHIBAL_HAVE_SODIUM
#include <sodium.h>
#endif

enum { DEFAULT_PORT = 29500, SLURM_FIRST_PORT = 20000, SLURM_PORTS = 10000 };

/* Whether a variable is set, and its number. */
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
    /* The first number of a range, and the text after the range. */
    for (at++; *at && !strchr("-,]", *at) && n + 1 < size;) host[n++] = *at++;
    at += strcspn(at, "]");
    if (*at) at++;
  }
  host[n] = 0;
  if (n > 0 && (!*at || *at == ',')) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s' does not begin with the name of a host",
                           list);
}

enum { SECRET_LEAST = 16, SECRET_MOST = 1024 };

/* 8-4-4-4-12 hexadecimal digits. */
static bool is_uuid(const char *text) {
  static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  size_t i = 0;
  while (form[i] && text[i] && (form[i] == '-' ? text[i] == '-' : isxdigit((unsigned char)text[i])))
    i++;
  return !form[i] && !text[i];
}

/* The text of a file that others cannot read, without the newline. */
static phibal_status read_secret(const char *path, char *secret) {
  struct stat s;
  FILE *file = fopen(path, "re");
  if (!file || fstat(fileno(file), &s)) {
    const int wrong = errno;
    if (file) fclose(file);
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "PHIBAL_SECRET_FILE '%s': %s", path,
                             strerror(wrong));
  }
  phibal_status status = PHIBAL_OK;
  const size_t n = fread(secret, 1, SECRET_MOST, file);
  secret[n] = 0;
  if (!S_ISREG(s.st_mode) || (s.st_mode & (S_IRWXG | S_IRWXO)))
    status =
        phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                          "PHIBAL_SECRET_FILE '%s': a file of mode 600 is needed, which nobody "
                          "else can read",
                          path);
  else if (strlen(secret) != n || n == SECRET_MOST)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "PHIBAL_SECRET_FILE '%s': a text of less than %d characters is "
                               "needed",
                               path, SECRET_MOST);
  fclose(file);
  secret[strcspn(secret, "\r\n")] = 0;
  return status;
}

/* The key is the BLAKE2b hash of the secret and the job's identifiers, so that two jobs with the
   same secret do not connect. */
static phibal_status find_key(launcher *l) {
#if PHIBAL_HAVE_SODIUM
  const char *given = getenv("PHIBAL_SECRET"), *file = getenv("PHIBAL_SECRET_FILE");
  const char *run = getenv("TORCHELASTIC_RUN_ID");
  static const char *const names[] = {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID"};
  char secret[SECRET_MOST + 1];
  if (sodium_init() < 0)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "libsodium cannot be used here");
  if (given && *given) {
    if (snprintf(secret, sizeof secret, "%s", given) >= SECRET_MOST)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "PHIBAL_SECRET has %d characters or more",
                               SECRET_MOST);
  } else if (file && *file) {
    const phibal_status status = read_secret(file, secret);
    if (status) return status;
  } else if (run && is_uuid(run)) {
    strcpy(secret, run);
  } else {
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%d processes need a shared secret: the same random text for all in "
                             "PHIBAL_SECRET, or in PHIBAL_SECRET_FILE",
                             l->ranks);
  }
  if (strlen(secret) < SECRET_LEAST)
    return phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "the secret (PHIBAL_SECRET, PHIBAL_SECRET_FILE) needs %d characters or "
        "more",
        SECRET_LEAST);
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, sizeof l->key);
  const char *parts[] = {"phibal rendezvous 2", secret, NULL, NULL, NULL};
  for (int i = 0; i < 3; i++) parts[2 + i] = getenv(names[i]);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    crypto_generichash_update(&state, (const unsigned char *)(parts[i] ? parts[i] : ""),
                              (parts[i] ? strlen(parts[i]) : 0) + 1);
  crypto_generichash_final(&state, l->key, sizeof l->key);
  sodium_memzero(secret, sizeof secret);
  return PHIBAL_OK;
#else
  return phibal_status_set(
      PHIBAL_ERROR_UNSUPPORTED,
      "%d processes not started by mpirun need libsodium, which this build lacks", l->ranks);
#endif
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
  if (ranks == 1) return PHIBAL_OK;
  status = find_place(l, slurm);
  return status ? status : find_key(l);
}
