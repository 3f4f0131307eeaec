//! `kind`: what a policy sweeps, and which keys go with that.

use super::error::{Code, Findings, Problem};
use super::fields::Fields;
use super::model::Place;
use super::suggest::nearest;
use super::values::Text;

/// What a policy sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Rows of a table.
    Rows,
    /// Files of a directory tree.
    Tree,
    /// Objects of a bucket.
    Prefix,
    /// Files of a staging area.
    Stage,
    /// What a lease store holds.
    Leases,
}

/// Every kind by its name.
const KINDS: [(&str, Kind); 5] = [
    ("rows", Kind::Rows),
    ("tree", Kind::Tree),
    ("prefix", Kind::Prefix),
    ("stage", Kind::Stage),
    ("leases", Kind::Leases),
];

/// The keys that only some kinds have, with those kinds. All other keys go
/// with every kind.
const KEYS: [(&str, &[Kind]); 22] = [
    ("table", &[Kind::Rows]),
    ("newest", &[Kind::Rows]),
    ("per", &[Kind::Rows]),
    ("by", &[Kind::Rows]),
    ("where", &[Kind::Rows]),
    ("unless", &[Kind::Rows]),
    ("only_if", &[Kind::Rows]),
    ("unless_referenced_by", &[Kind::Rows]),
    ("with", &[Kind::Rows]),
    ("clear", &[Kind::Rows]),
    ("set", &[Kind::Rows]),
    ("key", &[Kind::Rows]),
    ("deadline", &[Kind::Rows, Kind::Tree, Kind::Prefix]),
    ("zone", &[Kind::Rows, Kind::Tree, Kind::Prefix]),
    ("path", &[Kind::Tree, Kind::Prefix]),
    ("include", &[Kind::Tree, Kind::Prefix]),
    ("exclude", &[Kind::Tree, Kind::Prefix]),
    ("min_depth", &[Kind::Tree]),
    ("empty_dirs", &[Kind::Tree]),
    ("max_bytes", &[Kind::Tree, Kind::Stage]),
    ("max_count", &[Kind::Tree, Kind::Stage]),
    ("min_free", &[Kind::Tree, Kind::Stage]),
];

/// The keys that let items of a tree go whatever their age.
pub(super) const LIMITS: [&str; 3] = ["max_bytes", "max_count", "min_free"];

impl Kind {
    /// The kind of that name; reported where there is none.
    pub(super) fn parse(text: &Text, fields: &mut Fields<'_, '_, '_>) -> Option<Self> {
        let found = KINDS.iter().find(|(name, _)| *name == text.value);
        if let Some((_, kind)) = found {
            return Some(*kind);
        }
        let label = match nearest(&text.value, KINDS.iter().map(|(name, _)| *name)) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "not a kind".to_owned(),
        };
        let problem = Problem::new(Code::BadValue, format!("there is no kind {:?}", text.written)).label(label).help(
            "write \"rows\" (a table), \"tree\" (a directory), \"prefix\" (objects of a bucket), \"stage\" \
             (a staging area) or \"leases\" (a lease store)",
        );
        let span = text.span;
        fields.reader().report(span.offset()..span.offset() + span.len(), problem);
        None
    }

    /// Its name.
    pub(super) fn as_str(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("rows", |(name, _)| *name)
    }

    /// Reports keys that are there and mean nothing to this kind.
    pub(super) fn check_keys(self, fields: &mut Fields<'_, '_, '_>) {
        for (key, _) in KEYS.iter().filter(|(_, kinds)| !kinds.contains(&self)) {
            let own: Vec<&str> = KEYS.iter().filter(|(_, kinds)| kinds.contains(&self)).map(|(key, _)| *key).collect();
            let message = format!("`{key}` means nothing to a policy of kind {:?}", self.as_str());
            let help = match own.as_slice() {
                [] => format!("remove it: a policy of kind {:?} needs nothing but `name` and `source`", self.as_str()),
                own => format!("remove it; what such a policy can say: {}", own.join(", ")),
            };
            fields.refuse(key, Problem::new(Code::UnknownKey, message).label("not with this kind").help(help));
        }
    }

    /// Reports a source that holds no such items.
    pub(super) fn check_place(self, place: Place, source: &Text, findings: &mut Findings) -> bool {
        let fits = match self {
            Self::Rows => place == Place::Database,
            Self::Tree | Self::Stage => place == Place::Directory,
            Self::Prefix | Self::Leases => place != Place::Database,
        };
        if !fits {
            let (what, urls) = match self {
                Self::Rows => ("a database", "`postgres://`, `mysql://`, `mariadb://` or `sqlite:`"),
                Self::Tree | Self::Stage => ("a directory", "`file:/path`"),
                Self::Prefix => ("a bucket", "`s3://`, `az://` or `gs://`, or `file:/path`"),
                Self::Leases => ("a directory or a bucket", "`file:/path`, `s3://`, `az://` or `gs://`"),
            };
            let problem = Problem::new(
                Code::BadValue,
                format!("a policy of kind {:?} needs {what}, and its source is {}", self.as_str(), place.what()),
            )
            .label("this source")
            .help(format!("name a source whose `url` begins with {urls}, or change `kind`"));
            findings.add(source.span, problem);
        }
        fits
    }
}

impl Place {
    /// What it is, in a message.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Database => "a database",
            Self::Directory => "a directory",
            Self::Bucket => "a bucket",
        }
    }
}
