"""A layer of experts, from routed tokens to their sum, beside the same of torch's ops, and beside our two products alone.

The peer sorts the pairs, gathers the rows, multiplies with torch._grouped_mm, applies SwiGLU by compiled code, multiplies
again, and adds up the rows of each token in the order of its experts. `products` are our two products by groups on rows that
were gathered before. Each side is a CUDA graph; how it is measured is in peer.py.

Usage: moe_layer.py OUT.json [--layers NAME,...] [--tokens N,...] [--rounds 6] [--burst 0.1] [--max-seconds S]
                    [--device cuda|cpu]
OUT.json keeps the rows that it has. Rows of fp8 have no peer, since torch has no such products: only their share.
"""
import argparse
import functools
import pathlib
import statistics
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "python")]
from peer import Cpu, Gpu, Rows, alternate, geomean
from peer import main as run_main

# experts, top k, hidden, intermediate
LAYERS = {"mixtral": (8, 2, 4096, 14336), "qwen3-30b-a3b": (128, 8, 2048, 768), "deepseek-v3/8": (32, 8, 7168, 2048)}
TOKENS = "16,64,256,1024,4096,16384"


def routing(torch, tokens, experts, top_k, kind, device):
    scores = torch.randn(tokens, experts, device=device)
    if kind == "skewed":  # the first experts are asked for much more often
        scores += torch.linspace(4, 0, experts, device=device)
    weights, ids = torch.topk(torch.softmax(scores, -1), top_k)
    return ids.int(), weights / weights.sum(-1, keepdim=True)


class Layer:
    def __init__(self, torch, experts, top_k, hidden, inner, tokens, kind, device):
        make = lambda *shape: (torch.randn(*shape, device=device) / shape[-1]**0.5).to(torch.bfloat16)
        self.torch, self.experts = torch, experts
        self.x = torch.randn(tokens, hidden, device=device).to(torch.bfloat16)
        self.up, self.down = make(experts, 2 * inner, hidden), make(experts, hidden, inner)
        self.ids, self.weights = routing(torch, tokens, experts, top_k, kind, device)
        self.out = torch.empty_like(self.x)

    def sorted(self):
        """Pairs in the order of their experts, where each expert's end, and which row each pair has."""
        torch, flat = self.torch, self.ids.flatten()
        ordered, pairs = torch.sort(flat, stable=True)
        numbers = torch.arange(self.experts, device=flat.device, dtype=flat.dtype)
        ends = torch.searchsorted(ordered, numbers, right=True, out_int32=True)
        return pairs, ends, torch.argsort(pairs)

    def composed(self, mix, add_up):
        """By torch's ops."""
        torch, top_k = self.torch, self.ids.shape[1]
        pairs, ends, slots = self.sorted()
        rows = self.x[pairs // top_k]
        between = mix(torch._grouped_mm(rows, self.up.transpose(1, 2), offs=ends))
        products = torch._grouped_mm(between, self.down.transpose(1, 2), offs=ends)
        return add_up(products, slots.view(self.ids.shape), self.weights)


def functions(torch, compiled):
    F = torch.nn.functional

    def mix(both):
        gate, up = both.chunk(2, -1)
        return F.silu(gate) * up

    def add_up(products, slots, weights):
        return (products[slots].float() * weights[..., None]).sum(1).to(products.dtype)

    return (torch.compile(mix), torch.compile(add_up)) if compiled else (mix, add_up)


def measured(gpu, sides, options, count):
    """Median microseconds of each side."""
    graphs = [gpu.capture(lambda _, side=side: side(), count) for side in sides]
    rounds = alternate(lambda who, turn: gpu.burst(graphs[who], count, options.burst), options.rounds, len(sides))
    return [statistics.median(r[who] for r in rounds) for who in range(len(sides))]


def our_products(torch, warpwright, layer, narrow):
    """The two products on rows that are there, and the whole layer; in 8 bits with its operands."""
    pairs, ends, _ = layer.sorted()
    offsets = torch.cat([ends.new_zeros(1), ends])
    rows = layer.x[pairs // layer.ids.shape[1]].contiguous()
    if not narrow:
        between = torch.empty(len(rows), layer.down.shape[2], device=rows.device, dtype=torch.bfloat16)
        products = torch.empty(len(rows), layer.down.shape[1], device=rows.device, dtype=torch.bfloat16)

        def alone():
            warpwright.grouped_gemm(rows, layer.up, offsets=offsets, activation="swiglu", out=between)
            warpwright.grouped_gemm(between, layer.down, offsets=offsets, out=products)

        return alone, lambda: warpwright.moe(layer.x, layer.up, layer.down, layer.ids, layer.weights, out=layer.out)
    x, r = warpwright.quantize(layer.x, "token"), warpwright.quantize(rows, "token")
    both = [[warpwright.quantize(m, "block") for m in w] for w in (layer.up, layer.down)]
    up, down = (torch.stack([q.values for q in w]) for w in both)
    up_scale, down_scale = (torch.stack([q.scales for q in w]) for w in both)
    between = torch.empty(len(rows), down.shape[2], device=rows.device, dtype=torch.float8_e4m3fn)
    scales = torch.empty(len(rows), down.shape[2] // 128, device=rows.device)
    products = torch.empty(len(rows), down.shape[1], device=rows.device, dtype=torch.bfloat16)

    def alone():
        warpwright.grouped_gemm(r.values, up, offsets=offsets, a_scale=r.scales, b_scale=up_scale, activation="swiglu",
                                out=between, scales_out=scales)
        warpwright.grouped_gemm(between, down, offsets=offsets, a_scale=scales, b_scale=down_scale, out=products)

    return alone, lambda: warpwright.moe(x.values, up, down, layer.ids, layer.weights, x_scale=x.scales,
                                         w_gate_up_scale=up_scale, w_down_scale=down_scale, out=layer.out)


def run(options):
    import torch
    import warpwright

    on_gpu = options.device == "cuda"
    gpu = (Gpu if on_gpu else Cpu)(torch)
    out = Rows(options.out, {"command": "bench/moe_layer.py", "device": gpu.device, "torch": torch.__version__,
                             "ratio": "time of torch's ops over the layer's", "share": "time of our two products alone, "
                             "on gathered rows, over the layer's"}, options.max_seconds)
    mix, add_up = functions(torch, on_gpu)
    with torch.no_grad():
        for name in options.layers.split(","):
            experts, top_k, hidden, inner = LAYERS[name] if on_gpu else (4, 2, 128, 128)
            for tokens in map(int, options.tokens.split(",")):
                for kind in ("uniform", "skewed"):
                    for dtype in ("bf16", "fp8"):
                        key = {"layer": name, "tokens": tokens, "routing": kind, "dtype": dtype}
                        if not out.missing(**key):
                            continue
                        torch.manual_seed(tokens)
                        layer = Layer(torch, experts, top_k, hidden, inner, tokens, kind, options.device)
                        alone, whole = our_products(torch, warpwright, layer, dtype == "fp8")
                        sides = [whole, alone]
                        if dtype == "bf16" and on_gpu:
                            sides.append(functools.partial(layer.composed, mix, add_up))
                        for side in sides:  # what is compiled, and planned, is so before a capture
                            side()
                            side()
                        row = dict(key)
                        if len(sides) == 3:
                            want, got = layer.composed(mix, add_up).double(), whole().double()
                            row["difference"] = round(float((got - want).norm() / want.norm()), 6)
                            row["wrong"] = not row["difference"] < 2e-2
                        us = measured(gpu, sides, options, 4 if tokens <= 1024 else 1)
                        row.update(us=round(us[0], 3), products_us=round(us[1], 3), share=round(us[1] / us[0], 4))
                        if len(us) == 3:
                            row.update(peer_us=round(us[2], 3), ratio=round(us[2] / us[0], 4))
                        out.add(**row)
                        layer = alone = whole = sides = None  # the next one needs their memory
                        if on_gpu:
                            torch.cuda.empty_cache()
    for field in ("ratio", "share"):
        figures = [row[field] for row in out.rows if field in row]
        print(f"{field}: geometric mean {geomean(figures)}, least {min(figures, default=0)}, of {len(figures)}")
    return 1 if any(row.get("wrong") for row in out.rows) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("out")
    parser.add_argument("--layers", default=",".join(LAYERS))
    parser.add_argument("--tokens", default=TOKENS)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--burst", type=float, default=0.1)
    parser.add_argument("--max-seconds", type=float, default=0)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    return run_main(run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
