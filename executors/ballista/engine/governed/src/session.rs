//! The session in which statements and policies are planned, the same in scheduler and executors.

use std::any::Any;
use std::sync::Arc;

use datafusion::config::{ConfigEntry, ConfigExtension, Dialect, ExtensionOptions};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::optimizer::{Analyzer, AnalyzerRule};
use datafusion::prelude::SessionConfig;

use crate::checked::{Op, arithmetic, sum};
use crate::functions;
use crate::lazy::Lazy;
use crate::measures;
use crate::semantics::Semantics;
use crate::{skipping, sorted};

/// What scheduler and executors know of a statement beside its plan. It travels with each task.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// When the statement ends, in milliseconds since 1970.
    pub deadline: u64,
    /// Whose share of the cluster it takes: its user.
    pub share: String,
}

impl ExtensionOptions for Run {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "deadline" => self.deadline = value.parse().map_err(|_| DataFusionError::Configuration("a deadline that is no number".to_owned()))?,
            "share" => value.clone_into(&mut self.share),
            _ => return Err(DataFusionError::Configuration(format!("nothing is called {key}"))),
        }
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |name: &str, value: &str| ConfigEntry { key: format!("{}.{name}", Self::PREFIX), value: Some(value.to_owned()), description: "" };
        vec![entry("deadline", &self.deadline.to_string()), entry("share", &self.share)]
    }
}

impl ConfigExtension for Run {
    const PREFIX: &'static str = "gatehouse";
}

/// Sets what the meaning of a statement depends on.
pub fn configure(mut config: SessionConfig) -> SessionConfig {
    let options = config.options_mut();
    options.sql_parser.dialect = Dialect::PostgreSQL;
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.default_null_ordering = "nulls_last".to_owned();
    options.sql_parser.map_string_types_to_utf8view = false;
    options.execution.time_zone = Some("+00:00".to_owned());
    options.catalog.information_schema = false;
    config
}

/// A session's state with our functions and semantics.
pub fn builder(config: SessionConfig) -> SessionStateBuilder {
    let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(Semantics)];
    planners.extend(SessionStateDefaults::default_expr_planners());
    let mut scalars = SessionStateDefaults::default_scalar_functions();
    scalars.extend(scalar_functions());
    let mut aggregates = SessionStateDefaults::default_aggregate_functions();
    aggregates.extend(aggregate_functions());
    let mut windows = SessionStateDefaults::default_window_functions();
    windows.extend(skipping::all());
    let mut analyzers: Vec<Arc<dyn AnalyzerRule + Send + Sync>> = vec![Arc::new(Lazy)];
    analyzers.extend(Analyzer::new().rules);
    SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .with_expr_planners(planners)
        .with_analyzer_rules(analyzers)
        .with_scalar_functions(scalars)
        .with_aggregate_functions(aggregates)
        .with_window_functions(windows)
}

/// Our scalar functions, for registries.
pub fn scalar_functions() -> Vec<Arc<ScalarUDF>> {
    [Op::Add, Op::Sub, Op::Mul].into_iter().map(arithmetic).chain(functions::all()).collect()
}

/// Our aggregate functions, for registries. They take the place of others with the same name.
pub fn aggregate_functions() -> Vec<Arc<AggregateUDF>> {
    [sum(), functions::single(), sorted::sum()].into_iter().chain(measures::dispersions()).collect()
}
