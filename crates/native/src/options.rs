//! Options in statements that define native tables: the known ones, and those that are refused
//! because native tables cannot fulfil them.
//!
//! The parser accepts every option, since definitions of other servers have options that no list
//! contains. Here a misspelt option must be an error and not be ignored.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::ddl::{
    AlterAction, PartitionDefinition, Partitioning, TableOption, TableStatement,
};

/// Options of native tables alone.
const OWN: [&str; 3] = ["COMMIT", "HISTORY", "HISTORY_BYTES"];

/// Options of tables that MySQL has, and those that dumps of MariaDB say outside of comments.
const OF_TABLES: [&str; 37] = [
    "AUTOEXTEND_SIZE",
    "AUTO_INCREMENT",
    "AVG_ROW_LENGTH",
    "CHARSET",
    "CHECKSUM",
    "COLLATE",
    "COMMENT",
    "COMPRESSION",
    "CONNECTION",
    "DATA DIRECTORY",
    "DELAY_KEY_WRITE",
    "ENCRYPTED",
    "ENCRYPTION",
    "ENGINE",
    "ENGINE_ATTRIBUTE",
    "INDEX DIRECTORY",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "PACK_KEYS",
    "PAGE_CHECKSUM",
    "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL",
    "PASSWORD",
    "ROW_FORMAT",
    "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "START TRANSACTION",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STORAGE",
    "TABLESPACE",
    "TABLE_CHECKSUM",
    "TRANSACTIONAL",
    "UNION",
];

/// Options of partitions.
const OF_PARTITIONS: [&str; 8] = [
    "COMMENT",
    "DATA DIRECTORY",
    "ENGINE",
    "INDEX DIRECTORY",
    "MAX_ROWS",
    "MIN_ROWS",
    "NODEGROUP",
    "TABLESPACE",
];

/// Checks the options of a statement.
///
/// # Errors
/// Unknown options, conflicting options (1064), and options that native tables cannot fulfil
/// (1235).
pub fn check(statement: &TableStatement) -> Result<()> {
    match statement {
        TableStatement::Create(definition) => {
            of_table(&definition.options.iter().collect::<Vec<_>>())?;
            definition.partitioning.iter().try_for_each(of_partitioning)
        }
        TableStatement::Alter(alter) => {
            let options = alter.actions.iter().filter_map(|action| match action {
                AlterAction::Option(option) => Some(option),
                _ => None,
            });
            of_table(&options.collect::<Vec<_>>())?;
            alter.actions.iter().try_for_each(of_action)
        }
        _ => Ok(()),
    }
}

/// Whether a table can have an option unchanged.
pub fn is_kept(option: &TableOption) -> bool {
    of_table(&[option]).is_ok()
}

fn of_table(options: &[&TableOption]) -> Result<()> {
    for (at, option) in options.iter().enumerate() {
        let name = option.name.as_str();
        if !OWN.contains(&name) && !OF_TABLES.contains(&name) {
            let text = format!(
                "there is no table option '{name}'; native tables have {} beside those of MySQL",
                OWN.join(", ")
            );
            return Err(Error::new(Code::Syntax, text));
        }
        if OWN.contains(&name) && options[..at].iter().any(|other| other.name == name) {
            let text = format!("the table option {name} is said twice");
            return Err(Error::new(Code::Syntax, text));
        }
        promise(option)?;
    }
    Ok(())
}

fn of_action(action: &AlterAction) -> Result<()> {
    match action {
        AlterAction::PartitionBy(partitioning) => of_partitioning(partitioning),
        AlterAction::AddPartitions(list) => list.iter().try_for_each(of_partition),
        AlterAction::ReorganizePartitions { into, .. } => into.iter().try_for_each(of_partition),
        AlterAction::ModifyColumn { column, .. } | AlterAction::ChangeColumn { column, .. }
            if column.references.is_some() =>
        {
            let text = "REFERENCES of a column that is there already; ADD FOREIGN KEY adds one";
            Err(Error::new(Code::Syntax, text))
        }
        _ => Ok(()),
    }
}

fn of_partitioning(partitioning: &Partitioning) -> Result<()> {
    partitioning.partitions.iter().try_for_each(of_partition)
}

fn of_partition(partition: &PartitionDefinition) -> Result<()> {
    let parts = partition.subpartitions.iter().flat_map(|(_, options)| options);
    for option in partition.options.iter().chain(parts) {
        if !OF_PARTITIONS.contains(&option.name.as_str()) {
            let text = format!("partitions have no option '{}'", option.name);
            return Err(Error::new(Code::Syntax, text));
        }
        promise(option)?;
    }
    Ok(())
}

/// Refuses an option on which its author would rely.
fn promise(option: &TableOption) -> Result<()> {
    let is = |words: &[&str]| words.iter().any(|word| option.value.eq_ignore_ascii_case(word));
    let advice = match option.name.as_str() {
        "ENCRYPTION" | "ENCRYPTED" if !is(&["N", "NO", "DEFAULT"]) => {
            "native tables are not encrypted: leave it out, and encrypt the disk"
        }
        "DATA DIRECTORY" | "INDEX DIRECTORY" => {
            "native tables lie in the folder of all: leave it out"
        }
        "SECONDARY_ENGINE" if !is(&["NULL"]) => {
            "leave it out, or dump with mysqldump --show-create-table-skip-secondary-engine"
        }
        "UNION" | "CONNECTION" => "native tables have rows of their own",
        "START TRANSACTION" => "it is a server's own, for its replicas",
        _ => return Ok(()),
    };
    Err(Error::unsupported(format_args!("the option {}; {advice}", option.name)))
}
