//! The wait that clients of one server share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use parking_lot::Mutex;

use super::client_tests::{MessagesApi, answer, config, limited, stream};
use super::played::collect_response;
use crate::model::ModelEvent;
use crate::remote::Throttle;
use crate::remote::fake_server::FakeServer;

fn throttled(server: &FakeServer, throttle: Arc<dyn Throttle>) -> MessagesApi {
    let mut config = config(server);
    config.connection.throttle = Some(throttle);
    MessagesApi::new(config).unwrap()
}

/// A throttle that two members of a team share.
#[derive(Debug, Default)]
struct SharedWait(Mutex<Option<Instant>>);

impl Throttle for SharedWait {
    fn remaining(&self) -> Duration {
        let until = *self.0.lock();
        until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }

    fn hold(&self, wait: Duration) {
        let mut until = self.0.lock();
        *until = (*until).max(Some(Instant::now() + wait));
    }
}

/// A throttle that admits the second attempt to take a request.
#[derive(Debug, Default)]
struct OneEarly(Mutex<u32>);

impl Throttle for OneEarly {
    fn remaining(&self) -> Duration {
        Duration::ZERO
    }

    fn has_rate(&self) -> bool {
        true
    }

    fn take(&self) -> Duration {
        let mut taken = self.0.lock();
        *taken += 1;
        if *taken == 1 {
            return Duration::from_millis(20);
        }
        Duration::ZERO
    }

    fn hold(&self, _wait: Duration) {}
}

#[tokio::test]
async fn a_request_beyond_the_rate_waits() {
    let server = FakeServer::start(vec![answer("hi")]).await;
    let throttle = Arc::new(OneEarly::default());
    let mut events = stream(&throttled(&server, throttle.clone()));
    let event = events.next().await.unwrap().unwrap();
    assert!(matches!(event, ModelEvent::Waiting { .. }), "{event:?}");
    assert_eq!(server.requests().len(), 0);
    assert_eq!(collect_response(events).await.unwrap().text(), "hi");
    assert_eq!(*throttle.0.lock(), 2);
}

#[tokio::test]
async fn o7_a_wait_requested_of_one_client_applies_to_all() {
    const WAIT: Duration = Duration::from_millis(400);
    let limited = limited("retry-after-ms", &WAIT.as_millis().to_string());
    let server = FakeServer::start(vec![limited, answer("hi")]).await;
    let throttle = Arc::new(SharedWait::default());
    let member = || throttled(&server, throttle.clone());
    let begun = Instant::now();
    let mut first = stream(&member());
    let refused = first.next().await.unwrap().unwrap();
    assert!(
        matches!(refused, ModelEvent::Retrying { .. }),
        "{refused:?}"
    );
    let mut others: Vec<_> = (0..3).map(|_| stream(&member())).collect();
    for other in &mut others {
        let event = other.next().await.unwrap().unwrap();
        assert!(matches!(event, ModelEvent::Waiting { .. }), "{event:?}");
    }
    assert_eq!(
        server.requests().len(),
        1,
        "no other request reached the server"
    );
    let all = others.into_iter().chain([first]).map(collect_response);
    for answered in futures::future::join_all(all).await {
        answered.unwrap();
    }
    assert!(begun.elapsed() >= WAIT);
    assert_eq!(server.requests().len(), 5, "one refusal and four answers");
}
