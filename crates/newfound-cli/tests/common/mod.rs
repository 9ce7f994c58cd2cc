//! Small image sets and short runs for the program's tests.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Side of the drawn images.
pub const SIDE: usize = 24;

/// The program, ready for arguments.
pub fn newfound() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_newfound"));
    command.env("NO_COLOR", "1");
    command
}

/// Runs the program in a folder; panics with its messages if it fails.
pub fn run_in(folder: &Path, arguments: &[&str]) -> Output {
    let output = newfound()
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the program starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "newfound {}:\n{messages}",
        arguments.join(" ")
    );
    output
}

/// Exit code and messages.
pub fn outcome(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = newfound()
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the program starts");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.code().expect("an exit code: no crash"), text)
}

/// A picture of class `class`: a pattern of its own, moved and coloured by `index`; `shift` is another place.
fn picture(class: usize, index: usize, shift: bool) -> Vec<u8> {
    let hash = |x: usize| {
        let mut h = (x as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        h ^= h >> 31;
        (h.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as usize
    };
    let seed = hash(class * 1000 + index * 2 + usize::from(shift));
    let (dx, dy) = (seed % 5, seed / 5 % 5);
    let tint = [seed / 25 % 90, seed / 2250 % 90, 40];
    let mut pixels = Vec::with_capacity(SIDE * SIDE * 3);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let (u, v) = (x + dx, y + dy);
            let inked = match class {
                0 => u / 4 % 2 == 0,
                1 => v / 4 % 2 == 0,
                2 => (u / 5 + v / 5) % 2 == 0,
                3 => (u + v) / 5 % 2 == 0,
                _ => {
                    let (a, b) = (u as isize - 14, v as isize - 14);
                    a * a + b * b < 50
                }
            };
            let noise = hash(seed ^ (x * 131 + y)) % if shift { 60 } else { 20 };
            for c in tint {
                let base = if inked { 200 - c } else { 30 + c };
                let value = if shift {
                    base * 3 / 5 + noise
                } else {
                    base + noise
                };
                pixels.push(value.min(255) as u8);
            }
        }
    }
    pixels
}

/// A 24-bit BMP file: the simplest format to write by hand.
fn bmp(pixels: &[u8]) -> Vec<u8> {
    let row = (SIDE * 3).next_multiple_of(4);
    let size = 54 + row * SIDE;
    let mut bytes = b"BM".to_vec();
    bytes.extend((size as u32).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(54u32.to_le_bytes());
    bytes.extend(40u32.to_le_bytes());
    bytes.extend((SIDE as i32).to_le_bytes());
    bytes.extend((SIDE as i32).to_le_bytes());
    bytes.extend([1, 0, 24, 0]);
    bytes.extend([0; 24]);
    for y in (0..SIDE).rev() {
        for x in 0..SIDE {
            let [r, g, b] = [0, 1, 2].map(|c| pixels[(y * SIDE + x) * 3 + c]);
            bytes.extend([b, g, r]);
        }
        bytes.resize(bytes.len() + row - SIDE * 3, 0);
    }
    bytes
}

/// Writes `per_class` images of each class into folders `class-0`, `class-1`, ….
pub fn draw(folder: &Path, classes: std::ops::Range<usize>, per_class: usize, shift: bool) {
    for class in classes {
        let folder = folder.join(format!("class-{class}"));
        fs::create_dir_all(&folder).unwrap();
        for index in 0..per_class {
            fs::write(
                folder.join(format!("{index:03}.bmp")),
                bmp(&picture(class, index, shift)),
            )
            .unwrap();
        }
    }
}

/// A workplace with `source/` (3 classes), `target/` (5 classes, another place) and a trained `source.safetensors`.
pub fn workplace() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    draw(&place.path().join("source"), 0..3, 24, false);
    draw(&place.path().join("target"), 0..5, 12, true);
    run_in(place.path(), &training("source.safetensors"));
    place
}

/// The arguments of a short training into `out`.
pub fn training(out: &str) -> Vec<&str> {
    let fixed =
        "--backbone small --size 16 --epochs 2 --batch 16 --set bottleneck=16 --learning-rate 0.05";
    let mut arguments = vec!["train", "source", "--out", out];
    arguments.extend(fixed.split(' '));
    arguments
}

/// The arguments of a short adaptation into `out`.
pub fn adaptation(out: &str) -> Vec<&str> {
    vec![
        "adapt",
        "target",
        "--model",
        "source.safetensors",
        "--out",
        out,
        "--epochs",
        "3",
        "--batch",
        "16",
        "--seed",
        "7",
        // Not what the device suggests; a later --train overrides it.
        "--set",
        "train=all",
    ]
}

/// What a run is judged by, byte by byte.
pub fn results(run: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    [
        "model.safetensors",
        "predictions.csv",
        "probabilities.safetensors",
        "bank.safetensors",
    ]
    .map(|name| {
        (
            PathBuf::from(name),
            fs::read(run.join(name)).unwrap_or_else(|e| panic!("{name}: {e}")),
        )
    })
    .to_vec()
}
