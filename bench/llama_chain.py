"""The linears of a layer of Llama-3-8B one after the other, as decoding and prefill call them, beside torch's.

qkv, o, [gate; up], down, in one CUDA graph for each side. Three sides of ours: `linears`, the four products alone; `plain`,
with silu and the residuals by the same compiled torch code as the peer's; `fused`, with SwiGLU and residuals in the products.
How it is measured is in peer.py; the weights of a layer are seven times the L2.

Usage: llama_chain.py OUT.json [--rows 1,2,...] [--rounds 6] [--burst 0.1] [--max-seconds S] [--device cuda|cpu]
OUT.json keeps the rows that it has.
"""
import argparse
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "python")]
from peer import Cpu, Gpu, Rows, alternate, figures, geomean
from peer import main as run_main

ROWS = "1,2,5,8,16,24,32,48,64,100,128,200,256,512,1000,2048,4096"


class Layer:
    def __init__(self, torch, m, hidden, kv, inner, device):
        make = lambda *shape: (torch.randn(*shape, device=device) / shape[-1]**0.5).to(torch.bfloat16)
        self.x, self.hidden = torch.randn(m, hidden, device=device).to(torch.bfloat16), hidden
        self.qkv, self.o = make(hidden + 2 * kv, hidden), make(hidden, hidden)
        self.gate_up, self.down = make(2 * inner, hidden), make(hidden, inner)


def sides(torch, warpwright, layer, compiled):
    """name -> (ours, torch's), each a function that gives the layer's result."""
    F = torch.nn.functional
    mix = lambda both: F.silu(both.chunk(2, -1)[0]) * both.chunk(2, -1)[1]
    add = lambda a, b: a + b
    if compiled:
        mix, add = torch.compile(mix), torch.compile(add)

    def linears(product):
        q = product(layer.x, layer.qkv)
        o = product(q[:, :layer.hidden], layer.o)
        both = product(o, layer.gate_up)
        return product(both[:, :layer.down.shape[1]], layer.down)

    def plain(product):
        q = product(layer.x, layer.qkv)
        x = add(product(q[:, :layer.hidden], layer.o), layer.x)
        return add(product(mix(product(x, layer.gate_up)), layer.down), x)

    def fused(product):
        q = product(layer.x, layer.qkv)
        x = product(q[:, :layer.hidden], layer.o, residual=layer.x)
        return product(product(x, layer.gate_up, activation="swiglu"), layer.down, residual=x)

    ours = warpwright.gemm
    return {"linears": (lambda: linears(ours), lambda: linears(F.linear)),
            "plain": (lambda: plain(ours), lambda: plain(F.linear)),
            "fused": (lambda: fused(ours), lambda: plain(F.linear))}


def measured(gpu, pair, count, options):
    graphs = [gpu.capture(lambda _, side=side: side(), count) for side in pair]
    return alternate(lambda who, turn: gpu.burst(graphs[who], count, options.burst), options.rounds)


def run(options):
    import torch
    import warpwright

    gpu = (Gpu if options.device == "cuda" else Cpu)(torch)
    extents = (4096, 1024, 14336) if options.device == "cuda" else (256, 64, 512)
    out = Rows(options.out, {"command": "bench/llama_chain.py", "device": gpu.device, "torch": torch.__version__,
                             "hidden, kv, intermediate": extents, "us": "of the four products and what is between them",
                             "ratio": "peer_us / us"}, options.max_seconds)
    with torch.no_grad():
        for m in map(int, options.rows.split(",")):
            torch.manual_seed(m)
            layer = Layer(torch, m, *extents, options.device)
            for name, pair in sides(torch, warpwright, layer, options.device == "cuda").items():
                if not out.missing(m=m, side=name):
                    continue
                results = [side().double() for side in pair for _ in range(2)][1::2]
                off = float((results[0] - results[1]).norm() / results[1].norm())
                count = 4 if m <= 512 else 1
                out.add(m=m, side=name, **figures(measured(gpu, pair, count, options)), difference=round(off, 6), wrong=not off < 2e-2)
    for name in ("linears", "plain", "fused"):
        ratios = [row["ratio"] for row in out.rows if row["side"] == name]
        print(f"{name}: geometric mean {geomean(ratios)}, least {min(ratios, default=0)}, of {len(ratios)}")
    return 1 if any(row["wrong"] for row in out.rows) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("out")
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--burst", type=float, default=0.1)
    parser.add_argument("--max-seconds", type=float, default=0)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    return run_main(run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
