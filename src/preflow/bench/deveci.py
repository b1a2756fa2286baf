"""What Deveci, Kaya, Uçar and Çatalyürek published of G-PR (2013): Table I, and their comparisons.

A Tesla C2050 and two quad-core Xeons of 2.27 GHz with 8 threads; seconds without the cheap initial matching.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Matrix(NamedTuple):
    """A row of Table I.

    Attributes
    ----------
    rows, columns : int
    edges : int
        Of a symmetric matrix only those of one triangle, as its file has them.
    initial, maximum : int
        Cardinality of the initial matching, IM, and of a maximum one, MM.
    symmetric : bool
        Whether the graph has both triangles of what the file has; not in the table.
    g_pr, g_hkdw, p_dbfs, pr : float
        Seconds.
    """

    rows: int
    columns: int
    edges: int
    initial: int
    maximum: int
    symmetric: bool
    g_pr: float
    g_hkdw: float
    p_dbfs: float
    pr: float

    @property
    def entries(self) -> int:
        """About how many entries the matrix has, both triangles counted."""
        return 2 * self.edges if self.symmetric else self.edges


#: The table by the matrices' names in the University of Florida collection, in its order, by rows.
TABLE: Mapping[str, Matrix] = MappingProxyType(
    {
        "amazon0505": Matrix(410_236, 410_236, 3_356_824, 332_972, 395_397, False, 0.09, 0.18, 22.7, 0.52),
        "coPapersDBLP": Matrix(540_486, 540_486, 15_245_729, 510_992, 540_226, True, 0.62, 0.42, 6.27, 0.59),
        "amazon-2008": Matrix(735_323, 735_323, 5_158_388, 587_877, 641_379, False, 0.12, 0.11, 0.18, 0.93),
        "flickr": Matrix(820_878, 820_878, 9_837_214, 285_241, 367_147, False, 0.13, 0.22, 0.35, 0.99),
        "eu-2005": Matrix(862_664, 862_664, 19_235_140, 642_027, 652_328, False, 0.4, 1.54, 0.94, 0.8),
        "delaunay_n20": Matrix(
            1_048_576, 1_048_576, 3_145_686, 993_174, 1_048_576, True, 0.06, 0.04, 0.09, 0.32
        ),
        "kron_g500-logn20": Matrix(
            1_048_576, 1_048_576, 44_620_272, 431_854, 513_334, True, 0.38, 0.6, 8.19, 1.24
        ),
        "roadNet-PA": Matrix(
            1_090_920, 1_090_920, 1_541_898, 916_444, 1_059_398, True, 0.33, 0.14, 0.29, 0.59
        ),
        "in-2004": Matrix(1_382_908, 1_382_908, 16_917_053, 781_063, 804_245, False, 0.58, 1.44, 2.16, 0.56),
        "roadNet-TX": Matrix(
            1_393_383, 1_393_383, 1_921_660, 1_158_420, 1_342_440, True, 0.45, 0.14, 0.33, 0.69
        ),
        "Hamrle3": Matrix(
            1_447_360, 1_447_360, 5_514_242, 1_211_049, 1_447_360, False, 0.94, 1.36, 2.7, 0.56
        ),
        "as-Skitter": Matrix(
            1_696_415, 1_696_415, 11_095_298, 891_280, 1_035_521, True, 0.34, 0.49, 1.89, 1.13
        ),
        "GL7d19": Matrix(
            1_911_130, 1_955_309, 37_322_725, 1_904_144, 1_911_130, False, 0.24, 0.58, 0.38, 1.38
        ),
        "roadNet-CA": Matrix(
            1_971_281, 1_971_281, 2_766_607, 1_668_268, 1_913_589, True, 0.68, 0.34, 0.53, 1.55
        ),
        "delaunay_n21": Matrix(
            2_097_152, 2_097_152, 6_291_408, 1_987_326, 2_097_152, True, 0.18, 0.13, 0.21, 1.06
        ),
        "kron_g500-logn21": Matrix(
            2_097_152, 2_097_152, 91_042_010, 812_883, 964_679, True, 0.68, 0.99, 1.5, 2.77
        ),
        "wikipedia-20070206": Matrix(
            3_566_907, 3_566_907, 45_030_389, 1_623_931, 1_992_408, False, 0.62, 1.09, 5.24, 3.11
        ),
        "patents": Matrix(
            3_774_768, 3_774_768, 14_970_767, 1_892_820, 2_011_083, False, 0.54, 0.88, 0.84, 3.65
        ),
        "com-LiveJournal": Matrix(
            3_997_962, 3_997_962, 34_681_189, 2_577_642, 3_608_272, True, 2.08, 4.58, 22.46, 9.67
        ),
        "hugetrace-00000": Matrix(
            4_588_484, 4_588_484, 6_879_133, 4_581_148, 4_588_484, True, 2.71, 1.96, 0.83, 0.84
        ),
        "soc-LiveJournal1": Matrix(
            4_847_571, 4_847_571, 68_993_773, 2_831_783, 3_835_002, False, 1.35, 3.32, 14.35, 12.66
        ),
        "ljournal-2008": Matrix(
            5_363_260, 5_363_260, 79_023_142, 3_941_073, 4_355_699, False, 1.54, 2.37, 10.3, 10.01
        ),
        "italy_osm": Matrix(
            6_686_493, 6_686_493, 7_013_978, 6_438_492, 6_644_390, True, 5.46, 5.86, 1.2, 6.84
        ),
        "delaunay_n23": Matrix(
            8_388_608, 8_388_608, 25_165_784, 7_950_070, 8_388_608, True, 0.81, 0.96, 1.26, 8.86
        ),
        "wb-edu": Matrix(
            9_845_725, 9_845_725, 57_156_537, 4_810_825, 5_000_334, False, 2.0, 33.82, 8.61, 3.94
        ),
        "hugetrace-00020": Matrix(
            16_002_413, 16_002_413, 23_998_813, 15_535_760, 16_002_413, True, 14.19, 7.9, 393.13, 28.69
        ),
        "delaunay_n24": Matrix(
            16_777_216, 16_777_216, 50_331_601, 15_892_194, 16_777_216, True, 1.83, 1.98, 2.41, 23.01
        ),
        "hugebubbles-00000": Matrix(
            18_318_143, 18_318_143, 27_470_081, 18_303_614, 18_318_143, True, 13.65, 13.16, 3.55, 13.51
        ),
    }
)
#: What the text says of the geometric means over the table.
CLAIMS: Mapping[str, str] = MappingProxyType(
    {
        "PR": "3.05x",
        "G-HKDW": "1.30x",
        "P-DBFS": "2.82x",
        "active lists": "14 to 84 %",
        "shrinking": "2 to 8 %",
        "adaptive": "faster for almost all configurations",
    }
)
