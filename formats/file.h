/* Files and folders: whole reads, atomic writes, listings in a fixed order. */
#ifndef PHIBAL_FORMATS_FILE_H
#define PHIBAL_FORMATS_FILE_H

#include <phibal/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list of strings that it owns. All zeros is the empty list. */
typedef struct string_list {
  char **items;
  size_t count, capacity;
} string_list;

phibal_status string_list_append(string_list *list, const char *text);
void string_list_free(string_list *list);

/* A growing byte buffer. All zeros is empty. */
typedef struct text_buffer {
  char *bytes;
  size_t count, capacity;
} text_buffer;

/* bytes is not NULL afterwards, even if nothing was appended. */
phibal_status text_buffer_append(text_buffer *buffer, const void *bytes, size_t count);
phibal_status text_buffer_string(text_buffer *buffer, const char *text);
void text_buffer_free(text_buffer *buffer);

bool string_ends_with(const char *text, const char *end);

/* printf into a new string; null when out of memory. */
char *string_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Replaces *buffer by the whole of a regular file. */
phibal_status file_read_all(const char *path, text_buffer *buffer);
/* The same for at most `most` bytes; *bytes is the size, and larger files are not read. */
phibal_status file_read_most(const char *path, size_t most, text_buffer *buffer, size_t *bytes);
/* Maps a regular file for reading; *mapping is null if it is empty, or on failure (PHIBAL_ERROR_IO,
   PHIBAL_ERROR_FORMAT if it is not a regular file). If the file is truncated later, reading past
   its end terminates the process with exit status 2 and a line that names it. */
phibal_status file_map(const char *path, void **mapping, size_t *bytes);
void file_unmap(void *mapping, size_t bytes); /* accepts null */
/* False with errno set. */
bool file_write_all(int fd, const void *data, size_t bytes);

/* Whether `path` is written into rather than replaced: a device, a pipe, a socket, /dev/stdout. */
bool file_is_device(const char *path);
/* Whether a command may write its result to `path`; checked before the work is done. An existing
   nonempty file is replaced only with `overwrite`, or if its first 1024 bytes contain `own`, the
   signature of the command's own files (null: none). Otherwise PHIBAL_ERROR_ARGUMENT, as for a
   folder at `path` or a missing parent folder. A device is written into. */
phibal_status file_may_write(const char *path, bool overwrite, const char *own);
/* The same for a folder: it must be new or empty, unless `overwrite`. The message ends with
   `advice`. */
phibal_status folder_may_write(const char *path, bool overwrite, const char *advice);

/* Creates a file next to `path` whose name (to be freed) starts with a dot, open for writing. A
   device is opened itself, and *temporary is null. */
phibal_status file_create_temporary(const char *path, char **temporary, int *fd);
/* Syncs to disk, if it is on one; false with errno set. */
bool file_sync(int fd);
/* Renames a finished file to its name and makes the rename durable; null: there is nothing to
   rename. */
phibal_status file_publish(const char *temporary, const char *path);
/* Writes a temporary file next to `path`, to be published; its name is to be freed. */
phibal_status file_write_temporary(const char *path, const void *data, size_t bytes,
                                   char **temporary);
/* Writes a whole file through a temporary name. */
phibal_status file_write(const char *path, const void *data, size_t bytes);

/* A finished file and its final name; a null file: the name is to be removed. */
typedef struct finished_file {
  const char *temporary, *path;
} finished_file;
/* Publishes all or none: after an error the previous files are restored. */
phibal_status files_publish(const finished_file *files, size_t count);

/* Writes a file that need not survive a crash: in place, without syncing. */
phibal_status file_write_scratch(const char *path, const void *data, size_t bytes);

/* Creates a folder and the ones above it. */
phibal_status folder_create(const char *path);
/* True if folder/name exists. */
bool folder_has(const char *folder, const char *name);
/* Appends the regular files under `path` (or `path` itself if it is one), recursively, sorted by
   the bytes of their names. Inside a folder, names that begin with a dot and symbolic links are
   skipped (links could be circular, or lead to the same text twice). */
phibal_status folder_files(const char *path, string_list *files);

/* The same, following links to files and folders; each is taken once, so circular links end.
   Skipped entries are counted or named. All zeros is empty. */
typedef struct folder_left_out {
  int64_t hidden;       /* names that begin with a dot */
  int64_t again;        /* other names of what was taken already */
  string_list broken;   /* broken links */
  string_list no_files; /* pipes, sockets and devices */
} folder_left_out;
phibal_status folder_files_linked(const char *path, string_list *files, folder_left_out *left_out);
void folder_left_out_free(folder_left_out *left_out);

/* Removes a folder and its contents, as far as possible. */
void folder_remove(const char *path);

#endif
