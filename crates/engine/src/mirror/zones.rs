//! Time zones of linked servers: determined from the clocks of the servers, since a zone's name is
//! ambiguous (`CST` is used in three parts of the world).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pelorus_env::Env;
use pelorus_functions::TimeZone;
use pelorus_link::{Link, SessionSettings};
use pelorus_store::{Commit, Database};
use tokio::sync::watch;

/// TIMESTAMPs begin here, and servers' tables of zones end with 2037.
const KNOWN: std::ops::Range<i64> = 86_400..2_145_830_400;
/// Quarters of a year, about, in seconds.
const QUARTER: usize = 7_889_400;
/// How many moments one statement queries.
const AT_ONCE: usize = 500;

/// The time zones of linked servers, which are checked regularly.
#[derive(Clone, Debug, Default)]
pub(crate) struct Zones(Arc<Mutex<HashMap<String, Known>>>);

/// The known zone of a server.
#[derive(Clone, Debug)]
struct Known {
    /// The time of the last request, and the stream of its binlog at that time.
    asked: Asked,
    /// The last answer, and the time of its request.
    answer: Option<(Asked, ServerZone)>,
    /// The receiver of the running request.
    told: Told,
}

/// The time of a request: on the monotonic clock, and the number of the stream of its binlog. After
/// another stream there may be another server, or one that has been started again.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Duration,
    stream: u64,
}

impl Asked {
    /// Whether it was not long ago, and of the same stream.
    fn is_younger(self, than: Duration, now: Asked) -> bool {
        self.stream == now.stream && now.at.saturating_sub(self.at) < than
    }
}

/// The answer of a question that may be on its way; `None` so far, and closed without one where the
/// server did not answer.
type Told = watch::Receiver<Option<ServerZone>>;

/// The time zone of sessions that say nothing of theirs.
#[derive(Clone, Debug)]
pub(crate) struct ServerZone {
    /// The server's name of the zone.
    name: String,
    /// Its distance from universal time now.
    pub(crate) at_present: TimeZone,
    /// The zone of the database whose clocks show the same from 1970 on, if there is one.
    pub(crate) zone: Option<TimeZone>,
}

impl Zones {
    /// How long an answer is valid. Servers with mirrors are asked more often, by [`Self::learn`].
    const KEEP: Duration = Duration::from_secs(30);
    /// The minimum interval of requests.
    const AGAIN: Duration = Duration::from_secs(5);

    /// The zone of a server whose binlog's stream has some number; `None` if it does not answer
    /// within `patience`. Concurrent callers share one request.
    pub(crate) async fn of(
        &self,
        link: &Link,
        store: &Arc<Database>,
        env: &Env,
        stream: u64,
        patience: Duration,
    ) -> Option<ServerZone> {
        let now = Asked { at: env.clock.monotonic(), stream };
        let known = self.0.lock().get(link.name()).cloned();
        let answer = known.as_ref().and_then(|it| it.answer.as_ref());
        if let Some((_, zone)) = answer.filter(|(asked, _)| asked.is_younger(Self::KEEP, now)) {
            return Some(zone.clone());
        }
        let asked = known.filter(|it| it.asked.is_younger(Self::AGAIN, now));
        // Concurrent callers share one wait.
        let waited = asked.as_ref().map_or(Duration::ZERO, |it| now.at.saturating_sub(it.asked.at));
        let told = match asked {
            Some(asked) => asked.told,
            None => self.ask_again(link, store, env, now),
        };
        heard(told, patience.saturating_sub(waited)).await
    }

    /// The last answer of a server, whatever its age.
    pub(crate) fn last(&self, link: &Link) -> Option<ServerZone> {
        self.0.lock().get(link.name())?.answer.as_ref().map(|(_, zone)| zone.clone())
    }

    /// Asks a server that has mirrors: its zone may be another by now, and it may be away when queries
    /// need it.
    pub(crate) fn learn(&self, link: &Link, store: &Arc<Database>, env: &Env, stream: u64) {
        let now = Asked { at: env.clock.monotonic(), stream };
        let is_known =
            self.0.lock().get(link.name()).is_some_and(|it| it.asked.is_younger(Self::AGAIN, now));
        if !is_known {
            self.ask_again(link, store, env, now);
        }
    }

    /// Requests the zone of a server concurrently with the statement. The first caller does; two
    /// may do so at once.
    fn ask_again(&self, link: &Link, store: &Arc<Database>, env: &Env, asked: Asked) -> Told {
        let (tell, told) = watch::channel(None);
        let answer = {
            let mut all = self.0.lock();
            let answer = all.get(link.name()).and_then(|it| it.answer.clone());
            let known = Known { asked, answer: answer.clone(), told: told.clone() };
            all.insert(link.name().to_owned(), known);
            answer
        };
        let moment = i64::try_from(env.clock.since_epoch().as_secs()).unwrap_or(i64::MAX);
        let (zones, link, store) = (self.clone(), link.clone(), Arc::clone(store));
        tokio::spawn(async move {
            let before = answer.as_ref().map(|(_, zone)| zone);
            let Some(zone) = ask(&link, before, moment).await else { return };
            if before.is_some_and(|it| it.name != zone.name) {
                // Sessions keep the zone that they began with.
                link.renew();
            }
            keep_for_restarts(&store, &link, &zone);
            zones.note(link.name(), asked, zone.clone());
            // Perhaps no caller waits any more.
            tell.send(Some(zone)).ok();
        });
        told
    }

    /// Notes an answer, unless a later request has been answered.
    fn note(&self, link: &str, asked: Asked, zone: ServerZone) {
        if let Some(known) = self.0.lock().get_mut(link)
            && known.answer.as_ref().is_none_or(|(it, _)| it.at <= asked.at)
        {
            known.answer = Some((asked, zone));
        }
    }
}

/// Waits for an answer.
async fn heard(mut told: Told, patience: Duration) -> Option<ServerZone> {
    let zone = tokio::time::timeout(patience, told.wait_for(Option::is_some)).await.ok()?.ok()?;
    zone.clone()
}

/// The key of a server's zone in the store.
fn key(link: &Link) -> Vec<u8> {
    format!("zone/{}", link.name().to_lowercase()).into_bytes()
}

/// Stores the zone of a server, for mirrors that are read after a start while the server is
/// unreachable.
fn keep_for_restarts(store: &Database, link: &Link, zone: &ServerZone) {
    let is_system = zone.name.starts_with("SYSTEM");
    let text = zone.zone.map(|zone| written(zone, is_system).into_bytes());
    if store.value(&key(link)) == text {
        return;
    }
    let commit = Commit { values: vec![(key(link), text)], ..Commit::default() };
    if let Err(error) = pelorus_env::blocking(|| store.commit(&commit)) {
        tracing::debug!(link = link.name(), %error, "the time zone of the server is not kept");
    }
}

/// The zone of a server in its last answer.
pub(crate) fn kept(store: &Database, link: &Link) -> Option<TimeZone> {
    read(&String::from_utf8(store.value(&key(link))?).ok()?)
}

/// A zone as text: seconds east, or its name, with a word where it is that of a machine.
fn written(zone: TimeZone, is_system: bool) -> String {
    match zone {
        TimeZone::Utc => "0".to_owned(),
        TimeZone::Offset(seconds) => seconds.to_string(),
        TimeZone::Rules(rules) if is_system => format!("SYSTEM/{}", rules.name()),
        TimeZone::Rules(rules) => rules.name().to_owned(),
    }
}

/// The zone of such a text.
fn read(text: &str) -> Option<TimeZone> {
    match (text.parse::<i32>(), text.strip_prefix("SYSTEM/")) {
        (Ok(seconds), _) => Some(TimeZone::fixed(seconds)),
        (_, Some(name)) => TimeZone::of_system(name),
        _ => TimeZone::named(text),
    }
}

/// The local time of a server's new sessions at a moment in universal time. The zone of the
/// requesting session may differ: it has the zone with which it began.
fn shown(moment: &str) -> String {
    format!("CONVERT_TZ({moment}, '+00:00', @@GLOBAL.time_zone)")
}

async fn ask(link: &Link, known: Option<&ServerZone>, now: i64) -> Option<ServerZone> {
    let ask = format!(
        "SELECT CONCAT_WS(', ', @@GLOBAL.time_zone, @@system_time_zone), \
         TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), {})",
        shown("UTC_TIMESTAMP()")
    );
    let rows = link.ask(&SessionSettings::default(), &ask).await.ok()?;
    let [Some(name), Some(offset)] = rows.first()?.as_slice() else { return None };
    let offset: i32 = offset.parse().ok()?;
    let at_present = TimeZone::fixed(offset);
    if let Some(known) = known
        && known.name == *name
        && known.zone.is_some_and(|zone| zone.offset_at(now) == i64::from(offset))
    {
        return Some(ServerZone { at_present, ..known.clone() });
    }
    let zone = find(link, at_present).await?;
    let is_system = name.starts_with("SYSTEM");
    let zone = match zone {
        Some(TimeZone::Rules(rules)) if is_system => TimeZone::of_system(rules.name()),
        other => other,
    };
    match zone {
        Some(_) => {
            tracing::debug!(link = link.name(), name, "the time zone of the server is known")
        }
        None => tracing::warn!(
            link = link.name(),
            name,
            "no known time zone is that of the server; its tables with TIMESTAMPs are read there \
             (SET time_zone = '+00:00' lets queries read mirrors)"
        ),
    }
    Some(ServerZone { name: name.clone(), at_present, zone })
}

/// The zone whose local times equal the server's: of those that agree with it four times a year,
/// one that agrees with it around every moment at which the offset of one of them changes. It may
/// also keep its offset `at_present`. `None` where the server does not answer.
async fn find(link: &Link, at_present: TimeZone) -> Option<Option<TimeZone>> {
    let mut left = tokio::task::spawn_blocking(TimeZone::all).await.ok()?;
    left.insert(0, at_present);
    keep(link, &mut left, KNOWN.step_by(QUARTER).collect()).await?;
    let changes = left.iter().flat_map(|zone| zone.changes());
    let mut moments: Vec<i64> = changes.flat_map(|change| [change - 1, *change]).collect();
    moments.retain(|moment| KNOWN.contains(moment));
    moments.sort_unstable();
    moments.dedup();
    keep(link, &mut left, moments).await?;
    Some(left.first().copied())
}

/// Leaves the zones that agree with the server at some moments.
async fn keep(link: &Link, zones: &mut Vec<TimeZone>, moments: Vec<i64>) -> Option<()> {
    for some in moments.chunks(AT_ONCE) {
        let offset = |moment: &i64| {
            let shown = shown(&format!("'1970-01-01' + INTERVAL {moment} SECOND"));
            format!("TIMESTAMPDIFF(SECOND, '1970-01-01', {shown}) - {moment}")
        };
        let offsets: Vec<String> = some.iter().map(offset).collect();
        let sql = format!("SELECT {}", offsets.join(", "));
        let rows = link.ask(&SessionSettings::default(), &sql).await.ok()?;
        let shown = rows.first()?.iter().map(|it| it.as_ref()?.parse::<i64>().ok());
        let shown: Vec<Option<i64>> = shown.collect();
        zones.retain(|zone| {
            some.iter().zip(&shown).all(|(moment, shown)| *shown == Some(zone.offset_at(*moment)))
        });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone() -> ServerZone {
        ServerZone { name: "+05:00".to_owned(), at_present: TimeZone::fixed(18_000), zone: None }
    }

    #[test]
    fn zones_are_read_as_they_were_written() {
        let system = TimeZone::of_system("Europe/Berlin").unwrap();
        let named = TimeZone::named("Europe/Berlin").unwrap();
        for (zone, is_system) in [
            (TimeZone::Utc, true),
            (TimeZone::fixed(-12_600), false),
            (system, true),
            (named, false),
        ] {
            assert_eq!(read(&written(zone, is_system)), Some(zone));
        }
        assert_eq!(read("No/Where"), None);
    }

    #[tokio::test]
    async fn all_who_come_while_a_server_is_asked_hear_its_answer() {
        let (tell, told) = watch::channel(None);
        let patience = Duration::from_secs(60);
        let (one, two) = (heard(told.clone(), patience), heard(told, patience));
        let answer = async { tell.send(Some(zone())).unwrap() };
        let (one, two, ()) = tokio::join!(one, two, answer);
        assert_eq!((one.unwrap().name, two.unwrap().name), (zone().name, zone().name));
    }

    #[tokio::test]
    async fn without_an_answer_no_zone_is_taken() {
        let (tell, told) = watch::channel(None);
        assert!(heard(told.clone(), Duration::from_millis(1)).await.is_none());
        drop(tell);
        assert!(heard(told, Duration::from_secs(60)).await.is_none());
    }

    #[test]
    fn answers_hold_for_a_while_and_for_one_stream() {
        let asked = |seconds, stream| Asked { at: Duration::from_secs(seconds), stream };
        let most = Duration::from_secs(30);
        assert!(asked(10, 1).is_younger(most, asked(39, 1)));
        assert!(!asked(10, 1).is_younger(most, asked(40, 1)));
        assert!(!asked(10, 1).is_younger(most, asked(10, 2)));
    }

    #[test]
    fn late_answers_do_not_replace_later_ones() {
        let zones = Zones::default();
        let asked = |seconds| Asked { at: Duration::from_secs(seconds), stream: 1 };
        let told = watch::channel(None).1;
        let known = Known { asked: asked(9), answer: Some((asked(5), zone())), told };
        zones.0.lock().insert("s".to_owned(), known);
        let named = |name: &str| ServerZone { name: name.to_owned(), ..zone() };
        let name = || zones.0.lock()["s"].answer.as_ref().map(|(_, it)| it.name.clone());
        zones.note("s", asked(4), named("old"));
        assert_eq!(name(), Some(zone().name));
        zones.note("s", asked(9), named("new"));
        assert_eq!(name().as_deref(), Some("new"));
    }
}
