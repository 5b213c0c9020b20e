//! Tables without a session, for the tests of this crate.

use std::path::Path;
use std::sync::Arc;

use pelorus_env::Env;
use pelorus_functions::EvalContext;
use pelorus_result::diagnostics::Diagnostics;
use pelorus_result::kill::Stop;
use pelorus_sql::{Mode, ddl};
use pelorus_store::Options;

use crate::Catalog;
use crate::ddl::Definer;
use crate::write::auto::Steps;

/// A catalog in memory with a database `d` of these tables.
pub(crate) fn with_tables(tables: &[&str]) -> Arc<Catalog> {
    let env = Env::in_memory(1);
    let catalog = Arc::new(Catalog::open(&env, Path::new("/data"), Options::default()).unwrap());
    let definer = Definer {
        catalog: Arc::clone(&catalog),
        current: Some("d".to_owned()),
        mode: Mode::default(),
        context: Arc::new(EvalContext::default()),
        strict: true,
        diagnostics: Diagnostics::default(),
        stop: Stop::never(),
        steps: Steps { increment: 1, offset: 1, zero_is_value: false, first: None },
        generates_keys: false,
        implies_timestamps: false,
    };
    for sql in ["CREATE DATABASE d"].iter().chain(tables) {
        definer.run(&ddl::parse(sql, Mode::default()).unwrap()).unwrap();
    }
    catalog
}
