//! Tests of the block file through its public interface: crashes, failing disks, damage, models,
//! threads.

#![expect(clippy::cast_possible_truncation, reason = "lengths of small files in memory")]

mod crash;
mod damage;
mod fault;
mod format;
mod model;
mod script;
mod threads;
