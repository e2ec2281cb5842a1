/* Files and folders: whole reads, writes that appear all at once or not at all, listings in a fixed
   order. */
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

/* Bytes that grow. All zeros is empty. */
typedef struct text_buffer {
  char *bytes;
  size_t count, capacity;
} text_buffer;

/* bytes is not NULL afterwards, even where nothing was appended. */
phibal_status text_buffer_append(text_buffer *buffer, const void *bytes, size_t count);
phibal_status text_buffer_string(text_buffer *buffer, const char *text);
void text_buffer_free(text_buffer *buffer);

bool string_ends_with(const char *text, const char *end);

/* printf into a new string; null when out of memory. */
char *string_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Replaces *buffer by the whole of a regular file. */
phibal_status file_read_all(const char *path, text_buffer *buffer);
/* The same of one with at most `most` bytes; *bytes is how many it has, and where they are more,
   nothing is read. */
phibal_status file_read_most(const char *path, size_t most, text_buffer *buffer, size_t *bytes);
/* Maps a regular file for reading; *mapping is null if it is empty, or on failure (PHIBAL_ERROR_IO,
   PHIBAL_ERROR_FORMAT for what is no regular file). Where the file becomes shorter later, reading
   what is gone ends the process, with exit status 2 and a line that names it. */
phibal_status file_map(const char *path, void **mapping, size_t *bytes);
void file_unmap(void *mapping, size_t bytes); /* accepts null */
/* False with errno set. */
bool file_write_all(int fd, const void *data, size_t bytes);

/* Whether `path` is no file that could be replaced, but one to write into: a device, a pipe, a
   socket, /dev/stdout. */
bool file_is_device(const char *path);
/* Whether a command may write its result to `path`; asked before the work is done. A file that is
   there and not empty is replaced only with `overwrite`, or where `own` is among its first 1024
   bytes: what every file of the command's own kind has there (null: nothing). Otherwise
   PHIBAL_ERROR_ARGUMENT, one line, as where a folder is there, or no folder to write in. A device
   is written into. */
phibal_status file_may_write(const char *path, bool overwrite, const char *own);
/* The same for a folder: one that is not there, is empty, or `overwrite`. The advice ends the line.
 */
phibal_status folder_may_write(const char *path, bool overwrite, const char *advice);

/* A new file beside `path`, open for writing, whose name (to be freed) starts with a dot. A
   device is opened itself, and *temporary is null. */
phibal_status file_create_temporary(const char *path, char **temporary, int *fd);
/* Waits until the disk has it, where there is a disk; false with errno set. */
bool file_sync(int fd);
/* Renames a finished file to its name and makes the rename durable; null: there is nothing to
   rename. */
phibal_status file_publish(const char *temporary, const char *path);
/* Writes a whole file beside `path`, to be published; its name is to be freed. */
phibal_status file_write_temporary(const char *path, const void *data, size_t bytes,
                                   char **temporary);
/* Writes a whole file through a temporary name. */
phibal_status file_write(const char *path, const void *data, size_t bytes);

/* A finished file and its name; or null, for a name that is to be no file's. */
typedef struct finished_file {
  const char *temporary, *path;
} finished_file;
/* Gives all their names, or none: after an error, what was there before is there again. */
phibal_status files_publish(const finished_file *files, size_t count);

/* Writes a file that nothing depends on if the machine stops: in place, not waiting for the disk.
 */
phibal_status file_write_scratch(const char *path, const void *data, size_t bytes);

/* Creates a folder and the ones above it. */
phibal_status folder_create(const char *path);
/* Whether there is folder/name, of any kind. */
bool folder_has(const char *folder, const char *name);
/* Appends the regular files under `path` (or `path` itself if it is one), recursively, sorted by
   the bytes of their names. Inside a folder, names that begin with a dot and symbolic links are
   left out (a link could lead round in a circle, or to the same text twice). */
phibal_status folder_files(const char *path, string_list *files);

/* The same, with links followed: to files and to folders, each of which is taken once however many
   names lead to it, so that circles end. What was left out is counted, or named. All zeros is
   nothing. */
typedef struct folder_left_out {
  int64_t hidden;       /* names that begin with a dot */
  int64_t again;        /* other names of what was taken already */
  string_list broken;   /* broken links */
  string_list no_files; /* pipes, sockets and devices */
} folder_left_out;
phibal_status folder_files_linked(const char *path, string_list *files, folder_left_out *left_out);
void folder_left_out_free(folder_left_out *left_out);

/* Removes a folder and all in it, as far as that is possible. */
void folder_remove(const char *path);

#endif
