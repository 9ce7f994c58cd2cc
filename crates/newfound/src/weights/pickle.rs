//! What a pickle would name and cost, found out before anything is built.
//!
//! A pickle is a program for a stack machine: it pushes numbers and texts, gathers them into lists and
//! dictionaries, names Python functions and asks for them to be called. `pytorch_reader` plays such a
//! program without calling anything. But a pickle may also *copy*, and a hundred kilobytes can ask for
//! a gigabyte of copies. So a [`rehearsal`](super::rehearsal) comes first, and this is its outcome.
//!
//! The names decide no question of safety, since nothing is ever called. They are there for the
//! message: a file that asks for `os.system` is an attack, and the person should know.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::Problem;
use super::rehearsal;

/// The memory that all pickles of a file may take. Those of a large checkpoint take a hundredth.
pub(super) const LIMIT: usize = 1 << 28;

/// What the pickles of a file name and cost.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    /// The Python functions and classes, as `module.name`.
    globals: BTreeSet<String>,
    /// Whether there is the table of parameters that every pickled `nn.Module` carries.
    pub has_module: bool,
    spent: usize,
}

impl Inventory {
    /// Walks one pickle, up to and including its end, and returns the last function or class in it.
    pub fn walk(&mut self, reader: &mut impl BufRead) -> Result<Option<String>, Problem> {
        rehearsal::run(reader, self)
    }

    /// The first function that reaches beyond the pickle, if any. No state dict needs one.
    pub fn reaching_call(&self) -> Option<&str> {
        self.globals
            .iter()
            .map(String::as_str)
            .find(|global| reaches(global))
    }

    /// Takes down a function or class.
    pub fn note_global(&mut self, global: String) {
        self.globals.insert(global);
    }

    /// Takes down a text.
    pub fn note_text(&mut self, text: &str) {
        self.has_module |= text == "_parameters";
    }

    /// Takes down that this much memory would be taken.
    pub fn spend(&mut self, bytes: usize) -> Result<(), Problem> {
        self.spent = self.spent.saturating_add(bytes);
        if self.spent > LIMIT {
            Err(Problem::PickleTooLarge { limit: LIMIT })
        } else {
            Ok(())
        }
    }
}

/// Whether a function can do more than make a value.
fn reaches(global: &str) -> bool {
    let (module, name) = global.rsplit_once('.').unwrap_or(("", global));
    match module.split('.').next().unwrap_or(module) {
        "os" | "posix" | "nt" | "subprocess" | "sys" | "shutil" | "socket" => true,
        "importlib" | "runpy" | "pty" | "ctypes" | "webbrowser" | "code" => true,
        "pickle" | "_pickle" => true,
        // Most of the built-in ones are harmless: set, slice, complex.
        "builtins" | "__builtin__" => matches!(
            name,
            "eval"
                | "exec"
                | "execfile"
                | "compile"
                | "open"
                | "getattr"
                | "setattr"
                | "__import__"
                | "apply"
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory(pickle: &[u8]) -> Result<Inventory, Problem> {
        let mut inventory = Inventory::default();
        inventory.walk(&mut &pickle[..]).map(|_| inventory)
    }

    fn call(pickle: &[u8]) -> Option<String> {
        inventory(pickle)
            .unwrap()
            .reaching_call()
            .map(str::to_string)
    }

    #[test]
    fn calls_are_seen_however_they_are_spelt() {
        // GLOBAL; STACK_GLOBAL of two texts; the same with the module fetched from the memo.
        assert_eq!(call(b"cos\nsystem\n.").as_deref(), Some("os.system"));
        let stacked = b"\x80\x04\x8c\x02os\x94\x8c\x06system\x93.";
        assert_eq!(call(stacked).as_deref(), Some("os.system"));
        let fetched = b"\x80\x04\x8c\x02os\x940N0h\0\x8c\x05popen\x93.";
        assert_eq!(call(fetched).as_deref(), Some("os.popen"));
        assert_eq!(
            call(b"c__builtin__\neval\n.").as_deref(),
            Some("__builtin__.eval")
        );
        assert_eq!(call(b"cos.path\njoin\n.").as_deref(), Some("os.path.join"));
    }

    #[test]
    fn harmless_names_are_no_calls() {
        for name in [
            "collections\nOrderedDict",
            "builtins\nset",
            "argparse\nNamespace",
            "oscar\nx",
        ] {
            assert_eq!(call(format!("c{name}\n.").as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn a_module_is_known_by_its_table() {
        assert!(inventory(b"X\x0b\0\0\0_parameters.").unwrap().has_module);
        assert!(!inventory(b"X\x0a\0\0\0parameters.").unwrap().has_module);
    }

    #[test]
    fn copies_of_copies_are_counted() {
        // DUP, TUPLE2 doubles the object: 2³⁰ of them would be far beyond the limit, 2¹⁰ are not.
        let doubled = |times| [b"N".as_slice(), &b"2\x86".repeat(times), b"."].concat();
        assert!(inventory(&doubled(10)).is_ok());
        assert!(matches!(
            inventory(&doubled(30)),
            Err(Problem::PickleTooLarge { .. })
        ));
        // Through the memo, whose entry BUILD enlarges: PUT, (GET, BUILD) again and again.
        let built = |times| [b"}q\0".as_slice(), &b"h\0b".repeat(times), b"."].concat();
        assert!(inventory(&built(10)).is_ok());
        assert!(matches!(
            inventory(&built(30)),
            Err(Problem::PickleTooLarge { .. })
        ));
    }

    #[test]
    fn what_the_memo_keeps_is_counted() {
        // A text of 60 kB, put into ever new places of the memo.
        let mut pickle = [b"X\x60\xea\0\0".as_slice(), &[b'a'; 60_000]].concat();
        for index in 0..10_000u32 {
            pickle.push(b'r');
            pickle.extend(index.to_le_bytes());
        }
        assert!(matches!(
            inventory(&pickle),
            Err(Problem::PickleTooLarge { .. })
        ));
    }

    #[test]
    fn nonsense_is_damage() {
        // No end; no arguments; a mark in the way; no mark; nothing kept; cut off; no such thing.
        let cases: [&[u8]; 9] = [
            b"",
            b"N",
            b"R.",
            b"N(R.",
            b"t.",
            b"h\0.",
            b"X\xff\xff\xff\xffab.",
            b"cos",
            b"\xff.",
        ];
        for case in cases {
            let outcome = inventory(case);
            assert!(matches!(outcome, Err(Problem::Damaged(_))), "{case:?}");
        }
    }
}
