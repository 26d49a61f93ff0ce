"""Measures an encoding of a video: quality and bitrate on the whole clip, processor time on a sample of it.

The clip is made here: six seconds in four scenes with textures that rest, pan or zoom, objects that cross them, flashes
and film grain. ffmpeg, with x264, x265 and libaom for AV1, is in the package imageio-ffmpeg. Times are processor
seconds, for which a farm of encoders pays; other load on the machine is not charged.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

try:
    from imageio_ffmpeg import get_ffmpeg_exe
except ImportError:
    raise ModuleNotFoundError("imageio-ffmpeg is missing; in flexibo's folder: pip install '.[examples]'") from None

WIDTH, HEIGHT, RATE, SCENE, SCENES, SAMPLE = 256, 144, 24, 36, 4, 4
"""Pixels, frames per second, frames of a scene, scenes, and how many frames of each scene are in the sample."""


def texture(rng: np.random.Generator, finest: int) -> np.ndarray:
    """Clouds (512, 512) from 0 to 255: smooth noise in octaves, down to cells of `finest` pixels."""
    total = np.zeros((512, 512), dtype=int)
    for cell in (size for size in (64, 32, 16, 8, 4, 2) if size >= finest):
        noise = rng.integers(0, 4 * cell, (512 // cell, 512 // cell)).repeat(cell, 0).repeat(cell, 1)
        for axis in (0, 1, 0, 1):
            wrapped = noise.take(range(1 - cell, 512), axis, mode="wrap")
            noise = sliding_window_view(wrapped, cell, axis).sum(-1) // cell
        total += noise
    return (total - total.min()) * 255 // (total.max() - total.min())


def scene(number: int) -> list[bytes]:
    """The frames of a scene in yuv420p; made of whole numbers, so that every machine makes the same bytes."""
    rng, frames = np.random.default_rng(number), []
    far, near = texture(rng, (2, 8, 4, 2)[number]), texture(rng, 4)
    pan, zoom, grain = ((0, 1), (2, 5), (0, 0), (1, 2))[number], (0, 0, 3, 0)[number], (0, 2, 4, 8)[number]
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    for t in range(SCENE):
        luma = far[(y * (size := 256 - zoom * t // 2) // 256 + pan[0] * t) % 512, (x * size // 256 + pan[1] * t) % 512]
        for k in range(3):
            to_x, to_y = x - (80 * k + (2 + 3 * k) * t) % WIDTH, y - (40 + 45 * k + (k - 1) * t) % HEIGHT
            luma = np.where(to_x**2 + to_y**2 < (15 + 6 * k) ** 2, near[to_y % 512, to_x % 512], luma)
        luma = luma + 40 * (number == 1 and t % 12 < 2) + rng.integers(-grain, grain + 1, luma.shape)
        colour = luma[::2, ::2] // 4
        planes = [np.clip(p, 16, 235).astype(np.uint8) for p in (luma, 96 + colour + 4 * number, 160 - colour)]
        frames.append(b"".join(plane.tobytes() for plane in planes))
    return frames


def clip(frames: int) -> list[str]:
    """The arguments with which ffmpeg reads this number of frames of every scene; the file is made once, here."""
    path, start = Path(__file__).with_name(f"clip-{frames}.yuv"), (SCENE - frames) // 2
    if not path.exists():
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(b"".join(one for k in range(SCENES) for one in scene(k)[start : start + frames]))
        part.replace(path)
    return ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{WIDTH}x{HEIGHT}", "-r", str(RATE), "-i", str(path)]


def encode(design: Mapping[str, Any], frames: int, path: str) -> float:
    """Encode this number of frames of every scene, with one thread so that files are equal; the processor seconds."""
    codec, tune = design["codec"], design["tune"]
    given = [f"lib{codec}", "-preset", design["preset"], "-crf", design["crf"], "-bf", design["bframes"]]
    given += ["-refs", design["refs"], *([] if tune == "none" else ["-tune", tune])]
    given += ["-x265-params", "pools=none:frame-threads=1:log-level=none"] if codec == "x265" else []
    if codec == "av1":
        given = ["libaom-av1", "-usage", design["usage"], "-cpu-used", design["speed"], "-crf", design["av1_crf"]]
    return ffmpeg(*clip(frames), "-c:v", *map(str, given), "-threads", "1", "-f", "matroska", path)[0]


def ffmpeg(*given: str) -> tuple[float, str]:
    """Run ffmpeg; its processor seconds and what it said."""
    done = subprocess.run([get_ffmpeg_exe(), "-y", "-nostdin", "-benchmark", *given], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    return sum(map(float, re.findall(r"\b[us]time=([\d.]+)s", done.stderr)[-2:])), done.stderr


def quality(design: Mapping[str, Any]) -> tuple[dict[str, float], float]:
    """Encode the whole clip, decode it and compare: kilobits per second and SSIM in decibels, and what this cost."""
    with tempfile.NamedTemporaryFile(suffix=".mkv") as file:
        seconds = encode(design, SCENE, file.name)
        more, said = ffmpeg("-i", file.name, *clip(SCENE), "-lavfi", "[0:v][1:v]ssim", "-f", "null", "-")
        kbps = Path(file.name).stat().st_size * 8 / 1000 * RATE / (SCENE * SCENES)
    return {"kbps": kbps, "ssim_db": float(re.findall(r"All:[\d.]+ \(([\d.]+)\)", said)[-1])}, seconds + more


def cpu_seconds(design: Mapping[str, Any]) -> tuple[float, float]:
    """The processor seconds that a minute of video takes, judged by the sample, and what this cost."""
    seconds = encode(design, SAMPLE, os.devnull)
    return seconds * 60 * RATE / (SAMPLE * SCENES), seconds
