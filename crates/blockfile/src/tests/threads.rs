//! Tests of concurrent readers, writers, checkpoints and moves.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{BlockFile, BlockId};
use pelorus_env::SimDisk;
use pelorus_error::{Code, Result};

use super::script::*;

/// A payload that tells which block it must be.
fn payload(tag: u64) -> Vec<u8> {
    let length = 8 + (tag * 997 % 9000) as usize;
    tag.to_le_bytes().into_iter().cycle().take(length).collect()
}

fn write_and_free(file: &BlockFile, shelf: &parking_lot::Mutex<Vec<(BlockId, u64)>>, seed: u64) {
    let mut rng = Rng(seed);
    for step in 0..1500 {
        let tag = seed * 10_000 + step;
        let id = file.write(1, &payload(tag), tag).unwrap();
        let mut shelf = shelf.lock();
        shelf.push((id, tag));
        if shelf.len() > 60 {
            let index = rng.below(shelf.len() as u64) as usize;
            let (id, _) = shelf.swap_remove(index);
            drop(shelf);
            file.free(id).unwrap();
        }
    }
}

/// A read of a block that is freed meanwhile may fail, but only by saying that it is gone.
fn read(file: &BlockFile, id: BlockId, tag: u64) -> bool {
    match file.read(id) {
        Ok(found) => {
            assert!(found == payload(tag), "block {id}");
            true
        }
        Err(error) => {
            assert_eq!(error.code(), Code::Internal, "{error}");
            false
        }
    }
}

#[test]
fn readers_see_their_blocks_while_others_write_move_and_checkpoint() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let shelf = parking_lot::Mutex::new(Vec::new());
    let done = AtomicBool::new(false);
    let (checkpoints, reads) = std::thread::scope(|scope| {
        let writers = [1, 2].map(|seed| {
            let (file, shelf) = (&file, &shelf);
            scope.spawn(move || write_and_free(file, shelf, seed))
        });
        let checkpoints = scope.spawn(|| {
            let mut count = 0;
            let mut last: Option<BlockId> = None;
            while !done.load(Ordering::Relaxed) {
                let round = || -> Result<BlockId> {
                    file.relocate_tail(20_000)?;
                    let mut checkpoint = file.begin_checkpoint()?;
                    let root = checkpoint.write(2, &[], count)?;
                    checkpoint.commit(root, count, || Ok(()))?;
                    Ok(root)
                };
                let root = round().unwrap();
                if let Some(old) = last.replace(root) {
                    file.free(old).unwrap();
                }
                count += 1;
            }
            count
        });
        let reader = scope.spawn(|| {
            let mut rng = Rng(9);
            let mut reads = 0_u64;
            while !done.load(Ordering::Relaxed) {
                let chosen = {
                    let shelf = shelf.lock();
                    let index = rng.below(shelf.len().max(1) as u64) as usize;
                    shelf.get(index).copied()
                };
                if let Some((id, tag)) = chosen {
                    reads += u64::from(read(&file, id, tag));
                }
            }
            reads
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        (checkpoints.join().unwrap(), reader.join().unwrap())
    });
    assert!(checkpoints > 2 && reads > 100, "{checkpoints} checkpoints, {reads} reads");
    file.check_space().unwrap();
    let live = shelf.into_inner();
    for (id, tag) in &live {
        assert!(read(&file, *id, *tag));
    }
    let root = live[0].0;
    file.checkpoint(root, 1, || Ok(())).unwrap();
    disk.crash();
    let file = open(&disk).unwrap();
    assert!(live.iter().all(|(id, tag)| read(&file, *id, *tag)));
    file.check_space().unwrap();
}
