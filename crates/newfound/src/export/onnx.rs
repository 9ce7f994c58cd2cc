//! The parts of an ONNX file as messages: nodes, weights, inputs, the model around them.
//!
//! The numbers of the fields are those of [onnx.proto](https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).

use std::collections::BTreeMap;

use super::protobuf::Message;

/// Version of the format: that of ONNX 1.12, which every runtime in use reads.
const IR_VERSION: i64 = 8;

/// Version of the operators, of the same release.
const OPSET: i64 = 17;

/// The largest message that readers of Protocol Buffers accept.
pub(super) const LARGEST: usize = i32::MAX as usize;

/// `FLOAT` among the types of tensors.
const FLOAT: i64 = 1;

/// A property of a node.
pub(super) enum Attribute {
    Float(f32),
    Integer(i64),
    Integers(Vec<i64>),
}

/// An extent of an input or output.
#[derive(Clone, Copy)]
pub(super) enum Extent {
    /// Whatever the caller gives: the number of images.
    Batch,
    Fixed(usize),
}

/// An input or output, with a sentence about it.
pub(super) struct Value {
    pub(super) name: &'static str,
    pub(super) shape: Vec<Extent>,
    pub(super) meaning: &'static str,
}

/// Nodes and weights, in the order in which they are added.
#[derive(Default)]
pub(super) struct Graph<'a> {
    nodes: Message<'a>,
    weights: Message<'a>,
}

impl<'a> Graph<'a> {
    /// Adds a tensor of weights under its name.
    pub(super) fn weight(&mut self, name: &str, shape: &[usize], values: &'a [f32]) {
        let mut tensor = Message::default();
        for &extent in shape {
            tensor.integer(1, extent as i64);
        }
        tensor.integer(2, FLOAT);
        tensor.text(8, name);
        tensor.floats(9, values);
        self.weights.message(5, tensor);
    }

    /// Adds a node with one output, which gives the node its name too, and returns it.
    pub(super) fn node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, Attribute)],
    ) -> String {
        let mut node = Message::default();
        for input in inputs {
            node.text(1, input);
        }
        node.text(2, output);
        node.text(3, output);
        node.text(4, operator);
        for (name, value) in attributes {
            node.message(5, attribute(name, value));
        }
        self.nodes.message(1, node);
        output.to_string()
    }

    /// The whole model.
    pub(super) fn model(
        self,
        inputs: &[Value],
        outputs: &[Value],
        metadata: &BTreeMap<String, String>,
    ) -> Message<'a> {
        let mut graph = self.nodes;
        graph.text(2, "newfound");
        graph.append(self.weights);
        for input in inputs {
            graph.message(11, value(input));
        }
        for output in outputs {
            graph.message(12, value(output));
        }
        let mut opset = Message::default();
        opset.text(1, "");
        opset.integer(2, OPSET);
        let mut model = Message::default();
        model.integer(1, IR_VERSION);
        model.text(2, "newfound");
        model.text(3, env!("CARGO_PKG_VERSION"));
        model.message(8, opset);
        for (key, text) in metadata {
            let mut entry = Message::default();
            entry.text(1, key);
            entry.text(2, text);
            model.message(14, entry);
        }
        model.message(7, graph);
        model
    }
}

fn attribute(name: &str, value: &Attribute) -> Message<'static> {
    let mut message = Message::default();
    message.text(1, name);
    let kind = match value {
        Attribute::Float(value) => {
            message.float(2, *value);
            1
        }
        Attribute::Integer(value) => {
            message.integer(3, *value);
            2
        }
        Attribute::Integers(values) => {
            values.iter().for_each(|&value| message.integer(8, value));
            7
        }
    };
    message.integer(20, kind);
    message
}

fn value(value: &Value) -> Message<'static> {
    let mut shape = Message::default();
    for extent in &value.shape {
        let mut dimension = Message::default();
        match *extent {
            Extent::Batch => dimension.text(2, "N"),
            Extent::Fixed(size) => dimension.integer(1, size as i64),
        }
        shape.message(1, dimension);
    }
    let mut tensor = Message::default();
    tensor.integer(1, FLOAT);
    tensor.message(2, shape);
    let mut kind = Message::default();
    kind.message(1, tensor);
    let mut message = Message::default();
    message.text(1, value.name);
    message.message(2, kind);
    message.text(3, value.meaning);
    message
}
