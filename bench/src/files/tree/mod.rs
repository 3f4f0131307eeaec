//! A tree in which every other file is past its time: who removes exactly those, and how fast.

mod forest;
mod peers;

use bygone_files::tree::{TreePolicy, TreeTarget};
use jiff::SignedDuration;

use self::forest::{Count, Forest};
use self::peers::Peers;
use super::case::{Case, Contender};
use super::engine_run;
use super::ground::Ground;
use super::program::version;
use super::series::Bed;
use crate::failure::Failure;

/// Files stay for so long. Half of those of the tree are much older, the others were made a moment ago.
const KEEP_MINUTES: i64 = 60;

/// A tree for each contender, made anew for every round.
pub(crate) struct TreeBed<'a> {
    ground: &'a Ground,
    forests: Vec<(Contender, Forest<'a>)>,
    peers: Peers,
}

impl<'a> TreeBed<'a> {
    pub(crate) fn new(ground: &'a Ground, case: &Case, directories: u64, files_each: u64) -> Result<Self, Failure> {
        let peers = Peers::find(ground)?;
        let forest = |(contender, at)| (contender, Forest::new(ground, at, directories, files_each));
        Ok(Self { ground, forests: case.contenders().into_iter().zip(0..).map(forest).collect(), peers })
    }

    fn of(&self, contender: Contender) -> Result<&Forest<'a>, Failure> {
        let found = self.forests.iter().find(|(whose, _)| *whose == contender);
        Ok(&found.ok_or("a contender without a tree")?.1)
    }
}

impl Bed for TreeBed<'_> {
    fn conditions(&self) -> String {
        "the trees are made anew for every round and synced; each is looked through once right before its turn, so that \
         names and inodes are in memory for everybody; processes are timed from their start, ours with its survey"
            .to_owned()
    }

    fn versions(&self) -> Result<Vec<String>, Failure> {
        Ok(vec![version("find")?, self.peers.tmpreaper_version()?, version("systemd-tmpfiles")?])
    }

    fn begin_round(&mut self) -> Result<(), Failure> {
        self.forests.iter().try_for_each(|(_, forest)| forest.plant())?;
        self.ground.come_to_rest()
    }

    fn prepare(&mut self, contender: Contender) -> Result<(), Failure> {
        self.ground.come_to_rest()?;
        let forest = self.of(contender)?;
        expect(forest.count()?, forest.planted())
    }

    fn work(&mut self, contender: Contender) -> Result<Option<String>, Failure> {
        let root = self.of(contender)?.root();
        match contender {
            Contender::Find => self.peers.find_delete(root, KEEP_MINUTES)?,
            Contender::Tmpreaper => self.peers.tmpreaper(root, KEEP_MINUTES)?,
            Contender::SystemdTmpfiles => self.peers.systemd_tmpfiles(root, KEEP_MINUTES)?,
            _ => {
                let mut policy = TreePolicy::new("old-files", "bench", root);
                policy.keep = Some(SignedDuration::from_mins(KEEP_MINUTES));
                return Ok(Some(engine_run::sweep(Box::new(TreeTarget::bind(policy)?))?.phases));
            }
        }
        Ok(None)
    }

    fn prove(&mut self, contender: Contender) -> Result<(), Failure> {
        let forest = self.of(contender)?;
        expect(forest.count()?, forest.survivors())
    }

    fn end_round(&mut self, is_last: bool) -> Result<(), Failure> {
        self.forests.iter().try_for_each(|(_, forest)| forest.clear())?;
        if is_last { Ok(()) } else { self.ground.let_inodes_rest() }
    }
}

fn expect(found: Count, expected: Count) -> Result<(), Failure> {
    if found == expected { Ok(()) } else { Err(format!("there is {found:?}, and not {expected:?}").into()) }
}
