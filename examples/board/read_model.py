"""Reads a network on a board: the milliseconds of a batch and, with a meter, the millijoules of one of its images.

    python3 read_model.py lenet-64.pt --shape 1,28,28 --batch 16 --precision fp16 --meter auto
    python3 read_model.py lenet-64-16.engine --batch 16 --meter auto

The file is TorchScript, or an engine of TensorRT 7 or later, which trtexec runs. Meters are those of flexibo's agent.
Loading does not count. It prints what a study reads: {"millijoules": 1.9, "ms": 3.2}. See docs/howto/boards.md. Boards
have Python 3.6 and no flexibo, so this file needs neither.
"""

import argparse
import importlib.util
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time


def opened_meter(text, path):
    """The meter of that name, which counts joules, from the file of the agent."""
    spec = importlib.util.spec_from_file_location("agent", os.path.expanduser(path))
    agent = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(agent)
        return agent.open_meter(agent.Board(), text)
    except Exception as error:
        sys.exit(f"read_model.py: {error}")


def spent(work, meter):
    """What some work returns, its seconds and its joules; 0 J without a meter."""
    joules, begin = meter.joules() if meter else 0.0, time.perf_counter()
    return work(), time.perf_counter() - begin, meter.joules() - joules if meter else 0.0


def torch_reading(given, meter):
    """The milliseconds and the joules of a batch of random images."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = torch.jit.load(given.file, map_location=device).eval()
    images = torch.rand(given.batch, *map(int, given.shape.split(","))).to(device)
    network, images = (network.half(), images.half()) if given.precision == "fp16" else (network, images)

    def batches(seconds):
        count, until = 0, time.perf_counter() + seconds
        while count == 0 or time.perf_counter() < until:
            network(images).cpu()  # waits for the GPU
            count += 1
        return count

    with torch.no_grad():
        batches(given.seconds / 4)  # libraries choose their algorithms in the first ones, and clocks rise
        count, seconds, joules = spent(lambda: batches(given.seconds), meter)
    return 1000 * seconds / count, joules / count


def tensorrt_reading(given, meter):
    """The milliseconds and the joules of a batch; the power is what two runs differ by, which both load the engine."""
    program = shutil.which("trtexec") or "/usr/src/tensorrt/bin/trtexec"

    def latencies(seconds):
        words = [program, "--loadEngine=" + given.file, "--avgRuns=10", f"--duration={seconds}"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        found = re.findall(rb"Average on \d+ runs - GPU latency: ([\d.]+) ms", done.stdout)
        if done.returncode or not found:
            sys.exit(f"{done.stdout.decode()}\nread_model.py: trtexec failed, or ran no ten batches in {seconds} s")
        return [float(number) for number in found]

    _, short, few = spent(lambda: latencies(1), meter)
    found, long, many = spent(lambda: latencies(1 + max(1, round(given.seconds))), meter)
    milliseconds = statistics.median(found)
    return milliseconds, (many - few) / (long - short) * milliseconds / 1000


def main():
    """Read what the command line says."""
    parser = argparse.ArgumentParser(description="Reads the time and the energy of a network on this board.")
    parser.add_argument("file", help="NAME.engine of TensorRT, or else TorchScript")
    parser.add_argument("--shape", default="3,32,32", help="channels,height,width of an image; not of an engine")
    parser.add_argument("--batch", type=int, default=1, help="images in a batch; those for which an engine was built")
    parser.add_argument("--precision", choices=["fp32", "fp16"], default="fp32", help="not of an engine")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to measure")
    parser.add_argument("--meter", default="", help="auto or any other of the agent; without one, only time is read")
    parser.add_argument("--agent", default="~/.flexibo/agent.py", help="the file of the agent")
    given = parser.parse_args()
    meter = opened_meter(given.meter, given.agent) if given.meter else None
    milliseconds, joules = (tensorrt_reading if given.file.endswith(".engine") else torch_reading)(given, meter)
    if meter and joules <= 0:
        sys.exit(f"read_model.py: {meter.name} has not moved; let it run for more --seconds")
    print(json.dumps(dict({"millijoules": 1000 * joules / given.batch} if meter else {}, ms=milliseconds)))


if __name__ == "__main__":
    main()
