/* `phibal audit --seconds`: what may take for ever is done in a process of its own, which is ended
   when its time is up, with the compiler or gnuplot that it has started. What it has found by then
   comes back in records; what is missing was not decided. */
#include "audit_time.h"
#include "audit/codegen.h"
#include "audit/convexity.h"
#include <errno.h>
#include <fcntl.h>
#include "formats/file.h"
#include <math.h>
#include <phibal/environment.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- records ---- */

typedef struct record_head {
  audit_record kind;
  size_t bytes;
} record_head;

void audit_send(FILE *to, audit_record kind, const void *data, size_t bytes) {
  const record_head head = {kind, bytes};
  fwrite(&head, sizeof head, 1, to);
  if (bytes) fwrite(data, 1, bytes, to);
}

const char *audit_receive(const audit_found *answer, size_t *at, audit_record *kind,
                          size_t *bytes) {
  record_head head;
  if (answer->bytes - *at < sizeof head) return NULL;
  memcpy(&head, answer->data + *at, sizeof head);
  if (answer->bytes - *at - sizeof head < head.bytes) return NULL; /* ended while it wrote */
  const char *data = answer->data + *at + sizeof head;
  *at += sizeof head + head.bytes;
  *kind = head.kind;
  *bytes = head.bytes;
  return data;
}

/* ---- the process ---- */

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOPS = sizeof stops / sizeof *stops };
static volatile sig_atomic_t stopped;

static void stop(int signal) {
  stopped = signal;
}

static void work_alone(audit_work *work, void *context, const char *folder, int end, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(2);
  signal(SIGTTOU, SIG_IGN); /* progress is written from a group that is not the terminal's */
  if (*folder) setenv("TMPDIR", folder, 1);
  FILE *to = fdopen(end, "w");
  if (!to) _exit(2);
  phibal_status status = work(context, to);
  if (status == PHIBAL_OK) status = phibal_environment_check("the examination");
  if (status != PHIBAL_OK)
    audit_send(to, AUDIT_RECORD_ERROR, phibal_status_message(), strlen(phibal_status_message()));
  _exit(fclose(to) || status != PHIBAL_OK ? 1 : 0);
}

/* Reads until the other end is closed, `end`, or a signal. */
static void collect(int from, double end, const sigset_t *mask, audit_found *answer) {
  text_buffer all = {0};
  char block[1 << 16];
  for (double left; !stopped && (left = end - audit_clock()) > 0;) {
    const double whole = floor(left);
    struct timespec wait = {.tv_sec = (time_t)fmin(whole, 1e6),
                            .tv_nsec = (long)(1e9 * (left - whole))};
    struct pollfd ready = {.fd = from, .events = POLLIN};
    if (ppoll(&ready, 1, &wait, mask) <= 0) continue;
    const ssize_t n = read(from, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      answer->ended = true;
      break;
    }
    if (text_buffer_append(&all, block, (size_t)n) != PHIBAL_OK) break;
  }
  answer->data = all.bytes;
  answer->bytes = all.count;
}

/* What a process that ended by itself says of how. */
static phibal_status how_it_ended(int state, const audit_found *answer) {
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return PHIBAL_OK;
  audit_record kind;
  size_t at = 0, bytes;
  for (const char *data; (data = audit_receive(answer, &at, &kind, &bytes));)
    if (kind == AUDIT_RECORD_ERROR)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%.*s", (int)bytes, data);
  if (WIFEXITED(state))
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "the examination ended with status %d",
                             WEXITSTATUS(state));
  if (WTERMSIG(state) == SIGFPE)
    return phibal_status_set(
        PHIBAL_ERROR_UNSUPPORTED,
        "a library let floating-point exceptions trap while it ran; it cannot continue");
  return phibal_status_set(PHIBAL_ERROR_IO, "the examination ended by signal %d (%s)",
                           WTERMSIG(state), strsignal(WTERMSIG(state)));
}

phibal_status audit_in_time(audit_work *work, void *context, double end, audit_found *answer) {
  *answer = (audit_found){0};
  if (audit_clock() >= end) return PHIBAL_OK;
  int ends[2], state = 0;
  if (pipe2(ends, O_CLOEXEC))
    return phibal_status_set(PHIBAL_ERROR_IO, "no pipe: %s", strerror(errno));
  /* A compiler that is ended leaves its files: they go with the folder. Where none can be made, who
     wants to compile says why. */
  char folder[4096];
  if (codegen_folder(folder, sizeof folder) != PHIBAL_OK) *folder = 0;
  sigset_t held, before;
  sigemptyset(&held);
  for (int i = 0; i < STOPS; i++) sigaddset(&held, stops[i]);
  sigprocmask(SIG_BLOCK, &held, &before);
  fflush(stdout);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGFPE, SIG_DFL); /* one line of it, the parent's */
    close(ends[0]);
    work_alone(work, context, folder, ends[1], parent);
  }
  const int failed = child < 0 ? errno : 0;
  close(ends[1]);
  if (child > 0) {
    setpgid(child, child);
    struct sigaction old[STOPS];
    for (int i = 0; i < STOPS; i++) {
      sigaction(stops[i], NULL, &old[i]);
      if (old[i].sa_handler == SIG_DFL)
        sigaction(stops[i], &(struct sigaction){.sa_handler = stop}, NULL);
    }
    collect(ends[0], end, &before, answer);
    if (!answer->ended) kill(-child, SIGKILL);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
    for (int i = 0; i < STOPS; i++) sigaction(stops[i], &old[i], NULL);
  }
  close(ends[0]);
  if (*folder) folder_remove(folder);
  if (stopped) raise(stopped); /* held until here */
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (failed)
    return phibal_status_set(PHIBAL_ERROR_IO, "cannot start a process: %s", strerror(failed));
  return answer->ended ? how_it_ended(state, answer) : PHIBAL_OK;
}

void audit_found_clear(audit_found *answer) {
  free(answer->data);
  *answer = (audit_found){0};
}

double audit_seconds_left(const audit_options *o) {
  return fmax(0.0, o->begun + 0.95 * o->seconds - audit_clock());
}
