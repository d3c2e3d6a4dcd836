"""python -m papers.aistats2014 synthetic | video | held-out [--quick] [--seeds N] [--out FOLDER]"""

from pathlib import Path

from papers.aistats2014 import held_out, synthetic, video
from papers.common import Record, Size, command_line


def run_video(size: Size, out: Path, seeds: int | None = None) -> Record:
    """Figure 4; it has no runs to repeat."""
    return video.main(quick=size != "full", out=out)


def run_held_out(size: Size, out: Path, seeds: int | None = None) -> Record:
    """Figure 4 with settings chosen on other clips; it has no runs to repeat."""
    return held_out.main(quick=size != "full", out=out)


if __name__ == "__main__":
    command_line("aistats2014", {"synthetic": synthetic.main, "video": run_video, "held-out": run_held_out})
