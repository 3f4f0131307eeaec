//! Servers that only benches need: installed where that is ours to do, and named where it is not.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::failure::Failure;
use crate::output;

/// Keeps a package from starting a server of its own, which nobody here needs.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Makes sure that a program is there: root on Debian gets its package installed.
pub(crate) fn need(program: &'static str, package: &'static str) -> Result<(), Failure> {
    if is_there(program) {
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() || !is_there("apt-get") {
        let remedy = format!("run `apt-get install {package}`, or this bench as root on Debian, which does so");
        return Err(format!("{program} was not found: {remedy}").into());
    }
    output::talk(&format!("apt-get install {package}"));
    let _policy = Policy::stand()?;
    run(&["update", "-q"])?;
    run(&["install", "-y", "-q", "--no-install-recommends", package])
}

fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(["/usr/local/sbin".into(), "/usr/sbin".into(), "/sbin".into()]);
    places.map(|place| place.join(program)).any(|candidate| candidate.is_file())
}

fn run(arguments: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new("apt-get");
    let status = command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("apt-get {}: {status}", arguments.join(" ")).into()) }
}

/// The policy stands while this value lives; one that somebody else has put there stays.
struct Policy {
    is_ours: bool,
}

impl Policy {
    fn stand() -> Result<Self, Failure> {
        use std::os::unix::fs::PermissionsExt;
        let is_ours = !Path::new(POLICY).exists();
        if is_ours {
            fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
            fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755))?;
        }
        Ok(Self { is_ours })
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        if self.is_ours && fs::remove_file(POLICY).is_err() {
            output::talk(&format!("remove {POLICY}: it keeps packages from starting their servers"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_they_are() {
        assert!(is_there("sh"));
        assert!(!is_there("no-such-program"));
    }
}
