/* For meson, which reads what the preprocessor makes of the last line. */
#include <nccl.h>
NCCL_MAJOR.NCCL_MINOR.NCCL_PATCH
