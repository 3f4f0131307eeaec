//! The process that stops a server when nobody else is left to do it.
//!
//! `Drop` does not run in a test that is killed, and a server shared by many processes has no last
//! owner among them. So beside every server stands a small shell that watches the owner, outlives
//! it and cleans up. It is in a process group of its own: an interrupt typed at the terminal, or a
//! runner that kills the group of a slow test, reaches the owner and not the guardian.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::account::Account;
use crate::error::KitError;
use crate::process::Process;

/// The file in a server's directory that says which process is the server: its id and its start.
const PROCESS_FILE: &str = "process";

/// By which POSIX has shells count the size of files.
const FILE_BLOCK_BYTES: u64 = 512;

/// Sets `started` to the start of process $1, as [`Process`] reads it; fails if it has ended.
const STARTED_OF: &str = r#"
started_of() {
    line=
    { read -r line < "/proc/$1/stat"; } 2> /dev/null || return 1
    set -- ${line##*) }
    case ${1:-Z} in Z | X | x) return 1 ;; esac
    started=${20}
}
"#;

/// Arguments: owner, its start, stop signal, process file, the server's directory, and the owner's
/// own directory around it or nothing. If the directory goes first, its owner has cleaned up and
/// all is done. The owner's own may hold other servers with guardians of their own, so only the last
/// of them can remove it.
const WATCH: &str = r#"
trap '' HUP INT
owner=$1 owner_started=$2 stop=$3 process=$4 directory=$5 around=$6
alive() { started_of "$1" && [ "$started" = "$2" ]; }

while [ -d "${around:-$directory}" ] && alive "$owner" "$owner_started"; do sleep 0.2; done

if { read -r server server_started < "$process"; } 2> /dev/null; then
    alive "$server" "$server_started" && kill "-$stop" "$server"
    looks=0
    while [ "$looks" -lt 300 ] && alive "$server" "$server_started"; do
        looks=$((looks + 1))
        [ "$looks" -ne 100 ] || kill -9 "$server"
        sleep 0.1
    done
fi
# Again while it stays: a process that is just ending may still write.
looks=0
while rm -rf -- "$directory"; [ -e "$directory" ] && [ "$looks" -lt 100 ]; do
    looks=$((looks + 1))
    sleep 0.1
done
[ -z "$around" ] || { rm -f -- "$around"/*; rmdir -- "$around"; }
"#;

/// Arguments: process file, program, its arguments. The shell says who it is and then becomes the
/// program, so there is no moment at which a server runs that its guardian does not know of. It may be told to write no
/// file larger than so many blocks; the program then hears of an error instead of a signal that ends it.
const LAUNCH: &str = r#"
started_of $$ && echo "$$ $started" > "$1.new" && mv "$1.new" "$1" || exit 1
shift
[ -z "${BYGONE_TEST_FILE_BLOCKS-}" ] || { trap '' XFSZ; ulimit -f "$BYGONE_TEST_FILE_BLOCKS"; } || exit 1
exec "$@"
"#;

/// What tells a program that is [`watched`] to write no larger files.
pub(crate) fn file_limit(bytes: u64) -> (&'static str, OsString) {
    ("BYGONE_TEST_FILE_BLOCKS", bytes.div_ceil(FILE_BLOCK_BYTES).to_string().into())
}

/// Sets a guardian beside the server of `directory`: once `owner` is gone it sends `stop`, kills
/// what does not heed it, and removes the directory, and `around` it if nothing else is there.
pub(crate) fn watch(owner: Process, stop: Signal, directory: &Path, around: Option<&Path>) -> Result<Child, KitError> {
    let mut command = shell(WATCH, "bygone-test-guardian");
    command
        .arg(owner.pid.to_string())
        .arg(owner.started.to_string())
        .arg(stop.as_raw().to_string())
        .arg(directory.join(PROCESS_FILE))
        .arg(directory)
        .arg(around.unwrap_or(Path::new("")))
        .current_dir("/")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().map_err(|source| KitError::Spawn { program: command.get_program().into(), source })
}

/// A command that runs `program` under the eyes of the guardian of `directory`.
pub(crate) fn watched(directory: &Path, account: Account, program: &Path) -> Command {
    let mut command = shell(LAUNCH, "bygone-test-launch");
    account.run(&mut command);
    command
        .arg(directory.join(PROCESS_FILE))
        .arg(program)
        // The working directory of the tests need not be open to the server's account.
        .current_dir(directory)
        .env("TMPDIR", directory)
        // Messages of the system that the kit reads, and times in logs.
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    command
}

fn shell(script: &str, name: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{STARTED_OF}{script}")).arg(name).process_group(0).stdin(Stdio::null());
    command
}
