//! The race attack: somebody with rights in the tree tries to lead the sweep out of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bygone_core::Budget;
use bygone_files::tree::TreePolicy;
use bygone_testkit::conformance::sweep;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::scene::{Scene, bind, boundary, listed, old, seed, set_stamps};

const ROUNDS: usize = 5_000;
/// Where the attacker is the quicker one, he goes on until so many sweeps have ended under his hands.
const SWEEPS: usize = 20;

/// Content, time of modification and of change, and which file it is.
type State = (Vec<u8>, (i64, i64), (i64, i64), u64);

/// Everything about a tree that must not change.
fn state(root: &Path) -> BTreeMap<PathBuf, State> {
    let paths = listed(root).into_iter().map(|name| root.join(name)).chain([root.to_owned()]);
    let seen = paths.map(|path| {
        let found = path.symlink_metadata().unwrap();
        let content = if found.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        let (modified, changed) = ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
        (path, (content, modified, changed, found.ino()))
    });
    seen.collect()
}

/// Old files in directories, the same names in every one.
fn furnish(root: &Path) {
    for directory in ["", "d0", "d1", "d2", "d0/e", "d1/e"] {
        let directory = root.join(directory);
        // Whoever attacks may have moved the place away just now.
        let _ = fs::create_dir_all(&directory);
        for name in ["f0", "f1", "f2", "f3"] {
            let path = directory.join(name);
            if fs::OpenOptions::new().write(true).create_new(true).open(&path).is_ok() {
                let times = fs::FileTimes::new().set_modified(old().into()).set_accessed(old().into());
                let _ = fs::File::open(&path).and_then(|file| file.set_times(times));
            }
        }
    }
}

struct Attacker {
    root: PathBuf,
    canary: PathBuf,
    away: PathBuf,
    random: StdRng,
}

impl Attacker {
    /// One move. Each may fail, since the sweep and the moves before have changed the ground.
    fn attack(&mut self, round: usize) {
        let name = ["d0", "d1", "d2", "d0/e", "d1/e"][self.random.random_range(0..5)];
        let place = self.root.join(name);
        let decoy = self.root.join(format!("decoy{}", round % 4));
        let _ = match self.random.random_range(0..6) {
            // A directory becomes a link to the canary, and back, each at one stroke.
            0 | 1 => symlink(&self.canary, &decoy).and_then(|()| {
                let _ = renameat_with(CWD, &decoy, CWD, &place, RenameFlags::EXCHANGE);
                let _ = renameat_with(CWD, &decoy, CWD, &place, RenameFlags::EXCHANGE);
                fs::remove_file(&decoy)
            }),
            // The same by hand, with a moment between.
            2 => fs::rename(&place, &self.away).and_then(|()| symlink(&self.canary, &place)).and_then(|()| {
                fs::remove_file(&place)?;
                fs::rename(&self.away, &place)
            }),
            // Out of the tree and back.
            3 => fs::rename(&place, &self.away).and_then(|()| fs::rename(&self.away, &place)),
            // A file becomes a link to one of the canary's.
            4 => symlink(self.canary.join("f0"), &decoy).and_then(|()| fs::rename(&decoy, place.join("f0"))),
            // A file becomes a directory.
            _ => fs::remove_file(place.join("f1")).and_then(|()| fs::create_dir(place.join("f1"))),
        };
        if self.away.exists() {
            let _ = fs::remove_dir_all(&self.away);
        }
        if round.is_multiple_of(3) {
            furnish(&self.root);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outside_the_root_is_touched_by_a_sweep_under_attack() {
    let scene = Scene::new();
    let canary = scene.outside("canary");
    furnish(&canary);
    for name in listed(&canary) {
        set_stamps(&canary.join(name), old(), old());
    }
    let before = state(&canary);
    furnish(scene.root());
    let (over, swept) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut attacker = Attacker {
        root: scene.root().to_owned(),
        canary: canary.clone(),
        away: scene.outside("away"),
        random: StdRng::seed_from_u64(seed()),
    };
    let (done, ended) = (Arc::clone(&over), Arc::clone(&swept));
    let attack = std::thread::spawn(move || {
        let mut rounds = 0;
        while rounds < ROUNDS || ended.load(Ordering::Acquire) < SWEEPS {
            attacker.attack(rounds);
            rounds += 1;
        }
        done.store(true, Ordering::Release);
        rounds
    });
    let policy = TreePolicy { empty_dirs: true, ..scene.policy() };
    let mut removed = 0;
    while !over.load(Ordering::Acquire) {
        let report = sweep(Box::new(bind(policy.clone())), boundary(), Budget::default()).await;
        assert_eq!(report.error, None, "a tree that changes underneath is no error");
        swept.fetch_add(1, Ordering::Release);
        removed += report.tally.removed;
    }
    let rounds = attack.join().unwrap();
    println!("{} sweeps removed {removed} items in {rounds} rounds", swept.load(Ordering::Acquire));
    assert!(removed > 0, "the sweeps were at work");
    assert_eq!(state(&canary), before, "the canary is as it was");
}
