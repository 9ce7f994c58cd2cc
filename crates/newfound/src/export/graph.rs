//! A model as an ONNX graph.
//!
//! ```text
//! images → − mean → / std → body → (bottleneck) → features → logits → probabilities → unknown
//! ```
//!
//! The layers are those that the network itself declares: nothing here says again how a ResNet is built. Batch
//! normalisations stay nodes of their own. Folding them into the convolutions would gain nothing, since runtimes do that
//! when they load a graph, and the weights in the file would no longer be the model's.

use std::collections::BTreeMap;

use super::onnx::{Attribute, Extent, Graph, Value};
use super::protobuf::Message;
use crate::network::model::{Description, Model};
use crate::network::{Block, Body, EPSILON, Engine, Head, Network, Norm, Spec, Unit};

/// What the graph needs beside the model's own arrays.
pub(super) struct Extra {
    head: Head,
    /// 1 for each private class, 0 for each known one.
    private: Vec<f32>,
}

impl Extra {
    pub(super) fn of(model: &Model) -> Self {
        let Description { known, private, .. } = model.description;
        Self {
            head: model.head(),
            private: [vec![0.0; known], vec![1.0; private]].concat(),
        }
    }
}

/// The whole model, with these notes.
pub(super) fn message<'a>(
    model: &'a Model,
    extra: &'a Extra,
    metadata: &BTreeMap<String, String>,
) -> Message<'a> {
    let description = &model.description;
    let network = Network::new(description.architecture, Engine::Burn);
    let mut layers = Layers {
        graph: Graph::default(),
        specs: network.specs(),
        model,
    };
    let x = layers.normalisation("images");
    let x = layers.body(network.body(), x);
    let x = layers.graph.node("GlobalAveragePool", &[&x], "pool", &[]);
    let features = match network.bottleneck() {
        None => layers.flat(&x, "features"),
        Some(bottleneck) => {
            let x = layers.flat(&x, "pooled");
            let [weight, bias] = [bottleneck.weight, bottleneck.bias].map(|i| layers.weight(i));
            let x = layers.linear([&x, &weight, &bias], "bottleneck");
            layers.norm(&bottleneck.norm, &x, "features")
        }
    };
    layers.classifier(extra, &features);
    let (inputs, outputs) = ends(description);
    layers.graph.model(&inputs, &outputs, metadata)
}

/// What goes in and what comes out.
fn ends(description: &Description) -> ([Value; 1], [Value; 4]) {
    use Extent::{Batch, Fixed};
    let side = description.geometry.crop as usize;
    let classes = description.architecture.outputs;
    let features = description.architecture.features();
    let value = |name, meaning, shape: &[Extent]| Value {
        name,
        shape: shape.to_vec(),
        meaning,
    };
    let images = "RGB, from 0 to 1, channels first; mean and deviation are taken care of inside";
    let image = [Batch, Fixed(3), Fixed(side), Fixed(side)];
    let classes = [Batch, Fixed(classes)];
    let features = [Batch, Fixed(features)];
    (
        [value("images", images, &image)],
        [
            value("probabilities", "of each class", &classes),
            value("logits", "before the softmax", &classes),
            value("features", "what the classifier sees", &features),
            value("unknown", "probability of all private classes", &[Batch]),
        ],
    )
}

/// The graph while layers are added; each function takes the name of its input and gives that of its output.
struct Layers<'a, 'n> {
    graph: Graph<'a>,
    /// Of the network: what the positions in its layers mean.
    specs: &'n [Spec],
    model: &'a Model,
}

impl Layers<'_, '_> {
    /// (x − mean) / std.
    fn normalisation(&mut self, images: &str) -> String {
        let normalisation = &self.model.description.normalisation;
        for (name, values) in [("mean", &normalisation.mean), ("std", &normalisation.std)] {
            self.graph.weight(name, &[1, 3, 1, 1], values);
        }
        let x = self.graph.node("Sub", &[images, "mean"], "centred", &[]);
        self.graph.node("Div", &[&x, "std"], "normalised", &[])
    }

    /// Stem and stages.
    fn body(&mut self, body: &Body, x: String) -> String {
        let mut x = self.unit(&body.stem, &x, None, true);
        if body.pools {
            let window = window(3, 2, 1);
            x = self.graph.node("MaxPool", &[&x], "maxpool", &window);
        }
        let blocks = body.stages.iter().flatten();
        blocks.fold(x, |x, block| self.block(block, x))
    }

    /// Units in a row, to which the input is added.
    fn block(&mut self, block: &Block, x: String) -> String {
        let shortcut = match &block.downsample {
            Some(unit) => self.unit(unit, &x, None, false),
            None => x.clone(),
        };
        let (last, first) = block.units.split_last().expect("a block has units");
        let inner = first
            .iter()
            .fold(x, |x, unit| self.unit(unit, &x, None, true));
        self.unit(last, &inner, Some(&shortcut), true)
    }

    /// Convolution → batch-norm → (+ shortcut) → (ReLU).
    fn unit(&mut self, unit: &Unit, x: &str, shortcut: Option<&str>, relu: bool) -> String {
        let Unit { conv, norm } = unit;
        let weight = self.weight(conv.weight);
        let window = window(conv.kernel, conv.stride, conv.padding());
        let x = self
            .graph
            .node("Conv", &[x, &weight], layer(&weight), &window);
        let name = layer(&self.specs[norm.weight].name);
        let mut x = self.norm(norm, &x, name);
        if let Some(shortcut) = shortcut {
            let sum = format!("{name}.sum");
            x = self.graph.node("Add", &[&x, shortcut], &sum, &[]);
        }
        if relu {
            x = self.graph.node("Relu", &[&x], &format!("{name}.relu"), &[]);
        }
        x
    }

    /// Batch normalisation with the running statistics.
    fn norm(&mut self, norm: &Norm, x: &str, output: &str) -> String {
        let vectors = [norm.weight, norm.bias, norm.mean, norm.variance].map(|i| self.weight(i));
        let [weight, bias, mean, variance] = &vectors;
        let epsilon = ("epsilon", Attribute::Float(EPSILON as f32));
        let inputs = [x, weight, bias, mean, variance];
        self.graph
            .node("BatchNormalization", &inputs, output, &[epsilon])
    }

    /// [N, C, 1, 1] → [N, C].
    fn flat(&mut self, x: &str, output: &str) -> String {
        let axis = ("axis", Attribute::Integer(1));
        self.graph.node("Flatten", &[x], output, &[axis])
    }

    /// x Wᵀ + b.
    fn linear(&mut self, inputs: [&str; 3], output: &str) -> String {
        let transposed = ("transB", Attribute::Integer(1));
        self.graph.node("Gemm", &inputs, output, &[transposed])
    }
}

impl<'a> Layers<'a, '_> {
    /// Adds a parameter of the network under its name.
    fn weight(&mut self, index: usize) -> String {
        let name = &self.specs[index].name;
        let array = &self.model.arrays[name];
        self.graph.weight(name, &array.shape, &array.values);
        name.clone()
    }

    /// Logits, probabilities and the mass of the private classes.
    fn classifier(&mut self, extra: &'a Extra, features: &str) {
        let Head { prototypes, bias } = &extra.head;
        let [weight, shift] = ["classifier.weight", "classifier.bias"];
        self.graph
            .weight(weight, &prototypes.shape, &prototypes.values);
        self.graph.weight(shift, &[bias.len()], bias);
        let logits = self.linear([features, weight, shift], "logits");
        let axis = ("axis", Attribute::Integer(1));
        let probabilities = self
            .graph
            .node("Softmax", &[&logits], "probabilities", &[axis]);
        // A product with 0 and 1, not a slice and its sum: a model without private classes has an empty slice, and
        // not all runtimes can sum one.
        self.graph
            .weight("private", &[extra.private.len()], &extra.private);
        let inputs = [probabilities.as_str(), "private"];
        self.graph.node("MatMul", &inputs, "unknown", &[]);
    }
}

/// The layer that a weight belongs to: `layer1.0.conv1` of `layer1.0.conv1.weight`.
fn layer(weight: &str) -> &str {
    weight.strip_suffix(".weight").unwrap_or(weight)
}

/// Attributes of a square window that moves over an image.
fn window(kernel: usize, stride: usize, padding: usize) -> [(&'static str, Attribute); 3] {
    let all = |value: usize, count| Attribute::Integers(vec![value as i64; count]);
    [
        ("kernel_shape", all(kernel, 2)),
        ("strides", all(stride, 2)),
        ("pads", all(padding, 4)),
    ]
}
