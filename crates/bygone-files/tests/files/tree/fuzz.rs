//! Names that no person would give a file, and globs that no person would write: exactly what is old goes, and exactly what a
//! glob names stays.
//!
//! `./fuzz` goes on for longer with the same.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bolero::TypeGenerator;
use bygone_core::ErrorKind;
use bygone_files::tree::{TreePolicy, TreeTarget};
use bygone_testkit::Picks;

use super::scene::{KEEP, Scene, old, set_stamps, young};

/// What names are made of that are no text, or more than text.
const WORDS: [&[u8]; 34] = [
    b"\n",
    b"\r",
    b"\t",
    b"\0",
    b"/",
    b"\x1b[2J",
    b"\x1b]0;x\x07",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    "ü".as_bytes(),
    "\u{202e}".as_bytes(),
    b" ",
    b".",
    b"..",
    b"~",
    b"*",
    b"**",
    b"?",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"!",
    b"\\",
    b"-rf",
    b"'",
    b"\"",
    b"$(x)",
    b"a",
    b"tmp",
];

#[derive(Clone, Debug, TypeGenerator)]
struct Named {
    #[generator(bolero::generator::produce::<Vec<(u8, u8)>>().with().len(1usize..12))]
    parts: Vec<(u8, u8)>,
    is_long: bool,
}

impl Named {
    /// Something that a directory can hold: one component, of 255 bytes at most.
    fn name(&self) -> Option<Vec<u8>> {
        let part = |(word, byte): &(u8, u8)| match word % 4 {
            0 => vec![*byte],
            _ => WORDS[usize::from(*byte) % WORDS.len()].to_vec(),
        };
        let mut name: Vec<u8> = self.parts.iter().flat_map(part).filter(|byte| !matches!(byte, 0 | b'/')).collect();
        if self.is_long {
            name = name.repeat(255 / name.len().max(1) + 1);
        }
        name.truncate(255);
        (!matches!(&name[..], b"" | b"." | b"..")).then_some(name)
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap().block_on(future)
}

/// A glob that stands for this text and nothing else.
fn literally(text: &str) -> String {
    text.chars().flat_map(|c| if "*?[]{}\\!,-".contains(c) { vec!['\\', c] } else { vec![c] }).collect()
}

#[test]
fn whatever_a_file_is_called_it_goes_by_its_age_alone() {
    bolero::check!().with_iterations(250).with_test_time(Duration::from_secs(5)).with_type::<[Named; 6]>().for_each(
        |named| {
            let scene = Scene::new();
            let names: BTreeSet<Vec<u8>> = named.iter().filter_map(Named::name).collect();
            let mut left = BTreeSet::new();
            for (at, name) in names.iter().enumerate() {
                let is_old = at % 2 == 0;
                let path = scene.root().join(OsStr::from_bytes(name));
                if at % 3 == 2 {
                    fs::create_dir(&path).unwrap();
                    left.insert(OsString::from(OsStr::from_bytes(&[&name[..], b"/"].concat())));
                }
                let path = if at % 3 == 2 { path.join(OsStr::from_bytes(name)) } else { path };
                fs::write(&path, b"content").unwrap();
                let stamp = if is_old { old() } else { young() };
                set_stamps(&path, stamp, stamp);
                if !is_old {
                    left.insert(path.strip_prefix(scene.root()).unwrap().as_os_str().to_owned());
                }
            }
            let report = block_on(scene.sweep(scene.policy()));
            assert_eq!(scene.names(), left, "{report:?}");
        },
    );
}

/// Where the name is text it can be excluded by a glob, and then it stays whatever its age; beside it everything goes.
#[test]
fn a_glob_that_spells_a_name_out_keeps_that_and_nothing_else() {
    bolero::check!()
        .with_iterations(250)
        .with_test_time(Duration::from_secs(5))
        .with_type::<(Named, Named)>()
        .for_each(|(kept, other)| {
            let (Some(kept), Some(other)) = (kept.name(), other.name()) else { return };
            let Ok(text) = std::str::from_utf8(&kept) else { return };
            if kept == other {
                return;
            }
            let scene = Scene::new();
            for name in [&kept, &other] {
                let path = scene.root().join(OsStr::from_bytes(name));
                fs::write(&path, b"content").unwrap();
                set_stamps(&path, old(), old());
            }
            let policy = TreePolicy { exclude: vec![literally(text)], ..scene.policy() };
            block_on(scene.sweep(policy));
            assert_eq!(
                scene.names(),
                BTreeSet::from([OsStr::from_bytes(&kept).to_owned()]),
                "excluded by {:?}",
                literally(text)
            );
        });
}

const GLOBS: &[&str] = &[
    "*",
    "**",
    "?",
    "/",
    "**/",
    "/**",
    "[",
    "]",
    "[!",
    "[^",
    "[a-",
    "[z-a]",
    "[]]",
    "{",
    "}",
    "{a,b}",
    "{,",
    ",",
    "\\",
    "\\\\",
    ".",
    "..",
    "./",
    "//",
    "\0",
    "\n",
    "ü",
    "a",
    "tmp",
    "*.tmp",
    "{{{{{{{{",
    "[[:alpha:]]",
    "!",
    "-",
];

/// Any text is a glob or refused with its key, and one that is taken decides about every path without falling over it.
#[test]
fn any_text_is_a_glob_or_refused_with_its_key() {
    let scene = Scene::new();
    let names: [&[u8]; 6] = [b"a", b"a.tmp", b"\xff\n", b"]", b"{a", b"\\"];
    let scene = AssertUnwindSafe(&scene);
    bolero::check!().with_iterations(600).with_test_time(Duration::from_secs(5)).with_type::<(Picks, bool)>().for_each(
        |(picks, is_include)| {
            let scene: &Scene = *scene;
            for name in names {
                let path = scene.root().join(OsStr::from_bytes(name));
                fs::write(&path, b"content").unwrap();
                set_stamps(&path, young(), young());
            }
            let (glob, policy) = (vec![picks.of(GLOBS)], TreePolicy { keep: Some(KEEP), ..scene.policy() });
            let (policy, key) = if *is_include {
                (TreePolicy { include: glob, ..policy }, "include")
            } else {
                (TreePolicy { exclude: glob, ..policy }, "exclude")
            };
            match TreeTarget::bind(policy.clone()) {
                Ok(_) => {
                    block_on(scene.sweep(policy));
                }
                Err(error) => assert_eq!((error.kind(), error.key()), (ErrorKind::Unfit, Some(key)), "{error}"),
            }
            assert_eq!(scene.names().len(), names.len(), "nothing was old");
        },
    );
}
