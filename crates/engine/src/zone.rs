//! The time zone of this machine, which `time_zone = 'SYSTEM'` means.

use pelorus_env::Env;
use pelorus_functions::TimeZone;

/// The zone of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Zone {
    /// The value of `@@system_time_zone`.
    pub(crate) name: String,
    /// The time zone that expressions use.
    pub(crate) zone: TimeZone,
}

impl Zone {
    /// Asks the operating system; a machine that has none runs on universal time.
    pub(crate) fn of_machine(env: &Env) -> Self {
        let now = i64::try_from(env.clock.since_epoch().as_secs()).unwrap_or(i64::MAX);
        let (zone, name) = TimeZone::of_machine(now);
        Self { name, zone }
    }
}
