//! Derives the definition of a copy from the definition of its source table.

use pelorus_error::{Error, Result};
use pelorus_sql::Mode;
use pelorus_sql::ddl::{
    AlterAction, AlterTable, ColumnDefault, ColumnDefinition, KeyKind, PartitionDefinition,
    PartitionMethod, PartitionValues, Partitioning, TableDefinition, TableStatement,
};
use pelorus_sql::statement::MirrorFilter;

/// The definition of a copy: the columns and the primary key of the source, its ranges and lists as
/// partitions, or the user's layout instead. Everything that only writers need is left out: other
/// keys, constraints, counters, and how generated columns and defaults are computed, whose values
/// come with the rows. Columns that `filter` leaves out are marked.
///
/// # Errors
/// Text that does not parse as `CREATE TABLE`, and a filter that does not fit it.
pub(super) fn copy_of(
    text: &str,
    layout: Option<&str>,
    filter: &MirrorFilter,
) -> Result<TableDefinition> {
    let mut definition = laid_out(text, layout)?;
    super::filter::apply(&mut definition, filter)?;
    Ok(definition)
}

fn laid_out(text: &str, layout: Option<&str>) -> Result<TableDefinition> {
    let mut definition = created(text)?;
    definition.name.database = None;
    definition.temporary = false;
    definition.if_not_exists = false;
    definition.keys.retain(|key| key.kind == KeyKind::Primary);
    definition.foreign_keys.clear();
    definition.checks.clear();
    definition.options.retain(|option| matches!(option.name.as_str(), "CHARSET" | "COLLATE"));
    definition.columns.iter_mut().for_each(plain);
    if let Some(layout) = layout {
        let wanted = created(&format!("CREATE TABLE t (a INT) {layout}"))?;
        definition.partitioning = wanted.partitioning;
        definition.segment_by = wanted.segment_by;
        return Ok(definition);
    }
    definition.partitioning = definition.partitioning.filter(is_copied);
    definition.partitioning.iter_mut().for_each(plain_partitions);
    Ok(definition)
}

/// Whether a copy has the partitions of its source. Hash partitions help no query, and ours contain
/// other rows than the server's of the same name, so that an operation on one would do harm here. A
/// partition for all other values is not supported.
fn is_copied(partitioning: &Partitioning) -> bool {
    let is_rest = |it: &PartitionDefinition| it.values == Some(PartitionValues::Default);
    !matches!(partitioning.method, PartitionMethod::Hash { .. } | PartitionMethod::Key { .. })
        && !partitioning.partitions.iter().any(is_rest)
}

/// Partitions without what only servers need.
fn plain_partitions(partitioning: &mut Partitioning) {
    partitioning.subpartitioning = None;
    for partition in &mut partitioning.partitions {
        partition.subpartitions.clear();
        partition.options.clear();
    }
}

fn created(text: &str) -> Result<TableDefinition> {
    match pelorus_sql::ddl::parse(text, Mode::default())? {
        TableStatement::Create(definition) => Ok(*definition),
        _ => Err(Error::internal("a definition that is no CREATE TABLE")),
    }
}

/// The comment of a copy's column all of whose values are computed by its server.
pub(super) const GENERATED: &str = "generated";
/// The comment of a copy's column whose default is computed by its server.
pub(super) const COMPUTED: &str = "computed default";

/// A column without what only writers need. That its values are computed is kept as its comment.
fn plain(column: &mut ColumnDefinition) {
    column.comment = None;
    if column.generated.take().is_some() {
        // Whether it can be NULL is written after the expression, or not at all.
        column.default = None;
        column.comment = Some(GENERATED.to_owned());
    }
    if matches!(column.default, Some(ColumnDefault::Expression(_))) || column.has_large_default() {
        column.default = None;
        column.comment = Some(COMPUTED.to_owned());
    }
    column.on_update = None;
    column.auto_increment = false;
    column.unique = false;
    column.checks.clear();
    column.references = None;
    column.options.clear();
    column.srid = None;
}

/// The part of an `ALTER TABLE` that concerns a copy; `None` if no part does. `partitions` says
/// whether the copy has the partitions of its source.
pub(super) fn alter_of_copy(alter: &AlterTable, partitions: bool) -> Option<AlterTable> {
    let mut actions: Vec<AlterAction> = alter
        .actions
        .iter()
        .filter(|it| concerns(it) && (partitions || !distributes(it)))
        .cloned()
        .collect();
    for action in &mut actions {
        match action {
            AlterAction::AddColumn { column, .. }
            | AlterAction::ModifyColumn { column, .. }
            | AlterAction::ChangeColumn { column, .. } => plain(column),
            AlterAction::PartitionBy(partitioning) if is_copied(partitioning) => {
                plain_partitions(partitioning);
            }
            AlterAction::PartitionBy(_) => *action = AlterAction::RemovePartitioning,
            _ => {}
        }
    }
    let table = alter.table.clone();
    (!actions.is_empty()).then_some(AlterTable { if_exists: false, table, actions })
}

/// Whether an action moves rows between partitions, and leaves them as they are.
fn distributes(action: &AlterAction) -> bool {
    matches!(
        action,
        AlterAction::AddPartitions(_)
            | AlterAction::AddPartitionCount(_)
            | AlterAction::ReorganizePartitions { .. }
            | AlterAction::CoalescePartitions(_)
            | AlterAction::RemovePartitioning
            | AlterAction::PartitionBy(_)
    )
}

fn concerns(action: &AlterAction) -> bool {
    match action {
        AlterAction::AddKey(key) => key.kind == KeyKind::Primary,
        AlterAction::Option(option) => matches!(option.name.as_str(), "CHARSET" | "COLLATE"),
        AlterAction::AddForeignKey(_)
        | AlterAction::AddCheck(_)
        | AlterAction::DropKey { .. }
        | AlterAction::DropForeignKey(_)
        | AlterAction::DropCheck(_)
        | AlterAction::DropConstraint(_)
        | AlterAction::AlterCheck(..)
        | AlterAction::RenameKey(..)
        // The stream executes it.
        | AlterAction::Rename(_)
        | AlterAction::KeyVisible(..)
        | AlterAction::OrderBy(_)
        | AlterAction::EnableKeys(_)
        | AlterAction::Force
        | AlterAction::Algorithm(_)
        | AlterAction::Lock(_)
        | AlterAction::Validation(_)
        | AlterAction::MaintainPartitions(..) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_what_readers_need() {
        let text = "CREATE TABLE `t` (`id` int NOT NULL AUTO_INCREMENT, `a` int DEFAULT (1 + 1), \
            `b` int GENERATED ALWAYS AS (`a` * 2) STORED, PRIMARY KEY (`id`), UNIQUE KEY `u` (`a`), \
            CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` (`id`)) ENGINE=InnoDB AUTO_INCREMENT=7 \
            DEFAULT CHARSET=latin1 PARTITION BY HASH (`id`) PARTITIONS 4";
        let none = MirrorFilter::default();
        let copy = copy_of(text, None, &none).unwrap();
        assert_eq!(copy.keys.len(), 1);
        assert!(copy.foreign_keys.is_empty() && copy.partitioning.is_none());
        assert!(copy.columns.iter().all(|it| !it.auto_increment && it.generated.is_none()));
        let comments: Vec<_> = copy.columns.iter().map(|it| it.comment.as_deref()).collect();
        assert_eq!(comments, [None, Some(COMPUTED), Some(GENERATED)]);
        assert_eq!(copy.option("CHARSET"), Some("latin1"));
        assert_eq!(copy.options.len(), 1);
        let laid = copy_of(text, Some("PARTITION BY (id) SEGMENT BY (a)"), &none).unwrap();
        assert!(laid.partitioning.is_some() && laid.segment_by.len() == 1);
    }

    #[test]
    fn copies_have_no_partitions_by_hash() {
        let alter = |sql: &str| match pelorus_sql::ddl::parse(sql, Mode::default()).unwrap() {
            TableStatement::Alter(alter) => alter_of_copy(&alter, true).unwrap().actions,
            other => panic!("{other:?}"),
        };
        for method in ["KEY (id)", "HASH (id)", "LINEAR HASH (id)", "LINEAR KEY ()"] {
            let actions = alter(&format!("ALTER TABLE t PARTITION BY {method} PARTITIONS 4"));
            assert_eq!(actions, [AlterAction::RemovePartitioning], "{method}");
        }
        let list = "PARTITION BY LIST (id) (PARTITION p VALUES IN (1), PARTITION d DEFAULT)";
        let actions = alter(&format!("ALTER TABLE t {list}"));
        assert_eq!(actions, [AlterAction::RemovePartitioning]);
        let table = format!("CREATE TABLE t (id INT PRIMARY KEY) {list}");
        let copy = copy_of(&table, None, &MirrorFilter::default()).unwrap();
        assert_eq!(copy.partitioning, None);
        let actions = alter(
            "ALTER TABLE t PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 \
             (PARTITION p VALUES LESS THAN (5))",
        );
        assert!(matches!(actions.as_slice(),
            [AlterAction::PartitionBy(it)] if it.subpartitioning.is_none()));
    }

    #[test]
    fn alters_of_keys_do_not_concern_copies() {
        let alter = |sql: &str| match pelorus_sql::ddl::parse(sql, Mode::default()).unwrap() {
            TableStatement::Alter(alter) => alter_of_copy(&alter, false),
            other => panic!("{other:?}"),
        };
        assert_eq!(alter("ALTER TABLE t ADD KEY (a), DROP KEY b, ALGORITHM=INPLACE"), None);
        assert_eq!(alter("ALTER TABLE t ADD PARTITION (PARTITION p VALUES LESS THAN (5))"), None);
        let kept = alter("ALTER TABLE t ADD KEY (a), ADD COLUMN c INT UNIQUE").unwrap();
        assert!(matches!(kept.actions.as_slice(),
            [AlterAction::AddColumn { column, .. }] if !column.unique));
    }
}
