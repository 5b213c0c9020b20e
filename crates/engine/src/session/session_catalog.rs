//! The session's catalog: which tables a name of a statement means.

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_native::NativeView;
use pelorus_query::{AsOf, Catalog, Database, NativeDatabase, NativeTable};

use super::statement_snapshot::View;
use crate::info::InfoTables;
use crate::mirror::answering::Mirrored;
use crate::mirror::filter;

/// Finds databases for a statement: our own first, native ones, then those of links.
pub(crate) struct SessionCatalog {
    view: Arc<View>,
    mirrored: Option<Arc<Mirrored>>,
}

impl SessionCatalog {
    /// `mirrored` are the linked databases whose copies are read.
    pub(crate) fn new(view: Arc<View>, mirrored: Option<Arc<Mirrored>>) -> Self {
        Self { view, mirrored }
    }
}

impl Catalog for SessionCatalog {
    fn database(&self, name: &str) -> Option<Database> {
        if let Some(info) = InfoTables::of(name, &self.view) {
            return Some(Database::Info(Arc::new(info)));
        }
        let native = self.view.engine.native();
        if native.has(name) {
            let (catalog, reads) = (Arc::clone(native), self.view.native.clone());
            let view = NativeView::new(catalog, (name, name), reads, self.view.time_zone)
                .at(self.view.now_micros);
            return Some(Database::Native(Arc::new(view)));
        }
        // A name that two links show was refused before planning.
        let found = self.view.engine.links().database(name).ok()??;
        if let Some(mirrored) = &self.mirrored
            && let Some(hidden) = mirrored.hidden(&found.local)
        {
            let (catalog, reads) = (Arc::clone(native), self.view.native.clone());
            let names = (hidden, found.local.as_str());
            let part_of = if mirrored.as_whole { filter::part_as_whole } else { filter::part };
            let view =
                NativeView::new(catalog, names, reads, mirrored.time_zone).with_parts(part_of);
            return Some(Database::Native(Arc::new(Copies(view))));
        }
        Some(Database::Linked { link: found.link, remote: found.remote })
    }
}

/// The copies of a linked database. They show the current tables: their versions are those of loads
/// and of the stream, not the history of the tables.
#[derive(Debug)]
struct Copies(NativeView);

impl NativeDatabase for Copies {
    fn table(
        &self,
        name: &str,
        partitions: &[&str],
        at: Option<AsOf>,
    ) -> Result<Option<NativeTable>> {
        if at.is_some() {
            return Err(Error::unsupported("FOR SYSTEM_TIME of a mirrored table"));
        }
        self.0.table(name, partitions, None)
    }
}
