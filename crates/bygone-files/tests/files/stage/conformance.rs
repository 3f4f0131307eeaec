//! The suite that every target passes, over a staging area.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bygone_core::{Clock, Target};
use bygone_files::stage::{Content, Durability, Put, Stage, StageOptions};
use bygone_testkit::conformance::{Answer, Hold, KEEP, Stand, conforms};
use jiff::{SignedDuration, Timestamp};

use super::{database, id_of};

/// A clock that stands wherever the suite needs it: items come with deadlines, and the area makes deadlines from now.
#[derive(Debug)]
struct SetClock(Mutex<Timestamp>);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

struct StageStand {
    clock: Arc<SetClock>,
    world: Mutex<(tempfile::TempDir, Stage)>,
}

impl StageStand {
    fn new() -> Self {
        let clock = Arc::new(SetClock(Mutex::new(Timestamp::UNIX_EPOCH)));
        let world = Mutex::new(fresh(&clock));
        Self { clock, world }
    }

    fn stage(&self) -> Stage {
        self.world.lock().unwrap().1.clone()
    }

    fn set(&self, now: Timestamp) {
        *self.clock.0.lock().unwrap() = now;
    }
}

fn fresh(clock: &Arc<SetClock>) -> (tempfile::TempDir, Stage) {
    let dir = tempfile::tempdir().unwrap();
    let options = StageOptions {
        clock: Arc::<SetClock>::clone(clock),
        durability: Durability::Relaxed,
        ..StageOptions::default()
    };
    let stage = Stage::open(dir.path().join("area"), options).unwrap();
    (dir, stage)
}

fn content(key: u32) -> Vec<u8> {
    key.to_string().into_bytes()
}

struct StageHold(bygone_files::stage::Hold);

impl Hold for StageHold {
    fn release(self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move { self.0.release().unwrap() })
    }
}

impl Stand for StageStand {
    fn target(&self) -> Answer<'_, Box<dyn Target>> {
        let target = self.stage().target("stand", "area").keeping(KEEP);
        Box::pin(async move { Box::new(target) as Box<dyn Target> })
    }

    fn put(&self, key: u32, deadline: Option<Timestamp>) -> Answer<'_, ()> {
        let deadline = deadline.expect("the suite was told that items cannot be without a deadline");
        self.set(deadline - SignedDuration::from_secs(10));
        let put = Put::named(key.to_string()).ttl(Duration::from_secs(10));
        self.stage().put(Content::reader(&*content(key)), &put).unwrap();
        Box::pin(async {})
    }

    fn items(&self) -> Answer<'_, BTreeMap<u32, Option<Timestamp>>> {
        let stage = self.stage();
        let db = database(stage.path());
        let mut rows = db.prepare("SELECT name, deadline FROM entries").unwrap();
        let rows = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))).unwrap();
        let items = rows.map(Result::unwrap).map(|(name, micros)| {
            let key: u32 = name.parse().unwrap();
            let path = stage.path().join(id_of(&content(key)).to_string()).join(&name);
            assert!(path.exists(), "{key} has an entry and no file");
            (key, Some(Timestamp::from_microsecond(micros).unwrap()))
        });
        let items = items.collect();
        Box::pin(async move { items })
    }

    fn stick(&self, key: u32) -> Answer<'_, ()> {
        let stage = self.stage();
        let path = stage.path().join(id_of(&content(key)).to_string()).join(key.to_string());
        // Not even root unlinks a directory.
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        Box::pin(async {})
    }

    fn hold(&self, key: u32) -> Answer<'_, Option<Box<dyn Hold>>> {
        self.set(Timestamp::UNIX_EPOCH);
        let held = self.stage().hold(&id_of(&content(key)), Duration::from_secs(100 * 365 * 86_400)).unwrap().unwrap();
        Box::pin(async move { Some(Box::new(StageHold(held)) as Box<dyn Hold>) })
    }

    fn reset(&self) -> Answer<'_, ()> {
        *self.world.lock().unwrap() = fresh(&self.clock);
        Box::pin(async {})
    }

    fn can_lack_deadline(&self) -> bool {
        false
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_staging_area_conforms() {
    conforms(&StageStand::new()).await;
}
