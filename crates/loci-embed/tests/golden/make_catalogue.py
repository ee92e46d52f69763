"""Writes catalogue.json: token ids by Hugging Face's tokenizer and vectors by ONNX Runtime, for the models that
scripts/build-model made; and says how near these are to the float graphs.

Needs `pip install tokenizers onnxruntime numpy`: `python make_catalogue.py FOLDER`, where FOLDER holds a folder for
each model, and for a comparison one called `<model>-float`, made with `--float`. The ids are those of texts.json; the
vectors, as integers of a thousandth, those of the first text of each language.
"""

import json
import pathlib
import sys

import numpy
import onnxruntime
import tokenizers

HERE = pathlib.Path(__file__).parent
MODELS = {
    "all-minilm-l6-v2": ("", 256),
    "multilingual-e5-small": ("passage: ", 512),
    "all-mpnet-base-v2": ("", 384),
}
BUNDLED = "all-minilm-l6-v2"  # golden.json has its vectors.


def vectors(folder: pathlib.Path, id_lists: list[list[int]]):
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    for ids in id_lists:
        inputs = {"input_ids": numpy.array([ids]), "attention_mask": numpy.ones((1, len(ids)), dtype=numpy.int64)}
        yield session.run(["sentence_embedding"], inputs)[0][0]


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    languages = json.loads((HERE / "texts.json").read_text())
    texts = [text for texts in languages.values() for text in texts]
    golden = {}
    for name, (prefix, tokens_max) in MODELS.items():
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / name / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(tokens_max)
        ids = [tokenizer.encode(text).ids for text in texts]
        prefixed = [tokenizer.encode(prefix + text).ids for text in texts]
        found = list(vectors(folder / name, prefixed))
        exact = folder / f"{name}-float"
        if exact.exists():
            cosines = [float(a @ b) for a, b in zip(found, vectors(exact, prefixed))]
            print(f"{name}: mean cosine to the float graph {numpy.mean(cosines):.4f}, lowest {min(cosines):.4f}")
        if name == BUNDLED:
            continue
        golden[name] = [
            {"text": text, "ids": ids}
            | ({"vector": [round(float(value) * 1000) for value in vector]} if index % 10 == 0 else {})
            for index, (text, ids, vector) in enumerate(zip(texts, ids, found))
        ]
    lines = lambda cases: ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases)
    models = ",\n".join(f"{json.dumps(name)}:[\n{lines(cases)}\n]" for name, cases in golden.items())
    (HERE / "catalogue.json").write_text(f"{{\n{models}\n}}\n")


if __name__ == "__main__":
    main()
