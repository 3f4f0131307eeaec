//! Somebody swaps directories for links and back while the area is swept. Nothing outside may be touched.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use bygone_files::stage::Stage;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Scene, assert_whole, id_of, put, secs, seed};

const ROUNDS: usize = 5_000;
const FILES: usize = 4;

/// A tree outside with a file under every name that the area uses: whoever follows a link deletes one of them.
struct Canaries {
    root: PathBuf,
}

impl Canaries {
    fn new(root: PathBuf) -> Self {
        fs::create_dir(&root).unwrap();
        let canaries = Self { root };
        for n in 0..FILES {
            fs::write(canaries.file(n), "alive").unwrap();
        }
        canaries
    }

    fn file(&self, n: usize) -> PathBuf {
        self.root.join(format!("file {n}.txt"))
    }

    fn assert_untouched(&self, round: usize) {
        for n in 0..FILES {
            let content = fs::read(self.file(n)).unwrap_or_else(|error| panic!("round {round}: {n} {error}"));
            assert_eq!(content, b"alive", "round {round}");
        }
        assert_eq!(fs::read_dir(&self.root).unwrap().count(), FILES, "round {round}: and nothing was put there");
    }
}

fn directory(area: &Path, n: usize) -> PathBuf {
    area.join(id_of(format!("file {n}").as_bytes()).to_string())
}

/// Swaps one attachment's directory, or the file in it, for a link to the canaries, and back again.
fn swap(area: &Path, canaries: &Canaries, random: &mut StdRng) {
    let n = random.random_range(0..FILES);
    let directory = directory(area, n);
    let aside = canaries.root.with_file_name(format!("aside {n}"));
    // Every step may fail, since the sweeper is at work on the same names.
    if random.random_bool(0.7) {
        if fs::rename(&directory, &aside).is_ok() {
            let _ = symlink(&canaries.root, &directory);
            std::thread::yield_now();
            let _ = fs::remove_file(&directory);
            if fs::rename(&aside, &directory).is_err() {
                let _ = fs::remove_dir_all(&aside);
            }
        }
    } else {
        let file = directory.join(format!("file {n}.txt"));
        if fs::remove_file(&file).is_ok() {
            let _ = symlink(canaries.file(n), &file);
        }
    }
}

fn sweep(scene: &Scene, stage: &Stage, canaries: &Canaries) -> u64 {
    let mut removed = 0;
    for round in 0..ROUNDS {
        for n in 0..FILES {
            // A link in the way is an error of this one file, and a reason for none to be followed.
            let text = format!("file {n}");
            let content = bygone_files::stage::Content::reader(text.as_bytes());
            let _ = stage.put(content, &bygone_files::stage::Put::named(format!("{text}.txt")).ttl(secs(1)));
        }
        scene.advance(secs(10));
        removed += match round % 3 {
            0 => stage.force_cleanup().map_or(0, |report| report.tally.removed),
            1 => stage.reset().map_or(0, |report| report.removed),
            _ => (0..FILES).filter(|n| stage.remove(&id_of(format!("file {n}").as_bytes())).is_ok()).count() as u64,
        };
        if round % 50 == 0 {
            let _ = stage.reconcile();
        }
        if round % 10 == 0 {
            canaries.assert_untouched(round);
        }
    }
    removed
}

/// Ends the attack when the sweeps end, be it by a panic.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn nothing_outside_is_touched_whatever_is_swapped() {
    let seed = seed();
    let scene = Scene::in_memory();
    let options = bygone_files::stage::StageOptions { orphan_grace: secs(0), ..scene.options() };
    let stage = Stage::open(scene.dir(), options).unwrap();
    let canaries = Canaries::new(scene.temporary.path().join("outside"));
    let over = AtomicBool::new(false);
    let (removed, swaps) = std::thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            let (mut random, mut swaps) = (StdRng::seed_from_u64(seed), 0_u64);
            while !over.load(Ordering::Relaxed) {
                swap(&scene.dir(), &canaries, &mut random);
                swaps += 1;
            }
            swaps
        });
        let removed = {
            let _over = Over(&over);
            sweep(&scene, &stage, &canaries)
        };
        (removed, attacker.join().unwrap())
    });
    println!("{removed} attachments were removed against {swaps} swaps");
    canaries.assert_untouched(ROUNDS);
    assert!(removed > 1_000 && swaps > 1_000, "the attack took place");
    // The area recovers: links that were left behind are moved away, and everything works again.
    for n in 0..FILES {
        let directory = directory(&scene.dir(), n);
        if fs::symlink_metadata(&directory).is_ok_and(|meta| meta.is_symlink()) {
            fs::remove_file(directory).unwrap();
        }
    }
    scene.advance(secs(10_000_000));
    stage.force_cleanup().unwrap();
    stage.reconcile().unwrap();
    assert_eq!((scene.recount().entries.len(), scene.recount().files.len()), (0, 0));
    put(&stage, "file 1", 10);
    assert_whole(&scene.dir());
    canaries.assert_untouched(ROUNDS);
}
