//! Queries of a session: where they run, and the context that they run in.

use std::sync::Arc;
use std::time::Duration;

use pelorus_env::StageMemory;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::{EvalContext, SqlMode};
use pelorus_link::{Link, SessionSettings};
use pelorus_native::write::select_for_update::has_for_update;
use pelorus_query::{Flavour, PlanOptions, QueryContext, RowForm};
use pelorus_result::scalar::{Typed, value_at};
use pelorus_sql::statement::{QueryFacts, TableName};
use pelorus_types::{Collation, collation};

use super::statement_lifecycle::read_only_transaction;
use super::statement_snapshot::{SessionCatalog, View};
use super::{Session, stream};
use crate::api::{Outcome, ResultSet, RowFormat};
use crate::mirror::answering::Mirrored;
use crate::variables::VarValue;

/// How often a statement is planned again while a table is being altered; each time it waits a
/// millisecond longer, five seconds altogether.
const CHANGE_TRIES: u32 = 100;

impl Session {
    /// Runs a query.
    pub(super) async fn query(
        &mut self,
        view: &Arc<View>,
        sql: &str,
        facts: &QueryFacts,
        format: RowFormat,
    ) -> Result<Outcome> {
        if facts.into_file {
            return Err(Error::unsupported("SELECT ... INTO OUTFILE"));
        }
        if !facts.into_variables.is_empty() {
            return Err(Error::unsupported("SELECT ... INTO @variable"));
        }
        if facts.assigns {
            return Err(Error::unsupported("assignment to user variables with := in queries"));
        }
        if facts.calc_found_rows {
            return self.query_with_found_rows(view, sql, facts, format).await;
        }
        let located = self.with_user_locks(view, sql).await?;
        let sql = located.as_deref().unwrap_or(sql);
        if self.names_native(&facts.tables) {
            let locks = facts.locking && !self.transaction_is_read_only();
            self.join_native(&view.native.pin, locks)?;
            if facts.locking {
                self.lock_native(view, sql).await?;
            }
        }
        if let Some(link) = self.own_link(sql, &facts.tables, facts.locking).await? {
            let limit = self.settings.select_limit();
            return self.query_on_pinned(&link, sql, format, limit).await;
        }
        if !facts.tables.is_empty() {
            self.refresh_links(&facts.tables).await;
            self.check_ambiguous(&facts.tables)?;
        }
        let limit = self.settings.select_limit();
        if let Some(rows) = self.query_of_mirrors(sql, facts, limit, format).await {
            return Ok(Outcome::Rows(rows));
        }
        self.query_here(view, sql, format).await
    }

    /// Runs a query over mirrors where all of its tables have copies that are fresh enough. `None`:
    /// it is the server's to answer.
    pub(super) async fn query_of_mirrors(
        &mut self,
        sql: &str,
        facts: &QueryFacts,
        select_limit: Option<u64>,
        format: RowFormat,
    ) -> Option<ResultSet> {
        let mirrored = Arc::new(self.mirrored(&facts.tables).await?);
        // The moment that the copies are known to be fresh at is later than the statement's
        // beginning.
        let view = self.view();
        let mut context = self.context_over(&view, Some(Arc::clone(&mirrored)));
        context.options.select_limit = select_limit;
        match self.run_query(&context, sql, format).await {
            // Resynchronised or renamed since: the plan may be over a part of the rows.
            _ if !mirrored.holds() => tracing::debug!("a mirror has changed under a query"),
            Ok(rows) => {
                mirrored.note_query();
                return Some(rows);
            }
            // What cannot run here, or is wrong, is the server's to answer.
            Err(error) => tracing::debug!(%error, "a query of mirrors goes to the server"),
        }
        None
    }

    /// Protects the rows that a locking query finds, for the open transaction. A transaction that
    /// only reads needs no protection.
    ///
    /// The query runs twice, for the rows and for its result: both see the same moment, version and
    /// variables, so that every returned row is protected.
    pub(super) async fn lock_native(&mut self, view: &Arc<View>, sql: &str) -> Result<()> {
        if self.transaction_is_read_only() {
            let is_write = has_for_update(sql, self.settings.mode());
            return if is_write { Err(read_only_transaction()) } else { Ok(()) };
        }
        if !self.transaction.is_open() {
            return Ok(());
        }
        // With what the transaction has written; it may have begun with this statement.
        let view = Arc::new(View { native: self.native_reads(), ..View::clone(view) });
        let mut plan = self.native_statement(&view).lock(sql).await?;
        self.carry_out(&mut plan, view.native.pin.version()).map(drop)
    }

    /// The link on the session's own connection to which a query belongs; `None` where it may run
    /// anywhere.
    ///
    /// # Errors
    /// Tables of several servers inside a transaction (1235), and names that only Pelorus knows.
    pub(super) async fn own_link(
        &self,
        sql: &str,
        tables: &[TableName],
        locking: bool,
    ) -> Result<Option<Link>> {
        if tables.is_empty() {
            return Ok(self.link_of_stored(sql));
        }
        if !self.must_pin(tables, locking).await? {
            return Ok(None);
        }
        let place = self.place(tables).await?;
        let link = place.only_link("a query inside a transaction")?;
        if link.is_some() {
            self.check_names(&place, sql)?;
        }
        Ok(link)
    }

    /// The link of the current database, for a query without tables that calls a stored function
    /// while the session has something that the function may read or change.
    fn link_of_stored(&self, sql: &str) -> Option<Link> {
        let database = self.settings.database().filter(|it| !self.engine.native().has(it))?;
        let link = self.engine.links().database(database).ok()??.link;
        let has_state = self.transaction.is_open()
            || self.settings.reads_begin_transactions()
            || self.transaction.holds_state_on(link.name());
        (has_state && pelorus_query::calls_stored(sql, self.settings.mode())).then_some(link)
    }

    /// Whether a query belongs on the session's own connection: inside a transaction, with locks,
    /// and where the connection holds tables that no other sees.
    async fn must_pin(&self, tables: &[TableName], locking: bool) -> Result<bool> {
        if tables.is_empty() {
            return Ok(false);
        }
        if locking || self.transaction.is_bound() {
            return Ok(true);
        }
        if self.transaction.is_open() || self.settings.reads_begin_transactions() {
            return Ok(true);
        }
        if !self.transaction.holds_state() {
            return Ok(false);
        }
        let place = self.place(tables).await?;
        // A query over several links cannot see temporary tables; without them it may go on.
        Ok(place
            .only_link("a query")
            .ok()
            .flatten()
            .is_some_and(|link| self.transaction.holds_state_on(link.name())))
    }

    /// A name that two links show is refused before anything is planned.
    fn check_ambiguous(&self, tables: &[TableName]) -> Result<()> {
        for table in tables {
            if let Some(database) = table.database.as_deref().or(self.settings.database())
                && !self.engine.native().has(database)
            {
                self.engine.links().database(database)?;
            }
        }
        Ok(())
    }

    /// Plans and runs a query here.
    pub(super) async fn query_here(
        &self,
        view: &Arc<View>,
        sql: &str,
        format: RowFormat,
    ) -> Result<Outcome> {
        self.query_here_at_most(view, sql, self.settings.select_limit(), format).await
    }

    /// Plans and runs a query here, again while tables that it reads are being altered.
    pub(super) async fn query_here_at_most(
        &self,
        view: &Arc<View>,
        sql: &str,
        select_limit: Option<u64>,
        format: RowFormat,
    ) -> Result<Outcome> {
        let mut view = Arc::clone(view);
        let mut tries = 0;
        loop {
            let mut context = self.context_of_query(&view);
            context.options.select_limit = select_limit;
            let error = match self.run_query(&context, sql, format).await {
                Ok(rows) => return Ok(Outcome::Rows(rows)),
                Err(error) => error,
            };
            if !self.waits_for_change(&error, &mut tries).await {
                return Err(error);
            }
            // The same statement, of the tables as they are now.
            view = Arc::new(View { native: self.native_reads(), ..View::clone(&view) });
        }
    }

    /// Waits a moment after an error that says that a table's definition has just changed (1412),
    /// as MySQL waits for the lock of a table. `false`: the error is the statement's, because the
    /// transaction must not see another version, or because the error has recurred for seconds.
    pub(super) async fn waits_for_change(&self, error: &Error, tries: &mut u32) -> bool {
        if error.code() != Code::TableChanged
            || *tries >= CHANGE_TRIES
            || self.transaction.is_open()
        {
            return false;
        }
        *tries += 1;
        tokio::time::sleep(Duration::from_millis(u64::from(*tries))).await;
        true
    }

    pub(super) async fn run_query(
        &self,
        context: &QueryContext,
        sql: &str,
        format: RowFormat,
    ) -> Result<ResultSet> {
        let form = match format {
            RowFormat::Text => RowForm::Text,
            RowFormat::Binary => RowForm::Binary,
        };
        let result = pelorus_query::run(context, sql, form).await?;
        for (code, message) in result.warnings {
            self.statement.diagnostics().warn(code, message);
        }
        let rows =
            stream::blocks(result.rows, context.eval.clone(), self.statement.diagnostics().clone());
        Ok(ResultSet { columns: result.columns, rows })
    }

    /// The context of a query of this session.
    pub(super) fn context(&self, view: &Arc<View>) -> QueryContext {
        self.context_over(view, None)
    }

    /// The same for a query of the client's own, which `sql_select_limit` limits. The caller
    /// handles its locks, or only describes it.
    pub(super) fn context_of_query(&self, view: &Arc<View>) -> QueryContext {
        let mut context = self.context(view);
        context.options.select_limit = self.settings.select_limit();
        context.options.ignores_locks = true;
        context
    }

    /// The same, with some linked databases read from their copies.
    pub(super) fn context_over(
        &self,
        view: &Arc<View>,
        mirrored: Option<Arc<Mirrored>>,
    ) -> QueryContext {
        let default = PlanOptions::default();
        let streams =
            usize::try_from(self.settings.variables().count("pelorus_streams")).unwrap_or(0);
        let memory = usize::try_from(self.settings.variables().count("pelorus_query_memory"));
        let options = PlanOptions {
            streams: if streams == 0 { self.engine.cores().max(2) } else { streams },
            split_rows_min: self.settings.variables().count("pelorus_min_split_rows"),
            memory_bytes: memory.unwrap_or(default.memory_bytes),
            only_full_group_by: self.settings.has_sql_mode("ONLY_FULL_GROUP_BY"),
            real_as_float: self.settings.has_sql_mode("REAL_AS_FLOAT"),
            ..default
        };
        let mut eval = self.eval_context(view);
        if let Some(mirrored) = &mirrored {
            // NOW() and the like are those of the server, whose answer this is.
            eval.time_zone = mirrored.time_zone;
            eval.of_mariadb = mirrored.of == Some(Flavour::MariaDb);
        }
        QueryContext {
            database: self.settings.database().map(str::to_owned),
            copies_of: mirrored.as_ref().and_then(|it| it.of),
            catalog: Arc::new(SessionCatalog::new(view.clone(), mirrored)),
            variables: view.clone(),
            eval: Arc::new(eval),
            settings: self.link_settings(),
            mode: self.settings.mode(),
            options,
            scratch: self.engine.scratch(),
            memory: self.engine.memory().statements().clone(),
            trees: self.stage_memory(),
        }
    }

    /// What counts the trees of a statement that begins.
    pub(super) fn stage_memory(&self) -> StageMemory {
        StageMemory::new(self.engine.memory().statements())
    }

    /// The settings that linked servers receive. Defaults are omitted where servers differ: the
    /// zone `SYSTEM` is the server's own, and MariaDB has no `utf8mb4_0900_ai_ci`.
    pub(super) fn link_settings(&self) -> SessionSettings {
        let text = |name| self.settings.variables().get(name).text().to_owned();
        let zone = text("time_zone");
        let timestamp = match self.settings.variables().get("timestamp") {
            VarValue::Double(moment) if moment > 0.0 => Some(moment),
            _ => None,
        };
        SessionSettings {
            // A prepared statement is read as it was when it was prepared.
            sql_mode: Some(
                self.settings.mode().within(self.settings.variables().get("sql_mode").text()),
            ),
            time_zone: (zone != "SYSTEM").then_some(zone),
            collation_connection: self.link_collation(),
            database: None,
            timestamp,
            read_only: self.only_reads(),
            others: self.settings.variables().relayed(),
        }
    }

    /// The collation of literals on linked servers, whose connections speak utf8mb4.
    fn link_collation(&self) -> Option<String> {
        let name = self.settings.variables().get("collation_connection");
        let collation = Collation::by_name(name.text())?;
        let is_utf8mb4 = collation.charset() == "utf8mb4";
        (is_utf8mb4 && collation != collation::UTF8MB4_0900_AI_CI).then(|| collation.name())
    }

    pub(super) fn eval_context(&self, view: &View) -> EvalContext {
        let small = |name| u8::try_from(self.settings.variables().count(name)).unwrap_or(u8::MAX);
        let moment = match self.settings.variables().get("timestamp") {
            #[expect(clippy::cast_possible_truncation, reason = "checked against 2^32 seconds")]
            VarValue::Double(moment) if moment > 0.0 => (moment * 1e6) as i64,
            _ => view.now_micros,
        };
        let mut context = EvalContext::default();
        context.now_micros = moment;
        context.time_zone = self.settings.time_zone(self.engine.zone().zone);
        context.system_time_zone = self.engine.zone().zone;
        context.collation = self.settings.connection_collation();
        context.sql_mode = self.eval_sql_mode();
        context.div_precision_increment = small("div_precision_increment");
        context.group_concat_max_len = self.settings.variables().count("group_concat_max_len");
        context.max_allowed_packet = self.settings.variables().count("max_allowed_packet");
        context.default_week_format = small("default_week_format");
        context.user = view.user.clone();
        context.current_user = format!("{}@{}", view.account.user, view.account.host);
        context.connection_id = view.id;
        context.database = view.database.clone();
        context.version = self.engine.server_version();
        context.has_parameters = self.statement.has_parameters();
        let texts = usize::try_from(self.settings.variables().count("pelorus_query_memory"));
        let texts = texts.unwrap_or(usize::MAX).max(pelorus_query::LEAST_MEMORY);
        context.memory = self.engine.memory().statements().part("pelorus_query_memory", texts);
        context
    }

    fn eval_sql_mode(&self) -> SqlMode {
        SqlMode {
            error_for_division_by_zero: self.settings.has_sql_mode("ERROR_FOR_DIVISION_BY_ZERO"),
            no_unsigned_subtraction: self.settings.has_sql_mode("NO_UNSIGNED_SUBTRACTION"),
            no_zero_date: self.settings.has_sql_mode("NO_ZERO_DATE"),
            no_zero_in_date: self.settings.has_sql_mode("NO_ZERO_IN_DATE"),
            no_backslash_escapes: self.settings.mode().no_backslash_escapes,
            pad_char_to_full_length: self.settings.pads_char(),
            time_truncate_fractional: self.settings.has_sql_mode("TIME_TRUNCATE_FRACTIONAL"),
            allow_invalid_dates: self.settings.has_sql_mode("ALLOW_INVALID_DATES"),
        }
    }

    /// The value of one expression.
    ///
    /// # Errors
    /// Errors of the expression; more than one column (1241).
    pub(super) async fn evaluate(&mut self, view: &Arc<View>, expression: &str) -> Result<Typed> {
        if let Some(value) = self.simple_value(view, expression)? {
            return Ok(value);
        }
        let set = self.run_expressions(view, expression).await?;
        let batches = pelorus_result::collect::batches(&set.columns, set.rows).await?;
        let [column] = set.columns.as_slice() else {
            return Err(Error::new(Code::OperandColumns, "Operand should contain 1 column(s)"));
        };
        let first = batches.iter().find(|batch| batch.num_rows() > 0);
        let value = match first {
            Some(batch) => value_at(batch.column(0), &column.ty, 0)?,
            None => pelorus_functions::Value::Null,
        };
        Ok((value, column.ty))
    }

    /// Runs the expressions of `SET`, `DO` and similar statements, on the server on which a query
    /// with them would run.
    ///
    /// # Errors
    /// Errors of the expressions.
    pub(super) async fn run_expressions(
        &mut self,
        view: &Arc<View>,
        expressions: &str,
    ) -> Result<ResultSet> {
        let mut sql = format!("SELECT {expressions}");
        if let Some(located) = self.with_user_locks(view, &sql).await? {
            sql = located;
        }
        let tables = pelorus_sql::statement::references(&sql, self.settings.mode()).tables;
        if self.names_native(&tables) {
            self.join_native(&view.native.pin, false)?;
        }
        let Some(link) = self.own_link(&sql, &tables, false).await? else {
            return self.run_query(&self.context(view), &sql, RowFormat::Text).await;
        };
        match self.query_on_pinned(&link, &sql, RowFormat::Text, None).await? {
            Outcome::Rows(set) => Ok(set),
            Outcome::Done(_) | Outcome::File(_) => Err(Error::internal("expressions without rows")),
        }
    }
}
