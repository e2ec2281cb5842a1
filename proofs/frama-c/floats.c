/* True statements about floating-point numbers, from which `false` must not follow; floats_test.py asks. */
#include <model_math.h>
#include <phibal/acsl/floating.h>

/*@ requires \is_finite(x); assigns \nothing; ensures \false; */
void magnitude(float x) {
  //@ assert use_floating;
  double d = fabs((double)x);
}

/*@ assigns \nothing; ensures \false; */
void zeros(void) {
  float x = 0.0f, y = -x;
  double d = x, e = y;
}

/*@ requires \is_NaN(x); assigns \nothing; ensures \false; */
void not_a_number(float x) {
  double d = x;
}

/*@ requires \is_finite(x) && 0x1.fffffep127 < (real)x < 0x1.ffffffp127; assigns \nothing; ensures \false; */
void largest(double x) {
  float f = (float)x;
}
