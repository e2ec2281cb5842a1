/* Text out of files of other people: the first byte chooses the kind of file. */
#include "moe/data/extract.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const extract_function kinds[] = {extract_plain, extract_manual, extract_dictionary,
                                           extract_wordnet};
  enum { KINDS = sizeof kinds / sizeof *kinds };
  if (!size) return 0;
  text_buffer file = {0};
  extract found = {0};
  FUZZ_REQUIRE(!text_buffer_append(&file, data + 1, size - 1), "out of memory");
  phibal_status status = PHIBAL_OK;
  if (data[0] % (KINDS + 1) == KINDS)
    status = extract_gunzip(&file, "input");
  else
    status = kinds[data[0] % (KINDS + 1)](&file, "input", &found);
  if (status) FUZZ_REQUIRE_MESSAGE();
  for (size_t i = 0; i < found.count; i++) {
    FUZZ_REQUIRE(found.documents[i].bytes >= EXTRACT_LEAST &&
                     found.documents[i].bytes <= EXTRACT_MOST,
                 "%zu bytes", found.documents[i].bytes);
    free(fuzz_bytes((uint8_t *)found.documents[i].text, found.documents[i].bytes));
  }
  if (!status) FUZZ_REQUIRE(!extract_choose(&found, 1000), "%s", phibal_status_message());
  extract_free(&found);
  text_buffer_free(&file);
  return 0;
}
