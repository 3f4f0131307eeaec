//! The daemon's configuration, and what it is changed to while the daemon runs.

use std::fmt::Write as _;

use super::pace::Pace;
use super::part::Part;
use super::site::Site;

/// Ways to say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wording {
    /// As it is at first.
    First,
    /// With small pages and rests between them.
    Gentle,
    /// With a key that nobody knows.
    Wrong,
}

/// The text of `bygone.toml`.
pub(super) fn text(site: &Site, pace: Pace, wording: Wording) -> String {
    let mut text = format!(
        "[serve]\nlisten = [\"127.0.0.1:{}\"]\n\n[brake]\nfraction = 1.0\n\n{}\n",
        site.port,
        match wording {
            Wording::First => "[budget]\npage_time = \"50ms\"",
            Wording::Gentle => "[budget]\npage = 25\npause = \"5ms\"",
            Wording::Wrong => "[budget]\npagge = 25",
        }
    );
    let file = |path: std::path::PathBuf| format!("file:{}", path.display());
    let sources = [
        ("shop", site.database.url()),
        ("till", format!("sqlite:{}", site.till().display())),
        ("jobs", file(site.jobs())),
        ("area", file(site.area())),
        ("uploads", file(site.uploads())),
    ];
    for (name, url) in sources {
        let hold = site.hold_file();
        // Writing into a string does not fail.
        let _ = write!(text, "\n[source.{name}]\nurl = \"{url}\"\ngates = {{ hold_file = \"{}\" }}\n", hold.display());
    }
    for part in Part::ALL {
        if let Some(own) = what(part, pace) {
            let (policy, every) = (part.policy(), part.every(pace).as_secs());
            let _ = write!(text, "\n[[policy]]\nname = \"{policy}\"\nevery = \"{every}s\"\n{own}\n");
        }
    }
    text
}

/// What a policy sweeps; `None` for a part that is swept with another.
fn what(part: Part, pace: Pace) -> Option<String> {
    let keep = part.keep(pace).as_secs();
    Some(match part {
        Part::Tokens => format!("source = \"shop\"\ntable = \"tokens\"\ndeadline = \"expires_at\"\nkeep = \"{keep}s\""),
        Part::Logins => format!(
            "source = \"shop\"\ntable = \"logins\"\ndeadline = \"finished_at\"\nkeep = \"{keep}s\"\nwith = [\"login_events.login_id\"]"
        ),
        Part::Codes => {
            format!(
                "source = \"till\"\ntable = \"codes\"\ndeadline = {{ epoch_ms = \"expires_ms\" }}\nkeep = \"{keep}s\""
            )
        }
        Part::Leases => "source = \"jobs\"\nkind = \"leases\"".to_owned(),
        Part::Messages => return None,
        Part::Staged => "source = \"area\"\nkind = \"stage\"".to_owned(),
        Part::Uploads => format!("source = \"uploads\"\nkind = \"tree\"\nkeep = \"{keep}s\""),
    })
}
