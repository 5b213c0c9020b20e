//! `CREATE TABLE ... LIKE` of a linked table: a native table with its columns and keys.

use std::sync::Arc;

use pelorus_env::blocking;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::EvalContext;
use pelorus_native::ddl::Definer;
use pelorus_native::options::is_kept;
use pelorus_result::diagnostics::Diagnostics;
use pelorus_sql::Mode;
use pelorus_sql::ddl::{KeyKind, TableDefinition, TableStatement};
use pelorus_sql::statement::TableName;

use crate::api::Outcome;
use crate::info::InfoTables;
use crate::mirror::charset::set_collations;
use crate::session::context::ReadContext;
use crate::session::statement_snapshot::View;
use crate::session::table_routing::unknown_database;

/// Makes a native table with the definition of a linked one. What native tables do not have is
/// left out with a warning, except where columns would have other values without it.
pub(crate) async fn run(
    cx: ReadContext<'_>,
    view: &Arc<View>,
    create: &TableDefinition,
    like: &TableName,
) -> Result<Outcome> {
    let database = cx.settings.database_of(like)?.to_owned();
    if InfoTables::is_schema(&database) {
        let what = format!("CREATE TABLE ... LIKE of a table of {database}");
        return Err(Error::unsupported(what));
    }
    cx.engine.links().refresh().await;
    let found = cx.engine.links().database(&database)?;
    let found = found.ok_or_else(|| unknown_database(&database))?;
    let place = (found.local.as_str(), found.remote.as_str());
    let (text, collations) =
        pelorus_mirror::written_definition(&found.link, place, &like.name).await?;
    let TableStatement::Create(source) = pelorus_sql::ddl::parse(&text, Mode::default())? else {
        return Err(Error::internal("a definition that is no CREATE TABLE"));
    };
    let mut source = *source;
    set_collations(&mut source, &collations);
    source.name = create.name.clone();
    source.if_not_exists = create.if_not_exists;
    source.temporary = create.temporary;
    let mut left_out = plain(&mut source);
    let mut definer = cx.definer(view);
    as_written(&mut definer);
    let limit = cx.diagnostics().limit();
    let mut refusal = None;
    let mut done = None;
    for parts in ATTEMPTS {
        let Some(attempt) = without(&source, parts) else { continue };
        // What an attempt that fails has warned of is said again by the next.
        definer.diagnostics = Diagnostics::default();
        definer.diagnostics.begin(limit);
        let statement = TableStatement::Create(Box::new(attempt));
        match blocking(|| definer.run(&statement)) {
            Err(error) if error.code() == Code::NotSupportedYet => {
                refusal.get_or_insert(error);
            }
            result => {
                done = Some(result?);
                let why = refusal.as_ref().map_or("", Error::message);
                left_out.extend(parts.iter().map(|part| format!("{} ({why})", part.words())));
                break;
            }
        }
    }
    let Some(done) = done else {
        return Err(refusal.unwrap_or_else(|| Error::internal("no table was made")));
    };
    for condition in definer.diagnostics.conditions() {
        if condition.code == Code::TableExists.errno() {
            left_out.clear();
        }
        cx.diagnostics().push(condition.level, condition.code, condition.message);
    }
    for what in left_out {
        let text = format!("'{database}.{}': native tables do not take over {what}", like.name);
        cx.diagnostics().warn(Code::NotSupportedYet.errno(), text);
    }
    Ok(Outcome::Done(done))
}

/// The definition was written in an empty `sql_mode` and in universal time, and was valid there.
fn as_written(definer: &mut Definer) {
    let mut context = EvalContext::default();
    context.now_micros = definer.context.now_micros;
    context.sql_mode.allow_invalid_dates = true;
    definer.context = Arc::new(context);
    definer.mode = Mode::default();
    definer.strict = false;
    definer.generates_keys = false;
}

/// Removes from a definition the parts that MySQL's LIKE removes (foreign keys, the next number of
/// AUTO_INCREMENT, the names of constraints), and the parts that native tables never have. Returns
/// the removed parts that users may miss.
fn plain(source: &mut TableDefinition) -> Vec<String> {
    let mut missed = Vec::new();
    source.options.retain(|it| !matches!(it.name.as_str(), "AUTO_INCREMENT" | "ENGINE"));
    let refused = source.options.extract_if(.., |it| !is_kept(it));
    missed.extend(refused.map(|option| format!("the option {}", option.name)));
    source.foreign_keys.clear();
    for column in &mut source.columns {
        column.references = None;
        column.options.clear();
        column.checks.iter_mut().for_each(|check| check.name = None);
    }
    source.checks.iter_mut().for_each(|check| check.name = None);
    if let Some(partitioning) = &mut source.partitioning {
        if partitioning.subpartitioning.take().is_some() {
            missed.push("subpartitions".to_owned());
        }
        for partition in &mut partitioning.partitions {
            partition.subpartitions.clear();
            partition.options.clear();
        }
    }
    for key in &mut source.keys {
        let name = key.name.as_deref().unwrap_or_default();
        match key.kind {
            KeyKind::Spatial => missed.push(format!("SPATIAL KEY '{name}'")),
            KeyKind::Unique => {
                missed.push(format!("UNIQUE of key '{name}', which becomes a plain KEY"));
                key.kind = KeyKind::Index;
            }
            KeyKind::Primary | KeyKind::Index | KeyKind::FullText => {}
        }
    }
    source.keys.retain(|key| key.kind != KeyKind::Spatial);
    missed
}

/// An optional part of a definition: without it the columns have the same values.
#[derive(Clone, Copy, Debug)]
enum Part {
    Checks,
    Partitions,
}

impl Part {
    fn words(self) -> &'static str {
        match self {
            Part::Checks => "its CHECK constraints",
            Part::Partitions => "its partitions",
        }
    }
}

/// The parts that are removed until native tables accept the rest.
const ATTEMPTS: [&[Part]; 4] =
    [&[], &[Part::Checks], &[Part::Partitions], &[Part::Checks, Part::Partitions]];

/// A definition without some parts; `None` where it does not have one of them.
fn without(source: &TableDefinition, parts: &[Part]) -> Option<TableDefinition> {
    let mut source = source.clone();
    for part in parts {
        match part {
            Part::Partitions => drop(source.partitioning.take()?),
            Part::Checks => {
                let of_columns = source.columns.iter().map(|column| column.checks.len());
                if source.checks.len() + of_columns.sum::<usize>() == 0 {
                    return None;
                }
                source.checks.clear();
                source.columns.iter_mut().for_each(|column| column.checks.clear());
            }
        }
    }
    Some(source)
}
