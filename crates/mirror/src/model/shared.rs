//! What all sources share: the copies, the links and the environment.

use std::sync::Arc;

use pelorus_env::Env;
use pelorus_link::Link;
use pelorus_store::Database;

use super::copies::Copies;

/// Finds links by their names; a link may be replaced by another of its name.
pub trait FindLink: Send + Sync + std::fmt::Debug {
    /// The link of that name, in lower case.
    fn link(&self, name: &str) -> Option<Link>;
}

/// The state that sources share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) copies: Arc<dyn Copies>,
    pub(crate) links: Arc<dyn FindLink>,
    pub(crate) env: Env,
}

impl Shared {
    pub(crate) fn store(&self) -> &Arc<Database> {
        self.copies.store()
    }
}
