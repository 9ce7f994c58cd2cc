//! A reader of ONNX files: Protocol Buffers by their definition, fields by their numbers in onnx.proto.

use std::collections::BTreeMap;

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub enum Field<'a> {
    Integer(i64),
    Float(f32),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    pub fn integer(self) -> i64 {
        match self {
            Self::Integer(value) => value,
            other => panic!("{other:?} is no whole number"),
        }
    }

    pub fn float(self) -> f32 {
        match self {
            Self::Float(value) => value,
            other => panic!("{other:?} is no float"),
        }
    }

    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(value) => value,
            other => panic!("{other:?} has no length"),
        }
    }

    pub fn text(self) -> String {
        String::from_utf8(self.bytes().to_vec()).expect("UTF-8")
    }

    pub fn message(self) -> Fields<'a> {
        Fields::read(self.bytes())
    }
}

/// All fields of a message with their numbers.
pub struct Fields<'a>(Vec<(u64, Field<'a>)>);

impl<'a> Fields<'a> {
    pub fn read(mut bytes: &'a [u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let value = match tag & 7 {
                0 => Field::Integer(varint(&mut bytes) as i64),
                2 => {
                    let length = varint(&mut bytes) as usize;
                    Field::Bytes(take(&mut bytes, length))
                }
                5 => {
                    let four = take(&mut bytes, 4).try_into().unwrap();
                    Field::Float(f32::from_le_bytes(four))
                }
                kind => panic!("field {} of kind {kind}", tag >> 3),
            };
            fields.push((tag >> 3, value));
        }
        Self(fields)
    }

    /// All values of a field.
    pub fn all(&self, number: u64) -> impl Iterator<Item = Field<'a>> {
        let of_number = self.0.iter().filter(move |(field, _)| *field == number);
        of_number.map(|(_, value)| *value)
    }

    /// The value of a field that is there exactly once.
    pub fn one(&self, number: u64) -> Field<'a> {
        let mut all = self.all(number);
        let value = all
            .next()
            .unwrap_or_else(|| panic!("no field has the number {number}"));
        assert!(all.next().is_none(), "field {number} is there twice");
        value
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0..10 {
        let byte = take(bytes, 1)[0];
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a number of more than ten bytes");
}

/// A tensor in double precision.
#[derive(Debug, Clone)]
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

pub struct Node {
    pub operator: String,
    pub inputs: Vec<String>,
    pub output: String,
    pub floats: BTreeMap<String, f64>,
    pub integers: BTreeMap<String, Vec<usize>>,
}

/// A name and a shape, in which the number of images is none.
pub type End = (String, Vec<Option<usize>>);

pub struct OnnxFile {
    pub metadata: BTreeMap<String, String>,
    pub nodes: Vec<Node>,
    pub weights: BTreeMap<String, Array>,
    pub inputs: Vec<End>,
    pub outputs: Vec<End>,
}

impl OnnxFile {
    pub fn read(bytes: &[u8]) -> Self {
        let model = Fields::read(bytes);
        assert_eq!(model.one(1).integer(), 8, "the version of the format");
        let operators = model.one(8).message();
        assert_eq!(operators.one(1).text(), "", "ONNX's own operators");
        assert_eq!(operators.one(2).integer(), 17, "their version");
        let graph = model.one(7).message();
        assert!(!graph.one(2).text().is_empty(), "a graph must have a name");
        let weights: Vec<_> = graph.all(5).map(|field| tensor(&field.message())).collect();
        let count = weights.len();
        let weights: BTreeMap<_, _> = weights.into_iter().collect();
        assert_eq!(weights.len(), count, "two weights have the same name");
        let ends = |number| graph.all(number).map(|field| end(&field.message()));
        Self {
            metadata: model
                .all(14)
                .map(|field| {
                    let entry = field.message();
                    (entry.one(1).text(), entry.one(2).text())
                })
                .collect(),
            nodes: graph.all(1).map(|field| node(&field.message())).collect(),
            weights,
            inputs: ends(11).collect(),
            outputs: ends(12).collect(),
        }
    }
}

fn tensor(fields: &Fields) -> (String, Array) {
    assert_eq!(fields.one(2).integer(), 1, "FLOAT");
    let shape: Vec<usize> = fields.all(1).map(|d| d.integer() as usize).collect();
    let (values, rest) = fields.one(9).bytes().as_chunks::<4>();
    assert!(rest.is_empty() && values.len() == shape.iter().product::<usize>());
    let values = values.iter().map(|b| f32::from_le_bytes(*b).into());
    let values = values.collect();
    (fields.one(8).text(), Array { shape, values })
}

fn node(fields: &Fields) -> Node {
    let (mut floats, mut integers) = (BTreeMap::new(), BTreeMap::new());
    for attribute in fields.all(5).map(Field::message) {
        let name = attribute.one(1).text();
        let whole = |number| attribute.all(number).map(|i| i.integer() as usize);
        match attribute.one(20).integer() {
            1 => drop(floats.insert(name, attribute.one(2).float().into())),
            2 => drop(integers.insert(name, vec![attribute.one(3).integer() as usize])),
            7 => drop(integers.insert(name, whole(8).collect())),
            kind => panic!("{name} is of kind {kind}"),
        }
    }
    Node {
        operator: fields.one(4).text(),
        inputs: fields.all(1).map(Field::text).collect(),
        output: fields.one(2).text(),
        floats,
        integers,
    }
}

fn end(fields: &Fields) -> End {
    let kind = fields.one(2).message().one(1).message();
    assert_eq!(kind.one(1).integer(), 1, "FLOAT");
    let shape = kind.one(2).message();
    let extent = |field: Field| {
        let extent = field.message();
        let fixed = extent.all(1).next().map(|size| size.integer() as usize);
        assert_eq!(fixed.is_none(), extent.all(2).next().is_some());
        fixed
    };
    (fields.one(1).text(), shape.all(1).map(extent).collect())
}
