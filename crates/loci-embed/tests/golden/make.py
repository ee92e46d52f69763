"""Writes golden.json: token ids by Hugging Face's tokenizer, vectors by ONNX Runtime.

Needs `pip install tokenizers onnxruntime numpy`; run from anywhere: `python make.py`. With the path of a graph that
`scripts/build-model --float` wrote, it writes that graph's vectors of the same texts into float.json as well.
A vector is stored as 384 integers: components times 1,000, rounded.
"""

import json
import pathlib
import sys

import numpy
import onnxruntime
import tokenizers

HERE = pathlib.Path(__file__).parent
MODEL = HERE.parent.parent / "model"

TEXTS = [
    "",
    " ",
    "\t\n\r",
    "a",
    ".",
    "!?",
    "\u200b\u200d\ufeff",
    "\x00\x01\x02",
    "Hello, world!",
    "The deploy to production happens every Thursday at 14:00 UTC.",
    "We decided to use PostgreSQL instead of MySQL because of JSON indexes.",
    "Ann prefers tabs, Bob prefers spaces, and nobody asked Carol.",
    "What does the user like to drink in the morning?",
    "She can't bear coffee; it's tea, 7 cups a day.",
    "unbelievably antidisestablishmentarian supercalifragilisticexpialidocious",
    "Café crème à la brûlée, naïve façade, Ångström, Ünïcödé, Łódź, straße",
    "cafe\u0301 with a combining accent, İstanbul, ǅ, ﬁne ligature",
    "Đà Nẵng là một thành phố ở miền Trung Việt Nam.",
    "我昨天在北京买了一本关于机器学习的书。",
    "東京で寿司を食べました。カタカナとひらがな。",
    "오늘 서울의 날씨는 맑습니다.",
    "Mixed 中文 and English words内嵌 in one句子.",
    "Rare ideographs 𠀀𪜀 and compatibility 豈 ones.",
    "Привет, как дела? Сервер упал в 3 часа ночи.",
    "مرحبا بالعالم، كيف حالك اليوم؟",
    "שלום עולם",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "Emoji 😀 party 🎉🎉 family 👨‍👩‍👧‍👦 flag 🇩🇪 ok👍 ☕",
    "def parse_config(path: str) -> dict[str, Any]:",
    "getUserByIdOrNull snake_case_name SCREAMING_CASE kebab-case-name",
    "std::collections::HashMap<String, Vec<u8>>::with_capacity(1 << 20)",
    "error[E0382]: borrow of moved value: `config`",
    "https://example.com/a/b?query=1&other=%20two#fragment",
    "mail me at someone@example.org or call +49 (0)30 1234-567",
    "C:\\Users\\me\\file.txt and /usr/local/lib/libfoo.so.1.2.3",
    "0xDEADBEEF 1e-9 3.14159 1,000,000 №5 ½ ² ™ € £ ¥",
    "line one\nline two\r\nline three\ttabbed\u00a0no-break\u2028separator\u3000wide",
    "control\x07bell \x1b[31mred\x1b[0m soft\u00adhyphen zero\u200bwidth \ue000private \ufffdreplacement",
    "“curly quotes” — dashes – and … ellipsis ‹guillemets› ·dot· ¿qué?",
    "a" * 100 + " " + "b" * 101,
    "x" * 500,
    "word " * 400,
    "The quick brown fox jumps over the lazy dog near the old river bank. " * 30,
    "长文本" * 200,
    "antidisestablishmentarianism " * 60,
    "2024-11-05T10:20:30.123456Z INFO loci::server: listening on 127.0.0.1:7821",
    "(((([[[[{{{{<<<<>>>>}}}}]]]]))))",
]


def vectors(graph: pathlib.Path, ids: list[list[int]]) -> list[list[int]]:
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    found = []
    for tokens in ids:
        inputs = {"input_ids": numpy.array([tokens]), "attention_mask": numpy.ones((1, len(tokens)), dtype=numpy.int64)}
        (vector,) = session.run(["sentence_embedding"], inputs)[0]
        found.append([round(float(value) * 1000) for value in vector])
    return found


def write(name: str, entries: list) -> None:
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    (HERE / name).write_text(f"[\n{lines}\n]\n")


def main() -> None:
    tokenizer = tokenizers.Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    ids = [tokenizer.encode(text).ids for text in TEXTS]
    cases = zip(TEXTS, ids, vectors(MODEL / "model_int8.onnx", ids))
    write("golden.json", [{"text": text, "ids": tokens, "vector": vector} for text, tokens, vector in cases])
    for graph in sys.argv[1:2]:
        write("float.json", vectors(pathlib.Path(graph), ids))


if __name__ == "__main__":
    main()
