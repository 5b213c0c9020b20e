//! Parses `PARTITION BY`, with MySQL's methods and Pelorus's own, and `SEGMENT BY`.

use super::definition::{Expression, TableOption};
use crate::lexer::TokenKind;
use crate::parse::cursor::{Parser, Result};

/// `PARTITION BY`
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioning {
    /// How rows find their partition.
    pub method: PartitionMethod,
    /// `PARTITIONS n`
    pub count: Option<u64>,
    /// `SUBPARTITION BY`
    pub subpartitioning: Option<Subpartitioning>,
    /// The partitions by name, in order.
    pub partitions: Vec<PartitionDefinition>,
}

/// How rows find their partition.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionMethod {
    /// `[LINEAR] HASH (expr)`
    Hash {
        /// `LINEAR`
        linear: bool,
        /// The expression that is taken modulo the number of partitions.
        expression: Expression,
    },
    /// `[LINEAR] KEY [ALGORITHM = n] (columns)`; no columns are those of the primary key.
    Key {
        /// `LINEAR`
        linear: bool,
        /// `ALGORITHM`: 1 or 2.
        algorithm: Option<u64>,
        /// The hashed columns.
        columns: Vec<String>,
    },
    /// `RANGE (expr)`
    Range(Expression),
    /// `RANGE COLUMNS (columns)`
    RangeColumns(Vec<String>),
    /// `LIST (expr)`
    List(Expression),
    /// `LIST COLUMNS (columns)`
    ListColumns(Vec<String>),
    /// Pelorus's own `PARTITION BY (expr, ...)`: each value has its partition, which comes into
    /// being with its first row.
    Value(Vec<Expression>),
}

/// `SUBPARTITION BY`
#[derive(Clone, Debug, PartialEq)]
pub struct Subpartitioning {
    /// `HASH` or `KEY`.
    pub method: PartitionMethod,
    /// `SUBPARTITIONS n`
    pub count: Option<u64>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDefinition {
    /// Its name.
    pub name: String,
    /// `VALUES ...`
    pub values: Option<PartitionValues>,
    /// `ENGINE`, `COMMENT`, `DATA DIRECTORY`, `MAX_ROWS`, `TABLESPACE`, ...
    pub options: Vec<TableOption>,
    /// Its subpartitions by name, with their options.
    pub subpartitions: Vec<(String, Vec<TableOption>)>,
}

/// The values of a partition.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValues {
    /// `VALUES LESS THAN (bounds)`: one for each column, at least one.
    LessThan(Vec<PartitionBound>),
    /// `VALUES IN (values)`: each of as many values as there are columns.
    In(Vec<Vec<Expression>>),
    /// `DEFAULT` (MariaDB): what no other partition by LIST takes.
    Default,
}

/// An upper bound.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionBound {
    /// `MAXVALUE`
    Maximum,
    /// The first value above the partition.
    Value(Expression),
}

impl Parser<'_> {
    /// The part after `PARTITION BY`.
    pub(super) fn partitioning(&mut self) -> Result<Partitioning> {
        let method = self.partition_method()?;
        if matches!(method, PartitionMethod::Value(_)) {
            let partitions = Vec::new();
            return Ok(Partitioning { method, count: None, subpartitioning: None, partitions });
        }
        let count = match self.take_word("PARTITIONS") {
            true => Some(self.integer()?),
            false => None,
        };
        let subpartitioning = match self.take_words(&["SUBPARTITION", "BY"]) {
            true => Some(self.subpartitioning()?),
            false => None,
        };
        let partitions = match self.is_symbol("(") {
            true => self.parenthesised(Self::partition_definition)?,
            false => Vec::new(),
        };
        Ok(Partitioning { method, count, subpartitioning, partitions })
    }

    /// The part after `SEGMENT BY`.
    pub(super) fn segment_by(&mut self) -> Result<Vec<Expression>> {
        self.parenthesised(Self::expression)
    }

    fn partition_method(&mut self) -> Result<PartitionMethod> {
        if self.is_symbol("(") {
            return Ok(PartitionMethod::Value(self.parenthesised(Self::expression)?));
        }
        if self.take_word("RANGE") {
            return Ok(match self.take_word("COLUMNS") {
                true => PartitionMethod::RangeColumns(self.parenthesised(Self::name_text)?),
                false => PartitionMethod::Range(self.expression_in_parentheses()?),
            });
        }
        if self.take_word("LIST") {
            return Ok(match self.take_word("COLUMNS") {
                true => PartitionMethod::ListColumns(self.parenthesised(Self::name_text)?),
                false => PartitionMethod::List(self.expression_in_parentheses()?),
            });
        }
        self.hash_method()
    }

    /// `[LINEAR] HASH (expr)` or `[LINEAR] KEY [ALGORITHM = n] ([columns])`
    fn hash_method(&mut self) -> Result<PartitionMethod> {
        let linear = self.take_word("LINEAR");
        if self.take_word("HASH") {
            let expression = self.expression_in_parentheses()?;
            return Ok(PartitionMethod::Hash { linear, expression });
        }
        self.expect_word("KEY")?;
        let algorithm = match self.take_word("ALGORITHM") {
            true => {
                self.take_symbol("=");
                Some(self.integer()?)
            }
            false => None,
        };
        self.expect_symbol("(")?;
        let columns = match self.is_symbol(")") {
            true => Vec::new(),
            false => self.list(Self::name_text)?,
        };
        self.expect_symbol(")")?;
        Ok(PartitionMethod::Key { linear, algorithm, columns })
    }

    fn subpartitioning(&mut self) -> Result<Subpartitioning> {
        let method = self.hash_method()?;
        let count = match self.take_word("SUBPARTITIONS") {
            true => Some(self.integer()?),
            false => None,
        };
        Ok(Subpartitioning { method, count })
    }

    /// `PARTITION name [VALUES ...] [options] [(subpartitions)]`
    pub(super) fn partition_definition(&mut self) -> Result<PartitionDefinition> {
        self.expect_word("PARTITION")?;
        let name = self.name_text()?;
        let values = self.partition_values()?;
        let options = self.partition_options()?;
        let subpartitions = match self.is_symbol("(") {
            true => self.parenthesised(|parser| {
                parser.expect_word("SUBPARTITION")?;
                let name = match parser.peek().is_some_and(|token| token.kind == TokenKind::Text) {
                    true => parser.string_value()?,
                    false => parser.name_text()?,
                };
                Ok((name, parser.partition_options()?))
            })?,
            false => Vec::new(),
        };
        Ok(PartitionDefinition { name, values, options, subpartitions })
    }

    /// Options of a partition; a comma ends them.
    fn partition_options(&mut self) -> Result<Vec<TableOption>> {
        let mut out = Vec::new();
        loop {
            // `STORAGE ENGINE` is `ENGINE`.
            if self.is_word("STORAGE") && self.is_word_at(1, "ENGINE") {
                self.advance();
            }
            match self.table_option()? {
                Some(option) => out.push(option),
                None => return Ok(out),
            }
        }
    }

    fn partition_values(&mut self) -> Result<Option<PartitionValues>> {
        if self.take_word("DEFAULT") {
            return Ok(Some(PartitionValues::Default));
        }
        if !self.take_word("VALUES") {
            return Ok(None);
        }
        if self.take_words(&["LESS", "THAN"]) {
            return Ok(Some(PartitionValues::LessThan(match self.take_word("MAXVALUE") {
                true => vec![PartitionBound::Maximum],
                false => self.parenthesised(Self::partition_bound)?,
            })));
        }
        self.expect_word("IN")?;
        let values = self.parenthesised(|parser| {
            // `(1, 2)` is one value of two columns; `(1) + 2` is one of one.
            if parser.is_tuple() {
                return parser.parenthesised(Self::expression);
            }
            Ok(vec![parser.expression()?])
        })?;
        Ok(Some(PartitionValues::In(values)))
    }

    fn partition_bound(&mut self) -> Result<PartitionBound> {
        Ok(match self.take_word("MAXVALUE") {
            true => PartitionBound::Maximum,
            false => PartitionBound::Value(self.expression()?),
        })
    }

    /// Whether a parenthesis opens here whose end is that of the element of the list.
    fn is_tuple(&self) -> bool {
        let mut open = 0usize;
        for ahead in 0.. {
            if self.is_symbol_at(ahead, "(") {
                open += 1;
            } else if self.is_symbol_at(ahead, ")") {
                open = open.saturating_sub(1);
            } else if self.peek_at(ahead).is_none() {
                return false;
            }
            if open == 0 {
                let next = ahead + 1;
                return ahead > 0 && (self.is_symbol_at(next, ",") || self.is_symbol_at(next, ")"));
            }
        }
        false
    }
}
