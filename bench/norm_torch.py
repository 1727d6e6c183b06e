#!/usr/bin/env python3
"""RMSNorm with SiLU, softmax and LayerNorm backward in PyTorch, eager and compiled: peers of `tw bench norm` and `softmax`.

Rates count bytes read and written once. Each sample begins with a cold L2 cache; events give the times; the median counts.
"""

import argparse
import statistics

import torch

NORM_WIDTHS = (96, 160, 192, 256, 320, 384, 512, 640, 1024, 4096, 16384)
SOFTMAX_WIDTHS = (1024, 4096, 16384, 32768, 131072)


def rms_norm_silu(x, w):
    norm = torch.nn.functional.rms_norm(x, (x.shape[-1],), w, 1e-6)
    return torch.nn.functional.silu(norm)


def softmax(x):
    return torch.softmax(x, -1)


def layer_norm_backward(g, x, w, b, mean, factor):
    return torch.ops.aten.native_layer_norm_backward(g, x, [x.shape[-1]], mean, factor, w, b, [True, True, True])


def median_ms(call, rounds, flush):
    for _ in range(3):
        call()
    times = []
    for _ in range(rounds):
        flush.zero_()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def report(name, shape, call_of, num_bytes, args):
    for kind in ("eager", "compiled"):
        torch._dynamo.reset()
        call = call_of(torch.compile if kind == "compiled" else lambda f: f)
        ms = median_ms(call, args.rounds, args.flush)
        print(f"{name:<22} {shape:<16} {args.dtype:<5} {kind:<9} {ms:9.4f} ms {1e-6 * num_bytes / ms:9.1f} GB/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elems", type=int, default=1 << 27)
    parser.add_argument("--dtype", choices=("bf16", "f16", "f32"), default="bf16")
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[args.dtype]
    args.flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    for width in NORM_WIDTHS:
        x = torch.randn(args.elems // width, width, dtype=dtype, device="cuda")
        w = torch.randn(width, dtype=dtype, device="cuda")
        report("rms_norm_silu", f"{x.shape[0]}x{width}", lambda wrap: (lambda f: lambda: f(x, w))(wrap(rms_norm_silu)),
               2 * x.numel() * x.element_size(), args)
    for width in SOFTMAX_WIDTHS:
        x = torch.randn(16384, width, device="cuda")
        report("softmax f32", f"16384x{width}", lambda wrap: (lambda f: lambda: f(x))(wrap(softmax)), 8 * x.numel(), args)
    for width in (1024, 4096):
        x = torch.randn(args.elems // width, width, dtype=dtype, device="cuda")
        g, w, b = torch.randn_like(x), torch.randn_like(x[0]), torch.randn_like(x[0])
        _, mean, factor = torch.native_layer_norm(x, [width], w, b, 1e-5)
        report("layer_norm_backward", f"{x.shape[0]}x{width}",
               lambda wrap: (lambda f: lambda: f(g, x, w, b, mean, factor))(wrap(layer_norm_backward)),
               3 * x.numel() * x.element_size(), args)


if __name__ == "__main__":
    main()
