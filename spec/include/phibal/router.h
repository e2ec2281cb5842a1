/* The router: logits in, routes, gates and loads out, and back. Equations: SPEC.md section R and G.
   Everything here is deterministic: the same bits for any number of threads and any split of a
   batch into calls. Nothing allocates, except phibal_loads_create. */
#ifndef PHIBAL_ROUTER_H
#define PHIBAL_ROUTER_H

#include <phibal/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHIBAL_MAX_EXPERTS 1024
#define PHIBAL_LOAD_LIMBS 6

/* How the weights of the selected experts follow from the logits. */
typedef enum phibal_gate {
  PHIBAL_GATE_TOPK_SOFTMAX,  /* (R3) softmax over the selected logits; for k = 1 the probability */
  PHIBAL_GATE_PROBABILITY,   /* (R4) the probability itself */
  PHIBAL_GATE_SIGMOID,       /* (R5) sigmoid scores, divided by their sum over the selection */
  PHIBAL_GATE_SQRT_SOFTPLUS, /* (R5s) the same of square roots of softplus (DeepSeek-V4) */
} phibal_gate;

/* What experts are selected by, before the bias (R2). */
typedef enum phibal_score {
  PHIBAL_SCORE_OF_GATE,     /* the logit, or the score that the gates are made of (R5), (R5s) */
  PHIBAL_SCORE_PROBABILITY, /* (R2p) the softmax probability (ERNIE 4.5, LongCat) */
} phibal_score;

/* Whether the gates of experts that compute nothing count in the sum that divides the others. */
typedef enum phibal_zero_gates {
  PHIBAL_ZERO_GATES_COUNTED,  /* as any other's: their output is the gate times the token, or 0 */
  PHIBAL_ZERO_GATES_LEFT_OUT, /* (R5z) they are 0, and the sums run over the others (AdaMoE) */
} phibal_zero_gates;

/* By what a group of experts is ranked among the others (R2g). */
typedef enum phibal_group_score {
  PHIBAL_GROUP_NONE,        /* there are no groups */
  PHIBAL_GROUP_LARGEST,     /* its largest score (DeepSeek-V2) */
  PHIBAL_GROUP_TWO_LARGEST, /* the sum of its two largest scores (DeepSeek-V3) */
  PHIBAL_GROUP_SHARE,       /* the sum of its floor(k/g) largest scores (Megatron-LM) */
} phibal_group_score;

/* What the weights of the selected experts are divided by. */
typedef enum phibal_normalisation {
  PHIBAL_NORMALISATION_OF_GATE, /* as the gate says, (R3) to (R5) */
  PHIBAL_NORMALISATION_NONE,    /* (R5n) nothing: scores or probabilities as they are */
  PHIBAL_NORMALISATION_SUM,     /* (R5e) their sum plus epsilon: scores or probabilities */
} phibal_normalisation;

/* Where the selection comes from. */
typedef enum phibal_selection {
  PHIBAL_SELECTION_OF_SCORES, /* (R2), (R2g) */
  PHIBAL_SELECTION_GIVEN,     /* the caller's: recorded routes, or hash routing */
} phibal_selection;

/* The first four members make a router. The others are 0 where they are not set:
   `(phibal_router){.experts = E, .active = k, .gate = gate, .scale = 1}`. */
typedef struct phibal_router {
  int32_t experts;  /* E, 1 .. PHIBAL_MAX_EXPERTS */
  int32_t active;   /* k, 1 .. E */
  phibal_gate gate; /* also chooses the probabilities: softmax (R1), or normalised scores (R1s) */
  float scale;      /* gates are multiplied by this (routed_scaling_factor); 1 to leave them */
  phibal_group_score group_score;
  int32_t groups;        /* G: groups of E/G experts that follow one another; 0 for none */
  int32_t active_groups; /* g, 1 .. G: a token's experts come from its g best groups; 0 for none */
  phibal_normalisation normalisation;
  float epsilon; /* of PHIBAL_NORMALISATION_SUM, at least 0; 0 otherwise */
  phibal_selection selection;
  phibal_score score;
  int32_t zero_experts; /* Z, 0 .. E: the last Z compute nothing (null routes, identities) */
  phibal_zero_gates zero_gates;
} phibal_router;

/* Exact sums over tokens (R6, R7), in fixed point: `probability[e][j]` counts units of 2^(-32 j),
   so a probability is added without any rounding down to 2^-160. The order and the grouping of the
   additions cannot change a bit. After every call the limbs 1..5 are below 2^32 (canonical). */
typedef struct phibal_loads {
  int32_t experts;       /* E */
  int32_t active;        /* k */
  int64_t tokens;        /* tokens counted; padding is not */
  uint64_t *probability; /* [E][PHIBAL_LOAD_LIMBS] */
  int64_t *count;        /* [E] tokens whose selection holds the expert */
} phibal_loads;

phibal_status phibal_loads_create(const phibal_router *router, phibal_loads *loads); /* zeroed */
void phibal_loads_destroy(phibal_loads *loads);
void phibal_loads_clear(phibal_loads *loads);
/* to += from, exactly. PHIBAL_ERROR_ARGUMENT unless E and k agree. */
phibal_status phibal_loads_add(phibal_loads *to, const phibal_loads *from);
/* (R6) mean[E] = sum / tokens, correctly rounded. PHIBAL_ERROR_ARGUMENT if no token was counted. */
phibal_status phibal_loads_mean(const phibal_loads *loads, float *mean);
/* (R7) frequency[E] = count / (k tokens), correctly rounded. PHIBAL_ERROR_ARGUMENT if no token was
   counted, or a count is negative or above k tokens: a frequency above 1. */
phibal_status phibal_loads_frequency(const phibal_loads *loads, float *frequency);

/* Router forward, fused (R1 to R8, with all forms of (R2) and (R5)).
     logits         [T][E]  binary32, all finite
     bias           [E]     added for the selection only: to the logits, to the rounded scores of
                            the gates (R5), (R5s), or to the rounded probabilities (R2p); null for
                            none
     mask           [T]     0 marks padding: experts -1, gates 0, counted in nothing; null for none
     probabilities  [T][E]  out, <= 0.501 ULP, 0 for padding; may be null
     experts        [T][k]  out, by falling score, ties to the lower index; with
                            PHIBAL_SELECTION_GIVEN in: any k different experts of each unmasked
                            token, whose slots keep this order, and -1 is written for padding
     gates          [T][k]  out, <= 0.501 ULP
     logsumexp      [T]     out (R8), <= 0.501 ULP plus 2^-45 (|max x| + log E), 0 for padding; may
                            be null
     loads          in/out: the call's tokens are added; created for the same E and k
   Where the selection is given, a bias is PHIBAL_ERROR_ARGUMENT, and so is a token whose experts
   are not k different ones; gates and gradients have the bits that they had where the same experts
   were selected. No output may overlap an input. PHIBAL_ERROR_NONFINITE (R9) names the first bad
   token and expert; the outputs are then unspecified and `loads` is unchanged. T = 0 is valid. A
   router whose members contradict each other is PHIBAL_ERROR_ARGUMENT. */
phibal_status phibal_router_forward(const phibal_router *router, int64_t tokens,
                                    const float *logits, const float *bias, const uint8_t *mask,
                                    float *probabilities, int32_t *experts, float *gates,
                                    float *logsumexp, phibal_loads *loads);

/* Router backward, fused (G1, G2): the gradient of
     task loss (through the gates) + price_scale T sum_e P_e price_e + z_scale/2 sum_t lse_t^2
   in the logits, with price held constant.
     gate_gradient [T][k] dL/dgates, or null for none
     price         [E]    only price minus its mean matters: the centred price; or null for none
     price_scale   alpha E / T for the phi, Switch and sequence losses, T of the global batch
     z_scale       2 c / T for the z-loss (softmax routers only), 0 for none
     logit_gradient [T][E] out (overwritten); rows of masked tokens are 0
   Bound: |error| <= 1.001 u sum of the absolute values of the terms of (G2), u = 2^-24, where lse
   counts as |max x| + log(sum exp(x - max x)); plus 2^-150. Non-finite logits: as in the forward
   pass. An expert of an unmasked token outside 0 .. E-1 is PHIBAL_ERROR_ARGUMENT, with the first
   such token; logit_gradient is unspecified after either. */
phibal_status phibal_router_backward(const phibal_router *router, int64_t tokens,
                                     const float *logits, const uint8_t *mask,
                                     const int32_t *experts, const float *gate_gradient,
                                     const float *price, double price_scale, double z_scale,
                                     float *logit_gradient);

#ifdef __cplusplus
}
#endif
#endif
