#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What llama.sh needs and Debian does not package.

    llama.py model FILE		a model of random numbers, as small as can be
    llama.py serve HOST PORT	llama.cpp's rpc-server: the library has it all
"""

import ctypes
import glob
import random
import struct
import sys

EMBD, HEADS, FF, LAYERS, CONTEXT = 128, 4, 256, 4, 256
# Three special tokens, and one for each byte
TOKENS = ['<unk>', '<s>', '</s>'] + ['<0x%02X>' % n for n in range(256)]
U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9


def text(s):
    data = s.encode()
    return struct.pack('<Q', len(data)) + data


def value(kind, v):
    if kind == STRING:
        return text(v)
    return struct.pack({U32: '<I', I32: '<i', F32: '<f'}[kind], v)


def array(kind, values):
    return struct.pack('<IQ', kind, len(values)) + b''.join(
        value(kind, v) for v in values)


def header():
    """GGUF's pairs of keys and values."""
    out = []

    def put(key, kind, v):
        out.append(text(key) + struct.pack('<I', kind) +
                   (v if kind == ARRAY else value(kind, v)))

    put('general.architecture', STRING, 'llama')
    put('llama.context_length', U32, CONTEXT)
    put('llama.embedding_length', U32, EMBD)
    put('llama.block_count', U32, LAYERS)
    put('llama.feed_forward_length', U32, FF)
    put('llama.attention.head_count', U32, HEADS)
    put('llama.attention.head_count_kv', U32, HEADS)
    put('llama.rope.dimension_count', U32, EMBD // HEADS)
    put('llama.attention.layer_norm_rms_epsilon', F32, 1e-5)
    put('tokenizer.ggml.model', STRING, 'llama')
    put('tokenizer.ggml.tokens', ARRAY, array(STRING, TOKENS))
    put('tokenizer.ggml.scores', ARRAY, array(F32, [0.0] * len(TOKENS)))
    # unknown, two for control, bytes
    put('tokenizer.ggml.token_type', ARRAY,
        array(I32, [2, 3, 3] + [6] * 256))
    put('tokenizer.ggml.bos_token_id', U32, 1)
    put('tokenizer.ggml.eos_token_id', U32, 2)
    return out


def tensors():
    yield 'token_embd.weight', (EMBD, len(TOKENS))
    for n in range(LAYERS):
        blk = 'blk.%d.' % n
        yield blk + 'attn_norm.weight', (EMBD,)
        for name in ('attn_q', 'attn_k', 'attn_v', 'attn_output'):
            yield blk + name + '.weight', (EMBD, EMBD)
        yield blk + 'ffn_norm.weight', (EMBD,)
        yield blk + 'ffn_gate.weight', (EMBD, FF)
        yield blk + 'ffn_up.weight', (EMBD, FF)
        yield blk + 'ffn_down.weight', (FF, EMBD)
    yield 'output_norm.weight', (EMBD,)
    yield 'output.weight', (EMBD, len(TOKENS))


def model(path):
    rng = random.Random(1)
    infos, data = b'', b''
    pairs, all_tensors = header(), list(tensors())
    for name, dims in all_tensors:
        infos += text(name) + struct.pack('<I', len(dims)) + b''.join(
            struct.pack('<Q', d) for d in dims) + struct.pack('<IQ', 0, len(data))
        n = dims[0] * (dims[1] if len(dims) > 1 else 1)
        # Multiples of 128 bytes, so each begins where the format wants it
        data += struct.pack('<%df' % n, *(
            1.0 if len(dims) == 1 else rng.gauss(0, 0.1) for _ in range(n)))
    head = b'GGUF' + struct.pack('<IQQ', 3, len(all_tensors), len(pairs)) + \
        b''.join(pairs) + infos
    with open(path, 'wb') as f:
        f.write(head + b'\0' * (-len(head) % 32) + data)
    print('%d bytes of weights' % len(data))


def serve(host, port):
    ggml = ctypes.CDLL('libggml.so.0', mode=ctypes.RTLD_GLOBAL)
    ggml.ggml_backend_load_all()
    by_type = ggml.ggml_backend_dev_by_type
    by_type.restype = ctypes.c_void_p
    processor = (ctypes.c_void_p * 1)(by_type(0))
    rpc = ctypes.CDLL(glob.glob('/usr/lib/*/ggml/backends0/libggml-rpc.so')[0])
    rpc.ggml_backend_rpc_start_server(
        ('%s:%s' % (host, port)).encode(), None, ctypes.c_size_t(1),
        ctypes.c_size_t(1), processor)


if sys.argv[1:2] == ['model']:
    model(sys.argv[2])
elif sys.argv[1:2] == ['serve']:
    serve(sys.argv[2], sys.argv[3])
else:
    sys.exit(__doc__)
