#!/usr/bin/env python3
"""Writes chakra.et beside this file: a Chakra trace as PyTorch's converter has them, byte by byte."""
import pathlib


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([0x80 | value & 0x7F])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def message(value):
    return varint(len(value)) + value


def tensors(*ids):
    return text(1, str([[i, i, 0, 256, 4, "cuda:0"] for i in ids]))


def node(id, name, kind, data=(), control=(), start=0, duration=0, inputs=(), outputs=(), **attributes):
    out = number(1, id) + text(2, name) + number(3, kind)
    out += b"".join(number(4, i) for i in control) + text(5, b"".join(varint(i) for i in data))
    out += number(6, start) + number(7, duration) + text(8, tensors(*inputs)) + text(9, tensors(*outputs))
    for key, value in attributes.items():
        field = 27 if isinstance(value, bool) else 9
        out += text(10, text(1, key) + number(field, value))
    return message(out)


trace = message(text(1, "0.0.4"))
trace += node(1, "process", 1)
trace += node(2, "aten::conv2d", 4, control=[1], duration=40, outputs=[5], is_cpu_op=True)
trace += node(3, "volta_scudnn_128x64", 4, data=[2], start=50, duration=31, inputs=[5], outputs=[6], is_cpu_op=False,
              stream=7, num_ops=4096, tensor_size=2048)
trace += node(4, "aten::relu_", 4, data=[3, 77], start=90, duration=3, inputs=[6], outputs=[6], is_cpu_op=False, stream=7)
trace += node(5, "ncclKernel_AllReduce", 7, data=[4], inputs=[6], is_cpu_op=False, stream=20, comm_type=0, comm_size=1024)
(pathlib.Path(__file__).parent / "chakra.et").write_bytes(trace)
