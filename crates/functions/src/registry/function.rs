//! [`Function`]: what is decided by the name of a function, a row of the table of functions.

use std::sync::Arc;

use pelorus_error::Result;

use crate::call::Call;
use crate::context::EvalContext;
use crate::registry::{fallibility, mariadb};
use crate::short_circuit::Flow;
use crate::value::Arg;

/// Binds a call to its arguments. The name is the one of the call, in upper case.
pub(crate) type Bind = fn(&str, &[Arg], &Arc<EvalContext>) -> Result<Call>;

/// On what else than its arguments the value of a call depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// On nothing: equal arguments give equal values.
    Immutable,
    /// On the time of the statement.
    Time,
    /// On the session.
    Session,
    /// Every call gives another value.
    Random,
    /// The call changes something.
    Effect,
}

/// The expressions of a table's definition that may call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Generated columns, CHECK constraints and defaults.
    Everywhere,
    /// Defaults: its value is another one at another time or in another session.
    Defaults,
    /// None.
    Never,
}

/// Whether the row condition of a mirror may call a function: one that never fails, that no session
/// changes, and that servers compute alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filters {
    /// It may not.
    No,
    /// It may.
    Yes,
    /// It may, with dates as arguments.
    Dates,
}

/// Some of the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// None of them.
    None,
    /// All of them.
    All,
    /// Those at these places, counted from 0.
    At(&'static [usize]),
    /// Those after a place.
    After(usize),
    /// The conditions of a CASE: every other argument, but not the result of ELSE at the end.
    Conditions,
}

impl Places {
    /// Whether the argument at a place, of so many, is among them.
    pub(crate) fn has(self, at: usize, count: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::At(places) => places.contains(&at),
            Self::After(place) => at > place,
            Self::Conditions => at.is_multiple_of(2) && at + 1 < count,
        }
    }
}

/// Whether the value of a call is that of one of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chooses {
    /// It is a value of its own.
    Nothing,
    /// It is one of the arguments as it is.
    Argument,
    /// It is one of the arguments in the common type of all.
    Common,
}

/// A row of the table.
#[derive(Debug)]
pub struct Function {
    /// The names in upper case; those after the first are synonyms.
    pub names: &'static [&'static str],
    /// How a call is bound; `None` where linked servers alone compute it.
    pub(crate) bind: Option<Bind>,
    /// Whether MySQL has a function of these names: operators and MariaDB's functions are none.
    pub is_mysql: bool,
    /// What the value depends on.
    pub volatility: Volatility,
    /// The same of a call without arguments, where that differs.
    pub without_arguments: Option<Volatility>,
    /// Which definitions may call it.
    pub stored: Stored,
    /// Whether a partitioning expression may call it.
    pub in_partitions: bool,
    /// Whether the row condition of a mirror may call it.
    pub filters: Filters,
    /// Whether a NULL argument makes the result NULL.
    pub is_strict: bool,
    /// Whether MySQL's grammar knows the function: a wrong number of arguments is a syntax error
    /// (1064), and error 1582 for all others.
    pub in_grammar: bool,
    /// Whether the first argument is a keyword, such as a unit of time.
    pub takes_keyword: bool,
    /// Whether a call leaves neither an error nor a warning, whatever the values of its arguments.
    pub(crate) infallible: fallibility::Rule,
    /// Whether MariaDB gives the same for some arguments.
    pub(crate) on_mariadb: mariadb::Rule,
    /// In which order the arguments are evaluated if one of them can fail.
    pub(crate) flow: Option<Flow>,
    /// Whether the value is one of the arguments.
    pub(crate) chooses: Chooses,
    /// The arguments that are used as numbers whatever their types.
    pub(crate) numbers: Places,
    /// Whether these numbers keep their fractions.
    pub(crate) reals: bool,
    /// The arguments that are used as texts whatever their types.
    pub(crate) texts: Places,
    /// Whether only the bytes of texts count, so that these need not be valid in their charset.
    pub(crate) bytes: bool,
    /// How it is called.
    pub signature: &'static str,
    /// What it returns.
    pub text: &'static str,
    /// A call, and what it gives where that is the same each time.
    pub example: Option<(&'static str, Option<&'static str>)>,
}

/// A function that is computed here.
pub(crate) const fn function(names: &'static [&'static str], bind: Bind) -> Function {
    Function {
        names,
        bind: Some(bind),
        is_mysql: true,
        volatility: Volatility::Immutable,
        without_arguments: None,
        stored: Stored::Everywhere,
        in_partitions: false,
        filters: Filters::No,
        is_strict: true,
        in_grammar: false,
        takes_keyword: false,
        infallible: fallibility::unknown,
        on_mariadb: mariadb::always,
        flow: None,
        chooses: Chooses::Nothing,
        numbers: Places::None,
        reals: false,
        texts: Places::None,
        bytes: false,
        signature: "",
        text: "",
        example: None,
    }
}

/// An operator, or a form of a function with a name of its own.
pub(crate) const fn operator(names: &'static [&'static str], bind: Bind) -> Function {
    Function { is_mysql: false, ..function(names, bind) }
}

/// A function of MySQL that only linked servers compute.
pub(crate) const fn elsewhere(names: &'static [&'static str]) -> Function {
    Function { bind: None, ..function(names, no_kernel) }
}

/// A function that MySQL has not, or only as an aggregate.
pub(crate) const fn of_mariadb(names: &'static [&'static str]) -> Function {
    Function { is_mysql: false, ..elsewhere(names) }
}

fn no_kernel(name: &str, _: &[Arg], _: &Arc<EvalContext>) -> Result<Call> {
    Err(pelorus_error::Error::internal(format!("{name} has no kernel")))
}

impl Function {
    pub(crate) const fn volatile(self, volatility: Volatility) -> Self {
        Self { volatility, ..self }
    }

    pub(crate) const fn bare(self, volatility: Volatility) -> Self {
        Self { without_arguments: Some(volatility), ..self }
    }

    pub(crate) const fn stored(self, stored: Stored) -> Self {
        Self { stored, ..self }
    }

    pub(crate) const fn own_nulls(self) -> Self {
        Self { is_strict: false, ..self }
    }

    pub(crate) const fn partitions(self) -> Self {
        Self { in_partitions: true, ..self }
    }

    pub(crate) const fn filters(self) -> Self {
        Self { filters: Filters::Yes, ..self }
    }

    pub(crate) const fn filters_dates(self) -> Self {
        Self { filters: Filters::Dates, ..self }
    }

    pub(crate) const fn grammar(self) -> Self {
        Self { in_grammar: true, ..self }
    }

    pub(crate) const fn says(self, signature: &'static str, text: &'static str) -> Self {
        Self { signature, text, ..self }
    }

    pub(crate) const fn gives(self, example: &'static str, result: &'static str) -> Self {
        Self { example: Some((example, Some(result))), ..self }
    }

    pub(crate) const fn example(self, example: &'static str) -> Self {
        Self { example: Some((example, None)), ..self }
    }

    pub(crate) const fn infallible(self, infallible: fallibility::Rule) -> Self {
        Self { infallible, ..self }
    }

    pub(crate) const fn mariadb(self, on_mariadb: mariadb::Rule) -> Self {
        Self { on_mariadb, ..self }
    }

    pub(crate) const fn keyword(self) -> Self {
        Self { takes_keyword: true, ..self }
    }

    pub(crate) const fn flow(self, flow: Flow) -> Self {
        Self { flow: Some(flow), ..self }
    }

    pub(crate) const fn chooses(self, chooses: Chooses) -> Self {
        Self { chooses, ..self }
    }

    pub(crate) const fn numbers(self, numbers: Places) -> Self {
        Self { numbers, ..self }
    }

    pub(crate) const fn reals(self) -> Self {
        Self { reals: true, ..self }
    }

    pub(crate) const fn texts(self, texts: Places) -> Self {
        Self { texts, ..self }
    }

    pub(crate) const fn bytes(self) -> Self {
        Self { bytes: true, ..self }
    }

    /// Whether only some rows reach the arguments after the first, as with IF and COALESCE.
    pub fn skips_arguments(&self) -> bool {
        matches!(self.flow, Some(Flow::If | Flow::Case | Flow::Coalesce))
    }
}
