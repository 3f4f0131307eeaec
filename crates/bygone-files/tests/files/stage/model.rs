//! Random histories against a model: whatever is staged, touched, swept, deleted behind the area's back or cut off by a
//! crash, the counters are those of a recount, and everything that should live does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::Clock;
use bygone_files::stage::{AttachmentId, Content, Put, Stage, StageOptions, Ttl};
use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Scene, assert_whole, id_of, recount, secs, seed};

const HISTORIES: usize = 40;
const STEPS: usize = 120;

/// Copies a directory as it is at this moment: what a crash at this moment leaves.
pub(crate) fn copy(from: &Path, to: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// What should be true of an attachment.
#[derive(Clone, Debug)]
struct Known {
    ttl: Ttl,
    persist: bool,
    deadline: Option<Timestamp>,
}

struct World {
    scene: Scene,
    stage: Stage,
    known: BTreeMap<AttachmentId, Known>,
    random: StdRng,
}

impl World {
    fn new(seed: u64) -> Self {
        let scene = Scene::new();
        let stage = scene.open();
        Self { scene, stage, known: BTreeMap::new(), random: StdRng::seed_from_u64(seed) }
    }

    fn now(&self) -> Timestamp {
        self.scene.clock.now()
    }

    fn lives(&self, id: &AttachmentId) -> bool {
        self.known.get(id).is_some_and(|known| known.deadline.is_none_or(|deadline| deadline >= self.now()))
    }

    fn content(&mut self) -> Vec<u8> {
        vec![b'a' + self.random.random_range(0..12_u8); 100]
    }

    fn ttl(&mut self) -> Ttl {
        match self.random.random_range(0..10) {
            0 => Ttl::Forever,
            1 => Ttl::For(Duration::ZERO),
            _ => Ttl::For(secs(self.random.random_range(1..100))),
        }
    }

    fn expect(&mut self, id: AttachmentId, ttl: Ttl, persist: bool) -> Known {
        let now = self.now();
        let old = self.known.get(&id).cloned();
        let persist = persist || old.as_ref().is_some_and(|old| old.persist);
        let longest = old.as_ref().map_or(ttl, |old| old.ttl.max(ttl));
        let ttl = if persist { Ttl::Forever } else { longest };
        let deadline = match ttl {
            Ttl::Forever => None,
            Ttl::For(time) => Some((now + time).max(old.and_then(|old| old.deadline).unwrap_or(Timestamp::MIN))),
        };
        self.known.insert(id, Known { ttl, persist, deadline });
        self.known[&id].clone()
    }

    fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..40 => self.put(),
            40..50 => self.touch(),
            50..55 => self.remove(),
            55..75 => self.scene.advance(secs(self.random.random_range(0..40))),
            75..85 => {
                let due = self.known.keys().filter(|id| !self.lives(id)).count();
                let removed = self.stage.force_cleanup().unwrap().tally.removed;
                assert_eq!(removed, due as u64, "exactly what is past its time goes");
                let now = self.now();
                self.known.retain(|_, known| known.deadline.is_none_or(|deadline| deadline >= now));
            }
            85..92 => self.delete_behind_its_back(),
            92..94 => {
                self.stage.reset().unwrap();
                self.known.retain(|_, known| known.persist);
            }
            94..97 => {
                self.stage = self.scene.open();
            }
            _ => self.crash(),
        }
    }

    fn put(&mut self) {
        let (content, ttl, persist) = (self.content(), self.ttl(), self.random.random_bool(0.05));
        let put = Put { name: Some("file".into()), ttl: Some(ttl), persist };
        let known_before = self.known.contains_key(&id_of(&content));
        let attachment = self.stage.put(Content::reader(&*content), &put).unwrap();
        assert_eq!((attachment.id, attachment.cached), (id_of(&content), known_before));
        let expected = self.expect(attachment.id, ttl, persist);
        assert_eq!((attachment.ttl, attachment.persist), (expected.ttl, expected.persist));
        assert_eq!(attachment.deadline, expected.deadline);
    }

    fn touch(&mut self) {
        let (id, ttl) = (id_of(&self.content()), self.ttl());
        let lives = self.lives(&id);
        let touched = self.stage.touch(&id, Some(ttl)).unwrap();
        assert_eq!(touched.is_some(), lives);
        if let Some(touched) = touched {
            let expected = self.expect(id, ttl, false);
            assert_eq!((touched.ttl, touched.deadline), (expected.ttl, expected.deadline));
        }
    }

    fn remove(&mut self) {
        let id = id_of(&self.content());
        assert_eq!(self.stage.remove(&id).unwrap(), self.lives(&id));
        self.known.remove(&id);
    }

    /// Somebody deletes a file; the area notices when it is asked.
    fn delete_behind_its_back(&mut self) {
        let id = id_of(&self.content());
        if self.lives(&id) {
            fs::remove_dir_all(self.scene.dir().join(id.to_string())).unwrap();
            assert_eq!(self.stage.get(&id).unwrap(), None);
            self.known.remove(&id);
        }
    }

    /// Goes on in a copy of the area, without ever having closed the first.
    fn crash(&mut self) {
        let image = Scene::new();
        copy(&self.scene.dir(), &image.dir());
        fs::write(image.dir().join(".bygone/tmp").join("f".repeat(32) + ".1"), "half").unwrap();
        let image = Scene { clock: Arc::clone(&self.scene.clock), ..image };
        self.stage = Stage::open(image.dir(), StageOptions { ..image.options() }).unwrap();
        let report = *self.stage.opened_with().unwrap();
        assert!(report.after_crash && report.temporaries_removed == 1, "{report:?}");
        assert_eq!((report.missing, report.orphans_young), (0, 0), "{report:?}");
        self.scene = image;
    }

    fn check(&self) {
        let recount = recount(&self.scene.dir());
        assert_eq!((!recount.entries.is_empty(), recount.temporaries), (!self.known.is_empty(), 0));
        assert_eq!(recount.files.len(), self.known.len());
        let metrics = self.stage.metrics().unwrap();
        let persistent = self.known.values().filter(|known| known.persist).count() as u64;
        let all = self.known.len() as u64;
        assert_eq!((metrics.total_count, metrics.total_bytes), (all, all * 100));
        assert_eq!((metrics.persistent_count, metrics.persistent_bytes), (persistent, persistent * 100));
        assert_eq!((metrics.expirable_count, metrics.expirable_bytes), (all - persistent, (all - persistent) * 100));
        let listed: Vec<_> = self.stage.list().map(|attachment| attachment.unwrap().id).collect();
        let living: Vec<_> = self.known.keys().filter(|id| self.lives(id)).copied().collect();
        assert_eq!(listed, living);
    }
}

#[test]
fn any_history_leaves_the_counters_equal_to_a_recount() {
    let seed = seed();
    for history in 0..HISTORIES {
        let mut world = World::new(seed.wrapping_add(history as u64));
        for _ in 0..STEPS {
            world.step();
            world.check();
        }
        assert_whole(&world.scene.dir());
    }
}
