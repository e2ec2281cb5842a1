/* The order in which a run reads its data: windows of S tokens from many shards, shuffled, and
   mixed by domain. A pure function of (corpus, S, seed, weights, index), so the number of sequences
   read is enough to reproduce and resume a run.

   A stretch is a shard, or with weights a run of documents of one domain in one shard. Windows
   never cross stretches: window w of a stretch holds its tokens w S .. w S + S
   - 1, the next tokens as targets. A file whose documents are examples (token_file.learned) has a
   stretch for each window: as many consecutive whole examples as fit into S tokens; longer ones are
   skipped. They are isolated as with boundaries, and only masked tokens are targets. Without
   weights each window is used once per epoch, in an order given by the seed and the epoch. With
   weights each domain has its own windows, epochs and order, and sequence i comes from the domain
   furthest below its weight: the largest w_d (i + 1) - n_d, n_d being its sequences so far; of
   equals the first. So the first n sequences have w_d n of domain d, up to the number of domains; a
   domain that is small for its weight is read more often. */
#ifndef PHIBAL_MOE_MIXTURE_H
#define PHIBAL_MOE_MIXTURE_H

#include "corpus.h"

typedef struct mixture_stretch {
  int32_t shard;
  int64_t start, end; /* tokens of the shard */
  int64_t windows;    /* of the stretches before it */
} mixture_stretch;

/* How examples were packed into windows. */
typedef struct mixture_examples {
  int64_t windows, examples, tokens; /* tokens of the examples in the windows */
  int64_t left_out;                  /* examples longer than a window */
} mixture_examples;

typedef struct mixture_part {
  double weight; /* they add up to 1 */
  int64_t windows, stretches;
  mixture_stretch *stretch; /* [stretches] */
  int64_t taken;
  mixture_examples examples;
} mixture_part;

typedef struct mixture {
  const corpus *corpus;
  int32_t sequence;
  uint64_t seed;
  bool boundaries;
  bool apart; /* some windows have documents that are kept apart: `starts` says where */
  mixture_examples examples; /* of all parts */
  int32_t parts;
  mixture_part *part;
  int64_t next;            /* how many sequences have been handed out: what `taken` counts */
  int64_t change;          /* sequences from here on are those of `changed`, from its first */
  struct mixture *changed; /* null: none */
} mixture;

/* weights: "name=weight,..." for domains of the corpus, the others are not used; "": none. Weights
   are numbers above 0, of any sum. boundaries: isolates the documents of a window.
   PHIBAL_ERROR_ARGUMENT: sequence < 1, only examples that are longer, an unknown or repeated
   domain, no weight, or no window with a target. */
phibal_status mixture_create(const corpus *c, int32_t sequence, uint64_t seed, const char *weights,
                             bool boundaries, mixture *m);
/* Changes the domains for good: sequence `from` + i is what sequence i of a mixture of its own with
   these weights is ("": without weights), so that a domain of both begins again with its first
   window. Once, of a mixture that has handed out nothing yet. PHIBAL_ERROR_ARGUMENT as above;
   PHIBAL_ERROR_UNSUPPORTED: the data have examples. */
phibal_status mixture_change(mixture *m, int64_t from, const char *weights);
void mixture_destroy(mixture *m);

/* Sequence `index`; ascending order is free, any other order counts again from the first.
   tokens, targets [S]; past the end of a stretch tokens are -1, padding. A target is -1 there, at
   the stretch's last token and, with boundaries, where the next token begins another document:
   such a token is still read. starts [S] (may be null): the first position of the window
   that position i may see: 0, or with boundaries where its document begins. */
void mixture_sequence(mixture *m, int64_t index, int32_t *tokens, int32_t *targets,
                      int32_t *starts);

/* The next window of a file's examples: consecutive documents from *document on, before `last`,
   with up to `sequence` tokens in total, *start .. *end - 1. Longer ones are skipped. Advances
   *document and counts; false if none is left. */
bool mixture_pack(const token_file *file, int64_t last, int32_t sequence, int64_t *document,
                  mixture_examples *counts, int64_t *start, int64_t *end);

/* One window: tokens of a file from `at` on, before `end`, filled up to `sequence` with padding. */
void mixture_window(const token_file *file, int64_t at, int64_t end, int32_t sequence,
                    bool boundaries, int32_t *tokens, int32_t *targets, int32_t *starts);

#endif
