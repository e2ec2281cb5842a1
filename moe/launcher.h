/* What started this process as one of several, by the environment: torchrun, and whatever sets the
   same variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT), or srun. */
#ifndef PHIBAL_MOE_LAUNCHER_H
#define PHIBAL_MOE_LAUNCHER_H

#include <phibal/status.h>
#include <stddef.h>
#include <stdint.h>

typedef struct launcher {
  int32_t rank, ranks; /* ranks is 0 where nothing says that there are several */
  int32_t local;       /* which of its machine's processes this is */
  char host[256];      /* where rank 0 listens; empty for one rank */
  int port;
  uint64_t job; /* the same number for all processes of a job, another one for most others */
} launcher;

/* RANK and WORLD_SIZE win over Slurm's variables. Slurm's count in a step of srun only: a batch
   script has SLURM_PROCID and SLURM_NTASKS too, and is one process. MASTER_ADDR and MASTER_PORT
   stand for Slurm's nodes and a port from the job's number where they are set.
   PHIBAL_ERROR_ARGUMENT names a variable that is missing or makes no sense. */
phibal_status launcher_find(launcher *l);

/* The first host of a Slurm list, as node[007-012,20],gpu1: node007. PHIBAL_ERROR_ARGUMENT if there
   is none, or if it does not fit. */
phibal_status launcher_first_host(const char *list, char *host, size_t size);

#endif
