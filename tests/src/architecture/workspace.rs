//! The workspace according to cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Kind of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependencyKind {
    /// Used by the crate itself or its build script.
    Normal,
    /// Used by its tests.
    Dev,
}

/// A declared dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// Name of the package.
    pub package: String,
    /// Kind of the dependency.
    pub kind: DependencyKind,
}

/// A package of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Name of the package.
    pub name: String,
    /// Directory of the package.
    pub directory: PathBuf,
    /// Declared dependencies.
    pub dependencies: Vec<Dependency>,
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// Returns the packages of the workspace from cargo, without network access and without other
/// packages.
///
/// # Errors
/// If cargo cannot be run or its output is not valid metadata.
pub fn packages() -> Result<Vec<Package>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .context("cargo metadata cannot be run")?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    parse(&output.stdout)
}

fn parse(metadata: &[u8]) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_slice(metadata)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    packages.iter().map(package).collect()
}

fn package(value: &Value) -> Result<Package> {
    let text = |key: &str| {
        let field = value[key].as_str().map(str::to_owned);
        field.with_context(|| format!("a package without {key}"))
    };
    let manifest = PathBuf::from(text("manifest_path")?);
    let declared = value["dependencies"]
        .as_array()
        .context("no dependencies")?;
    Ok(Package {
        name: text("name")?,
        directory: manifest
            .parent()
            .context("a manifest without directory")?
            .to_owned(),
        dependencies: declared.iter().filter_map(dependency).collect(),
    })
}

fn dependency(value: &Value) -> Option<Dependency> {
    Some(Dependency {
        package: value["name"].as_str()?.to_owned(),
        kind: match value["kind"].as_str() {
            Some("dev") => DependencyKind::Dev,
            _ => DependencyKind::Normal,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read_with_renames_and_kinds() {
        let metadata =
            br#"{"packages":[{"name":"a","manifest_path":"/x/a/Cargo.toml","dependencies":[
            {"name":"b","rename":"c","kind":null},{"name":"d","rename":null,"kind":"dev"},
            {"name":"e","rename":null,"kind":"build"}]}]}"#;
        let packages = parse(metadata).unwrap();
        let dependency = |package: &str, kind| Dependency {
            package: package.to_owned(),
            kind,
        };
        assert_eq!(
            packages,
            [Package {
                name: "a".to_owned(),
                directory: PathBuf::from("/x/a"),
                dependencies: vec![
                    dependency("b", DependencyKind::Normal),
                    dependency("d", DependencyKind::Dev),
                    dependency("e", DependencyKind::Normal),
                ],
            }]
        );
    }
}
