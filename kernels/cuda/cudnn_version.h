/* For meson, which reads what the preprocessor makes of the last line. */
#include <cudnn.h>
CUDNN_MAJOR.CUDNN_MINOR.CUDNN_PATCHLEVEL
