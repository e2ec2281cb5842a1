#include "npz.h"
#include "file.h"
#include "safetensors_internal.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* By NumPy's letters, without the order of bytes. */
static const char *const descriptions[SAFETENSORS_DTYPE_COUNT] = {
    [SAFETENSORS_BOOL] = "b1", [SAFETENSORS_U8] = "u1",  [SAFETENSORS_I8] = "i1",
    [SAFETENSORS_I16] = "i2",  [SAFETENSORS_U16] = "u2", [SAFETENSORS_F16] = "f2",
    [SAFETENSORS_I32] = "i4",  [SAFETENSORS_U32] = "u4", [SAFETENSORS_F32] = "f4",
    [SAFETENSORS_F64] = "f8",  [SAFETENSORS_I64] = "i8", [SAFETENSORS_U64] = "u8"};

enum { LOCAL_BYTES = 30, CENTRAL_BYTES = 46, END_BYTES = 22, END64_BYTES = 56, LOCATOR_BYTES = 20 };
static const char LOCAL[] = "PK\3\4", CENTRAL[] = "PK\1\2", END[] = "PK\5\6", END64[] = "PK\6\6",
                  LOCATOR[] = "PK\6\7", NPY[] = "\x93NUMPY";

static uint64_t number(const char *at, int bytes) {
  uint64_t n = 0;
  for (int i = bytes - 1; i >= 0; i--) n = n << 8 | (unsigned char)at[i];
  return n;
}

static void put_number(char *at, uint64_t n, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (char)(n >> 8 * i);
}

bool npz_recognised(const void *bytes, size_t n) {
  const char *b = bytes;
  if (n >= END_BYTES && !memcmp(b, END, 4)) return true; /* no arrays at all */
  if (n < LOCAL_BYTES || memcmp(b, LOCAL, 4)) return false;
  const size_t name = number(b + 26, 2);
  return name >= 4 && name <= n - LOCAL_BYTES && !memcmp(b + LOCAL_BYTES + name - 4, ".npy", 4);
}

typedef struct archive {
  safetensors_file *file;
  const char *bytes;
  uint64_t size;
  uint64_t members, central, central_bytes; /* of the directory: how many, where, how long */
} archive;

static phibal_status archive_error(const archive *a, const char *what) {
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: .npz: %s", a->file->name, what);
}

static phibal_status memory_error(const char *name) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for its arrays", name);
}

#define member_error(status, a, member, format, ...)                                               \
  phibal_status_set(status, "%s: array '%s': " format, (a)->file->name,                            \
                    safetensors_show(member).text, __VA_ARGS__)

/* The directory stands at the end, behind it a record of where; a second one for large archives. */
static phibal_status directory_find(archive *a) {
  const char *b = a->bytes;
  if (a->size < END_BYTES) return archive_error(a, "truncated");
  uint64_t end = a->size - END_BYTES;
  const uint64_t least = end > 65535 ? end - 65535 : 0;
  while (memcmp(b + end, END, 4) || number(b + end + 20, 2) != a->size - END_BYTES - end)
    if (end-- == least) return archive_error(a, "truncated: it has no directory at its end");
  a->members = number(b + end + 10, 2);
  a->central_bytes = number(b + end + 12, 4);
  a->central = number(b + end + 16, 4);
  if (end >= LOCATOR_BYTES && !memcmp(b + end - LOCATOR_BYTES, LOCATOR, 4)) {
    const uint64_t at = number(b + end - LOCATOR_BYTES + 8, 8);
    if (a->size < END64_BYTES || at > a->size - END64_BYTES || memcmp(b + at, END64, 4))
      return archive_error(a, "its directory's record is not where it is said to be");
    a->members = number(b + at + 32, 8);
    a->central_bytes = number(b + at + 40, 8);
    a->central = number(b + at + 48, 8);
  }
  if (a->central > end || a->central_bytes > end - a->central ||
      a->members > a->central_bytes / CENTRAL_BYTES)
    return archive_error(a, "its directory is not within the file");
  return PHIBAL_OK;
}

typedef struct member {
  char *name; /* without .npy */
  uint64_t flags, method, crc, packed, full, offset;
} member;

/* The entry of the directory at *at, which goes on behind it. */
static phibal_status entry_read(const archive *a, uint64_t *at, member *m) {
  const uint64_t end = a->central + a->central_bytes;
  const char *e = a->bytes + *at;
  if (end - *at < CENTRAL_BYTES || memcmp(e, CENTRAL, 4))
    return archive_error(a, "its directory is damaged");
  const uint64_t name = number(e + 28, 2), extra = number(e + 30, 2), comment = number(e + 32, 2);
  if (end - *at - CENTRAL_BYTES < name + extra + comment)
    return archive_error(a, "its directory is damaged");
  *m = (member){.flags = number(e + 8, 2),
                .method = number(e + 10, 2),
                .crc = number(e + 16, 4),
                .packed = number(e + 20, 4),
                .full = number(e + 24, 4),
                .offset = number(e + 42, 4)};
  const char *text = e + CENTRAL_BYTES, *field = text + name, *last = field + extra;
  *at += CENTRAL_BYTES + name + extra + comment;
  while (last - field >= 4) {
    const uint64_t id = number(field, 2), bytes = number(field + 2, 2);
    const char *value = field + 4;
    if (bytes > (uint64_t)(last - value)) break;
    const char *behind = field = value + bytes;
    if (id != 1) continue;
    uint64_t *const large[] = {&m->full, &m->packed, &m->offset};
    for (int i = 0; i < 3; i++)
      if (*large[i] == UINT32_MAX && behind - value >= 8) {
        *large[i] = number(value, 8);
        value += 8;
      }
  }
  if (name < 5 || memcmp(text + name - 4, ".npy", 4) || memchr(text, 0, name))
    return archive_error(a, "a member whose name does not end in .npy: it is another kind of zip");
  m->name = strndup(text, name - 4);
  return m->name ? PHIBAL_OK : memory_error(a->file->name);
}

/* The bytes of a member, m->full of them, to memory that has the room. */
static phibal_status member_unpack(const archive *a, const member *m, void *to) {
  if (m->flags & 1)
    return member_error(PHIBAL_ERROR_UNSUPPORTED, a, m->name, "it is %s", "encrypted");
  const bool inside = m->offset <= a->size && a->size - m->offset >= LOCAL_BYTES;
  const char *local = inside ? a->bytes + m->offset : NULL;
  if (!inside || memcmp(local, LOCAL, 4))
    return member_error(PHIBAL_ERROR_FORMAT, a, m->name, "it is not where the %s says",
                        "directory");
  const uint64_t skip = LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
  if (a->size - m->offset < skip || a->size - m->offset - skip < m->packed)
    return member_error(PHIBAL_ERROR_FORMAT, a, m->name, "%s", "truncated");
  const char *data = local + skip;
  bool whole = false;
  if (m->method == 0 && m->packed == m->full) {
    memcpy(to, data, m->full);
    whole = true;
  } else if (m->method == 8) {
    z_stream z = {0};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return memory_error(a->file->name);
    uint64_t in = m->packed, out = m->full;
    int result = Z_OK;
    z.next_in = (Bytef *)data;
    z.next_out = to;
    const uint64_t part = 1 << 30;
    while (result == Z_OK) {
      if (!z.avail_in) in -= z.avail_in = (uInt)(in < part ? in : part);
      if (!z.avail_out) out -= z.avail_out = (uInt)(out < part ? out : part);
      result = inflate(&z, Z_NO_FLUSH);
    }
    whole = result == Z_STREAM_END && !out && !z.avail_out && !in && !z.avail_in;
    inflateEnd(&z);
  } else if (m->method != 0) {
    return member_error(PHIBAL_ERROR_UNSUPPORTED, a, m->name,
                        "compressed by method %d, where stored and deflated can be read",
                        (int)m->method);
  }
  if (!whole || crc32_z(0, to, m->full) != m->crc)
    return member_error(PHIBAL_ERROR_FORMAT, a, m->name, "its bytes are %s", "damaged");
  return PHIBAL_OK;
}

/* The text of a .npy header, a dictionary of Python's: what is read of it is behind *at. */
static void skip_space(const char **at, const char *end) {
  while (*at < end && strchr(" \t\n", **at) && **at) ++*at;
}

static bool take(const char **at, const char *end, const char *word) {
  const size_t n = strlen(word);
  skip_space(at, end);
  if ((size_t)(end - *at) < n || memcmp(*at, word, n)) return false;
  *at += n;
  return true;
}

static bool take_string(const char **at, const char *end, char *to, size_t size) {
  skip_space(at, end);
  if (*at == end || (**at != '\'' && **at != '"')) return false;
  const char quote = **at, *start = ++*at, *stop = memchr(start, quote, (size_t)(end - start));
  if (!stop || (size_t)(stop - start) >= size) return false;
  memcpy(to, start, (size_t)(stop - start));
  to[stop - start] = 0;
  *at = stop + 1;
  return true;
}

static bool take_shape(const char **at, const char *end, safetensors_tensor *t, bool *too_many) {
  if (!take(at, end, "(")) return false;
  while (!take(at, end, ")")) {
    int64_t extent = 0;
    const char *start = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
      if (__builtin_mul_overflow(extent, 10, &extent) ||
          __builtin_add_overflow(extent, **at - '0', &extent))
        return false;
    if (*at == start) return false;
    *too_many = t->dimensions == SAFETENSORS_MAX_DIMENSIONS;
    if (*too_many) return false;
    t->shape[t->dimensions++] = extent;
    if (!take(at, end, ",") && (*at == end || **at != ')')) return false;
  }
  return true;
}

static phibal_status array_describe(const archive *a, const char *bytes, uint64_t n,
                                    safetensors_tensor *t, bool *fortran, uint64_t *header) {
  const int version = n > 8 ? bytes[6] : 0;
  const int width = version == 1 ? 2 : 4;
  if (n < 12 || memcmp(bytes, NPY, 6) || version < 1 || version > 3 ||
      number(bytes + 8, width) > n - 8 - (uint64_t)width)
    return member_error(PHIBAL_ERROR_FORMAT, a, t->name, "it is no %s file that can be read",
                        ".npy");
  *header = 8 + (uint64_t)width + number(bytes + 8, width);
  const char *at = bytes + 8 + width, *end = bytes + *header;
  char key[32], descr[32] = "";
  bool good = take(&at, end, "{"), too_many = false, shaped = false, ordered = false;
  while (good && !take(&at, end, "}")) {
    good = take_string(&at, end, key, sizeof key) && take(&at, end, ":");
    if (good && !strcmp(key, "descr"))
      good = take_string(&at, end, descr, sizeof descr);
    else if (good && !strcmp(key, "fortran_order"))
      good = ordered = (*fortran = take(&at, end, "True")) || take(&at, end, "False");
    else if (good && !strcmp(key, "shape"))
      good = !shaped && (shaped = take_shape(&at, end, t, &too_many));
    else
      good = false;
    if (good && !take(&at, end, ",")) good = at < end && *at == '}';
  }
  if (too_many)
    return member_error(PHIBAL_ERROR_UNSUPPORTED, a, t->name,
                        "more dimensions than the %d that can be read", SAFETENSORS_MAX_DIMENSIONS);
  if (!good || !*descr || !shaped || !ordered)
    return member_error(PHIBAL_ERROR_FORMAT, a, t->name,
                        "its header does not say %s of one kind of number",
                        "descr, fortran_order and shape");
  const bool order = strchr("<>|=", *descr) != NULL;
  for (int d = 0; d <= SAFETENSORS_DTYPE_COUNT; d++) {
    if (d == SAFETENSORS_DTYPE_COUNT || (*descr == '>' && descr[2] != '1'))
      return member_error(PHIBAL_ERROR_UNSUPPORTED, a, t->name, "the dtype '%s' cannot be read%s",
                          safetensors_show(descr).text,
                          *descr == '>'     ? " (big-endian)"
                          : descr[1] == 'O' ? " (Python's objects)"
                                            : "");
    t->dtype = (safetensors_dtype)d;
    if (descriptions[d] && !strcmp(descr + order, descriptions[d])) break;
  }
  const int32_t bad = safetensors_measure(t);
  if (bad >= 0 || (uint64_t)t->bytes != n - *header)
    return member_error(PHIBAL_ERROR_FORMAT, a, t->name,
                        "%lld bytes of data, which its shape and dtype do not take",
                        (long long)(n - *header));
  return PHIBAL_OK;
}

/* From Fortran's order, the first index fastest, to C's. */
static void transpose(const safetensors_tensor *t, const char *from, char *to) {
  const size_t width = (size_t)safetensors_dtype_bytes(t->dtype);
  int64_t index[SAFETENSORS_MAX_DIMENSIONS] = {0};
  for (int64_t i = 0; i < t->elements; i++) {
    int64_t at = 0;
    for (int32_t d = t->dimensions - 1; d >= 0; d--) at = at * t->shape[d] + index[d];
    memcpy(to + (size_t)i * width, from + (size_t)at * width, width);
    for (int32_t d = t->dimensions - 1; d >= 0 && ++index[d] == t->shape[d]; d--) index[d] = 0;
  }
}

/* One member, whose bytes have room at `to` and as much again in `scratch`. */
static phibal_status array_read(const archive *a, const member *m, char *scratch, char *to,
                                safetensors_tensor *t) {
  bool fortran = false;
  uint64_t header = 0;
  phibal_status status = member_unpack(a, m, scratch);
  if (!status) status = array_describe(a, scratch, m->full, t, &fortran, &header);
  if (status) return status;
  if (fortran && t->dimensions > 1)
    transpose(t, scratch + header, to);
  else
    memcpy(to, scratch + header, (size_t)t->bytes);
  t->data = to;
  return PHIBAL_OK;
}

static phibal_status arrays_read(archive *a) {
  safetensors_file *file = a->file;
  member *members = calloc(a->members + 1, sizeof *members);
  file->tensors = calloc(a->members + 1, sizeof *file->tensors);
  file->header = json_object(); /* whose keys are the names */
  phibal_status status =
      members && file->tensors && file->header ? PHIBAL_OK : memory_error(file->name);
  uint64_t at = a->central, room = 0, largest = 0;
  for (uint64_t i = 0; i < a->members && !status; i++) {
    member *m = &members[i];
    status = entry_read(a, &at, m);
    if (status) break;
    /* Deflate makes at most 1032 bytes of one: no more is believed, one member or all. */
    if (m->full > 1100 * a->size || room > 1100 * a->size)
      status = member_error(PHIBAL_ERROR_FORMAT, a, m->name,
                            "it claims %llu bytes, more than the file can hold",
                            (unsigned long long)m->full);
    room += (m->full + 15) / 8 * 8;
    if (m->full > largest) largest = m->full;
  }
  char *scratch = status ? NULL : malloc(largest + 1);
  file->copy = status ? NULL : malloc(room + 1);
  if (!status && (!scratch || !file->copy)) status = memory_error(file->name);
  char *to = file->copy;
  for (uint64_t i = 0; i < a->members && !status; i++) {
    safetensors_tensor *t = &file->tensors[i];
    const char *name = members[i].name;
    t->name = name;
    if (json_object_get(file->header, name))
      status = member_error(PHIBAL_ERROR_FORMAT, a, name, "%s", "it is there twice");
    else if (json_object_set_new(file->header, name, json_null()))
      status = member_error(PHIBAL_ERROR_FORMAT, a, name, "%s", "its name is not UTF-8");
    if (!status) status = array_read(a, &members[i], scratch, to, t);
    if (status) break;
    t->name = json_object_iter_key(json_object_iter_at(file->header, name));
    to += (t->bytes + 7) / 8 * 8;
    file->count++;
  }
  for (uint64_t i = 0; members && i < a->members; i++) free(members[i].name);
  free(members);
  free(scratch);
  if (!status)
    qsort(file->tensors, (size_t)file->count, sizeof *file->tensors, safetensors_compare_names);
  return status;
}

phibal_status npz_view(const void *bytes, size_t n, const char *name, safetensors_file *file) {
  *file = (safetensors_file){.name = strdup(name)};
  archive a = {.file = file, .bytes = bytes, .size = n};
  phibal_status status = file->name ? directory_find(&a) : memory_error(name);
  if (!status) status = arrays_read(&a);
  if (status) safetensors_close(file);
  return status;
}

phibal_status tensors_open(const char *path, safetensors_file *file) {
  void *mapping;
  size_t n;
  *file = (safetensors_file){0};
  phibal_status status = file_map(path, &mapping, &n);
  if (status) return status;
  const bool npz = npz_recognised(mapping, n);
  if (npz) status = npz_view(mapping, n, path, file);
  file_unmap(mapping, n);
  return npz ? status : safetensors_open(path, file);
}

/* The .npy header of a tensor, to be freed: its data begin at a multiple of 64. */
static char *array_header(const safetensors_tensor *t, size_t *bytes) {
  char shape[SAFETENSORS_MAX_DIMENSIONS * 22 + 4] = "(";
  for (int32_t d = 0; d < t->dimensions; d++)
    snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld", d ? ", " : "",
             (long long)t->shape[d]);
  char *text = string_format("{'descr': '%c%s', 'fortran_order': False, 'shape': %s%s), }",
                             safetensors_dtype_bytes(t->dtype) == 1 ? '|' : '<',
                             descriptions[t->dtype], shape, t->dimensions == 1 ? "," : "");
  if (!text) return NULL;
  *bytes = (10 + strlen(text) + 1 + 63) / 64 * 64;
  char *header = string_format("%-*s\n", (int)(*bytes - 1), "");
  if (header) {
    memcpy(header, "\x93NUMPY\1", 8);
    put_number(header + 8, *bytes - 10, 2);
    memcpy(header + 10, text, strlen(text));
  }
  free(text);
  return header;
}

/* Both headers of a member begin alike: what they share is made once, at 4 of the local one. */
static phibal_status members_write(const char *path, int fd, const safetensors_tensor *sorted,
                                   int64_t count) {
  text_buffer directory = {0};
  uint64_t offset = 0;
  phibal_status status = PHIBAL_OK;
  bool written = true;
  for (int64_t i = 0; i < count && !status && written; i++) {
    const safetensors_tensor *t = &sorted[i];
    size_t header_bytes = 0;
    char *header = array_header(t, &header_bytes), *name = string_format("%s.npy", t->name);
    if (!header || !name) {
      status = memory_error(path);
    } else {
      const size_t name_bytes = strlen(name);
      const uint64_t size = header_bytes + (uint64_t)t->bytes;
      uLong crc = crc32_z(0, (const Bytef *)header, header_bytes);
      if (t->bytes) crc = crc32_z(crc, t->data, (size_t)t->bytes);
      char local[LOCAL_BYTES] = "PK\3\4", central[CENTRAL_BYTES] = "PK\1\2\24";
      put_number(local + 4, 20, 2);
      put_number(local + 6, 0x800, 2); /* names are UTF-8 */
      put_number(local + 12, 0x21, 2); /* the first day there is */
      put_number(local + 14, crc, 4);
      put_number(local + 18, size, 4);
      put_number(local + 22, size, 4);
      put_number(local + 26, name_bytes, 2);
      memcpy(central + 6, local + 4, LOCAL_BYTES - 4);
      put_number(central + 42, offset, 4);
      offset += LOCAL_BYTES + name_bytes + size;
      if (offset + directory.count + CENTRAL_BYTES + name_bytes > UINT32_MAX ||
          name_bytes > UINT16_MAX)
        status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                                   "%s: over 4 GiB, too much for .npz; name it .safetensors", path);
      if (!status) status = text_buffer_append(&directory, central, sizeof central);
      if (!status) status = text_buffer_append(&directory, name, name_bytes);
      if (!status)
        written = file_write_all(fd, local, sizeof local) && file_write_all(fd, name, name_bytes) &&
                  file_write_all(fd, header, header_bytes) &&
                  file_write_all(fd, t->data, (size_t)t->bytes);
    }
    free(header);
    free(name);
  }
  char end[END_BYTES] = "PK\5\6";
  put_number(end + 8, (uint64_t)count, 2);
  put_number(end + 10, (uint64_t)count, 2);
  put_number(end + 12, directory.count, 4);
  put_number(end + 16, offset, 4);
  if (!status && !(written && file_write_all(fd, directory.bytes, directory.count) &&
                   file_write_all(fd, end, sizeof end) && file_sync(fd)))
    status = phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot write: %s", path, strerror(errno));
  text_buffer_free(&directory);
  return status;
}

phibal_status npz_write(const char *path, const safetensors_tensor *tensors, int64_t count) {
  if (count > UINT16_MAX)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: %lld arrays, where .npz has at most 65535; name it .safetensors",
                             path, (long long)count);
  safetensors_tensor *sorted = calloc((size_t)count + 1, sizeof *sorted);
  if (!sorted) return memory_error(path);
  if (count) memcpy(sorted, tensors, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, safetensors_compare_names);
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; i < count && !status; i++) {
    const safetensors_shown shown = safetensors_show(sorted[i].name);
    if ((unsigned)sorted[i].dtype >= SAFETENSORS_DTYPE_COUNT || !descriptions[sorted[i].dtype])
      status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                                 "%s: tensor '%s': a dtype that NumPy has not", path, shown.text);
    else if (sorted[i].dimensions < 0 || sorted[i].dimensions > SAFETENSORS_MAX_DIMENSIONS ||
             safetensors_measure(&sorted[i]) >= 0 || (sorted[i].bytes && !sorted[i].data) ||
             (i && !strcmp(sorted[i].name, sorted[i - 1].name)))
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                                 "%s: tensor '%s': its name twice, its shape or its data missing",
                                 path, shown.text);
  }
  char *temporary = NULL;
  int fd = -1;
  if (!status) status = file_create_temporary(path, &temporary, &fd);
  if (!status) status = members_write(path, fd, sorted, count);
  if (fd >= 0) close(fd);
  if (!status) status = file_publish(temporary, path);
  if (status && temporary) unlink(temporary);
  free(temporary);
  free(sorted);
  return status;
}

phibal_status tensors_write(const char *path, const safetensors_tensor *tensors, int64_t count) {
  return string_ends_with(path, ".npz") ? npz_write(path, tensors, count)
                                        : safetensors_write(path, tensors, count, NULL, 0);
}
