/* Gathers the inline functions of the selection, so that WP reads them. */
/* Infinity as compilers have it. Nothing that is proved here calls it. */
/*@ terminates \true;
    exits \false;
    assigns \nothing; */
float __builtin_inff(void);
#include "cpu/select.h"
