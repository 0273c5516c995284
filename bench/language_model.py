"""A model of transformers with random weights before and after warpwright.convert: tokens a second of decoding and prefill.

Both sides run the same compiled forward pass in a CUDA graph, on the same weights; how it is measured is in peer.py. What the logits
differ by is relative to their size.

Usage: language_model.py OUT.json [--models NAME,...] [--layers 8] [--rounds 4] [--burst 0.3] [--max-seconds S]
                         [--device cuda|cpu] [--eager]
OUT.json keeps the rows that it has. --eager: without torch.compile.
"""
import argparse
import gc
import pathlib
import statistics
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "python")]
from peer import Cpu, Gpu, Rows, alternate, geomean
from peer import main as run_main

CONTEXT, PREFILL = 512, 2048
DECODE = (1, 8, 64, 200)
MODELS = {
    "llama-3-8b": ("Llama", dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8,
                                 vocab_size=128256)),
    "qwen3-8b": ("Qwen3", dict(hidden_size=4096, intermediate_size=12288, num_attention_heads=32, num_key_value_heads=8,
                               head_dim=128, vocab_size=151936)),
    "mixtral-8x7b": ("Mixtral", dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
                                     num_key_value_heads=8, num_local_experts=8, num_experts_per_tok=2, vocab_size=32000)),
    "qwen3-30b-a3b": ("Qwen3Moe", dict(hidden_size=2048, intermediate_size=6144, moe_intermediate_size=768,
                                       num_attention_heads=32, num_key_value_heads=4, head_dim=128, num_experts=128,
                                       num_experts_per_tok=8, vocab_size=151936)),
}
SMALL = dict(hidden_size=256, intermediate_size=512, num_attention_heads=4, num_key_value_heads=2, vocab_size=512,
             moe_intermediate_size=128, num_local_experts=4, num_experts=4, num_experts_per_tok=2, head_dim=64)


def build(torch, transformers, name, options):
    kind, extents = MODELS[name]
    if options.device == "cpu":
        extents = {key: SMALL[key] for key in extents}
    config = getattr(transformers, kind + "Config")(**extents, num_hidden_layers=options.layers, tie_word_embeddings=False,
                                                    max_position_embeddings=4096)
    torch.manual_seed(1)
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(options.device):  # weights are drawn where they stay: on a CPU that takes most of the time
            return getattr(transformers, kind + "ForCausalLM")(config).eval()
    finally:
        torch.set_default_dtype(usual)


class Step:
    """One forward pass: of one token after a context, or of a whole prompt."""

    def __init__(self, torch, transformers, model, batch, tokens, options):
        config, device = model.config, options.device
        self.torch, self.model = torch, model
        self.ids = torch.randint(config.vocab_size, (batch, tokens), device=device)
        self.named, self.lengths = {"use_cache": False}, None
        if tokens == 1:
            self.context = CONTEXT if device == "cuda" else 16
            cache = transformers.StaticCache(config=config, max_cache_len=self.context + 8)
            with torch.no_grad():
                for begin in range(0, self.context, 64):
                    place = torch.arange(begin, min(begin + 64, self.context), device=device)
                    prompt = torch.randint(config.vocab_size, (batch, len(place)), device=device)
                    model(prompt, past_key_values=cache, cache_position=place, use_cache=True, logits_to_keep=1)
            # Where a cache counts its tokens itself, each step begins after the context again.
            self.lengths = torch.full((len(cache.layers),), self.context, device=device)
            for i, layer in enumerate(cache.layers):
                if hasattr(layer, "cumulative_length"):
                    layer.cumulative_length = self.lengths[i]
            place = torch.tensor([self.context], device=device)
            self.named = {"past_key_values": cache, "cache_position": place, "use_cache": True,
                          "position_ids": place.expand(batch, 1)}
        self.forward = model.forward if options.eager else torch.compile(model.forward, dynamic=False)

    def __call__(self, _=0):
        with self.torch.no_grad():
            if self.lengths is not None:
                self.lengths.fill_(self.context)
            return self.forward(self.ids, logits_to_keep=1, **self.named).logits


def settled(step, times=3):
    for _ in range(times):
        logits = step()
    return logits.float().clone()


def build_pair(torch, transformers, name, change, options):
    """A model before and after the change, and the bytes of each. Two models with the same weights: a graph remembers
    addresses, and what is converted may hand memory back."""
    models, memory = [], []
    for is_changed in (False, True):
        before = torch.cuda.memory_allocated() if options.device == "cuda" else 0
        models.append(build(torch, transformers, name, options))
        if is_changed:
            change(models[-1])
        memory.append(torch.cuda.memory_allocated() - before if options.device == "cuda" else 0)
    return models, memory


def time_pair(torch, transformers, gpu, models, weights, batch, tokens, options):
    """Microseconds before and after, the logits of both and the memory that each needs with its weights."""
    graphs, steps, logits, memory = [], [], [], []
    on_gpu = options.device == "cuda"
    for model, held in zip(models, weights):
        before = torch.cuda.memory_allocated() if on_gpu else 0
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        step = Step(torch, transformers, model, batch, tokens, options)
        if steps:  # the same tokens and the same context
            step.ids.copy_(steps[0].ids)
            if "past_key_values" in step.named:
                copy_cache(steps[0].named["past_key_values"], step.named["past_key_values"])
        steps.append(step)
        logits.append(settled(step))
        graphs.append(gpu.capture(lambda _, step=step: step(), 1))
        memory.append(held + torch.cuda.max_memory_allocated() - before if on_gpu else 0)
    rounds = alternate(lambda who, turn: gpu.burst(graphs[who], 1, options.burst), options.rounds)
    return [statistics.median(r[who] for r in rounds) for who in range(2)], logits, memory


def copy_cache(source, target):
    for mine, other in zip(source.layers, target.layers):
        other.keys.copy_(mine.keys)
        other.values.copy_(mine.values)


def run(options):
    import torch
    import transformers
    import warpwright

    torch._dynamo.config.cache_size_limit = 64
    gpu = (Gpu if options.device == "cuda" else Cpu)(torch)
    out = Rows(options.out, {"command": "bench/language_model.py", "device": gpu.device, "torch": torch.__version__,
                             "transformers": transformers.__version__, "context": CONTEXT, "layers": options.layers,
                             "ratio": "tokens a second after over before", "difference": "of the logits, relative"},
               options.max_seconds)
    for name in options.models.split(","):
        cases = [("decode", batch, 1) for batch in DECODE] + [("prefill", 1, PREFILL if options.device == "cuda" else 64)]
        for precision in ("bf16", "fp8-blockwise"):
            models = None
            for kind, batch, tokens in cases:
                key = {"model": name, "precision": precision, "kind": kind, "batch": batch}
                if not out.missing(**key):
                    continue
                if models is None:
                    models, weights = build_pair(torch, transformers, name,
                                                 lambda m, p=precision: warpwright.convert(m, p), options)
                times, logits, memory = time_pair(torch, transformers, gpu, models, weights, batch, tokens, options)
                off = float((logits[1] - logits[0]).norm() / logits[0].norm())
                out.add(**key, us=round(times[1], 2), peer_us=round(times[0], 2), ratio=round(times[0] / times[1], 4),
                        tokens_per_s=round(batch * tokens / times[1] * 1e6, 1), difference=round(off, 5),
                        memory=memory[1], peer_memory=memory[0])
                torch._dynamo.reset()
                gc.collect()
                if options.device == "cuda":
                    torch.cuda.empty_cache()
    for precision in ("bf16", "fp8-blockwise"):
        ratios = [row["ratio"] for row in out.rows if row["precision"] == precision]
        print(f"{precision}: geometric mean {geomean(ratios)}, least {min(ratios, default=0)}, of {len(ratios)}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("out")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--burst", type=float, default=0.3)
    parser.add_argument("--max-seconds", type=float, default=0)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--eager", action="store_true")
    return run_main(run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
