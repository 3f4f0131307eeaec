//! A throw-away tree with files of any age, looked at without any code of bygone's.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use bygone_core::{Boundary, Budget, Care, Cursor, PageRequest, PolicyReport, Target};
use bygone_files::tree::{TreePolicy, TreeTarget};
use bygone_testkit::conformance;
use jiff::{SignedDuration, Timestamp};
use rustix::fs::{AtFlags, CWD, IFlags, Timespec, Timestamps, ioctl_getflags, ioctl_setflags, utimensat};

/// How long the policies of these tests keep a file.
pub(crate) const KEEP: SignedDuration = SignedDuration::from_hours(1);

/// The instant that every test compares with.
pub(crate) fn boundary() -> Boundary {
    Boundary::at(Timestamp::from_second(1_794_744_000).unwrap())
}

/// An instant, in nanoseconds from the first one that is not past its time.
pub(crate) fn stamp(nanos: i128) -> Timestamp {
    let cutoff = boundary().instant() - KEEP;
    Timestamp::from_nanosecond(cutoff.as_nanosecond() + nanos).unwrap()
}

/// A minute past its time.
pub(crate) fn old() -> Timestamp {
    stamp(-60_000_000_000)
}

/// Not yet past its time.
pub(crate) fn young() -> Timestamp {
    stamp(60_000_000_000)
}

/// From `BYGONE_TEST_SEED`, to see again what was seen before; otherwise a new one.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("BYGONE_TEST_SEED").ok();
    let seed = given.map_or_else(|| RandomState::new().hash_one("seed"), |text| text.parse().expect("a number"));
    println!("BYGONE_TEST_SEED={seed}");
    seed
}

/// Sets both stamps of what stands at a path, links themselves included.
pub(crate) fn set_stamps(path: &Path, accessed: Timestamp, modified: Timestamp) {
    let spec = |at: Timestamp| {
        let nanos = at.as_nanosecond();
        let (seconds, rest) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
        Timespec { tv_sec: i64::try_from(seconds).unwrap(), tv_nsec: i64::try_from(rest).unwrap() }
    };
    let times = Timestamps { last_access: spec(accessed), last_modification: spec(modified) };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// A directory that goes with the test.
pub(crate) struct Scene {
    root: PathBuf,
    outer: PathBuf,
}

impl Scene {
    /// An empty tree, `root`, in a directory of its own.
    pub(crate) fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// The same for very many files: in memory where there is such a file system, since busy disks take minutes for them.
    pub(crate) fn large() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::within(memory) } else { Self::new() }
    }

    fn within(place: &Path) -> Self {
        let outer = tempfile::Builder::new().prefix("tree-").tempdir_in(place).unwrap().keep();
        let root = outer.join("root");
        fs::create_dir(&root).unwrap();
        Self { root, outer }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A place beside the tree.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.outer.join(name)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A file with some content, and directories above it as needed.
    pub(crate) fn file(&self, name: &str, modified: Timestamp) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, name).unwrap();
        set_stamps(&path, modified, modified);
        path
    }

    pub(crate) fn directory(&self, name: &str, modified: Timestamp) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        set_stamps(&path, modified, modified);
        path
    }

    pub(crate) fn stamp(&self, name: &str, modified: Timestamp) {
        set_stamps(&self.path(name), modified, modified);
    }

    /// A policy over the tree that keeps files for [`KEEP`].
    pub(crate) fn policy(&self) -> TreePolicy {
        TreePolicy { keep: Some(KEEP), ..TreePolicy::new("old-files", "tree", &self.root) }
    }

    pub(crate) fn target(&self) -> TreeTarget {
        bind(self.policy())
    }

    /// Sweeps with a policy and hands back its report.
    pub(crate) async fn sweep(&self, policy: TreePolicy) -> PolicyReport {
        let report = conformance::sweep(Box::new(bind(policy)), boundary(), Budget::default()).await;
        assert_eq!(report.error, None, "{report:?}");
        report
    }

    /// Every path in the tree, directories with a `/` behind.
    pub(crate) fn names(&self) -> BTreeSet<OsString> {
        listed(&self.root)
    }

    /// The same, where all names are text.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.names().into_iter().map(|name| name.into_string().unwrap()).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for name in self.names() {
            let path = self.root.join(name);
            if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                set_immutable(&path, false);
            }
        }
        // Deep trees are beyond what recursion by handles can remove; `rm` goes there.
        let gone = Command::new("rm").arg("-rf").arg(&self.outer).status();
        assert!(gone.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Every path below a directory; those of directories end with a `/`.
pub(crate) fn listed(root: &Path) -> BTreeSet<OsString> {
    let mut found = BTreeSet::new();
    let mut ahead = vec![PathBuf::new()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(root.join(&directory)).into_iter().flatten() {
            let entry = entry.unwrap();
            let path = directory.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                let mut shown = path.as_os_str().as_bytes().to_vec();
                shown.push(b'/');
                found.insert(OsString::from_vec(shown));
                ahead.push(path);
            } else {
                found.insert(path.into_os_string());
            }
        }
    }
    found
}

pub(crate) fn bind(policy: TreePolicy) -> TreeTarget {
    TreeTarget::bind(policy).unwrap_or_else(|error| panic!("{}", error.full_message()))
}

/// One page.
pub(crate) async fn page(
    target: &mut TreeTarget,
    cursor: Option<&Cursor>,
    limit: u64,
    care: Care,
) -> bygone_core::Page {
    target.page(PageRequest { boundary: boundary(), cursor, limit, care }).await.unwrap()
}

/// Makes a file immutable, or mutable again. False where the file system or our rights do not allow it.
pub(crate) fn set_immutable(path: &Path, immutable: bool) -> bool {
    let Ok(file) = fs::File::open(path) else { return false };
    let Ok(flags) = ioctl_getflags(&file) else { return false };
    if flags.contains(IFlags::IMMUTABLE) == immutable {
        return true;
    }
    let wanted = if immutable { flags | IFlags::IMMUTABLE } else { flags.difference(IFlags::IMMUTABLE) };
    ioctl_setflags(&file, wanted).is_ok()
}

/// A process that holds what it was given until it is dropped.
pub(crate) struct Holder(pub(crate) Child);

impl Holder {
    /// Another process that has this file open.
    pub(crate) fn of(file: fs::File) -> Self {
        Self(Command::new("sleep").arg("600").stdin(file).spawn().unwrap())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
