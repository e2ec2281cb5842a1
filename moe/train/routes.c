#include "routes.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { HEADER = 64, VERSION = 1, CHECKED = HEADER - 4, SEQUENCE_HEAD = 8 };
static const char magic[16] = "phibal routes\n";

typedef struct header {
  char magic[16];
  int32_t version;
  routes_shape shape;
  int64_t before;
  int32_t zero[2];
  uint32_t unused, crc;
} header;
_Static_assert(sizeof(header) == HEADER, "the header's members have no gaps");

static uint32_t crc_of(const void *data, size_t bytes) {
  return (uint32_t)crc32_z(0, data, bytes);
}

static phibal_status io_error(const char *what, const char *path) {
  return phibal_status_set(PHIBAL_ERROR_IO, "cannot %s the routes '%s': %s", what, path,
                           strerror(errno));
}

routes_shape routes_shape_of(const run_config *c) {
  const model_config *m = &c->model;
  const bool dense = c->balance.method == BALANCE_DENSE;
  return (routes_shape){.experts = m->experts,
                        .active = m->active,
                        .layers = dense ? 0 : m->layers - m->dense_layers,
                        .sequence = m->sequence,
                        .sequences = c->batch.sequences};
}

int64_t routes_of_sequence(const routes_shape *s) {
  return (int64_t)s->layers * s->sequence * s->active;
}

size_t routes_record_bytes(const routes_shape *s) {
  return SEQUENCE_HEAD + sizeof(uint16_t) * (size_t)routes_of_sequence(s);
}

void routes_record(const routes_shape *s, const int32_t *tokens, const uint16_t *experts,
                   unsigned char *record) {
  const size_t bytes = routes_record_bytes(s) - SEQUENCE_HEAD;
  const uint32_t head[2] = {crc_of(tokens, sizeof *tokens * (size_t)s->sequence),
                            crc_of(experts, bytes)};
  memcpy(record, head, sizeof head);
  memcpy(record + SEQUENCE_HEAD, experts, bytes);
}

static int64_t step_bytes(const routes_shape *s) {
  return (int64_t)routes_record_bytes(s) * s->sequences;
}

static int64_t place_of(const routes_file *f, int64_t step, int32_t place) {
  return HEADER + (step - f->before) * step_bytes(&f->shape) +
         (int64_t)routes_record_bytes(&f->shape) * place;
}

static phibal_status no_memory(const char *path) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "the routes '%s': out of memory", path);
}

/* Opens a file that is there, and reads its header. */
static phibal_status open_file(const char *path, int flags, const routes_shape *shape,
                               routes_file *f, int64_t *bytes) {
  header h;
  struct stat info;
  *f = (routes_file){.path = path, .shape = *shape};
  f->descriptor = open(path, flags | O_CLOEXEC);
  if (f->descriptor < 0) return io_error("read", path);
  f->open = true;
  f->record = malloc(routes_record_bytes(shape));
  if (!f->record) return no_memory(path);
  if (fstat(f->descriptor, &info)) return io_error("read", path);
  if (!S_ISREG(info.st_mode))
    return phibal_status_set(PHIBAL_ERROR_IO, "the routes '%s' are not a regular file", path);
  *bytes = info.st_size;
  const ssize_t n = pread(f->descriptor, &h, sizeof h, 0);
  if (n < 0) return io_error("read", path);
  if (n < (ssize_t)sizeof h || memcmp(h.magic, magic, sizeof magic))
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "'%s' is no file of recorded routes", path);
  if (h.crc != crc_of(&h, CHECKED))
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "the routes '%s': corrupt: the header's CRC-32",
                             path);
  if (h.before < 0 || h.before > (int64_t)1e12)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "the routes '%s': corrupt: %lld steps before",
                             path, (long long)h.before);
  if (h.version != VERSION)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "the routes '%s' have version %d; this phibal reads version %d", path,
                             h.version, VERSION);
  const struct {
    const char *key;
    int32_t there, here;
  } same[] = {{"model.experts", h.shape.experts, shape->experts},
              {"model.active", h.shape.active, shape->active},
              {"layers with experts", h.shape.layers, shape->layers},
              {"model.sequence", h.shape.sequence, shape->sequence},
              {"batch.sequences", h.shape.sequences, shape->sequences}};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++)
    if (same[i].there != same[i].here)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "the routes '%s' are of a run with another %s: %d, here %d", path,
                               same[i].key, same[i].there, same[i].here);
  f->before = h.before;
  f->steps = (*bytes - HEADER) / step_bytes(shape);
  return PHIBAL_OK;
}

static phibal_status closed(routes_file *f, phibal_status status) {
  if (status) routes_close(f);
  return status;
}

static phibal_status lacks(const routes_file *f, int64_t step, const char *advice) {
  if (!f->steps)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "the routes '%s' are of no step%s", f->path,
                             advice);
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "the routes '%s' are of the steps %lld .. %lld, and those of step %lld "
                           "are needed%s",
                           f->path, (long long)f->before + 1, (long long)(f->before + f->steps),
                           (long long)step, advice);
}

phibal_status routes_open(const char *path, const routes_shape *shape, int64_t first, int64_t last,
                          routes_file *f) {
  int64_t bytes = 0;
  phibal_status status = open_file(path, O_RDONLY, shape, f, &bytes);
  if (!status && (bytes - HEADER) % step_bytes(shape))
    status = phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "the routes '%s': cut in step %lld: the run that recorded them has "
                               "not ended, and goes on with --resume",
                               path, (long long)(f->before + f->steps + 1));
  if (!status && first < last && first < f->before) status = lacks(f, first + 1, "");
  if (!status && first < last && last > f->before + f->steps) status = lacks(f, last, "");
  return closed(f, status);
}

phibal_status routes_read(const routes_file *f, int64_t step, int32_t place, const int32_t *tokens,
                          uint16_t *experts) {
  const size_t bytes = routes_record_bytes(&f->shape);
  const int64_t from = place_of(f, step, place);
  for (size_t at = 0; at < bytes;) {
    const ssize_t n = pread(f->descriptor, f->record + at, bytes - at, from + (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("read", f->path);
    if (n == 0)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "the routes '%s' have become shorter", f->path);
    at += (size_t)n;
  }
  uint32_t head[2];
  memcpy(head, f->record, sizeof head);
  if (head[1] != crc_of(f->record + SEQUENCE_HEAD, bytes - SEQUENCE_HEAD))
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "the routes '%s': corrupt: the CRC-32 of sequence %d of the step",
                             f->path, place + 1);
  if (head[0] != crc_of(tokens, sizeof *tokens * (size_t)f->shape.sequence))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "the routes '%s' are of other data, or of another order of them "
                             "(training.seed, data.mixture): sequence %d of the step has other "
                             "tokens",
                             f->path, place + 1);
  memcpy(experts, f->record + SEQUENCE_HEAD, bytes - SEQUENCE_HEAD);
  return PHIBAL_OK;
}

phibal_status routes_may_create(const char *path, bool overwrite, const routes_file *source) {
  struct stat there, read;
  if (stat(path, &there)) return errno == ENOENT ? PHIBAL_OK : io_error("write", path);
  if (!S_ISREG(there.st_mode))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "training.record_routes: '%s' is no file",
                             path);
  if (source && source->open && !fstat(source->descriptor, &read) && read.st_dev == there.st_dev &&
      read.st_ino == there.st_ino)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "training.record_routes: '%s' is the file that is read "
                             "(training.replay_routes)",
                             path);
  if (overwrite) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "training.record_routes: '%s' is there; choose another file, or use "
                           "--overwrite",
                           path);
}

static phibal_status write_at(const routes_file *f, const void *data, size_t bytes, int64_t to) {
  for (size_t at = 0; at < bytes;) {
    const ssize_t n =
        pwrite(f->descriptor, (const unsigned char *)data + at, bytes - at, to + (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("write", f->path);
    at += (size_t)n;
  }
  return PHIBAL_OK;
}

phibal_status routes_create(const char *path, const routes_shape *shape, int64_t before,
                            routes_file *f) {
  header h = {.version = VERSION, .shape = *shape, .before = before};
  memcpy(h.magic, magic, sizeof magic);
  h.crc = crc_of(&h, CHECKED);
  *f = (routes_file){.path = path, .shape = *shape, .before = before};
  f->descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (f->descriptor < 0) return io_error("write", path);
  f->open = true;
  return closed(f, write_at(f, &h, sizeof h, 0));
}

phibal_status routes_continue(const char *path, const routes_shape *shape, int64_t step,
                              routes_file *f) {
  int64_t bytes = 0;
  phibal_status status = open_file(path, O_RDWR, shape, f, &bytes);
  if (!status && (step < f->before || step > f->before + f->steps))
    status =
        lacks(f, step < f->before ? step + 1 : step, "; the run cannot go on recording into them");
  if (!status && ftruncate(f->descriptor, (off_t)place_of(f, step, 0)))
    status = io_error("cut", path);
  return closed(f, status);
}

phibal_status routes_write(const routes_file *f, int64_t step, int32_t place,
                           const unsigned char *record) {
  return write_at(f, record, routes_record_bytes(&f->shape), place_of(f, step, place));
}

phibal_status routes_sync(const routes_file *f) {
  return f->open && fsync(f->descriptor) ? io_error("write", f->path) : PHIBAL_OK;
}

void routes_close(routes_file *f) {
  if (f->open) close(f->descriptor);
  free(f->record);
  *f = (routes_file){0};
}
