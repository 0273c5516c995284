"""Two MLPs, converted and cut over the ranks: torchrun --nproc-per-node 2 examples/tensor_parallel.py"""
import copy
import os

import torch
import torch.distributed as dist
import warpwright
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Block(torch.nn.Module):
    """An MLP as models have it."""

    def __init__(self, hidden, inner):
        super().__init__()
        self.gate_proj = torch.nn.Linear(hidden, inner, bias=False)
        self.up_proj = torch.nn.Linear(hidden, inner, bias=False)
        self.down_proj = torch.nn.Linear(inner, hidden, bias=False)
        self.act_fn = torch.nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


# A GPU for each rank and NCCL; ranks that share a GPU, or have none, talk by gloo.
ranks, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["LOCAL_RANK"])
gpus = torch.cuda.device_count()
device, backend = "cuda" if gpus else "cpu", "nccl" if gpus >= int(os.environ["LOCAL_WORLD_SIZE"]) else "gloo"
if gpus:
    torch.cuda.set_device(rank % gpus)
dist.init_process_group(backend)
mesh = init_device_mesh(device, (ranks,))


def main():
    torch.manual_seed(1)
    one = torch.nn.Sequential(Block(256, 512), Block(256, 512)).to(device, torch.bfloat16)
    warpwright.convert(one)  # first this, then parallelize_module
    many = parallelize_module(copy.deepcopy(one), mesh, {
        "0.gate_up_proj": ColwiseParallel(input_layouts=Shard(1)),      # every rank brings a part of the sequence
        "0.down_proj": RowwiseParallel(output_layouts=Shard(1)),
        "1.gate_up_proj": ColwiseParallel(input_layouts=Shard(1)),
        "1.down_proj": RowwiseParallel()})                              # every rank gets the whole result

    x = torch.randn(2, 32, 256).to(device, torch.bfloat16)
    want = one(x)
    want.sum().backward()
    got = many(x.chunk(ranks, 1)[dist.get_rank()])
    got.sum().backward()

    weight = many[1].down_proj.weight
    line = f"rank {dist.get_rank()}: gate_up_proj {tuple(many[0].gate_up_proj.weight.to_local().shape)} of " \
           f"{tuple(one[0].gate_up_proj.weight.shape)}, down_proj {tuple(weight.to_local().shape)} of {tuple(weight.shape)}"
    lines = [None] * ranks
    dist.all_gather_object(lines, line)
    gradient, wanted = weight.grad.full_tensor(), one[1].down_proj.weight.grad
    if dist.get_rank() == 0:
        print(f"{ranks} ranks on {device} by {backend}", *lines, sep="\n")
        for name, a, b in (("result", got.detach(), want.detach()), ("gradient of down_proj", gradient, wanted)):
            off, largest = float((a - b).abs().max()), float(b.abs().max())
            print(f"{name}: largest difference to one process {off:.6f}, largest number {largest:.4f}")
            assert off <= 2 * ranks * 2**-8 * largest


main()
dist.destroy_process_group()  # when nothing uses it any more
