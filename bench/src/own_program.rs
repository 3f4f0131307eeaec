//! bygone itself, for benches that run it as people do: built from this workspace, the way this bench was.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::output;

/// Builds `bygone` beside this bench, and says where it is.
pub(crate) fn build() -> Result<PathBuf, Failure> {
    let own = env::current_exe()?;
    let beside = own.parent().ok_or("this bench lies nowhere")?;
    let target = beside.parent().ok_or("this bench lies nowhere")?;
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--locked", "--quiet", "--package", "bygone", "--bin", "bygone"]);
    command.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(target);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    output::talk("building bygone");
    let status = command.status()?;
    let program = beside.join("bygone");
    if status.success() && program.is_file() {
        Ok(program)
    } else {
        Err(format!("bygone was not built: {status}").into())
    }
}
