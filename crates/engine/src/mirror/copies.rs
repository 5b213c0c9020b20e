//! [`EngineCopies`]: creates, alters and drops the native tables that hold the copies of mirrors.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use pelorus_env::Account;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::{EvalContext, SqlMode, TimeZone, Value};
use pelorus_mirror::model::copies::Circumstances;
use pelorus_mirror::{Absent, Copies, CopyColumn, CopyTable, Definition, MirrorName};
use pelorus_native::Catalog;
use pelorus_native::ddl::Definer;
use pelorus_native::definition::{DefaultValue, Derived, NativeDef};
use pelorus_native::write::auto::Steps;
use pelorus_native::write::lookup::{encoder, encoder_of};
use pelorus_result::diagnostics::Diagnostics;
use pelorus_result::kill::Stop;
use pelorus_result::scalar;
use pelorus_sql::ddl::{
    AlterAction, AlterTable, Base, ColumnDefault, DropTables, RenameTables, TableDefinition,
    TableStatement,
};
use pelorus_sql::statement::{MirrorFilter, TableName};
use pelorus_sql::{Mode, literal};
use pelorus_store::{Database, KeyEncoder, Keys, TableId};
use pelorus_types::WireType;

use super::definition::{COMPUTED, GENERATED, alter_of_copy, copy_of};
use super::filter::{self, RowFilter};
use super::{charset, hidden_database, of_hidden, opaque, retyped};
use crate::variables::{Globals, check};

/// The native tables that hold copies.
#[derive(Debug)]
pub(crate) struct EngineCopies {
    catalog: Arc<Catalog>,
    globals: Arc<Globals>,
    memory: Account,
}

impl EngineCopies {
    pub(crate) fn new(catalog: Arc<Catalog>, globals: Arc<Globals>, memory: Account) -> Self {
        Self { catalog, globals, memory }
    }

    fn definer(&self, circumstances: &Circumstances) -> Result<Definer> {
        let has = |word: &str| circumstances.sql_mode.split(',').any(|it| it == word);
        let mut context = EvalContext::default();
        context.now_micros = circumstances.micros;
        context.time_zone = time_zone(circumstances.time_zone.as_deref())?;
        context.sql_mode = SqlMode {
            error_for_division_by_zero: has("ERROR_FOR_DIVISION_BY_ZERO"),
            no_unsigned_subtraction: has("NO_UNSIGNED_SUBTRACTION"),
            no_zero_date: has("NO_ZERO_DATE"),
            no_zero_in_date: has("NO_ZERO_IN_DATE"),
            no_backslash_escapes: circumstances.mode.no_backslash_escapes,
            pad_char_to_full_length: false,
            time_truncate_fractional: has("TIME_TRUNCATE_FRACTIONAL"),
            allow_invalid_dates: has("ALLOW_INVALID_DATES"),
        };
        Ok(Definer {
            catalog: Arc::clone(&self.catalog),
            current: None,
            mode: circumstances.mode,
            context: Arc::new(context),
            strict: is_strict(circumstances),
            diagnostics: Diagnostics::default(),
            stop: Stop::never(),
            steps: Steps { increment: 1, offset: 1, zero_is_value: false, first: None },
            generates_keys: false,
            implies_timestamps: false,
        })
    }

    /// Whether a copy has its source's partitions; else it has none, or those of the user.
    fn is_laid_out_alike(&self, name: &MirrorName) -> bool {
        let def = self.catalog.table(&hidden_database(&name.link, &name.database), &name.table);
        def.is_some_and(|def| !def.partitioner.named().is_empty())
    }

    fn copy(&self, name: &MirrorName) -> Option<Arc<dyn CopyTable>> {
        let def = self.catalog.table(&hidden_database(&name.link, &name.database), &name.table)?;
        Some(Arc::new(Copy::new(def)))
    }

    /// Whether the values that a statement makes may depend on a time zone: TIMESTAMPs are there,
    /// or something becomes a moment.
    fn has_zoned_values(&self, name: &MirrorName, statement: &TableStatement) -> bool {
        let TableStatement::Alter(alter) = statement else { return false };
        let has = self.copy(name).is_none_or(|copy| {
            copy.columns().iter().any(|column| column.ty.wire == WireType::Timestamp)
        });
        has || alter.actions.iter().any(|action| match action {
            AlterAction::AddColumn { column, .. }
            | AlterAction::ModifyColumn { column, .. }
            | AlterAction::ChangeColumn { column, .. } => {
                matches!(column.data_type.base, Base::Date | Base::DateTime | Base::Timestamp)
                    || matches!(column.default, Some(ColumnDefault::CurrentTimestamp(_)))
            }
            AlterAction::DropColumn { .. } | AlterAction::RenameColumn(..) => false,
            _ => true,
        })
    }

    fn required(&self, name: &MirrorName) -> Result<Arc<dyn CopyTable>> {
        self.copy(name).ok_or_else(|| Error::internal(format!("the copy of '{name}' is not there")))
    }
}

/// Whether a statement makes TIMESTAMPs of other values. A MariaDB's end in 2106 and ours in 2038: what
/// does not fit must be an error.
fn makes_timestamps(statement: &TableStatement) -> bool {
    let TableStatement::Alter(alter) = statement else { return false };
    alter.actions.iter().any(|action| match action {
        AlterAction::ModifyColumn { column, .. } | AlterAction::ChangeColumn { column, .. } => {
            column.data_type.base == Base::Timestamp
        }
        _ => false,
    })
}

/// Whether a statement changes the charset of all columns. A server makes a TEXT longer that is too
/// short then; that values do not fit must be an error.
fn converts(statement: &TableStatement) -> bool {
    let TableStatement::Alter(alter) = statement else { return false };
    alter.actions.iter().any(|action| matches!(action, AlterAction::Convert { .. }))
}

/// Whether values that do not fit are errors.
fn is_strict(circumstances: &Circumstances) -> bool {
    let mut words = circumstances.sql_mode.split(',');
    words.any(|it| matches!(it, "STRICT_TRANS_TABLES" | "STRICT_ALL_TABLES"))
}

/// Plain circumstances: an empty `sql_mode`, universal time.
fn plain() -> Circumstances {
    Circumstances {
        mode: Mode::default(),
        sql_mode: "ALLOW_INVALID_DATES".to_owned(),
        micros: 0,
        is_mariadb: false,
        time_zone: None,
        collations: Vec::new(),
    }
}

/// The time zone of a statement that uses it.
fn time_zone(name: Option<&str>) -> Result<TimeZone> {
    let Some(name) = name else { return Ok(TimeZone::Utc) };
    check::zone(name).ok_or_else(|| {
        Error::unsupported(format_args!("following a statement in time zone '{name}'"))
    })
}

fn hidden_name(name: &MirrorName) -> TableName {
    TableName {
        database: Some(hidden_database(&name.link, &name.database)),
        name: name.table.clone(),
    }
}

impl Copies for EngineCopies {
    fn store(&self) -> &Arc<Database> {
        self.catalog.store()
    }

    fn transaction_bytes(&self) -> usize {
        let bytes = self.globals.get("pelorus_mirror_transaction_size").count();
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn memory(&self) -> &Account {
        &self.memory
    }

    fn all(&self) -> Vec<MirrorName> {
        let name = |(hidden, table): (String, String)| {
            let (link, database) = of_hidden(&hidden)?;
            Some(MirrorName { link: link.to_owned(), database: database.to_owned(), table })
        };
        self.catalog.hidden_tables().into_iter().filter_map(name).collect()
    }

    fn find(&self, name: &MirrorName) -> Option<Arc<dyn CopyTable>> {
        self.copy(name)
    }

    fn create(&self, name: &MirrorName, definition: &Definition) -> Result<Arc<dyn CopyTable>> {
        self.drop_copy(name)?;
        let mut copy = wanted(definition)?;
        copy.name.name.clone_from(&name.table);
        check(copy.clone())?;
        let definer = self.definer(&plain())?;
        let database = hidden_database(&name.link, &name.database);
        let made = definer.create_hidden(&database, copy.clone());
        if made.is_err() && definition.layout.is_none() && copy.partitioning.is_some() {
            // Partitions that are not to be had here are no reason to do without the table.
            copy.partitioning = None;
            definer.create_hidden(&database, copy)?;
        } else {
            made.map_err(|error| unfit(definition, error))?;
        }
        self.required(name)
    }

    fn drop_copy(&self, name: &MirrorName) -> Result<()> {
        let drop = DropTables {
            temporary: false,
            if_exists: true,
            tables: vec![hidden_name(name)],
            cascade: None,
        };
        self.definer(&plain())?.run(&TableStatement::Drop(drop)).map(|_| ())
    }

    fn change(
        &self,
        name: &MirrorName,
        statement: &TableStatement,
        circumstances: &Circumstances,
        filter: &MirrorFilter,
    ) -> Result<Arc<dyn CopyTable>> {
        let table = hidden_name(name);
        let statement = match statement {
            TableStatement::Truncate(_) => Some(TableStatement::Truncate(table)),
            TableStatement::Alter(alter) => {
                let mut alter = alter_of_copy(alter, self.is_laid_out_alike(name));
                let def =
                    self.catalog.table(&hidden_database(&name.link, &name.database), &name.table);
                if let (Some(alter), Some(def)) = (&mut alter, def) {
                    if circumstances.is_mariadb {
                        charset::json_as_text(alter);
                    }
                    charset::name_collations(alter, &circumstances.collations)?;
                    filter::alter(&def.definition, alter, filter)?;
                    opaque::check(&def.definition, alter)?;
                    retyped::check(&def.definition, alter, is_strict(circumstances))?;
                }
                alter.map(|alter| TableStatement::Alter(AlterTable { table, ..alter }))
            }
            _ => return Err(Error::unsupported("following this statement")),
        };
        if let Some(statement) = statement {
            let mut circumstances = circumstances.clone();
            let is_known = time_zone(circumstances.time_zone.as_deref()).is_ok();
            if !is_known && !self.has_zoned_values(name, &statement) {
                // MySQL names the session's zone, mostly `SYSTEM`, where it does not matter, too.
                circumstances.time_zone = None;
            }
            let mut definer = self.definer(&circumstances)?;
            definer.strict |= makes_timestamps(&statement) || converts(&statement);
            definer.run(&statement)?;
        }
        self.required(name)
    }

    fn empty(&self, name: &MirrorName) -> Result<Arc<dyn CopyTable>> {
        self.definer(&plain())?.run(&TableStatement::Truncate(hidden_name(name)))?;
        self.required(name)
    }

    fn analyze(&self, name: &MirrorName) -> Result<()> {
        let def = self.catalog.table(&hidden_database(&name.link, &name.database), &name.table);
        match def {
            Some(def) => self.definer(&plain())?.analyze(&def),
            None => Ok(()),
        }
    }

    fn rename(&self, from: &MirrorName, to: &MirrorName) -> Result<()> {
        let pairs = vec![(hidden_name(from), hidden_name(to))];
        let rename = TableStatement::Rename(RenameTables { if_exists: false, pairs });
        self.definer(&plain())?.run(&rename).map(|_| ())
    }
}

/// The remedy for a layout that names columns which the table does not have, or no longer has.
fn unfit(definition: &Definition, error: Error) -> Error {
    if definition.layout.is_none() || error.code() != Code::UnknownColumn {
        return error;
    }
    let text = format!(
        "the layout that the mirror was given does not fit the table ({}); UNMIRROR TABLE, and MIRROR \
         TABLE with columns that it has",
        error.message()
    );
    error.with_message(text)
}

/// Looks whether there can be a copy of a definition.
///
/// # Errors
/// Types that are not to be had, and a condition that does not fit the columns.
fn check(mut definition: TableDefinition) -> Result<()> {
    definition.partitioning = None;
    let segments = std::mem::take(&mut definition.segment_by);
    definition.normalise();
    let derived = Derived::of("", &definition, Mode::default())?;
    for target in derived.targets.iter().filter(|it| opaque::is_foreign(&it.ty)) {
        let is_it = |name: &String| name.eq_ignore_ascii_case(&target.name);
        if definition.keys.iter().any(|key| key.holds(&target.name)) {
            return Err(opaque::needed(&target.name, &target.ty, "the primary key"));
        }
        if segments.iter().flat_map(|it| filter::names_of(&it.tree)).any(|it| is_it(&it)) {
            return Err(opaque::needed(&target.name, &target.ty, "SEGMENT BY"));
        }
    }
    RowFilter::of(&definition, &derived.targets).map(drop)
}

/// Checks whether a table can have a mirror, given its definition and the user's options.
///
/// # Errors
/// Unknown columns (1054), columns that cannot be left out, conditions that mirrors cannot have,
/// and unsupported types.
pub(crate) fn check_wanted(definition: &Definition) -> Result<()> {
    let copy = wanted(definition)?;
    filter::check_names(&copy, &definition.filter)?;
    check(copy)
}

/// The definition of a copy.
fn wanted(definition: &Definition) -> Result<TableDefinition> {
    let layout = definition.layout.as_deref();
    let mut copy = copy_of(&definition.text, layout, &definition.filter)?;
    charset::set_collations(&mut copy, &definition.collations);
    Ok(copy)
}

/// A copy under one definition.
#[derive(Debug)]
struct Copy {
    def: Arc<NativeDef>,
    /// The condition of its rows; an error where it does not fit the columns.
    filter: Result<Option<RowFilter>>,
    columns: Vec<CopyColumn>,
    encoder: KeyEncoder,
}

impl Copy {
    fn new(def: Arc<NativeDef>) -> Self {
        let columns = def.targets.iter().zip(&def.definition.columns).enumerate();
        let columns = columns.map(|(at, (target, column))| CopyColumn {
            name: column.name.clone(),
            ty: target.ty,
            members: target.members.clone(),
            absent: absent(&def, at),
            form: opaque::form(column.data_type.base),
            left_out: filter::is_left_out(column),
        });
        let filter = RowFilter::of(&def.definition, &def.targets);
        Self { columns: columns.collect(), encoder: encoder(&def), filter, def }
    }
}

/// The value of a column of the source in new rows whose image in the binlog leaves it out.
fn absent(def: &NativeDef, column: usize) -> Absent {
    match def.definition.columns[column].comment.as_deref() {
        Some(GENERATED) => return Absent::Generated,
        Some(COMPUTED) => return Absent::Computed,
        _ => {}
    }
    let ty = &def.targets[column].ty;
    let is_number = match &def.definition.columns[column].default {
        Some(ColumnDefault::Literal(literal)) => {
            // `0x00FF`, `b'101'`
            let text = literal.text.trim_start();
            text.starts_with("0x") || text.starts_with("b'")
        }
        _ => true,
    };
    let array = |value: &Value| {
        let array = pelorus_functions::array_of(value, ty).ok()?;
        let is_sure = is_number || !is_spoilt(value);
        (array.data_type() == &ty.arrow() && is_sure).then_some(array)
    };
    let found = match &def.defaults[column] {
        DefaultValue::Constant(value) => array(value).map(Absent::Default),
        DefaultValue::None => array(&def.implicit[column]).map(Absent::Implicit),
        DefaultValue::CurrentTimestamp(_) | DefaultValue::Expression(_) => None,
    };
    found.unwrap_or(Absent::Computed)
}

/// Whether a default may not be what its server has: MariaDB shows the bytes of binary ones as
/// they are, which a text cannot carry.
fn is_spoilt(value: &Value) -> bool {
    match value {
        Value::Bytes(bytes) => {
            bytes.iter().any(|it| *it != 0 && (!it.is_ascii_graphic() || *it == b'?'))
        }
        Value::Text(text) => text.contains('\u{FFFD}'),
        _ => false,
    }
}

impl CopyTable for Copy {
    fn id(&self) -> TableId {
        self.def.id
    }

    fn generation(&self) -> u64 {
        self.def.generation
    }

    fn columns(&self) -> &[CopyColumn] {
        &self.columns
    }

    fn key(&self) -> &[usize] {
        &self.def.key
    }

    fn keys(&self, rows: usize, columns: &[ArrayRef]) -> Result<Keys> {
        self.encoder.encode(rows, |at| &columns[at])
    }

    fn encoded(&self, columns: &[usize], rows: usize, arrays: &[ArrayRef]) -> Result<Keys> {
        let encoder = encoder_of(&self.def, columns);
        let nothing = arrow::array::new_empty_array(&arrow::datatypes::DataType::Int64);
        encoder.encode(rows, |at| {
            let place = columns.iter().position(|it| *it == at);
            place.and_then(|place| arrays.get(place)).unwrap_or(&nothing)
        })
    }

    fn condition(&self, columns: &[ArrayRef], row: usize) -> Result<String> {
        let part = |&at: &usize| {
            let (column, ty) = (&self.columns[at], &self.columns[at].ty);
            let value = match scalar::value_at(&columns[at], ty, row)? {
                // In hex: values are never taken for names.
                Value::Text(text) => format!("_utf8mb4 {}", literal::bytes(text.as_bytes())),
                Value::Bytes(bytes) => literal::bytes(&bytes),
                value @ (Value::Date(_) | Value::Time(_)) => {
                    format!("'{}'", scalar::text_of(&value, ty))
                }
                value @ (Value::Int(_) | Value::UInt(_) | Value::Decimal(_)) => {
                    scalar::text_of(&value, ty)
                }
                Value::Double(_) | Value::Null => {
                    return Err(Error::new(
                        Code::TableChanged,
                        format!("a row cannot be asked for by its '{}'", column.name),
                    ));
                }
            };
            Ok(format!("\u{1}{} = {value}", literal::name(&column.name)))
        };
        let parts: Vec<String> = self.def.key.iter().map(part).collect::<Result<_>>()?;
        Ok(format!("({})", parts.join(" AND ")))
    }

    fn split(&self, columns: &[ArrayRef]) -> Result<Vec<(Vec<u8>, UInt32Array)>> {
        self.def.partitioner.split(columns)
    }

    fn is_filtered(&self) -> bool {
        !matches!(self.filter, Ok(None))
    }

    fn wanted(&self, rows: usize, columns: &[ArrayRef]) -> Result<Option<BooleanArray>> {
        match &self.filter {
            Ok(None) => Ok(None),
            Ok(Some(filter)) => filter.wanted(rows, columns).map(Some),
            Err(error) => Err(Error::new(error.code(), error.message())),
        }
    }

    fn pushed(&self) -> Option<String> {
        self.filter.as_ref().ok()?.as_ref()?.there().map(str::to_owned)
    }
}
