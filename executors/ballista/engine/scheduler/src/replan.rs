//! What Ballista 55 may not do when it plans a statement again.
//!
//! It plans stages again that run. If one of them gets a stage beneath it then, such as the other side of a join, Ballista forgets that it runs,
//! and waits for it nevertheless: a stage that has begun stays as it is.
//!
//! It has joins run that have no rows, as long as it has not decided how.
//!
//! And it finds no end where a stage had no rows for a window or a join that want them by keys. It leaves nothing there, which is in no order of
//! keys, and so is exchanged; of that stage nothing comes, and so on. Nothing is shared out by any keys: this is said of it here.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Distribution, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, InputOrderMode, displayable, replace_children_if_necessary};
use governed::failure::unsupported;
use governed::planned::{Again, NothingExec};

use crate::{shared, sizes};

/// Keeps stages that have begun, and ends exchanges of nothing.
#[derive(Debug)]
pub struct Replan {
    /// How many partitions an exchange by keys has.
    pub partitions: usize,
    /// How many bytes a side of a join may have that is copied.
    pub copied: usize,
}

impl Again for Replan {
    fn again(&self, was: &Arc<dyn ExecutionPlan>, is: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let node = |node| without_rows(node)?.transform_data(|n| share_out(n, self.partitions))?.transform_data(ordered);
        let is = is.transform_up(node)?.data;
        sizes::place(shared::settle(keep(was, is)?)?, self.copied)
    }
}

/// Puts stages that have begun back, as they were planned when they did.
fn keep(was: &Arc<dyn ExecutionPlan>, is: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let mut begun = HashMap::new();
    was.apply(|node| {
        if let Some(Exchange { id, stage: Some(_), .. }) = Exchange::of(node) {
            begun.insert(id, Arc::clone(node));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let is = is.transform_down(|node| match Exchange::of(&node).and_then(|e| begun.get(&e.id)) {
        Some(old) if old.schema() == node.schema() => Ok(Transformed::new(Arc::clone(old), !Arc::ptr_eq(old, &node), TreeNodeRecursion::Jump)),
        _ => Ok(Transformed::no(node)),
    })?;
    Ok(is.data)
}

/// The end of a stage in a plan. Ballista keeps its type to itself, and says this of it in words alone.
#[derive(Debug, PartialEq)]
pub struct Exchange {
    /// Its number in the plan.
    id: usize,
    /// That of its stage, once it has begun.
    pub stage: Option<usize>,
    /// Whether its stage has ended.
    pub resolved: bool,
    /// Whether its rows are in the parts of its input: neither by keys nor gathered.
    pub parts_of_input: bool,
    /// Whether all of its rows go to each task.
    pub broadcast: bool,
}

impl Exchange {
    /// Reads the words of one; none if the node is another, or the words are others.
    pub fn of(node: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        if !Self::is(node) {
            return None;
        }
        let words = displayable(node.as_ref()).one_line().to_string();
        // In front of that are expressions of the statement.
        let (front, rest) = words.trim_end().rsplit_once(", plan_id=")?;
        let mut rest = rest.split(", ");
        let id = rest.next()?.parse().ok()?;
        let stage = match rest.next()?.strip_prefix("stage_id=")? {
            "pending" => None,
            stage => Some(stage.parse().ok()?),
        };
        let resolved = rest.next()?.strip_prefix("stage_resolved=")? == "true";
        let broadcast = rest.any(|w| w == "broadcast=true");
        let parts_of_input = front == "ExchangeExec: partitioning=None" && !broadcast;
        Some(Self { id, stage, resolved, parts_of_input, broadcast })
    }

    /// Whether a node is one, whatever its words are.
    pub fn is(node: &Arc<dyn ExecutionPlan>) -> bool {
        node.name() == "ExchangeExec"
    }
}

/// The kind of a join of which Ballista has yet to decide how it runs, in its words: "LeftSemi". None if a node is another.
pub fn undecided(node: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if node.name() != "DynamicJoinSelectionExec" {
        return None;
    }
    // Behind that are expressions of the statement.
    let words = displayable(node.as_ref()).one_line().to_string();
    let rest = words.strip_prefix("DynamicJoinSelectionExec: plan_id=")?;
    let (kind, _) = rest.split_once(", join_type=")?.1.split_once(", on=")?;
    Some(kind.to_owned())
}

/// Makes nothing of a join that is not decided if a side is nothing of which each row needs one.
fn without_rows(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(kind) = undecided(&node) else { return Ok(Transformed::no(node)) };
    let [left, right] = node.children()[..] else { return Ok(Transformed::no(node)) };
    let (left, right) = (left.is::<EmptyExec>(), right.is::<EmptyExec>());
    let nothing = match kind.as_str() {
        "Inner" | "LeftSemi" | "RightSemi" => left || right,
        "Left" | "LeftAnti" | "LeftMark" => left,
        "Right" | "RightAnti" | "RightMark" => right,
        _ => left && right,
    };
    if !nothing {
        return Ok(Transformed::no(node));
    }
    let partitions = node.properties().partitioning.partition_count();
    Ok(Transformed::yes(Arc::new(EmptyExec::new(node.schema()).with_partitions(partitions))))
}

/// Shares out inputs without rows as a window or a join wants them.
fn share_out(node: Arc<dyn ExecutionPlan>, partitions: usize) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let wants = node.is::<WindowAggExec>() || node.is::<BoundedWindowAggExec>() || node.is::<HashJoinExec>() || node.is::<SortMergeJoinExec>();
    if !wants {
        return Ok(Transformed::no(node));
    }
    let wanted = node.input_distribution_requirements();
    let mut inputs: Vec<Arc<dyn ExecutionPlan>> = node.children().into_iter().cloned().collect();
    let mut changed = false;
    for (input, wanted) in inputs.iter_mut().zip(wanted.per_child_distributions()) {
        #[allow(deprecated)] // both are in use
        let (Distribution::KeyPartitioned(keys) | Distribution::HashPartitioned(keys)) = wanted else { continue };
        if let Some(nothing) = nothing(input, keys, partitions)? {
            (*input, changed) = (nothing, true);
        }
    }
    if !changed {
        return Ok(Transformed::no(node));
    }
    Ok(Transformed::yes(replace_children_if_necessary(node, inputs)?))
}

/// Has the input of a window name all of its partitions' columns in its order. DataFusion leaves those out that have one value, or that of another one, and does not find
/// the partitions where a stage begins between, that does not know so.
pub fn ordered(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let functions = match (node.downcast_ref::<BoundedWindowAggExec>(), node.downcast_ref::<WindowAggExec>()) {
        (Some(w), _) if w.input_order_mode == InputOrderMode::Sorted => w.window_expr(),
        (_, Some(w)) => w.window_expr(),
        _ => return Ok(Transformed::no(node)),
    };
    let (partitions, input) = (functions[0].partition_by(), Arc::clone(node.children()[0]));
    let sort = input.downcast_ref::<SortExec>();
    let have = sort.map(SortExec::expr).or(input.output_ordering()).map(|o| o.to_vec()).unwrap_or_default();
    let first = &have[..partitions.len().min(have.len())];
    let missing: Vec<_> = partitions.iter().filter(|by| !first.iter().any(|s| s.expr.eq(*by))).collect();
    if missing.is_empty() {
        return Ok(Transformed::no(node));
    }
    let mut order: Vec<_> = missing.into_iter().map(|by| PhysicalSortExpr::new_default(Arc::clone(by))).chain(have).collect();
    let (schema, known) = (input.schema(), input.equivalence_properties());
    let constant = |e: &Arc<dyn PhysicalExpr>| known.is_expr_constant(e).is_some();
    if order.iter().all(|s| constant(&s.expr)) {
        // What has one value is no order to DataFusion: any other column makes it one.
        let columns = schema.fields().iter().enumerate().filter(|(_, f)| !f.data_type().is_nested());
        let mut columns = columns.map(|(i, f)| Arc::new(Column::new(f.name(), i)) as Arc<dyn PhysicalExpr>);
        let Some(other) = columns.find(|c| !constant(c)) else { return Err(unsupported("a window over columns of one value")) };
        order.push(PhysicalSortExpr::new_default(other));
    }
    let Some(order) = LexOrdering::new(order) else { return Ok(Transformed::no(node)) };
    let sort = match sort {
        Some(sort) => {
            SortExec::new(order, Arc::clone(sort.input())).with_fetch(sort.fetch()).with_preserve_partitioning(sort.preserve_partitioning())
        }
        None => SortExec::new(order, Arc::clone(&input)).with_preserve_partitioning(input.properties().partitioning.partition_count() > 1),
    };
    Ok(Transformed::yes(replace_children_if_necessary(node, vec![Arc::new(sort)])?))
}

/// An input without rows as one that is shared out by keys; none if it is another.
fn nothing(input: &Arc<dyn ExecutionPlan>, keys: &[Arc<dyn PhysicalExpr>], partitions: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if input.is::<EmptyExec>() {
        return Ok(Some(Arc::new(NothingExec::new(input.schema(), keys.to_vec(), partitions)?)));
    }
    let Some(sort) = input.downcast_ref::<SortExec>() else { return Ok(None) };
    let beneath = nothing(sort.input(), keys, partitions)?;
    beneath.map(|b| replace_children_if_necessary(Arc::clone(input), vec![b])).transpose()
}

#[cfg(test)]
mod tests {
    use datafusion::physical_expr::Partitioning;
    use datafusion::physical_expr::expressions::col;
    use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
    use datafusion::physical_plan::joins::{HashJoinExecBuilder, PartitionMode};
    use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
    use governed::planned::RootExec;

    use crate::fakes::{schema, stage, undecided};

    use super::*;

    fn row() -> Arc<dyn ExecutionPlan> {
        Arc::new(PlaceholderRowExec::new(schema()))
    }

    /// What a root is over when a plan with something else in its stages is put beneath it.
    fn replanned(words: &'static str, now: &'static str) -> bool {
        let was = stage(row(), words);
        let is = stage(Arc::new(CoalescePartitionsExec::new(row())), now);
        let root = Arc::new(RootExec::new(was, Arc::new(Replan { partitions: 4, copied: 16 << 20 })));
        let root = replace_children_if_necessary(root, vec![is]).expect("a root");
        root.children()[0].children()[0].is::<CoalescePartitionsExec>()
    }

    #[test]
    fn stages_that_have_begun_stay() {
        let (waits, runs) = ("plan_id=3, stage_id=pending, stage_resolved=false", "plan_id=3, stage_id=1, stage_resolved=false");
        let ran = "plan_id=3, stage_id=1, stage_resolved=true, broadcast=true";
        assert!(replanned(waits, waits), "one that waits is planned again");
        assert!(!replanned(runs, runs), "one that runs is not");
        assert!(!replanned(ran, ran), "nor one that ran");
        assert!(replanned(runs, "plan_id=4, stage_id=1, stage_resolved=false"), "another one is");
    }

    #[test]
    fn exchanges_in_words() {
        let of = |words| Exchange::of(&stage(row(), words));
        let exchange = |stage, resolved, broadcast| Some(Exchange { id: 3, stage, resolved, parts_of_input: false, broadcast });
        assert_eq!(of("plan_id=3, stage_id=pending, stage_resolved=false"), exchange(None, false, false));
        assert_eq!(of("plan_id=3, stage_id=1, stage_resolved=true, coalesce=2 of 4, broadcast=true"), exchange(Some(1), true, true));
        assert_eq!(of("plan_id=3, stage_id=soon, stage_resolved=true"), None);
        assert_eq!(of("plan_id=3"), None);
        assert_eq!(Exchange::of(&row()), None);
    }

    #[test]
    fn joins_in_words() {
        let kind = |kind| super::undecided(&undecided(row(), row(), kind));
        assert_eq!(kind("LeftSemi"), Some("LeftSemi".to_owned()));
        assert_eq!(kind("RightSemi, on=[(a, join_type=LeftSemi, on=@0)]"), Some("RightSemi".to_owned()), "a column may be called anything");
        assert_eq!(super::undecided(&row()), None);
    }

    #[test]
    fn joins_without_rows() {
        let empty = || -> Arc<dyn ExecutionPlan> { Arc::new(EmptyExec::new(schema())) };
        for (kind, left, right) in [
            ("Inner", true, true),
            ("LeftSemi", true, true),
            ("RightSemi", true, true),
            ("Left", true, false),
            ("LeftAnti", true, false),
            ("LeftMark", true, false),
            ("Right", false, true),
            ("RightAnti", false, true),
            ("RightMark", false, true),
            ("Full", false, false),
        ] {
            let nothing = |left, right| without_rows(undecided(left, right, kind)).expect("a plan").data.is::<EmptyExec>();
            assert_eq!((nothing(empty(), row()), nothing(row(), empty())), (left, right), "{kind}");
            assert!(nothing(empty(), empty()) && !nothing(row(), row()), "{kind}");
        }
    }

    #[test]
    fn nothing_is_shared_out() {
        let (k, empty) = (col("k", &schema()).expect("a column"), || -> Arc<dyn ExecutionPlan> { Arc::new(EmptyExec::new(schema())) });
        let join = |mode| -> Arc<dyn ExecutionPlan> {
            let on = vec![(Arc::clone(&k), Arc::clone(&k))];
            let join = HashJoinExecBuilder::new(empty(), row(), on, datafusion::common::JoinType::Full).with_partition_mode(mode);
            Arc::new(join.build().expect("a join"))
        };
        let by_keys = share_out(join(PartitionMode::Partitioned), 4).expect("a plan").data;
        assert!(by_keys.children()[0].is::<NothingExec>() && by_keys.children()[1].is::<PlaceholderRowExec>());
        assert!(matches!(by_keys.children()[0].properties().partitioning, Partitioning::Hash(_, 4)));
        let gathered = share_out(join(PartitionMode::CollectLeft), 4).expect("a plan").data;
        assert!(gathered.children()[0].is::<EmptyExec>());
    }
}
