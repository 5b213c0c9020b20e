//! How all readers of a scan see one moment.

/// How the readers of a scan were brought to one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SnapshotMode {
    /// One connection reads: its own snapshot is the moment.
    Single,
    /// Without locks: every snapshot was opened at the same binlog position.
    Position,
    /// The tables were locked against writes for the moment in which the snapshots were opened.
    Locked,
    /// The account may not do either: snapshots were opened as close together as possible and may
    /// differ by what was committed in between.
    Near,
}
