//! The plan of foreign key actions: which foreign keys lead from a table to copies, at one position
//! of the stream.

use std::sync::Arc;

use arrow::array::ArrayRef;
use pelorus_binlog::Position;
use pelorus_error::{Error, Result};

use super::referrers::{MirrorLookup, Referrers};
use crate::model::copies::CopyTable;
use crate::model::foreign_key::{Action, ForeignKey};
use crate::model::mirror::Mirror;
use crate::model::record::State;

/// A foreign key between two mirrored tables.
#[derive(Debug)]
pub(crate) struct Link {
    /// The table that is referred to.
    pub(crate) parent: Arc<Mirror>,
    /// The table with the key.
    pub(crate) child: Arc<Mirror>,
    /// The child's copy; `None` if the action is not executed on it.
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
    /// The mirrors that refer to the child, directly or through others: the action cannot be traced
    /// to them if the child is not complete.
    pub(crate) beyond: Vec<Arc<Mirror>>,
    /// Whether the result of a deletion for a row of the child depends on the order of foreign
    /// keys, and that of an update.
    pub(crate) in_order: (bool, bool),
}

/// The possible effects of changes to a table's rows.
#[derive(Debug)]
pub(crate) struct Plan {
    /// All foreign keys on the ways from there.
    pub(crate) links: Vec<Link>,
}

impl Plan {
    /// The foreign keys that lead from a table to copies. `is_old` says whether a copy that began
    /// at a position has the transaction already.
    pub(crate) fn of(
        source: &dyn MirrorLookup,
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
        note_order(&mut links);
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
pub(crate) fn beyond(referrers: &Referrers, table: &Arc<Mirror>) -> Vec<Arc<Mirror>> {
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
    let fits = copy.filter(|it| check_types(&key, it.as_ref(), parent_copy.as_ref()).is_ok());
    Link {
        parent: Arc::clone(parent),
        child: Arc::clone(child),
        copy: fits.cloned(),
        columns,
        referred,
        is_whole: child.state() == State::Live,
        is_followed: copy.is_some(),
        beyond: Vec::new(),
        in_order: (false, false),
        key,
    }
}

/// Notes where it turns on the order of foreign keys what becomes of a row that several of them
/// reach. InnoDB goes row by row, and by the names of constraints over all tables that refer to the
/// row; here it is table by table.
fn note_order(links: &mut [Link]) {
    let all: &[Link] = links;
    // Rows that only go are gone in any order.
    let nulls = all.iter().any(|link| link.key.on_delete == Some(Action::SetNull));
    let noted: Vec<(bool, bool)> = all
        .iter()
        .map(|link| {
            let own = is_entangled(link, all);
            // What keys have done to rows that are being read is made up for key by key, and not in
            // the order in which it was done ([`crate::apply::snapshot_window`]).
            let read = !link.is_whole && share_with_nulls(&link.child.foreign_keys());
            ((own && nulls) || read, own || read)
        })
        .collect();
    for (link, noted) in links.iter_mut().zip(noted) {
        link.in_order = noted;
    }
}

/// Whether one foreign key of a link's child alters what another one that can be reached goes by, or
/// what is referred to in rows that another one reaches.
fn is_entangled(link: &Link, links: &[Link]) -> bool {
    let of_child = || links.iter().filter(move |it| Arc::ptr_eq(&it.child, &link.child));
    let onward = || links.iter().filter(move |it| Arc::ptr_eq(&it.parent, &link.child));
    of_child().filter(|one| one.key.alters()).any(|one| {
        let alters = |columns: &[usize]| one.columns.iter().any(|it| columns.contains(it));
        of_child()
            .filter(|other| other.key.name != one.key.name)
            .any(|other| alters(&other.columns) || onward().any(|onward| alters(&onward.referred)))
    })
}

/// Whether a foreign key that sets columns to NULL shares one with another.
fn share_with_nulls(keys: &[ForeignKey]) -> bool {
    let nulls = |key: &&ForeignKey| {
        key.on_delete == Some(Action::SetNull) || key.on_update == Some(Action::SetNull)
    };
    keys.iter().filter(nulls).any(|one| {
        let is_shared = |name: &String| one.columns.iter().any(|it| it.eq_ignore_ascii_case(name));
        keys.iter().any(|other| other.name != one.name && other.columns.iter().any(is_shared))
    })
}

/// The positions of columns by their names; `None` when one is not there.
pub(crate) fn positions(copy: &dyn CopyTable, names: &[String]) -> Option<Vec<usize>> {
    let find =
        |name: &String| copy.columns().iter().position(|it| it.name.eq_ignore_ascii_case(name));
    names.iter().map(find).collect()
}

/// Checks whether the values of a foreign key can be compared with those that they refer to, as the
/// copies have them.
///
/// # Errors
/// The difference (1235).
pub(crate) fn check_types(
    key: &ForeignKey,
    child: &dyn CopyTable,
    parent: &dyn CopyTable,
) -> Result<()> {
    let refuse = |why: &str| {
        Err(Error::unsupported(format_args!(
            "mirrors of tables whose foreign key '{}' changes rows and {why}: this server does not \
             write such changes into its binlog",
            key.name
        )))
    };
    let (Some(here), Some(there)) =
        (positions(child, &key.columns), positions(parent, &key.referred))
    else {
        return refuse("has columns that the copies do not have");
    };
    for (&here, &there) in here.iter().zip(&there) {
        let (here, there) = (&child.columns()[here], &parent.columns()[there]);
        let alike = here.ty.arrow() == there.ty.arrow()
            && here.ty.collation == there.ty.collation
            && here.members == there.members;
        if !alike {
            return refuse("whose columns are of other types than those that they refer to");
        }
        if here.ty.arrow().is_floating() {
            return refuse("whose columns are FLOAT or DOUBLE");
        }
        if here.ty.arrow() == arrow::datatypes::DataType::Utf8 {
            if !here.ty.collation.has_plain_charset() {
                return refuse("whose columns are in a character set that mirrors only show");
            }
            // Says so when the collation's rules are not known.
            let text: ArrayRef = Arc::new(arrow::array::StringArray::from(vec!["a"]));
            let at = positions(child, std::slice::from_ref(&here.name)).unwrap_or_default();
            child.encoded(&at, 1, &[text])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::MirrorName;
    use crate::model::record::MirrorRecord;

    fn mirror(table: &str, foreign_keys: Vec<ForeignKey>) -> Arc<Mirror> {
        let name = MirrorName { link: "l".into(), database: "d".into(), table: table.into() };
        let record = MirrorRecord { state: State::Live, foreign_keys, ..MirrorRecord::default() };
        Arc::new(Mirror::new(name, record, None).unwrap())
    }

    fn key(name: &str, columns: &[&str], on_delete: Action) -> ForeignKey {
        ForeignKey {
            name: name.to_owned(),
            columns: columns.iter().map(|it| (*it).to_owned()).collect(),
            database: "d".to_owned(),
            table: "t".to_owned(),
            referred: Vec::new(),
            on_delete: Some(on_delete),
            on_update: None,
        }
    }

    fn link(
        (parent, referred): (&Arc<Mirror>, &[usize]),
        (child, columns): (&Arc<Mirror>, &[usize]),
        key: ForeignKey,
    ) -> Link {
        Link {
            parent: Arc::clone(parent),
            child: Arc::clone(child),
            copy: None,
            key,
            columns: columns.to_vec(),
            referred: referred.to_vec(),
            is_whole: true,
            is_followed: true,
            beyond: Vec::new(),
            in_order: (false, false),
        }
    }

    fn noted(mut links: Vec<Link>) -> Vec<(bool, bool)> {
        note_order(&mut links);
        links.iter().map(|link| link.in_order).collect()
    }

    #[test]
    fn keys_that_alter_what_others_go_by_are_not_followed() {
        let (t, a) = (mirror("t", Vec::new()), mirror("a", Vec::new()));
        let (b, g) = (mirror("b", Vec::new()), mirror("g", Vec::new()));
        // A table whose key alters a column of another of its keys.
        let links = |action| {
            vec![
                link((&t, &[0]), (&a, &[0]), key("z1", &["t"], Action::Cascade)),
                link((&t, &[0]), (&b, &[1]), key("a1", &["t"], action)),
                link((&a, &[0, 1]), (&b, &[1, 2]), key("m1", &["t", "a"], Action::Cascade)),
            ]
        };
        let free = (false, false);
        assert_eq!(noted(links(Action::SetNull)), [free, (true, true), (true, true)]);
        assert_eq!(noted(links(Action::Cascade)), [free; 3]);
        // One whose key alters what others refer to.
        let onward = |referred: &[usize]| {
            vec![
                link((&t, &[0]), (&b, &[1]), key("x", &["t"], Action::SetNull)),
                link((&a, &[0]), (&b, &[2]), key("y", &["a"], Action::Cascade)),
                link((&b, referred), (&g, &[1]), key("z", &["b"], Action::Cascade)),
            ]
        };
        assert_eq!(noted(onward(&[1])), [(true, true), (true, true), free]);
        assert_eq!(noted(onward(&[0])), [free; 3]);
    }

    #[test]
    fn what_is_read_meanwhile_has_no_order() {
        let keys = |other: &str| {
            vec![key("x", &["p"], Action::SetNull), key("y", &["q", other], Action::Cascade)]
        };
        let t = mirror("t", Vec::new());
        for (other, expected) in [("P", true), ("r", false)] {
            let child = mirror("c", keys(other));
            let one = || link((&t, &[0]), (&child, &[1]), key("x", &["p"], Action::SetNull));
            assert_eq!(noted(vec![Link { is_whole: false, ..one() }]), [(expected, expected)]);
            assert_eq!(noted(vec![one()]), [(false, false)]);
        }
    }
}
