//! The time zone of this machine, which `time_zone = 'SYSTEM'` means.

use std::path::Path;

use pelorus_env::Env;

/// The zone of this machine as a fixed distance from universal time. Expressions here know no
/// daylight saving; a zone that has it counts with the distance of the start of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Zone {
    /// What `@@system_time_zone` says.
    pub(crate) name: String,
    /// Seconds east of universal time.
    pub(crate) offset_seconds: i32,
    /// The distance changes over the year.
    pub(crate) is_variable: bool,
}

impl Zone {
    /// Reads `/etc/localtime`; a machine without it runs on universal time.
    pub(crate) fn of_machine(env: &Env) -> Self {
        let now = i64::try_from(env.clock.since_epoch().as_secs()).unwrap_or(i64::MAX);
        let file = env.files.read(Path::new("/etc/localtime")).ok().flatten();
        file.and_then(|bytes| Self::read(&bytes, now))
            .unwrap_or_else(|| Self { name: "UTC".to_owned(), ..Self::default() })
    }

    /// Reads a file of the format of RFC 8536, version 2 or later.
    fn read(bytes: &[u8], now: i64) -> Option<Self> {
        let first = Header::read(bytes)?;
        // The second block repeats the first with 64-bit times.
        let rest = bytes.get(Header::SIZE + first.size(4)..)?;
        let head = Header::read(rest)?;
        let body = rest.get(Header::SIZE..)?;
        let times = body.get(..head.times * 8)?;
        let kinds = body.get(head.times * 8..head.times * 9)?;
        let types = body.get(head.times * 9..)?.get(..head.types * 6)?;
        let names = body.get(head.times * 9 + head.types * 6..)?.get(..head.names)?;
        let footer = rest.get(Header::SIZE + head.size(8)..)?;
        // Transitions beyond the listed ones are in the footer, as `CET-1CEST,M3.5.0,...`.
        let is_variable = footer.contains(&b',');
        let passed = times
            .chunks_exact(8)
            .filter(|time| i64::from_be_bytes((*time).try_into().unwrap_or_default()) <= now)
            .count();
        let kind = passed.checked_sub(1).and_then(|at| kinds.get(at)).copied().unwrap_or(0);
        let entry = types.chunks_exact(6).nth(usize::from(kind))?;
        let (offset, rest) = entry.split_first_chunk::<4>()?;
        let name = names.get(usize::from(*rest.get(1)?)..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        Some(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            offset_seconds: i32::from_be_bytes(*offset),
            is_variable,
        })
    }
}

/// The counts at the head of a block.
struct Header {
    universal: usize,
    standard: usize,
    leaps: usize,
    times: usize,
    types: usize,
    names: usize,
}

impl Header {
    const SIZE: usize = 44;

    fn read(bytes: &[u8]) -> Option<Self> {
        let counts = bytes.strip_prefix(b"TZif")?.get(16..40)?;
        if bytes.get(4)? < &b'2' {
            return None;
        }
        let mut counts = counts
            .chunks_exact(4)
            .map(|count| u32::from_be_bytes(count.try_into().unwrap_or_default()) as usize);
        Some(Self {
            universal: counts.next()?,
            standard: counts.next()?,
            leaps: counts.next()?,
            times: counts.next()?,
            types: counts.next()?,
            names: counts.next()?,
        })
    }

    /// Bytes of the block behind the head, with times of so many bytes.
    fn size(&self, time: usize) -> usize {
        self.times * (time + 1)
            + self.types * 6
            + self.names
            + self.leaps * (time + 4)
            + self.standard
            + self.universal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(times: &[(i64, u8)], wide: bool) -> Vec<u8> {
        let mut out = b"TZif2".to_vec();
        out.extend([0; 15]);
        let count = u32::try_from(times.len()).unwrap();
        for count in [0, 0, 0, if wide { count } else { 0 }, 2, 8] {
            out.extend(u32::to_be_bytes(count));
        }
        if wide {
            out.extend(times.iter().flat_map(|(time, _)| time.to_be_bytes()));
            out.extend(times.iter().map(|(_, kind)| *kind));
        }
        out.extend(3600_i32.to_be_bytes());
        out.extend([0, 0]);
        out.extend(7200_i32.to_be_bytes());
        out.extend([1, 4]);
        out.extend(b"CET\0CES\0");
        out
    }

    fn file(footer: &[u8]) -> Vec<u8> {
        let times = [(100, 1), (200, 0)];
        [block(&times, false), block(&times, true), footer.to_vec()].concat()
    }

    #[test]
    fn the_zone_of_the_moment_is_found() {
        let bytes = file(b"\nCET-1CEST,M3.5.0,M10.5.0/3\n");
        let at = |now| Zone::read(&bytes, now).unwrap();
        assert_eq!(at(50).offset_seconds, 3600);
        assert_eq!((at(150).offset_seconds, at(150).name.as_str()), (7200, "CES"));
        assert_eq!((at(250).offset_seconds, at(250).is_variable), (3600, true));
        assert!(!Zone::read(&file(b"\nUTC0\n"), 0).unwrap().is_variable);
    }

    #[test]
    fn rubbish_is_no_zone() {
        for length in 0..file(b"").len() {
            Zone::read(&file(b"")[..length], 0);
        }
        assert_eq!(Zone::read(b"nonsense", 0), None);
    }
}
