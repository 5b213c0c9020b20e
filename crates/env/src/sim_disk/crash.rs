//! Crashes of a simulated disk: which pending changes survive.
//!
//! Sectors of 512 bytes survive as a whole: that is the unit which disks guarantee. In the random
//! mode one coin is thrown for the whole crash (how much survives), and then one for each change
//! and for each sector of a write that survives in part, so that rare and frequent loss both occur.

use super::State;
use super::content::Content;
use super::fault::Tear;
use super::names;
use super::state::Pending;

const SECTOR: u64 = 512;
const SECTOR_SIZE: usize = 512;

/// What becomes of one sector of a pending write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lost,
    Kept,
    Zeros,
    Garbage,
}

/// The parts of a write that lie in one sector each, as (offset in the write, length).
fn sectors(offset: u64, length: usize) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let mut start = 0;
    while start < length {
        // The remainder is below the size of a sector.
        let inside = ((offset + start as u64) % SECTOR) as usize;
        let count = (SECTOR_SIZE - inside).min(length - start);
        parts.push((start, count));
        start += count;
    }
    parts
}

impl State {
    /// Replaces the state by the surviving one.
    pub(super) fn crash(&mut self, tear: Tear) {
        // Of every 8 changes, how many survive in the random mode.
        let survival = self.below(9);
        self.crash_names(tear, survival);
        let last = self
            .inodes
            .values()
            .flat_map(|file| &file.pending)
            .filter_map(|pending| match pending {
                Pending::Write { operation, .. } => Some(*operation),
                Pending::SetLen(_) | Pending::Allocate { .. } => None,
            })
            .max();
        let inodes: Vec<u64> = self.inodes.keys().copied().collect();
        for inode in inodes {
            self.crash_file(inode, tear, survival, last);
        }
        let named: Vec<_> = self.names.now.values().copied().collect();
        self.inodes.retain(|inode, _| named.contains(&names::Entry::File(*inode)));
        self.epoch += 1;
        self.down = false;
        self.faults.clear();
        self.read_faults.clear();
    }

    fn crash_names(&mut self, tear: Tear, survival: u64) {
        for (_, change) in std::mem::take(&mut self.names.pending) {
            let survives = match tear {
                Tear::Nothing => false,
                Tear::Random => self.below(8) < survival,
                _ => true,
            };
            if survives {
                names::apply(&mut self.names.durable, &change);
            }
        }
        self.names.settle();
    }

    fn crash_file(&mut self, inode: u64, tear: Tear, survival: u64, last: Option<u64>) {
        let pending = std::mem::take(&mut self.inode(inode).pending);
        let mut content = std::mem::take(&mut self.inode(inode).durable);
        if tear != Tear::Nothing {
            for change in pending {
                match change {
                    Pending::SetLen(length) => {
                        if tear != Tear::Random || self.below(8) < survival {
                            content.set_len(length);
                        }
                    }
                    Pending::Allocate { from, to } => {
                        if tear != Tear::Random || self.below(8) < survival {
                            content.allocate(from, to);
                        }
                    }
                    Pending::Write { operation, offset, bytes, .. } => {
                        let is_last = last == Some(operation);
                        let parts = sectors(offset, bytes.len());
                        let fates = self.fates(tear, survival, is_last, parts.len());
                        self.crash_write(&mut content, offset, &bytes, &parts, &fates);
                    }
                }
            }
        }
        let file = self.inode(inode);
        *file = Default::default();
        file.current = content.clone();
        file.durable = content;
    }

    /// Decides about the sectors of one write.
    fn fates(&mut self, tear: Tear, survival: u64, is_last: bool, count: usize) -> Vec<Fate> {
        if count == 0 {
            return Vec::new();
        }
        let sectors = count as u64;
        let whole = match tear {
            Tear::Random => match self.below(4) {
                0 => Some(Fate::Kept),
                1 => Some(Fate::Lost),
                _ => None,
            },
            Tear::Torn if is_last => {
                let cut = self.below(sectors);
                return (0..sectors)
                    .map(|sector| if sector < cut { Fate::Kept } else { Fate::Lost })
                    .collect();
            }
            Tear::Zeroed | Tear::Garbage => None,
            _ => Some(Fate::Kept),
        };
        if let Some(fate) = whole {
            return vec![fate; count];
        }
        let bad = if tear == Tear::Zeroed { Fate::Zeros } else { Fate::Garbage };
        let certain = if is_last { self.below(sectors) } else { sectors };
        (0..sectors)
            .map(|sector| match tear {
                Tear::Random => match self.below(16) {
                    0 => Fate::Zeros,
                    1 => Fate::Garbage,
                    _ if self.below(8) < survival => Fate::Kept,
                    _ => Fate::Lost,
                },
                _ if sector == certain || self.below(8) == 0 => bad,
                _ => Fate::Kept,
            })
            .collect()
    }

    fn crash_write(
        &mut self,
        content: &mut Content,
        offset: u64,
        bytes: &[u8],
        parts: &[(usize, usize)],
        fates: &[Fate],
    ) {
        for (&(start, count), &fate) in parts.iter().zip(fates) {
            let at = offset + start as u64;
            match fate {
                Fate::Lost => {}
                Fate::Kept => content.write(&bytes[start..start + count], at),
                Fate::Zeros | Fate::Garbage => {
                    // The whole sector is spoilt, with what stood in it before.
                    let first = at - at % SECTOR;
                    let end = (first + SECTOR).min(content.length().max(at + count as u64));
                    let spoilt = (first..end).map(|_| match fate {
                        Fate::Zeros => 0,
                        _ => self.below(256).to_le_bytes()[0],
                    });
                    content.write(&spoilt.collect::<Vec<u8>>(), first);
                }
            }
        }
    }
}
