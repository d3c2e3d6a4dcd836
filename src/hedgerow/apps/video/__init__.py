"""Online video segmentation: segments are clusters of supervoxels that stay the same through time.

The application of Lee & Choi (AISTATS 2014, section 4.2):

    frames -> chunks -> supervoxels -> clusters of a MixedNRM mixture, chunk by chunk -> segments -> hierarchy

>>> from hedgerow.apps import video
>>> found = video.segment("clip.mp4")                          # doctest: +SKIP
>>> found.write_overlay("segments.mp4", "clip.mp4", 300)       # doctest: +SKIP
>>> video.evaluate(found.labels(300), truth).accuracy_3d       # doctest: +SKIP
"""

from hedgerow.apps.video.frames import Frames, open_frames
from hedgerow.apps.video.hierarchy import Hierarchy
from hedgerow.apps.video.joining import JoinSettings
from hedgerow.apps.video.metrics import (
    VideoScores,
    boundary_map,
    curve,
    evaluate,
    explained_variation,
    mean_duration,
)
from hedgerow.apps.video.progress import ChunkUpdate
from hedgerow.apps.video.result import Segmentation
from hedgerow.apps.video.run import default_prior, segment
from hedgerow.apps.video.segmenter import Segmenter
from hedgerow.apps.video.supervoxels import Supervoxels, SupervoxelSettings, find_supervoxels

__all__ = [
    "ChunkUpdate",
    "Frames",
    "Hierarchy",
    "JoinSettings",
    "Segmentation",
    "Segmenter",
    "SupervoxelSettings",
    "Supervoxels",
    "VideoScores",
    "boundary_map",
    "curve",
    "default_prior",
    "evaluate",
    "explained_variation",
    "find_supervoxels",
    "mean_duration",
    "open_frames",
    "segment",
]
