//! Exported models compute what the models compute.
//!
//! `file` reads an ONNX file without a line of the code that wrote it, `interpreter` runs its graph by scalar loops in
//! double precision. (An ONNX engine would be an independent judge too, but tract-onnx 0.23 takes ten minutes of processor
//! time to compile, for these tests alone.)

mod file;
mod interpreter;
mod model;

mod graph;
mod plain;
