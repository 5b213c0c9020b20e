//! The tables of a file: native tables in memory, and simulated linked servers.

use std::path::Path;
use std::sync::Arc;

use pelorus_env::{Account, Env, StageMemory};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Policy;
use pelorus_functions::{EvalContext, Value};
use pelorus_link::{Link, SessionSettings};
use pelorus_native::ddl::Definer;
use pelorus_native::durability::Wanted;
use pelorus_native::write::auto::Steps;
use pelorus_native::write::{Statement, commit};
use pelorus_native::{Catalog, NativeReads, NativeView};
use pelorus_query::{Database, PlanOptions, QueryContext, Scratch, Variables};
use pelorus_result::diagnostics::Diagnostics;
use pelorus_result::kill::Stop;
use pelorus_sql::{Mode, classify, ddl, dml};
use pelorus_store::Options;
use pelorus_types::ColumnType;

use crate::server::FakeServer;

/// The tables that the queries of a file see.
pub(crate) struct World {
    native: Arc<Catalog>,
    links: Vec<Link>,
    /// 2026-01-01 00:00:00 UTC.
    now_micros: i64,
}

impl World {
    pub(crate) fn new() -> Self {
        let env = Env::in_memory(1);
        // Nothing happens at a time of its own.
        let options = Options { checkpoint_micros: u64::MAX / 4, ..Options::default() };
        let native = Catalog::open(&env, Path::new("/data"), options).expect("a catalog");
        Self { native: Arc::new(native), links: Vec::new(), now_micros: 1_767_225_600_000_000 }
    }

    /// The native tables.
    pub(crate) fn native(&self) -> &Catalog {
        &self.native
    }

    /// Runs statements, each of which ends with a semicolon at the end of a line.
    pub(crate) async fn run_all(&mut self, statements: &str) {
        for sql in statements.split(";\n").map(str::trim).filter(|sql| !sql.is_empty()) {
            if let Err(error) = self.run(sql).await {
                panic!("{sql}: {} {}", error.errno(), error.message());
            }
        }
    }

    async fn run(&self, sql: &str) -> Result<()> {
        if sql.starts_with("INSERT") || sql.starts_with("DELETE") || sql.starts_with("UPDATE") {
            return self.change(sql).await;
        }
        let definer = self.definer();
        match classify(sql, Mode::default())? {
            pelorus_sql::Statement::Maintenance(maintenance) => {
                definer.maintain(&maintenance).map(drop)
            }
            _ => definer.run(&ddl::parse(sql, Mode::default())?).map(drop),
        }
    }

    async fn change(&self, sql: &str) -> Result<()> {
        let context = self.context();
        let statement = Statement {
            catalog: &self.native,
            database: None,
            reads: self.reads(),
            diagnostics: Diagnostics::default(),
            stop: Stop::never(),
            policy: Policy::new(&context.eval, true),
            context,
            steps: steps(),
            safe_updates: false,
        };
        let mut plan = statement.plan(&dml::parse(sql, Mode::default())?).await?;
        let store = self.native.store();
        commit::commit(store, &mut plan.changes, None, Wanted::Soon, &Stop::never()).map(drop)
    }

    fn definer(&self) -> Definer {
        Definer {
            catalog: Arc::clone(&self.native),
            current: None,
            mode: Mode::default(),
            context: Arc::new(EvalContext::default()),
            strict: true,
            diagnostics: Diagnostics::default(),
            stop: Stop::never(),
            steps: steps(),
            generates_keys: false,
            implies_timestamps: false,
        }
    }

    fn reads(&self) -> NativeReads {
        NativeReads::at(Arc::new(self.native.store().snapshot()))
    }

    /// Adds a simulated server: `NAME VERSION`. Its tables are the native tables of a world of its
    /// own.
    pub(crate) async fn add_server(&mut self, name_and_version: &str, tables: &str) {
        let (name, version) = name_and_version.split_once(' ').expect("a name and a version");
        let mut own = World::new();
        own.run(&format!("CREATE DATABASE {name}")).await.expect("a database");
        own.run_all(&tables.replace("CREATE TABLE ", &format!("CREATE TABLE {name}."))).await;
        self.links.push(FakeServer::start(name, version, own).await);
    }

    /// The context of a query.
    pub(crate) fn context(&self) -> QueryContext {
        let mut eval = EvalContext::default();
        eval.now_micros = self.now_micros;
        let databases = Databases {
            native: Arc::clone(&self.native),
            reads: self.reads(),
            links: self.links.clone(),
            time_zone: eval.time_zone,
        };
        QueryContext {
            database: None,
            catalog: Arc::new(databases),
            variables: Arc::new(NoVariables),
            eval: Arc::new(eval),
            settings: SessionSettings::default(),
            mode: Mode::default(),
            // Not the number of the machine's cores.
            options: PlanOptions { streams: 4, ..PlanOptions::default() },
            copies_of: None,
            scratch: Scratch::new(None).expect("a folder of the system"),
            memory: Account::unlimited(),
            trees: StageMemory::new(&Account::unlimited()),
        }
    }
}

fn steps() -> Steps {
    Steps { increment: 1, offset: 1, zero_is_value: false, first: None }
}

/// Databases by name: those of the native catalog, and one of each link.
struct Databases {
    native: Arc<Catalog>,
    reads: NativeReads,
    links: Vec<Link>,
    time_zone: pelorus_functions::TimeZone,
}

impl pelorus_query::Catalog for Databases {
    fn database(&self, name: &str) -> Option<Database> {
        if let Some(link) = self.links.iter().find(|link| link.name() == name) {
            return Some(Database::Linked { link: link.clone(), remote: name.to_owned() });
        }
        self.native.has(name).then(|| {
            let (native, reads) = (Arc::clone(&self.native), self.reads.clone());
            let view = NativeView::new(native, (name, name), reads, self.time_zone);
            Database::Native(Arc::new(view))
        })
    }
}

/// A session without variables.
struct NoVariables;

impl Variables for NoVariables {
    fn user(&self, _: &str) -> (Value, ColumnType) {
        (Value::Null, ColumnType::null())
    }

    fn system(&self, name: &str, _: bool) -> Result<(Value, ColumnType)> {
        Err(Error::new(Code::UnknownSystemVariable, name))
    }

    fn session_function(&self, _: &str) -> Option<(Value, ColumnType)> {
        None
    }
}
