/* Files that appear all at once or not at all, and what may be replaced. */
#include "tests/data_files.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *folder;

static void setup(void) {
  folder = scratch_folder();
  cr_assert_eq(chdir(folder), 0);
}

static void teardown(void) {
  folder_remove(folder);
  free(folder);
}

TestSuite(file, .init = setup, .fini = teardown);

static bool holds(const char *path, const char *wanted) {
  text_buffer text = {0};
  const bool read = !file_read_all(path, &text) && !text_buffer_append(&text, "", 1);
  const bool same = read && !strcmp(text.bytes, wanted);
  text_buffer_free(&text);
  return same;
}

static bool may(const char *path, bool overwrite, const char *own) {
  return !file_may_write(path, overwrite, own);
}

Test(file, what_is_there_is_replaced_only_when_asked_for) {
  cr_expect(may("new", false, NULL) && may("./new", false, "x"));
  put_text(".", "old", "something");
  cr_expect(!may("old", false, NULL) && message_has("old already exists; --overwrite"));
  cr_expect(may("old", true, NULL));
  put_text(".", "empty", "");
  cr_expect(may("empty", false, NULL));
  /* A folder never, a folder that is missing neither. */
  cr_expect(!may(".", true, NULL) && message_has("is a folder"));
  cr_expect(!may("no/new", true, NULL) && message_has("no folder 'no'"));
  cr_expect(!may("", true, NULL));
  /* A link is something, wherever it leads; it is neither followed nor replaced. */
  cr_assert(!symlink("old", "link") && !symlink("nowhere", "broken") &&
            !symlink("empty", "hollow"));
  cr_expect(!may("link", false, NULL) && !may("broken", false, NULL) &&
            !may("hollow", false, NULL));
  cr_expect(!may("link", true, NULL) && message_has("link is a symbolic link"));
  cr_expect(!may("broken", true, NULL) && !may("link", false, "some"));
}

/* What a killed process leaves is what the next one begins with; what is somebody's is not. */
Test(file, one_temporary_file_beside_each) {
  char *first, *second;
  int one, two;
  for (int i = 0; i < 3; i++) {
    const pid_t child = fork();
    if (!child) {
      if (file_create_temporary("out", &first, &one) || !file_write_all(one, "half", 4)) _exit(1);
      kill(getpid(), SIGKILL);
    }
    int ended;
    cr_assert_eq(waitpid(child, &ended, 0), child);
    cr_assert(WIFSIGNALED(ended));
    cr_expect_eq(count_names("."), 1, "%d", count_names("."));
  }
  must(file_write("out", "whole", 5));
  cr_expect(holds("out", "whole"));
  cr_expect_eq(count_names("."), 1);
  /* Two at once, as two processes would. */
  must(file_create_temporary("out", &first, &one));
  must(file_create_temporary("out", &second, &two));
  cr_expect_str_neq(first, second);
  cr_assert(file_write_all(one, "first", 5) && file_write_all(two, "second", 6));
  close(one), close(two);
  /* Closed, and still its maker's. */
  must(file_write("out", "third", 5));
  cr_expect(holds(first, "first") && holds(second, "second"));
  must(file_publish(second, "out"));
  cr_expect(holds("out", "second"));
  must(file_publish(first, "out"));
  cr_expect(holds("out", "first"));
  free(first), free(second);
  cr_expect_eq(count_names("."), 1);
  /* A trap under the name: a link, a second name of another file, a pipe. */
  put_text(".", "mine", "mine");
  for (int trap = 0; trap < 3; trap++) {
    cr_assert(trap == 0   ? !symlink("mine", ".out.new")
              : trap == 1 ? !link("mine", ".out.new")
                          : !mkfifo(".out.new", 0600));
    must(file_write("out", "again", 5));
    cr_expect(holds("out", "again") && holds("mine", "mine"), "%d", trap);
    cr_assert_eq(unlink(".out.new"), 0);
  }
}

Test(file, a_report_replaces_one_of_its_kind) {
  char late[2048];
  memset(late, ' ', sizeof late - 1);
  strcpy(late + sizeof late - 8, "<kind>");
  put_text(".", "own", "begins with <kind>");
  put_text(".", "other", "begins with <kin");
  put_text(".", "late", late);
  cr_expect(may("own", false, "<kind>"));
  cr_expect(!may("other", false, "<kind>") && message_has("another kind"));
  cr_expect(!may("late", false, "<kind>"));
  cr_expect(may("other", true, "<kind>"));
}

Test(file, a_folder_with_anything_in_it_is_left_alone) {
  cr_expect(!folder_may_write("new", false, "x"));
  must(folder_create("some"));
  cr_expect(!folder_may_write("some", false, "x"));
  put_text("some", ".hidden", "x");
  cr_expect(folder_may_write("some", false, "do something") && message_has("do something"));
  cr_expect(!folder_may_write("some", true, "x"));
  put_text(".", "file", "x");
  cr_expect(folder_may_write("file", true, "x"));
}

/* As root, a rename would put a regular file in a device's place. */
Test(file, a_device_is_written_into) {
  struct stat info;
  must(file_may_write("/dev/null", false, "x"));
  must(file_write("/dev/null", "text", 4));
  cr_assert(!stat("/dev/null", &info) && S_ISCHR(info.st_mode));
  cr_expect_eq(file_write("/dev/full", "text", 4), PHIBAL_ERROR_IO);
  cr_assert(!symlink("/dev/null", "link"));
  must(file_write("link", "text", 4));
  cr_assert(!lstat("link", &info) && S_ISLNK(info.st_mode));
  cr_assert(!mkfifo("pipe", 0600));
  int fd = open("pipe", O_RDONLY | O_NONBLOCK);
  char got[8] = "";
  must(file_may_write("pipe", false, NULL));
  must(file_write("pipe", "text", 4));
  cr_assert_eq(read(fd, got, sizeof got), 4);
  cr_expect_str_eq(got, "text");
  close(fd);
  cr_expect_eq(file_write("pipe", "text", 4), PHIBAL_ERROR_IO);
  cr_expect(message_has("no process reads"));
  cr_assert(!lstat("pipe", &info) && S_ISFIFO(info.st_mode));
}

Test(file, several_files_appear_together) {
  put_text(".", "a", "old a");
  put_text(".", "b", "old b");
  put_text(".", "t1", "new a");
  put_text(".", "t2", "new c");
  must(files_publish((finished_file[]){{"t1", "a"}, {NULL, "b"}, {"t2", "c"}, {NULL, "d"}}, 4));
  cr_expect(holds("a", "new a") && holds("c", "new c") && access("b", F_OK) && access("d", F_OK));
  cr_expect_eq(count_names("."), 2);
}

/* Whichever of them cannot be named: all is as it was. */
Test(file, or_none_of_them_does) {
  put_text(".", "a", "old a");
  put_text(".", "b", "old b");
  for (int bad = 0; bad < 4; bad++) {
    put_text(".", "t1", "new a");
    put_text(".", "t2", "new c");
    finished_file files[] = {{"t1", "a"}, {NULL, "b"}, {"t2", "c"}};
    if (bad < 3)
      files[bad].temporary = "missing";
    else
      files[2].path = "no/such/folder";
    cr_expect_eq(files_publish(files, 3), PHIBAL_ERROR_IO, "%d", bad);
    cr_expect(holds("a", "old a") && holds("b", "old b") && access("c", F_OK), "%d", bad);
    unlink("t1");
    unlink("t2");
    cr_expect_eq(count_names("."), 2, "%d", bad);
  }
}
