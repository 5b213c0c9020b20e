//! A workload for tests, with a model of the file's content after each checkpoint.
//!
//! The root of each checkpoint is a block that lists the others, so that the content of a recovered
//! file identifies its checkpoint.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::{BlockFile, BlockId, Identity};
use pelorus_env::{Disk, SimDisk};
use pelorus_error::{Code, Error, Result};

pub(super) const PATH: &str = "table";
pub(super) const IDENTITY: Identity = Identity { database: *b"0123456789abcdef", table: 7 };

pub(super) fn path() -> &'static Path {
    Path::new(PATH)
}

pub(super) fn open(disk: &SimDisk) -> Result<BlockFile> {
    BlockFile::open(&shared(disk), path(), IDENTITY)
}

pub(super) fn create(disk: &SimDisk) -> Result<BlockFile> {
    BlockFile::create(&shared(disk), path(), IDENTITY)
}

pub(super) fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// splitmix64, so that a failing run can be repeated.
#[derive(Debug)]
pub(super) struct Rng(pub(crate) u64);

impl Rng {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)) % bound
    }

    pub(super) fn payload(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}

pub(super) type Contents = BTreeMap<BlockId, Vec<u8>>;

/// The requested writes of a file, and the acknowledged ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) current: Contents,
    /// Every checkpoint that was begun to be committed, with its log sequence number.
    pub(super) checkpoints: BTreeMap<u64, (u64, Contents)>,
    /// The number of the last acknowledged one.
    pub(super) acknowledged: u64,
    pub(super) lsn: u64,
}

impl Model {
    /// A new file is at checkpoint 1, which is empty, as is 0.
    pub(super) fn created() -> Self {
        let empty = (0, Contents::new());
        let checkpoints = [(0, empty.clone()), (1, empty)].into();
        Self { checkpoints, acknowledged: 1, ..Self::default() }
    }

    pub(super) fn write(&mut self, file: &BlockFile, payload: Vec<u8>) -> Result<BlockId> {
        self.lsn += 1;
        let id = file.write(1, &payload, self.lsn)?;
        assert_eq!(self.current.insert(id, payload), None, "block {id} was given out twice");
        Ok(id)
    }

    pub(super) fn free(&mut self, file: &BlockFile, id: BlockId) -> Result<()> {
        file.free(id)?;
        self.current.remove(&id);
        Ok(())
    }

    /// Writes a root and commits; `meanwhile` runs between the cut and the commit.
    pub(super) fn checkpoint(
        &mut self,
        file: &BlockFile,
        meanwhile: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.lsn += 1;
        // Roots of former checkpoints leave the state.
        let roots: Vec<BlockId> =
            file.blocks().iter().filter(|block| block.kind == 2).map(|block| block.id).collect();
        for root in roots {
            self.free(file, root)?;
        }
        let lsn = self.lsn;
        let mut checkpoint = file.begin_checkpoint()?;
        let mut contents = self.current.clone();
        let list: Vec<u8> = contents.keys().flat_map(|id| id.get().to_le_bytes()).collect();
        let root = checkpoint.write(2, &list, lsn)?;
        contents.insert(root, list.clone());
        self.current.insert(root, list);
        meanwhile(self)?;
        let number = checkpoint.number();
        self.checkpoints.insert(number, (lsn, contents));
        checkpoint.commit(root, lsn, || Ok(()))?;
        self.acknowledged = number;
        Ok(())
    }

    /// The file must be at one of these checkpoints and have exactly its blocks.
    pub(super) fn assert_state(&self, file: &BlockFile, allowed: &[u64]) -> u64 {
        let header = file.header();
        assert!(allowed.contains(&header.number), "{header:?}, allowed {allowed:?}");
        let (lsn, contents) = &self.checkpoints[&header.number];
        assert_eq!(header.lsn, *lsn);
        let found: Contents = file
            .blocks()
            .iter()
            .map(|block| (block.id, file.read(block.id).expect("a block of a checkpoint")))
            .collect();
        assert!(found == *contents, "blocks of checkpoint {}", header.number);
        if header.number > 1 {
            let list = &contents[&header.root.expect("a root")];
            assert_eq!(list.len() / 8 + 1, contents.len());
        }
        file.check_space().unwrap();
        header.number
    }

    /// The last acknowledged checkpoint and those that were in flight after it.
    pub(super) fn possible(&self) -> Vec<u64> {
        self.checkpoints.range(self.acknowledged..).map(|(number, _)| *number).collect()
    }

    /// Goes on from a state that was found after a crash.
    pub(super) fn recovered(&self, number: u64) -> Self {
        let mut model = self.clone();
        model.current = self.checkpoints[&number].1.clone();
        model.checkpoints.retain(|other, _| *other <= number);
        model.acknowledged = number;
        model
    }
}

/// The handler of an error in the middle of a workload.
pub(super) type OnError<'a> = &'a mut dyn FnMut(Error) -> Result<()>;

/// Stops at the first error.
pub(super) fn stop(error: Error) -> Result<()> {
    Err(error)
}

/// Goes on after a full disk.
pub(super) fn go_on_if_full(error: Error) -> Result<()> {
    if error.code() == Code::DiskFull { Ok(()) } else { Err(error) }
}

/// Writes, frees, moves and checkpoints with sizes from nothing to several units. Deterministic.
pub(super) fn work(
    file: &BlockFile,
    model: &mut Model,
    seed: u64,
    rounds: u64,
    on_error: OnError<'_>,
) -> Result<()> {
    let mut rng = Rng(seed);
    for round in 0..rounds {
        for _ in 0..3 {
            let length = [0, 100, 4024, 4025, 9000][rng.below(5) as usize];
            let payload = rng.payload(length);
            model.write(file, payload).map(|_| ()).or_else(&mut *on_error)?;
        }
        let live: Vec<BlockId> = model.current.keys().copied().collect();
        for id in live {
            if rng.below(3) == 0 {
                model.free(file, id)?;
            }
        }
        if round % 3 == 2 {
            file.relocate_tail(8000).map(|_| ()).or_else(&mut *on_error)?;
        }
        let late = rng.payload(500);
        let meanwhile = |model: &mut Model| {
            // Neither belongs to the checkpoint in progress.
            model.write(file, late).map(|_| ())?;
            match model.current.first_key_value() {
                Some((&id, _)) => model.free(file, id),
                None => Ok(()),
            }
        };
        model.checkpoint(file, meanwhile).or_else(&mut *on_error)?;
    }
    Ok(())
}
