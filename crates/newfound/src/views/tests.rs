//! Every transformation against Pillow and torchvision, and the views as a whole.

use std::path::PathBuf;

use image::Rgb;
use rayon::prelude::*;
use serde_json::Value;

use super::*;

/// The cases and their answers, made by the script beside them.
struct Fixtures {
    cases: Value,
    bytes: Vec<u8>,
}

impl Fixtures {
    fn load() -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/images");
        let cases =
            serde_json::from_slice(&std::fs::read(folder.join("views.json")).unwrap()).unwrap();
        Self {
            cases,
            bytes: std::fs::read(folder.join("views.bin")).unwrap(),
        }
    }

    fn cases(&self, name: &str) -> &Vec<Value> {
        self.cases[name].as_array().unwrap()
    }

    fn pixels(&self, case: &Value) -> &[u8] {
        &self.bytes[number(&case["offset"]) as usize..][..number(&case["length"]) as usize]
    }

    fn floats(&self, case: &Value) -> Vec<f32> {
        self.pixels(case)
            .as_chunks()
            .0
            .iter()
            .map(|&bytes| f32::from_le_bytes(bytes))
            .collect()
    }

    fn image(&self, case: &Value) -> RgbImage {
        let (width, height) = (number(&case["width"]), number(&case["height"]));
        RgbImage::from_raw(width, height, self.pixels(case).to_vec()).unwrap()
    }

    /// A source image by name.
    fn source(&self, case: &Value) -> RgbImage {
        let name = case["source"].as_str().unwrap();
        self.image(if name == "tile" {
            &self.cases["tile"]
        } else {
            &self.cases["sources"][name]
        })
    }
}

fn number(value: &Value) -> u32 {
    value.as_u64().unwrap() as u32
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn crop_box(value: &Value) -> CropBox {
    let [left, top, width, height] = [0, 1, 2, 3].map(|i| number(&value[i]));
    CropBox {
        left,
        top,
        width,
        height,
    }
}

/// The largest difference, and the share of values that differ at all.
fn difference(a: &[u8], b: &[u8]) -> (u8, f64) {
    assert_eq!(a.len(), b.len());
    let differences = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b));
    let differing = differences.clone().filter(|&d| d > 0).count();
    (
        differences.max().unwrap_or(0),
        differing as f64 / a.len() as f64,
    )
}

#[test]
fn resizing_is_pillows_within_one_level() {
    let fixtures = Fixtures::load();
    for case in fixtures.cases("resize") {
        let source = fixtures.source(case);
        let (width, height) = (number(&case["size"][0]), number(&case["size"][1]));
        let resized = resize::resize(&source, crop_box(&case["box"]), width, height);
        let (largest, share) = difference(&resized, fixtures.pixels(case));
        assert!(largest <= 1, "{case}: {largest}");
        // Since version 13 Pillow resizes rows first where the height shrinks more: another rounding.
        let rows_first =
            height * crop_box(&case["box"]).width < width * crop_box(&case["box"]).height;
        assert!(
            share < if rows_first { 0.4 } else { 0.02 },
            "{case}: {share}"
        );
    }
}

#[test]
fn resized_crops_have_torchvisions_sides() {
    let fixtures = Fixtures::load();
    for case in fixtures.cases("sides") {
        let (width, height) = (number(&case["image"][0]), number(&case["image"][1]));
        let sides = crop::sides(width, height, float(&case["area"]), float(&case["ratio"]));
        assert_eq!(
            sides,
            (number(&case["sides"][0]), number(&case["sides"][1])),
            "{case}"
        );
    }
    for case in fixtures.cases("fallback") {
        let (width, height) = (number(&case["image"][0]), number(&case["image"][1]));
        assert_eq!(
            CropBox::fallback(width, height),
            crop_box(&case["box"]),
            "{case}"
        );
    }
}

#[test]
fn adjustments_are_pillows_to_the_bit() {
    let fixtures = Fixtures::load();
    for case in fixtures.cases("adjust") {
        let mut image = fixtures.image(&fixtures.cases["tile"]);
        let factor = float(&case["factor"]);
        match case["name"].as_str().unwrap() {
            "brightness" => adjust::brightness(&mut image, factor as f32),
            "contrast" => adjust::contrast(&mut image, factor as f32),
            "saturation" => adjust::saturation(&mut image, factor as f32),
            "hue" => hue::hue(&mut image, factor),
            "greyscale" => adjust::greyscale(&mut image),
            other => panic!("{other}"),
        }
        assert_eq!(difference(&image, fixtures.pixels(case)).0, 0, "{case}");
    }
}

#[test]
fn the_blur_is_pillows_to_the_bit() {
    let fixtures = Fixtures::load();
    for case in fixtures.cases("blur") {
        let mut image = fixtures.source(case);
        let width = image.width() as usize;
        blur::blur(&mut image, width, float(&case["sigma"]) as f32);
        assert_eq!(difference(&image, fixtures.pixels(case)).0, 0, "{case}");
    }
}

#[test]
fn normalisation_is_torchvisions_to_the_bit() {
    let fixtures = Fixtures::load();
    let ramp = RgbImage::from_fn(256, 1, |x, _| Rgb([x as u8; 3]));
    let mut out = vec![0.0; 3 * 256];
    normalise::normalise(
        &ramp,
        CropBox::whole(&ramp),
        false,
        &Normalisation::default(),
        &mut out,
    );
    assert_eq!(out, fixtures.floats(&fixtures.cases["ramp"]));
}

/// One level after resizing is at most this much after jitter (whose factors are below 1.4, three times) and
/// division by 255 and the smallest standard deviation.
const ONE_LEVEL: f32 = 1.01 / 255.0 / 0.224;

fn largest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

#[test]
fn weak_and_test_views_are_torchvisions() {
    let fixtures = Fixtures::load();
    let normalisation = Normalisation::default();
    let mut out = vec![0.0; 3 * 24 * 24];
    for case in fixtures.cases("weak") {
        let (left, top) = (number(&case["left"]), number(&case["top"]));
        let crop = CropBox {
            left,
            top,
            width: 24,
            height: 24,
        };
        let draws = WeakDraws {
            crop,
            flip: case["flip"].as_bool().unwrap(),
        };
        let geometry = Geometry {
            resize: 27,
            crop: 24,
        };
        weak::render(
            &fixtures.source(case),
            &draws,
            geometry,
            &normalisation,
            &mut out,
        );
        assert!(largest(&out, &fixtures.floats(case)) <= ONE_LEVEL, "{case}");
    }
    let case = &fixtures.cases["test"];
    let geometry = Geometry {
        resize: number(&case["resize"]),
        crop: 24,
    };
    let mut unused = Stream::new(0, "unused", &[]);
    let before = unused.clone().bits();
    render(
        &fixtures.source(case),
        View::Test,
        geometry,
        &normalisation,
        &mut unused,
        &mut out,
    );
    assert!(largest(&out, &fixtures.floats(case)) <= ONE_LEVEL);
    assert_eq!(unused.bits(), before, "the test view draws nothing");
}

#[test]
fn strong_views_are_torchvisions() {
    let fixtures = Fixtures::load();
    for case in fixtures.cases("strong") {
        let jitter = case.get("jitter").map(|jitter| JitterDraws {
            order: std::array::from_fn(|i| match jitter["order"][i].as_str().unwrap() {
                "brightness" => Adjustment::Brightness,
                "contrast" => Adjustment::Contrast,
                "saturation" => Adjustment::Saturation,
                _ => Adjustment::Hue,
            }),
            brightness: float(&jitter["brightness"]) as f32,
            contrast: float(&jitter["contrast"]) as f32,
            saturation: float(&jitter["saturation"]) as f32,
            hue: float(&jitter["hue"]),
        });
        let draws = StrongDraws {
            crop: crop_box(&case["box"]),
            jitter,
            greyscale: case["greyscale"].as_bool().unwrap(),
            blur: case.get("blur").map(|sigma| float(sigma) as f32),
            flip: case["flip"].as_bool().unwrap(),
        };
        let mut out = vec![0.0; 3 * 24 * 24];
        strong::render(
            &fixtures.source(case),
            &draws,
            24,
            &Normalisation::default(),
            &mut out,
        );
        let expected = fixtures.floats(case);
        // A level lost in resizing can grow in the jitter, but hardly anywhere does.
        assert!(largest(&out, &expected) <= 4.0 * ONE_LEVEL, "{case}");
        let differing = out
            .iter()
            .zip(&expected)
            .filter(|(a, b)| (**a - **b).abs() > 1e-5)
            .count();
        assert!(
            differing as f64 / (out.len() as f64) < 0.02,
            "{case}: {differing}"
        );
    }
}

/// A picture that is different everywhere.
fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        Rgb([(x * 7 + y) as u8, (x + y * 5) as u8, (x * y) as u8])
    })
}

#[test]
fn a_view_is_a_function_of_image_and_draws() {
    let images: Vec<RgbImage> = (0..6).map(|i| picture(40 + 9 * i, 70 - 7 * i)).collect();
    let geometry = Geometry::for_crop(28);
    let all = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let one = |index: usize| {
            let mut views = Vec::new();
            for (name, view) in [
                ("weak", View::Weak),
                ("strong-query", View::Strong),
                ("test", View::Test),
            ] {
                for epoch in 0..5 {
                    let mut draws = Stream::new(9, name, &[index as u64, epoch]);
                    let mut out = vec![f32::NAN; geometry.values()];
                    let normalisation = Normalisation::default();
                    render(
                        &images[index],
                        view,
                        geometry,
                        &normalisation,
                        &mut draws,
                        &mut out,
                    );
                    assert!(out.iter().all(|value| value.is_finite()));
                    views.extend(out.into_iter().map(f32::to_bits));
                }
            }
            views
        };
        pool.install(|| {
            (0..images.len())
                .into_par_iter()
                .map(one)
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(all(1), all(4));
}

#[test]
fn half_of_the_weak_views_are_mirrored() {
    let mut draws = Stream::new(10, "weak", &[]);
    let flips = (0..10_000)
        .filter(|_| WeakDraws::draw(Geometry::default(), &mut draws).flip)
        .count();
    assert!(flips.abs_diff(5_000) < 250, "{flips}");
}

#[test]
fn tiny_and_thin_images_have_all_views() {
    for (width, height) in [(1, 1), (1, 500), (500, 1), (2, 3)] {
        let image = picture(width, height);
        for view in [View::Weak, View::Strong, View::Test] {
            for seed in 0..20 {
                let mut draws = Stream::new(seed, "tiny", &[]);
                let mut out = vec![f32::NAN; Geometry::for_crop(7).values()];
                let normalisation = Normalisation::default();
                render(
                    &image,
                    view,
                    Geometry::for_crop(7),
                    &normalisation,
                    &mut draws,
                    &mut out,
                );
                assert!(out.iter().all(|value| value.is_finite()));
            }
        }
    }
}

#[test]
fn geometry_keeps_the_usual_margin() {
    assert_eq!(Geometry::for_crop(224), Geometry::default());
    assert_eq!(
        Geometry::for_crop(64),
        Geometry {
            resize: 73,
            crop: 64
        }
    );
    assert_eq!(Geometry::for_crop(1), Geometry { resize: 1, crop: 1 });
}
