#![allow(missing_docs, clippy::todo, unused_variables)]
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct FolderWatcher {}
#[derive(Debug, Clone)]
pub enum NameFilter {
    Exact(Vec<OsString>),
    Suffix(&'static str),
    Any,
}
#[derive(Debug)]
pub struct Subscription {}
impl FolderWatcher {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        todo!()
    }
    pub fn is_degraded(&self) -> bool {
        todo!()
    }
    pub fn subscribe(&self, folder: &Path, names: NameFilter) -> Subscription {
        todo!()
    }
}
impl Subscription {
    pub async fn changed(&mut self) {
        todo!()
    }
    pub fn changed_blocking(&mut self, timeout: Duration) -> bool {
        todo!()
    }
}
