"""Volumes in files, as scanners, microscopes and ImageJ write them; where functions take them."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from preflow.errors import InvalidInputError, MissingDependencyError, ParseError
from preflow.vision import (
    Painting,
    Volume,
    denoise,
    grabcut,
    labels_picture,
    overlay,
    read_image,
    read_volume,
    segment,
    segment_labels,
    volume_overlay,
    write_image,
    write_labels,
    write_volume,
)
from preflow.vision.volumes import is_volume

STACK = np.random.default_rng(0).integers(0, 256, size=(6, 7, 8), dtype=np.uint8)
THICK = Volume(STACK, np.diag([0.5, 0.25, 2.0, 1.0]))


class TestVolume:
    def test_a_volume_is_short_to_read(self):
        assert repr(THICK) == "Volume(6 x 7 x 8 uint8, 2 x 0.25 x 0.5 mm)"

    def test_a_volume_is_an_array(self):
        assert np.array_equal(THICK, STACK)
        assert np.asarray(THICK) is STACK
        own = np.array(THICK)
        own[:] = 0
        assert STACK.any()
        assert np.asarray(THICK, float).dtype == float
        mask = THICK > 195
        assert type(mask) is np.ndarray
        assert (mask == (STACK > 195)).all()
        assert ((THICK >= 7) == (STACK >= 7)).all()
        assert (np.sqrt(THICK + 1.0) == np.sqrt(STACK + 1.0)).all()

    def test_attributes_and_items_are_those_of_the_array(self):
        assert (THICK.shape, THICK.ndim, len(THICK), THICK.dtype) == ((6, 7, 8), 3, 6, np.uint8)
        assert THICK.mean() == STACK.mean()
        assert (THICK[2, ::2] == STACK[2, ::2]).all()
        assert (THICK.astype(float) == STACK).all()
        for copied in (copy.deepcopy(THICK), pickle.loads(pickle.dumps(THICK))):
            assert (copied == THICK).all()
            assert copied.spacing == THICK.spacing
        with pytest.raises(AttributeError):
            THICK.spacings  # noqa: B018

    def test_lists_are_values_and_sides_are_no_affine(self):
        assert repr(Volume([[[1, 2]]], np.eye(4))) == "Volume(1 x 1 x 2 int64, 1 x 1 x 1 mm)"
        with pytest.raises(InvalidInputError, match=r"numpy\.diag\(\[x, y, z, 1\]\)"):
            Volume(STACK, (2, 1, 1))
        with pytest.raises(InvalidInputError, match=r"expected \(d, h, w\)"):
            Volume(STACK[0], np.eye(4))

    def test_other_sides_leave_place_and_directions(self):
        turned = np.array([[0, 0, -2, 5.0], [3, 0, 0, 6], [0, 4, 0, 7], [0, 0, 0, 1]])
        volume = Volume(STACK, turned).with_spacing((0.5, 0.2, 0.1))
        assert volume.spacing == pytest.approx((0.5, 0.2, 0.1))
        assert volume.directions == Volume(STACK, turned).directions
        assert volume.affine == pytest.approx(
            np.array([[0, 0, -0.5, 5], [0.1, 0, 0, 6], [0, 0.2, 0, 7], [0, 0, 0, 1]])
        )
        assert Volume(STACK, np.zeros((4, 4))).with_spacing((3, 2, 1)).spacing == (3, 2, 1)
        for wrong in ((1, 1), (1, 1, 0), (1, 1, np.inf)):
            with pytest.raises(InvalidInputError, match="3 positive numbers"):
                THICK.with_spacing(wrong)

    def test_a_painting_keeps_the_sides_that_were_given(self):
        assert Painting(THICK, spacing=(3, 2, 1)).volume.spacing == (3, 2, 1)
        assert Painting(THICK).volume is THICK

    def test_slices_have_the_proportions_of_the_voxels(self):
        # z twice as long as the shorter sides: slices of constant z, y, x are 7 x 8, 6 x 8 and 6 x 7 voxels
        volume = Volume(STACK, np.diag([1, 1, 2, 1.0]))
        assert volume_overlay(volume, STACK > 100).shape == (12, 8 + 8 + 7, 3)
        assert labels_picture((STACK > 100).astype(int), volume).shape == (12, 8 + 8 + 7, 3)
        assert volume_overlay(STACK, STACK > 100).shape == (7, 8 + 8 + 7, 3)
        needle = Volume(STACK, np.diag([1e-5, 1e-5, 1, 1.0]))
        assert max(volume_overlay(needle, STACK > 100).shape) <= 10 * 8

    def test_functions_take_it_with_its_spacing(self):
        foreground, background = THICK > 200, THICK < 50
        with_sides = {"spacing": THICK.spacing}
        markers = foreground + 2 * background
        for found, expected in (
            (segment(THICK, foreground, background), segment(STACK, foreground, background, **with_sides)),
            (segment_labels(THICK, markers), segment_labels(STACK, markers, **with_sides)),
            (grabcut(THICK, (1, 1, 1, 5, 6, 7)), grabcut(STACK, (1, 1, 1, 5, 6, 7), **with_sides)),
        ):
            assert found.energy == expected.energy
        assert segment(THICK, foreground, background).energy != segment(STACK, foreground, background).energy
        cubes = segment(THICK, foreground, background, spacing=(1, 1, 1))
        assert cubes.energy == segment(STACK, foreground, background).energy
        assert Painting(THICK).spacing == THICK.spacing
        assert denoise(THICK, 5.0).energy == denoise(STACK, 5.0).energy

    def test_labels_of_a_volume_are_drawn_as_three_slices(self):
        page = labels_picture(np.ones(STACK.shape, int), THICK)
        assert page.shape == (6 * 8, 8 * 2 + 8 * 2 + 7, 3)
        with pytest.raises(InvalidInputError, match="volume_overlay shows a volume"):
            overlay(STACK, STACK > 7)


class TestNifti:
    @pytest.fixture(autouse=True)
    def needs_nibabel(self):
        pytest.importorskip("nibabel")

    @pytest.mark.parametrize("name", ["labels.nii", "labels.nii.gz"])
    def test_labels_come_back_at_their_place(self, tmp_path, name):
        labels = np.random.default_rng(0).integers(0, 3, size=(4, 5, 6))
        affine = np.array([[0, 2, 0, -5], [1, 0, 0, 3], [0, 0, 3, 7], [0, 0, 0, 1.0]])
        write_labels(tmp_path / name, labels, Volume(labels, affine))
        volume = read_volume(tmp_path / name)
        assert (volume.values == labels).all()
        assert volume.values.dtype == np.uint8
        assert (volume.affine == affine).all()

    def test_axes_are_z_y_x(self, tmp_path):
        import nibabel

        nibabel.save(
            nibabel.Nifti1Image(np.zeros((6, 5, 4, 1), dtype=np.int16), np.eye(4)), tmp_path / "v.nii"
        )
        assert read_volume(tmp_path / "v.nii").values.shape == (4, 5, 6)

    @pytest.mark.parametrize("byteorder", "<>")
    def test_the_second_version_of_nifti(self, tmp_path, byteorder):
        import nibabel

        header = nibabel.Nifti2Header(endianness=byteorder)
        image = nibabel.Nifti2Image(STACK.T.astype(np.int16), THICK.affine, header)
        for name in ("v.nii", "v.nii.gz"):
            nibabel.save(image, tmp_path / name)
            volume = read_volume(tmp_path / name)
            assert (volume == STACK).all()
            assert volume.spacing == THICK.spacing
        (tmp_path / "v.nii").write_bytes((tmp_path / "v.nii").read_bytes()[:700])
        with pytest.raises(ParseError, match="its header announces"):
            read_volume(tmp_path / "v.nii")

    @pytest.mark.parametrize(("unit", "factor"), [("micron", 1e-3), ("meter", 1e3), ("mm", 1), (0, 1)])
    def test_units_become_millimetres(self, tmp_path, unit, factor):
        import nibabel

        image = nibabel.Nifti1Image(STACK.T, THICK.affine)
        image.header.set_xyzt_units(unit, "sec")
        nibabel.save(image, tmp_path / "v.nii")
        volume = read_volume(tmp_path / "v.nii")
        assert volume.spacing == pytest.approx([factor * side for side in THICK.spacing])
        for name in ("mask.nii", "mask.tif"):
            write_labels(tmp_path / name, volume > 9, volume)
            assert read_volume(tmp_path / name).spacing == pytest.approx(volume.spacing)
        assert nibabel.load(tmp_path / "mask.nii").header.get_xyzt_units()[0] == "mm"

    def test_other_files_are_told_the_way(self, tmp_path):
        (tmp_path / "scan.nrrd").write_bytes(b"NRRD0004")
        with pytest.raises(ParseError, match=r"SimpleITK\.WriteImage"):
            read_volume(tmp_path / "scan.nrrd")
        (tmp_path / "series").mkdir()
        (tmp_path / "series" / "IM1.dcm").write_bytes(bytes(128) + b"DICM")
        with pytest.raises(ParseError, match="DICOM by dcm2niix"):
            read_volume(tmp_path / "series")

    @pytest.mark.parametrize("write", [write_labels, write_volume])
    def test_what_is_written_needs_a_place(self, tmp_path, write):
        for like in (STACK, "scan.tif"):
            with pytest.raises(InvalidInputError, match="like must be a Volume, got"):
                write(tmp_path / "out.tif", STACK, like)

    def test_missing_and_damaged_volumes(self, tmp_path, capfd):
        import nibabel

        with pytest.raises(ParseError, match="cannot be read"):
            read_volume(tmp_path / "missing.nii")
        whole = tmp_path / "whole.nii"
        nibabel.save(nibabel.Nifti1Image(np.zeros((6, 5, 4), dtype=np.int16), np.eye(4)), whole)
        damaged = tmp_path / "damaged.nii"
        for content in (b"", b"no volume", whole.read_bytes()[:400]):
            damaged.write_bytes(content)
            with pytest.raises(ParseError, match="is not a NIfTI file, or a damaged one"):
                read_volume(damaged)
        assert capfd.readouterr() == ("", "")
        with pytest.raises(ParseError, match=r"read_volume\(path\) reads NIfTI"):
            read_image(whole)
        nibabel.save(nibabel.Nifti1Image(np.zeros((6, 5, 4, 2), dtype=np.int16), np.eye(4)), damaged)
        with pytest.raises(ParseError, match=r"save one of the series by nibabel\.load"):
            read_volume(damaged)

    @pytest.mark.parametrize("shape", [(6, 5), (6, 5, 1), (6, 5, 1, 1)])
    def test_one_slice_is_a_volume(self, tmp_path, shape):
        import nibabel

        values = np.arange(30, dtype=np.int16).reshape(shape)
        nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), tmp_path / "slice.nii")
        volume = read_volume(tmp_path / "slice.nii")
        assert (volume.values == values.reshape(6, 5, 1).T).all()
        write_labels(tmp_path / "labels.nii", volume.values > 12, volume)
        assert (read_volume(tmp_path / "labels.nii").values == (volume.values > 12)).all()

    @pytest.mark.parametrize(
        ("labels", "dtype"),
        [
            (STACK > 9, np.uint8),
            (STACK.astype(float), np.uint8),
            (STACK * np.int64(3), np.uint16),
            (STACK * np.int64(700), np.uint32),
            (STACK - np.int64(1), np.int16),
        ],
    )
    def test_labels_have_the_type_that_holds_them(self, tmp_path, labels, dtype):
        write_labels(tmp_path / "labels.nii", labels, THICK)
        found = read_volume(tmp_path / "labels.nii")
        assert found.values.dtype == dtype
        assert (found.values == labels).all()

    @pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float32", "float64", "bool"])
    def test_values_come_back(self, tmp_path, dtype):
        values = STACK.astype(dtype)
        write_volume(tmp_path / "values.nii.gz", values, THICK)
        found = read_volume(tmp_path / "values.nii.gz")
        assert (found.values == values).all()
        assert (found.affine == THICK.affine).all()
        write_volume(tmp_path / "again.nii", found)
        assert (read_volume(tmp_path / "again.nii").values == values).all()

    @pytest.mark.parametrize(
        ("name", "labels", "message"),
        [
            ("v.png", STACK > 0, r"ends in \.nii"),
            ("v.nii", STACK[1:] > 0, "labels have shape"),
            ("v.nii", STACK / 3, r"got [0-9.]+ at \(\d, \d, \d\): write_volume"),
            ("v.nii", np.full(STACK.shape, np.nan), r"got nan at \(0, 0, 0\)"),
            ("v.nii", np.full(STACK.shape, np.inf), r"below 2\*\*63"),
            ("v.nii", np.full(STACK.shape, "a"), "integers or bool"),
        ],
    )
    def test_labels_that_cannot_be_written(self, tmp_path, name, labels, message):
        with pytest.raises(InvalidInputError, match=message):
            write_labels(tmp_path / name, labels, THICK)
        assert not list(tmp_path.iterdir())

    def test_values_that_cannot_be_written(self, tmp_path):
        with pytest.raises(InvalidInputError, match="like is needed"):
            write_volume(tmp_path / "v.nii", STACK)
        with pytest.raises(InvalidInputError, match=r"\.astype\('float32'\) can"):
            write_volume(tmp_path / "v.nii", STACK.astype(np.float16), THICK)
        with pytest.raises(InvalidInputError, match="array of numbers"):
            write_volume(tmp_path / "v.nii", STACK.astype(complex), THICK)
        assert not list(tmp_path.iterdir())


class TestTiff:
    """Stacks of microscopes."""

    @pytest.fixture(autouse=True)
    def needs_tifffile(self):
        self.tifffile = pytest.importorskip("tifffile")
        pytest.importorskip("imageio")

    @pytest.mark.parametrize(
        ("unit", "millimetres"), [("um", 1e-3), ("micron", 1e-3), ("\\u00B5m", 1e-3), ("mm", 1.0), ("", 1.0)]
    )
    def test_the_spacing_of_imagej(self, tmp_path, unit, millimetres):
        path = tmp_path / "stack.tif"
        self.tifffile.imwrite(
            path,
            STACK,
            imagej=True,
            resolution=(2, 4),
            metadata={"axes": "ZYX", "spacing": 3.0, "unit": unit},
        )
        volume = read_volume(path)
        assert (volume.values == STACK).all()
        assert volume.spacing == pytest.approx((3 * millimetres, 0.25 * millimetres, 0.5 * millimetres))

    @pytest.mark.parametrize("unit", ["\u00b5m", None, "nm"])
    def test_the_spacing_of_ome(self, tmp_path, unit):
        path = tmp_path / "stack.ome.tif"
        sides = {"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.25, "PhysicalSizeZ": 2.0}
        units = {f"{name}Unit": unit for name in sides} if unit else {}
        self.tifffile.imwrite(path, STACK.astype(np.uint16), metadata={"axes": "ZYX", **sides, **units})
        factor = 1e-6 if unit == "nm" else 1e-3
        assert read_volume(path).spacing == pytest.approx((2 * factor, 0.25 * factor, 0.5 * factor))

    @pytest.mark.parametrize("options", [{}, {"compression": "zlib"}, {"bigtiff": True}, {"byteorder": ">"}])
    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32", "float64"])
    def test_plain_stacks(self, tmp_path, options, dtype):
        self.tifffile.imwrite(tmp_path / "stack.TIFF", STACK.astype(dtype), **options)
        volume = read_volume(tmp_path / "stack.TIFF")
        assert (volume.values == STACK).all()
        assert volume.spacing == (1, 1, 1)
        assert is_volume(tmp_path / "stack.TIFF")

    def test_stacks_compressed_by_lzw(self, tmp_path):
        """tifffile reads them with another package only; Pillow always does."""
        image = pytest.importorskip("PIL.Image")
        first, *others = map(image.fromarray, STACK)
        first.save(tmp_path / "stack.tif", save_all=True, append_images=others, compression="tiff_lzw")
        assert (read_volume(tmp_path / "stack.tif").values == STACK).all()

    def test_colours_and_single_pages(self, tmp_path):
        path = tmp_path / "stack.tif"
        self.tifffile.imwrite(path, np.stack([STACK] * 3, -1), photometric="rgb")
        volume = read_volume(path)
        assert volume.values.shape == (6, 7, 8, 3)
        assert segment(volume, STACK > 200, STACK < 50).mask.shape == STACK.shape
        write_labels(tmp_path / "mask.tif", STACK > 200, volume)
        self.tifffile.imwrite(path, STACK[0])
        assert not is_volume(path)
        assert read_volume(path).values.shape == (1, 7, 8)

    def test_what_is_no_stack_says_so(self, tmp_path, capfd):
        path = tmp_path / "stack.tif"
        channels = np.stack([STACK] * 2, 1)
        self.tifffile.imwrite(path, channels, imagej=True, metadata={"axes": "ZCYX"})
        with pytest.raises(
            ParseError, match=r"axes ZCYX: take one channel and time of tifffile\.imread\(path\)$"
        ):
            read_volume(path)
        self.tifffile.imwrite(path, STACK, imagej=True)  # tifffile takes them for channels
        with pytest.raises(ParseError, match=r"if these are slices, write them again .*'axes': 'ZYX'"):
            read_volume(path)
        with self.tifffile.TiffWriter(path) as writer:
            writer.write(STACK[0])
            writer.write(STACK[0, :4])
        with pytest.raises(ParseError, match=r"different shapes, \(4, 8\) and \(7, 8\)"):
            read_volume(path)
        self.tifffile.imwrite(path, STACK)
        with pytest.raises(ParseError, match=r"has 6 pages .* read_volume\(path\) reads all"):
            read_image(path)
        whole = path.read_bytes()
        for content in (b"", whole[:8], whole[:300], b"II*\0" + bytes(50)):
            path.write_bytes(content)
            with pytest.raises(ParseError, match="is not a TIFF, or a damaged one"):
                read_volume(path)
        with pytest.raises(ParseError, match="cannot be read"):
            read_volume(tmp_path / "missing.tif")
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("name", ["v.btf", "v.tf8", "V.TIF"])
    def test_large_tiff_has_other_names(self, tmp_path, name):
        self.tifffile.imwrite(tmp_path / name, STACK, bigtiff=True)
        assert is_volume(tmp_path / name)
        assert (read_volume(tmp_path / name) == STACK).all()

    def test_a_small_file_cannot_announce_a_huge_stack(self, tmp_path):
        path = tmp_path / "stack.tif"
        self.tifffile.imwrite(path, np.zeros((1, 1), np.uint8))
        with self.tifffile.TiffFile(path, mode="r+b") as file:
            for name in ("ImageWidth", "ImageLength"):
                file.pages[0].tags[name].overwrite(60_000)
        with pytest.raises(ParseError, match="damaged"):
            read_volume(path)

    def test_masks_and_values_come_back(self, tmp_path):
        path = tmp_path / "out.tif"
        small = Volume(STACK, np.diag([5e-4, 2.5e-4, 2e-3, 1.0]))
        for like in (THICK, small):
            write_labels(path, STACK > 100, like)
            assert (read_volume(path).values == (STACK > 100)).all()
            assert read_volume(path).spacing == pytest.approx(like.spacing)
        write_labels(path, STACK.astype(int) * 3, small)
        assert read_volume(path).values.dtype == np.uint16
        write_volume(path, (small / 3).astype(np.float32), small)
        assert read_volume(path).values.max() == pytest.approx(STACK.max() / 3)
        with pytest.raises(InvalidInputError, match="labels are int16 from -1 to"):
            write_labels(path, STACK.astype(int) - 1, small)


class TestFolders:
    """Slices of a microtome or of a CT, a picture each."""

    @pytest.fixture(autouse=True)
    def needs_imageio(self):
        pytest.importorskip("imageio")

    def write(self, folder: Path, suffix: str = ".png") -> None:
        folder.mkdir()
        for number, page in enumerate(np.concatenate([STACK, STACK])):
            write_image(folder / f"slice{number}{suffix}", page)

    @pytest.mark.parametrize("suffix", [".png", ".tif"])
    def test_slices_are_in_the_order_of_their_numbers(self, tmp_path, suffix):
        self.write(tmp_path / "slices", suffix)
        (tmp_path / "slices" / "notes.txt").write_text("no picture")
        assert is_volume(tmp_path / "slices")
        volume = read_volume(tmp_path / "slices")
        assert (volume.values == np.concatenate([STACK, STACK])).all()
        assert volume.spacing == (1, 1, 1)

    def test_the_odd_slice_is_named(self, tmp_path):
        folder = tmp_path / "slices"
        self.write(folder)
        write_image(folder / "slice5.png", STACK[0, :3])
        with pytest.raises(ParseError, match=r"slice5\.png.* shape \(3, 8\), .* shape \(7, 8\)"):
            read_volume(folder)
        write_image(folder / "mask.tif", STACK[0])
        with pytest.raises(ParseError, match=r"several kinds, \.png, \.tif"):
            read_volume(folder)
        (tmp_path / "empty").mkdir()
        with pytest.raises(ParseError, match="has no pictures"):
            read_volume(tmp_path / "empty")


@pytest.mark.parametrize(("package", "name"), [("nibabel", "v.nii"), ("tifffile", "v.tif")])
def test_without_a_reader_the_extra_is_named(tmp_path, monkeypatch, package, name):
    monkeypatch.setitem(sys.modules, package, None)
    for call in (read_volume, lambda path: write_labels(path, STACK > 0, THICK)):
        with pytest.raises(MissingDependencyError, match=r"preflow\[vision\]"):
            call(tmp_path / name)
