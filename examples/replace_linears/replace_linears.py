"""A small Llama with random weights before and after its linears are replaced; on a GPU, if there is one."""
import torch
import transformers
import warpwright

torch.manual_seed(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
config = transformers.LlamaConfig(vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=2,
                                  num_attention_heads=4, num_key_value_heads=2)
model = transformers.LlamaForCausalLM(config).to(device, torch.bfloat16).eval()
tokens = torch.arange(64, device=device).view(2, 32)

with torch.no_grad():
    before = model(tokens).logits.float()
    for precision in ("bf16", "fp8-blockwise"):
        report = warpwright.convert(model, precision)
        print(report)
        after = model(tokens).logits.float()
        print(f"the logits differ by {float((after - before).norm() / before.norm()):.1%}\n")
        report.undo()
    assert torch.equal(model(tokens).logits.float(), before)
