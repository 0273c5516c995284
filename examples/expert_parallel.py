"""Experts that are spread over the ranks: torchrun --nproc-per-node 4 examples/expert_parallel.py"""
import copy
import os

import torch
import torch.distributed as dist
import warpwright
import warpwright.nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import parallelize_module
from warpwright.distributed import ExpertParallel

# A GPU for each rank and NCCL; ranks that share a GPU, or have none, talk by gloo.
ranks, local_rank = int(os.environ["WORLD_SIZE"]), int(os.environ["LOCAL_RANK"])
gpus = torch.cuda.device_count()
device, backend = "cuda" if gpus else "cpu", "nccl" if gpus >= int(os.environ["LOCAL_WORLD_SIZE"]) else "gloo"
if gpus:
    torch.cuda.set_device(local_rank % gpus)
dist.init_process_group(backend)
rank = dist.get_rank()


def off(a, b):
    return f"{float((a - b).detach().abs().max()):.6f} of {float(b.detach().abs().max()):.4f}"


def main():
    hidden, intermediate, experts, top_k = 128, 64, 8, 2
    tokens = [8 * (r + 1) for r in range(ranks)]  # every rank has as many as it likes
    torch.manual_seed(1)
    one = warpwright.nn.Experts(experts, hidden, intermediate, device, torch.bfloat16)
    many = parallelize_module(copy.deepcopy(one), init_device_mesh(device, (ranks,)), ExpertParallel())

    x = torch.randn(sum(tokens), hidden).to(device, torch.bfloat16).requires_grad_()
    topk_weights, topk_ids = torch.topk(torch.softmax(torch.randn(sum(tokens), experts), -1).to(device), top_k)
    want = one(x, topk_ids, topk_weights)
    want.sum().backward()

    mine = slice(sum(tokens[:rank]), sum(tokens[:rank + 1]))
    rows = x[mine].detach().requires_grad_()
    got = many(rows, topk_ids[mine], topk_weights[mine])
    got.sum().backward()

    # The same without modules: the layer of one process, and that of all ranks with this rank's experts.
    with torch.no_grad():
        weights = [w.to_local() for w in (many.gate_up_proj, many.down_proj)]
        layer = warpwright.moe(x, one.gate_up_proj, one.down_proj, topk_ids, topk_weights)
        part = warpwright.distributed.moe(rows, *weights, topk_ids[mine], topk_weights[mine])
    assert torch.equal(part, layer[mine])

    line = f"rank {rank}: {len(rows)} tokens, gate_up_proj {tuple(weights[0].shape)} of {tuple(one.gate_up_proj.shape)}, " \
           f"largest difference to one process {off(got, want[mine])}, of the gradient {off(rows.grad, x.grad[mine])}"
    lines = [None] * ranks
    dist.all_gather_object(lines, line)
    if rank == 0:
        print(f"{ranks} ranks on {device} by {backend}", *lines, sep="\n")


main()
dist.destroy_process_group()  # when nothing uses it any more
