"""convert(): the modules of a model that warpwright has, in the place of the model's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable

if TYPE_CHECKING:
    import torch

    from ._torch_convert import Conversion


def convert(model: torch.nn.Module, precision: str = "bf16", *, leave: Iterable[str] = ()) -> Conversion:
    """Replaces linears, gated MLPs and experts of a model, in place; the result says what, and what was left and why.

    precision    'bf16': weights stay as they are (fp16 ones too); 'fp8-blockwise': they become e4m3 with a factor for
                 each 128 x 128, and what comes in is quantized with one for each 1 x 128. The output head and weights
                 that others share stay then
    leave        names of modules that are not touched; '*' stands for anything

    Modules are known by what they are made of and compute, not by their class. The names and shapes in ``state_dict()``
    stay. ``undo()`` of the result puts the very modules back; until it is dropped they are kept. Convert a model before
    its parameters are given to an optimizer: gates and ups become one parameter.

        report = warpwright.convert(model, precision="fp8-blockwise")
        print(report)
        report.undo()
    """
    from ._torch_convert import convert_model

    return convert_model(model, precision, tuple(leave))
