"""[Analogies] on motions nobody tuned for: example pairs, new motions and performers drawn at random from captures.

`python -m papers.analogies_variety --cmu FOLDER --data FOLDER -o FOLDER` draws combinations by a fixed seed, measures
what a viewer sees, and draws a strip for each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from papers.base import Findings, Fresh, Table, Tell, clip, collected, moving
from understudy import samples
from understudy.analogy.make import analogy
from understudy.analogy.preparation import Settings
from understudy.analogy.result import Analogy
from understudy.base.errors import UnderstudyError
from understudy.figure.motion import Motion
from understudy.show.picture import draw

FPS = 30.0
"""Frames per second of all motions."""

CLIP_SECONDS = 4.0
"""Longest part of a clip that is used: the part in which the body goes farthest."""

STRIP_SECONDS = 2.0
"""Length of a strip: the part of the new motion in which the body goes farthest."""

WALKS: dict[str, tuple[str, ...]] = {
    "developed": ("02_01", "05_01", "07_01", "08_01", "12_02", "16_16", "35_02", "39_03"),
    "first": (
        "06_01", "07_05", "07_10", "08_06", "10_04", "12_03", "16_21", "16_47", "26_01", "27_01", "29_01", "32_01",
        "35_09", "35_28", "38_01", "39_07", "39_12", "43_01", "45_01", "46_01", "49_01", "69_03", "81_03", "82_11",
        "91_57", "136_21",
    ),
    "second": (
        "07_02", "07_12", "08_02", "12_01", "16_31", "16_58", "35_01", "35_12", "35_30", "39_01", "39_09", "69_01",
        "81_17", "91_29", "104_19", "111_34", "114_13", "132_17", "136_23", "143_32",
    ),
    "third": (
        "07_06", "07_08", "08_09", "16_22", "16_32", "32_02", "35_05", "35_33", "38_02", "39_05", "39_14", "69_05",
        "81_02", "82_13", "91_34", "113_25", "132_46", "136_24", "141_19",
    ),
    "fourth": (
        "02_02", "07_03", "07_07", "07_09", "07_11", "08_03", "08_08", "08_10", "35_03", "35_04", "35_06", "35_07",
        "35_10", "35_15", "35_29", "39_02", "39_04", "39_06", "39_08", "39_10", "39_13", "69_02", "69_04", "91_31",
        "105_29", "105_31", "111_35", "137_29",
    ),
    "fifth": (
        "35_08", "35_11", "35_13", "35_14", "35_16", "35_31", "35_32", "35_34", "91_02", "91_36", "104_02", "105_02",
        "105_36", "105_57", "114_15", "136_20", "136_22", "139_28", "139_30", "141_25",
    ),
    "sixth": (
        "35_11", "91_02", "136_22", "07_04", "08_04", "08_11", "37_01", "82_08", "81_04", "132_45", "132_47", "91_10",
        "105_10", "91_27", "105_27", "132_18", "132_19", "132_20", "91_22", "105_22", "91_17", "105_17",
    ),
    "seventh": (
        "07_04", "37_01", "82_08", "36_02", "39_11", "47_01", "16_11", "16_13", "16_23", "16_25", "91_04", "82_14",
        "81_18", "141_29", "104_22", "104_27", "104_35", "104_39",
    ),
    "eighth": (
        "16_12", "16_14", "16_24", "16_26", "20_04", "21_04", "36_03", "36_09", "90_22", "90_23", "93_07", "103_07",
        "104_36", "132_21", "132_48", "132_49", "133_21", "133_22", "133_23", "144_34",
    ),
    "ninth": (
        "16_17", "16_19", "16_29", "16_33", "20_05", "21_05", "22_22", "23_22", "36_01", "36_04", "36_05", "36_10",
        "69_20", "69_24", "69_28", "69_31", "83_36", "83_37", "131_09", "131_12", "133_14", "133_17",
    ),
    "tenth": (
        "16_18", "16_20", "16_27", "16_30", "16_34", "20_03", "21_03", "22_24", "23_24", "36_06", "36_07", "36_11",
        "36_20", "69_21", "69_25", "69_29", "69_32", "83_38", "83_39", "131_10", "131_13", "133_15", "133_18",
    ),
    "eleventh": (
        "16_34", "22_24", "22_25", "23_25", "36_08", "36_12", "36_14", "69_22", "69_26", "69_28", "69_30",
        "69_31", "69_33", "83_36", "83_38", "91_03", "105_03", "113_06", "131_09", "131_11", "133_16", "133_18",
        "133_19",
    ),
    "twelfth": (
        "36_08", "36_12", "36_13", "36_15", "36_16", "69_06", "69_11", "69_22", "69_23", "69_27", "69_33",
        "91_01", "91_62", "105_01", "105_62", "113_05", "131_14", "133_20", "143_38",
    ),
    "thirteenth": (
        "07_02", "08_03", "16_14", "35_01", "35_03", "35_29", "39_01", "39_08", "39_09", "39_13", "69_27", "81_17",
        "132_49",
    ),
    "fourteenth": (
        "03_01", "03_02", "16_28", "36_17", "36_18", "69_07", "69_08", "81_17", "131_01", "131_02", "144_33",
    ),
}  # fmt: skip
"""Walks for examples, by the draw that they belong to. In the thirteenth: those above
that no draw took and that no test or page names. In the fourteenth: what it left, and two at most of each other
subject whose titles tell of walking and turning only."""

NEW: dict[str, dict[str, tuple[str, ...]]] = {
    "developed": {
        "march": ("138_01", "20_06"),
        "sneak": ("120_08", "77_14"),
        "run": ("09_01", "16_35"),
        "hop": ("131_03", "132_23"),
        "limp": ("77_19", "77_22"),
        "styled walk": ("104_28", "91_05"),
    },
    "first": {
        "march": ("138_03", "138_06", "138_09", "21_06", "21_07", "91_19", "111_13", "113_09", "142_11"),
        "sneak": ("120_10", "120_13", "77_29", "77_31", "136_09", "136_13", "139_31", "139_33", "143_41"),
        "run": ("09_05", "09_09", "16_36", "16_46", "16_55", "35_18", "35_24", "38_03"),
        "hop": ("131_04", "132_24", "132_26", "132_28", "83_46", "143_31"),
        "limp": ("77_20", "77_23", "77_33", "91_16", "139_19", "139_23"),
        "styled walk": ("82_10", "91_13", "91_28", "104_11", "104_42", "105_33", "137_33"),
    },
    "second": {
        "march": ("20_07", "138_02", "138_05", "138_08", "136_17"),
        "sneak": ("17_03", "77_15", "77_30", "120_09", "120_12", "136_10", "139_29", "142_22"),
        "run": ("09_02", "09_07", "16_45", "35_19", "127_03", "141_01", "143_01"),
        "hop": ("83_40", "83_45", "83_48", "132_25", "75_13"),
        "limp": ("17_05", "77_24", "91_24", "139_20", "139_22"),
        "styled walk": ("17_01", "17_06", "74_01", "82_09", "91_11", "91_14", "104_13", "132_14", "132_29", "137_12"),
    },
    "third": {
        "march": ("138_04", "138_07", "138_10", "136_18"),
        "sneak": ("77_32", "120_11", "120_14", "136_14", "139_32", "139_34"),
        "run": ("09_03", "09_10", "16_56", "35_22", "127_06", "139_10", "141_02"),
        "hop": ("83_41", "83_49", "132_27", "75_14"),
        "limp": ("91_21", "91_25", "91_26", "139_24"),
        "styled walk": ("82_12", "91_12", "91_20", "104_44", "132_35", "137_20", "137_38"),
    },
    "fourth": {
        "march": ("20_08", "21_08", "105_19"),
        "sneak": ("77_34", "136_11", "136_12", "139_14"),
        "run": ("09_04", "09_06", "09_08", "09_11", "35_17", "35_20", "35_23", "111_23", "113_07", "127_07", "141_03"),
        "hop": ("49_02", "49_03", "83_42", "83_47", "91_39", "91_43"),
        "limp": ("105_16", "105_24", "105_25", "105_26", "142_12"),
        "styled walk": (
            "91_09",
            "91_15",
            "91_23",
            "91_32",
            "91_33",
            "104_16",
            "105_09",
            "105_13",
            "105_28",
            "132_30",
            "132_43",
            "132_55",
            "137_04",
            "137_08",
            "137_16",
            "137_24",
            "137_42",
            "142_02",
            "142_15",
            "142_19",
        ),
    },
    "fifth": {
        "march": ("08_07", "74_20", "104_03", "104_29"),
        "sneak": ("77_25", "77_26", "77_27", "77_28", "136_05", "136_06"),
        "run": ("16_08", "16_57", "35_21", "35_25", "35_26", "77_10", "104_37", "104_48", "111_24", "127_08", "141_34"),
        "hop": ("83_51", "83_52", "83_53", "83_54", "91_40", "91_44", "105_38", "105_43"),
        "limp": ("105_15", "105_21", "142_03"),
        "styled walk": (
            "74_02",
            "91_30",
            "104_12",
            "104_41",
            "105_05",
            "105_11",
            "105_12",
            "105_14",
            "105_20",
            "105_23",
            "105_32",
            "111_14",
            "120_17",
            "120_22",
            "132_31",
            "132_36",
            "132_40",
            "136_27",
            "142_01",
            "142_08",
        ),
    },
    "sixth": {
        "march": ("104_03", "104_30", "104_32"),
        "sneak": ("77_26", "77_27", "91_18", "105_18"),
        "run": ("16_08", "35_21", "35_25", "35_26", "77_10", "104_06", "104_37", "104_48", "141_34"),
        "hop": ("13_13", "83_53", "83_54", "83_56", "91_41", "105_38", "105_43", "105_44"),
        "limp": ("105_05", "120_22", "142_03"),
        "styled walk": (
            "91_30",
            "104_12",
            "104_45",
            "105_11",
            "105_12",
            "105_14",
            "105_20",
            "105_23",
            "105_32",
            "111_14",
            "113_10",
            "120_02",
            "120_17",
            "120_18",
            "120_21",
            "132_31",
            "132_40",
            "132_42",
            "136_27",
            "136_31",
            "142_01",
            "142_04",
            "142_09",
            "142_10",
            "142_18",
        ),
    },
    "seventh": {
        "march": ("08_05", "104_46", "132_44"),
        "sneak": ("77_26", "136_15", "136_16", "136_28"),
        "run": ("16_48", "16_49", "35_25", "77_10", "77_11", "104_37", "104_53", "127_04", "141_34", "143_42"),
        "hop": ("13_13", "83_43", "83_50", "83_57", "83_58", "105_38", "105_44", "105_45"),
        "limp": ("91_07", "104_43", "105_07", "120_22"),
        "styled walk": (
            "91_30",
            "105_11",
            "105_12",
            "105_20",
            "105_23",
            "105_32",
            "111_14",
            "113_10",
            "120_02",
            "120_17",
            "120_18",
            "120_21",
            "132_31",
            "132_32",
            "132_40",
            "132_42",
            "136_27",
            "136_31",
            "142_01",
            "142_04",
            "142_10",
            "142_13",
            "142_14",
        ),
    },
    "eighth": {
        "march": ("132_33", "132_34", "133_08", "133_09", "133_10"),
        "sneak": ("76_08", "136_01", "136_02", "139_15"),
        "run": (
            "16_37",
            "16_38",
            "16_39",
            "16_40",
            "16_50",
            "75_04",
            "75_05",
            "104_01",
            "104_04",
            "127_09",
            "127_10",
            "127_11",
            "127_12",
            "128_02",
            "128_03",
            "139_12",
            "143_04",
        ),
        "hop": (
            "13_19",
            "13_32",
            "16_05",
            "16_06",
            "16_07",
            "16_09",
            "16_10",
            "75_02",
            "75_15",
            "91_42",
            "105_39",
            "105_40",
            "105_41",
            "131_07",
        ),
        "limp": ("132_01", "132_05", "132_09"),
        "styled walk": ("78_18", "91_35", "102_16", "104_14", "105_30", "105_35", "132_50", "133_24"),
    },
    "ninth": {
        "march": ("111_29", "111_30", "113_22", "143_14", "143_16"),
        "sneak": ("77_12", "77_13", "127_29", "127_37", "131_05", "131_06"),
        "run": (
            "16_41",
            "16_43",
            "16_51",
            "16_54",
            "78_06",
            "78_09",
            "102_05",
            "102_08",
            "104_08",
            "104_54",
            "104_56",
            "127_15",
            "127_16",
            "127_17",
            "128_05",
            "139_13",
            "143_02",
            "143_03",
        ),
        "hop": (
            "13_40",
            "13_41",
            "16_01",
            "16_03",
            "75_10",
            "91_45",
            "105_42",
            "118_02",
            "118_11",
            "118_20",
            "124_11",
            "127_25",
            "131_08",
            "133_03",
            "133_06",
            "141_04",
            "143_05",
        ),
        "limp": ("132_02", "132_04", "132_06", "132_08", "132_10", "132_12"),
        "styled walk": (
            "56_01",
            "78_19",
            "81_01",
            "102_17",
            "111_36",
            "113_26",
            "132_22",
            "133_11",
            "133_13",
            "136_32",
            "141_30",
        ),
    },
    "tenth": {
        "sneak": ("127_30", "127_31", "127_38", "128_04"),
        "run": (
            "16_42",
            "16_44",
            "16_52",
            "16_53",
            "78_07",
            "78_08",
            "78_10",
            "78_12",
            "102_06",
            "102_07",
            "102_10",
            "104_09",
            "104_55",
            "104_57",
            "127_18",
            "127_19",
            "127_20",
            "128_06",
            "128_07",
        ),
        "hop": (
            "13_42",
            "16_02",
            "16_04",
            "75_11",
            "75_12",
            "118_01",
            "118_05",
            "118_12",
            "118_22",
            "118_27",
            "127_26",
            "127_28",
            "133_04",
            "133_05",
            "133_07",
            "143_06",
        ),
        "limp": ("132_03", "132_07", "132_11"),
        "styled walk": (
            "15_01",
            "18_07",
            "20_12",
            "21_12",
            "22_23",
            "69_68",
            "69_69",
            "82_15",
            "90_25",
            "90_26",
            "133_12",
            "143_10",
        ),
    },
    "eleventh": {
        "march": ("111_29", "113_22"),
        "sneak": ("77_13", "127_29", "127_32", "127_37", "131_06"),
        "run": (
            "16_41",
            "16_42",
            "16_44",
            "16_51",
            "16_53",
            "16_54",
            "78_06",
            "78_07",
            "78_08",
            "102_06",
            "102_07",
            "102_08",
            "104_08",
            "104_09",
            "104_54",
            "104_55",
            "104_57",
            "127_15",
            "127_16",
            "127_17",
            "127_18",
            "127_19",
            "128_06",
            "139_13",
            "143_02",
        ),
        "hop": (
            "13_40",
            "13_41",
            "13_42",
            "16_03",
            "16_04",
            "91_45",
            "105_42",
            "118_01",
            "118_11",
            "118_12",
            "118_20",
            "118_22",
            "124_11",
            "127_28",
            "131_08",
            "133_04",
            "133_05",
            "133_06",
            "133_07",
            "143_05",
            "143_06",
        ),
        "limp": ("132_06", "132_08", "132_10"),
        "styled walk": (
            "18_07",
            "20_12",
            "21_12",
            "22_23",
            "56_01",
            "78_19",
            "81_01",
            "82_15",
            "90_25",
            "111_36",
            "132_22",
            "141_30",
            "143_11",
            "143_12",
        ),
    },
    "twelfth": {
        "march": ("113_22",),
        "sneak": ("127_37",),
        "run": (
            "16_41",
            "16_44",
            "16_51",
            "16_53",
            "16_54",
            "78_06",
            "78_07",
            "102_06",
            "102_07",
            "102_08",
            "104_08",
            "104_09",
            "104_55",
            "104_57",
            "127_15",
            "127_16",
            "127_17",
            "128_06",
            "139_13",
        ),
        "hop": (
            "13_40",
            "13_41",
            "13_42",
            "16_03",
            "91_45",
            "105_42",
            "118_01",
            "118_12",
            "118_22",
            "124_11",
            "127_28",
            "131_08",
            "133_04",
            "133_05",
            "133_07",
            "143_05",
        ),
        "styled walk": ("20_12", "22_23", "56_01", "78_19", "81_01", "90_25", "132_22", "141_30", "143_11"),
    },
    "thirteenth": {
        "march": (
            "20_07", "21_07", "132_34", "133_09", "138_02", "138_09", "138_10",
        ),
        "sneak": (
            "77_29", "77_31", "120_12", "136_09", "136_12", "139_29", "139_34", "142_22",
        ),
        "run": (
            "09_06", "09_07", "09_08", "09_09", "09_10", "16_36", "16_37", "16_39", "16_40", "16_44", "16_46",
            "16_49", "16_50", "16_51", "16_54", "16_56", "35_17", "35_20", "35_25", "75_04", "75_05", "77_10",
            "77_11", "78_07", "102_07", "102_08", "104_04", "104_37", "104_53", "104_55", "111_23", "113_07",
            "127_03", "127_06", "127_07", "127_09", "127_10", "127_11", "127_15", "127_17", "128_03", "128_06",
            "139_12", "139_13", "141_03", "143_04",
        ),
        "hop": (
            "13_40", "13_41", "13_42", "16_03", "16_06", "16_07", "16_09", "75_02", "75_15", "83_40", "83_43",
            "83_58", "91_39", "91_42", "91_43", "105_40", "105_41", "105_45", "127_28", "131_07", "133_04", "133_05",
        ),
        "limp": (
            "91_26", "105_07", "105_16", "105_26",
        ),
        "styled walk": (
            "20_12", "22_23", "82_09", "82_12", "91_09", "91_11", "91_20", "91_23", "91_30", "91_32", "91_33",
            "91_35", "102_16", "104_11", "104_13", "104_14", "105_11", "105_12", "105_13", "105_20", "105_23",
            "105_28", "105_32", "111_14", "113_10", "120_02", "120_17", "132_29", "132_30", "132_31", "132_40",
            "132_42", "132_43", "132_55", "136_27", "137_04", "137_08", "137_38", "137_42", "142_01", "142_02",
            "142_04", "142_13", "142_14", "142_15", "142_19",
        ),
    },
    "fourteenth": {
        "march": (
            "21_07", "133_09", "138_09",
        ),
        "sneak": (
            "120_12", "136_09", "136_12", "139_29", "142_22",
        ),
        "run": (
            "09_06", "09_07", "09_08", "09_09", "09_10", "16_36", "16_37", "16_39", "16_40", "16_44", "16_46",
            "16_49", "16_51", "16_54", "16_56", "35_17", "35_20", "35_25", "75_04", "75_05", "77_10", "77_11",
            "78_07", "102_07", "102_08", "104_04", "104_37", "104_53", "104_55", "127_03", "127_06", "127_07",
            "127_09", "127_10", "127_11", "127_17", "128_03", "128_06", "139_12", "139_13", "141_03", "143_04",
        ),
        "hop": (
            "13_42", "16_03", "16_06", "16_09", "83_40", "83_43", "83_58", "91_39", "91_42", "91_43", "105_40",
            "105_45", "127_28", "131_07", "133_04", "133_05",
        ),
        "limp": ("91_26",),
        "styled walk": (
            "20_12", "22_23", "82_09", "82_12", "91_09", "91_11", "91_23", "91_30", "91_32", "91_33", "91_35",
            "102_16", "104_11", "104_13", "104_14", "105_11", "105_12", "105_13", "105_20", "105_23", "105_28",
            "105_32", "111_14", "113_10", "120_02", "120_17", "132_29", "132_31", "132_40", "132_42", "132_55",
            "137_04", "137_08", "137_38", "137_42", "142_01", "142_02", "142_04", "142_13", "142_14", "142_15",
        ),
    },
}  # fmt: skip
"""New motions by kind and draw; chosen by their titles in the index of the collection, without a look at them. From the
thirteenth on: those above that no draw took and that no test or page names."""

PERFORMERS: dict[str, tuple[str, ...]] = {
    "man": ("cmu",),
    "woman": ("cmu",),
    "child": ("sample:walk:child",),
    "dog": ("sample:dog_walk",),
    "captured dog": ("animals/dog_walk_30fps.bvh",),
    "husky": ("animals/quaternius_Husky.glb#AnimalArmature|Walk",),
    "fox": ("animals/m2m_fox_animated.glb#Walk",),
    "horse": ("animals/m2m_horse_animated.glb#Walk",),
    "bird": ("animals/m2m_bird_animated.glb#Walk",),
    "spider": ("sample:spider_walk",),
    "spider rig": ("animals/m2m_spider_animated.glb#Walk",),
}
"""Who performs, and where its walk is."""

DOG_FRAMES = slice(30, 120)
"""Frames of the captured dog's clip in which it walks."""

TAILS = ("Tail",)
"""Parts of names of joints that wag and are no part of a walk."""


@dataclass(frozen=True, kw_only=True)
class Combination:
    """One draw: whose walks are the examples, which motion is new, and who performs it."""

    performer: str
    kind: str
    a_example: str
    b_example: str
    new: str

    @property
    def title(self) -> str:
        walk = f"{self.performer} {self.b_example}" if self.performer in ("man", "woman") else self.performer
        return f"{self.kind} {self.new} by {walk}, A walks {self.a_example}"


def draw_combinations(seed: int, count: int, clips: str) -> list[Combination]:
    """Combinations drawn by a seed: kinds and performers in turn, each in random order, clips at random."""
    rng = np.random.default_rng(seed)
    combinations: list[Combination] = []
    kinds: list[str] = []
    performers: list[str] = []
    while len(combinations) < count:
        kinds = kinds or [str(name) for name in rng.permutation(list(NEW[clips]))]
        performers = performers or [str(name) for name in rng.permutation(list(PERFORMERS))]
        kind, performer = kinds.pop(), performers.pop()
        walks = [str(name) for name in rng.permutation(WALKS[clips])]
        combinations.append(
            Combination(
                performer=performer,
                kind=kind,
                a_example=walks[0],
                b_example=walks[1] if PERFORMERS[performer] == ("cmu",) else PERFORMERS[performer][0],
                new=str(rng.choice(NEW[clips][kind])),
            )
        )
    return combinations


def busiest(motion: Motion, seconds: float = CLIP_SECONDS) -> Motion:
    """The part of a motion, of at most so many seconds, in which the root goes farthest."""
    first = _farthest(motion, seconds)
    return motion[first : first + round(seconds * motion.fps) + 1]


def _farthest(motion: Motion, seconds: float) -> int:
    """The first frame of the part, of at most so many seconds, in which the root goes farthest."""
    length = round(seconds * motion.fps) + 1
    if motion.num_frames <= length:
        return 0
    steps = np.linalg.norm(np.diff(motion.root[:, [0, 2]], axis=0), axis=-1)
    gone = np.concatenate([[0.0], np.cumsum(steps)])
    return int(np.argmax(gone[length - 1 :] - gone[: len(gone) - length + 1]))


def captured(cmu: Path, name: str) -> Motion:
    """A clip of the CMU database at 30 frames per second, without its T-pose, where the body goes farthest."""
    return busiest(collected(cmu, name, rate=FPS))


def performed(cmu: Path, data: Path, example: str) -> Motion:
    """The walk of a performer at 30 frames per second; a loop is repeated."""
    if example.startswith("sample:"):
        name, _, character = example.removeprefix("sample:").partition(":")
        if character:
            from papers.analogies_cases import child_walk

            return child_walk()
        return samples.motion(name, fps=FPS, seconds=CLIP_SECONDS).motion
    if "/" not in example:
        return captured(cmu, example)
    file, _, animation = example.partition("#")
    if not animation:
        return moving(data / file)[DOG_FRAMES]
    motion = clip(Path(f"{data / file}#{animation}")).motion
    assert motion is not None
    motion = motion.resampled(FPS)
    cycles = [np.arange(motion.num_frames - 1)] * max(round(CLIP_SECONDS * FPS / motion.num_frames), 2)
    return motion[np.concatenate([*cycles, [0]])]


def perform(combination: Combination, cmu: Path, data: Path) -> Analogy:
    """Make the analogy of a combination."""
    b = performed(cmu, data, combination.b_example)
    tails = tuple(name for name in b.skeleton.names if any(part.lower() in name.lower() for part in TAILS))
    settings = Settings(any_length=True, without=tails)
    return analogy(captured(cmu, combination.a_example), b, captured(cmu, combination.new), settings=settings)


HEAD = (
    "combination", "score", "lift", "foot above hips (legs)", "crouch off (legs)", "plants (mm)", "path / steps",
    "the same of A", "stance", "limits (deg)", "foot raised (legs)", "seconds",
)  # fmt: skip


def slid(result: Analogy) -> float:
    """The farthest that a planted point is from where it stands on average, metres."""
    from understudy.figure.kinematics import fk

    worst, pose = 0.0, fk(result.motion)
    for contact in result.stepping.contacts:
        path = pose.points([contact.point])[contact.frames(result.motion.fps, result.motion.num_frames), 0]
        worst = max(worst, float(np.linalg.norm(path - path.mean(axis=0), axis=-1).max(initial=0.0)))
    return worst


def result_row(combination: Combination, result: Analogy, seconds: float) -> tuple[Any, ...]:
    """The table row of a result."""
    seen = result.quality
    lifts = list(seen.lifts.values())
    return (
        combination.title, float(result.score), float(np.mean(lifts)) if lifts else None, seen.above_hips, seen.crouch,
        1e3 * slid(result), seen.path, seen.source_path, seen.stance, float(np.degrees(seen.limits)), seen.raised,
        seconds,
    )  # fmt: skip


def strip_name(number: int) -> str:
    """The file of the strip of a combination."""
    return f"variety_{number:02d}.png"


def draw_strip(combination: Combination, result: Analogy, path: Path) -> None:
    """Draw the source's new motion and the result, one below the other, from the side."""
    source, motion = result.new.motion, result.motion
    rows = {
        f"A: {combination.kind} {combination.new}": source,
        f"{combination.performer}, score {result.score:.2f}": motion,
    }
    count = min(source.num_frames, motion.num_frames)
    first = _farthest(source[:count], STRIP_SECONDS)
    frames = slice(first, min(first + round(STRIP_SECONDS * FPS) + 1, count))
    draw(
        list(rows.values()), path, labels=list(rows), frames=frames, views="side", style="filmstrip", dots_per_inch=60.0
    )


def run_all(
    combinations: dict[int, Combination], cmu: Path, data: Path, folder: Path | None
) -> Iterator[tuple[Any, ...]]:
    """Rows of the combinations, by number, as they are made; strips go to a folder."""
    for number, combination in combinations.items():
        start = time.perf_counter()
        try:
            result = perform(combination, cmu, data)
        except UnderstudyError as error:
            yield (f"{combination.title}: {error}", *[None] * (len(HEAD) - 1))
            continue
        if folder is not None:
            draw_strip(combination, result, folder / strip_name(number))
        yield result_row(combination, result, time.perf_counter() - start)


SEEN: dict[int, tuple[str, str]] = dict.fromkeys(range(1, 34), ("yes", ""))
"""What a viewer says of the strip of each combination of the kept draw: yes or no, and why."""

DRAW, SEED, COUNT = "thirteenth", 2313, 33
"""The draw that is kept, of whose clips none was used before; its seed and the number of its combinations."""


def variety(collection: Path, data: Path | None, folder: Path | None, tell: Tell) -> Findings:
    """The combinations of the kept draw."""
    assert data is not None
    combinations = dict(enumerate(draw_combinations(SEED, COUNT, DRAW), 1))
    rows = []
    for row in run_all(combinations, collection, data, folder):
        tell(str(row[0]))
        rows.append(row)
    title = f"On {COUNT} combinations of fresh captures and performers, drawn by seed {SEED}"
    strips = [] if folder is None else [folder / strip_name(number) for number in combinations]
    table = Table(title=title, head=HEAD, rows=tuple(rows))
    return Findings(tables=(table,), pictures=tuple(path for path in strips if path.is_file()))


FRESH = (
    Fresh(
        name="variety",
        about="Combinations drawn from captures on which nothing was developed",
        clips=(*WALKS[DRAW], *(name for names in NEW[DRAW].values() for name in names)),
        files=tuple(file.partition("#")[0] for (file,) in PERFORMERS.values() if "/" in file),
        run=variety,
    ),
)


@click.command()
@click.option("--cmu", required=True, type=click.Path(path_type=Path, exists=True), help="Clips of the CMU database.")
@click.option("--data", required=True, type=click.Path(path_type=Path, exists=True), help="Animals.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write strips and the table there.")
@click.option("--seed", default=SEED, show_default=True)
@click.option("--count", default=COUNT, show_default=True)
@click.option("--clips", type=click.Choice(list(NEW)), default=DRAW, show_default=True)
@click.option("--only", type=int, multiple=True, help="Numbers of combinations, from 1.")
def main(cmu: Path, data: Path, output: Path | None, seed: int, count: int, clips: str, only: tuple[int, ...]) -> None:
    """Draw combinations by a seed, make their analogies, and measure what a viewer sees."""
    drawn = draw_combinations(seed, count, clips)
    combinations = {number: drawn[number - 1] for number in only or range(1, count + 1)}
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    rows = []
    for row in run_all(combinations, cmu, data, output):
        click.echo(Table(title=f"{len(rows) + 1}", head=HEAD, rows=(row,)).text().splitlines()[-1])
        rows.append(row)
    if output is not None:
        table = Table(title=f"Drawn by seed {seed} from {clips} clips", head=HEAD, rows=tuple(rows))
        (output / "table.md").write_text(table.markdown() + "\n")
        (output / "table.json").write_text(json.dumps(table.data(), indent=1) + "\n")


if __name__ == "__main__":
    main()
