//! Native tables as leaves of a plan, with the conditions of WHERE that their scan can use.
//!
//! The conditions prune partitions, chunks and vectors, and filter rows before they are decoded.
//! Conditions that the scan tests exactly are not tested again by the plan, and columns that only
//! such conditions name are not decoded.

pub(crate) mod dictionary_groups;
mod dictionary_predicate;
mod dynamic_filters;
mod estimate;
mod exec;
pub(crate) mod min_max_from_zone_maps;
mod partial_mirror;
mod predicate_implication;
mod scan_streams;
mod table_provider;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use pelorus_error::{Error, Result};
use pelorus_functions::needs_key;
use pelorus_sql::ast_analysis;
use pelorus_types::{Column, WireType};
use sqlparser::ast::{self, GroupByExpr, SelectItem, TableFactor};

use self::dictionary_groups::{GroupNumbers, TextGroups};
use self::table_provider::{Conditions, Grouped, NativeScan};
use super::from_clause::BlockContext;
use super::scan_predicate::{self, Of, StoredColumns};
use super::scope::Scope;
use super::statement::Binder;
use super::typed_expression::TypedExpr;
use crate::context::{AsOf, NativeTable};
use crate::datafusion_adapter::plan_nodes::column_expr;
use crate::datafusion_adapter::udf::{Units, from_datafusion};
use crate::journal::Entry;

pub(crate) use self::exec::row_bytes;

/// Decimals of so many digits fit 64 bits.
const DIGITS_OF_64_BITS: u8 = 18;

impl Binder<'_> {
    /// A native table: only the columns that the block names, only rows that may pass the
    /// conditions on this table alone.
    pub(super) fn native_leaf(
        &self,
        table: Arc<NativeTable>,
        (schema, alias): (&str, &str),
        around: BlockContext<'_>,
    ) -> Result<(LogicalPlan, Scope)> {
        let BlockContext { select, filtered, .. } = around;
        let only_table = matches!(
            select.from.as_slice(),
            // A join may follow a parenthesis.
            [ast::TableWithJoins { relation: TableFactor::Table { .. }, joins }] if joins.is_empty()
        );
        let of = Of { table: &table, alias, only_table };
        predicate_implication::check_rows(self.context, of, around)?;
        let mut scope = Scope::default();
        let positions = self.native_columns(&table, alias, select)?;
        partial_mirror::check_columns(&table, &positions)?;
        partial_mirror::check_opaque(self, &table, &positions, select)?;
        let columns: Vec<&Column> = positions.iter().map(|&at| &table.columns[at]).collect();
        let names: Vec<String> = columns.iter().map(|_| self.fresh("c")).collect();
        let mut fields: Vec<Field> =
            columns.iter().zip(&names).map(|(it, name)| it.field().with_name(name)).collect();
        // Columns that are not needed are not read.
        let mut read = positions.clone();
        for (column, (&at, name)) in columns.iter().zip(positions.iter().zip(&names)) {
            if column.ty.is_decimal() && column.ty.precision() <= DIGITS_OF_64_BITS {
                let units = self.fresh("u");
                fields.push(Field::new(&units, DataType::Int64, column.field().is_nullable()));
                read.push(at);
                scope.units.push(Units {
                    column: column_expr(name),
                    units: column_expr(&units),
                    ty: column.ty.arrow(),
                    digits: column.ty.precision(),
                });
            }
        }
        let arrow = Arc::new(Schema::new(fields));
        let typed = positions.iter().zip(columns.iter().zip(&names));
        let typed = typed.map(|(&at, (column, name))| {
            let mut column = Column::clone(column);
            alias.clone_into(&mut column.table);
            let members = table.members.get(at).and_then(Option::as_ref);
            TypedExpr::column(column_expr(name), &column).with_members(members)
        });
        scope.push_relation(schema, alias, typed.collect());
        for (column, &at) in scope.columns.iter_mut().zip(&positions) {
            column.invisible = table.invisible.get(at).copied().unwrap_or(false);
        }
        let selection = select.selection.as_ref().filter(|_| filtered);
        let by_name = names.iter().map(String::as_str).zip(positions.iter().copied()).collect();
        let conditions = self.leaf_conditions(of, selection, &by_name, &mut scope);
        let what = describe(&table, &columns);
        let mut scan = NativeScan::new(Arc::clone(&table), &read, conditions, &arrow)?;
        self.journal.note(Entry {
            link: "pelorus".to_owned(),
            what: "scan",
            how: format!("{} of {} partitions", scan.partitions, table.table.partitions().len()),
            ranges: scan.units(),
            sql: what,
            report: None,
        });
        scan.streams = self.context.options.streams.clamp(1, scan.units().max(1));
        scope.groups = self.number_groups(&mut scan, of, select, (&positions, &names))?;
        let place = |at: &usize| positions.iter().position(|position| position == at);
        let key: Option<Vec<usize>> = table.table.schema().key.iter().map(place).collect();
        if let Some(key) = key {
            scope.facts.add(key, (0..positions.len()).collect(), true);
        }
        let plan =
            LogicalPlanBuilder::scan(self.fresh("t"), provider_as_source(Arc::new(scan)), None)
                .and_then(LogicalPlanBuilder::build)
                .map_err(from_datafusion)?;
        Ok((plan, scope))
    }

    /// The conditions of WHERE that the scan of a table tests. `by_name` gives the positions of
    /// columns in the table by their names in the plan. Conditions that the plan need not test again
    /// are noted in the scope.
    fn leaf_conditions(
        &self,
        of: Of<'_>,
        selection: Option<&ast::Expr>,
        by_name: &HashMap<&str, usize>,
        scope: &mut Scope,
    ) -> Conditions {
        let mut conditions = Conditions::default();
        let position = |expr: &Expr| match expr {
            Expr::Column(column) => by_name.get(column.name.as_str()).copied(),
            _ => None,
        };
        let stored = StoredColumns {
            columns: &of.table.columns,
            position: &position,
            zone: of.table.time_zone,
        };
        for part in selection.map(ast_analysis::conjuncts).unwrap_or_default() {
            let bound = of.bound(self.context, scope, part);
            let is_exact = bound.and_then(|bound| conditions.take(stored, &bound));
            // Rows that the transaction wrote come as they are.
            if is_exact == Some(true) && of.table.own.is_none() {
                scope.tested.push(part.clone());
            }
        }
        conditions
    }

    /// Lets a scan number the groups of text columns with few values that its block groups by.
    fn number_groups(
        &self,
        scan: &mut NativeScan,
        of: Of<'_>,
        select: &ast::Select,
        (positions, names): (&[usize], &[String]),
    ) -> Result<Option<GroupNumbers>> {
        /// With so many columns most rows share their group with others ...
        const SURE: usize = 3;
        /// ... and with more of them as long as a chunk has no more combinations of values.
        const COMBINATIONS: u64 = 1 << 18;
        let (mut keys, mut combinations) = (Vec::new(), 1_u64);
        let may = of.only_table && self.context.options.numbers_groups;
        for at in if may { keys_of(select, of) } else { Vec::new() } {
            let ty = &of.table.columns[at].ty;
            let place = positions.iter().position(|&it| it == at);
            if let Some(place) = place
                && needs_key(ty)
                && ty.wire != WireType::Json
                && !keys.contains(&place)
                && let Some(values) = scan.few_values(at)?
            {
                keys.push(place);
                combinations = combinations.saturating_mul(values.max(1));
            }
        }
        if keys.is_empty() || (keys.len() > SURE && combinations > COMBINATIONS) {
            return Ok(None);
        }
        self.note_numbered();
        let positions: Vec<usize> = keys.iter().map(|&place| positions[place]).collect();
        let types = positions.iter().map(|&at| of.table.columns[at].ty).collect();
        let groups = Arc::new(TextGroups::new(types, &self.context.memory));
        let number = self.fresh("n");
        scan.group(&number, Grouped { groups: Arc::clone(&groups), positions });
        let columns = keys.iter().map(|&place| column_expr(&names[place])).collect();
        let number = column_expr(&number);
        Ok(Some(GroupNumbers { number, columns, groups, is_filtered: false }))
    }

    /// The columns that a block reads.
    fn native_columns(
        &self,
        table: &NativeTable,
        alias: &str,
        select: &ast::Select,
    ) -> Result<Vec<usize>> {
        let all = self.mentioned.all(select, alias);
        let mut positions = Vec::new();
        for (at, column) in table.columns.iter().enumerate() {
            let named = self.mentioned.column(alias, &column.name);
            let hidden = table.invisible.get(at).copied().unwrap_or(false);
            if named || all && !hidden {
                positions.push(at);
            }
        }
        if positions.is_empty() {
            // Something must be read to count the rows; the key is never NULL and cheap.
            positions.extend(table.table.schema().key.first());
        }
        Ok(positions)
    }

    /// The moment of `FOR SYSTEM_TIME AS OF`; `None`, which is now, where a statement that is
    /// prepared does not say it yet.
    pub(crate) fn as_of(&self, version: &ast::TableVersion) -> Result<Option<AsOf>> {
        match version {
            ast::TableVersion::VersionAsOf(expr) | ast::TableVersion::ForSystemTimeAsOf(expr)
                if pelorus_expression::is_placeholder(expr) =>
            {
                Ok(None)
            }
            ast::TableVersion::VersionAsOf(expr) => {
                let number = scan_predicate::integer(expr, self.context.mode);
                number
                    .and_then(|number| u64::try_from(number).ok())
                    .map(|number| Some(AsOf::Version(number)))
                    .ok_or_else(|| Error::unsupported(version))
            }
            ast::TableVersion::ForSystemTimeAsOf(expr) => {
                scan_predicate::moment(self.context, expr)
                    .map(|moment| Some(AsOf::Timestamp(moment)))
                    .ok_or_else(|| Error::unsupported(version))
            }
            other => Err(Error::unsupported(other)),
        }
    }
}

/// The columns of a table that GROUP BY names: plainly, by their alias, or by their number in the
/// select list.
fn keys_of(select: &ast::Select, of: Of<'_>) -> Vec<usize> {
    let GroupByExpr::Expressions(terms, modifiers) = &select.group_by else { return Vec::new() };
    if !modifiers.is_empty() {
        return Vec::new();
    }
    let item = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => of.column(expr),
        _ => None,
    };
    let named = |name: &ast::Ident| {
        select.projection.iter().find(|it| match it {
            SelectItem::ExprWithAlias { alias, .. } => {
                alias.value.eq_ignore_ascii_case(&name.value)
            }
            _ => false,
        })
    };
    let key = |term: &ast::Expr| match ast_analysis::unnested(term) {
        ast::Expr::Value(value) => {
            let ast::Value::Number(digits, _) = &value.value else { return None };
            item(select.projection.get(digits.parse::<usize>().ok()?.checked_sub(1)?)?)
        }
        ast::Expr::Identifier(name) => of.column(term).or_else(|| item(named(name)?)),
        other => of.column(other),
    };
    terms.iter().filter_map(key).collect()
}

/// A scan for people.
fn describe(table: &NativeTable, columns: &[&Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    format!(
        "{}.{} at version {}: {}",
        table.database,
        table.name,
        table.table.version(),
        names.join(", ")
    )
}
