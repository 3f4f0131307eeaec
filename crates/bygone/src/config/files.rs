//! What policies over files and objects say.

use jiff::SignedDuration;

use super::deadline::{RawColumn, RawDeadline, RawForm};
use super::error::{Code, Findings, Problem};
use super::model::{FileDeadline, KeyDate, ObjectDeadline, Prefix, Stage, Tree};
use super::policy::RawPolicy;
use super::size::Size;
use super::times::iana_zone;
use super::values::{Located, Text};

/// The stamps of a file by their names.
const STAMPS: [(&str, FileDeadline); 4] = [
    ("mtime", FileDeadline::Modified),
    ("atime", FileDeadline::Accessed),
    ("ctime", FileDeadline::Changed),
    ("birth", FileDeadline::Born),
];

const TREE_HELP: &str = "write `deadline = \"mtime\"` (the default), \"atime\", \"ctime\" or \"birth\", or a date in \
                         the path: `{ key = \"logs/%Y/%m/%d/**\" }`";
const PREFIX_HELP: &str = "leave `deadline` out for the time of the last change, or read a date in the key: \
                           `{ key = \"logs/%Y/%m/%d/**\" }`";

/// What a policy says of a directory tree.
pub(super) fn tree(raw: RawPolicy, findings: &mut Findings) -> Option<Tree> {
    let zone = Zone::take(raw.zone, raw.deadline.as_ref(), findings);
    let deadline = match raw.deadline {
        None => FileDeadline::Modified,
        Some(Located { value: RawDeadline::One(RawColumn::Form(RawForm::Key(pattern))), .. }) => {
            FileDeadline::Key(zone.key_date(pattern))
        }
        Some(said) => stamp(&said, findings)?,
    };
    Some(Tree {
        path: checked(relative("path", raw.path, findings))?,
        deadline,
        keep: raw.keep.map(|keep| keep.value),
        include: checked(globs("include", raw.include, findings))?,
        exclude: checked(globs("exclude", raw.exclude, findings))?,
        min_depth: checked(min_depth(raw.min_depth, findings))?,
        empty_dirs: raw.empty_dirs.is_some_and(|truth| truth.value),
        max_bytes: bytes(raw.max_bytes),
        max_count: raw.max_count.map(|count| count.value),
        min_free: bytes(raw.min_free),
    })
}

/// What a policy says of the objects of a bucket.
pub(super) fn prefix(raw: RawPolicy, findings: &mut Findings) -> Option<Prefix> {
    let zone = Zone::take(raw.zone, raw.deadline.as_ref(), findings);
    let deadline = match raw.deadline {
        None => ObjectDeadline::Modified,
        Some(Located { value: RawDeadline::One(RawColumn::Form(RawForm::Key(pattern))), .. }) => {
            ObjectDeadline::Key(zone.key_date(pattern))
        }
        Some(said) => {
            let problem = Problem::new(Code::BadValue, "objects have no such deadline").label("not of an object");
            findings.add(said.span, problem.help(PREFIX_HELP));
            return None;
        }
    };
    Some(Prefix {
        path: checked(relative("path", raw.path, findings))?,
        deadline,
        keep: raw.keep?.value,
        include: checked(globs("include", raw.include, findings))?,
        exclude: checked(globs("exclude", raw.exclude, findings))?,
    })
}

/// What a policy says of a staging area.
pub(super) fn stage(raw: &RawPolicy) -> Stage {
    Stage {
        keep: raw.keep.map_or(SignedDuration::ZERO, |keep| keep.value),
        max_bytes: bytes(raw.max_bytes),
        max_count: raw.max_count.map(|count| count.value),
        min_free: bytes(raw.min_free),
    }
}

fn bytes(size: Option<Located<Size>>) -> Option<u64> {
    size.map(|size| size.value.0)
}

/// The zone of dates in keys, which nothing else here has.
struct Zone(Option<String>);

impl Zone {
    fn take(zone: Option<Text>, deadline: Option<&Located<RawDeadline>>, findings: &mut Findings) -> Self {
        let Some(zone) = zone else { return Self(None) };
        let of_key =
            |said: &Located<RawDeadline>| matches!(said.value, RawDeadline::One(RawColumn::Form(RawForm::Key(_))));
        if !deadline.is_some_and(of_key) {
            let problem = Problem::new(Code::ConflictingKeys, "`zone` means nothing without a date in the key")
                .label("the zone of what?")
                .help("remove it, or read a date in the key: `deadline = { key = \"%Y/%m/%d/**\" }`");
            findings.add(zone.span, problem);
        }
        Self(iana_zone(&zone, findings))
    }

    fn key_date(self, pattern: Text) -> KeyDate {
        KeyDate { pattern: pattern.value, zone: self.0 }
    }
}

fn stamp(said: &Located<RawDeadline>, findings: &mut Findings) -> Option<FileDeadline> {
    if let RawDeadline::One(RawColumn::Name(name)) = &said.value
        && let Some((_, stamp)) = STAMPS.iter().find(|(word, _)| *word == name.value)
    {
        return Some(stamp.clone());
    }
    let problem = Problem::new(Code::BadValue, "files have no such deadline").label("not of a file").help(TREE_HELP);
    findings.add(said.span, problem);
    None
}

/// A value that may be absent; the outer `None` is one that was refused.
type Checked<T> = Result<T, Refused>;
struct Refused;

fn checked<T>(value: Checked<T>) -> Option<T> {
    value.ok()
}

/// A path that leads nowhere but down.
fn relative(key: &str, text: Option<Text>, findings: &mut Findings) -> Checked<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    let bad = |part: &str| part == ".." || part == ".";
    let value = text.value.trim_end_matches('/');
    let leads_down = !value.is_empty() && !value.starts_with('/') && !value.contains(char::is_control);
    if leads_down && !value.split('/').any(|part| part.is_empty() || bad(part)) {
        return Ok(Some(value.to_owned()));
    }
    let problem = Problem::new(Code::BadValue, format!("`{key}` must be a path below the source's"))
        .label("does not lead down")
        .help(format!("write it without a leading `/`, `.` or `..`: `{key} = \"cache/thumbnails\"`; or leave it out"));
    findings.add(text.span, problem);
    Err(Refused)
}

fn globs(key: &str, list: Option<Located<Vec<Text>>>, findings: &mut Findings) -> Checked<Vec<String>> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let empty = list.value.is_empty().then_some(list.span);
    let blank = list.value.iter().find(|text| text.value.is_empty()).map(|text| text.span);
    if let Some(span) = empty.or(blank) {
        let problem = Problem::new(Code::BadValue, format!("`{key}` names nothing"))
            .label("empty")
            .help(format!("write globs, such as `{key} = [\"**/*.tmp\"]`, or remove `{key}`"));
        findings.add(span, problem);
        return Err(Refused);
    }
    Ok(list.value.into_iter().map(|text| text.value).collect())
}

fn min_depth(depth: Option<Located<u64>>, findings: &mut Findings) -> Checked<u32> {
    let Some(depth) = depth else { return Ok(1) };
    match u32::try_from(depth.value) {
        Ok(levels) if levels >= 1 => Ok(levels),
        _ => {
            let problem = Problem::new(Code::BadValue, "`min_depth` must be at least 1")
                .label("not a depth")
                .help("1 is an entry of the directory itself, 2 one of its subdirectories");
            findings.add(depth.span, problem);
            Err(Refused)
        }
    }
}
