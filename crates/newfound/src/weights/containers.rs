//! Where the pickles of a PyTorch file are, and what is in them.
//!
//! The archives are opened with the very crates that `pytorch_reader` uses, so that what is examined
//! here is what it reads afterwards.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use zip::{CompressionMethod, ZipArchive};

use super::Problem;
use super::format::Container;
use super::pickle::Inventory;

/// Walks all pickles of the file.
///
/// # Errors
///
/// Besides what [`Inventory::walk`] finds: a TorchScript program, a compressed archive, an archive
/// that is none. `Damaged` for the rest.
pub(super) fn inventory(path: &Path, container: Container) -> Result<Inventory, Problem> {
    let file = File::open(path).map_err(Problem::Read)?;
    let mut inventory = Inventory::default();
    match container {
        Container::Zip => zip(file, &mut inventory)?,
        Container::Tar => tar(file, &mut inventory)?,
        Container::Legacy => {
            let mut reader = BufReader::new(file);
            // The magic number, the version, the machine, the object, the list of its storages.
            for _ in 0..5 {
                inventory.walk(&mut reader)?;
            }
        }
        Container::Pickle => drop(inventory.walk(&mut BufReader::new(file))?),
    }
    Ok(inventory)
}

fn zip(file: File, inventory: &mut Inventory) -> Result<(), Problem> {
    let damaged = |error: zip::result::ZipError| Problem::Damaged(error.to_string());
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
    let mut names = Vec::new();
    let mut compressed = None;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(damaged)?;
        let name = entry.name().map_err(damaged)?.into_owned();
        if entry.compression() != CompressionMethod::Stored {
            compressed.get_or_insert(name.clone());
        }
        names.push(name);
    }
    // TorchScript compresses the program's source, so it comes first.
    if names
        .iter()
        .any(|name| name.rsplit('/').next() == Some("constants.pkl"))
    {
        return Err(Problem::TorchScript);
    }
    if !names.iter().any(|name| name.ends_with("data.pkl")) {
        return Err(Problem::UnknownFormat {
            looks_like: Some("some other ZIP archive"),
        });
    }
    if let Some(entry) = compressed {
        return Err(Problem::Compressed { entry });
    }
    for index in (0..names.len()).filter(|index| names[*index].ends_with("data.pkl")) {
        // Raw, because the checksum is checked when the file is read.
        let entry = archive.by_index_raw(index).map_err(damaged)?;
        inventory.walk(&mut BufReader::new(entry))?;
    }
    Ok(())
}

fn tar(file: File, inventory: &mut Inventory) -> Result<(), Problem> {
    let damaged = |error: std::io::Error| Problem::Damaged(error.to_string());
    let mut archive = tar::Archive::new(BufReader::new(file));
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = entry
            .path()
            .map_err(damaged)?
            .to_string_lossy()
            .into_owned();
        // A sparse entry claims zeros that the file does not hold, as many as it likes.
        if entry.header().entry_type().is_gnu_sparse() {
            return Err(Problem::Compressed { entry: name });
        }
        let name = name.trim_start_matches("./");
        if !matches!(name, "sys_info" | "pickle" | "storages" | "tensors") {
            continue;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(damaged)?;
        let reader = &mut Cursor::new(bytes);
        match name {
            "storages" => tar_storages(reader, inventory)?,
            "tensors" => tar_tensors(reader, inventory)?,
            _ => drop(inventory.walk(reader)?),
        }
    }
    Ok(())
}

/// How many there are; then for each a pickle that ends with its type, the number of its elements
/// and their bytes; and at last a list of views.
fn tar_storages(reader: &mut Cursor<Vec<u8>>, inventory: &mut Inventory) -> Result<(), Problem> {
    inventory.walk(reader)?;
    loop {
        let storage = inventory.walk(reader)?;
        if at_end(reader)? {
            return Ok(());
        }
        let element = match storage
            .as_deref()
            .and_then(|name| name.strip_prefix("torch."))
        {
            Some("DoubleStorage" | "LongStorage") => 8,
            Some("FloatStorage" | "IntStorage") => 4,
            Some("HalfStorage" | "ShortStorage" | "BFloat16Storage") => 2,
            Some("CharStorage" | "ByteStorage" | "BoolStorage") => 1,
            _ => return Err(Problem::Damaged("a storage without a type".to_string())),
        };
        let count = number::<8>(reader)?;
        skip(reader, count.checked_mul(element))?;
    }
}

/// How many there are; then for each a pickle, its rank, four unused bytes, and per dimension its
/// extent and its stride, and at last where it begins.
fn tar_tensors(reader: &mut Cursor<Vec<u8>>, inventory: &mut Inventory) -> Result<(), Problem> {
    inventory.walk(reader)?;
    while !at_end(reader)? {
        inventory.walk(reader)?;
        let rank = number::<4>(reader)?;
        skip(
            reader,
            rank.checked_mul(16)
                .and_then(|bytes| bytes.checked_add(4 + 8)),
        )?;
    }
    Ok(())
}

fn at_end(reader: &mut impl BufRead) -> Result<bool, Problem> {
    Ok(reader.fill_buf().map_err(Problem::Read)?.is_empty())
}

/// A little-endian number of `N` bytes, at most eight.
fn number<const N: usize>(reader: &mut impl Read) -> Result<i64, Problem> {
    let mut bytes = [0; 8];
    let short = |_| Problem::Damaged("it ends inside a table".to_string());
    reader.read_exact(&mut bytes[..N]).map_err(short)?;
    Ok(i64::from_le_bytes(bytes))
}

fn skip(reader: &mut impl Seek, bytes: Option<i64>) -> Result<(), Problem> {
    let bytes = bytes.filter(|bytes| *bytes >= 0);
    let bytes = bytes.ok_or_else(|| Problem::Damaged("an impossible size".to_string()))?;
    reader
        .seek(SeekFrom::Current(bytes))
        .map_err(Problem::Read)?;
    Ok(())
}
