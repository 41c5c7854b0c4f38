//! Converts the built-in configuration to JSON, which every start parses: parsing TOML takes ten times
//! as long.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Map, Value};

const CONFIG: &str = "../../config";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["default", "models"] {
        write(name, &by_setting(read(name)?))?;
    }
    write("runtimes", &read("runtimes")?)
}

fn read(name: &str) -> Result<Map<String, Value>, Box<dyn Error>> {
    let path = Path::new(CONFIG).join(name).with_extension("toml");
    println!("cargo::rerun-if-changed={}", path.display());
    Ok(toml::from_str(&fs::read_to_string(path)?)?)
}

#[expect(
    clippy::disallowed_methods,
    reason = "cargo passes the directory in a variable and expects the files in it"
)]
fn write(name: &str, content: &Map<String, Value>) -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(env::var("OUT_DIR")?);
    let path = directory.join(name).with_extension("json");
    Ok(fs::write(path, serde_json::to_string(content)?)?)
}

/// Joins the names of tables and of their settings.
fn by_setting(tables: Map<String, Value>) -> Map<String, Value> {
    let mut settings = Map::new();
    for (table, entries) in tables {
        let Value::Object(entries) = entries else {
            settings.insert(table, entries);
            continue;
        };
        settings.extend(
            entries
                .into_iter()
                .map(|(name, value)| (format!("{table}.{name}"), value)),
        );
    }
    settings
}
