#include "file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <phibal/environment.h>
#include <phibal/text.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static phibal_status io_error(const char *what, const char *path) {
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
}

phibal_status string_list_append(string_list *list, const char *text) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    char **items = realloc(list->items, capacity * sizeof *items);
    if (!items) return memory_error();
    list->items = items;
    list->capacity = capacity;
  }
  char *copy = strdup(text);
  if (!copy) return memory_error();
  list->items[list->count++] = copy;
  return PHIBAL_OK;
}

void string_list_free(string_list *list) {
  for (size_t i = 0; i < list->count; i++) free(list->items[i]);
  free(list->items);
  *list = (string_list){0};
}

bool string_ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), k = strlen(end);
  return n >= k && !strcmp(text + n - k, end);
}

static phibal_status text_buffer_reserve(text_buffer *buffer, size_t more) {
  if (more <= buffer->capacity - buffer->count) return PHIBAL_OK;
  if (more > SIZE_MAX / 4 - buffer->count) return memory_error();
  size_t capacity = 2 * buffer->capacity;
  if (capacity < buffer->count + more) capacity = buffer->count + more;
  char *bytes = realloc(buffer->bytes, capacity);
  if (!bytes) return memory_error();
  buffer->bytes = bytes;
  buffer->capacity = capacity;
  return PHIBAL_OK;
}

phibal_status text_buffer_append(text_buffer *buffer, const void *bytes, size_t count) {
  /* One byte more, so that there is memory to point into even where there is nothing to append. */
  phibal_status status = count < SIZE_MAX ? text_buffer_reserve(buffer, count + 1) : memory_error();
  if (status || !count) return status;
  memcpy(buffer->bytes + buffer->count, bytes, count);
  buffer->count += count;
  return PHIBAL_OK;
}

phibal_status text_buffer_string(text_buffer *buffer, const char *text) {
  return text_buffer_append(buffer, text, strlen(text));
}

void text_buffer_free(text_buffer *buffer) {
  free(buffer->bytes);
  *buffer = (text_buffer){0};
}

char *string_format(const char *format, ...) {
  char *text;
  va_list arguments;
  va_start(arguments, format);
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  return length < 0 ? NULL : text;
}

/* Of a file that is read whole. Opening a FIFO must not wait for a writer: it is no regular file.
 */
static int open_to_read(const char *path) {
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

phibal_status file_read_all(const char *path, text_buffer *buffer) {
  size_t bytes;
  return file_read_most(path, SIZE_MAX, buffer, &bytes);
}

phibal_status file_read_most(const char *path, size_t most, text_buffer *buffer, size_t *bytes) {
  buffer->count = *bytes = 0;
  int fd = open_to_read(path);
  if (fd < 0) return io_error("open", path);
  struct stat info;
  phibal_status status = PHIBAL_OK;
  if (fstat(fd, &info))
    status = io_error("read", path);
  else if (!S_ISREG(info.st_mode))
    status = phibal_status_set(PHIBAL_ERROR_IO, "%s: not a regular file", path);
  else if ((size_t)info.st_size > most)
    *bytes = (size_t)info.st_size;
  /* One byte more than the size, so that the end is seen without growing. */
  else
    status = text_buffer_reserve(buffer, (size_t)info.st_size + 1);
  while (!status && !*bytes) {
    if (buffer->count == buffer->capacity && (status = text_buffer_reserve(buffer, 65536))) break;
    ssize_t got = read(fd, buffer->bytes + buffer->count, buffer->capacity - buffer->count);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) status = io_error("read", path);
    if (got <= 0) break;
    buffer->count += (size_t)got;
    if (buffer->count > most) break; /* it has grown since */
  }
  if (!*bytes) *bytes = buffer->count;
  close(fd);
  return status;
}

/* What is mapped, for the line that a lost file ends in. Only additions and removals are locked:
   the handler runs when nothing else will. */
typedef struct mapped {
  struct mapped *next;
  const char *from;
  size_t bytes;
  char path[];
} mapped;

static mapped *all_mapped;
static pthread_mutex_t all_mapped_lock = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *text) {
  (void)!write(STDERR_FILENO, text, strlen(text));
}

static void bus_error(int number, siginfo_t *info, void *context) {
  (void)context;
  const char *at = info->si_addr;
  for (const mapped *m = all_mapped; m; m = m->next)
    if (at >= m->from && at < m->from + m->bytes) {
      say("phibal: '");
      say(m->path);
      say("' has become shorter while it was read, or its disk does not answer\n");
      _exit(2);
    }
  signal(number, SIG_DFL);
  raise(number);
}

static void watch_mapped(const char *path, const void *from, size_t bytes) {
  struct sigaction now;
  const size_t room = 6 * strlen(path) + 1;
  mapped *m = malloc(sizeof *m + room);
  if (!m) return; /* nothing but the line is lost */
  *m = (mapped){.from = from, .bytes = bytes};
  phibal_text_show(path, m->path, room); /* in a handler there is no time for it */
  pthread_mutex_lock(&all_mapped_lock);
  if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
    struct sigaction own = {.sa_sigaction = bus_error, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &own, NULL);
  }
  m->next = all_mapped;
  all_mapped = m;
  pthread_mutex_unlock(&all_mapped_lock);
}

phibal_status file_map(const char *path, void **mapping, size_t *bytes) {
  int fd = open_to_read(path);
  if (fd < 0) return io_error("open", path);
  struct stat info;
  phibal_status status = PHIBAL_OK;
  *mapping = NULL;
  *bytes = 0;
  if (fstat(fd, &info)) {
    status = io_error("read", path);
  } else if (!S_ISREG(info.st_mode)) {
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: not a regular file", path);
  } else if (info.st_size) {
    void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
      status = io_error("map", path);
    } else {
      *mapping = at;
      *bytes = (size_t)info.st_size;
      watch_mapped(path, at, *bytes);
    }
  }
  close(fd);
  return status;
}

void file_unmap(void *mapping, size_t bytes) {
  if (!mapping) return;
  pthread_mutex_lock(&all_mapped_lock);
  for (mapped **m = &all_mapped; *m; m = &(*m)->next)
    if ((*m)->from == mapping) {
      mapped *gone = *m;
      *m = gone->next;
      free(gone);
      break;
    }
  pthread_mutex_unlock(&all_mapped_lock);
  munmap(mapping, bytes);
}

bool file_write_all(int fd, const void *data, size_t bytes) {
  const char *from = data;
  while (bytes) {
    ssize_t put = write(fd, from, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    from += put;
    bytes -= (size_t)put;
  }
  return true;
}

/* The folder that `path` is in, "." if it names none; to be freed. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return strdup(".");
  return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

bool file_is_device(const char *path) {
  struct stat info;
  return !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/stderr") ||
         !strncmp(path, "/dev/fd/", 8) ||
         (!stat(path, &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

phibal_status file_may_write(const char *path, bool overwrite, const char *own) {
  struct stat info;
  char *folder = folder_of(path);
  if (!folder) return memory_error();
  const bool folder_there = !stat(folder, &info) && S_ISDIR(info.st_mode);
  const bool there = !lstat(path, &info);
  phibal_status status = PHIBAL_OK;
  if (!*path || !folder_there)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s': there is no folder '%s' to write in",
                               path, folder);
  free(folder);
  if (status || !there) return status;
  const bool link = S_ISLNK(info.st_mode), broken = stat(path, &info);
  if (!broken && S_ISBLK(info.st_mode))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s is a block device; name a file", path);
  if (file_is_device(path)) return PHIBAL_OK;
  if (!broken && S_ISDIR(info.st_mode))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s is a folder; name a file", path);
  /* Written through, a link that somebody else has put there would choose the file; replaced, it
     would be gone. */
  if (link)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s is a symbolic link; name the file that it points to", path);
  if (overwrite || !info.st_size) return PHIBAL_OK;
  char start[1024] = {0};
  int fd = own ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
  if (fd >= 0) {
    ssize_t n = read(fd, start, sizeof start);
    close(fd);
    if (n > 0 && memmem(start, (size_t)n, own, strlen(own))) return PHIBAL_OK;
  }
  return phibal_status_set(
      PHIBAL_ERROR_ARGUMENT,
      own ? "%s already exists and is a file of another kind; move it away or choose another name"
          : "%s already exists; --overwrite replaces it",
      path);
}

phibal_status folder_may_write(const char *path, bool overwrite, const char *advice) {
  DIR *d = opendir(path);
  if (!d && errno == ENOENT) return PHIBAL_OK;
  if (!d) return io_error("write to the folder", path);
  bool empty = true;
  for (struct dirent *entry; (entry = readdir(d));)
    empty &= !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
  closedir(d);
  if (empty || overwrite) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "%s: the folder already exists and is not empty; %s", path, advice);
}

/* Files that are being made, each under one name beside what it will be, so that a process that is
   killed leaves one at most, and the next one takes its place. The lock says that it is alive; it
   is held here until the file has its name, when the descriptor of who writes is long closed. */
typedef struct making {
  struct making *next;
  int lock;
  char path[];
} making;

static making *all_making;
static pthread_mutex_t all_making_lock = PTHREAD_MUTEX_INITIALIZER;

static void making_end(const char *path) {
  pthread_mutex_lock(&all_making_lock);
  for (making **m = &all_making; *m; m = &(*m)->next)
    if (!strcmp((*m)->path, path)) {
      making *gone = *m;
      *m = gone->next;
      close(gone->lock);
      free(gone);
      break;
    }
  pthread_mutex_unlock(&all_making_lock);
}

/* False where another process, or somebody else, has the name: then it takes a name of its own. */
static bool create_fixed(const char *path, int *fd) {
  struct stat opened, named;
  making *m = malloc(sizeof *m + strlen(path) + 1);
  mode_t mask = umask(0);
  umask(mask);
  int made = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666 & ~mask);
  /* What was opened may have got its name meanwhile: then it is no longer here. */
  const bool own = m && made >= 0 && !fstat(made, &opened) && S_ISREG(opened.st_mode) &&
                   opened.st_uid == geteuid() && opened.st_nlink == 1 &&
                   !flock(made, LOCK_EX | LOCK_NB) && !lstat(path, &named) &&
                   named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
  const int lock = own ? fcntl(made, F_DUPFD_CLOEXEC, 0) : -1;
  if (lock < 0 || ftruncate(made, 0) || fchmod(made, 0666 & ~mask)) {
    if (lock >= 0) close(lock);
    if (made >= 0) close(made);
    free(m);
    return false;
  }
  strcpy(m->path, path);
  m->lock = lock;
  making_end(path); /* one that was given up */
  pthread_mutex_lock(&all_making_lock);
  m->next = all_making;
  all_making = m;
  pthread_mutex_unlock(&all_making_lock);
  *fd = made;
  return true;
}

phibal_status file_create_temporary(const char *path, char **temporary, int *fd) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  *fd = -1;
  *temporary = NULL;
  if (file_is_device(path)) {
    /* Opened again, a file behind standard output would be written from its beginning. */
    const int standard = !strcmp(path, "/dev/stdout")   ? STDOUT_FILENO
                         : !strcmp(path, "/dev/stderr") ? STDERR_FILENO
                                                        : -1;
    if (standard == STDOUT_FILENO) fflush(stdout);
    /* A pipe that nobody reads is no place to wait at. */
    *fd = standard >= 0 ? fcntl(standard, F_DUPFD_CLOEXEC, 0)
                        : open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0 && errno == ENXIO)
      return phibal_status_set(PHIBAL_ERROR_IO, "%s: no process reads from it", path);
    if (*fd < 0) return io_error("write to", path);
    const int flags = standard >= 0 ? 0 : fcntl(*fd, F_GETFL);
    if (flags > 0) fcntl(*fd, F_SETFL, flags & ~O_NONBLOCK);
    return PHIBAL_OK;
  }
  *temporary = string_format("%.*s.%s.new", (int)(name - path), path, name);
  if (!*temporary) return memory_error();
  if (create_fixed(*temporary, fd)) return PHIBAL_OK;
  free(*temporary);
  *temporary = string_format("%.*s.%s.XXXXXX", (int)(name - path), path, name);
  if (!*temporary) return memory_error();
  *fd = mkostemp(*temporary, O_CLOEXEC);
  if (*fd < 0) {
    phibal_status status = io_error("create a file to be renamed to it", path);
    free(*temporary);
    *temporary = NULL;
    return status;
  }
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(*fd, 0666 & ~mask)) return io_error("set the mode of", path);
  return PHIBAL_OK;
}

bool file_sync(int fd) {
  return !fsync(fd) || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

/* Nothing that may have been computed in another floating-point environment takes its place. */
static phibal_status may_publish(const char *path) {
  phibal_status status = phibal_environment_check(path);
  if (!status) return PHIBAL_OK;
  return phibal_status_set(status, "not written: %s", phibal_status_message());
}

phibal_status file_publish(const char *temporary, const char *path) {
  phibal_status status = may_publish(path);
  if (status) return status;
  if (!temporary) return PHIBAL_OK;
  const bool failed = rename(temporary, path);
  const int why = errno;
  making_end(temporary);
  errno = why;
  if (failed) return io_error("rename a finished file to", path);
  char *folder = folder_of(path);
  if (!folder) return memory_error();
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(folder);
  /* Some file systems cannot sync a folder; the file itself is complete either way. */
  if (fd >= 0) {
    (void)!fsync(fd);
    close(fd);
  }
  return PHIBAL_OK;
}

phibal_status file_write_temporary(const char *path, const void *data, size_t bytes,
                                   char **temporary) {
  int fd;
  phibal_status status = file_create_temporary(path, temporary, &fd);
  if (!status && (!file_write_all(fd, data, bytes) || !file_sync(fd)))
    status = io_error("write", path);
  if (fd >= 0) close(fd);
  if (status && *temporary) {
    unlink(*temporary);
    free(*temporary);
    *temporary = NULL;
  }
  return status;
}

phibal_status file_write(const char *path, const void *data, size_t bytes) {
  char *temporary;
  phibal_status status = file_write_temporary(path, data, bytes, &temporary);
  if (!status) status = file_publish(temporary, path);
  if (status && temporary) unlink(temporary);
  free(temporary);
  return status;
}

/* Another name, in *kept, for the file at `path`, which stays where it is; null if there is none.
 */
static phibal_status file_keep(const char *path, char **kept) {
  *kept = NULL;
  struct stat info;
  if (lstat(path, &info)) return errno == ENOENT ? PHIBAL_OK : io_error("replace", path);
  if (file_is_device(path)) return PHIBAL_OK;
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  *kept = string_format("%.*s.%s.XXXXXX", (int)(name - path), path, name);
  int fd = *kept ? mkostemp(*kept, O_CLOEXEC) : -1;
  phibal_status status = PHIBAL_OK;
  if (fd >= 0)
    close(fd);
  else
    status = *kept ? io_error("replace", path) : memory_error();
  if (status) {
    free(*kept);
    *kept = NULL;
  }
  /* A file system without hard links: it is moved, and moved back after an error. */
  if (!status && *kept && (unlink(*kept) || (link(path, *kept) && rename(path, *kept))))
    status = io_error("replace", path);
  return status;
}

phibal_status files_publish(const finished_file *files, size_t count) {
  char **kept = calloc(count + 1, sizeof *kept);
  phibal_status status = kept ? PHIBAL_OK : memory_error();
  for (size_t i = 0; i < count && !status; i++) status = file_keep(files[i].path, &kept[i]);
  size_t done = 0;
  while (done < count && !status) {
    const finished_file *f = &files[done];
    if (f->temporary)
      status = file_publish(f->temporary, f->path);
    else if (unlink(f->path) && errno != ENOENT)
      status = io_error("remove", f->path);
    if (!status) done++;
  }
  for (size_t i = 0; kept && i < count; i++) {
    if (kept[i] && status)
      (void)!rename(kept[i], files[i].path); /* where both are one file, nothing happens */
    else if (status && i < done)
      unlink(files[i].path);
    if (kept[i]) unlink(kept[i]);
    free(kept[i]);
  }
  free(kept);
  return status;
}

phibal_status file_write_scratch(const char *path, const void *data, size_t bytes) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return io_error("create", path);
  phibal_status status = file_write_all(fd, data, bytes) ? PHIBAL_OK : io_error("write", path);
  close(fd);
  return status;
}

bool folder_has(const char *folder, const char *name) {
  char *path = string_format("%s/%s", folder, name);
  const bool found = path && !access(path, F_OK);
  free(path);
  return found;
}

phibal_status folder_create(const char *path) {
  char *partial = strdup(path);
  if (!partial) return memory_error();
  phibal_status status = PHIBAL_OK;
  for (char *at = partial + 1;; at++)
    if (*at == '/' || !*at) {
      char saved = *at;
      *at = 0;
      if (mkdir(partial, 0777) && errno != EEXIST) status = io_error("create the folder", partial);
      *at = saved;
      if (!saved || status) break;
    }
  free(partial);
  struct stat info;
  if (!status && (stat(path, &info) || !S_ISDIR(info.st_mode)))
    status = phibal_status_set(PHIBAL_ERROR_IO, "%s: not a folder", path);
  return status;
}

static int name_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static int name_compare(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static phibal_status folder_walk(const char *path, string_list *files) {
  struct dirent **entries;
  int n = scandir(path, &entries, name_visible, name_compare);
  if (n < 0) return io_error("list the folder", path);
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < n; i++) {
    char *inner = status ? NULL : string_format("%s/%s", path, entries[i]->d_name);
    free(entries[i]);
    if (status) continue;
    struct stat info;
    if (!inner)
      status = memory_error();
    else if (lstat(inner, &info))
      status = io_error("read", inner);
    else if (S_ISDIR(info.st_mode))
      status = folder_walk(inner, files);
    else if (S_ISREG(info.st_mode))
      status = string_list_append(files, inner);
    free(inner);
  }
  free(entries);
  return status;
}

phibal_status folder_files(const char *path, string_list *files) {
  struct stat info;
  if (stat(path, &info)) return io_error("open", path);
  if (S_ISDIR(info.st_mode)) return folder_walk(path, files);
  if (S_ISREG(info.st_mode)) return string_list_append(files, path);
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: neither a file nor a folder", path);
}

/* Files and folders that were met, by their numbers: a table with open addresses, half full at
   most. */
typedef struct met {
  struct met_id {
    dev_t device;
    ino_t number;
    bool used;
  } * ids;
  size_t count, capacity; /* a power of two */
} met;

/* PHIBAL_OK and *again says whether it was there already. */
static phibal_status met_add(met *m, const struct stat *info, bool *again) {
  if (2 * m->count >= m->capacity) {
    met grown = {.capacity = m->capacity ? 2 * m->capacity : 256};
    grown.ids = calloc(grown.capacity, sizeof *grown.ids);
    if (!grown.ids) return memory_error();
    for (size_t i = 0; i < m->capacity; i++) {
      bool never;
      if (m->ids[i].used)
        met_add(&grown, &(struct stat){.st_dev = m->ids[i].device, .st_ino = m->ids[i].number},
                &never);
    }
    free(m->ids);
    *m = grown;
  }
  size_t at = (size_t)((uint64_t)info->st_ino * UINT64_C(0x9e3779b97f4a7c15) >> 20);
  for (;; at++) {
    struct met_id *id = &m->ids[at & (m->capacity - 1)];
    *again = id->used && id->device == info->st_dev && id->number == info->st_ino;
    if (*again) return PHIBAL_OK;
    if (id->used) continue;
    *id = (struct met_id){info->st_dev, info->st_ino, true};
    m->count++;
    return PHIBAL_OK;
  }
}

static phibal_status linked_walk(const char *path, met *m, string_list *files,
                                 folder_left_out *left_out) {
  struct stat info;
  bool again;
  if (stat(path, &info)) {
    const bool broken = errno == ENOENT || errno == ELOOP || errno == ENOTDIR;
    return broken ? string_list_append(&left_out->broken, path) : io_error("read", path);
  }
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
    return string_list_append(&left_out->no_files, path);
  phibal_status status = met_add(m, &info, &again);
  if (!status && again) left_out->again++;
  if (status || again) return status;
  if (S_ISREG(info.st_mode)) return string_list_append(files, path);
  struct dirent **entries;
  int n = scandir(path, &entries, NULL, name_compare);
  if (n < 0) return io_error("list the folder", path);
  for (int i = 0; i < n; i++) {
    const char *name = entries[i]->d_name;
    if (!status && *name != '.') {
      char *inner = string_format("%s/%s", path, name);
      status = inner ? linked_walk(inner, m, files, left_out) : memory_error();
      free(inner);
    } else if (strcmp(name, ".") && strcmp(name, "..")) {
      left_out->hidden++;
    }
    free(entries[i]);
  }
  free(entries);
  return status;
}

phibal_status folder_files_linked(const char *path, string_list *files, folder_left_out *left_out) {
  struct stat info;
  if (stat(path, &info)) return io_error("open", path);
  met m = {0};
  phibal_status status = linked_walk(path, &m, files, left_out);
  free(m.ids);
  return status;
}

void folder_left_out_free(folder_left_out *left_out) {
  string_list_free(&left_out->broken);
  string_list_free(&left_out->no_files);
  *left_out = (folder_left_out){0};
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)info, (void)kind, (void)place;
  (void)remove(path);
  return 0;
}

void folder_remove(const char *path) {
  nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
