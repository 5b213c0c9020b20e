//! Base tables as leaves of a plan that is built here: tables of a server, and system tables of
//! Pelorus.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use pelorus_error::{Code, Error, Result};
use pelorus_link::{Fragment, KeyPart, KeyRange, Link, RemoteTable, ScanRequest};
use pelorus_sql::ast_analysis::{self, Node};
use pelorus_sql::{Mode, literal};
use pelorus_types::Column;
use sqlparser::ast::{
    self, BinaryOperator, JoinConstraint, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
};

use super::from_clause::rejected_nulls;
use super::query::{Binder, column_expr};
use super::scope::Scope;
use super::typed_expression::TypedExpr;
use crate::context::InfoSchema;
use crate::datafusion_adapter::udf::into_datafusion;
use crate::federation::block::{constraint, remote_columns, runs_once};
use crate::federation::sql_writer;

impl Scope {
    /// Adds columns of a table of a server, which are in the order of its description, and the
    /// dependencies of its keys: the primary key, and unique keys whose NULLs the block excludes.
    pub(crate) fn push_remote(
        &mut self,
        (schema, alias): (&str, &str),
        table: &RemoteTable,
        (typed, columns): (Vec<TypedExpr>, &[Column]),
        select: &ast::Select,
    ) {
        let begin = self.columns.len();
        self.push_relation(schema, alias, typed);
        self.columns[begin..].iter_mut().for_each(|column| column.folds = table.folds_names);
        let rejected = rejected_nulls(select);
        let is_rejected = |name: &str| {
            rejected.iter().any(|path| {
                let [.., of, column] = path[..] else {
                    return path.last().is_some_and(|it| it.eq_ignore_ascii_case(name));
                };
                of.eq_ignore_ascii_case(alias) && column.eq_ignore_ascii_case(name)
            })
        };
        let place = |part: &KeyPart| {
            let is_whole = part.prefix.is_none() && (!part.nullable || is_rejected(&part.column));
            let is_it = |it: &Column| it.name.eq_ignore_ascii_case(&part.column);
            columns.iter().position(is_it).filter(|_| is_whole).map(|at| begin + at)
        };
        for key in table.keys.iter().filter(|key| key.unique) {
            if let Some(parts) = key.parts.iter().map(place).collect::<Option<Vec<_>>>() {
                self.facts.add(parts, (begin..self.columns.len()).collect(), true);
            }
        }
    }
}

impl Binder<'_> {
    /// A table of a server that is joined here: only the columns that the block names, only the
    /// rows that pass the conditions on this table alone.
    pub(crate) async fn remote_leaf(
        &self,
        link: &Link,
        table: &RemoteTable,
        (schema, alias): (&str, &str),
        select: &ast::Select,
        filtered: bool,
    ) -> Result<(LogicalPlan, Scope)> {
        let mut columns = remote_columns(table);
        if !self.mentioned.all(select, alias) {
            columns.retain(|column| self.mentioned.column(alias, &column.name));
        }
        if columns.is_empty() {
            // Something must be read to count the rows.
            columns.extend(remote_columns(table).into_iter().take(1));
        }
        let list: Vec<String> = columns.iter().map(|column| literal::name(&column.name)).collect();
        let conditions = match (&select.selection, filtered) {
            (Some(selection), true) => {
                self.own_conditions(selection, table, alias, select.from.len() == 1)
            }
            _ => Vec::new(),
        };
        let conditions = if conditions.is_empty() {
            "1=1".to_owned()
        } else {
            let texts: Vec<String> = conditions.iter().map(|it| format!("({it})")).collect();
            texts.join(" AND ")
        };
        let fragment = Fragment {
            parts: [
                format!(
                    "SELECT {} FROM {}.{}",
                    list.join(", "),
                    literal::name(&table.database),
                    literal::name(&table.name)
                ),
                format!(" AS {} WHERE {conditions} AND (", literal::name(alias)),
                ")".to_owned(),
            ],
        };
        let options = &self.context.options;
        let (ranges, how) = if table.rows >= options.split_rows_min && options.streams > 1 {
            let split = link.split(table, None, options.streams * 4).await?;
            (split.ranges.clone(), split.how.clone())
        } else {
            (vec![KeyRange::whole(table.rows)], "one range".to_owned())
        };
        let request = ScanRequest {
            settings: self.context.settings.clone(),
            fragment,
            ranges,
            qualifier: alias.to_owned(),
            tables: vec![(table.database.clone(), table.name.clone())],
            cut: Some((table.database.clone(), table.name.clone())),
            streams: options.streams,
            committed: false,
            buffer_whole_range: true,
            expected: columns.iter().map(|column| column.ty).collect(),
            memory: self.context.memory.clone(),
        };
        let (plan, typed) = self.fragment(link, request, &columns, how)?;
        let mut scope = Scope::default();
        scope.push_remote((schema, alias), table, (typed, &columns), select);
        Ok((plan, scope))
    }

    /// The conditions of WHERE that concern one table alone, as text for its server.
    fn own_conditions(
        &self,
        selection: &ast::Expr,
        table: &RemoteTable,
        alias: &str,
        only_table: bool,
    ) -> Vec<String> {
        ast_analysis::conjuncts(selection)
            .into_iter()
            .filter(|condition| is_own(condition, table, alias, only_table, self.context.mode))
            .filter_map(|condition| sql_writer::expression(self.context, condition).ok())
            .collect()
    }

    /// A table of Pelorus's inside.
    pub(crate) async fn info_table(
        &self,
        schema: &str,
        table: &str,
        alias: &str,
        source: Arc<dyn InfoSchema>,
        select: &ast::Select,
    ) -> Result<(LogicalPlan, Scope)> {
        let columns = source.table(table).ok_or_else(|| {
            Error::new(
                Code::UnknownTableInFieldList,
                format!("Unknown table '{table}' in {schema}"),
            )
        })?;
        let equals = select
            .selection
            .as_ref()
            .map_or_else(Vec::new, |selection| self.equalities(selection, alias, &columns));
        let names: Vec<String> = columns.iter().map(|_| self.fresh("c")).collect();
        let fields: Vec<Field> =
            columns.iter().zip(&names).map(|(it, name)| it.field().with_name(name)).collect();
        let arrow = Arc::new(Schema::new(fields));
        let stream =
            InfoStream { source, table: table.to_owned(), equals, schema: Arc::clone(&arrow) };
        let plan = self.leaf(arrow, vec![Arc::new(stream)])?;
        let typed = columns
            .iter()
            .zip(&names)
            .map(|(column, name)| TypedExpr::column(column_expr(name), column))
            .collect();
        let mut scope = Scope::default();
        scope.push_relation(schema, alias, typed);
        Ok((plan, scope))
    }

    /// Conditions `column = 'text'` of WHERE, which tell what not to fetch.
    fn equalities(
        &self,
        selection: &ast::Expr,
        alias: &str,
        columns: &[Column],
    ) -> Vec<(String, String)> {
        let name_of = |expr: &ast::Expr| match expr {
            ast::Expr::Identifier(name) => Some(name.value.clone()),
            ast::Expr::CompoundIdentifier(path) => match &path[..] {
                [table, name] if table.value.eq_ignore_ascii_case(alias) => {
                    Some(name.value.clone())
                }
                _ => None,
            },
            _ => None,
        };
        let text_of = |expr: &ast::Expr| match literal::constant(expr, self.context.mode) {
            Some(literal::Constant::Text { text, .. }) => Some(text),
            _ => match expr {
                ast::Expr::Function(function)
                    if matches!(
                        super::aggregate::name_of(function).as_str(),
                        "DATABASE" | "SCHEMA"
                    ) =>
                {
                    self.context.database.clone()
                }
                _ => None,
            },
        };
        let mut found = Vec::new();
        for condition in ast_analysis::conjuncts(selection) {
            let ast::Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = condition else {
                continue;
            };
            for (name, value) in [(left, right), (right, left)] {
                if let (Some(name), Some(value)) = (name_of(name), text_of(value))
                    && columns.iter().any(|column| column.name.eq_ignore_ascii_case(&name))
                {
                    found.push((name.to_ascii_uppercase(), value));
                }
            }
        }
        found
    }
}

/// Whether a condition names nothing but columns of one table, and means the same on its server.
fn is_own(
    condition: &ast::Expr,
    table: &RemoteTable,
    alias: &str,
    only_table: bool,
    mode: Mode,
) -> bool {
    let is_column = |path: &[ast::Ident]| match path {
        // A bare name could be another table's column too, which only the whole FROM clause tells;
        // with one table there is no doubt.
        [column] => only_table && table.column(&column.value).is_some(),
        [table_name, column] => {
            table_name.value.eq_ignore_ascii_case(alias) && table.column(&column.value).is_some()
        }
        _ => false,
    };
    let (mut own, mut columns) = (true, 0_usize);
    ast_analysis::walk_expr(condition, &mut |node| {
        own &= match node {
            Node::Expr(ast::Expr::Identifier(name)) => {
                columns += 1;
                is_column(std::slice::from_ref(name))
            }
            Node::Expr(ast::Expr::CompoundIdentifier(path)) => {
                columns += 1;
                is_column(path)
            }
            Node::Expr(ast::Expr::Function(function)) => function.over.is_none(),
            Node::Expr(_) | Node::Table(_) => true,
            Node::Query(_) | Node::End => false,
        }
    });
    own && columns > 0
        && !ast_analysis::has_aggregate(condition)
        && !runs_once(&ast_analysis::expression_dependence(condition, mode))
}

/// Whether a block takes all columns of any table.
pub(crate) fn takes_all_of_any(select: &ast::Select) -> bool {
    let all = |item: &SelectItem| {
        matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
    };
    select.projection.iter().any(all)
}

/// Whether a block takes all columns of a table.
fn takes_all(select: &ast::Select, alias: &str) -> bool {
    select.projection.iter().any(|item| match item {
        SelectItem::Wildcard(_) => true,
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            let table = name.0.last().and_then(|part| part.as_ident());
            table.is_none_or(|table| table.value.eq_ignore_ascii_case(alias))
        }
        SelectItem::QualifiedWildcard(..) => true,
        _ => false,
    })
}

/// Every column that a statement names, in lower case.
#[derive(Debug, Default)]
pub(crate) struct Mentioned {
    bare: HashSet<String>,
    qualified: HashSet<(String, String)>,
    /// A join is `NATURAL`: every column can be meant.
    natural: bool,
}

impl Mentioned {
    /// Looks through a query and its subqueries.
    pub(crate) fn of(query: &ast::Query) -> Self {
        let mut this = Self::default();
        ast_analysis::walk_query(query, &mut |node| match node {
            Node::Expr(ast::Expr::Identifier(name)) => {
                this.bare.insert(name.value.to_ascii_lowercase());
            }
            Node::Expr(ast::Expr::CompoundIdentifier(path)) => {
                if let [.., table, column] = &path[..] {
                    this.qualified.insert((
                        table.value.to_ascii_lowercase(),
                        column.value.to_ascii_lowercase(),
                    ));
                }
            }
            Node::Expr(ast::Expr::MatchAgainst { columns, .. }) => {
                for column in columns {
                    let last = column.0.last().and_then(ast::ObjectNamePart::as_ident);
                    this.bare.extend(last.map(|name| name.value.to_ascii_lowercase()));
                }
            }
            Node::Query(query) => this.joins_of(&query.body),
            Node::Table(TableFactor::NestedJoin { table_with_joins, .. }) => {
                this.joins(&table_with_joins.joins);
            }
            _ => {}
        });
        this
    }

    fn joins_of(&mut self, body: &ast::SetExpr) {
        match body {
            ast::SetExpr::Select(select) => {
                select.from.iter().for_each(|item| self.joins(&item.joins));
            }
            ast::SetExpr::SetOperation { left, right, .. } => {
                self.joins_of(left);
                self.joins_of(right);
            }
            // What is in parentheses is a query of its own.
            _ => {}
        }
    }

    /// The names of `USING`.
    fn joins(&mut self, joins: &[ast::Join]) {
        for join in joins {
            match constraint(&join.join_operator) {
                Some(JoinConstraint::Natural) => self.natural = true,
                Some(JoinConstraint::Using(names)) => {
                    let names = names.iter().filter_map(|name| name.0.last()?.as_ident());
                    self.bare.extend(names.map(|name| name.value.to_ascii_lowercase()));
                }
                _ => {}
            }
        }
    }

    /// Whether a block may mean any column of a table.
    pub(crate) fn all(&self, select: &ast::Select, alias: &str) -> bool {
        self.natural || takes_all(select, alias)
    }

    pub(crate) fn column(&self, alias: &str, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.bare.contains(&name) || self.qualified.contains(&(alias.to_ascii_lowercase(), name))
    }
}

/// The rows of a system table of Pelorus, built on demand.
struct InfoStream {
    source: Arc<dyn InfoSchema>,
    table: String,
    equals: Vec<(String, String)>,
    schema: SchemaRef,
}

impl std::fmt::Debug for InfoStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rows of {}", self.table)
    }
}

impl PartitionStream for InfoStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let source = Arc::clone(&self.source);
        let (table, equals) = (self.table.clone(), self.equals.clone());
        let schema = Arc::clone(&self.schema);
        let rows = futures::stream::once(async move {
            let batch = source.rows(&table, &equals).await.map_err(into_datafusion)?;
            RecordBatch::try_new(schema, batch.columns().to_vec()).map_err(Into::into)
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}
