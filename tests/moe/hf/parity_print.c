/* huggingface_parity FOLDER: how far phibal is from what transformers computed with the model of a
   folder that make_fixtures.py has made, as JSON. Without a folder: the architectures that phibal
   has, then those that it does not have, with what it lacks for each, as rows of a table. */
#include "parity.h"

#include "moe/hf/hf_internal.h"
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc == 1) {
    for (int i = 0; i < hf_architecture_count; i++) puts(hf_architectures[i].model_type);
    for (int i = 0; i < hf_foreigner_count; i++)
      printf("| %s | `%s` | %s |\n", hf_foreigners[i].name, hf_foreigners[i].model_types,
             hf_foreigners[i].lacks);
    return 0;
  }
  parity p = {0};
  parity_errors e;
  if (argc != 2) return 2;
  snprintf(p.folder, sizeof p.folder, "%s", argv[1]);
  parity_open_folder(NULL, &p);
  parity_measure(&p, &e);
  printf("{\"logits\": %.9g, \"loss\": %.9g, \"router_logits\": %.9g, \"gates\": %.9g, "
         "\"gradients\": %.9g, \"other_experts\": %d, \"experts\": %d}\n",
         e.logits, e.loss, e.router_logits, e.gates, e.gradients, e.other_experts,
         PARITY_TOKENS * p.config.active * model_moe_layers(p.m));
  parity_close(&p);
  return 0;
}
