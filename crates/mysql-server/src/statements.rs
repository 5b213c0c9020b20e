//! The edge's state of prepared statements: types of parameters, long data, open cursors.

use std::collections::HashMap;

use pelorus_engine::api::Parameter;
use pelorus_env::{Account, Reservation};
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::charset;
use pelorus_mysql_wire::prepared::{self, ParameterType, Value};
use pelorus_types::Collation;

use crate::rows::RowSource;

/// The prepared statements of one connection.
pub(crate) struct Statements {
    /// What counts the memory of the session.
    memory: Account,
    open: HashMap<u32, Statement>,
    /// The one prepared last, which MariaDB's clients can call by no number.
    last: Option<u32>,
}

/// The edge's part of a prepared statement.
#[derive(Default)]
pub(crate) struct Statement {
    types: Vec<ParameterType>,
    long_data: Vec<Option<Vec<u8>>>,
    /// The memory of long data.
    held: Option<Reservation>,
    /// What went wrong with long data, which has no answer of its own.
    long_data_error: Option<Error>,
    pub(crate) cursor: Option<RowSource>,
}

impl Statements {
    /// No statements yet, of a session whose memory an account counts.
    pub(crate) fn new(memory: Account) -> Self {
        Self { memory, open: HashMap::new(), last: None }
    }

    pub(crate) fn opened(&mut self, id: u32) {
        self.open.insert(id, Statement::default());
        self.last = Some(id);
    }

    pub(crate) fn close(&mut self, id: u32) {
        self.open.remove(&id);
    }

    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.last = None;
    }

    /// A statement is being prepared: unless it can be, there is none that was prepared last.
    pub(crate) fn preparing(&mut self) {
        self.last = None;
    }

    /// The number that a client means.
    pub(crate) fn resolve(&self, id: u32) -> u32 {
        if id == prepared::LAST_PREPARED { self.last.unwrap_or(id) } else { id }
    }

    /// The statement, or MySQL's error 1243 in the words of the command.
    pub(crate) fn get(&mut self, id: u32, command: &str) -> Result<&mut Statement> {
        self.open.get_mut(&id).ok_or_else(|| {
            Error::new(
                Code::UnknownStatement,
                format!("Unknown prepared statement handler ({id}) given to {command}"),
            )
        })
    }

    /// Keeps a piece of a parameter. There is no answer, so a failure waits for EXECUTE.
    pub(crate) fn long_data(&mut self, id: u32, parameter: u16, data: &[u8], limits: (u16, usize)) {
        let Some(statement) = self.open.get_mut(&id) else { return };
        if statement.long_data_error.is_some() {
            return;
        }
        if let Err(error) = statement.add_long_data(&self.memory, parameter, data, limits) {
            statement.forget_long_data();
            statement.long_data_error = Some(error);
        }
    }

    /// Whether rows of an open cursor are still to be computed.
    pub(crate) fn has_cursors(&self) -> bool {
        let mut cursors = self.open.values().filter_map(|statement| statement.cursor.as_ref());
        cursors.any(|cursor| !cursor.is_whole())
    }

    /// Reads the rows of open cursors into memory: the next statement may need the resources on
    /// which they run.
    pub(crate) async fn hoard_cursors(&mut self) {
        for statement in self.open.values_mut() {
            if let Some(cursor) = &mut statement.cursor {
                cursor.hoard().await;
            }
        }
    }
}

impl Statement {
    /// Adds to the value of a parameter, of so many, which has so many bytes at most.
    fn add_long_data(
        &mut self,
        memory: &Account,
        parameter: u16,
        data: &[u8],
        (count, most): (u16, usize),
    ) -> Result<()> {
        if parameter >= count {
            return Err(Error::new(
                Code::WrongArguments,
                "Incorrect arguments to mysqld_stmt_send_long_data",
            ));
        }
        let index = usize::from(parameter);
        if self.long_data.len() <= index {
            self.long_data.resize(index + 1, None);
        }
        let value = self.long_data[index].get_or_insert_default();
        if value.len() + data.len() > most {
            // The servers give it no number of its own.
            return Err(Error::new(
                Code::LongDataTooLong,
                "Parameter of prepared statement which is set through mysql_send_long_data() is \
                 longer than 'max_allowed_packet' bytes",
            ));
        }
        let held = self.held.get_or_insert_with(|| memory.empty());
        let bytes = held.bytes() + data.len();
        held.try_resize(bytes).map_err(Error::out_of_memory)?;
        value.extend_from_slice(data);
        Ok(())
    }

    fn forget_long_data(&mut self) {
        self.long_data = Vec::new();
        self.held = None;
    }

    /// Forgets long data and cursor.
    pub(crate) fn reset(&mut self) {
        self.forget_long_data();
        self.long_data_error = None;
        self.cursor = None;
    }

    /// Reads the parameters of EXECUTE; long data is used up.
    pub(crate) fn parameters(
        &mut self,
        bytes: &[u8],
        count: u16,
        client: Collation,
    ) -> Result<Vec<Parameter>> {
        self.cursor = None;
        let long_data = std::mem::take(&mut self.long_data);
        let _held = self.held.take();
        if let Some(error) = self.long_data_error.take() {
            return Err(error);
        }
        let values = prepared::parse_parameters(bytes, count, &mut self.types, &long_data)?;
        values.into_iter().map(|value| parameter(value, client)).collect()
    }
}

fn parameter(value: Value<'_>, client: Collation) -> Result<Parameter> {
    Ok(match value {
        Value::Null => Parameter::Null,
        Value::Int(value) => Parameter::Int(value),
        Value::UInt(value) => Parameter::UInt(value),
        Value::Float(value) => Parameter::Float(value),
        Value::Double(value) => Parameter::Double(value),
        Value::Decimal(text) => Parameter::Decimal(decimal(text)?),
        // Some drivers bind bytes as strings; what is no text is bytes then.
        Value::Text(bytes) => match charset::decode(client, bytes) {
            Ok(text) => Parameter::Text(text.into_owned()),
            Err(error) if error.code() == Code::InvalidCharacterString => {
                Parameter::Bytes(bytes.to_vec())
            }
            Err(error) => return Err(error),
        },
        Value::Bytes(bytes) => Parameter::Bytes(bytes.to_vec()),
        Value::Date(packed) => Parameter::Date(packed),
        Value::DateTime(packed) => Parameter::DateTime(packed),
        Value::Time(micros) => Parameter::Time(micros),
    })
}

/// The text of a DECIMAL, which the engine may put into a statement: digits, and nothing else.
fn decimal(text: &[u8]) -> Result<String> {
    let refused = || Error::new(Code::WrongArguments, "Incorrect arguments to mysqld_stmt_execute");
    let text = std::str::from_utf8(text).map_err(|_| refused())?;
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let any = !whole.is_empty() || !fraction.is_empty();
    if any && all_digits(whole) && all_digits(fraction) {
        Ok(text.to_owned())
    } else {
        Err(refused())
    }
}

#[cfg(test)]
mod tests {
    use pelorus_engine::api::{ResultSet, Rows};
    use pelorus_mysql_wire::rows::Format;

    use super::*;

    #[test]
    fn decimals_are_digits_or_refused() {
        for text in ["1", "-1.50", "+.5", "7."] {
            assert_eq!(decimal(text.as_bytes()).unwrap(), text);
        }
        for text in ["", "-", ".", "1e5", "1 or 1=1", "--1", "1.2.3"] {
            assert_eq!(decimal(text.as_bytes()).unwrap_err().errno(), 1210, "{text}");
        }
    }

    /// A cursor over two rows of 100 bytes.
    fn cursor(memory: &Account) -> RowSource {
        let mut row = 96_u32.to_le_bytes().to_vec();
        row.resize(100, 0);
        let rows = [row.clone(), row].map(|row| Ok(Rows::Encoded(row.into())));
        let end: [Result<Rows>; 1] = [Ok(Rows::End { warnings: 0 })];
        let rows = Box::pin(futures::stream::iter(rows.into_iter().chain(end)));
        let result = ResultSet { columns: Vec::new(), rows };
        RowSource::new(result, Format::Binary, None, memory.clone()).unwrap()
    }

    #[tokio::test]
    async fn all_cursors_share_one_memory() {
        let memory = Account::new("a session", 450);
        let mut statements = Statements::new(memory.clone());
        for id in 1..=3 {
            statements.opened(id);
            statements.get(id, "").unwrap().cursor = Some(cursor(&memory));
        }
        statements.hoard_cursors().await;
        assert_eq!(memory.held(), 400);
        // What is there stays, and counts.
        statements.opened(4);
        statements.get(4, "").unwrap().cursor = Some(cursor(&memory));
        statements.hoard_cursors().await;
        let mut ends = Vec::new();
        for id in 1..=4 {
            let cursor = statements.get(id, "").unwrap().cursor.as_mut().unwrap();
            ends.push(cursor.take_end().map_err(|error| error.errno()));
        }
        ends.sort_unstable();
        assert_eq!(ends, [Ok(0), Ok(0), Err(1041), Err(1041)]);
        statements.clear();
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn long_data_has_limits_and_leaves_nothing() {
        let memory = Account::new("a session", 100);
        let mut statements = Statements::new(memory.clone());
        statements.opened(1);
        let failure = |statements: &mut Statements| {
            let statement = statements.get(1, "").unwrap();
            let utf8 = pelorus_types::collation::UTF8MB4_0900_AI_CI;
            statement.parameters(&[0, 1], 2, utf8).unwrap_err().errno()
        };
        for (pieces, errno) in [
            // A parameter that there is not, one that is too long, more than the session has.
            (vec![(2, 1)], 1210),
            (vec![(0, 40), (1, 40), (0, 21)], 1105),
            (vec![(0, 60), (1, 41), (1, 1)], 1041),
        ] {
            for (parameter, bytes) in pieces {
                statements.long_data(1, parameter, &vec![7; bytes], (2, 60));
            }
            assert_eq!(memory.held(), 0, "{errno}");
            assert_eq!(failure(&mut statements), errno);
        }
        statements.long_data(1, 0, &[7; 60], (2, 60));
        assert_eq!(memory.held(), 60);
        statements.get(1, "").unwrap().reset();
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn text_that_is_none_becomes_bytes() {
        let utf8 = pelorus_types::collation::UTF8MB4_0900_AI_CI;
        assert_eq!(
            parameter(Value::Text(b"\xff"), utf8).unwrap(),
            Parameter::Bytes(b"\xff".to_vec())
        );
        assert_eq!(
            parameter(Value::Text(b"\xe9"), Collation(8)).unwrap(),
            Parameter::Text("é".to_owned())
        );
    }
}
