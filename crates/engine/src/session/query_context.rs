//! The contexts of queries: how the settings of the client reach the plan and the linked servers.

use std::sync::Arc;

use pelorus_error::Result;
use pelorus_functions::{EvalContext, SqlMode};
use pelorus_link::SessionSettings;
use pelorus_query::{Flavour, PlanOptions, QueryContext, RowForm};
use pelorus_types::{Collation, collation};

use super::context::ReadContext;
use super::session_catalog::SessionCatalog;
use super::state::client_settings::ClientSettings;
use super::statement_snapshot::View;
use super::stream;
use crate::api::{ResultSet, RowFormat};
use crate::mirror::answering::Mirrored;
use crate::variables::VarValue;

impl ReadContext<'_> {
    /// Plans and runs a query here; its warnings go to the diagnostics of the statement.
    ///
    /// # Errors
    /// Errors of the query, before its first row.
    pub(crate) async fn run_query(
        self,
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
            self.diagnostics().warn(code, message);
        }
        let rows = stream::blocks(result.rows, context.eval.clone(), self.diagnostics().clone());
        Ok(ResultSet { columns: result.columns, rows })
    }

    /// The context of a query of this session.
    pub(crate) fn query_context(self, view: &Arc<View>) -> QueryContext {
        self.query_context_over(view, None)
    }

    /// The same for a query of the client's own, which `sql_select_limit` limits. The caller
    /// handles its locks, or only describes it.
    pub(crate) fn client_query_context(self, view: &Arc<View>) -> QueryContext {
        let mut context = self.query_context(view);
        context.options.select_limit = self.settings.select_limit();
        context.options.ignores_locks = true;
        context
    }

    /// The same, with some linked databases read from their copies.
    pub(crate) fn query_context_over(
        self,
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

    /// The settings that linked servers receive. Defaults are omitted where servers differ: the
    /// zone `SYSTEM` is the server's own, and MariaDB has no `utf8mb4_0900_ai_ci`.
    pub(crate) fn link_settings(self) -> SessionSettings {
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
    fn link_collation(self) -> Option<String> {
        let name = self.settings.variables().get("collation_connection");
        let collation = Collation::by_name(name.text())?;
        let is_utf8mb4 = collation.charset() == "utf8mb4";
        (is_utf8mb4 && collation != collation::UTF8MB4_0900_AI_CI).then(|| collation.name())
    }

    pub(crate) fn eval_context(self, view: &View) -> EvalContext {
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
        context.sql_mode = eval_sql_mode(self.settings);
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
}

fn eval_sql_mode(settings: &ClientSettings) -> SqlMode {
    SqlMode {
        error_for_division_by_zero: settings.has_sql_mode("ERROR_FOR_DIVISION_BY_ZERO"),
        no_unsigned_subtraction: settings.has_sql_mode("NO_UNSIGNED_SUBTRACTION"),
        no_zero_date: settings.has_sql_mode("NO_ZERO_DATE"),
        no_zero_in_date: settings.has_sql_mode("NO_ZERO_IN_DATE"),
        no_backslash_escapes: settings.mode().no_backslash_escapes,
        pad_char_to_full_length: settings.pads_char(),
        time_truncate_fractional: settings.has_sql_mode("TIME_TRUNCATE_FRACTIONAL"),
        allow_invalid_dates: settings.has_sql_mode("ALLOW_INVALID_DATES"),
    }
}
