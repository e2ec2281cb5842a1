/* What a plugin's process may have left in the memory that phibal reads its answer from: anything.
   The first byte chooses an operation, the second a case; then come writes, each of an offset
   (three bytes), a length and as many bytes. The answer is refused with a message, or it is what
   the memory holds, and the case's inputs are what they were. What the process said of itself when
   it was loaded is in that memory, too. */
#include "verify/backend_plugin.c"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static plugin p = {.path = "./input.so", .name = "input", .memory = -1};
  if (size < 2) return 0;
  if (p.memory < 0) {
    p.memory = memfd_create("input", MFD_CLOEXEC);
    FUZZ_REQUIRE(p.memory >= 0 && map_memory(&p, (size_t)1 << 20), "no memory");
  }
  operation_case c;
  FUZZ_REQUIRE(
      !operation_make(&operations[data[0] % operation_count], 1, SMALL_CASES + data[1], &c), "%s",
      phibal_status_message());
  placed place[2 * CASE_TENSORS];
  memset(p.shared, 0, sizeof *p.shared);
  p.operations = 1;
  snprintf(p.operation[0].name, WIRE_NAME, "%s", c.operation->name);
  FUZZ_REQUIRE(!write_case(&p, &c, place), "%s", phibal_status_message());
  for (size_t at = 2; at + 4 <= size;) {
    const size_t to = (size_t)data[at] | (size_t)data[at + 1] << 8 | (size_t)data[at + 2] << 16;
    size_t n = data[at + 3];
    at += 4;
    if (n > size - at) n = size - at;
    if (to < p.bytes) memcpy((char *)p.shared + to, data + at, n < p.bytes - to ? n : p.bytes - to);
    at += n;
  }
  if (read_case(&p, &c, place)) {
    FUZZ_REQUIRE_MESSAGE();
  } else {
    for (int i = 0; i < c.input_count + c.output_count; i++)
      FUZZ_REQUIRE(!place[i].bytes ||
                       !memcmp(place[i].from->data, (char *)p.shared + place[i].at, place[i].bytes),
                   "%s is not what the memory has", place[i].from->name);
  }
  operation_case_clear(&c);
  if (read_description(&p)) FUZZ_REQUIRE_MESSAGE();
  FUZZ_REQUIRE(p.operations >= 0 && p.operations <= WIRE_OPERATIONS, "%d", p.operations);
  FUZZ_REQUIRE(memchr(p.name, 0, sizeof p.name) && memchr(p.device, 0, sizeof p.device), "no end");
  for (const char *at = p.name; *at; at++) FUZZ_REQUIRE(!iscntrl((unsigned char)*at), "%d", *at);
  return 0;
}
