/* Processes of one machine that meet by TCP: what they tell each other, and what each says when
   another does not come, ends, is of another job, or is no rank at all. And where a process stands
   by its environment. */
#include "moe/parallel/launcher.h"
#include "moe/parallel/rendezvous.h"
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int bound(int *port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof at;
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  cr_assert(s >= 0 && bind(s, (struct sockaddr *)&at, size) == 0 && listen(s, 8) == 0);
  getsockname(s, (struct sockaddr *)&at, &size);
  *port = ntohs(at.sin_port);
  return s;
}

static launcher job(int32_t rank, int32_t ranks) {
  static int port;
  if (!port) close(bound(&port));
  return (launcher){
      .rank = rank, .ranks = ranks, .local = rank, .host = "127.0.0.1", .port = port, .key = {7}};
}

/* A process that runs f(l) and says in its exit status whether the message has `word`; null:
   whether all went well. f returns the message, or null. */
typedef const char *(*behaviour)(const launcher *l);
static pid_t start(behaviour f, launcher l, const char *word) {
  const pid_t child = fork();
  if (child) return child;
  alarm(30);
  const char *message = f(&l);
  const bool good = word ? message && strstr(message, word) : !message;
  if (!good)
    fprintf(stderr, "rank %d: '%s', wanted '%s'\n", l.rank, message ? message : "nothing",
            word ? word : "nothing");
  _exit(!good);
}

static void finish(const pid_t *children, int n) {
  for (int i = 0; i < n; i++) {
    int status = -1;
    waitpid(children[i], &status, 0);
    cr_expect(status == 0, "process %d: status %x", i, (unsigned)status);
  }
}

static const char *open_within(const launcher *l, double seconds, rendezvous **r) {
  return rendezvous_open(l, seconds, r) ? phibal_status_message() : NULL;
}

/* Several rounds of other sizes, one larger than a socket's buffers. */
static const char *talk(const launcher *l) {
  rendezvous *r;
  const char *wrong = open_within(l, 20, &r);
  if (wrong) return wrong;
  const size_t sizes[] = {8, 0, 128, 3000001};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !wrong; i++) {
    const size_t n = sizes[i];
    unsigned char *own = malloc(n + 1), *all = calloc(n * (size_t)l->ranks + 1, 1);
    for (size_t j = 0; j < n; j++) own[j] = (unsigned char)(j * 7 + (size_t)l->rank * 31 + i);
    wrong = rendezvous_gather(r, own, n, all);
    for (size_t j = 0; j < n * (size_t)l->ranks && !wrong; j++)
      if (all[j] != (unsigned char)(j % n * 7 + j / n * 31 + i)) wrong = "other bytes";
    free(own), free(all);
  }
  if (!wrong) wrong = rendezvous_lost(r);
  unsigned char last, all[8]; /* so that none ends before another has looked */
  if (!wrong) wrong = rendezvous_gather(r, &last, 1, all);
  rendezvous_close(r);
  return wrong;
}

Test(rendezvous, four_ranks_tell_each_other) {
  pid_t children[4];
  for (int r = 3; r >= 0; r--) children[r] = start(talk, job(r, 4), NULL);
  finish(children, 4);
  const launcher alone = {.ranks = 1};
  cr_expect_null(talk(&alone));
}

static int connected(const launcher *l) {
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)l->port),
                           .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  while (connect(s, (struct sockaddr *)&at, sizeof at)) usleep(10000);
  return s;
}

/* As rendezvous_handshake.c has them. */
enum { CHALLENGE = 40, HELLO = 80 };

/* Silent, talkative, too short, and without the key: of any rank, of another number of ranks. None
   keeps the ranks waiting, takes a place or ends the job. */
static const char *intrude(const launcher *l) {
  static const char *const said[] = {"", "GET / HTTP/1.0\r\nHost: here\r\n\r\n", "phibal 2", NULL};
  for (int i = 0; i < 40; i++) {
    const int s = connected(l);
    const char *text = said[i % 3];
    if (send(s, text, strlen(text), MSG_NOSIGNAL) < 0) return "not sent";
    if (i % 4 == 0) close(s); /* the others stay, and say no more */
  }
  const char *wrong = NULL;
  const int32_t sizes[] = {3, 99, 3};
  for (int32_t i = 0; i < 3; i++) {
    launcher other = *l;
    other.key[31] = 1;
    other.rank = i ? 1 : 2;
    other.ranks = sizes[i];
    rendezvous *r;
    wrong = open_within(&other, 20, &r);
    if (!wrong || !strstr(wrong, "not rank 0 of this job")) return wrong;
  }
  return wrong;
}

Test(rendezvous, strangers_are_sent_away) {
  pid_t children[4];
  children[0] = start(talk, job(0, 3), NULL);
  children[3] = start(intrude, job(0, 3), "not rank 0 of this job");
  int status = -1;
  waitpid(children[3], &status, 0); /* before any rank comes */
  cr_expect_eq(status, 0);
  for (int r = 1; r < 3; r++) children[r] = start(talk, job(r, 3), NULL);
  finish(children, 3);
}

/* What a rank once said, said again by another: rank 0 draws a new nonce for each connection. */
static const char *repeat(const launcher *l) {
  launcher elsewhere = *l;
  const int trap = bound(&elsewhere.port);
  elsewhere.rank = 1;
  char challenge[CHALLENGE] = "phibal 2", hello[HELLO], answer;
  if (!fork()) {
    rendezvous *r;
    _exit(open_within(&elsewhere, 5, &r) == NULL);
  }
  const int from = accept(trap, NULL, NULL);
  if (send(from, challenge, sizeof challenge, 0) != CHALLENGE ||
      recv(from, hello, sizeof hello, MSG_WAITALL) != HELLO)
    return "nothing to repeat";
  const int to = connected(l);
  if (recv(to, challenge, sizeof challenge, MSG_WAITALL) != CHALLENGE) return "no challenge";
  if (send(to, hello, sizeof hello, 0) != HELLO) return "not sent";
  return recv(to, &answer, 1, 0) > 0 ? "it was let in" : "sent away";
}

Test(rendezvous, what_was_said_once_does_not_count_again) {
  pid_t children[3];
  children[0] = start(talk, job(0, 2), NULL);
  children[1] = start(repeat, job(0, 2), "sent away");
  finish(children + 1, 1);
  children[1] = start(talk, job(1, 2), NULL);
  finish(children, 2);
}

/* A process between rank 1 and rank 0 that turns a bit of the Nth byte in one direction. */
static void between(const launcher *l, int trap, bool towards_rank_0, long turned) {
  const int ends[2] = {accept(trap, NULL, NULL), connected(l)};
  long passed[2] = {0};
  alarm(20);
  for (;;) {
    struct pollfd ready[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
    poll(ready, 2, -1);
    for (int i = 0; i < 2; i++) {
      unsigned char block[4096];
      if (!ready[i].revents) continue;
      const ssize_t n = recv(ends[i], block, sizeof block, 0);
      if (n <= 0) _exit(0);
      const long at = turned - passed[i];
      if (i == !towards_rank_0 && at >= 0 && at < n) block[at] ^= 4;
      passed[i] += n;
      if (send(ends[!i], block, (size_t)n, MSG_NOSIGNAL) != n) _exit(0);
    }
  }
}

/* In the data of a message, and in its frame. */
Test(rendezvous, a_message_that_was_changed_is_none) {
  static const struct {
    bool towards_rank_0;
    long byte; /* after the challenge and the answer (48), or the hello */
    const char *rank_0, *rank_1;
  } cases[] = {
      {true, HELLO + 16 + 3, "a message from rank 1 failed authentication", "rank 0 has ended"},
      {true, HELLO + 16 + 8 + 31, "a message from rank 1 failed authentication",
       "rank 0 has ended"},
      {true, HELLO + 8, "a message from rank 1 failed authentication", "rank 0 has ended"},
      {false, CHALLENGE + 48 + 16 + 9, NULL, "a message from rank 0 failed authentication"},
      {false, CHALLENGE + 48 + 12, NULL, "a message from rank 0 failed authentication"},
      {false, CHALLENGE + 12, NULL, "an invalid reply"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    launcher l[2] = {job(0, 2), job(1, 2)};
    const int trap = bound(&l[1].port);
    const pid_t proxy = fork();
    if (!proxy) between(&l[0], trap, cases[i].towards_rank_0, cases[i].byte);
    close(trap);
    pid_t children[2];
    /* Where rank 1 alone can see it, rank 0 sees that rank 1 ends. */
    for (int r = 0; r < 2; r++)
      children[r] = start(talk, l[r],
                          r                 ? cases[i].rank_1
                          : cases[i].rank_0 ? cases[i].rank_0
                          : i == 5          ? "rank 1"
                                            : "rank 1 has ended");
    finish(children, 2);
    kill(proxy, SIGKILL);
    waitpid(proxy, NULL, 0);
  }
}

/* Rank 2 is there, and says nothing. */
static const char *say_nothing(const launcher *l) {
  rendezvous *r;
  const char *wrong = open_within(l, 2, &r);
  uint64_t all[3], own = 1;
  if (!wrong) wrong = rendezvous_gather(r, &own, sizeof own, all);
  if (wrong || l->rank == 2) {
    sleep(wrong ? 0 : 6);
    return wrong;
  }
  return rendezvous_gather(r, &own, sizeof own, all);
}

Test(rendezvous, a_silent_rank_is_named) {
  pid_t children[3];
  for (int r = 0; r < 3; r++)
    children[r] = start(say_nothing, job(r, 3), r == 2 ? NULL : "no message from rank 2 for 2 s");
  finish(children, 3);
}

static const char *wait_a_second(const launcher *l) {
  rendezvous *r;
  return open_within(l, 1, &r);
}

Test(rendezvous, a_rank_that_does_not_come_is_named) {
  pid_t children[3];
  const int here[] = {0, 1, 3};
  for (int i = 0; i < 3; i++)
    children[i] = start(wait_a_second, job(here[i], 4), "timed out waiting for rank 2");
  finish(children, 3);
}

Test(rendezvous, nobody_listens) {
  const launcher l = job(1, 2);
  const char *wrong = wait_a_second(&l);
  cr_assert_not_null(wrong);
  cr_expect(strstr(wrong, "cannot reach rank 0 at 127.0.0.1:"), "%s", wrong);
}

Test(rendezvous, another_number_of_ranks) {
  pid_t children[3];
  children[0] = start(talk, job(0, 3), "another process was started as one of 4");
  children[1] = start(talk, job(1, 3), "MASTER_PORT"); /* told so, or too late */
  usleep(300000);
  children[2] = start(talk, job(2, 4), "another process was started as one of 3");
  finish(children, 3);
}

Test(rendezvous, one_rank_twice) {
  pid_t children[3];
  children[0] = start(talk, job(0, 3), "two processes claim rank 1");
  children[1] = start(talk, job(1, 3), "two processes");
  children[2] = start(talk, job(1, 3), "two processes");
  finish(children, 3);
}

Test(rendezvous, the_port_is_taken) {
  launcher l = job(0, 2);
  const int taken = bound(&l.port);
  const char *wrong = wait_a_second(&l);
  cr_assert_not_null(wrong);
  char place[64];
  snprintf(place, sizeof place, "127.0.0.1:%d (MASTER_ADDR, MASTER_PORT): the port is in use",
           l.port);
  cr_expect(strstr(wrong, place), "%s", wrong);
  /* And who comes to the other program is told something else than a rank's answer. */
  l.rank = 1;
  const pid_t child = start(wait_a_second, l, "an invalid reply from 127.0.0.1");
  const int s = accept(taken, NULL, NULL);
  cr_expect(send(s, "HTTP/1.0 400 Bad Request, whatever was asked\r\n\r\n", 48, 0) == 48);
  finish(&child, 1);
  close(s), close(taken);
}

/* Rank 2 is killed after the first round: rank 1 sees it in a wait for something else, rank 0 in
   the second round, and rank 3 hears it from there. */
static const char *lose_rank_2(const launcher *l) {
  rendezvous *r;
  const char *wrong = open_within(l, 20, &r);
  uint64_t all[4], own = 1;
  if (!wrong) wrong = rendezvous_gather(r, &own, sizeof own, all);
  if (wrong) return "the first round fails";
  if (l->rank == 2) raise(SIGKILL);
  if (l->rank == 1)
    while (!(wrong = rendezvous_lost(r))) usleep(1000);
  else
    wrong = rendezvous_gather(r, &own, sizeof own, all);
  if (wrong && rendezvous_gather(r, &own, sizeof own, all) != wrong) return "forgotten";
  return wrong;
}

Test(rendezvous, a_rank_that_dies_is_named) {
  pid_t children[4];
  for (int r = 0; r < 4; r++) children[r] = start(lose_rank_2, job(r, 4), "rank 2 has ended");
  int status = 0;
  waitpid(children[2], &status, 0);
  cr_expect(WIFSIGNALED(status));
  children[2] = children[3];
  finish(children, 3);
}

static const char *lose_rank_0(const launcher *l) {
  rendezvous *r;
  const char *wrong = open_within(l, 20, &r);
  if (wrong) return wrong;
  uint64_t all[4], own = 1;
  if (l->rank == 0) return NULL; /* ends without a word */
  if (l->rank == 1) return rendezvous_gather(r, &own, sizeof own, all);
  while (!(wrong = rendezvous_lost(r))) usleep(1000);
  return wrong;
}

Test(rendezvous, rank_0_too) {
  pid_t children[3];
  for (int r = 0; r < 3; r++)
    children[r] = start(lose_rank_0, job(r, 3), r ? "rank 0 has ended" : NULL);
  finish(children, 3);
}

static const char *disagree(const launcher *l) {
  rendezvous *r;
  const char *wrong = open_within(l, 20, &r);
  if (wrong) return wrong;
  uint64_t all[4], own[2] = {0};
  return rendezvous_gather(r, own, l->rank ? 16 : 8, all);
}

Test(rendezvous, other_sizes_are_noticed) {
  const pid_t children[] = {
      start(disagree, job(0, 2), "rank 1 gives 16 bytes where rank 0 gives 8"),
      start(disagree, job(1, 2), "rank 0 has ended")};
  finish(children, 2);
}

static const char *const variables[] = {"RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_RANK",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "TORCHELASTIC_RUN_ID",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_LOCALID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",
                                        "SLURM_STEP_NODELIST",
                                        "SLURM_JOB_NODELIST",
                                        "SLURM_LAUNCH_NODE_IPADDR",
                                        "TORCHELASTIC_USE_AGENT_STORE",
                                        "PHIBAL_SECRET_FILE"};

/* "NAME=value NAME=value" and nothing else but a secret. */
static phibal_status in_environment(const char *text, launcher *l) {
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
  setenv("PHIBAL_SECRET", "a secret of sixteen characters and more", 1);
  char copy[512], *word, *rest = copy;
  snprintf(copy, sizeof copy, "%s", text);
  while ((word = strsep(&rest, " "))) {
    char *value = strchr(word, '=');
    if (value) *value++ = 0, setenv(word, value, 1);
  }
  return launcher_find(l);
}

/* The ranks that variables give, and which job they are of. */
static const unsigned char *job_of(const char *environment, const launcher *wanted) {
  static launcher l;
  cr_assert_eq(in_environment(environment, &l), PHIBAL_OK, "%s: %s", environment,
               phibal_status_message());
  cr_expect_eq(l.ranks, wanted->ranks, "%s: %d ranks", environment, l.ranks);
  cr_expect_eq(l.rank, wanted->rank, "%s: rank %d", environment, l.rank);
  cr_expect_eq(l.local, wanted->local, "%s: local rank %d", environment, l.local);
  cr_expect_eq(l.port, wanted->port, "%s: port %d", environment, l.port);
  cr_expect_str_eq(l.host, wanted->host, "%s: host %s", environment, l.host);
  return memcpy(malloc(sizeof l.key), l.key, sizeof l.key);
}

Test(launcher, environments) {
  job_of("", &(launcher){0});
  const unsigned char *torchrun =
      job_of("RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 MASTER_ADDR=node7 MASTER_PORT=1234 "
             "TORCHELASTIC_RUN_ID=a SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_STEP_ID=0 SLURM_LOCALID=3",
             &(launcher){.rank = 5, .ranks = 8, .local = 1, .port = 1234, .host = "node7"});
  const unsigned char *another =
      job_of("RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=h TORCHELASTIC_RUN_ID=b "
             "TORCHELASTIC_USE_AGENT_STORE=True",
             &(launcher){.ranks = 2, .port = 29501, .host = "h"});
  cr_expect(memcmp(another, torchrun, LAUNCHER_KEY_BYTES));
  job_of("WORLD_SIZE=1 RANK=0", &(launcher){.ranks = 1});
  const unsigned char *step =
      job_of("SLURM_PROCID=6 SLURM_NTASKS=99 SLURM_STEP_NUM_TASKS=12 SLURM_LOCALID=2 "
             "SLURM_STEP_ID=4 SLURM_JOB_ID=1230042 SLURM_LAUNCH_NODE_IPADDR=10.0.0.1 "
             "SLURM_JOB_NODELIST=gpu[07-09]",
             &(launcher){.rank = 6, .ranks = 12, .local = 2, .port = 20042, .host = "gpu07"});
  const unsigned char *next =
      job_of("SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=1 SLURM_STEP_ID=5 SLURM_JOB_ID=1230042 "
             "SLURM_LAUNCH_NODE_IPADDR=10.0.0.1",
             &(launcher){.rank = 1, .ranks = 2, .local = 1, .port = 20042, .host = "10.0.0.1"});
  cr_expect(memcmp(next, step, LAUNCHER_KEY_BYTES));
  /* A batch script, which is one process whatever it says. */
  job_of("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_JOB_ID=7 SLURM_JOB_NODELIST=a",
         &(launcher){0});
}

/* Where the secret comes from, and what is none. */
Test(launcher, secrets) {
  const launcher two = {.ranks = 2, .port = 1234, .host = "h"};
  const char *job = "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=h MASTER_PORT=1234";
  char file[] = "/tmp/phibal-secret-XXXXXX", whole[512];
  const int fd = mkstemp(file);
  cr_assert_eq(write(fd, "0123456789abcdef\n", 17), 17);
  const char *given[] = {"PHIBAL_SECRET=0123456789abcdef", "PHIBAL_SECRET=0123456789abcdeg",
                         "PHIBAL_SECRET= PHIBAL_SECRET_FILE=",
                         "PHIBAL_SECRET= TORCHELASTIC_RUN_ID=4b2c7f0e-5a71-4b53-9c1c-0d6f3c9d2a11",
                         "PHIBAL_SECRET= TORCHELASTIC_RUN_ID=4b2c7f0e-5a71-4b53-9c1c-0d6f3c9d2a12"};
  const unsigned char *key[5];
  for (int i = 0; i < 5; i++) {
    snprintf(whole, sizeof whole, "%s %s%s", job, given[i], i == 2 ? file : "");
    key[i] = job_of(whole, &two);
    for (int j = 0; j < i; j++)
      cr_expect_eq(memcmp(key[i], key[j], LAUNCHER_KEY_BYTES) == 0, i == 2 && j == 0, "%d %d", i,
                   j);
  }
  const char *wrong[][2] = {{"PHIBAL_SECRET=", "PHIBAL_SECRET"},
                            {"PHIBAL_SECRET=0123456789abcde", "16 characters"},
                            {"PHIBAL_SECRET= TORCHELASTIC_RUN_ID=none", "PHIBAL_SECRET"},
                            {"PHIBAL_SECRET= PHIBAL_SECRET_FILE=/nonexistent", "No such file"},
                            {"PHIBAL_SECRET= PHIBAL_SECRET_FILE=/dev/null", "mode 600"}};
  launcher l;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(whole, sizeof whole, "%s %s", job, wrong[i][0]);
    cr_expect_eq(in_environment(whole, &l), PHIBAL_ERROR_ARGUMENT, "%s", whole);
    cr_expect(strstr(phibal_status_message(), wrong[i][1]), "%s: %s", whole,
              phibal_status_message());
  }
  fchmod(fd, 0640);
  snprintf(whole, sizeof whole, "%s PHIBAL_SECRET= PHIBAL_SECRET_FILE=%s", job, file);
  cr_expect_eq(in_environment(whole, &l), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "mode 600"), "%s", phibal_status_message());
  unlink(file);
  /* One process needs none. */
  cr_expect_eq(in_environment("WORLD_SIZE=1 RANK=0 PHIBAL_SECRET=", &l), PHIBAL_OK);
}

Test(launcher, what_makes_no_sense_is_named) {
  static const struct {
    const char *environment, *word;
  } cases[] = {
      {"WORLD_SIZE=4", "RANK is missing"},
      {"WORLD_SIZE=4 RANK=1", "LOCAL_RANK is missing"},
      {"WORLD_SIZE=4 RANK=4 LOCAL_RANK=0", "RANK is '4'"},
      {"WORLD_SIZE=4 RANK=-1 LOCAL_RANK=0", "RANK is '-1'"},
      {"WORLD_SIZE=4x RANK=1 LOCAL_RANK=0", "WORLD_SIZE is '4x'"},
      {"WORLD_SIZE=0 RANK=0", "WORLD_SIZE is '0'"},
      {"WORLD_SIZE=4 RANK=1 LOCAL_RANK=0", "MASTER_ADDR is missing"},
      {"WORLD_SIZE=4 RANK=1 LOCAL_RANK=0 MASTER_ADDR=a MASTER_PORT=70000",
       "MASTER_PORT is '70000'"},
      {"SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_LOCALID=0", "without SLURM_PROCID"},
      {"SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_PROCID=0", "SLURM_JOB_NODELIST"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    launcher l;
    cr_expect_eq(in_environment(cases[i].environment, &l), PHIBAL_ERROR_ARGUMENT, "%s",
                 cases[i].environment);
    cr_expect(strstr(phibal_status_message(), cases[i].word), "%s: %s", cases[i].environment,
              phibal_status_message());
  }
}

Test(launcher, first_host) {
  static const char *const lists[][2] = {
      {"a", "a"},
      {"a,b", "a"},
      {"node[007-012,20],gpu1", "node007"},
      {"node[7,9]", "node7"},
      {"rack[2-3]n[04-05].x,y", "rack2n04.x"},
      {"10.1.2.3", "10.1.2.3"},
  };
  char host[16];
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    cr_expect_eq(launcher_first_host(lists[i][0], host, sizeof host), PHIBAL_OK);
    cr_expect_str_eq(host, lists[i][1]);
  }
  cr_expect_eq(launcher_first_host("", host, sizeof host), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(launcher_first_host(",a", host, sizeof host), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(launcher_first_host("a-name-too-long-for-it", host, sizeof host),
               PHIBAL_ERROR_ARGUMENT);
}
