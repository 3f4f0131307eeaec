//! The suite that every target passes.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use bygone_core::Target;
use bygone_testkit::conformance::{Answer, Hold, KEEP, Stand, conforms};
use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};

use super::scene::{Scene, bind, listed, set_immutable, set_stamps};

struct Files {
    scene: Scene,
}

impl Files {
    /// Keys are names. An item that must not go, where files cannot be made immutable, stands in a directory of its own.
    fn path(&self, key: u32) -> PathBuf {
        let stuck = self.scene.path(&format!("stuck-{key}")).join(key.to_string());
        if stuck.exists() { stuck } else { self.scene.path(&key.to_string()) }
    }
}

struct Open(File);

impl Hold for Open {
    fn release(self: Box<Self>) -> Answer<'static, ()> {
        drop(self.0);
        Box::pin(std::future::ready(()))
    }
}

impl Stand for Files {
    fn target(&self) -> Answer<'_, Box<dyn Target>> {
        let mut policy = self.scene.policy();
        policy.keep = Some(KEEP);
        let target: Box<dyn Target> = Box::new(bind(policy));
        Box::pin(std::future::ready(target))
    }

    fn put(&self, key: u32, deadline: Option<Timestamp>) -> Answer<'_, ()> {
        let (path, deadline) = (self.path(key), deadline.unwrap());
        fs::write(&path, b"content").unwrap();
        set_stamps(&path, deadline, deadline);
        Box::pin(std::future::ready(()))
    }

    fn items(&self) -> Answer<'_, BTreeMap<u32, Option<Timestamp>>> {
        let mut items = BTreeMap::new();
        for name in listed(self.scene.root()) {
            let path = self.scene.root().join(name);
            let found = path.symlink_metadata().unwrap();
            if found.is_file() {
                let key = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
                items.insert(key, Some(Timestamp::try_from(found.modified().unwrap()).unwrap()));
            }
        }
        Box::pin(std::future::ready(items))
    }

    fn stick(&self, key: u32) -> Answer<'_, ()> {
        let path = self.path(key);
        if !set_immutable(&path, true) {
            let own = self.scene.path(&format!("stuck-{key}"));
            fs::create_dir(&own).unwrap();
            fs::rename(&path, own.join(key.to_string())).unwrap();
            fs::set_permissions(&own, Permissions::from_mode(0o500)).unwrap();
        }
        Box::pin(std::future::ready(()))
    }

    fn hold(&self, key: u32) -> Answer<'_, Option<Box<dyn Hold>>> {
        let file = File::open(self.path(key)).unwrap();
        flock(&file, FlockOperation::NonBlockingLockShared).unwrap();
        let hold: Box<dyn Hold> = Box::new(Open(file));
        Box::pin(std::future::ready(Some(hold)))
    }

    fn reset(&self) -> Answer<'_, ()> {
        for name in listed(self.scene.root()) {
            let path = self.scene.root().join(name);
            let found = path.symlink_metadata().unwrap();
            if found.is_dir() {
                fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
            } else {
                set_immutable(&path, false);
            }
        }
        fs::remove_dir_all(self.scene.root()).unwrap();
        fs::create_dir(self.scene.root()).unwrap();
        Box::pin(std::future::ready(()))
    }

    fn can_lack_deadline(&self) -> bool {
        false
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_conforms() {
    conforms(&Files { scene: Scene::new() }).await;
}
