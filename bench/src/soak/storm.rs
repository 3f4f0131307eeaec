//! Faults, one after another, by chance from the seed.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::CancellationToken;
use bygone_testkit::wait::Wait;
use rustix::process::Signal;
use serde_json::{Value, json};
use sqlx::Connection;

use super::api;
use super::chance::Chance;
use super::configuration::Wording;
use super::daemon::Daemon;
use super::fault::{Disturbance, Fault};
use super::pace::Pace;
use super::record::Record;
use super::site::Site;
use crate::failure::Failure;
use crate::output;

const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bygone'";
/// How long the daemon may take to take note of a file.
const NOTICE_LIMIT: Duration = Duration::from_secs(30);
/// A daemon that is killed keeps the turn over the lease store for so long; what is due must be gone before the end.
const TURN: Duration = Duration::from_secs(32);

/// Whoever makes faults.
pub(super) struct Storm {
    pub(super) daemon: Daemon,
    pub(super) site: Arc<Site>,
    pub(super) record: Arc<Record>,
    pub(super) chance: Chance,
    pub(super) pace: Pace,
    deck: Vec<Fault>,
    is_gentle: bool,
}

impl Storm {
    pub(super) fn new(daemon: Daemon, site: &Arc<Site>, record: &Arc<Record>, chance: Chance, pace: Pace) -> Self {
        let (site, record) = (Arc::clone(site), Arc::clone(record));
        Self { daemon, site, record, chance, pace, deck: vec![Fault::Kill], is_gentle: false }
    }

    /// Begins with a kill, and goes on until the storm is over. A daemon that does not come back ends it.
    pub(super) async fn rage(&mut self, stop: &CancellationToken) -> Result<(), Failure> {
        let began = self.record.at();
        loop {
            let [least, most] = self.pace.gap;
            let gap = self.chance.time(least..=most);
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = self.record.sleep(gap) => {}
            }
            if let Some(status) = self.daemon.has_died() {
                return Err(format!("the daemon ended by itself: {status}").into());
            }
            let passed = self.record.at().saturating_sub(began);
            let left = self.pace.storm.saturating_sub(passed);
            if left < self.pace.standstill_max + least {
                self.record.sleep(left).await;
                return Ok(());
            }
            if let Some(fault) = self.draw(passed, left) {
                self.strike(fault).await?;
            }
        }
    }

    /// The next fault of the deck that may happen now. Every fault of it comes before any comes again.
    fn draw(&mut self, passed: Duration, left: Duration) -> Option<Fault> {
        if self.deck.is_empty() {
            self.deck = Fault::DECK.to_vec();
        }
        let may = |fault: &Fault| {
            let is_too_late = *fault == Fault::Kill && left + self.pace.quiet < TURN + self.pace.every[1];
            !(is_too_late || fault.ends_the_daemon() && self.pace.is_calm(passed))
        };
        let possible: Vec<usize> = (0..self.deck.len()).filter(|at| may(&self.deck[*at])).collect();
        let drawn = self.chance.pick(&possible).map(|at| self.deck.swap_remove(at));
        if drawn.is_none() {
            // What is left must wait; the others may come again.
            self.deck.extend(Fault::DECK.iter().filter(|fault| may(fault)));
        }
        drawn
    }

    async fn strike(&mut self, fault: Fault) -> Result<(), Failure> {
        let from = self.record.at();
        output::talk(&format!("{:>5} s  {}", from.as_secs(), fault.name()));
        // While it goes on it explains as much as when it is over.
        let at = {
            let mut seen = self.record.seen();
            seen.disturbances.push(Disturbance { fault, from, to: Duration::MAX });
            seen.disturbances.len() - 1
        };
        let struck = match fault {
            Fault::Kill => self.kill().await,
            Fault::Restart => self.restart().await,
            Fault::Freeze => self.freeze().await,
            Fault::Cut => self.cut().await,
            Fault::Crash => self.crash().await,
            Fault::Hold => self.hold().await,
            Fault::Pause => self.pause().await,
            Fault::Reload => self.reload().await,
            Fault::Misspell => self.misspell().await,
        };
        let to = self.record.at();
        if let Some(disturbance) = self.record.seen().disturbances.get_mut(at) {
            disturbance.to = to;
        }
        struck.map_err(|error| format!("{}: {error}", fault.name()).into())
    }

    async fn stand_still(&mut self) {
        let time = self.chance.time(Duration::from_millis(200)..=self.pace.standstill_max);
        self.record.sleep(time).await;
    }

    async fn kill(&mut self) -> Result<(), Failure> {
        self.daemon.signal(Signal::KILL)?;
        self.daemon.ended().await?;
        self.daemon.begin().await
    }

    async fn restart(&mut self) -> Result<(), Failure> {
        self.daemon.end().await?;
        self.daemon.begin().await
    }

    async fn freeze(&mut self) -> Result<(), Failure> {
        self.daemon.signal(Signal::STOP)?;
        self.stand_still().await;
        self.daemon.signal(Signal::CONT)
    }

    async fn cut(&mut self) -> Result<(), Failure> {
        let mut connection = sqlx::PgConnection::connect(&self.site.database.url()).await?;
        sqlx::query(CUT).execute(&mut connection).await?;
        Ok(connection.close().await?)
    }

    async fn crash(&mut self) -> Result<(), Failure> {
        let mut server = self.site.server.lock().await;
        server.kill();
        Ok(server.restart().await?)
    }

    async fn hold(&mut self) -> Result<(), Failure> {
        fs::write(self.site.hold_file(), "")?;
        self.stand_still().await;
        Ok(fs::remove_file(self.site.hold_file())?)
    }

    async fn pause(&mut self) -> Result<(), Failure> {
        api::post(self.site.port, "/api/v1/pause", &json!({})).await?;
        self.stand_still().await;
        api::post(self.site.port, "/api/v1/resume", &json!({})).await?;
        Ok(())
    }

    /// Another wording, which the daemon finds by itself or is told of.
    async fn reload(&mut self) -> Result<(), Failure> {
        self.is_gentle = !self.is_gentle;
        self.configure(self.wording(), |was, is| is["read"] != was["read"] && is["rejected"].is_null()).await
    }

    async fn misspell(&mut self) -> Result<(), Failure> {
        self.configure(Wording::Wrong, |_, is| !is["rejected"].is_null()).await?;
        self.stand_still().await;
        self.configure(self.wording(), |_, is| is["rejected"].is_null()).await
    }

    fn wording(&self) -> Wording {
        if self.is_gentle { Wording::Gentle } else { Wording::First }
    }

    /// Puts a file in place and waits until what the daemon says of it has become so.
    async fn configure(&mut self, wording: Wording, is_so: impl Fn(&Value, &Value) -> bool) -> Result<(), Failure> {
        let place = "/api/v1/configuration";
        let was = api::document(self.site.port, place).await?;
        self.site.configure(wording)?;
        if self.chance.one_in(2) {
            self.daemon.signal(Signal::HUP)?;
        }
        let mut wait = Wait::up_to(NOTICE_LIMIT);
        loop {
            let is = api::document(self.site.port, place).await?;
            if is_so(&was, &is) {
                return Ok(());
            }
            if !wait.again().await {
                return Err(format!("the daemon takes no note of its configuration, and says {is}").into());
            }
        }
    }
}
