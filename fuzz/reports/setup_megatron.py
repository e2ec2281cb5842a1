"""What Megatron's router needs to run on the CPU, in one process: for the reports on megatron-core."""
import os
import tempfile

import torch
from megatron.core import parallel_state
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.transformer.moe import moe_utils, router as routers
from megatron.core.transformer.transformer_config import TransformerConfig

torch.cuda.current_device = lambda: "cpu"
torch.distributed.init_process_group("gloo", init_method="file://" + os.path.join(tempfile.mkdtemp(), "store"), rank=0, world_size=1)
parallel_state.initialize_model_parallel()


class OnCpu(routers.TopKRouter):
    def gating(self, x):  # logits are given, in place of the product with the weights
        return x.float()


def router(E, k, **options):
    config = dict(num_layers=1, hidden_size=E, num_attention_heads=1, num_moe_experts=E, moe_router_topk=k, ffn_hidden_size=4,
                  moe_router_load_balancing_type="none", moe_aux_loss_coeff=0.0, use_cpu_initialization=True, add_bias_linear=False,
                  moe_router_dtype="fp32", moe_token_dispatcher_type="alltoall")
    config.update(options)
    return OnCpu(TransformerConfig(**config), ProcessGroupCollection.use_mpu_process_groups()).train()


def attached(module, logits, padding):
    """The auxiliary loss that a forward pass attaches for training."""
    losses, original = [], moe_utils.MoEAuxLossAutoScaler.forward
    moe_utils.MoEAuxLossAutoScaler.forward = staticmethod(lambda ctx, x, loss: losses.append(loss.item()) or original(ctx, x, loss))
    module(logits.clone().requires_grad_(), padding)
    moe_utils.MoEAuxLossAutoScaler.forward = original
    return sum(losses)
