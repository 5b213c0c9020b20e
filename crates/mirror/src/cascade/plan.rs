//! Which foreign keys lead from a table to copies, at one place in the stream.

use std::sync::Arc;

use pelorus_binlog::Position;

use super::{ForeignKey, Referrers};
use crate::copies::CopyTable;
use crate::mirror::Mirror;
use crate::record::State;
use crate::source::Source;

/// A foreign key between two mirrored tables.
#[derive(Debug)]
pub(crate) struct Link {
    /// The table that is referred to.
    pub(crate) parent: Arc<Mirror>,
    /// The table with the key.
    pub(crate) child: Arc<Mirror>,
    /// The child's copy; `None` where what the key does is not carried out.
    pub(crate) copy: Option<Arc<dyn CopyTable>>,
    /// The key.
    pub(crate) key: ForeignKey,
    /// The positions of the key's columns in the child.
    pub(crate) columns: Vec<usize>,
    /// The positions of the columns in the parent that they refer to.
    pub(crate) referred: Vec<usize>,
    /// Whether the child's copy has all of its rows.
    pub(crate) is_whole: bool,
    /// Whether changes of the stream are applied to the child here.
    pub(crate) is_followed: bool,
    /// The mirrors that refer to the child, directly or through others: what the key does cannot be
    /// traced on to them where the child is not whole.
    pub(crate) beyond: Vec<Arc<Mirror>>,
}

/// What changes of a table's rows can lead to.
#[derive(Debug)]
pub(crate) struct Plan {
    /// All foreign keys on the ways from there.
    pub(crate) links: Vec<Link>,
}

impl Plan {
    /// What leads from a table to copies. `is_old` says whether a copy that began at a position has
    /// the transaction already.
    pub(crate) fn of(
        source: &Source,
        root: &Arc<Mirror>,
        copy: &Arc<dyn CopyTable>,
        is_old: &dyn Fn(&Position) -> bool,
    ) -> Self {
        let referrers = source.all_referrers();
        let mut links = Vec::new();
        let mut seen: Vec<Arc<Mirror>> = vec![Arc::clone(root)];
        let mut todo = vec![(Arc::clone(root), Arc::clone(copy))];
        while let Some((parent, parent_copy)) = todo.pop() {
            let name = (parent.name.database.clone(), parent.name.table.clone());
            for child in referrers.get(&name).into_iter().flatten() {
                let child_copy = child.follower(is_old);
                let keys = child.foreign_keys();
                for key in keys.iter().filter(|key| key.refers_to(&name.0, &name.1)) {
                    let ends = (child_copy.as_ref(), &parent_copy);
                    let mut link = link(&parent, child, key.clone(), ends);
                    link.beyond = beyond(&referrers, child);
                    link.beyond.retain(|it| it.follower(is_old).is_some());
                    if let (true, Some(copy)) = (link.is_whole, &link.copy)
                        && !seen.iter().any(|it| Arc::ptr_eq(it, child))
                    {
                        seen.push(Arc::clone(child));
                        todo.push((Arc::clone(child), Arc::clone(copy)));
                    }
                    links.push(link);
                }
            }
        }
        Self { links }
    }

    /// The foreign keys that refer to a table.
    pub(crate) fn of_parent<'p>(
        &'p self,
        parent: &'p Arc<Mirror>,
    ) -> impl Iterator<Item = &'p Link> + 'p {
        self.links.iter().filter(move |link| Arc::ptr_eq(&link.parent, parent))
    }
}

/// All mirrors that foreign keys lead to from a table.
fn beyond(referrers: &Referrers, table: &Arc<Mirror>) -> Vec<Arc<Mirror>> {
    let mut found: Vec<Arc<Mirror>> = Vec::new();
    let mut todo = vec![Arc::clone(table)];
    while let Some(parent) = todo.pop() {
        let name = (parent.name.database.clone(), parent.name.table.clone());
        for child in referrers.get(&name).into_iter().flatten() {
            if !found.iter().any(|it| Arc::ptr_eq(it, child)) {
                found.push(Arc::clone(child));
                todo.push(Arc::clone(child));
            }
        }
    }
    found
}

fn link(
    parent: &Arc<Mirror>,
    child: &Arc<Mirror>,
    key: ForeignKey,
    (copy, parent_copy): (Option<&Arc<dyn CopyTable>>, &Arc<dyn CopyTable>),
) -> Link {
    let referred = positions(parent_copy.as_ref(), &key.referred).unwrap_or_default();
    let columns = copy.and_then(|it| positions(it.as_ref(), &key.columns)).unwrap_or_default();
    let fits =
        copy.filter(|it| super::check_types(&key, it.as_ref(), parent_copy.as_ref()).is_ok());
    Link {
        parent: Arc::clone(parent),
        child: Arc::clone(child),
        copy: fits.cloned(),
        columns,
        referred,
        is_whole: child.state() == State::Live,
        is_followed: copy.is_some(),
        beyond: Vec::new(),
        key,
    }
}

/// The positions of columns by their names; `None` when one is not there.
pub(crate) fn positions(copy: &dyn CopyTable, names: &[String]) -> Option<Vec<usize>> {
    let find =
        |name: &String| copy.columns().iter().position(|it| it.name.eq_ignore_ascii_case(name));
    names.iter().map(find).collect()
}
