//! The operators of an exported graph, by the definitions of opset 17, as loops over indices.

use std::collections::{BTreeMap, BTreeSet};

use crate::file::{Array, Node, OnnxFile};

/// Runs the graph; gives every output by name.
///
/// # Panics
///
/// If a node uses what is not there yet, if a name is given twice, if an attribute is unknown, or if a shape is not what
/// the file says.
pub fn run(file: &OnnxFile, images: &Array) -> BTreeMap<String, Array> {
    let [(input, shape)] = &file.inputs[..] else {
        panic!("{} inputs", file.inputs.len());
    };
    let batch = images.shape[0];
    let fits = |declared: &[Option<usize>], found: &[usize]| {
        let declared: Vec<usize> = declared.iter().map(|d| d.unwrap_or(batch)).collect();
        declared == found
    };
    assert!(fits(shape, &images.shape), "{shape:?}");
    let mut values: BTreeMap<&str, Array> = BTreeMap::new();
    values.insert(input, images.clone());
    let mut used = BTreeSet::new();
    for node in &file.nodes {
        let inputs: Vec<&Array> = node
            .inputs
            .iter()
            .map(|name| {
                used.insert(name.as_str());
                let value = values.get(name.as_str());
                value
                    .or_else(|| file.weights.get(name))
                    .unwrap_or_else(|| panic!("{} has no input {name}", node.output))
            })
            .collect();
        let output = apply(node, &inputs);
        let before = values.insert(&node.output, output);
        assert!(before.is_none() && !file.weights.contains_key(&node.output));
    }
    for name in file.weights.keys() {
        assert!(used.contains(name.as_str()), "nothing uses {name}");
    }
    let outputs = file.outputs.iter().map(|(name, shape)| {
        let value = values[name.as_str()].clone();
        assert!(fits(shape, &value.shape), "{name}: {shape:?}");
        (name.clone(), value)
    });
    outputs.collect()
}

fn apply(node: &Node, inputs: &[&Array]) -> Array {
    let attributes: Vec<&str> = node
        .floats
        .keys()
        .chain(node.integers.keys())
        .map(String::as_str)
        .collect();
    match (node.operator.as_str(), inputs, &attributes[..]) {
        ("Sub", [a, b], []) => by_channel(a, b, |x, y| x - y),
        ("Div", [a, b], []) => by_channel(a, b, |x, y| x / y),
        ("Add", [a, b], []) => {
            assert_eq!(a.shape, b.shape);
            let values = a.values.iter().zip(&b.values).map(|(x, y)| x + y);
            array(&a.shape, values.collect())
        }
        ("Relu", [x], []) => array(&x.shape, x.values.iter().map(|v| v.max(0.0)).collect()),
        ("Conv", [x, w], ["kernel_shape", "pads", "strides"]) => conv(x, w, window(node)),
        ("MaxPool", [x], ["kernel_shape", "pads", "strides"]) => max_pool(x, window(node)),
        ("BatchNormalization", [x, w, b, mean, variance], ["epsilon"]) => {
            let epsilon = node.floats["epsilon"];
            let [w, b, mean, variance] = [w, b, mean, variance].map(|a| &a.values);
            map_channels(x, |c, v| {
                (v - mean[c]) / (variance[c] + epsilon).sqrt() * w[c] + b[c]
            })
        }
        ("GlobalAveragePool", [x], []) => {
            let area = x.shape[2] * x.shape[3];
            let planes = x.values.chunks_exact(area);
            let means = planes.map(|plane| plane.iter().sum::<f64>() / area as f64);
            array(&[x.shape[0], x.shape[1], 1, 1], means.collect())
        }
        ("Flatten", [x], ["axis"]) => {
            assert_eq!(node.integers["axis"], [1]);
            let rest = x.shape[1..].iter().product();
            array(&[x.shape[0], rest], x.values.clone())
        }
        ("Gemm", [x, w, b], ["transB"]) => {
            assert_eq!(node.integers["transB"], [1]);
            assert_eq!([b.shape[0]], w.shape[..1]);
            let mut product = rows_with_rows(x, w);
            for row in product.values.chunks_exact_mut(b.values.len()) {
                row.iter_mut().zip(&b.values).for_each(|(y, b)| *y += b);
            }
            product
        }
        ("MatMul", [x, v], []) => {
            assert_eq!(v.shape.len(), 1, "a vector");
            let product = rows_with_rows(x, &array(&[1, v.shape[0]], v.values.clone()));
            array(&x.shape[..1], product.values)
        }
        ("Softmax", [x], ["axis"]) => {
            assert_eq!(node.integers["axis"], [1]);
            let rows = x.values.chunks_exact(x.shape[1]);
            let softmax = rows.flat_map(|row| {
                let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = row.iter().map(|v| (v - largest).exp()).sum();
                row.iter().map(move |v| (v - largest).exp() / sum)
            });
            array(&x.shape, softmax.collect())
        }
        (operator, ..) => panic!("{operator} with {} inputs, {attributes:?}", inputs.len()),
    }
}

fn array(shape: &[usize], values: Vec<f64>) -> Array {
    assert_eq!(shape.iter().product::<usize>(), values.len());
    let shape = shape.to_vec();
    Array { shape, values }
}

/// Every value of [N, C, …], with its channel.
fn map_channels(x: &Array, f: impl Fn(usize, f64) -> f64) -> Array {
    let area: usize = x.shape[2..].iter().product();
    let values = x.values.iter().enumerate();
    let values = values.map(|(i, &v)| f(i / area % x.shape[1], v));
    array(&x.shape, values.collect())
}

/// With one value per channel on the right.
fn by_channel(a: &Array, b: &Array, f: impl Fn(f64, f64) -> f64) -> Array {
    assert_eq!(b.shape, [1, a.shape[1], 1, 1]);
    map_channels(a, |c, v| f(v, b.values[c]))
}

/// x wᵀ
fn rows_with_rows(x: &Array, w: &Array) -> Array {
    assert_eq!(x.shape[1], w.shape[1]);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
    let rows = x.values.chunks_exact(x.shape[1]);
    let product = rows.flat_map(|row| {
        let others = w.values.chunks_exact(w.shape[1]);
        others.map(move |other| dot(row, other))
    });
    array(&[x.shape[0], w.shape[0]], product.collect())
}

/// Kernel, stride and padding of a square window.
#[derive(Clone, Copy)]
struct Window {
    kernel: usize,
    stride: usize,
    padding: usize,
}

fn window(node: &Node) -> Window {
    let square = |name: &str, count| {
        let values = &node.integers[name];
        assert_eq!(*values, vec![values[0]; count], "{name}");
        values[0]
    };
    Window {
        kernel: square("kernel_shape", 2),
        stride: square("strides", 2),
        padding: square("pads", 4),
    }
}

impl Window {
    /// Number of places along a side.
    fn places(self, side: usize) -> usize {
        (side + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Offsets in the kernel and positions on the side that a place covers.
    fn covered(self, place: usize, side: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..self.kernel).filter_map(move |k| {
            let position = (place * self.stride + k).checked_sub(self.padding)?;
            (position < side).then_some((k, position))
        })
    }
}

fn conv(x: &Array, weight: &Array, window: Window) -> Array {
    let [batch, channels, height, width] = x.shape[..] else {
        panic!("{:?}", x.shape);
    };
    let outputs = weight.shape[0];
    let k = window.kernel;
    assert_eq!(weight.shape[1..], [channels, k, k]);
    let [rows, columns] = [height, width].map(|side| window.places(side));
    let mut values = Vec::with_capacity(batch * outputs * rows * columns);
    for n in 0..batch {
        for o in 0..outputs {
            for row in 0..rows {
                for column in 0..columns {
                    let mut sum = 0.0;
                    for c in 0..channels {
                        for (ky, y) in window.covered(row, height) {
                            for (kx, px) in window.covered(column, width) {
                                let pixel = ((n * channels + c) * height + y) * width + px;
                                let at = ((o * channels + c) * k + ky) * k + kx;
                                sum += x.values[pixel] * weight.values[at];
                            }
                        }
                    }
                    values.push(sum);
                }
            }
        }
    }
    array(&[batch, outputs, rows, columns], values)
}

fn max_pool(x: &Array, window: Window) -> Array {
    let [batch, channels, height, width] = x.shape[..] else {
        panic!("{:?}", x.shape);
    };
    let [rows, columns] = [height, width].map(|side| window.places(side));
    let mut values = Vec::with_capacity(batch * channels * rows * columns);
    for plane in x.values.chunks_exact(height * width) {
        for row in 0..rows {
            for column in 0..columns {
                let under = window.covered(row, height).flat_map(|(_, y)| {
                    let columns = window.covered(column, width);
                    columns.map(move |(_, px)| plane[y * width + px])
                });
                values.push(under.fold(f64::NEG_INFINITY, f64::max));
            }
        }
    }
    array(&[batch, channels, rows, columns], values)
}
