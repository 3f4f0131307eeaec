//! Random trees and random policies, compared with a model that knows nothing of bygone's code.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use bygone_core::{Care, Tally, Target};
use bygone_files::tree::{Age, TreePolicy, TreeTarget};
use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::scene::{Scene, bind, boundary, page, seed, set_stamps, stamp};

const ROUNDS: usize = 150;
const NAMES: [&[u8]; 12] = [
    b"a",
    b"b",
    b"c.tmp",
    b"d.tmp",
    b"keep.tmp",
    b"\xff\xfe",
    b"new\nline",
    b"-rf",
    b" ",
    b"*",
    b"cache",
    b"long.tar.gz",
];
const GLOBS: [&str; 12] =
    ["**/*.tmp", "*.tmp", "a/**", "cache", "**/cache", "**/keep.*", "*/a", "b/*", "**/b/**", "**", "?", "a/b/c.tmp"];

/// What stands in the tree, as it was made.
struct Node {
    path: Vec<u8>,
    kind: Kind,
    modified: Timestamp,
    accessed: Timestamp,
}

enum Kind {
    Directory(Vec<Node>),
    /// Something that goes by its age alone, or never.
    Leaf {
        protected: bool,
    },
}

/// When something was modified and accessed.
type Times = (Timestamp, Timestamp);

struct Maker<'a> {
    random: &'a mut StdRng,
    root: PathBuf,
    /// Files that can get another name, with their stamps, which all names share.
    files: Vec<(PathBuf, Times)>,
    listeners: Vec<UnixListener>,
}

impl Maker<'_> {
    /// Around the boundary, to the nanosecond.
    fn time(&mut self) -> Timestamp {
        stamp([-10_i128.pow(17), -1_000, -2, -1, 0, 1, 2, 1_000, 10_i128.pow(13)][self.random.random_range(0..9)])
    }

    fn fill(&mut self, above: &[u8], depth: u32) -> Vec<Node> {
        let names: BTreeSet<_> = (0..self.random.random_range(0..7)).map(|_| self.random.random_range(0..12)).collect();
        names.into_iter().map(|name| self.node(above, NAMES[name], depth)).collect()
    }

    fn node(&mut self, above: &[u8], name: &[u8], depth: u32) -> Node {
        let path = if above.is_empty() { name.to_vec() } else { [above, b"/", name].concat() };
        let full = self.root.join(OsStr::from_bytes(&path));
        if !self.files.is_empty() && self.random.random_bool(0.1) {
            let (first, (modified, accessed)) = self.files[self.random.random_range(0..self.files.len())].clone();
            fs::hard_link(first, &full).unwrap();
            return Node { path, kind: Kind::Leaf { protected: false }, modified, accessed };
        }
        let kind = if depth < 5 && self.random.random_bool(0.4) {
            fs::create_dir(&full).unwrap();
            Kind::Directory(self.fill(&path, depth + 1))
        } else {
            Kind::Leaf { protected: self.leaf(&full) }
        };
        let (modified, accessed) = (self.time(), self.time());
        set_stamps(&full, accessed, modified);
        if matches!(kind, Kind::Leaf { protected: false }) {
            self.files.push((full, (modified, accessed)));
        }
        Node { path, kind, modified, accessed }
    }

    /// Makes something that is no directory; true when it is protected.
    fn leaf(&mut self, full: &Path) -> bool {
        match self.random.random_range(0..12) {
            0 => symlink(&self.root, full).unwrap(),
            1 => symlink("/etc", full).unwrap(),
            2 => symlink("a/b", full).unwrap(),
            3 => mknodat(CWD, full, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
            4 | 5 if full.as_os_str().len() < 100 => {
                let listener = UnixListener::bind(full).unwrap();
                if self.random.random_bool(0.5) {
                    self.listeners.push(listener);
                    return true;
                }
            }
            6 => {
                fs::write(full, b"sticky").unwrap();
                fs::set_permissions(full, Permissions::from_mode(0o1600)).unwrap();
                return true;
            }
            _ => {
                fs::write(full, b"content").unwrap();
                let mode = [0o600, 0o000, 0o777, 0o4755][self.random.random_range(0..4)];
                fs::set_permissions(full, Permissions::from_mode(mode)).unwrap();
            }
        }
        false
    }
}

/// The rules, once more, by the words of the documentation.
struct Model<'a> {
    policy: &'a TreePolicy,
    left: BTreeSet<OsString>,
}

impl Model<'_> {
    fn is_due(&self, node: &Node) -> bool {
        let at = if self.policy.age == Age::Accessed { node.accessed } else { node.modified };
        at.as_nanosecond() + self.policy.keep.unwrap().as_nanos() < boundary().instant().as_nanosecond()
    }

    fn is_covered(&self, path: &[u8]) -> bool {
        let depth = path.split(|&byte| byte == b'/').count();
        let any = |globs: &[String]| globs.iter().any(|glob| matches(glob, path));
        depth as u64 >= u64::from(self.policy.min_depth)
            && (self.policy.include.is_empty() || any(&self.policy.include))
            && !any(&self.policy.exclude)
    }

    fn is_closed(&self, path: &[u8]) -> bool {
        let closes = |glob: &String| {
            let contents = glob.strip_suffix("/**").is_some_and(|glob| matches(glob, path));
            contents || matches(glob, path)
        };
        self.policy.exclude.iter().any(closes)
    }

    /// Notes what survives; true when nothing of the node does.
    fn goes(&mut self, node: &Node, shut: bool) -> bool {
        let shut = shut || (matches!(node.kind, Kind::Directory(_)) && self.is_closed(&node.path));
        let due = !shut && self.is_due(node) && self.is_covered(&node.path);
        let (gone, behind) = match &node.kind {
            Kind::Leaf { protected } => (due && !protected, ""),
            Kind::Directory(nodes) => {
                let stay = nodes.iter().filter(|node| !self.goes(node, shut)).count();
                (due && stay == 0 && self.policy.empty_dirs, "/")
            }
        };
        if !gone {
            self.left.insert(OsString::from_vec([&node.path, behind.as_bytes()].concat()));
        }
        gone
    }
}

/// Globs, the slow way: names by names, `**` for any number of them.
fn matches(glob: &str, path: &[u8]) -> bool {
    fn names(glob: &[&[u8]], path: &[&[u8]]) -> bool {
        match (glob, path) {
            ([], []) => true,
            // At the end it stands for at least one name.
            ([b"**"], rest) => !rest.is_empty(),
            ([b"**", glob @ ..], _) => (0..=path.len()).any(|skip| names(glob, &path[skip..])),
            ([first, glob @ ..], [name, path @ ..]) => within(first, name) && names(glob, path),
            _ => false,
        }
    }
    fn within(glob: &[u8], name: &[u8]) -> bool {
        match (glob, name) {
            ([], []) => true,
            ([b'*', glob @ ..], _) => (0..=name.len()).any(|skip| within(glob, &name[skip..])),
            ([b'?', glob @ ..], [_, name @ ..]) => within(glob, name),
            ([one, glob @ ..], [other, name @ ..]) => one == other && within(glob, name),
            _ => false,
        }
    }
    let split = |text| <[u8]>::split(text, |&byte| byte == b'/').collect::<Vec<_>>();
    names(&split(glob.as_bytes()), &split(path))
}

fn random_policy(random: &mut StdRng, policy: TreePolicy) -> TreePolicy {
    let mut globs = |most| -> Vec<String> {
        (0..random.random_range(0..most)).map(|_| GLOBS[random.random_range(0..GLOBS.len())].to_owned()).collect()
    };
    // Most globs cover little, so that most policies are without.
    let (include, exclude) = (globs(4), globs(3));
    let include = if include.len() > 1 { include } else { Vec::new() };
    TreePolicy {
        age: if random.random_bool(0.5) { Age::Modified } else { Age::Accessed },
        include,
        exclude,
        min_depth: [1, 1, 2, 3][random.random_range(0..4)],
        empty_dirs: random.random_bool(0.6),
        ..policy
    }
}

/// All pages of a sweep.
async fn pages(target: &mut TreeTarget, limit: u64) -> Tally {
    let mut tally = Tally::default();
    let mut cursor = None;
    loop {
        let swept = page(target, cursor.as_ref(), limit, Care::Swift).await;
        assert!(swept.tally.adds_up() && swept.tally.examined <= limit, "{swept:?}");
        tally.add(&swept.tally);
        match swept.next {
            Some(next) => cursor = Some(next),
            None => return tally,
        }
    }
}

#[tokio::test]
async fn the_survivors_are_those_of_the_model() {
    let mut random = StdRng::seed_from_u64(seed());
    let mut removed = 0;
    for round in 0..ROUNDS {
        let scene = Scene::new();
        let mut maker =
            Maker { random: &mut random, root: scene.root().to_owned(), files: Vec::new(), listeners: Vec::new() };
        let nodes = maker.fill(b"", 1);
        let _listeners = std::mem::take(&mut maker.listeners);
        let policy = random_policy(&mut random, scene.policy());
        let mut model = Model { policy: &policy, left: BTreeSet::new() };
        for node in &nodes {
            model.goes(node, false);
        }
        let mut target = bind(policy.clone());
        let survey = target.survey(boundary()).await.unwrap();
        let tally = pages(&mut target, random.random_range(1..600)).await;
        assert_eq!(scene.names(), model.left, "round {round}: {policy:?}\n{tally:?}");
        assert_eq!(tally.kept_back.conflict, 0, "round {round}: {tally:?}");
        // What is protected in a directory keeps that too, which a survey does not foresee.
        let counted = tally.removed + tally.kept_back.locked;
        assert!(survey.bygone.is_some_and(|bygone| bygone >= counted), "round {round}: {survey:?} {tally:?}");
        assert!(
            tally.kept_back.locked > 0 || survey.bygone == Some(tally.removed),
            "round {round}: {survey:?} {tally:?}"
        );
        assert!(tally.kept_back.locked > 0 || survey.bytes == tally.bytes, "round {round}: {survey:?} {tally:?}");
        removed += tally.removed;
    }
    assert!(removed > ROUNDS as u64, "the trees had something to remove: {removed}");
}
