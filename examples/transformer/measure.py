"""Measures an encoder on the CPU: its held-out error, or its latency and memory in a process of its own.

The error is that of a linear classifier of film reviews on their embeddings; it takes far longer than the rest.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

if missing := [name for name in ("onnx", "onnxruntime", "tokenizers") if find_spec(name) is None]:
    raise SystemExit(f"{', '.join(missing)} cannot be found; in flexibo's folder: pip install '.[examples]'")

import numpy as np
import onnxruntime

TRAIN, TEST, RUNS = int(os.environ.get("REVIEWS", "400")), 300, 5
"""How many reviews are for training and for testing, and how often the model is run for its latency."""


def model(design: dict[str, Any]) -> Path:
    """The file of the model: made once in another process, whose memory does not count, and kept."""
    layers, quantisation = design["layers"], design["quantisation"]
    path = Path(__file__).with_name(f"{layers}-{quantisation}.onnx")
    if not path.exists():
        program = f"import measure; measure.write({str(path)!r}, {layers}, {quantisation!r})"
        made = subprocess.run([sys.executable, "-c", program], cwd=path.parent, capture_output=True, text=True)
        if made.returncode:
            raise SystemExit(made.stderr[-1000:])
    return path


def write(path: str, layers: int, quantisation: str) -> None:
    """Write a model: in float32, or int8 for linear layers, also with a scale per channel, also for the words."""
    import encoder
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    onnx.save(encoder.encoder(layers), f"{path}.part")
    if quantisation != "float32":
        operations, channels = ["MatMul", "Gather"][: 1 + (quantisation == "int8-all")], quantisation != "int8"
        quantize_dynamic(f"{path}.part", f"{path}.part", operations, channels, weight_type=QuantType.QInt8)
    os.replace(f"{path}.part", path)


def session(design: dict[str, Any], threads: int) -> onnxruntime.InferenceSession:
    """The loaded model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    return onnxruntime.InferenceSession(model(design), options, providers=["CPUExecutionProvider"])


def latency(design: dict[str, Any]) -> dict[str, float]:
    """Milliseconds per text in the least disturbed batch, megabytes of the process, and the processor seconds."""
    shape = design["batch"], design["length"]
    given = {"tokens": np.random.default_rng(0).integers(1000, 20000, shape), "mask": np.ones(shape, dtype=np.int64)}
    model(design)  # writing it is not charged
    begun = time.process_time()
    encoder, times = session(design, design["threads"]), []
    for _ in range(1 + RUNS):
        start = time.perf_counter()
        encoder.run(None, given)
        times.append(time.perf_counter() - start)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"ms": 1000 * min(times[1:]) / design["batch"], "megabytes": megabytes, "cost": time.process_time() - begun}


def error(design: dict[str, Any]) -> dict[str, float]:
    """The share of held-out reviews that are taken for the wrong kind, in percent, and the processor seconds."""
    from encoder import model_folder
    from sklearn.linear_model import LogisticRegression
    from tokenizers import Tokenizer

    from flexibo.systems.data.reviews import load_movie_reviews

    data = load_movie_reviews(Path(os.environ.get("FLEXIBO_DATA", ".")) / "training")
    tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.enable_truncation(design["length"], direction="left")  # reviewers give their verdict at the end
    tokenizer.enable_padding(length=design["length"])
    encoder, begun, parts = session(design, 1), time.process_time(), []
    for reviews, number in ((data.train, TRAIN), (data.test, min(TRAIN, TEST))):
        rows = np.random.default_rng(0).permutation(len(reviews))[:number]
        coded = tokenizer.encode_batch([reviews.texts[row] for row in rows])
        given = {"tokens": np.array([c.ids for c in coded]), "mask": np.array([c.attention_mask for c in coded])}
        batches = [{name: x[k : k + 16] for name, x in given.items()} for k in range(0, number, 16)]
        parts.append((np.concatenate([encoder.run(None, batch)[0] for batch in batches]), reviews.labels[rows]))
    head = LogisticRegression(max_iter=1000).fit(*parts[0])
    return {"error_percent": 100 * (1 - head.score(*parts[1])), "cost": time.process_time() - begun}


if __name__ == "__main__":
    print(json.dumps({"error": error, "latency": latency}[sys.argv[1]](json.loads(os.environ["FLEXIBO_DESIGN"]))))
