/* phibal: routing and balancing of mixture-of-experts models. This header has the kernels; the
   reference, which needs MPFR, is <phibal/reference.h> and <phibal/reference_moe.h>. */
#ifndef PHIBAL_H
#define PHIBAL_H

#include <phibal/balance.h>
#include <phibal/capacity.h>
#include <phibal/environment.h>
#include <phibal/expert.h>
#include <phibal/gate_factor.h>
#include <phibal/isa.h>
#include <phibal/metrics.h>
#include <phibal/potential.h>
#include <phibal/quantile.h>
#include <phibal/router.h>
#include <phibal/sinkhorn.h>
#include <phibal/status.h>
#include <phibal/zero_experts.h>

#define PHIBAL_VERSION_MAJOR 0
#define PHIBAL_VERSION_MINOR 1
#define PHIBAL_VERSION_PATCH 0
#define PHIBAL_VERSION "0.1.0"

#endif
