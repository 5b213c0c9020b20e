//! The binary form of GTID sets, as in `COM_BINLOG_DUMP_GTID` and in `Previous_gtids` events.
//!
//! Eight bytes contain the number of sources. Each source follows: UUID, (tag,) number of intervals
//! as eight bytes, and of each interval the first number and the one after the last. In a set with
//! tags both the first and the last of the first eight bytes are 1, and the number of sources is
//! between them; every source then has a tag, empty or not, after one byte that is twice its
//! length. Servers before 8.4 read the form without tags only, so it is used if possible.

use super::{GtidSet, MAX_NUMBER, Source, parse_tag};
use pelorus_error::{Code, Error, Result};

/// Marks the form with tags.
const TAGGED: u8 = 1;

impl GtidSet {
    /// The binary form.
    pub fn encode(&self) -> Vec<u8> {
        let tagged = self.sources.keys().any(|source| !source.tag.is_empty());
        let count = self.sources.len() as u64;
        let mut out = Vec::with_capacity(8 + self.sources.len() * 48);
        if tagged {
            let header = (count << 8) | u64::from(TAGGED) | (u64::from(TAGGED) << 56);
            out.extend_from_slice(&header.to_le_bytes());
        } else {
            out.extend_from_slice(&count.to_le_bytes());
        }
        for (source, intervals) in &self.sources {
            out.extend_from_slice(&source.uuid);
            if tagged {
                // At most 32 characters: the length is always a single byte.
                out.push((source.tag.len() << 1).to_le_bytes()[0]);
                out.extend_from_slice(source.tag.as_bytes());
            }
            out.extend_from_slice(&(intervals.len() as u64).to_le_bytes());
            for (first, last) in intervals {
                out.extend_from_slice(&first.to_le_bytes());
                out.extend_from_slice(&last.saturating_add(1).to_le_bytes());
            }
        }
        out
    }

    /// Reads the binary form.
    ///
    /// # Errors
    /// 1835 for bytes that are no GTID set, or more than one.
    pub fn decode(bytes: &[u8]) -> Result<GtidSet> {
        decode(bytes).ok_or_else(|| Error::new(Code::MalformedPacket, "malformed GTID set"))
    }
}

fn decode(bytes: &[u8]) -> Option<GtidSet> {
    let mut rest = bytes;
    let header = take::<8>(&mut rest)?;
    let tagged = header[7] == TAGGED;
    let count = match header {
        [TAGGED, a, b, c, d, e, f, TAGGED] => u64::from_le_bytes([a, b, c, d, e, f, 0, 0]),
        [.., 0] => u64::from_le_bytes(header),
        _ => return None,
    };
    let mut set = GtidSet::new();
    for _ in 0..count {
        let uuid = take::<16>(&mut rest)?;
        let mut tag = String::new();
        if tagged {
            let [twice] = take::<1>(&mut rest)?;
            let (text, after) = rest.split_at_checked(usize::from(twice >> 1))?;
            rest = after;
            if twice & 1 == 1 {
                return None;
            }
            if !text.is_empty() {
                tag = parse_tag(std::str::from_utf8(text).ok()?)?;
            }
        }
        let intervals = u64::from_le_bytes(take(&mut rest)?);
        for _ in 0..intervals {
            let first = u64::from_le_bytes(take(&mut rest)?);
            let behind = u64::from_le_bytes(take(&mut rest)?);
            if first == 0 || behind <= first || behind > MAX_NUMBER + 1 {
                return None;
            }
            set.add_interval(Source { uuid, tag: tag.clone() }, first, behind - 1);
        }
    }
    rest.is_empty().then_some(set)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*head)
}
