//! The faults that a simulated disk can inject.

/// A failure of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The machine stops in the middle of a changing operation: its effect is pending, and this and
    /// all later calls fail until the crash is requested.
    Crash,
    /// A read fails.
    ReadError,
    /// A write, a length change, an allocation or a change of names fails; a part of a write may
    /// have happened.
    WriteError,
    /// A read returns fewer bytes than requested.
    ShortRead,
    /// A write takes less than given.
    ShortWrite,
    /// A read is interrupted and wants to be tried again.
    InterruptedRead,
    /// A write is interrupted and wants to be tried again.
    InterruptedWrite,
    /// A write, an allocation or a change of names finds no space; a part of a write may have
    /// happened.
    DiskFull,
    /// A file cannot be created or opened, since too many are open.
    TooManyFiles,
    /// A sync of a file or folder fails.
    Sync(SyncFailure),
    /// A write goes to another sector of the file and claims success.
    MisdirectedWrite,
    /// A write claims success and goes nowhere.
    LostWrite,
    /// A read returns the content from before the last sync.
    StaleRead,
}

/// The fate of the data after a failed sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncFailure {
    /// It is durable in spite of the report.
    Kept,
    /// The data is lost: reads return the previous durable content.
    Reverted,
    /// Reads see it until the crash, but it counts as written: the next sync reports success
    /// without having it (what Linux does with dirty pages after a failed writeback).
    Once,
    /// As `Once` for data in the operating system's cache. Writes that bypassed the cache have
    /// reached the disk, and are still to be made durable.
    Cached,
}

impl SyncFailure {
    /// All modes, for sweeps.
    pub const ALL: [Self; 4] = [Self::Kept, Self::Reverted, Self::Once, Self::Cached];
}

/// The part of the pending changes that survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// Nothing.
    Nothing,
    /// Everything.
    Everything,
    /// An arbitrary subset: sectors and names survive or not independently, some sectors read as
    /// zeros or garbage.
    Random,
    /// Everything but the end of the last write.
    Torn,
    /// Everything, but some sectors, of the last write at least, read as zeros.
    Zeroed,
    /// Everything, but some sectors, of the last write at least, read as garbage.
    Garbage,
}

impl Tear {
    /// All modes, for sweeps.
    pub const ALL: [Self; 6] =
        [Self::Nothing, Self::Everything, Self::Random, Self::Torn, Self::Zeroed, Self::Garbage];
}

/// The kinds of operation that faults choose between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Write,
    Length,
    /// Space is taken without writing.
    Allocate,
    Sync,
    /// A file or folder gets, changes or loses its name.
    Name,
    /// A file gets its name and is opened.
    Create,
    /// A file that is there is opened, which changes nothing.
    Open,
}

impl Operation {
    /// Whether it can change something.
    pub(super) fn is_change(self) -> bool {
        !matches!(self, Self::Read | Self::Open)
    }

    fn is_of_names(self) -> bool {
        matches!(self, Self::Name | Self::Create)
    }
}

impl Fault {
    /// Whether the fault can hit this kind of operation.
    pub(super) fn hits(self, operation: Operation) -> bool {
        match self {
            Self::Crash => operation.is_change(),
            Self::ReadError | Self::ShortRead | Self::InterruptedRead | Self::StaleRead => {
                operation == Operation::Read
            }
            Self::WriteError => {
                matches!(operation, Operation::Write | Operation::Length | Operation::Allocate)
                    || operation.is_of_names()
            }
            Self::DiskFull => {
                matches!(operation, Operation::Write | Operation::Allocate)
                    || operation.is_of_names()
            }
            Self::TooManyFiles => matches!(operation, Operation::Create | Operation::Open),
            Self::ShortWrite
            | Self::InterruptedWrite
            | Self::MisdirectedWrite
            | Self::LostWrite => operation == Operation::Write,
            Self::Sync(_) => operation == Operation::Sync,
        }
    }
}
