//! Waits that are optional.

/// Waits for a future, without one forever.
pub async fn or_never<T>(future: Option<impl Future<Output = T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
