//! The files that are staged: all of them different, and no zeros that a file system could leave out.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::files::case;
use crate::files::ground::{Ground, forget};
use crate::noise::noise;

/// Written at once.
const CHUNK: u64 = 1 << 20;

/// The files, and what they are.
pub(super) struct Sources {
    directory: PathBuf,
    files: Vec<PathBuf>,
    kind: case::Sources,
    /// Their checksums, by the system's own program.
    checksums: BTreeSet<String>,
}

impl Sources {
    /// Makes them, waits until they are on the disk, and reads each of them once for its checksum.
    pub(super) fn make(ground: &Ground, files: u64, bytes_each: u64, kind: case::Sources) -> Result<Self, Failure> {
        let directory = ground.path("sources");
        fs::create_dir(&directory)?;
        let files: Vec<PathBuf> = (0..files).map(|at| directory.join(format!("{at:06}.bin"))).collect();
        let named: Vec<(&PathBuf, u64)> = files.iter().zip(0..).collect();
        ground.for_each(named.len() as u64, |at| {
            let (path, seed) = named[usize::try_from(at)?];
            write_noise(ground, path, seed, bytes_each)
        })?;
        ground.come_to_rest()?;
        let checksums = checksums(&directory)?;
        if checksums.len() != files.len() {
            return Err(format!("{} files have {} different checksums", files.len(), checksums.len()).into());
        }
        Ok(Self { directory, files, kind, checksums })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    pub(super) fn checksums(&self) -> &BTreeSet<String> {
        &self.checksums
    }

    /// Brings all of them to memory, or out of it.
    pub(super) fn level(&self) -> Result<(), Failure> {
        for file in &self.files {
            match self.kind {
                case::Sources::InMemory => drop(fs::read(file)?),
                case::Sources::OnDisk => forget(file)?,
            }
        }
        Ok(())
    }
}

fn write_noise(ground: &Ground, path: &Path, seed: u64, bytes: u64) -> Result<(), Failure> {
    let mut file = File::create_new(path)?;
    let mut chunk = Vec::with_capacity(usize::try_from(CHUNK)?);
    let mut word = seed << 32;
    let mut left = bytes;
    while left > 0 {
        ground.go_on()?;
        let size = usize::try_from(left.min(CHUNK))?;
        chunk.clear();
        while chunk.len() < size {
            chunk.extend_from_slice(&noise(word).to_le_bytes());
            word += 1;
        }
        file.write_all(&chunk[..size])?;
        left -= left.min(CHUNK);
    }
    Ok(())
}

/// The checksums of all files in a directory, by `sha256sum`.
pub(super) fn checksums(directory: &Path) -> Result<BTreeSet<String>, Failure> {
    let script = r#"cd "$1" && find . -type f -print0 | xargs -0 -P 2 -n 1000 sha256sum"#;
    let output = Command::new("bash").args(["-c", script, "bash"]).arg(directory).output()?;
    if !output.status.success() {
        return Err(format!("sha256sum failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(sums(&String::from_utf8_lossy(&output.stdout)))
}

/// The checksums of lines as `sha256sum` writes them.
pub(super) fn sums(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn sources_are_all_different_and_have_their_size() {
        let ground = Ground::new((1, 1), Arc::default()).unwrap();
        let sources = Sources::make(&ground, 5, CHUNK + 10, case::Sources::OnDisk).unwrap();
        assert_eq!(sources.checksums().len(), 5);
        for file in sources.files() {
            assert_eq!(fs::metadata(file).unwrap().len(), CHUNK + 10);
        }
        sources.level().unwrap();
    }
}
