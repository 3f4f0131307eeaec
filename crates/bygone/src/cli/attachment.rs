//! The flags of `bygone lease` that are about attachments.

use std::path::PathBuf;

use bygone_lease::{Attachment, Key};
use clap::Args;

use super::store::{Content, LeaseFile, key};

/// Flags of `lease attach`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
What has that name already is replaced, once the whole is written. Any size will do: it is streamed. The \
lease must last until the end; `bygone lease exec` extends it meanwhile.

Examples:
  bygone lease attach --lease lease.json report.pdf --content-type application/pdf
  pg_dump app | bygone lease attach --lease lease.json - --name dump.sql")]
pub(crate) struct Attach {
    #[command(flatten)]
    pub(crate) lease: LeaseFile,
    #[command(flatten)]
    pub(crate) content: Content,
    /// What to call it. Default: as its file is called.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: Option<String>,
    /// What it is, as in application/pdf; it is only kept for those who ask.
    #[arg(long, value_name = "TYPE", value_parser = content_type)]
    pub(crate) content_type: Option<String>,
}

/// Flags of `lease fetch`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
A file appears, or changes, only when the whole has come and its checksum is right. What goes to standard \
output is there before that is known: look at the exit code.

Examples:
  bygone lease fetch --key nightly --name report.pdf report.pdf
  bygone lease fetch --key nightly --name dump.sql | psql app")]
pub(crate) struct Fetch {
    /// The key.
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub(crate) key: Key,
    /// What it is called.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: String,
    /// The file to write; `-` is standard output. Default: standard output.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

pub(crate) fn name(text: &str) -> Result<String, String> {
    Attachment::check_name(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

fn content_type(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err("it is empty, or has control characters in it: write it as in text/plain".to_owned());
    }
    Ok(text.to_owned())
}
