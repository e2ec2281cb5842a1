#include "process.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The environment with LC_ALL=C, so that messages can be recognised; the array is to be freed. */
static char **c_environment(void) {
  static char locale[] = "LC_ALL=C";
  size_t n = 0;
  while (environ[n]) n++;
  char **copy = calloc(n + 2, sizeof *copy);
  if (!copy) return NULL;
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (strncmp(environ[i], "LC_ALL=", 7)) copy[kept++] = environ[i];
  copy[kept] = locale;
  return copy;
}

static phibal_status process_wait(pid_t child, const volatile sig_atomic_t *interrupted,
                                  int *exit_status) {
  int state, told = 0;
  while (waitpid(child, &state, 0) < 0) {
    if (errno != EINTR)
      return phibal_status_set(PHIBAL_ERROR_IO, "waiting for a program: %s", strerror(errno));
    if (interrupted && *interrupted && !told++) kill(child, SIGTERM);
  }
  *exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  if (interrupted && *interrupted)
    return phibal_status_set(PHIBAL_ERROR_IO, "interrupted; nothing was written");
  return PHIBAL_OK;
}

phibal_status process_run(const char *const *argv, const char *folder, const char *log,
                          const volatile sig_atomic_t *interrupted, int *exit_status) {
  char **environment = c_environment();
  posix_spawn_file_actions_t actions;
  if (!environment || posix_spawn_file_actions_init(&actions)) {
    free(environment);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to run %s", argv[0]);
  }
  int error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (!error)
    error = posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, 1, 2);
  if (!error) error = posix_spawn_file_actions_addchdir_np(&actions, folder);
  pid_t child = -1;
  if (!error)
    error = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  free(environment);
  if (error == ENOENT)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "there is no %s here", argv[0]);
  if (error)
    return phibal_status_set(PHIBAL_ERROR_IO, "cannot run %s: %s", argv[0], strerror(error));
  return process_wait(child, interrupted, exit_status);
}
