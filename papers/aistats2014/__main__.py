"""python -m papers.aistats2014 synthetic | video [--quick] [--seeds N] [--out FOLDER]"""

from pathlib import Path

from papers.aistats2014 import synthetic, video
from papers.common import Record, Size, command_line


def run_video(size: Size, out: Path, seeds: int | None = None) -> Record:
    """Figure 4; it has no runs to repeat."""
    return video.main(quick=size != "full", out=out)


if __name__ == "__main__":
    command_line("aistats2014", {"synthetic": synthetic.main, "video": run_video})
