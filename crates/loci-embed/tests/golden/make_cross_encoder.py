"""Writes overlap.onnx, a cross-encoder without weights for tests of the path alone.

Its score of a pair is how many tokens of the first text the second one has, of the one at the end
apart, which all pairs have. Only what ONNX names is used, and no package: the file is written as
protobuf (https://protobuf.dev/programming-guides/encoding/) by the fields of onnx.proto, which
stand beside the numbers below.
"""

import pathlib
import struct

INT64, FLOAT = 7, 1


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name: str, value: int | list[int]) -> bytes:
    """AttributeProto: name 1, i 3, ints 8, type 20 (INT 2, INTS 7)."""
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, item) for item in value) + field(20, 7)


def node(operator: str, inputs: list[str], output: str, **attributes: int | list[int]) -> bytes:
    """NodeProto: input 1, output 2, op_type 4, attribute 5."""
    fields = [field(1, name) for name in inputs] + [field(2, output), field(4, operator)]
    fields += [field(5, attribute(name, value)) for name, value in attributes.items()]
    return b"".join(fields)


def tensor(name: str, kind: int, dims: list[int], data: bytes) -> bytes:
    """TensorProto: dims 1, data_type 2, name 8, raw_data 9."""
    return b"".join(field(1, size) for size in dims) + field(2, kind) + field(8, name) + field(9, data)


def value(name: str, kind: int, dims: list[int | str]) -> bytes:
    """ValueInfoProto: name 1, type 2; TypeProto: tensor_type 1; Tensor: elem_type 1, shape 2;
    TensorShapeProto: dim 1; Dimension: dim_value 1, dim_param 2."""
    sizes = b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, sizes)))


NODES = [
    node("Unsqueeze", ["input_ids", "last"], "rows"),
    node("Unsqueeze", ["input_ids", "middle"], "columns"),
    node("Equal", ["rows", "columns"], "are_equal"),
    node("Cast", ["are_equal"], "equal", to=FLOAT),
    node("Cast", ["token_type_ids"], "second", to=FLOAT),
    node("Cast", ["attention_mask"], "read", to=FLOAT),
    node("Sub", ["read", "second"], "first"),
    node("Unsqueeze", ["first", "last"], "first_rows"),
    node("Unsqueeze", ["second", "middle"], "second_columns"),
    node("Mul", ["equal", "first_rows"], "of_first"),
    node("Mul", ["of_first", "second_columns"], "of_both"),
    node("ReduceMax", ["of_both"], "found", axes=[2], keepdims=0),
    node("ReduceSum", ["found", "middle"], "logits", keepdims=1),
]
INITIALIZERS = [
    tensor("middle", INT64, [1], struct.pack("<q", 1)),
    tensor("last", INT64, [1], struct.pack("<q", 2)),
]
INPUTS = [value(name, INT64, [1, "tokens"]) for name in ("input_ids", "attention_mask", "token_type_ids")]

# GraphProto: node 1, name 2, initializer 5, input 11, output 12.
graph = b"".join(field(1, one) for one in NODES) + field(2, "overlap")
graph += b"".join(field(5, one) for one in INITIALIZERS) + b"".join(field(11, one) for one in INPUTS)
graph += field(12, value("logits", FLOAT, [1, 1]))
# ModelProto: ir_version 1, graph 7, opset_import 8; OperatorSetIdProto: version 2.
model = field(1, 8) + field(7, graph) + field(8, field(2, 17))
pathlib.Path(__file__).with_name("overlap.onnx").write_bytes(model)
