/* Certificates: each is refused, found wanting, or holds, which is an exit status. The kernels are
   not run: a certificate that names cases gets the answer that they cannot be. */
#include "cli/certificate.h"
#include "target.h"

static phibal_status refuse(void *context, operation_case *c) {
  (void)context;
  (void)c;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "not run");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static FILE *nowhere;
  if (!nowhere) nowhere = freopen("/dev/null", "w", stdout);
  static const backend none = {.name = "cpu", .run = refuse};
  int status = certificate_check(fuzz_file("certificate.json", data, size), &none);
  FUZZ_REQUIRE(status >= 0 && status <= 2, "%d", status);
  return 0;
}
