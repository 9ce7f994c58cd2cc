//! Exported models compute what the models compute.
//!
//! `file` reads an ONNX file without a line of the code that wrote it, `interpreter` runs its graph by scalar loops in
//! double precision. (An ONNX engine as a dependency of the tests would be compiled longer than all of this project's
//! own code.)

mod file;
mod interpreter;
mod model;

mod graph;
mod plain;
