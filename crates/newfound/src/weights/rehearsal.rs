//! A rehearsal of a pickle, with weights in place of objects.
//!
//! The same stack, the same marks and the same memo as in `pytorch_reader`, but of each object only
//! the memory that it would take there. Nothing is built and no long text is kept, so a rehearsal
//! itself takes little, whatever the pickle asks for.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use super::Problem;
use super::pickle::{Inventory, LIMIT};

/// The memory of an object apart from its text: more than `pytorch_reader` takes for any.
const OBJECT: usize = 160;

/// Texts longer than this cannot be names.
const LONGEST_NAME: usize = 256;

/// Walks one pickle, up to and including its end, and returns the last function or class in it.
pub(super) fn run(
    reader: &mut impl BufRead,
    inventory: &mut Inventory,
) -> Result<Option<String>, Problem> {
    let (stack, marks, memo, last_global) = (Vec::new(), Vec::new(), HashMap::new(), None);
    Machine {
        reader,
        inventory,
        stack,
        marks,
        memo,
        last_global,
    }
    .run()
}

/// In place of an object: what it weighs, and its text if it may be part of a name.
#[derive(Clone, Default)]
struct Weight {
    bytes: usize,
    text: Option<Rc<str>>,
    /// Where it is kept, because `BUILD` changes what is kept there.
    memo: Option<u32>,
}

impl Weight {
    /// A nameless object with this much inside.
    fn of(inside: usize) -> Self {
        Self {
            bytes: OBJECT + inside,
            ..Self::default()
        }
    }
}

struct Machine<'a, R> {
    reader: &'a mut R,
    inventory: &'a mut Inventory,
    stack: Vec<Weight>,
    /// The height of the stack at each open `MARK`.
    marks: Vec<usize>,
    memo: HashMap<u32, Weight>,
    last_global: Option<String>,
}

impl<R: BufRead> Machine<'_, R> {
    /// Exactly the opcodes that `pytorch_reader` plays; any other is refused by both.
    fn run(mut self) -> Result<Option<String>, Problem> {
        loop {
            match self.number(1)? as u8 {
                b'.' => return Ok(self.last_global),
                // PROTO, FRAME: nothing to push.
                0x80 => drop(self.number(1)?),
                0x95 => drop(self.number(8)?),
                // None, booleans, empty collections; numbers of a fixed size; numbers as text.
                b'N' | 0x88 | 0x89 | b')' | b']' | b'}' | 0x8f => self.push(Weight::of(0))?,
                b'K' => self.fixed(1)?,
                b'M' => self.fixed(2)?,
                b'J' => self.fixed(4)?,
                b'G' => self.fixed(8)?,
                b'I' | b'L' | b'F' | b'V' | b'P' => {
                    let line = self.line()?;
                    let text = (line.len() <= LONGEST_NAME).then(|| line.as_str().into());
                    self.push(Weight {
                        text,
                        ..Weight::of(line.len())
                    })?;
                }
                // Texts, bytes and long numbers, by the size of the length before them.
                b'U' | b'C' | 0x8a | 0x8c => self.text(1)?,
                b'T' | b'X' | b'B' | 0x8b => self.text(4)?,
                0x8d | 0x8e | 0x96 => self.text(8)?,
                // GLOBAL, STACK_GLOBAL.
                b'c' => {
                    let (module, name) = (self.line()?, self.line()?);
                    self.global(&module, &name)?;
                }
                0x93 => {
                    let (name, module) = (self.pop()?.text, self.pop()?.text);
                    let (Some(module), Some(name)) = (module, name) else {
                        return Err(damaged("a name that is no text"));
                    };
                    self.global(&module, &name)?;
                }
                // What turns one, two or three objects into a new one: tuples and calls.
                b'Q' | 0x85 => self.gather(1)?,
                0x86 | b'R' | 0x81 => self.gather(2)?,
                0x87 | 0x92 => self.gather(3)?,
                b't' | b'l' | b'd' | 0x91 => {
                    let bytes = self.pop_to_mark()?;
                    self.hold(Weight::of(bytes), OBJECT)?;
                }
                // What goes into the object below it: APPEND, SETITEM, their plurals, BUILD.
                b'a' => self.absorb(1)?,
                b's' => self.absorb(2)?,
                b'e' | b'u' | 0x90 => {
                    let bytes = self.pop_to_mark()?;
                    self.top()?.bytes += bytes;
                }
                b'b' => {
                    self.absorb(1)?;
                    if let Some(index) = self.top()?.memo {
                        self.put(index)?;
                    }
                }
                b'(' => {
                    self.inventory.spend(OBJECT)?;
                    self.marks.push(self.stack.len());
                }
                // POP takes a bare mark, too.
                b'0' if self.marks.last() == Some(&self.stack.len()) => drop(self.marks.pop()),
                b'0' => drop(self.pop()?),
                b'1' => drop(self.pop_to_mark()?),
                b'2' => {
                    let copy = self.top()?.clone();
                    self.push(copy)?;
                }
                // GET, PUT, MEMOIZE: the memo keeps copies.
                op @ (b'g' | b'h' | b'j') => {
                    let index = self.index(op)?;
                    self.get(index)?;
                }
                op @ (b'p' | b'q' | b'r') => {
                    let index = self.index(op)?;
                    self.put(index)?;
                }
                0x94 => self.put(self.memo.len() as u32)?,
                other => return Err(damaged(&format!("the unknown instruction {other:#04x}"))),
            }
        }
    }

    /// Pushes something new.
    fn push(&mut self, weight: Weight) -> Result<(), Problem> {
        let cost = weight.bytes;
        self.hold(weight, cost)
    }

    /// Pushes something of which only `cost` bytes are new: the rest has been moved into it.
    fn hold(&mut self, weight: Weight, cost: usize) -> Result<(), Problem> {
        self.inventory.spend(cost)?;
        if let Some(text) = &weight.text {
            self.inventory.note_text(text);
        }
        self.stack.push(weight);
        Ok(())
    }

    fn pop(&mut self) -> Result<Weight, Problem> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() == floor {
            return Err(damaged("an instruction without its arguments"));
        }
        Ok(self.stack.pop().unwrap_or_default())
    }

    fn top(&mut self) -> Result<&mut Weight, Problem> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack[floor..].last_mut() {
            Some(top) => Ok(top),
            None => Err(damaged("an instruction without its argument")),
        }
    }

    /// The weight of everything above the last mark, which goes with it.
    fn pop_to_mark(&mut self) -> Result<usize, Problem> {
        let mark = self
            .marks
            .pop()
            .ok_or_else(|| damaged("a collection without a beginning"))?;
        Ok(self.stack.drain(mark..).map(|weight| weight.bytes).sum())
    }

    fn gather(&mut self, count: usize) -> Result<(), Problem> {
        let mut bytes = 0;
        for _ in 0..count {
            bytes += self.pop()?.bytes;
        }
        self.hold(Weight::of(bytes), OBJECT)
    }

    fn absorb(&mut self, count: usize) -> Result<(), Problem> {
        for _ in 0..count {
            let bytes = self.pop()?.bytes;
            self.top()?.bytes += bytes;
        }
        Ok(())
    }

    fn get(&mut self, index: u32) -> Result<(), Problem> {
        let kept = self.memo.get(&index).cloned();
        self.push(kept.ok_or_else(|| damaged("a reference to nothing"))?)
    }

    fn put(&mut self, index: u32) -> Result<(), Problem> {
        let top = self.top()?;
        top.memo = Some(index);
        let copy = top.clone();
        self.inventory.spend(copy.bytes)?;
        self.memo.insert(index, copy);
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) -> Result<(), Problem> {
        let global = format!("{module}.{name}");
        self.push(Weight::of(global.len()))?;
        self.inventory.note_global(global.clone());
        self.last_global = Some(global);
        Ok(())
    }

    fn fixed(&mut self, size: usize) -> Result<(), Problem> {
        self.number(size)?;
        self.push(Weight::of(0))
    }

    /// Pushes a text whose length stands before it. Long ones are weighed but not kept.
    fn text(&mut self, size: usize) -> Result<(), Problem> {
        let length = self.number(size)?;
        let kept = length.min(LONGEST_NAME as u64);
        let mut text = Vec::new();
        self.reader
            .take(kept)
            .read_to_end(&mut text)
            .map_err(damaged_io)?;
        let skipped = io::copy(&mut self.reader.take(length - kept), &mut io::sink());
        if text.len() as u64 + skipped.map_err(damaged_io)? < length {
            return Err(damaged("the end of the file inside a text"));
        }
        let text = String::from_utf8(text).ok().filter(|_| length == kept);
        self.push(Weight {
            text: text.map(Rc::from),
            ..Weight::of(length as usize)
        })
    }

    /// The bytes up to the end of the line, of which there must be one.
    fn line(&mut self) -> Result<String, Problem> {
        let mut line = Vec::new();
        self.reader
            .take(LIMIT as u64)
            .read_until(b'\n', &mut line)
            .map_err(damaged_io)?;
        if line.pop() != Some(b'\n') {
            return Err(damaged("the end of the file inside a line"));
        }
        let line = String::from_utf8_lossy(&line);
        Ok(line.strip_suffix('\r').unwrap_or(&line).to_string())
    }

    /// The place in the memo that stands behind a GET or PUT: a line, one byte or four.
    fn index(&mut self, op: u8) -> Result<u32, Problem> {
        match op {
            b'h' | b'q' => Ok(self.number(1)? as u32),
            b'j' | b'r' => Ok(self.number(4)? as u32),
            _ => self
                .line()?
                .parse()
                .map_err(|_| damaged("a reference that is no number")),
        }
    }

    /// A little-endian number of `size` bytes.
    fn number(&mut self, size: usize) -> Result<u64, Problem> {
        let mut bytes = [0; 8];
        self.reader
            .read_exact(&mut bytes[..size])
            .map_err(damaged_io)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// The pickle does not make sense here.
fn damaged(found: &str) -> Problem {
    Problem::Damaged(format!("its pickle has {found}"))
}

/// The pickle ends too early, or the operating system fails.
fn damaged_io(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("no end"),
        _ => Problem::Read(error),
    }
}
