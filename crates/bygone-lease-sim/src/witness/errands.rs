//! Errands: what the index leads to besides keys.

use serde::Deserialize;
use uuid::Uuid;

use super::{Scene, Witness, Write, demand, parse};
use crate::names::segment;

/// An errand, as far as the witness cares.
#[derive(Debug, Deserialize)]
struct SeenErrand {
    message: Option<SeenMessageErrand>,
    blobs: Option<SeenBlobsErrand>,
}

#[derive(Debug, Deserialize)]
struct SeenBlobsErrand {
    key: String,
    blobs: Vec<SeenBlobId>,
}

#[derive(Debug, Deserialize)]
struct SeenBlobId {
    id: Uuid,
    kind: SeenKind,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SeenKind {
    State,
    Attachment,
}

#[derive(Debug, Deserialize)]
struct SeenMessageErrand {
    queue: String,
    name: String,
    #[serde(default)]
    dead: bool,
}

impl SeenErrand {
    /// What it leads to.
    fn targets(&self, namespace: &str) -> Vec<String> {
        let message = self.message.iter().map(|SeenMessageErrand { queue, name, dead }| {
            let folder = if *dead { "dlq" } else { "msg" };
            format!("{namespace}/q/{}/{folder}/{name}", segment(queue))
        });
        let blobs = self.blobs.iter().flat_map(|SeenBlobsErrand { key, blobs }| {
            let folder = format!("{namespace}/state/{}", segment(key));
            blobs.iter().map(move |SeenBlobId { id, kind }| match kind {
                SeenKind::State => format!("{folder}/{id}"),
                SeenKind::Attachment => format!("{folder}/attachments/{id}"),
            })
        });
        message.chain(blobs).collect()
    }
}

impl Witness {
    /// An errand stands in an hour that is on its list, and goes when what it leads to needs it no more.
    pub(super) fn see_errand(
        &mut self,
        scene: Scene<'_>,
        write: &Write<'_>,
        namespace: &str,
        hour: &str,
    ) -> Result<(), String> {
        let path = write.path;
        if let Some(body) = write.body {
            let errand: SeenErrand = parse(path, body)?;
            let targets = errand.targets(namespace);
            for target in &targets {
                self.leads.entry(target.clone()).or_default().insert(path.to_owned());
            }
            self.errands.insert(path.to_owned(), targets);
            return self.see_hour(scene, path, namespace, hour);
        }
        self.strays.remove(path);
        for target in self.errands.remove(path).unwrap_or_default() {
            let others = self.leads.entry(target.clone()).or_default();
            others.remove(path);
            if others.is_empty() {
                self.leads.remove(&target);
                let is_needed = self.needs_errand(scene, &target);
                demand(!is_needed, || format!("{path} was taken away, and nothing else leads to {target}"))?;
            }
        }
        Ok(())
    }

    /// What is entered into an hour comes after the hour is on its list, unless it comes so late that the hour was taken off.
    pub(super) fn see_hour(&mut self, scene: Scene<'_>, path: &str, namespace: &str, hour: &str) -> Result<(), String> {
        let is_listed = self.is_listed(namespace, hour);
        if !is_listed {
            self.strays.insert(path.to_owned());
        }
        demand(is_listed || scene.sender.is_late, || format!("{path} was entered, and its hour is on no list"))
    }

    /// Whether an errand leads to something.
    pub(super) fn is_led_to(&self, target: &str) -> bool {
        self.leads.contains_key(target)
    }

    /// Whether an hour of the index is on its list.
    pub(super) fn is_listed(&self, namespace: &str, hour: &str) -> bool {
        let listed = self.hours.get(&format!("{namespace}/.lease-index/buckets.json"));
        listed.is_some_and(|hours| hours.contains(hour))
    }
}
