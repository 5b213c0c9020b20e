//! Tests of reads while blocks are freed, moved and overwritten, and of writes during checkpoints,
//! in every interleaving of the threads up to a bound of preemptions.
//!
//! `cargo test --release -p pelorus-blockfile --features loom --lib interleavings`

use std::path::Path;
use std::sync::Arc;

use pelorus_env::sync::switching::{JoinHandle, model, spawn, switching_disk};
use pelorus_env::{Disk, SimDisk, Tear};
use pelorus_error::Code;

use crate::{BlockFile, BlockId, Identity};

const IDENTITY: Identity = Identity { database: [7; 16], table: 7 };

/// A file with a root, whose space is all settled.
struct Scene {
    disk: SimDisk,
    file: Arc<BlockFile>,
    root: BlockId,
}

impl Scene {
    fn new() -> Self {
        let disk = SimDisk::new(1);
        let switching: Arc<dyn Disk> = Arc::new(switching_disk(Arc::new(disk.clone())));
        let file = BlockFile::create(&switching, Path::new("table"), IDENTITY).unwrap();
        let root = file.write(2, b"root", 0).unwrap();
        Self { disk, file: Arc::new(file), root }
    }

    fn checkpoint(&self) {
        self.file.checkpoint(self.root, 0, || Ok(())).unwrap();
    }

    /// Reads a block that others free or move: it is what was written, or it is gone.
    fn read(&self, id: BlockId, payload: [u8; 8]) -> JoinHandle<bool> {
        let file = Arc::clone(&self.file);
        spawn(move || match file.read(id) {
            Ok(found) => {
                assert_eq!(found, payload);
                true
            }
            Err(error) => {
                assert_eq!(error.code(), Code::Internal, "{error}");
                false
            }
        })
    }

    /// What a crash leaves that takes all that was not synced.
    fn after_a_crash(&self) -> BlockFile {
        let disk = self.disk.fork(1);
        disk.crash_with(Tear::Nothing);
        let disk: Arc<dyn Disk> = Arc::new(disk);
        let file = BlockFile::open(&disk, Path::new("table"), IDENTITY).unwrap();
        assert_eq!(file.fallback(), None);
        assert!(file.verify_all().is_empty());
        file.check_space().unwrap();
        file
    }
}

#[test]
fn a_reader_never_sees_what_came_to_the_place_of_its_block() {
    let orders = model(5, || {
        let scene = Scene::new();
        let id = scene.file.write(1, &[1; 8], 0).unwrap();
        // No checkpoint has it, so its place is free at once.
        let reader = scene.read(id, [1; 8]);
        scene.file.free(id).unwrap();
        let other = scene.file.write(1, &[2; 8], 0).unwrap();
        reader.join().unwrap();
        assert_eq!(scene.file.read(other).unwrap(), [2; 8]);
        scene.file.check_space().unwrap();
    });
    assert!(orders > 10, "{orders} orders");
}

#[test]
fn a_reader_finds_its_block_while_it_is_moved() {
    let orders = model(5, || {
        let scene = Scene::new();
        let hole = scene.file.write(1, &[0; 8], 0).unwrap();
        let id = scene.file.write(1, &[1; 8], 0).unwrap();
        scene.file.free(hole).unwrap();
        let reader = scene.read(id, [1; 8]);
        assert_eq!(scene.file.relocate_tail(8).unwrap(), 8);
        // Over its old place, which no checkpoint has.
        scene.file.write(1, &[2; 8], 0).unwrap();
        assert!(reader.join().unwrap(), "the block was there all the time");
        scene.file.check_space().unwrap();
    });
    assert!(orders > 10, "{orders} orders");
}

#[test]
fn a_block_freed_while_it_is_moved_is_gone_and_its_space_is_not() {
    let orders = model(5, || {
        let scene = Scene::new();
        let hole = scene.file.write(1, &[0; 8], 0).unwrap();
        let id = scene.file.write(1, &[1; 8], 0).unwrap();
        scene.file.free(hole).unwrap();
        let file = Arc::clone(&scene.file);
        let mover = spawn(move || file.relocate_tail(8).unwrap());
        scene.file.free(id).unwrap();
        mover.join().unwrap();
        assert_eq!(scene.file.read(id).unwrap_err().code(), Code::Internal);
        scene.file.check_space().unwrap();
        scene.checkpoint();
        assert_eq!(scene.after_a_crash().blocks().len(), 1);
    });
    assert!(orders > 10, "{orders} orders");
}

/// A checkpoint holds what was there when it was begun, whatever is freed and written meanwhile;
/// and its blocks stay whole.
#[test]
fn a_checkpoint_keeps_what_is_freed_while_it_is_made() {
    let orders = model(4, || {
        let scene = Scene::new();
        let id = scene.file.write(1, &[1; 8], 0).unwrap();
        scene.checkpoint();
        let file = Arc::clone(&scene.file);
        let writer = spawn(move || {
            file.free(id).unwrap();
            file.write(1, &[2; 8], 0).unwrap();
        });
        scene.checkpoint();
        let left = scene.after_a_crash();
        let payload = |block: crate::Block| left.read(block.id).unwrap()[0];
        let payloads: Vec<u8> = left.blocks().into_iter().map(payload).collect();
        assert!(matches!(payloads[..], [b'r', 1] | [b'r'] | [b'r', 2]), "{payloads:?}");
        writer.join().unwrap();
        scene.file.check_space().unwrap();
        scene.checkpoint();
        assert_eq!(scene.after_a_crash().blocks().len(), 2);
    });
    assert!(orders > 10, "{orders} orders");
}
