/* Finds the launcher of a multi-process job from the environment: torchrun, or others that set the
   same variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT), or srun. */
#ifndef PHIBAL_MOE_LAUNCHER_H
#define PHIBAL_MOE_LAUNCHER_H

#include <phibal/status.h>
#include <stddef.h>
#include <stdint.h>

enum { LAUNCHER_KEY_BYTES = 32 };

typedef struct launcher {
  int32_t rank, ranks; /* ranks is 0 where nothing says that there are several */
  int32_t local;       /* which of its machine's processes this is */
  char host[256];      /* where rank 0 listens; empty for one rank */
  int port;
  unsigned char key[LAUNCHER_KEY_BYTES]; /* what only the processes of this job have */
} launcher;

/* RANK and WORLD_SIZE override Slurm's variables. Those count only in a step of srun: a batch
   script has SLURM_PROCID and SLURM_NTASKS too, and is one process. MASTER_ADDR and MASTER_PORT, if
   set, replace Slurm's first node and a port from the job id. The key is derived from a shared
   secret and the job's identifiers. The secret is PHIBAL_SECRET, or the contents of the file
   PHIBAL_SECRET_FILE, which nobody else may read; at least 16 characters. Without these torchrun's
   run identifier is used if it is a UUID, as torchrun --standalone draws one.

   PHIBAL_ERROR_ARGUMENT names a missing or invalid variable, or an unusable file;
   PHIBAL_ERROR_UNSUPPORTED: several ranks in a build without libsodium. */
phibal_status launcher_find(launcher *l);

/* The first host of a Slurm list, as node[007-012,20],gpu1: node007. PHIBAL_ERROR_ARGUMENT if there
   is none, or if it does not fit. */
phibal_status launcher_first_host(const char *list, char *host, size_t size);

#endif
