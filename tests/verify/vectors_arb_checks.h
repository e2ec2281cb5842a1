/* What Arb says of a case, by operation: each compares every expected value it can speak of. */
#ifndef PHIBAL_TESTS_VECTORS_ARB_CHECKS_H
#define PHIBAL_TESTS_VECTORS_ARB_CHECKS_H

#include "vectors_arb.h"

void check_router_forward(vector_case *c);
void check_loads_alone(vector_case *c);
void check_router_backward(vector_case *c);
void check_price(vector_case *c);
void check_ema(vector_case *c);
void check_losses(vector_case *c);
void check_sequence_loss(vector_case *c);
void check_z_loss(vector_case *c);
void check_frequencies(vector_case *c);
void check_step(vector_case *c);
void check_permutation(vector_case *c);
void check_combine(vector_case *c);
void check_expert_ffn(vector_case *c);
void check_metrics(vector_case *c);

#endif
