//! Time zones: fixed offsets from universal time, and the zones of the IANA database with their
//! daylight-saving changes.
//!
//! Zones come from the operating system's database, or from the built-in one if there is none. A
//! zone is loaded once, as the list of the moments at which its offset changes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz;
use pelorus_types::temporal::DateTime;

const MICROS: i64 = 1_000_000;
/// The first second that is looked at: 1900-01-01.
const FIRST: i64 = -2_208_988_800;
/// The last second that MySQL converts (3001-01-18 23:59:59), to which the zone of a machine goes.
const LAST: i64 = 32_536_771_199;
/// Servers' tables of named zones end with 2037: from then on such a zone keeps its distance.
const LAST_NAMED: i64 = 2_145_916_799;

/// The session's time zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeZone {
    /// Universal time.
    #[default]
    Utc,
    /// A fixed distance from universal time, in seconds east.
    Offset(i32),
    /// A zone whose clocks are set forward and back.
    Rules(&'static Rules),
}

/// The moments that a clock shows at one time, in seconds since 1970 in universal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// One.
    Once(i64),
    /// Two: the clock was set back. The first and the second.
    Twice(i64, i64),
    /// None: the clock was set forward over it, at this moment.
    Never(i64),
}

/// The distance of a zone from universal time over a while.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// The first second.
    from: i64,
    /// The first second after it.
    until: i64,
    /// Seconds east.
    offset: i64,
}

/// A zone whose distance from universal time changes.
#[derive(Debug, PartialEq, Eq)]
pub struct Rules {
    name: String,
    /// The moments of the changes, ascending.
    changes: Vec<i64>,
    /// The distance before the first change, and from each change on.
    offsets: Vec<i32>,
}

impl TimeZone {
    /// A fixed distance, in seconds east.
    pub fn fixed(seconds: i32) -> Self {
        if seconds == 0 { TimeZone::Utc } else { TimeZone::Offset(seconds) }
    }

    /// A zone of the database, by its name in any case.
    pub fn named(name: &str) -> Option<Self> {
        Rules::kept(name, LAST_NAMED, || tz::db().get(name).ok())
    }

    /// The same as a machine has it whose zone it is: with the rules for the time after 2037.
    pub fn of_system(name: &str) -> Option<Self> {
        // No zone has such a name, so that both can be kept.
        Rules::kept(&format!("SYSTEM/{name}"), LAST, || tz::db().get(name).ok())
    }

    /// The name of a zone as the database has it, by the name in any case.
    pub fn name_of(name: &str) -> Option<String> {
        tz::db().get(name).ok()?.iana_name().map(str::to_owned)
    }

    /// The zone of this machine (`TZ`, or `/etc/localtime`), with its abbreviation at a moment in
    /// seconds since 1970.
    pub fn of_machine(now: i64) -> (Self, String) {
        let zone = tz::TimeZone::system();
        let moment = Timestamp::from_second(now).unwrap_or_default();
        let name = zone.to_offset_info(moment).abbreviation().to_owned();
        let zone = Rules::kept("SYSTEM", LAST, || Some(zone)).unwrap_or_default();
        (zone, name)
    }

    /// All zones of the database, by name.
    pub fn all() -> Vec<Self> {
        let names = tz::db().available().map(|name| name.as_str().to_owned());
        // `posix` and `right` repeat the others, the latter with leap seconds.
        let is_place = |name: &String| !name.starts_with("posix") && !name.starts_with("right");
        names.filter(is_place).filter_map(|name| Self::named(&name)).collect()
    }

    /// Whether nothing is shifted.
    pub fn is_utc(self) -> bool {
        self == TimeZone::Utc
    }

    /// Seconds east of universal time at a moment, in seconds since 1970.
    pub fn offset_at(self, moment: i64) -> i64 {
        self.span(moment).offset
    }

    fn span(self, moment: i64) -> Span {
        match self {
            TimeZone::Utc => Span { from: i64::MIN, until: i64::MAX, offset: 0 },
            TimeZone::Offset(seconds) => {
                Span { from: i64::MIN, until: i64::MAX, offset: seconds.into() }
            }
            TimeZone::Rules(rules) => rules.span(moment),
        }
    }

    /// When a clock of the zone shows a time, given as seconds since 1970 as if it were universal
    /// time.
    pub fn moment(self, shown: i64) -> Moment {
        match self {
            TimeZone::Utc => Moment::Once(shown),
            TimeZone::Offset(seconds) => Moment::Once(shown - i64::from(seconds)),
            TimeZone::Rules(rules) => rules.moment(shown),
        }
    }

    /// The moments at which the distance from universal time changes, in seconds since 1970.
    pub fn changes(self) -> &'static [i64] {
        match self {
            TimeZone::Rules(rules) => &rules.changes,
            TimeZone::Utc | TimeZone::Offset(_) => &[],
        }
    }

    /// A moment, in microseconds since 1970 in universal time, on the clock of the zone.
    pub fn local(self, micros: i64) -> DateTime {
        let offset = self.offset_at(micros.div_euclid(MICROS));
        DateTime::date(1970, 1, 1).plus_micros(micros + offset * MICROS).unwrap_or_default()
    }
}

impl Moment {
    /// The moment that MySQL takes: the first of two, and for a time that no clock showed the one
    /// at which it was skipped.
    pub fn taken(self) -> i64 {
        match self {
            Moment::Once(moment) | Moment::Twice(moment, _) | Moment::Never(moment) => moment,
        }
    }
}

/// Shifts many packed dates from universal time: it keeps the span of the last one.
#[derive(Debug)]
pub(crate) struct Shift {
    zone: TimeZone,
    /// The packed dates for which the distance holds.
    dates: Range<i64>,
    /// Seconds east.
    offset: i64,
}

impl Shift {
    pub(crate) fn new(zone: TimeZone) -> Self {
        Self { zone, dates: 0..0, offset: 0 }
    }

    /// A date on the zone's clock; `None` beyond the calendar.
    pub(crate) fn local(&mut self, packed: i64) -> Option<i64> {
        const HMS: u32 = 24;
        if !self.dates.contains(&packed) {
            let span = self.zone.span(seconds(DateTime::unpack(packed)));
            self.dates =
                date_at(span.from).unwrap_or(i64::MIN)..date_at(span.until).unwrap_or(i64::MAX);
            self.offset = span.offset;
        }
        // Mostly it stays within the day, and the calendar is not needed.
        let hms = packed >> HMS & 0x1_FFFF;
        let second = (hms >> 12) * 3600 + (hms >> 6 & 63) * 60 + (hms & 63) + self.offset;
        if (0..86_400).contains(&second) {
            let shifted = ((second / 3600) << 12) | ((second / 60 % 60) << 6) | (second % 60);
            return Some(packed ^ (hms ^ shifted) << HMS);
        }
        Some(DateTime::unpack(packed).plus_micros(self.offset * MICROS)?.pack())
    }
}

/// A moment as a packed date of universal time; `None` beyond the calendar.
fn date_at(moment: i64) -> Option<i64> {
    let date = DateTime::date(1970, 1, 1).plus_micros(moment.checked_mul(MICROS)?)?;
    Some(date.pack())
}

/// Seconds since 1970 of a date, as if it were one of universal time.
pub(crate) fn seconds(date: DateTime) -> i64 {
    let days = date.day_number() - DateTime::date(1970, 1, 1).day_number();
    days * 86_400 + date.time_micros().div_euclid(MICROS)
}

impl Rules {
    /// The zone's name; empty for that of this machine.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A zone that is cached for ever after its first use; there are some hundreds.
    fn kept(
        name: &str,
        last: i64,
        find: impl FnOnce() -> Option<tz::TimeZone>,
    ) -> Option<TimeZone> {
        static KEPT: Mutex<BTreeMap<String, TimeZone>> = Mutex::new(BTreeMap::new());
        let lower = name.to_ascii_lowercase();
        if let Some(known) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).get(&lower) {
            return Some(*known);
        }
        let zone = find()?;
        let name = zone.iana_name().filter(|_| !name.is_empty()).unwrap_or_default();
        let rules = Self::read(&zone, name, last)?;
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let zone = kept.entry(lower).or_insert_with(|| match rules.offsets.as_slice() {
            [only] => TimeZone::fixed(*only),
            _ => TimeZone::Rules(Box::leak(Box::new(rules))),
        });
        Some(*zone)
    }

    fn read(zone: &tz::TimeZone, name: &str, last: i64) -> Option<Self> {
        let first = Timestamp::from_second(FIRST).ok()?;
        let mut offsets = vec![zone.to_offset(first).seconds()];
        let mut changes = Vec::new();
        for change in zone.following(first) {
            let (moment, offset) = (change.timestamp().as_second(), change.offset().seconds());
            if moment > last {
                break;
            }
            // Names and the law may change alone.
            if offsets.last() != Some(&offset) {
                changes.push(moment);
                offsets.push(offset);
            }
        }
        Some(Self { name: name.to_owned(), changes, offsets })
    }

    fn span(&self, moment: i64) -> Span {
        let at = self.changes.partition_point(|change| *change <= moment);
        Span {
            from: at.checked_sub(1).map_or(i64::MIN, |before| self.changes[before]),
            until: self.changes.get(at).copied().unwrap_or(i64::MAX),
            offset: self.offsets[at].into(),
        }
    }

    fn moment(&self, shown: i64) -> Moment {
        /// No zone was ever farther from universal time, or set its clock by more.
        const FAR: i64 = 2 * 86_400;
        let begin = self.changes.partition_point(|change| *change < shown - FAR);
        let end = self.changes.partition_point(|change| *change < shown + FAR);
        let mut found: Option<i64> = None;
        for at in begin..=end {
            let moment = shown - i64::from(self.offsets[at]);
            let from = at.checked_sub(1).map_or(i64::MIN, |before| self.changes[before]);
            let until = self.changes.get(at).copied().unwrap_or(i64::MAX);
            if !(from..until).contains(&moment) {
                continue;
            }
            match found {
                None => found = Some(moment),
                Some(first) => return Moment::Twice(first, moment),
            }
        }
        let skipped = || {
            let over = (begin..end).find(|&at| {
                let change = self.changes[at];
                (change + i64::from(self.offsets[at])..change + i64::from(self.offsets[at + 1]))
                    .contains(&shown)
            });
            Moment::Never(over.map_or(shown, |at| self.changes[at]))
        };
        found.map_or_else(skipped, Moment::Once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_second()
    }

    /// The local time of a clock, as if it were universal time.
    fn shown(text: &str) -> i64 {
        at(&format!("{text}Z"))
    }

    fn zone(name: &str) -> TimeZone {
        TimeZone::named(name).unwrap()
    }

    #[test]
    fn names_are_found_in_any_case() {
        let TimeZone::Rules(berlin) = zone("europe/BERLIN") else { panic!("has summer time") };
        assert_eq!(berlin.name(), "Europe/Berlin");
        assert_eq!(zone("Europe/Berlin"), TimeZone::Rules(berlin));
        assert_eq!(zone("utc"), TimeZone::Utc);
        assert_eq!(zone("Etc/GMT-14"), TimeZone::Offset(50_400));
        for name in ["", "Mars/Olympus", "../../etc/passwd", "Europe", "SYSTEM", "+01:00", "a\0b"] {
            assert_eq!(TimeZone::named(name), None, "{name}");
        }
    }

    #[test]
    fn clocks_are_set_forward_and_back() {
        let berlin = zone("Europe/Berlin");
        assert_eq!(berlin.offset_at(at("2024-03-31T00:59:59Z")), 3600);
        assert_eq!(berlin.offset_at(at("2024-03-31T01:00:00Z")), 7200);
        let local = berlin.local(at("2024-03-31T01:00:00Z") * MICROS + 5);
        assert_eq!((local.hour, local.micros), (3, 5));
        assert_eq!(
            berlin.moment(shown("2024-07-01T12:00:00")),
            Moment::Once(at("2024-07-01T10:00:00Z"))
        );
        for time in ["02:00:00", "02:59:59"] {
            let moment = berlin.moment(shown(&format!("2024-03-31T{time}")));
            assert_eq!(moment, Moment::Never(at("2024-03-31T01:00:00Z")));
            let moment = berlin.moment(shown(&format!("2024-10-27T{time}")));
            let first = at(&format!("2024-10-27T{time}+02:00"));
            assert_eq!(moment, Moment::Twice(first, first + 3600));
        }
        for time in ["01:59:59", "03:00:00"] {
            for day in ["2024-03-31", "2024-10-27"] {
                let moment = berlin.moment(shown(&format!("{day}T{time}")));
                assert!(matches!(moment, Moment::Once(_)), "{day} {time}");
            }
        }
    }

    /// Clocks that were set by half an hour, by a day, and in the other half of the year.
    #[test]
    fn every_zone_agrees_with_itself() {
        let zones =
            ["Australia/Lord_Howe", "Pacific/Apia", "America/New_York", "Africa/Casablanca"];
        for name in zones {
            let zone = zone(name);
            for &change in zone.changes() {
                for moment in [change - 86_400, change - 1, change, change + 1799, change + 86_400]
                {
                    let shown = moment + zone.offset_at(moment);
                    let found = match zone.moment(shown) {
                        Moment::Once(found) => found == moment,
                        Moment::Twice(first, second) => first == moment || second == moment,
                        Moment::Never(_) => false,
                    };
                    assert!(found, "{name}: {moment}");
                }
            }
        }
        let day_without = zone("Pacific/Apia").moment(shown("2011-12-30T12:00:00"));
        assert_eq!(day_without, Moment::Never(at("2011-12-30T10:00:00Z")));
    }

    /// As in MySQL's tables, unlike a machine's own zone.
    #[test]
    fn named_zones_keep_their_distance_after_2037() {
        assert_eq!(zone("Europe/Berlin").offset_at(at("2037-07-01T00:00:00Z")), 7200);
        assert_eq!(zone("Europe/Berlin").offset_at(at("2060-07-01T00:00:00Z")), 3600);
        let machine = TimeZone::of_system("Europe/Berlin").unwrap();
        assert_eq!(machine.offset_at(at("2060-07-01T00:00:00Z")), 7200);
    }

    #[test]
    fn the_database_has_places() {
        let all = TimeZone::all();
        assert!(all.len() > 300, "{}", all.len());
        assert!(all.contains(&zone("Asia/Tokyo")) && all.contains(&zone("Europe/Berlin")));
    }

    #[test]
    fn many_dates_are_shifted_as_one_by_one() {
        for zone in [zone("America/New_York"), zone("Pacific/Apia"), TimeZone::fixed(-20_700)] {
            let mut shift = Shift::new(zone);
            for step in 0..50_000_i64 {
                let micros = step * 7919 % 50_000 * 86_400 * MICROS / 37 * 10 + step;
                let date = DateTime::date(1970, 1, 1).plus_micros(micros).unwrap();
                assert_eq!(shift.local(date.pack()), Some(zone.local(micros).pack()));
            }
        }
    }
}
