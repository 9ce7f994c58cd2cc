//! A made-up run of any size, with pictures, maps and doubts.

use super::{class, image, png, report};
use crate::*;

/// A source of numbers between 0 and 1 that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }

    /// Around 0, mostly within 1.
    fn around(&mut self) -> f64 {
        (0..4).map(|_| self.next()).sum::<f64>() - 2.0
    }
}

/// A run with so many images, classes and pixels on each side of a picture; every twelfth image is
/// hard to tell.
pub fn large(images: usize, known: usize, new: usize, side: usize) -> Report {
    let mut report = report();
    let mut numbers = Numbers(7);
    let classes = known + new;
    report.images = (0..images)
        .map(|i| one(i, &mut numbers, known, classes, side))
        .collect();
    for i in 0..images {
        let own = report.images[i].class;
        let alike = (1..images)
            .map(|step| (i + step * 7) % images)
            .filter(|&j| report.images[j].class == own);
        let mut neighbours: Vec<usize> = alike.filter(|&j| j != i).take(6).collect();
        if i % 12 == 5 {
            neighbours.extend((1..4).map(|step| (i + step) % images));
            neighbours.rotate_right(3);
        }
        report.images[i].neighbours = neighbours;
    }
    report.classes = (0..classes)
        .map(|c| summed(c, known, &report.images))
        .collect();
    report.evaluation = None;
    report
}

fn one(i: usize, numbers: &mut Numbers, known: usize, classes: usize, side: usize) -> Image {
    // Some classes are larger than others.
    let class = ((numbers.next().powf(1.4)) * classes as f64) as usize;
    let is_new = class >= known;
    let hard = i % 12 == 5;
    let mut image = image(
        &format!("camera-{}/2024-06-{:02}/IMG_{i:05}.jpg", i % 3, 1 + i % 28),
        class,
    );
    let off = numbers.around().abs() * if hard { 2.0 } else { 1.0 };
    let unknown = if hard {
        0.2 + 0.6 * numbers.next()
    } else {
        0.06 * numbers.next()
    };
    image.unknown = if is_new { 1.0 - unknown } else { unknown };
    image.confidence = (0.97 - 0.25 * off * if hard { 1.5 } else { 0.4 }).max(0.48);
    let left = 1.0 - image.confidence;
    image.guesses = vec![
        Guess {
            class,
            probability: image.confidence,
        },
        Guess {
            class: (class + 1) % classes,
            probability: 0.7 * left,
        },
        Guess {
            class: (class + 5) % classes,
            probability: 0.2 * left,
        },
    ];
    image.refined = if hard && i.is_multiple_of(2) {
        (class + 1) % classes
    } else {
        class
    };
    image.u_nc = Some(if hard {
        0.3 + 0.5 * numbers.next()
    } else {
        0.2 * numbers.next()
    });
    image.u_cs = Some(if hard {
        0.3 + 0.2 * numbers.next()
    } else {
        0.3 * numbers.next()
    });
    image.typicality = Some(0.92 - 0.12 * off);
    image.changed = Some(hard && i.is_multiple_of(5));
    image.truth = None;
    let around = |spread: f64, numbers: &mut Numbers| {
        let turn = 2.399 * class as f64;
        let out = 6.0 * (class as f64 + 0.5).sqrt();
        Some([
            out * turn.cos() + spread * numbers.around(),
            out * turn.sin() + spread * numbers.around(),
        ])
    };
    image.before = around(6.0, numbers);
    image.after = around(if hard { 6.0 } else { 2.0 }, numbers);
    image.picture = Some(Picture {
        image_type: ImageType::Png,
        bytes: png(side, class, class * 3 + i % 2),
    });
    image
}

/// A class with the figures of its images.
fn summed(index: usize, known: usize, images: &[Image]) -> Class {
    let own: Vec<&Image> = images.iter().filter(|image| image.class == index).collect();
    let mean = |of: fn(&Image) -> f64| {
        (!own.is_empty()).then(|| own.iter().map(|image| of(image)).sum::<f64>() / own.len() as f64)
    };
    let (name, kind) = match index.checked_sub(known) {
        None => (format!("known_thing_{index}"), ClassKind::Known),
        Some(new) => (format!("unknown-{}", new + 1), ClassKind::Discovered),
    };
    let separation = 0.7 - 0.15 * (index % 5) as f64;
    let doubts =
        (separation < 0.2).then(|| "Half of its images lie nearer to another class.".to_owned());
    Class {
        confidence: mean(|image| image.confidence),
        u_nc: mean(|image| image.u_nc.unwrap_or(0.0)),
        u_cs: mean(|image| image.u_cs.unwrap_or(0.0)),
        consistency: mean(|image| image.typicality.unwrap_or(0.0)),
        nearest: (known > 0).then(|| Nearest {
            class: index * 7 % known,
            distance: 0.3 + 0.02 * index as f64,
        }),
        separation: Some(separation),
        doubts: doubts.into_iter().collect(),
        ..class(&name, kind, own.len())
    }
}
