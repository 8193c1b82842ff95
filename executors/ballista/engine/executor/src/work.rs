//! The folder for shuffles, results and spills.

use std::fs::{self, DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::config::Failure;

/// Where spills lie in it.
pub const SPILL: &str = "spill";

/// Makes the folder ready: it is there, empty, and only this user can look into it. It may be the root of a file system of its own.
pub fn prepare(path: &Path) -> Result<(), Failure> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            empty(path)?;
            fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(|e| format!("the work folder {}: {e}", path.display()))?;
            Ok(())
        }
        other => other.map_err(|e| format!("the work folder {}: {e}", path.display()).into()),
    }
}

/// Removes what an executor left in its folder. Nothing is removed if anything else is there: a folder that was named by mistake.
pub fn empty(path: &Path) -> Result<(), Failure> {
    let mut ours: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(path).map_err(|e| format!("the work folder {}: {e}", path.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if name == SPILL || uuid::Uuid::parse_str(name).is_ok() {
            ours.push(entry.path());
        } else if name != "lost+found" {
            return Err(format!("the work folder {} has something in it that is not an executor's: {name}", path.display()).into());
        }
    }
    for path in ours {
        fs::remove_dir_all(&path).map_err(|e| format!("the work folder's {}: {e}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_an_executors_goes() {
        let path = std::env::temp_dir().join(format!("gatehouse-work-{}", std::process::id()));
        let job = path.join("5f0c2a4e-93a8-4b3c-8c39-5d5f0a3a1b7e");
        prepare(&path).expect("it is made");
        fs::create_dir_all(job.join("1")).expect("a job");
        fs::create_dir_all(path.join(SPILL)).expect("spills");
        fs::create_dir_all(path.join("lost+found")).expect("what file systems have");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("open");
        prepare(&path).expect("it is emptied");
        assert!(!job.exists() && !path.join(SPILL).exists() && path.join("lost+found").exists());
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o700);
        fs::create_dir_all(&job).expect("a job");
        fs::write(path.join("letter"), "dear").expect("somebody's");
        assert!(prepare(&path).is_err());
        assert!(job.exists() && path.join("letter").exists());
        fs::remove_dir_all(path).expect("a folder");
    }
}
