//! What is done, how much of it, who takes part, and the bars.

use clap::ValueEnum;

/// A block of the file system: what the smallest file takes.
const BLOCK: u64 = 4_096;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// The copies of small files are kept until the end: those of so many turns are reckoned with.
const COPIES_KEPT: u64 = 20;

/// The parts of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// A directory tree, half of whose files are past their time.
    Tree,
    /// Many small files, staged.
    StageSmall,
    /// A few large ones.
    StageLarge,
    /// Sweeping the same number of due attachments out of a large and out of a small staging area.
    StageSweep,
}

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// Ours: the engine over a tree.
    Bygone,
    /// `find DIR -type f -mmin +N -delete`.
    Find,
    /// `tmpreaper --mtime`.
    Tmpreaper,
    /// `systemd-tmpfiles --clean`.
    SystemdTmpfiles,
    /// Ours: `Stage::put_all`.
    PutAll,
    /// Ours: `Stage::put`, one after the other.
    Put,
    /// `cp -r`, `sha256sum` of everything, `sync`.
    CopyAll,
    /// `cp`, `sha256sum` and `sync` of each file.
    CopyEach,
    /// Ours: the engine over a large area.
    AmongMany,
    /// Ours: the engine over a small one.
    AmongFew,
}

impl Contender {
    /// The name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bygone => "bygone",
            Self::Find => "find -delete",
            Self::Tmpreaper => "tmpreaper",
            Self::SystemdTmpfiles => "systemd-tmpfiles",
            Self::PutAll => "bygone, put_all",
            Self::Put => "bygone, put",
            Self::CopyAll => "cp -r, sha256sum, sync",
            Self::CopyEach => "cp, sha256sum, sync each",
            Self::AmongMany => "bygone, among many",
            Self::AmongFew => "bygone, among few",
        }
    }

    /// Whether it is bygone itself.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Bygone | Self::PutAll | Self::Put | Self::AmongMany | Self::AmongFew)
    }
}

/// One comparison: what ours must reach, as a multiple of a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    /// What the comparison is called, below the case.
    pub(crate) what: &'static str,
    pub(crate) ours: Contender,
    pub(crate) peer: Contender,
    /// The least multiple; `None` where the peer runs only to be seen.
    pub(crate) ratio_min: Option<f64>,
}

/// How much there is of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// So many directories of so many files, every other one of them past its time.
    Tree { directories: u64, files_each: u64 },
    /// So many files of so many bytes.
    Stage { files: u64, bytes_each: u64, sources: Sources },
    /// So many due among so many, and among so many.
    Sweep { due: u64, many: u64, few: u64 },
}

/// Where the files that are staged come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    /// They were read a moment ago: the disk is only written.
    InMemory,
    /// They are dropped from memory before each turn: the disk is read as well.
    OnDisk,
}

/// What a turn does.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: Name,
    pub(crate) load: Load,
    pub(crate) bars: Vec<Bar>,
    /// How often each contender has its turn for one run: short turns need more of them.
    pub(crate) turns: usize,
}

impl Case {
    /// How much one turn does, in the case's unit.
    pub(crate) fn amount(&self) -> u64 {
        match self.load {
            Load::Tree { directories, files_each } => directories * (files_each / 2),
            Load::Stage { files, bytes_each, .. } if self.is_large() => files * bytes_each / MIB,
            Load::Stage { files, .. } => files,
            Load::Sweep { due, .. } => due,
        }
    }

    /// What it is measured in.
    pub(crate) fn unit(&self) -> &'static str {
        if self.is_large() { "MiB/s" } else { "files/s" }
    }

    fn is_large(&self) -> bool {
        matches!(self.load, Load::Stage { bytes_each, .. } if bytes_each >= MIB)
    }

    /// Its name, as it is written on the command line.
    pub(crate) fn as_str(&self) -> String {
        self.name.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The name of a comparison.
    pub(crate) fn title(&self, bar: &Bar) -> String {
        format!("{}/{}", self.as_str(), bar.what)
    }

    /// Everybody who takes part, ours first, each once.
    pub(crate) fn contenders(&self) -> Vec<Contender> {
        let mut all: Vec<Contender> = Vec::new();
        let ours = self.bars.iter().map(|bar| bar.ours);
        for contender in ours.chain(self.bars.iter().map(|bar| bar.peer)) {
            if !all.contains(&contender) {
                all.push(contender);
            }
        }
        all
    }

    /// The bytes and the inodes that the data takes at the worst moment.
    pub(crate) fn room(&self) -> (u64, u64) {
        match self.load {
            Load::Tree { directories, files_each } => {
                // A tree for each. Half of the files have a block; the names of a directory take about forty bytes each.
                let trees = self.contenders().len() as u64;
                let (directories, files) = (trees * directories, trees * directories * files_each);
                (files / 2 * BLOCK + files * 40 + directories * 2 * BLOCK, files + directories)
            }
            Load::Stage { files, bytes_each, .. } => {
                // The sources; one copy of large ones, and those of all turns of small ones. Where each copy has a
                // directory of its own, that is a block more.
                let copies = if self.is_large() { 1 } else { COPIES_KEPT };
                let (source, copy) =
                    (bytes_each.next_multiple_of(BLOCK), bytes_each.next_multiple_of(BLOCK) + 2 * BLOCK);
                (files * (source + copies * copy) + GIB / 2, (1 + 2 * copies) * files + 1_000)
            }
            Load::Sweep { due, many, few } => {
                let staged = many + few + 2 * due;
                (staged * (2 * BLOCK + 512) + GIB / 2, 2 * staged + 1_000)
            }
        }
    }
}

/// Every case, in the order in which they run.
pub(crate) fn all(quick: bool) -> Vec<Case> {
    let bar = |what, ours, peer, ratio_min| Bar { what, ours, peer, ratio_min: Some(ratio_min) };
    let directories = if quick { 60 } else { 2_000 };
    let small = if quick { 500 } else { 10_000 };
    let large = if quick { 16 * MIB } else { GIB };
    let sweep = if quick {
        Load::Sweep { due: 1_000, many: 40_000, few: 2_000 }
    } else {
        Load::Sweep { due: 10_000, many: 1_000_000, few: 20_000 }
    };
    vec![
        Case {
            name: Name::Tree,
            load: Load::Tree { directories, files_each: 1_000 },
            bars: vec![
                bar("half-due", Contender::Bygone, Contender::Find, 0.9),
                bar("half-due", Contender::Bygone, Contender::Tmpreaper, 1.5),
                bar("half-due", Contender::Bygone, Contender::SystemdTmpfiles, 1.5),
            ],
            turns: 1,
        },
        Case {
            name: Name::StageSmall,
            load: Load::Stage { files: small, bytes_each: 4_096, sources: Sources::InMemory },
            bars: vec![
                bar("put_all", Contender::PutAll, Contender::CopyAll, 1.0),
                bar("put", Contender::Put, Contender::CopyEach, 1.0),
            ],
            turns: 1,
        },
        Case {
            name: Name::StageLarge,
            load: Load::Stage { files: 10, bytes_each: large, sources: Sources::OnDisk },
            bars: vec![
                bar("put", Contender::Put, Contender::CopyEach, 1.0),
                bar("put", Contender::Put, Contender::CopyAll, 1.0),
            ],
            turns: 1,
        },
        Case {
            name: Name::StageSweep,
            load: sweep,
            // Within 1.2 of the time.
            bars: vec![bar("due-among-many", Contender::AmongMany, Contender::AmongFew, 0.833)],
            turns: 3,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: Name) -> Case {
        all(false).into_iter().find(|case| case.name == name).unwrap()
    }

    #[test]
    fn a_turn_does_what_the_bars_speak_of() {
        assert_eq!((case(Name::Tree).amount(), case(Name::Tree).unit()), (1_000_000, "files/s"));
        assert_eq!((case(Name::StageSmall).amount(), case(Name::StageSmall).unit()), (10_000, "files/s"));
        assert_eq!((case(Name::StageLarge).amount(), case(Name::StageLarge).unit()), (10 * 1_024, "MiB/s"));
        assert_eq!((case(Name::StageSweep).amount(), case(Name::StageSweep).unit()), (10_000, "files/s"));
    }

    #[test]
    fn everybody_takes_part_once_and_ours_first() {
        let tree = case(Name::Tree).contenders();
        assert_eq!(tree, [Contender::Bygone, Contender::Find, Contender::Tmpreaper, Contender::SystemdTmpfiles]);
        assert_eq!(case(Name::StageLarge).contenders(), [Contender::Put, Contender::CopyEach, Contender::CopyAll]);
    }

    #[test]
    fn large_files_need_their_copies_room() {
        let (bytes, _) = case(Name::StageLarge).room();
        assert!(bytes > 20 * GIB && bytes < 22 * GIB, "{bytes}");
        let (_, inodes) = case(Name::Tree).room();
        assert!(inodes > 8_000_000, "{inodes}");
    }
}
