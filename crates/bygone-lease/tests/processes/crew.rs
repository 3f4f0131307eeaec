//! The workers, seen by the test: started, stopped, killed and listened to.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use rustix::process::{Pid, Signal, kill_process};

use crate::ledger::Ledger;
use crate::orders::{Orders, Said, Task, heard};
use crate::worker::ORDERS;

pub(crate) const WORKERS: usize = 3;
/// How long nothing may be heard of anybody.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// What was heard: of which life, and what; nothing when it has ended.
type News = (u64, Option<Said>);

struct Member {
    child: Child,
    stdin: ChildStdin,
    life: u64,
    is_quiet: bool,
    has_ended: bool,
}

pub(crate) struct Crew {
    orders: Orders,
    members: Vec<Option<Member>>,
    lives: u64,
    news: Receiver<News>,
    reporter: Sender<News>,
    pub(crate) ledger: Ledger,
}

impl Crew {
    /// Nobody yet. The orders are everybody's, but for the name and the seed.
    pub(crate) fn new(orders: Orders) -> Self {
        let (reporter, news) = channel();
        let members = (0..WORKERS).map(|_| None).collect();
        Self { orders, members, lives: 0, news, reporter, ledger: Ledger::default() }
    }

    /// Starts a worker, which waits to be told to work.
    pub(crate) fn start(&mut self, slot: usize) {
        self.lives += 1;
        let (name, seed) = (format!("w{slot}.{}", self.lives), self.orders.seed.wrapping_add(1_000 * self.lives));
        let mut child = spawn(&Orders { name, seed, ..self.orders.clone() });
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (life, reporter) = (self.lives, self.reporter.clone());
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            for said in lines.filter_map(|line| heard(&line)) {
                let _ = reporter.send((life, Some(said)));
            }
            let _ = reporter.send((life, None));
        });
        self.members[slot] = Some(Member { child, stdin, life, is_quiet: false, has_ended: false });
    }

    fn member(&mut self, slot: usize) -> &mut Member {
        self.members[slot].as_mut().unwrap()
    }

    fn tell(&mut self, slot: usize, command: &str) {
        writeln!(self.member(slot).stdin, "{command}").unwrap();
    }

    /// Has a worker work on the books of a term.
    pub(crate) fn set_to_work(&mut self, slot: usize, term: u64) {
        self.tell(slot, &format!("work {term}"));
    }

    /// Has everybody finish what is under way, and do nothing more.
    pub(crate) fn quiet(&mut self) {
        for slot in 0..WORKERS {
            self.member(slot).is_quiet = false;
            self.tell(slot, "quiet");
        }
        while !self.members.iter().flatten().all(|member| member.is_quiet) {
            self.listen(SILENCE_MAX);
        }
    }

    /// Who is meant by a name, if he lives.
    pub(crate) fn slot_of(&self, name: &str) -> Option<usize> {
        let is_meant = |(slot, member): (usize, &Option<Member>)| {
            member.as_ref().filter(|member| format!("w{slot}.{}", member.life) == name).map(|_| slot)
        };
        self.members.iter().enumerate().find_map(is_meant)
    }

    pub(crate) fn signal(&mut self, slot: usize, signal: Signal) {
        // It has not been waited for, so the id is still its own.
        let pid = i32::try_from(self.member(slot).child.id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// kill -9; and everything that was said before is heard.
    pub(crate) fn kill(&mut self, slot: usize) {
        let mut member = self.members[slot].take().unwrap();
        member.child.kill().unwrap();
        member.child.wait().unwrap();
        let life = member.life;
        member.has_ended = true;
        self.members[slot] = Some(member);
        while self.listen(SILENCE_MAX) != Some((life, true)) {}
        self.members[slot] = None;
    }

    /// Listens to so much.
    pub(crate) fn listen_to(&mut self, lines: u64) {
        for _ in 0..lines {
            self.listen(SILENCE_MAX);
        }
    }

    /// Listens for so long.
    pub(crate) fn listen_for(&mut self, time: Duration) {
        let clock = SystemClock::new();
        loop {
            let left = time.saturating_sub(clock.elapsed());
            if left.is_zero() {
                return;
            }
            self.listen(left);
        }
    }

    /// Listens until something is heard: of whom, and whether it was his end. Whoever ends without being killed has failed.
    fn listen(&mut self, patience: Duration) -> Option<(u64, bool)> {
        let Ok((life, said)) = self.news.recv_timeout(patience) else {
            assert!(patience < SILENCE_MAX, "nothing was heard for {patience:?}");
            return None;
        };
        let member = self.members.iter_mut().flatten().find(|member| member.life == life).unwrap();
        let Some(said) = said else {
            assert!(member.has_ended, "life {life} has ended by itself");
            return Some((life, true));
        };
        member.is_quiet |= matches!(said, Said::Quiet);
        self.ledger.note(said);
        Some((life, false))
    }

    /// Has a process of its own read the books.
    pub(crate) fn audit(&self, term: u64) -> Vec<String> {
        let name = format!("auditor of term {term}");
        let child = spawn(&Orders { name, task: Task::Audit { term }, ..self.orders.clone() });
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let said = String::from_utf8(output.stdout).unwrap();
        let account = |said| if let Said::Account { text, .. } = said { Some(text) } else { None };
        said.lines().filter_map(heard).filter_map(account).collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for member in self.members.iter_mut().flatten() {
            // Ended already, in most cases.
            let _ = member.child.kill();
            let _ = member.child.wait();
        }
    }
}

fn spawn(orders: &Orders) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "worker::worker", "--nocapture"])
        .env(ORDERS, serde_json::to_string(orders).unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
