//! Colours and progress are for terminals, and a terminal may ask for no colours.

use std::fs::File;
use std::io::Read as _;
use std::process::{Child, Command};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::{Engine, Run, World, everyone, living};

/// Starts a program on a terminal of 120 columns; the file is whoever sits before it.
pub(crate) fn start(command: &mut Command) -> (Child, File) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    tcsetwinsize(&terminal, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let program_end = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    command.env("TERM", "xterm-256color").stdout(program_end()).stderr(program_end());
    let child = command.spawn().unwrap();
    // Only the program holds its end now, so that the terminal is at an end when the program is.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    (child, File::from(terminal))
}

/// What a program shows on a terminal.
pub(crate) fn shown(command: &mut Command) -> String {
    let (mut child, mut terminal) = start(command);
    let (mut shown, mut part) = (Vec::new(), [0; 4096]);
    // A terminal whose last program has gone answers with an error, not with an end.
    while let Ok(read @ 1..) = terminal.read(&mut part) {
        shown.extend_from_slice(&part[..read]);
    }
    assert!(child.wait().unwrap().code().is_some());
    String::from_utf8(shown).unwrap()
}

/// Enough pages that a bar is drawn between them.
const PAGES: &str = "budget = { page = 5, pause = \"5ms\" }";
/// What begins a colour: everything but moving about and clearing ends in an `m`.
fn has_colour(shown: &str) -> bool {
    shown
        .split("\u{1b}[")
        .skip(1)
        .any(|part| part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

#[tokio::test]
async fn progress_is_drawn_on_a_terminal_and_cleared() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines(PAGES);
    let shown = shown(&mut world.bygone(&["sweep"]));
    assert!(shown.contains("of 60"), "{shown}");
    assert!(shown.contains("complete: 60 removed in"), "{shown}");
    assert_eq!(world.survivors().await, living());
}

#[tokio::test]
async fn elsewhere_there_is_neither_progress_nor_colour() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines(PAGES);
    let plain = |arguments: &[&str]| {
        let run = world.run(arguments);
        assert!(!run.everything().contains(['\u{1b}', '\r']), "{run:#?}");
        run
    };
    for look in ["plan", "check"] {
        plain(&[look]).ends(0);
    }
    plain(&["sweep", "tokns"]).ends(64);
    plain(&["--help"]).ends(0);
    world.alter("keep =", "keeep =");
    plain(&["sweep"]).ends(65);
    world.alter("\"tokens\"\nd", "\"tokns\"\nd");
    plain(&["sweep"]).ends(65);
    world.add_lines(PAGES);
    let run = plain(&["sweep", "--now", "2020-01-01T00:00:31Z"]).ends(0);
    assert_eq!(run.stderr, "", "no progress");
    // Nor in the log.
    let run = Run::of(world.bygone(&["sweep"]).env("BYGONE_LOG", "trace")).ends(0);
    assert!(run.stderr.contains("policy ended") && !run.stderr.contains('\u{1b}'), "{run:#?}");
    assert_eq!(world.survivors().await, living());
}

#[tokio::test]
async fn no_color_is_heeded_on_a_terminal() {
    let world = World::with_tokens(Engine::Sqlite).await;
    for (from, to, arguments) in [
        ("keep =", "keeep =", &["sweep"][..]),
        ("\"expires_at\"", "\"expire_at\"", &["sweep"]),
        ("keep =", "keep =", &["sweep", "--dryrun"]),
        ("keep =", "keep =", &["--help"]),
    ] {
        world.alter(from, to);
        let coloured = shown(&mut world.bygone(arguments));
        let plain = shown(world.bygone(arguments).env("NO_COLOR", "1"));
        assert!(has_colour(&coloured), "the comparison sees colours: {coloured:?}");
        assert!(!has_colour(&plain), "{plain:?}");
    }
    assert_eq!(world.survivors().await, everyone());
}
