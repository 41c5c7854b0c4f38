#![allow(missing_docs, clippy::todo, unused_variables)]
use crate::FsError;
use std::path::Path;

#[derive(Debug)]
pub struct LifeHolder {}
impl LifeHolder {
    pub fn take(path: &Path, content: &[u8]) -> Result<Self, FsError> {
        todo!()
    }
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    Dead,
    Foreign,
}
pub fn probe(path: &Path) -> Result<Liveness, FsError> {
    todo!()
}
pub fn wait_for_death(path: &Path) -> Result<(), FsError> {
    todo!()
}
