//! Failures with a class that survives the way from an executor's task to the gateway, which is text all along.

use datafusion::error::DataFusionError;

use crate::wire::Class;

/// Starts a class in the text of an error.
const OPENING: &str = "[gatehouse:";

/// Returns an execution error of a class. Ballista does not run a task again that failed so. The user may read the text of what is unsupported.
pub fn failure(class: Class, text: impl std::fmt::Display) -> DataFusionError {
    let end = if class == Class::Unsupported { "[/gatehouse]" } else { "" };
    DataFusionError::Execution(format!("{OPENING}{}] {text}{end}", class.as_str_name()))
}

/// Returns a planning error that says what cannot be done, in words that the user may read.
pub fn unsupported(hint: impl std::fmt::Display) -> DataFusionError {
    DataFusionError::Plan(format!("{OPENING}{}] {hint}[/gatehouse]", Class::Unsupported.as_str_name()))
}

/// The hint of an error about something unsupported.
pub fn hint(text: &str) -> Option<&str> {
    let start = text.find(&format!("{OPENING}{}] ", Class::Unsupported.as_str_name()))?;
    let (_, rest) = text[start..].split_once("] ")?;
    rest.split_once("[/gatehouse]").map(|(hint, _)| hint)
}

/// What the engine's own texts say, in the order in which they are looked for.
const TEXTS: &[(&str, Class)] = &[
    // Ballista 55 puts some joins of single rows together in a way that cannot run.
    ("Invalid CrossJoinExec", Class::Unsupported),
    ("This feature is not implemented", Class::Unsupported),
    // DataFusion 55 does not run a window whose partitions a condition leaves one of.
    ("Expects PARTITION BY expression to be ordered", Class::Unsupported),
    ("All partition by columns should have an ordering", Class::Unsupported),
    ("Resources exhausted", Class::Memory),
    ("No space left on device", Class::Memory),
    ("Divide by zero", Class::Division),
    ("verflow", Class::Range),
    ("out of range", Class::Range),
    ("Cast error", Class::Conversion),
    ("Cannot cast", Class::Conversion),
    ("Parser error", Class::Conversion),
    ("Error parsing", Class::Conversion),
    ("Compute error", Class::Argument),
    ("Parquet error", Class::Data),
    ("Parquet argument error", Class::Data),
    ("Cancelled", Class::Cancelled),
    ("ExecutorLost", Class::Lost),
    ("FetchPartitionError", Class::Lost),
    ("FetchFailed", Class::Lost),
    ("GrpcConnectionError", Class::Lost),
];

/// The class of an error's text.
pub fn class_of(text: &str) -> Class {
    if let Some(at) = text.find(OPENING) {
        let name = &text[at + OPENING.len()..];
        if let Some((name, _)) = name.split_once(']') {
            return Class::from_str_name(name).unwrap_or(Class::Internal);
        }
    }
    TEXTS.iter().find(|(part, _)| text.contains(part)).map_or(Class::Internal, |(_, class)| *class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_survives_wrapping() {
        let e = failure(Class::Credential, "expired").context("a stage");
        assert_eq!(class_of(&format!("job failed: {e}")), Class::Credential);
        assert_eq!(class_of("Arrow error: Cast error: Cannot cast string 'x'"), Class::Conversion);
        assert_eq!(class_of("who knows"), Class::Internal);
    }

    #[test]
    fn a_hint_survives_wrapping() {
        let e = unsupported("function regexp_matches").context("planning");
        assert_eq!(hint(&e.to_string()), Some("function regexp_matches"));
    }
}
