//! The programs of others: where they are, which they are, and how they are run.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;

/// Where administrators' programs are, which a user's PATH may not name.
const ALSO: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Looks for a program; without it, says which package has it.
pub(crate) fn find(name: &str, package: &str) -> Result<PathBuf, Failure> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(ALSO.map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| format!("{name} was not found: run `apt-get install {package}`").into())
}

/// Runs a command to its end. What it writes is shown only if it fails.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let name = command.get_program().to_string_lossy();
    Err(format!("{name} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim()).into())
}

/// The first line of what `--version` says.
pub(crate) fn version(name: &str) -> Result<String, Failure> {
    let output = Command::new(name).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_told_with_its_package() {
        let refused = find("no-such-program", "no-such-package").err().unwrap().to_string();
        assert!(refused.contains("apt-get install no-such-package"), "{refused}");
        assert!(find("sh", "dash").unwrap().is_file());
    }

    #[test]
    fn a_failure_tells_what_the_program_said() {
        let failed = run(Command::new("sh").args(["-c", "echo broken >&2; exit 3"])).err().unwrap().to_string();
        assert!(failed.contains("broken"), "{failed}");
    }
}
