//! kill -9 at random points of staging and sweeping. The victim is this very test binary, run again.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bygone_files::stage::{AttachmentId, Content, Put, Stage, StageOptions};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{assert_whole, id_of, recount, seed};

const KILLS: u64 = 200;
const VICTIM_DIR: &str = "BYGONE_STAGE_VICTIM_DIR";
const VICTIM_SEED: &str = "BYGONE_STAGE_VICTIM_SEED";
const CONTENTS: u32 = 30;

fn content(n: u32) -> Vec<u8> {
    n.to_le_bytes().repeat(5_000)
}

/// Stages, touches, removes and sweeps for ever, and says what was acknowledged, a line each.
#[test]
fn victim() {
    let Ok(dir) = std::env::var(VICTIM_DIR) else { return };
    let mut random = StdRng::seed_from_u64(std::env::var(VICTIM_SEED).unwrap().parse().unwrap());
    let stage = Stage::open(dir, StageOptions::default()).unwrap();
    let mut out = std::io::stdout().lock();
    loop {
        let n = random.random_range(0..CONTENTS);
        let (id, ttl) = (id_of(&content(n)), Duration::from_millis(random.random_range(0..200)));
        match random.random_range(0..12) {
            0..5 => {
                let put = Put { name: Some(n.to_string()), ttl: Some(ttl.into()), persist: n == 0 };
                told(&mut out, &stage.put(Content::reader(&*content(n)), &put).unwrap());
            }
            5 => {
                let contents: Vec<_> = (n..n + 5).map(content).collect();
                let put = Put::named("batch").ttl(Duration::from_secs(60));
                for answer in stage.put_all(contents.iter().map(|content| (Content::reader(&**content), put.clone()))) {
                    told(&mut out, &answer.unwrap());
                }
            }
            6..8 => {
                if let Some(touched) = stage.touch(&id, Some(ttl.into())).unwrap() {
                    told(&mut out, &touched);
                }
            }
            8 => {
                // What is about to be removed is no longer promised, whether or not the answer comes.
                writeln!(out, "\nremove {id}").unwrap();
                out.flush().unwrap();
                stage.remove(&id).unwrap();
            }
            _ => {
                stage.force_cleanup().unwrap();
            }
        }
    }
}

fn told(out: &mut impl Write, attachment: &bygone_files::stage::Attachment) {
    let deadline = attachment.deadline.map_or(i64::MAX, jiff::Timestamp::as_microsecond);
    // A line of its own: the test runner writes to the same output.
    writeln!(out, "\nput {} {deadline} {}", attachment.id, attachment.path.display()).unwrap();
    out.flush().unwrap();
}

/// What the victim was told, and is to be kept: id, deadline, path.
type Promised = BTreeMap<AttachmentId, (i64, String)>;

fn read(line: &str, promised: &mut Promised) {
    let words: Vec<&str> = line.splitn(4, ' ').collect();
    match words[..] {
        ["put", id, deadline, path] => {
            promised.insert(id.parse().unwrap(), (deadline.parse().unwrap(), path.to_owned()));
        }
        ["remove", id] => {
            promised.remove(&id.parse().unwrap());
        }
        _ => {}
    }
}

/// Runs a victim and kills it after so many lines, and so many turns of a loop more.
fn kill_one(dir: &Path, seed: u64, random: &mut StdRng, promised: &mut Promised) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "stage::crash::victim", "--nocapture"])
        .env(VICTIM_DIR, dir)
        .env(VICTIM_SEED, seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..random.random_range(0..60) {
        let line = lines.next().expect("the victim goes on until it is killed").unwrap();
        read(&line, promised);
    }
    for _ in 0..random.random_range(0..200_000) {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said before it died was acknowledged all the same; a line that was cut off was not.
    lines.map_while(Result::ok).filter(|line| is_whole(line)).for_each(|line| read(&line, promised));
}

/// Whether all words of a line have come: its last one ends as it should.
fn is_whole(line: &str) -> bool {
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["put", _, _, path] => {
            Path::new(path).file_name().is_some() && path.matches('/').count() >= 2 && line.len() > 120
        }
        ["remove", id] => id.len() == 64,
        _ => false,
    }
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_leaks() {
    let seed = seed();
    let mut random = StdRng::seed_from_u64(seed);
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("area");
    drop(Stage::open(&dir, StageOptions::default()).unwrap());
    let mut promised = Promised::new();
    let (mut temporaries, mut kept) = (0, 0);
    for kill in 0..KILLS {
        kill_one(&dir, seed.wrapping_add(kill), &mut random, &mut promised);
        // Orphans go at once here, so that every file that is left must have its entry.
        let options = StageOptions { orphan_grace: Duration::ZERO, ..StageOptions::default() };
        let stage = Stage::open(&dir, options).unwrap();
        temporaries += stage.opened_with().unwrap().temporaries_removed;
        for (id, (deadline, path)) in &promised {
            let found = std::fs::read(path);
            if SystemClock::new().now().as_microsecond() <= *deadline {
                let found = found.unwrap_or_else(|error| panic!("kill {kill}: {path} is lost: {error}"));
                assert_eq!(id_of(&found), *id, "kill {kill}");
                kept += 1;
            }
        }
        let recount = recount(&dir);
        assert_eq!(recount.temporaries, 0, "kill {kill}");
        assert_eq!(std::fs::read_dir(dir.join(".bygone/sessions")).unwrap().count(), 1, "kill {kill}: ours alone");
        check_young(&dir);
    }
    println!("{kept} promises were kept over {KILLS} kills; {temporaries} temporaries were cleared away");
    assert!(kept > KILLS, "there was something to lose");
}

/// Entries and files agree, but for orphans of the very second: those are left for the next look.
fn check_young(dir: &Path) {
    let clock = std::sync::Arc::new(bygone_core::ManualClock::at(SystemClock::new().now() + Duration::from_secs(5)));
    let options = StageOptions { orphan_grace: Duration::ZERO, clock, ..StageOptions::default() };
    drop(Stage::open(dir, options).unwrap());
    assert_whole(dir);
}
