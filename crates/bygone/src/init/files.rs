//! Proposals for a directory or a bucket: what is there is held against a keep that many would choose.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use bygone_core::{Clock, ErrorKind, Survey, TargetError, format_instant};
use bygone_files::stage::Stage;
use bygone_lease::storage::Disk;

use super::{Proposals, SOURCE, quoted};
use crate::assembly::{Access, Assembly, assemble, directory};
use crate::cli;
use crate::config::{self, ProcessEnv};
use crate::output::{grouped, size};

/// The keep that is proposed: long enough that nobody misses a file that nobody wrote to meanwhile.
const KEEP: &str = "30d";

/// A policy that could be, line by line.
struct Proposal {
    what: &'static str,
    lines: Vec<String>,
}

/// What a directory or bucket could have for a policy.
pub(super) async fn proposals(flags: &cli::Init, clock: &Arc<dyn Clock>) -> Result<Proposals, TargetError> {
    let proposal = propose(&flags.url)?;
    let source = format!("[source.{SOURCE}]\nurl = {}\n", quoted(&flags.url));
    let survey = survey(&format!("{source}\n{}\n", proposal.lines.join("\n")), clock).await?;
    let bygone = survey.bygone.map_or_else(|| "not counted".to_owned(), |items| format!("{} bygone", grouped(items)));
    let bytes = survey.bytes.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
    let oldest = survey.oldest.map(|at| format!(", the oldest since {}", format_instant(at))).unwrap_or_default();
    let found = format!("{bygone}{bytes}{oldest}");
    let mut text = format!(
        "# Proposals for this {}. Take the `# ` away from what you want, then\n\
         # `bygone check` and `bygone plan` show what it would do.\n\n{source}\n# {found}\n",
        proposal.what
    );
    for line in &proposal.lines {
        let _ = writeln!(text, "# {line}");
    }
    Ok(Proposals { text, told: format!("a {}: {found}", proposal.what) })
}

fn propose(url: &str) -> Result<Proposal, TargetError> {
    let policy = |name: &str, kind: &str| {
        vec![
            "[[policy]]".to_owned(),
            format!("name   = \"{name}\""),
            format!("source = \"{SOURCE}\""),
            format!("kind   = \"{kind}\""),
        ]
    };
    if !url.starts_with("file:") {
        let lines = [policy("old-objects", "prefix"), vec![format!("keep   = \"{KEEP}\"")]].concat();
        return Ok(Proposal { what: "bucket", lines });
    }
    if Stage::inspect(directory(url)?).is_ok() {
        return Ok(Proposal { what: "staging area", lines: policy("staged-files", "stage") });
    }
    if Disk::is_in(&directory(url)?) {
        return Ok(Proposal { what: "lease store", lines: policy("leases", "leases") });
    }
    let lines = [policy("old-files", "tree"), vec![format!("keep   = \"{KEEP}\"")]].concat();
    Ok(Proposal { what: "directory", lines })
}

/// Surveys the one policy of a configuration.
async fn survey(text: &str, clock: &Arc<dyn Clock>) -> Result<Survey, TargetError> {
    let config = config::parse("bygone.toml", text, Path::new("."), &ProcessEnv)
        .map_err(|error| TargetError::new(ErrorKind::Unfit, error.to_string()))?;
    let Assembly { boundary, bound, .. } =
        assemble(&config, config.policies.iter().collect(), Access::Read, clock).await;
    let Some(bound) = bound.into_iter().next() else { return Ok(Survey::default()) };
    bound.target?.target().survey(boundary).await
}
